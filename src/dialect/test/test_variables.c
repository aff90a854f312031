/* doc/environment.md is what the list of variables says, and each variable is there once. Run
 * variables_page when this fails. */
#include "dialect/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

static void test_page_is_current(void **state)
{
    (void)state;
    AUTO_BUF struct buf now = BUF_INIT(1 << 20);
    AUTO_FREE char *page = NULL;
    struct err err = { 0 };
    size_t len = 0;
    variables_page(&now);
    assert_false(now.overflow);
    if (file_read(SOURCE_ROOT "/doc/environment.md", 1 << 20, &page, &len, &err) != 0) {
        print_message("no doc/environment.md beside this build: %s\n", err.what);
        skip();
    }
    if (strcmp(page, buf_str(&now)) != 0)
        fail_msg("doc/environment.md is out of date: run BUILD/src/dialect/variables_page > "
                 "doc/environment.md");
}

static void test_each_is_there_once(void **state)
{
    (void)state;
    for (const struct variable *v = variables; v->name; v++)
        for (const struct variable *w = v + 1; w->name; w++)
            assert_false(v->of == w->of && strcmp(v->name, w->name) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_is_current),
        cmocka_unit_test(test_each_is_there_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
