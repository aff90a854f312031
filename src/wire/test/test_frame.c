/* Frames: bytes in, bytes out, one after the other. Broken input is told apart from input that is
 * cut, and a reader that failed once stays failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "wire/frame.h"

static void bytes_on_the_wire(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT(1000);
    size_t mark = wire_begin(&out, WIRE_ACK, 0x0102030405060708u);
    wire_put_u8(&out, 0xab);
    wire_end(&out, mark);
    const unsigned char want[] = { 10, 0, 0, 0, WIRE_ACK, 8, 7, 6, 5, 4, 3, 2, 1, 0xab };
    assert_int_equal(out.len, sizeof want);
    assert_memory_equal(out.data, want, sizeof want);
}

static void one_after_the_other(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT(1000);
    for (uint64_t i = 1; i <= 3; i++) {
        size_t mark = wire_begin(&out, WIRE_PING, i);
        for (uint64_t k = 0; k < i; k++)
            wire_put_u64(&out, k);
        wire_end(&out, mark);
    }
    size_t at = 0;
    for (uint64_t i = 1; i <= 3; i++) {
        struct wire_frame frame;
        size_t used = 0;
        for (size_t cut = 0; cut < WIRE_HEAD + i * 8; cut++)
            assert_int_equal(wire_next(out.data + at, cut, &frame, &used), 0);
        assert_int_equal(wire_next(out.data + at, out.len - at, &frame, &used), 1);
        assert_int_equal(frame.kind, WIRE_PING);
        assert_int_equal(frame.seq, i);
        assert_int_equal(frame.len, i * 8);
        assert_int_equal(used, WIRE_HEAD + i * 8);
        at += used;
    }
    assert_int_equal(at, out.len);
}

static void broken_input_is_told_apart_from_short(void **state)
{
    (void)state;
    struct wire_frame frame;
    size_t used = 0;
    const unsigned char too_short[] = { 8, 0, 0, 0, WIRE_PING };
    assert_int_equal(wire_next(too_short, sizeof too_short, &frame, &used), -1);
    const unsigned char too_long[] = { 1, 0, 0, 1, WIRE_PING };
    assert_int_equal(wire_next(too_long, sizeof too_long, &frame, &used), -1);
    const unsigned char no_kind[] = { 9, 0, 0, 0, WIRE_NONE };
    assert_int_equal(wire_next(no_kind, sizeof no_kind, &frame, &used), -1);
    const unsigned char new_kind[] = { 9, 0, 0, 0, WIRE_KIND_N };
    assert_int_equal(wire_next(new_kind, sizeof new_kind, &frame, &used), -1);
    const unsigned char http[] = "HTTP/1.1 400 Bad Request\r\n";
    assert_int_equal(wire_next(http, sizeof http, &frame, &used), -1);
    assert_int_equal(wire_next(http, 3, &frame, &used), 0);
}

static void overflow_takes_the_frame_back(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT(40);
    size_t mark = wire_begin(&out, WIRE_PING, 1);
    wire_end(&out, mark);
    size_t whole = out.len;
    mark = wire_begin(&out, WIRE_STDOUT, 2);
    for (int i = 0; i < 20; i++)
        wire_put_u32(&out, 1);
    wire_end(&out, mark);
    assert_true(out.overflow);
    assert_int_equal(out.len, whole);
}

static void texts(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT(1000);
    size_t mark = wire_begin(&out, WIRE_EXEC, 0);
    wire_put_str(&out, "worker");
    wire_put_str(&out, NULL);
    wire_put_str(&out, "");
    wire_put_bytes(&out, "a\0b", 3);
    wire_put_bytes(&out, "a\0b", 3);
    wire_end(&out, mark);
    struct wire_frame frame;
    size_t used;
    assert_int_equal(wire_next(out.data, out.len, &frame, &used), 1);
    struct wire_reader from = wire_read(&frame);
    struct arena *arena = arena_create();
    assert_string_equal(wire_get_str(&from, arena), "worker");
    assert_null(wire_get_str(&from, arena));
    assert_false(from.bad);
    assert_string_equal(wire_get_str(&from, arena), "");
    size_t len;
    assert_memory_equal(wire_get_bytes(&from, &len), "a\0b", 3);
    assert_int_equal(len, 3);
    assert_null(wire_get_str(&from, arena)); /* a NUL inside */
    assert_true(from.bad);
    assert_int_equal(wire_get_u64(&from), 0);
    assert_null(wire_get_bytes(&from, &len));
    assert_int_equal(len, 0);
    arena_destroy(arena);
}

static void counts_are_bounded_by_the_bytes(void **state)
{
    (void)state;
    const unsigned char body[] = { 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    struct wire_frame frame = { .kind = WIRE_EXEC, .body = body, .len = sizeof body };
    struct wire_reader from = wire_read(&frame);
    assert_int_equal(wire_get_count(&from, 2), 3);
    from = wire_read(&frame);
    assert_int_equal(wire_get_count(&from, 3), 0);
    assert_true(from.bad);
    const unsigned char huge[] = { 0xff, 0xff, 0xff, 0xff };
    frame = (struct wire_frame){ .kind = WIRE_EXEC, .body = huge, .len = sizeof huge };
    from = wire_read(&frame);
    assert_int_equal(wire_get_count(&from, 1), 0);
    assert_true(from.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_on_the_wire),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(broken_input_is_told_apart_from_short),
        cmocka_unit_test(overflow_takes_the_frame_back),
        cmocka_unit_test(texts),
        cmocka_unit_test(counts_are_bounded_by_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
