/* Flags as argparse reads them for torchrun: spellings, shortened names, what follows the script,
 * variables. And the table itself with its help. */
#include "flags/flags.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <cmocka.h>

#define WORDS_MAX 24

struct parsed {
    struct arena *arena;
    struct flags *flags;
    struct err err;
    int rc, rest, argc;
    char *argv[WORDS_MAX];
};

/* line: words with single blanks between; '~' stands for a blank inside a word. */
static void parse(struct parsed *p, enum launch_name name, const char *line)
{
    *p = (struct parsed){ .arena = arena_create(), .rest = -1 };
    p->argv[p->argc++] = arena_strdup(p->arena, launch_name_word(name));
    for (const char *at = line; *at; at += *at == ' ') {
        size_t n = strcspn(at, " ");
        char *word = arena_strndup(p->arena, at, n);
        for (char *c = word; *c; c++)
            *c = *c == '~' ? ' ' : *c;
        p->argv[p->argc++] = word;
        at += n;
    }
    p->rc = flags_parse(p->arena, name, p->argc, p->argv, &p->flags, &p->err);
    if (p->rc == 0)
        p->rest = flags_rest(p->flags);
}

/* The value of a flag after a line that is right. */
static void expect(enum launch_name name, const char *line, const char *flag, const char *value,
                   const char *script)
{
    struct parsed p;
    parse(&p, name, line);
    if (p.rc != 0)
        fail_msg("%s: %s (%s)", line, p.err.what, p.err.hint);
    const char *got = flags_text(p.flags, flag);
    if ((value == NULL) != (got == NULL) || (value && strcmp(value, got) != 0))
        fail_msg("%s: --%s is %s, not %s", line, flag, got ? got : "-", value ? value : "-");
    assert_string_equal(p.argv[p.rest], script);
    arena_destroy(p.arena);
}

static void refuse(enum launch_name name, const char *line, const char *what, const char *hint)
{
    struct parsed p;
    parse(&p, name, line);
    if (p.rc != -1)
        fail_msg("%s was taken", line);
    assert_int_equal(err_exit_status(p.err.code), 2);
    if (!strstr(p.err.what, what) || !strstr(p.err.hint, hint))
        fail_msg("%s: \"%s\" / \"%s\"", line, p.err.what, p.err.hint);
    arena_destroy(p.arena);
}

static void test_spellings(void **state)
{
    (void)state;
    const enum launch_name t = LAUNCH_TORCHRUN;
    expect(t, "s.py", "nproc-per-node", "1", "s.py");
    expect(t, "--nproc-per-node 2 s.py", "nproc-per-node", "2", "s.py");
    expect(t, "--nproc_per_node=3 s.py", "nproc-per-node", "3", "s.py");
    expect(t, "--nproc_per_node=3 --nproc-per-node=4 s.py", "nproc-per-node", "4", "s.py");
    expect(t, "-t 3 s.py", "tee", "3", "s.py");
    expect(t, "-t3 s.py", "tee", "3", "s.py");
    expect(t, "-t=3 s.py", "tee", "3", "s.py");
    expect(t, "-mt3 pkg", "tee", "3", "pkg");
    expect(t, "-mt3 pkg", "module", "1", "pkg");
    expect(t, "-mr 1 pkg", "redirects", "1", "pkg");
    expect(t, "--log-dir=a~b s.py", "log-dir", "a b", "s.py");
    expect(t, "--log-dir -a~b s.py", "log-dir", "-a b", "s.py");
    expect(t, "--max-restarts -1 s.py", "max-restarts", "-1", "s.py");
    expect(t, "--rdzv-conf= s.py", "rdzv-conf", "", "s.py");
    expect(t, "--local-addr=[::1] s.py", "local-addr", "[::1]", "s.py");
}

static void test_shortened(void **state)
{
    (void)state;
    expect(LAUNCH_TORCHRUN, "--max 2 s.py", "max-restarts", "2", "s.py");
    expect(LAUNCH_TORCHRUN, "--nproc=2 s.py", "nproc-per-node", "2", "s.py");
    expect(LAUNCH_TORCHRUN, "--stand s.py", "standalone", "1", "s.py");
    refuse(LAUNCH_TORCHRUN, "--no 2 s.py", "--node-rank", "the one you mean");
    refuse(LAUNCH_DLROVER_RUN, "--max 2 s.py", "no shortened flags", "--max-restarts");
    expect(LAUNCH_DLROVER_RUN, "--max_restarts 2 s.py", "max-restarts", "2", "s.py");
}

static void test_what_follows_the_script(void **state)
{
    struct parsed p;
    (void)state;
    parse(&p, LAUNCH_TORCHRUN, "--tee 1 s.py --tee 2 -- -x --help");
    assert_int_equal(p.rc, 0);
    assert_string_equal(flags_text(p.flags, "tee"), "1");
    assert_int_equal(p.argc - p.rest, 6);
    arena_destroy(p.arena);
    expect(LAUNCH_TORCHRUN, "--tee 1 -- -odd.py --tee 2", "tee", "1", "-odd.py");
    expect(LAUNCH_TORCHRUN, "-- s.py", "tee", "0", "s.py");
    expect(LAUNCH_TORCHRUN, "- --tee 2", "tee", "0", "-");
}

