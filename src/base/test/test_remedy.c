/* Remedies: packed into an err, read back in order, quoted for a shell. Those of a refused command
 * repeat its words, its file and the server that it named. */
#include "base/remedy.h"

#include "base/err.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char line[4096];

/* The only remedy as it is typed after this command; "" when it cannot be. */
static const char *typed(const struct remedies *all, const struct refused *refused)
{
    const char *argv[REMEDY_WORDS];
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(sizeof line);
    struct remedy one;
    size_t at = 0;
    assert_true(remedies_next(all, &at, arena, &one));
    remedy_put_words(&out, argv, remedy_argv(&one, refused, arena, argv));
    snprintf(line, sizeof line, "%s", buf_str(&out));
    arena_destroy(arena);
    return line;
}

static const char *of(enum remedy_id id, const char *args, const struct refused *refused)
{
    struct remedies all = { .n = 0 };
    remedies_add(&all, id, args);
    assert_int_equal(all.n, 1);
    return typed(&all, refused);
}

static void several_are_kept_in_order(void **state)
{
    (void)state;
    struct err err;
    struct arena *arena = arena_create();
    struct remedy one;
    size_t at = 0;
    err_set(&err, ERR_CONFLICT, "another server");
    assert_int_equal(err_remedy(&err, REMEDY_SERVER_STATUS), -1);
    err_remedy_of(&err, REMEDY_TASK_OUTPUT, "%d\n%s", 12, "worker/0");
    err_remedy(&err, REMEDY_SERVER_STATUS); /* again: once is enough */
    assert_int_equal(err.remedies.n, 2);
    assert_true(remedies_next(&err.remedies, &at, arena, &one));
    assert_int_equal(one.id, REMEDY_SERVER_STATUS);
    assert_true(remedies_next(&err.remedies, &at, arena, &one));
    assert_int_equal(one.id, REMEDY_TASK_OUTPUT);
    assert_string_equal(one.args[0], "12");
    assert_string_equal(one.args[1], "worker/0");
    assert_false(remedies_next(&err.remedies, &at, arena, &one));
    err_set(&err, ERR_INPUT, "another one");
    assert_int_equal(err.remedies.n, 0);
    arena_destroy(arena);
}

static void half_a_command_is_left_out(void **state)
{
    (void)state;
    struct remedies all = { .n = 0 };
    char large[sizeof all.text + 1];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    remedies_add(&all, REMEDY_RUN_FILE, large);
    remedies_add(&all, REMEDY_RUN_FILE, "a\nb");      /* one argument too many */
    remedies_add(&all, REMEDY_RUN_FILE, "");          /* none */
    remedies_add(&all, REMEDY_RUN_FILE, "a\033[2Jb"); /* a terminal would act on it */
    assert_int_equal(all.n, 0);
    assert_int_equal(all.len, 0);
}

static void words_are_quoted_for_a_shell(void **state)
{
    (void)state;
    struct refused here = { .program = "muster" };
    assert_string_equal(of(REMEDY_RUN_FILE, "a.yaml", &here), "muster run a.yaml");
    assert_string_equal(of(REMEDY_RUN_FILE, "my job.yaml", &here), "muster run 'my job.yaml'");
    assert_string_equal(of(REMEDY_RUN_FILE, "it's $(x)", &here), "muster run 'it'\\''s $(x)'");
    assert_string_equal(of(REMEDY_PRETEND, "1x1cpu,1Gi;2x2cpu,1Gi", &here),
                        "muster server start --nodes '1x1cpu,1Gi;2x2cpu,1Gi'");
}

