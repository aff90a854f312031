/* Every type of row is written, read the same, missed when a byte is missing, and refused where it
 * says what no writer says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/pairs.h"
#include "job/words.h"
#include "wire/codec.h"

#include <string.h>

struct inner {
    uint16_t small;
    int below;
};
struct all {
    uint8_t one;
    uint16_t two, narrow;
    uint32_t four;
    uint64_t eight;
    bool flag, first, second;
    const char *text, *maybe, *named, *there;
    const char *blob;
    const void *bytes;
    size_t blob_len, bytes_len;
    struct inner *list;
    uint32_t n_list;
    struct words words;
    struct pairs pairs;
    struct inner within;
    const struct inner *pointed;
    uint64_t tail, later;
};

static bool is_four(const void *base)
{
    return ((const struct all *)base)->four == 4;
}

static const struct codec_row inner_rows[] = {
    ROW(U8, struct inner, small, ""),
    ROW(U32, struct inner, below, ""),
    ROW_END,
};
static const struct codec_row bit_rows[] = {
    ROW(FLAG, struct all, first, ""),
    ROW(FLAG, struct all, second, ""),
    ROW(MAYBE, struct all, there, ""),
    ROW_END,
};
static const struct codec_row all_rows[] = {
    ROW(U8, struct all, one, "", .min = 1, .max = 9),
    ROW(U16, struct all, two, ""),
    ROW(U32, struct all, narrow, ""),
    ROW(U32, struct all, four, ""),
    ROW(U64, struct all, eight, ""),
    ROW(FLAG, struct all, flag, ""),
    ROW_SAME(BITS, "bits", "", .table = bit_rows),
    ROW(TEXT, struct all, text, "", .max = 5),
    ROW(MAYBE, struct all, maybe, ""),
    ROW(MAYBE, struct all, named, "", .unset = "nobody"),
    ROW(MAYBE, struct all, there, "", .bit = 4),
    ROW_BYTES(BLOB, struct all, blob, blob_len, ""),
    ROW_BYTES(BYTES, struct all, bytes, bytes_len, "", .only = is_four),
    ROW_MANY(LIST, struct all, list, n_list, "", .table = inner_rows, .min = 1, .max = 3),
    ROW_WORDS(struct all, words, ""),
    ROW(PAIRS, struct all, pairs, ""),
    ROW(STRUCT, struct all, within, "", .table = inner_rows),
    ROW_POINTER(struct all, pointed, "", .table = inner_rows),
    ROW(U64, struct all, tail, "", .flags = CODEC_TAIL),
    ROW(U64, struct all, later, "", .flags = CODEC_TAIL),
    ROW_END,
};

static int begin(void **state)
{
    *state = arena_create();
    return 0;
}

static int end(void **state)
{
    arena_destroy(*state);
    return 0;
}

static struct all filled(struct arena *arena)
{
    static struct inner list[] = {
        { .small = 1, .below = -2 }, { .small = 3 }, { .small = 4 }, { .small = 5 }
    };
    static const char *words[] = { "a", NULL };
    struct all all = { .one = 9,
                       .two = 0x1234,
                       .narrow = 65535,
                       .four = 4,
                       .eight = UINT64_MAX,
                       .flag = true,
                       .second = true,
                       .text = "text",
                       .there = "here",
                       .blob = "a\0b",
                       .blob_len = 3,
                       .bytes = "\0",
                       .bytes_len = 1,
                       .list = list,
                       .n_list = 4,
                       .words = { .at = words, .n = 2 },
                       .within = { .small = 255, .below = 7 },
                       .pointed = &list[0] };
    pairs_set(&all.pairs, arena, "k", "v");
    return all;
}

static int read_all(const struct buf *out, size_t len, struct arena *arena, struct all *got)
{
    const unsigned char *at = (const unsigned char *)out->data;
    *got = (struct all){ .one = 0 };
    return codec_get((struct wire_reader){ .at = at, .end = at + len }, arena, all_rows, got);
}

static void all_types(void **state)
{
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct all sent = filled(*state), got;
    codec_put(&out, all_rows, &sent);
    for (size_t len = 0; len < out.len; len++)
        assert_int_equal(read_all(&out, len, *state, &got), -1);
    assert_int_equal(read_all(&out, out.len, *state, &got), 0);
    assert_true(got.one == 9 && got.two == 0x1234 && got.narrow == 65535 && got.four == 4);
    assert_true(got.eight == UINT64_MAX && got.flag && !got.first && got.second);
    assert_string_equal(got.text, "text");
    assert_null(got.maybe);
    assert_string_equal(got.named, "nobody");
    assert_string_equal(got.there, "here");
    assert_int_equal(got.blob_len, 3);
    assert_memory_equal(got.blob, "a\0b", 3);
    assert_true(got.bytes_len == 1 && *(const char *)got.bytes == '\0');
    assert_int_equal(got.n_list, 3); /* what is more is not written */
    assert_true(got.list[0].below == -2 && got.list[2].small == 4);
    assert_string_equal(got.words.at[1], "");
    assert_string_equal(pairs_get(&got.pairs, "k"), "v");
    assert_int_equal(got.pairs.cap, 1);
    assert_true(got.within.small == 255 && got.within.below == 7 && got.pointed->below == -2);
    AUTO_BUF struct buf again = BUF_INIT(1000);
    got.named = NULL;
    codec_put(&again, all_rows, &got);
    assert_int_equal(again.len, out.len);
    assert_memory_equal(again.data, out.data, out.len);
}