static void test_wrong_lines(void **state)
{
    (void)state;
    const enum launch_name t = LAUNCH_TORCHRUN;
    refuse(t, "--nproc-per-nod3 2 s.py", "unknown flag --nproc-per-nod3", "--nproc-per-node?");
    refuse(t, "--zzzzzz s.py", "--zzzzzz", "usage: torchrun");
    refuse(t, "--network-check s.py", "unknown flag --network-check", "torchrun");
    refuse(t, "-x s.py", "-x", "--help");
    refuse(t, "--log-dir", "--log-dir needs a value", "DIR");
    refuse(t, "--log-dir --tee 3 s.py", "not --tee", "--log-dir=DIR");
    refuse(t, "--standalone=1 s.py", "takes no value", "--standalone alone");
    refuse(t, "-m=1 s.py", "takes no value", "--module");
    refuse(t, "--start-method thread s.py", "\"thread\"", "spawn fork forkserver");
    refuse(t, "--nnodes 2", "which script", "usage: torchrun");
    refuse(t, "", "which script", "usage: torchrun");
    refuse(LAUNCH_MUSTER, "", "which script", "usage: muster launch");
    refuse(LAUNCH_DLROVER_RUN, "--precheck 7 s.py", "\"7\"", "0 1 2");
}

static void test_environment(void **state)
{
    struct parsed p;
    (void)state;
    setenv("PET_NPROC_PER_NODE", "6", 1);
    setenv("PET_STANDALONE", "1", 1);
    setenv("PET_MODULE", "0", 1);
    setenv("PET_NUMA_BINDING", "node", 1); /* torchrun has no such default */
    expect(LAUNCH_TORCHRUN, "s.py", "nproc-per-node", "6", "s.py");
    expect(LAUNCH_TORCHRUN, "--nproc-per-node=2 s.py", "nproc-per-node", "2", "s.py");
    expect(LAUNCH_TORCHRUN, "s.py", "standalone", "1", "s.py");
    expect(LAUNCH_TORCHRUN, "s.py", "module", NULL, "s.py");
    expect(LAUNCH_TORCHRUN, "-m s.py", "module", "1", "s.py");
    expect(LAUNCH_TORCHRUN, "s.py", "numa-binding", NULL, "s.py");
    parse(&p, LAUNCH_TORCHRUN, "--tee=3 s.py");
    assert_string_equal(flags_source(p.flags, p.arena, "nproc-per-node"), "PET_NPROC_PER_NODE");
    assert_string_equal(flags_source(p.flags, p.arena, "tee"), "--tee");
    assert_true(flags_given(p.flags, "nproc-per-node"));
    assert_false(flags_given(p.flags, "nnodes"));
    arena_destroy(p.arena);
    setenv("PET_STANDALONE", "yes", 1);
    refuse(LAUNCH_TORCHRUN, "s.py", "PET_STANDALONE is \"yes\"", "1 switches");
    unsetenv("PET_STANDALONE");
    setenv("PET_PRECHECK", "9", 1);
    refuse(LAUNCH_DLROVER_RUN, "s.py", "PET_PRECHECK", "0 1 2");
    expect(LAUNCH_TORCHRUN, "s.py", "tee", "0", "s.py"); /* has no --precheck */
    unsetenv("PET_PRECHECK");
    setenv("PET_NETWORK_CHECK", "1", 1); /* what a job's `launcher` says counts for torchrun too */
    setenv("PET_NODE_UNIT", "2", 1);
    expect(LAUNCH_TORCHRUN, "s.py", "network-check", "1", "s.py");
    expect(LAUNCH_TORCHRUN, "s.py", "node-unit", "2", "s.py");
    unsetenv("PET_NETWORK_CHECK");
    unsetenv("PET_NODE_UNIT");
    unsetenv("PET_NPROC_PER_NODE");
    unsetenv("PET_MODULE");
    unsetenv("PET_NUMA_BINDING");
}

static void test_help(void **state)
{
    (void)state;
    for (int name = LAUNCH_MUSTER; name <= LAUNCH_DLROVER_RUN; name++) {
        AUTO_BUF struct buf text = BUF_INIT(1u << 20);
        flags_help((enum launch_name)name, &text);
        assert_false(text.overflow);
        for (unsigned i = 0; i < flag_table_n; i++) {
            char flag[80];
            snprintf(flag, sizeof flag, "--%s", flag_table[i].name);
            assert_int_equal(strstr(buf_str(&text), flag) != NULL ||
                                 strcmp(flag_table[i].name, "help") == 0,
                             (flag_table[i].names >> name & 1u) || i + 1 == flag_table_n);
        }
        for (const char *line = buf_str(&text); *line;) {
            size_t n = strcspn(line, "\n");
            assert_in_range(n, 0, 100);
            line += n + (line[n] == '\n');
        }
        assert_non_null(strstr(buf_str(&text), "found out when not\n")); /* broken at the blank */
        struct parsed p;
        parse(&p, (enum launch_name)name, "--tee 3 --help");
        assert_int_equal(p.rc, 1);
        arena_destroy(p.arena);
    }
}

static void test_table(void **state)
{
    AUTO_BUF struct buf page = BUF_INIT(1u << 20);
    (void)state;
    flags_page(&page);
    for (unsigned i = 0; i < flag_table_n; i++) {
        const struct flag *f = &flag_table[i];
        assert_non_null(strstr(buf_str(&page), f->name));
        assert_true(f->help && *f->help);
        assert_int_equal(f->takes_value, f->arg != NULL);
        if (f->fate != FLAG_HONOURED)
            assert_true(f->why && *f->why);
        for (unsigned j = 0; j < i; j++) {
            assert_string_not_equal(f->name, flag_table[j].name);
            assert_true(!f->letter || f->letter != flag_table[j].letter);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),   cmocka_unit_test(test_shortened),
        cmocka_unit_test(test_wrong_lines), cmocka_unit_test(test_what_follows_the_script),
        cmocka_unit_test(test_environment), cmocka_unit_test(test_help),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
