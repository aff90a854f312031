/* A home that several machines have: where records are then, and what the file in it says. Two
 * machines that share one are in tests/test_shared_home.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/shared_home.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/state_dir.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fix {
    char home[32];
    char *usual, *local;
    struct arena *arena;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    memcpy(f->home, "/tmp/muster-home-XXXXXX", sizeof "/tmp/muster-home-XXXXXX");
    assert_non_null(mkdtemp(f->home));
    setenv("HOME", f->home, 1);
    unsetenv("XDG_STATE_HOME");
    unsetenv("MUSTER_STATE_DIR");
    unsetenv("MUSTER_SHARED_HOME");
    f->usual = mem_printf("%s/.local/state/muster", f->home);
    f->local = shared_home_local(&err);
    f->arena = arena_create();
    *state = f;
    return f->local ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    unsetenv("MUSTER_SHARED_HOME");
    file_remove_tree(f->home, NULL);
    arena_destroy(f->arena);
    free(f->usual);
    free(f->local);
    free(f);
    return 0;
}

static void records_are_on_this_machine(void **state)
{
    const struct fix *f = *state;
    struct err err;
    AUTO_FREE char *own = state_dir_find(NULL, &err);
    assert_string_equal(own, f->usual);
    assert_null(state_dir_shared(own));
    setenv("MUSTER_SHARED_HOME", "yes", 1);
    AUTO_FREE char *shared = state_dir_find(NULL, &err);
    AUTO_FREE char *in_place_of = state_dir_shared(shared);
    assert_string_equal(shared, f->local);
    assert_string_equal(in_place_of, f->usual);
    AUTO_FREE char *named = state_dir_find("/tmp/named", &err); /* whoever names one means it */
    assert_string_equal(named, "/tmp/named");
    assert_null(state_dir_shared(named));
    setenv("MUSTER_STATE_DIR", "/tmp/set", 1);
    AUTO_FREE char *set = state_dir_find(NULL, &err);
    assert_string_equal(set, "/tmp/set");
    assert_null(state_dir_shared(set));
    unsetenv("MUSTER_STATE_DIR");
}

static void write_file(const struct fix *f, const char *host)
{
    const struct shared_server server = {
        .host = host, .address = "https://10.0.0.1:6878", .authority = "PEM\n", .token = "t0k3n"
    };
    assert_int_equal(shared_home_write(f->usual, &server, NULL), 0);
}

