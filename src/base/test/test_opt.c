/* Options: every way to write one (long, short, glued, with =), where operands end them, and what
 * is said about a wrong one. The help is aligned. */
#include "base/opt.h"

#include "base/mem.h"
#include "base/script_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct options {
    bool follow, wide;
    const char *name;
    uint64_t tail, since;
    struct opt_list env;
};

#define AT(m) offsetof(struct options, m)
static const struct opt table[] = {
    { .name = "follow", .letter = 'f', .type = OPT_FLAG, .offset = AT(follow), .help = "go on" },
    { .name = "wide", .letter = 'w', .type = OPT_FLAG, .offset = AT(wide), .help = "more columns" },
    { .name = "name",
      .letter = 'n',
      .type = OPT_STR,
      .offset = AT(name),
      .also = "job-name label",
      .arg = "NAME",
      .help = "its name" },
    { .name = "tail", .type = OPT_U64, .offset = AT(tail), .arg = "N", .help = "last lines" },
    { .name = "since", .type = OPT_DURATION, .offset = AT(since), .arg = "TIME", .help = "age" },
    { .name = "env",
      .letter = 'e',
      .type = OPT_LIST,
      .offset = AT(env),
      .arg = "K=V",
      .help = "add" },
    OPT_END,
};

/* Parses a copy of words (ended by NULL) and leaves operands there, ended by NULL. */
static int parse(struct options *o, char **words, unsigned flags, struct err *err)
{
    int n = 0;
    while (words[n])
        n++;
    int rc = opt_parse(table, o, &n, words, flags, err);
    if (rc == 0)
        words[n] = NULL;
    return rc;
}

/* argv has no const. */
#define WORDS(...) ((char **)(uintptr_t)(const char *[]){ __VA_ARGS__, NULL })

static void every_spelling(void **state)
{
    (void)state;
    struct err err;
    struct options o = { .tail = 5 };
    char **w = WORDS("one", "-fw", "--name=x=y", "two", "--tail", "7", "--since=2m", "-eA=1", "-e",
                     "B=2", "-", "--", "--follow", "-x");
    assert_int_equal(parse(&o, w, 0, &err), 0);
    assert_true(o.follow && o.wide);
    assert_string_equal(o.name, "x=y");
    assert_int_equal(o.tail, 7);
    assert_int_equal(o.since, 120000);
    assert_int_equal(o.env.n, 2);
    assert_string_equal(o.env.at[0], "A=1");
    assert_string_equal(o.env.at[1], "B=2");
    static const char *const operands[] = { "one", "two", "-", "--follow", "-x" };
    for (size_t i = 0; i < ARRAY_LEN(operands); i++)
        assert_string_equal(w[i], operands[i]);
    assert_null(w[ARRAY_LEN(operands)]);
    opt_fini(table, &o);
    assert_int_equal(o.env.n, 0);
}

static void other_names(void **state)
{
    (void)state;
    struct err err;
    struct options o = { .name = NULL };
    assert_int_equal(parse(&o, WORDS("--job-name=a"), 0, &err), 0);
    assert_string_equal(o.name, "a");
    assert_int_equal(parse(&o, WORDS("--label", "b"), 0, &err), 0);
    assert_string_equal(o.name, "b");
    static const char *const unknown[] = { "--job", "--job-name label", "--lab", "--label " };
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        assert_int_equal(parse(&o, WORDS(unknown[i]), 0, &err), -1);
    AUTO_BUF struct buf help = BUF_INIT(4096);
    opt_help(table, &help);
    assert_non_null(strstr(buf_str(&help), "its name (also --job-name, --label)\n"));
}

static void stops_at_a_script(void **state)
{
    (void)state;
    struct err err;
    struct options o = { .follow = false };
    char **w = WORDS("-n", "a.sh", "x.yaml", "-w", "train.py", "-f", "--", "--unknown");
    assert_int_equal(parse(&o, w, OPT_STOP_AT_SCRIPT, &err), 0);
    assert_true(o.wide && !o.follow);
    assert_string_equal(o.name, "a.sh");
    static const char *const operands[] = { "x.yaml", "train.py", "-f", "--", "--unknown" };
    for (size_t i = 0; i < ARRAY_LEN(operands); i++)
        assert_string_equal(w[i], operands[i]);
    assert_true(script_is_name("a/b.py") && script_is_name("b.sh"));
    assert_true(script_is_name("c.sbatch") && script_is_name("c.slurm"));
    assert_false(script_is_name(".py") || script_is_name("py") || script_is_name("a.pyc"));
}

static void stops_at_the_first_operand(void **state)
{
    (void)state;
    struct err err;
    struct options o = { .tail = 5 };
    char **w = WORDS("-fn", "x", "python", "-f", "--unknown", "--", "y");
    assert_int_equal(parse(&o, w, OPT_STOP_AT_OPERAND, &err), 0);
    assert_true(o.follow);
    assert_string_equal(o.name, "x");
    static const char *const operands[] = { "python", "-f", "--unknown", "--", "y" };
    for (size_t i = 0; i < ARRAY_LEN(operands); i++)
        assert_string_equal(w[i], operands[i]);
    opt_fini(table, &o);
}

struct wrong {
    const char *words[3];
    const char *what, *hint;
};

static void wrong_ones(void **state)
{
    (void)state;
    struct wrong rows[] = {
        { { "--folow" }, "unknown option --folow", "--follow?" },
        { { "--xyzzy=3" }, "unknown option --xyzzy", "--help lists them" },
        { { "-fq" }, "unknown option -q", "--help lists them" },
        { { "--name" }, "--name needs a value", "--name NAME" },
        { { "-n" }, "--name needs a value", "--name NAME" },
        { { "--follow=1" }, "--follow takes no value, \"1\" was given", "--follow alone" },
        { { "--tail", "x" }, "--tail: \"x\" is not a whole number", "for example --tail 10" },
        { { "--since", "2 h" },
          "--since: \"2 h\" is not a duration",
          "for example 90s, 15m, 2h or 1h30m" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err;
        struct options o = { .tail = 5 };
        assert_int_equal(parse(&o, (char **)(uintptr_t)rows[i].words, 0, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
        assert_string_equal(err.what, rows[i].what);
        assert_string_equal(err.hint, rows[i].hint);
        opt_fini(table, &o);
    }
}

static void help_is_aligned(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT(10000);
    opt_help(table, &out);
    assert_string_equal(buf_str(&out), "  -f, --follow      go on\n"
                                       "  -w, --wide        more columns\n"
                                       "  -n, --name NAME   its name (also --job-name, --label)\n"
                                       "      --tail N      last lines\n"
                                       "      --since TIME  age\n"
                                       "  -e, --env K=V     add\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling), cmocka_unit_test(stops_at_the_first_operand),
        cmocka_unit_test(other_names),    cmocka_unit_test(stops_at_a_script),
        cmocka_unit_test(wrong_ones),     cmocka_unit_test(help_is_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
