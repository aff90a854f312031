/* The tables of the page doc/dialect-elasticjob.md are those of the code: fields with their fates,
 * exit codes. Run elasticjob_reference when this fails. */
#include "dialect/elasticjob/words.h"

#include "dialect/elasticjob/elasticjob.h"
#include "dialect/test/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_page(void **state)
{
    struct page page;
    size_t n;
    const struct ej_exit *rows = ej_exits(&n);
    (void)state;
    page_init(&page, SOURCE_ROOT "/doc/dialect-elasticjob.md");
    page_wants_tables(&page, elasticjob_reference, "elasticjob_reference");
    for (size_t i = 0; i < n; i++)
        page_wants(&page, rows[i].phrase);
    page_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_page) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
