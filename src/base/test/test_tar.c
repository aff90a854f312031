/* Headers of tar archives, written and read back. A header with a changed bit in any byte that is
 * read is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/tar.h"

#include <string.h>

static void test_both_ways(void **state)
{
    static const uint64_t sizes[] = {
        0, 1, 511, 512, 513, 1ull << 32, (1ull << 33) - 1, 1ull << 33, 1ull << 45
    };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char block[TAR_BLOCK];
        struct tar_member in = { .name = "archives/x", .size = sizes[i], .time_s = 1790000000 },
                          out;
        struct err err;
        tar_header(&in, block);
        assert_int_equal(tar_read_header(block, &out, &err), 1);
        assert_string_equal(out.name, in.name);
        assert_true(out.size == in.size && out.time_s == in.time_s);
        assert_int_equal((in.size + tar_padding(in.size)) % TAR_BLOCK, 0);
    }
}

static void test_what_is_none(void **state)
{
    unsigned char block[TAR_BLOCK] = { 0 };
    struct tar_member m = { .name = "a" };
    struct err err;
    (void)state;
    assert_int_equal(tar_read_header(block, &m, &err), 0); /* the end */
    for (size_t i = 0; i < 345; i++) {
        tar_header(&(struct tar_member){ .name = "a", .size = 7 }, block);
        block[i] ^= 1;
        if (i < 154 || i > 155) /* what follows the sum is not read */
            assert_int_equal(tar_read_header(block, &m, &err), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
