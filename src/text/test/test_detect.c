/* Which texts are batch scripts. Job files of other syntaxes may have the same words in comments
 * and commands. */
#include "text/detect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_scripts(void **state)
{
    static const struct {
        const char *text;
        bool script;
    } rows[] = {
        { "#!/bin/bash\n#SBATCH -N2\nsrun hostname\n", true },
        { "#!/bin/bash\n\n# about\n#SBATCH -N2", true },
        { "\n#!/bin/bash\n#SBATCH -N2\n", true }, /* its reader says that a line is too much */
        { "\xef\xbb\xbf#!/bin/bash\r\n#SBATCH -N2\r\n", true },
        { "#SBATCH -N2\nsrun hostname\n", true },
        { "#!/bin/bash\nhostname\n", false },
        { "#!/usr/bin/muster\nname: a\nrun: |\n  #SBATCH -N2\n", false },
        { "# a job\n#SBATCH is not read here\nname: a\n", false },
        { "{\"name\": \"a\"}", false },
        { "name=a\n", false },
        { "", false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_create();
        struct report report;
        size_t documents = 0;
        report_init(&report, arena);
        assert_int_equal(script_like(rows[i].text, strlen(rows[i].text)), rows[i].script);
        const struct text_node *root =
            text_parse_documents(arena, rows[i].text, strlen(rows[i].text), &documents, &report);
        if (rows[i].script) {
            assert_non_null(root);
            assert_true(root->script);
            assert_string_equal(root->str, rows[i].text);
        } else if (root) {
            assert_false(root->script);
        }
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_scripts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
