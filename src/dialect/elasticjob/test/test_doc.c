/* The tables of the page are those of the code: fields with their fates, exit codes. */
#include "dialect/elasticjob/test/sample.h"

#include "base/buf.h"
#include "base/file.h"

#include <stdlib.h>

#define PAGE SOURCE_ROOT "/doc/dialect-elasticjob.md"

static void test_fields(void **state)
{
    AUTO_BUF struct buf want = BUF_INIT(1 << 20);
    struct err err = { 0 };
    char *page = NULL;
    size_t len = 0;
    (void)state;
    if (file_read(PAGE, 1 << 20, &page, &len, &err) != 0)
        fail_msg("%s", err.what);
    elasticjob_reference(&want);
    if (!strstr(page, buf_str(&want)))
        fail_msg("the field tables of %s are not those of the code: put the output of "
                 "elasticjob_reference there",
                 PAGE);
    size_t n;
    const struct ej_exit *rows = ej_exits(&n);
    for (size_t i = 0; i < n; i++)
        if (!strstr(page, rows[i].phrase))
            fail_msg("%s is not on the page", rows[i].phrase);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fields) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
