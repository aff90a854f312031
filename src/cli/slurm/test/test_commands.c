/* What sbatch makes of a script and its command line, and how squeue writes times. The rest is
 * tried with a server, by a script of a job (tests/test_sbatch_run.py). */
#include "cli/slurm/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_insert(void **state)
{
    char time[] = "-t", ten[] = "10", comment[] = "--comment=a \"b\"";
    char *const words[] = { time, ten, comment };
    static const struct {
        const char *script, *result;
        size_t n;
    } rows[] = {
        { "#!/bin/sh\n#SBATCH -N2\n\nsrun x\n",
          "#!/bin/sh\n#SBATCH -N2\n\n#SBATCH \"-t\" \"10\" \"--comment=a \\\"b\\\"\"\nsrun x\n",
          3 },
        { "#!/bin/sh\nsrun x\n", "#!/bin/sh\n#SBATCH \"-t\" \"10\"\nsrun x\n", 2 },
        { "#!/bin/sh", "#!/bin/sh\n#SBATCH \"-t\" \"10\"\n", 2 },
        { "#!/bin/sh\nsrun x\n", "#!/bin/sh\nsrun x\n", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        sbatch_insert(&out, rows[i].script, words, rows[i].n);
        assert_string_equal(buf_str(&out), rows[i].result);
    }
}

/* Option lines end at the first command, also for those that are added. */
static void test_insert_where_options_end(void **state)
{
    char wrap[] = "--job-name=x", path[] = "--output=a\\b";
    char *const words[] = { wrap, path };
    static const struct {
        const char *script, *result;
        size_t n;
    } rows[] = {
        { "#!/bin/bash -l\n# a word\n#SBATCH -n4\n#SBATCH -t5\n",
          "#!/bin/bash -l\n# a word\n#SBATCH -n4\n#SBATCH -t5\n#SBATCH \"--job-name=x\"\n", 1 },
        { "#!/usr/bin/env python3\n\n\n#SBATCH -n4\n\nimport os\n",
          "#!/usr/bin/env python3\n\n\n#SBATCH -n4\n\n#SBATCH \"--job-name=x\"\nimport os\n", 1 },
        { "#!/bin/sh\n##SBATCH -n4\n#PBS -l nodes=2\nhostname\n",
          "#!/bin/sh\n##SBATCH -n4\n#PBS -l nodes=2\n#SBATCH \"--job-name=x\"\nhostname\n", 1 },
        { "#!/bin/sh\nset -e\n#SBATCH -n9\n",
          "#!/bin/sh\n#SBATCH \"--job-name=x\"\nset -e\n#SBATCH -n9\n", 1 },
        { "#!/bin/sh\ntrue", "#!/bin/sh\n#SBATCH \"--job-name=x\" \"--output=a\\\\b\"\ntrue", 2 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        sbatch_insert(&out, rows[i].script, words, rows[i].n);
        assert_string_equal(buf_str(&out), rows[i].result);
        assert_false(out.overflow);
    }
}

static void test_nothing_to_insert(void **state)
{
    static const char *const scripts[] = { "#!/bin/sh\n", "#!/bin/sh\n#SBATCH -N1\ntrue\n" };
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        sbatch_insert(&out, scripts[i], NULL, 0);
        assert_string_equal(buf_str(&out), scripts[i]);
    }
}

static void test_times(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } rows[] = { { 0, "0:00" }, { 65, "1:05" }, { 3600, "1:00:00" }, { 90061, "1-01:01:01" } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUF struct buf out = BUF_INIT(64);
        squeue_time(&out, rows[i].seconds);
        assert_string_equal(buf_str(&out), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_insert),
                                        cmocka_unit_test(test_nothing_to_insert),
                                        cmocka_unit_test(test_insert_where_options_end),
                                        cmocka_unit_test(test_times) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