static void a_server_of_another_machine_is_found(void **state)
{
    const struct fix *f = *state;
    struct shared_server found;
    struct stat st;
    size_t len;
    AUTO_FREE char *pem = NULL;
    AUTO_FREE char *path = file_join(f->usual, "elsewhere.json");
    assert_false(shared_home_read(f->arena, f->usual, &found));
    write_file(f, "another-machine");
    assert_true(shared_home_read(f->arena, f->usual, &found));
    assert_false(shared_home_is_here(f->usual));
    assert_string_equal(found.host, "another-machine");
    assert_string_equal(found.address, "https://10.0.0.1:6878");
    assert_int_equal(file_read(found.authority, 100, &pem, &len, NULL), 0);
    assert_string_equal(pem, "PEM\n");
    assert_string_equal(found.token, "t0k3n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    shared_home_forget(f->usual); /* it is the other's to say */
    assert_true(shared_home_read(f->arena, f->usual, &found));
    shared_home_give_up(f->usual, "a-third");
    assert_true(shared_home_read(f->arena, f->usual, &found));
    assert_int_equal(chmod(path, 0640), 0); /* others may have written it */
    assert_false(shared_home_read(f->arena, f->usual, &found));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(file_replace(path, "{", 1, 0600, NULL), 0);
    assert_false(shared_home_read(f->arena, f->usual, &found));
}

/* Two that begin at once, or one in the foreground: jobs of the first are not lost from sight. */
static void one_of_another_machine_is_not_replaced(void **state)
{
    const struct fix *f = *state;
    struct shared_server found;
    struct err err;
    AUTO_FREE char *path = file_join(f->usual, "elsewhere.json");
    AUTO_FREE char *own = mem_printf("%s.here", path);
    const struct shared_server here = {
        .host = "here", .address = "", .authority = "OTHER\n", .token = "x"
    };
    write_file(f, "another-machine");
    assert_int_equal(shared_home_write(f->usual, &here, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_string_equal(err.what, "your server is on another-machine");
    assert_true(shared_home_read(f->arena, f->usual, &found));
    assert_string_equal(found.host, "another-machine");
    AUTO_FREE char *pem = NULL;
    size_t len;
    assert_int_equal(file_read(found.authority, 100, &pem, &len, NULL), 0);
    assert_string_equal(pem, "PEM\n");
    assert_int_not_equal(access(own, F_OK), 0);
    write_file(f, "another-machine"); /* that one again */
    shared_home_give_up(f->usual, "another-machine");
    assert_int_equal(shared_home_write(f->usual, &here, &err), 0);
    assert_true(shared_home_read(f->arena, f->usual, &found));
    assert_string_equal(found.host, "here");
}

static void what_is_said_of_a_home_is_yes(void **state)
{
    const struct fix *f = *state;
    struct err err;
    static const char *const others[] = { "no", "1", "YES" };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        setenv("MUSTER_SHARED_HOME", others[i], 1);
        assert_null(state_dir_find(NULL, &err));
        assert_int_equal(err.code, ERR_INPUT);
    }
    setenv("MUSTER_SHARED_HOME", "", 1);
    AUTO_FREE char *own = state_dir_find(NULL, &err);
    assert_string_equal(own, f->usual);
}

static void one_of_this_machine_is_no_other(void **state)
{
    const struct fix *f = *state;
    struct shared_server found;
    AUTO_FREE char *here = shared_home_host();
    AUTO_FREE char *path = file_join(f->usual, "elsewhere.json");
    write_file(f, here);
    assert_false(shared_home_read(f->arena, f->usual, &found));
    assert_true(shared_home_is_here(f->usual));
    shared_home_forget(f->usual);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* One that has an allocation of Slurm is found there, also where the node has this machine's name,
 * and the next allocation takes its place, on whatever node; a server of another machine does not.
 */
static void one_in_an_allocation_moves(void **state)
{
    const struct fix *f = *state;
    struct shared_server found;
    struct err err;
    AUTO_FREE char *here = shared_home_host();
    AUTO_FREE char *path = file_join(f->usual, SHARED_HOME_PLACES);
    AUTO_FREE char *text = NULL;
    size_t len;
    struct shared_server server = { .host = here,
                                    .address = "https://10.0.0.1:6878",
                                    .authority = "PEM\n",
                                    .token = "t0k3n",
                                    .allocation = "12",
                                    .places = "10.0.0.1:6879,10.1.0.1:6879" };
    assert_int_equal(shared_home_write(f->usual, &server, &err), 0);
    assert_false(shared_home_is_here(f->usual));
    assert_true(shared_home_read(f->arena, f->usual, &found));
    assert_string_equal(found.allocation, "12");
    assert_int_equal(file_read(path, 100, &text, &len, NULL), 0);
    assert_string_equal(text, "tcp=10.0.0.1:6879,10.1.0.1:6879\n");
    server.host = "n7";
    server.allocation = "13";
    assert_int_equal(shared_home_write(f->usual, &server, &err), 0);
    assert_true(shared_home_read(f->arena, f->usual, &found));
    assert_string_equal(found.host, "n7");
    server.host = "n8";
    server.allocation = NULL;
    assert_int_equal(shared_home_write(f->usual, &server, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
}

static void its_batch_script_says_which(void **state)
{
    const struct fix *f = *state;
    static const char *const none[] = { "", "12", "12 there", " /there" };
    AUTO_FREE char *own = mem_printf("%s/in-job", f->home);
    AUTO_FREE char *script = file_join(own, "start.sh");
    assert_null(shared_home_job_dir(f->home));
    assert_int_equal(file_mkdirs(own, 0700, NULL), 0);
    assert_null(shared_home_job_dir(f->home)); /* nobody has submitted it */
    assert_int_equal(file_replace(script, "", 0, 0600, NULL), 0);
    AUTO_FREE char *found = shared_home_job_dir(f->home);
    assert_string_equal(found, own);
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        setenv("MUSTER_IN_JOB", none[i], 1);
        assert_null(shared_home_of_job(NULL));
    }
    setenv("MUSTER_IN_JOB", "12 /home/a da/muster", 1);
    AUTO_FREE char *id = NULL;
    AUTO_FREE char *dir = shared_home_of_job(&id);
    AUTO_FREE char *shared = state_dir_shared("/var/tmp/wherever");
    unsetenv("MUSTER_IN_JOB");
    assert_string_equal(id, "12");
    assert_string_equal(dir, "/home/a da/muster");
    assert_string_equal(shared, dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_on_this_machine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_of_another_machine_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_of_another_machine_is_not_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_said_of_a_home_is_yes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_of_this_machine_is_no_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_in_an_allocation_moves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_batch_script_says_which, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
