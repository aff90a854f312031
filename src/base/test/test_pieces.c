/* Text in pieces is read as it was added, however it is cut: pieces are filled and read at sizes
 * around their border. */
#include "base/pieces.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LINES 300000u

static void test_reads_what_was_added(void **state)
{
    static const size_t sizes[] = { 1, 7, 32768, 3 * PIECE_BYTES };
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        AUTO_BUF struct buf all = BUF_INIT(SIZE_MAX / 2);
        struct pieces *p = pieces_create();
        for (unsigned i = 0; i < LINES; i++) {
            buf_addf(pieces_end(p), "line %u\n", i);
            buf_addf(&all, "line %u\n", i);
        }
        assert_int_equal(pieces_len(p), all.len);
        assert_true(all.len > 3 * PIECE_BYTES);
        AUTO_FREE char *out = mem_new(sizes[k]);
        size_t at = 0, n;
        while ((n = pieces_take(p, out, sizes[k])) > 0) {
            assert_memory_equal(out, all.data + at, n);
            at += n;
        }
        assert_int_equal(at, all.len);
        pieces_destroy(p);
    }
}

static void test_none(void **state)
{
    char c;
    (void)state;
    pieces_destroy(NULL);
    struct pieces *p = pieces_create();
    assert_int_equal(pieces_len(p), 0);
    assert_int_equal(pieces_take(p, &c, 1), 0);
    assert_int_equal(pieces_end(p)->len, 0);
    assert_int_equal(pieces_take(p, &c, 1), 0);
    pieces_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_was_added),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
