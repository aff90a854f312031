/* The tables of the page are those of the code: fields with their fates, exit codes. */
#include "dialect/openpai/openpai.h"

#include "base/buf.h"
#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE SOURCE_ROOT "/doc/dialect-openpai.md"

static void test_page(void **state)
{
    AUTO_BUF struct buf want = BUF_INIT(1 << 20);
    struct err err = { 0 };
    char *page = NULL;
    size_t len = 0;
    (void)state;
    if (file_read(PAGE, 1 << 20, &page, &len, &err) != 0)
        fail_msg("%s", err.what);
    openpai_v2_reference(&want);
    if (!strstr(page, buf_str(&want)))
        fail_msg("the field tables of %s are not those of the code: put the output of "
                 "openpai_v2_reference there",
                 PAGE);
    size_t n;
    const struct openpai_exit *rows = openpai_v2_exits(&n);
    for (size_t i = 0; i < n; i++)
        if (!strstr(page, rows[i].phrase))
            fail_msg("%s is not on the page", rows[i].phrase);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_page) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
