/* The tables of verbs and options, and what is written from them: help, completions, the man page.
 * Names are unique, related verbs exist. */
#include "cli/manual.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct opt server_opts[] = {
    { .name = "state-dir", .type = OPT_STR, .offset = 0, .arg = "DIR", .help = "h" },
    { .name = "nodes",
      .type = OPT_STR,
      .offset = sizeof(char *),
      .arg = "LIST",
      .help = "it's [one]: two" },
    OPT_END
};
static const struct cli_host host = { .version = "9.9",
                                      .server_opts = server_opts,
                                      .n_server_opts = 2 };

static void begin(struct cli *cli)
{
    *cli = (struct cli){ .host = &host, .arena = arena_create() };
}

static void verbs_are_whole(void **state)
{
    struct cli cli;
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    (void)state;
    begin(&cli);
    assert_true(n > 20);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(cmd_find(all[i]->name), all[i]);
        assert_non_null(all[i]->run);
        assert_true(strlen(all[i]->summary) > 5);
        assert_true(all[i]->size >= sizeof(struct common_opts));
        assert_true(all[i]->hidden || all[i]->examples || strcmp(all[i]->name, "version") == 0 ||
                    strcmp(all[i]->name, "help") == 0);
    }
    assert_null(cmd_find("nosuch"));
    arena_destroy(cli.arena);
}

static void related_verbs_are_there(void **state)
{
    size_t n, groups = 0;
    const struct cmd *const *all = cmd_all(&n);
    (void)state;
    assert_non_null(cmd_group(all[0]));
    for (size_t i = 0; i < n; i++) {
        groups += cmd_group(all[i]) != NULL;
        for (const char *at = cmd_related(all[i]); at && *at; at += strspn(at, " ")) {
            char name[32];
            size_t len = strcspn(at, " ");
            snprintf(name, sizeof name, "%.*s", (int)len, at);
            if (!cmd_find(name) || cmd_find(name) == all[i])
                fail_msg("%s: see also \"%s\"", all[i]->name, name);
            at += len;
        }
    }
    assert_int_equal(groups, 5);
}

/* Every name of a row, its other names too, once in a table. */
static void names_are_unique(struct arena *a, const char *verb, const struct opt *rows)
{
    const char *names[128];
    size_t n = 0;
    for (const struct opt *o = rows; o->name; o++) {
        names[n++] = o->name;
        for (const char *at = o->also ? o->also : ""; *at; at += strspn(at, " ")) {
            size_t len = strcspn(at, " ");
            assert_true(n < ARRAY_LEN(names));
            names[n++] = arena_strndup(a, at, len);
            at += len;
        }
        assert_true(n < ARRAY_LEN(names));
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (strcmp(names[i], names[k]) == 0)
                fail_msg("%s: --%s twice", verb, names[i]);
}

static void options_are_unique(void **state)
{
    struct cli cli;
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    (void)state;
    begin(&cli);
    for (size_t i = 0; i < n; i++) {
        const struct opt *rows = cmd_options(&cli, all[i]);
        names_are_unique(cli.arena, all[i]->name, rows);
        for (const struct opt *x = rows; x->name; x++) {
            assert_non_null(x->help);
            assert_true(x->type == OPT_FLAG || x->arg);
            for (const struct opt *y = x + 1; y->name; y++) {
                if (strcmp(x->name, y->name) == 0 || (x->letter && x->letter == y->letter))
                    fail_msg("%s: --%s and --%s", all[i]->name, x->name, y->name);
            }
        }
    }
    arena_destroy(cli.arena);
}

static void server_has_its_settings(void **state)
{
    struct cli cli;
    (void)state;
    begin(&cli);
    const struct opt *rows = cmd_options(&cli, &cmd_server);
    const struct opt *nodes = NULL;
    size_t dirs = 0;
    for (const struct opt *o = rows; o->name; o++) {
        nodes = strcmp(o->name, "nodes") == 0 ? o : nodes;
        dirs += strcmp(o->name, "state-dir") == 0;
    }
    assert_true(nodes && nodes->offset == cmd_server.size + sizeof(char *));
    assert_int_equal(dirs, 1);
    arena_destroy(cli.arena);
}

static void help_shows_everything(void **state)
{
    struct cli cli;
    struct buf out = BUF_INIT(1 << 20);
    (void)state;
    begin(&cli);
    cmd_help(&cli, &cmd_run, &out);
    assert_non_null(
        strstr(out.data, "muster run [options] FILE | SCRIPT [ARGS...] | -- COMMAND..."));
    assert_non_null(strstr(out.data, "--exit-code job|task"));
    assert_non_null(strstr(out.data, "Examples:\n"));
    buf_clear(&out);
    manual_overview(&cli, &out);
    assert_non_null(strstr(out.data, "muster 9.9"));
    assert_non_null(strstr(out.data, "\nJobs\n  run "));
    assert_non_null(strstr(out.data, "\n  explain "));
    assert_null(strstr(out.data, "\n  man "));
    buf_fini(&out);
    arena_destroy(cli.arena);
}

static void operands_are_counted(void **state)
{
    struct err err;
    (void)state;
    assert_int_equal(cmd_operands(&cmd_show, 1, 1, 1, &err), 0);
    assert_int_equal(cmd_operands(&cmd_show, 0, 1, 1, &err), -1);
    assert_string_equal(err.what, "show needs JOB");
    assert_int_equal(cmd_operands(&cmd_show, 2, 1, 1, &err), -1);
    assert_int_equal(err_exit_status(err.code), 2);
}

static void completions_name_verbs_and_options(void **state)
{
    static const char *const shells[] = { "bash", "zsh", "fish" };
    struct cli cli;
    (void)state;
    begin(&cli);
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        struct buf out = BUF_INIT(4u << 20);
        assert_true(manual_completion(&cli, shells[i], &out));
        assert_false(out.overflow);
        assert_non_null(strstr(out.data, "suspend"));
        assert_non_null(strstr(out.data, "idempotency-key"));
        assert_non_null(strstr(out.data, "undrain"));
        assert_null(strstr(out.data, "it's"));
        buf_fini(&out);
    }
    struct buf out = BUF_INIT(4096);
    assert_false(manual_completion(&cli, "tcsh", &out));
    buf_fini(&out);
    arena_destroy(cli.arena);
}

static void man_page_is_roff(void **state)
{
    struct cli cli;
    struct buf out = BUF_INIT(4u << 20);
    (void)state;
    begin(&cli);
    manual_man(&cli, &out);
    assert_memory_equal(out.data, ".TH MUSTER 1", 12);
    assert_non_null(strstr(out.data, ".SS muster logs JOB [ROLE[/INDEX]]\n"));
    assert_non_null(strstr(out.data, "\\-\\-idempotency\\-key"));
    assert_non_null(strstr(out.data, ".SH EXIT STATUS"));
    buf_fini(&out);
    arena_destroy(cli.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(verbs_are_whole),
                                        cmocka_unit_test(related_verbs_are_there),
                                        cmocka_unit_test(options_are_unique),
                                        cmocka_unit_test(server_has_its_settings),
                                        cmocka_unit_test(help_shows_everything),
                                        cmocka_unit_test(operands_are_counted),
                                        cmocka_unit_test(completions_name_verbs_and_options),
                                        cmocka_unit_test(man_page_is_roff) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
