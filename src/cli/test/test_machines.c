/* What of adding machines needs none: words of --ssh, answers of the shell there, the reasons of a
 * host and of ssh, what a server's address means elsewhere. */
#include "cli/machine_steps.h"
#include "cli/machines.h"

#include "base/mem.h"
#include "cli/ssh.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void words_are_those_of_a_shell(void **state)
{
    static const struct {
        const char *text, *words[8];
    } rows[] = {
        { "ssh", { "ssh" } },
        { "  ssh \t-J  gate\n", { "ssh", "-J", "gate" } },
        { "ssh -i 'my key' -o \"A=b \\\"c\\\"\"", { "ssh", "-i", "my key", "-o", "A=b \"c\"" } },
        { "a\\ b ''", { "a b", "" } },
        { "$(id) `id` ; rm *", { "$(id)", "`id`", ";", "rm", "*" } },
        { "x'y'\"z\"", { "xyz" } },
    };
    struct arena *arena = arena_create();
    struct err err;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = 0, want = 0;
        char **words = ssh_words(arena, rows[i].text, 1, &n, &err);
        assert_non_null(words);
        while (want < 8 && rows[i].words[want])
            want++;
        assert_int_equal(n, want);
        for (size_t j = 0; j < n; j++)
            assert_string_equal(words[j], rows[i].words[j]);
        assert_null(words[n]);
    }
    arena_destroy(arena);
}

static void words_that_are_none_are_refused(void **state)
{
    static const char *const texts[] = { "",        " \t",   "ssh 'x",  "ssh \"x",
                                         "ssh x\\", "ssh '", "ssh \"\\" };
    struct arena *arena = arena_create();
    AUTO_BUF struct buf many = BUF_INIT(4096);
    struct err err;
    size_t n;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_null(ssh_words(arena, texts[i], 0, &n, &err));
        assert_int_equal(err.code, ERR_INPUT);
    }
    for (int i = 0; i <= SSH_WORDS_MAX; i++)
        buf_puts(&many, "x ");
    assert_null(ssh_words(arena, buf_str(&many), 0, &n, &err));
    arena_destroy(arena);
}

static void answers_are_lines(void **state)
{
    struct arena *arena = arena_create();
    AUTO_BUF struct buf lines = BUF_INIT(4096);
    (void)state;
    buf_puts(&lines, "dir /a b\ndirty x\nfree 12\nempty \nlast\n");
    assert_string_equal(ssh_value(arena, &lines, "dir"), "/a b");
    assert_string_equal(ssh_value(arena, &lines, "free"), "12");
    assert_string_equal(ssh_value(arena, &lines, "empty"), "");
    assert_null(ssh_value(arena, &lines, "last"));
    assert_null(ssh_value(arena, &lines, "di"));
    arena_destroy(arena);
}

static void ssh_is_understood(void **state)
{
    (void)state;
    assert_non_null(strstr(ssh_hint("me@x: Permission denied (publickey)."), "authorized_keys"));
    assert_non_null(
        strstr(ssh_hint("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key "
                        "verification failed."),
               "ssh-keygen -R"));
    assert_string_equal(ssh_hint("something new"), "");
}

/* The bound of silence is waited for once: what was not taken is not waited for again. */
static void what_nobody_takes_ends_a_step(void **state)
{
    static const struct ssh_config config = {
        .command = "sh -c \"printf 'muster-ready\\\\ngo\\\\n'; exec sleep 1000\"",
        .to = "far1",
        .connect_s = 100,
        .idle_s = 1
    };
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(4096);
    AUTO_CLOSE int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    struct err err = { 0 };
    int status;
    (void)state;
    struct ssh *ssh = ssh_open(arena, &config, &err);
    assert_non_null(ssh);
    assert_int_equal(
        ssh_step(ssh, "x", &(struct ssh_data){ .fd = fd, .size = 1 << 20 }, &out, &status, &err),
        -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_non_null(strstr(err.what, "nothing was taken for 1 s"));
    ssh_close(ssh);
    arena_destroy(arena);
}

static void a_host_says_why(void **state)
{
    struct arena *arena = arena_create();
    (void)state;
    assert_string_equal(machine_why(arena, "log one\nlog two\nlives yes\n", true),
                        "its host says: two");
    assert_string_equal(machine_why(arena, "log two\n", false), "its host has ended: two");
    assert_string_equal(machine_why(arena, "", true), "its host has said nothing yet");
    arena_destroy(arena);
}

static void everywhere_is_no_place(void **state)
{
    struct arena *arena = arena_create();
    (void)state;
    assert_string_equal(machine_place(arena, "10.0.0.1:6879", "10.0.0.9"), "10.0.0.1:6879");
    assert_string_equal(machine_place(arena, "0.0.0.0:6879", "10.0.0.9"), "10.0.0.9:6879");
    assert_string_equal(machine_place(arena, "[::]:6879", "fd00::1"), "[fd00::1]:6879");
    assert_null(machine_place(arena, "0.0.0.0:6879", ""));
    arena_destroy(arena);
}

static void each_verb_has_its_options(void **state)
{
    (void)state;
    assert_true(machines_takes("add", "dial"));
    assert_false(machines_takes("rm", "dial"));
    assert_true(machines_takes("fence", "reason"));
    assert_false(machines_takes("drain", "ssh"));
    assert_false(machines_takes("", "reason"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_a_shell),
        cmocka_unit_test(words_that_are_none_are_refused),
        cmocka_unit_test(answers_are_lines),
        cmocka_unit_test(ssh_is_understood),
        cmocka_unit_test(what_nobody_takes_ends_a_step),
        cmocka_unit_test(a_host_says_why),
        cmocka_unit_test(everywhere_is_no_place),
        cmocka_unit_test(each_verb_has_its_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
