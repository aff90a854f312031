/* What the readers of launchers' lines share: tables of options, lists and files of hosts, what
 * stands in front of a program. */
#include "cli/line/hosts.h"
#include "cli/line/options.h"
#include "cli/line/wrappers.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 32

static int split(struct arena *a, const char *line, char **argv)
{
    int argc = 0;
    char *rest = arena_strdup(a, line);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        argv[argc++] = word;
    argv[argc] = NULL;
    return argc;
}

/* ---- options ---- */

enum { FLAG = 1, NUMBER, PAIR };
static const struct line_option known[] = { { "v verbose", 0, FLAG },
                                            { "n np num-procs", 1, NUMBER },
                                            { "x map", 2, PAIR } };

/* "1:-n=4 2:--map=a | prog": what each option means, its name and first value; then the rest. */
static const char *walked(struct arena *a, const char *line, enum line_unknown_option unknown,
                          bool glued)
{
    const struct line_options of = {
        .launcher = "run", .rows = known, .n = ARRAY_LEN(known), .unknown = unknown, .glued = glued
    };
    char *argv[WORDS_MAX];
    struct line_walk walk = { .of = &of, .argv = argv };
    struct line_match found;
    struct err err = { 0 };
    AUTO_BUF struct buf out = BUF_INIT(4096);
    walk.argc = split(a, line, argv);
    int rc;
    while ((rc = line_next(&walk, &found, &err)) > 0)
        buf_addf(&out, "%d:%s%s%s ", found.means, found.name, found.value ? "=" : "",
                 found.value ? found.value : "");
    buf_puts(&out, rc < 0 ? err.what : "|");
    for (int i = walk.at; rc == 0 && i < walk.argc; i++)
        buf_addf(&out, " %s", argv[i]);
    return arena_strdup(a, buf_str(&out));
}

static void options(void **state)
{
    static const struct {
        const char *line;
        enum line_unknown_option unknown;
        bool glued;
        const char *wanted;
    } rows[] = {
        { "-v -n 4 a.py -v", LINE_UNKNOWN_REFUSED, false, "1:-v 2:-n=4 | a.py -v" },
        { "--num_procs=4 --np 2 a", LINE_UNKNOWN_REFUSED, false, "2:--num_procs=4=4 2:--np=2 | a" },
        { "--map k v a", LINE_UNKNOWN_REFUSED, false, "3:--map=k | a" },
        { "-v -- -n 4", LINE_UNKNOWN_REFUSED, false, "1:-v | -n 4" },
        { "- -v", LINE_UNKNOWN_REFUSED, false, "| - -v" }, /* a dash alone is an operand */
        { "-n8 a", LINE_UNKNOWN_REFUSED, true, "2:-n8=8 | a" },
        { "-n8 a", LINE_UNKNOWN_REFUSED, false, "run: muster does not know its option -n8" },
        { "-v8 a", LINE_UNKNOWN_REFUSED, true, "run: muster does not know its option -v8" },
        { "--new a", LINE_UNKNOWN_REFUSED, false, "run: muster does not know its option --new" },
        { "--new=1 a", LINE_UNKNOWN_REFUSED, false,
          "0:--new=1 | a" }, /* it is clear where it ends */
        { "--new a", LINE_UNKNOWN_FLAG, false, "0:--new | a" },
        { "--new 1 a", LINE_UNKNOWN_VALUE, false, "0:--new | a" },
        { "--new", LINE_UNKNOWN_VALUE, false, "0:--new |" },
        { "-v --np", LINE_UNKNOWN_REFUSED, false, "1:-v run: --np has no value" },
        { "--map k", LINE_UNKNOWN_REFUSED, false, "run: --map has no value" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_create();
        assert_string_equal(walked(a, rows[i].line, rows[i].unknown, rows[i].glued),
                            rows[i].wanted);
        arena_destroy(a);
    }
}

/* ---- hosts ---- */

/* "a:4 b" */
static const char *in_short(struct arena *a, const struct line_hosts *hosts)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    for (size_t i = 0; i < hosts->n; i++) {
        buf_addf(&out, "%s%s", i ? " " : "", hosts->at[i].name);
        if (hosts->at[i].slots)
            buf_addf(&out, ":%u", hosts->at[i].slots);
    }
    return arena_strdup(a, buf_str(&out));
}