static void the_refused_command_comes_again(void **state)
{
    (void)state;
    const char *argv[] = { "run", "--exit-code", "task",   "--gpu",      "4",
                           "--",  "python",      "a b.py", "--exit-code" };
    struct refused here = { .program = "muster", .argv = argv, .argc = ARRAY_LEN(argv) };
    assert_string_equal(of(REMEDY_SMALLER, "roles.worker.resources.gpu=0", &here),
                        "muster run --set roles.worker.resources.gpu=0 --exit-code task --gpu 4 "
                        "-- python 'a b.py' --exit-code");
    assert_string_equal(of(REMEDY_WAIT_FOR_NODES, "", &here),
                        "muster submit --wait --gpu 4 -- python 'a b.py' --exit-code");
    assert_string_equal(of(REMEDY_OTHER_VERB, "stop", &here),
                        "muster stop --gpu 4 -- python 'a b.py' --exit-code");
}

/* Of two --set for one field the last counts. */
static void a_set_comes_behind_those_of_the_user(void **state)
{
    (void)state;
    const char *argv[] = { "run",          "--set", "replicas=3", "--gpu", "4",
                           "--set=name=x", "--",    "f",          "--set", "a=b" };
    struct refused here = { .program = "muster", .argv = argv, .argc = ARRAY_LEN(argv) };
    assert_string_equal(of(REMEDY_SMALLER, "replicas=1", &here),
                        "muster run --set replicas=3 --gpu 4 --set=name=x --set replicas=1 -- f "
                        "--set a=b");
    here.argc = 3;
    assert_string_equal(of(REMEDY_SMALLER, "replicas=1", &here),
                        "muster run --set replicas=3 --set replicas=1");
    here.argc = 2; /* cut off */
    assert_string_equal(of(REMEDY_SMALLER, "replicas=1", &here),
                        "muster run --set --set replicas=1");
}

static void without_the_command_its_file_is_submitted(void **state)
{
    (void)state;
    const char *apply[] = { "apply", "-f", "big.yaml" };
    struct refused here = { .program = "muster", .file = "/jobs/big.yaml" };
    assert_string_equal(of(REMEDY_SMALLER, "replicas=1", &here),
                        "muster submit --set replicas=1 /jobs/big.yaml");
    here.argv = apply;
    here.argc = ARRAY_LEN(apply);
    assert_string_equal(of(REMEDY_SMALLER, "replicas=1", &here),
                        "muster submit --set replicas=1 /jobs/big.yaml");
    here = (struct refused){ .program = "muster", .file = "-" };
    assert_string_equal(of(REMEDY_SMALLER, "replicas=1", &here), "");
    assert_string_equal(of(REMEDY_APPLY_FILE, "", &here), "");
}

static void the_server_that_was_named_is_named_again(void **state)
{
    (void)state;
    const char *where[] = { "--state-dir", "/tmp/a b" };
    struct refused here = { .program = "build/muster", .where = where, .n_where = 2 };
    assert_string_equal(of(REMEDY_LIST_NODES, "", &here),
                        "build/muster nodes --state-dir '/tmp/a b'");
    here.elsewhere = true;
    assert_string_equal(of(REMEDY_PRETEND, "1x1cpu,1Gi", &here), "");
    assert_string_equal(of(REMEDY_SERVER_STOP, "", &here),
                        "build/muster server stop --state-dir '/tmp/a b'");
}

static void kinds_are_read_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < REMEDY_N; i++) {
        char kind[32];
        enum remedy_id id;
        assert_true(remedy_of_kind(remedy_kind((enum remedy_id)i, kind), &id));
        assert_int_equal(id, i);
        assert_true(strlen(remedy_label(id)) < 10);
    }
    enum remedy_id id;
    assert_false(remedy_of_kind("of a newer server", &id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_are_kept_in_order),
        cmocka_unit_test(half_a_command_is_left_out),
        cmocka_unit_test(words_are_quoted_for_a_shell),
        cmocka_unit_test(the_refused_command_comes_again),
        cmocka_unit_test(a_set_comes_behind_those_of_the_user),
        cmocka_unit_test(without_the_command_its_file_is_submitted),
        cmocka_unit_test(the_server_that_was_named_is_named_again),
        cmocka_unit_test(kinds_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
