/* Lists of hosts, each way: what is written reads back as the same names, and what is no list is
 * refused with a reason. */
#include "base/hostlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Text to names, and the names to text again. */
static const struct row {
    const char *text, *names; /* names by blanks; NULL: refused */
    const char *written;      /* NULL: as text */
} rows[] = {
    { "n[1-3]", "n1 n2 n3", NULL },
    { "n[1-3,7]", "n1 n2 n3 n7", NULL },
    { "n[09-11]", "n09 n10 n11", NULL },
    { "n[8-11]", "n8 n9 n10 n11", NULL },
    { "n1", "n1", NULL },
    { "login,n[1-2],m3", "login n1 n2 m3", NULL },
    { "n1,n2", "n1 n2", "n[1-2]" },
    { "n[2,1]", "n2 n1", NULL },
    { "r[1-2]c[1-2]", "r1c1 r1c2 r2c1 r2c2", "r1c[1-2],r2c[1-2]" },
    { "gpu[01-02]-ib", "gpu01-ib gpu02-ib", "gpu01-ib,gpu02-ib" },
    { "", "", NULL },
    { "n[1-", NULL, NULL },
    { "n[]", NULL, NULL },
    { "n[a]", NULL, NULL },
    { "n[3-1]", NULL, NULL },
    { "n1]", NULL, NULL },
    { "n[0-99999999]", NULL, NULL },
    { "n[1-300]m[1-300]", NULL, NULL },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_create();
        struct err err = { .code = ERR_NONE };
        const char **names = NULL;
        size_t n = 0;
        int rc = hostlist_read(arena, rows[i].text, &names, &n, &err);
        assert_int_equal(rc, rows[i].names ? 0 : -1);
        if (rc == 0) {
            AUTO_BUF struct buf joined = BUF_INIT(4096), again = BUF_INIT(4096);
            for (size_t k = 0; k < n; k++)
                buf_addf(&joined, "%s%s", k ? " " : "", names[k]);
            assert_string_equal(buf_str(&joined), rows[i].names);
            hostlist_write(&again, names, n);
            assert_string_equal(buf_str(&again), rows[i].written ? rows[i].written : rows[i].text);
        } else {
            assert_true(*err.what != '\0');
        }
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
