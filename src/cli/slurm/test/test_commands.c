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
                                        cmocka_unit_test(test_times) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