static void hosts(void **state)
{
    static const struct {
        bool file;
        const char *text, *wanted; /* NULL: refused */
    } rows[] = {
        { false, "a:4,b", "a:4 b" },
        { false, "a,a,b", "a:2 b" }, /* named twice: two slots */
        { false, "a:3,a", "a:4" },
        { false, "a,,b", NULL },
        { false, "a:0", NULL },
        { false, ":4", NULL },
        { true, "a slots=4\nb\n", "a:4 b" },
        { true, "# all of them\n\n  a:2   max_slots=8\r\nb slots=1 # the last\n", "a:2 b:1" },
        { true, "a slots=many\n", NULL },
        { true, "# none\n", NULL },
    };
    char dir[] = "/tmp/muster-hosts-XXXXXX";
    struct err none;
    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *arena = arena_create();
        struct line_hosts found = { 0 };
        struct err err = { 0 };
        const char *file = arena_printf(arena, "%s/hosts", dir);
        assert_int_equal(file_replace(file, rows[i].text, strlen(rows[i].text), 0600, &err), 0);
        int rc = rows[i].file ? line_hosts_file(arena, "--hostfile", file, &found, &err)
                              : line_hosts_list(arena, "-H", rows[i].text, &found, &err);
        if (rc != (rows[i].wanted ? 0 : -1))
            fail_msg("%s: %s", rows[i].text, err.what);
        if (rows[i].wanted)
            assert_string_equal(in_short(arena, &found), rows[i].wanted);
        else
            assert_non_null(strstr(err.what, rows[i].file ? "--hostfile: " : "-H: "));
        arena_destroy(arena);
    }
    assert_int_equal(file_remove_tree(dir, &none), 0);
}

/* ---- in front ---- */

/* "A=1 | nice -n 5 | prog x": variables of the job, what stays in front, the program. */
static void fronts(void **state)
{
    static const struct {
        const char *line, *wanted;
        size_t said;
        bool own_path;
    } rows[] = {
        { "prog x", "| | prog x", 0, false },
        { "A=1 B=x=y prog", "A=1 B=x=y | | prog", 0, false },
        { "env A=1 prog", "A=1 | | prog", 0, false },
        { "env -u B A=1 prog", "| env -u B A=1 | prog", 0, false }, /* env does more: it stays */
        { "nohup time -f %e prog", "| | prog", 2, false },
        { "exec A=1 prog", "A=1 | | prog", 0, false },
        { "timeout -s INT 1h nice -n 5 prog", "| timeout -s INT 1h nice -n 5 | prog", 0, false },
        { "conda run -n e prog", "| conda run -n e | prog", 0, true },
        { "conda install prog", "| | conda install prog", 0, false },
        { "/usr/bin/nice -- prog", "| /usr/bin/nice -- | prog", 0, false },
        { "nice -n 5", "| | nice -n 5", 0, false }, /* nothing follows: it is the program */
        { "A=1", "| | A=1", 0, false },
        { "1A=1 prog", "| | 1A=1 prog", 0, false },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena *a = arena_create();
        char *argv[WORDS_MAX];
        struct line_job job = { .said = { .at = ARENA_ARRAY(a, LINE_SAID_MAX, const char *) } };
        struct line_reader r = { .arena = a, .argv = argv, .out = &job };
        AUTO_BUF struct buf out = BUF_INIT(4096);
        r.argc = split(a, rows[i].line, argv);
        line_wrappers(&r);
        for (size_t k = 0; k < job.env.n; k++)
            buf_addf(&out, "%s=%s ", job.env.at[k].name, job.env.at[k].value);
        buf_puts(&out, "|");
        for (size_t k = 0; k < r.front.n; k++)
            buf_addf(&out, " %s", r.front.at[k]);
        buf_puts(&out, " |");
        for (int k = 0; k < r.argc; k++)
            buf_addf(&out, " %s", r.argv[k]);
        assert_string_equal(buf_str(&out), rows[i].wanted);
        assert_int_equal(job.said.n, rows[i].said);
        assert_int_equal(r.own_path, rows[i].own_path);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options),
        cmocka_unit_test(hosts),
        cmocka_unit_test(fronts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