static void what_is_not_there(void **state)
{
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct all sent = filled(*state), got;
    codec_put(&out, all_rows, &sent);
    size_t full = out.len;
    buf_clear(&out);
    sent.four = 5; /* no bytes */
    sent.there = NULL;
    sent.blob = NULL;
    pairs_put(&sent.pairs, *state, "n", NULL);
    codec_put(&out, all_rows, &sent);
    assert_int_equal(out.len, full - 5 - 8 - 3 + 9);
    assert_int_equal(read_all(&out, out.len, *state, &got), 0);
    assert_true(!got.bytes && !got.there && !got.blob);
    assert_string_equal(pairs_get(&got.pairs, "n"), "");
    assert_int_equal(codec_least(all_rows),
                     1 + 2 + 4 + 4 + 8 + 1 + 1 + 4 + 4 + 4 + 5 + 12 + 5 + 10);
}

static void a_tail_has_one_form(void **state)
{
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct all sent = filled(*state), got;
    codec_put(&out, all_rows, &sent);
    size_t without = out.len;
    buf_clear(&out);
    sent.tail = 1;
    codec_put(&out, all_rows, &sent);
    assert_int_equal(out.len, without + 8);
    assert_int_equal(read_all(&out, out.len, *state, &got), 0);
    assert_int_equal(got.tail, 1);
    buf_clear(&out);
    sent.tail = 0;
    sent.later = 1;
    codec_put(&out, all_rows, &sent);
    assert_int_equal(out.len, without + 16);
    assert_int_equal(read_all(&out, out.len, *state, &got), 0);
    assert_true(got.tail == 0 && got.later == 1);
    assert_int_equal(read_all(&out, without + 8, *state, &got), -1); /* a zero at the end */
    assert_int_equal(read_all(&out, without, *state, &got), 0);
}

static void wrong_values(void **state)
{
    static const struct {
        size_t at;
        unsigned char value;
    } wrong[] = {
        { 0, 0 },  { 0, 10 }, /* numbers out of range */
        { 5, 1 },             /* too wide for its member */
        { 19, 2 }, { 20, 8 }, /* flags that there are none of */
        { 21, 6 }, { 22, 1 }, /* longer than it may be, than the bytes */
        { 24, 1 }, { 25, 0 }, /* longer than there is, a NUL */
    };
    AUTO_BUF struct buf out = BUF_INIT(1000);
    struct all sent = filled(*state), got;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        buf_clear(&out);
        codec_put(&out, all_rows, &sent);
        out.data[wrong[i].at] = (char)wrong[i].value;
        assert_int_equal(read_all(&out, out.len, *state, &got), -1);
    }
    buf_clear(&out);
    sent.n_list = 0; /* fewer than there must be */
    codec_put(&out, all_rows, &sent);
    assert_int_equal(read_all(&out, out.len, *state, &got), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(a_tail_has_one_form),
        cmocka_unit_test(wrong_values),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
