/* The framing of WebSockets: the examples of RFC 6455, messages in pieces and in any cut, what is
 * refused and with which code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/websocket.h"

#include "base/mem.h"

#include <string.h>

#define MASK "\x37\xfa\x21\x3d"

static void test_accept(void **state)
{
    char out[WEBSOCKET_ACCEPT];
    (void)state;
    assert_true(websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", out));
    assert_string_equal(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_false(websocket_accept("", out));
    assert_false(websocket_accept("dGhlIHNhbXBsZSBub25jZQ", out));
    assert_false(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=!", out));
    assert_false(websocket_accept("dGhlIHNhbXBsZSBub25jZSBsb25nZXI=", out));
}

/* A client's frame of that first byte, masked. */
static void frame(struct buf *out, unsigned first, const char *data, size_t len)
{
    buf_putc(out, (char)first);
    if (len < 126) {
        buf_putc(out, (char)(0x80u | len));
    } else {
        int bytes = len < 65536 ? 2 : 8;
        buf_putc(out, (char)(bytes == 2 ? 0xfe : 0xff));
        for (int i = bytes - 1; i >= 0; i--)
            buf_putc(out, (char)((uint64_t)len >> (8 * i) & 255u));
    }
    buf_add(out, MASK, 4);
    for (size_t i = 0; i < len; i++)
        buf_putc(out, (char)(data[i] ^ MASK[i % 4]));
}

static void test_hello(void **state)
{
    char bytes[] = "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    struct websocket w;
    struct websocket_message m;
    size_t used = 0;
    (void)state;
    websocket_init(&w);
    for (size_t n = 0; n < sizeof bytes - 1; n++)
        assert_int_equal(websocket_next(&w, bytes, n, &m, &used), 0);
    assert_int_equal(websocket_next(&w, bytes, sizeof bytes - 1, &m, &used), 1);
    assert_int_equal(used, sizeof bytes - 1);
    assert_int_equal(m.kind, WEBSOCKET_TEXT);
    assert_int_equal(m.len, 5);
    assert_memory_equal(m.data, "Hello", 5);
    websocket_fini(&w);
}

static void test_pieces_with_a_ping_between(void **state)
{
    static const enum websocket_kind kinds[] = { WEBSOCKET_MORE, WEBSOCKET_PING, WEBSOCKET_MORE,
                                                 WEBSOCKET_TEXT, WEBSOCKET_BINARY };
    struct buf in = BUF_INIT(1 << 20);
    struct websocket w;
    struct websocket_message m;
    size_t used = 0, done = 0;
    (void)state;
    websocket_init(&w);
    frame(&in, 0x01, "\xe4\xb8", 2); /* a character in two pieces */
    frame(&in, 0x89, "are you there", 13);
    frame(&in, 0x00, "\xad", 1);
    frame(&in, 0x80, "!", 1);
    frame(&in, 0x82, "\0\xff", 2);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++, done += used) {
        assert_int_equal(websocket_next(&w, in.data + done, in.len - done, &m, &used), 1);
        assert_int_equal(m.kind, kinds[i]);
        if (m.kind == WEBSOCKET_TEXT)
            assert_memory_equal(m.data, "\xe4\xb8\xad!", 4);
        if (m.kind == WEBSOCKET_PING)
            assert_int_equal(m.len, 13);
    }
    assert_int_equal(done, in.len);
    websocket_fini(&w);
    buf_fini(&in);
}

static void test_lengths(void **state)
{
    static const size_t lens[] = { 0, 1, 125, 126, 127, 65535, 65536, WEBSOCKET_MESSAGE_MAX };
    char *data = mem_new(WEBSOCKET_MESSAGE_MAX);
    (void)state;
    memset(data, 'a', WEBSOCKET_MESSAGE_MAX);
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        struct buf in = BUF_INIT(4u << 20), out = BUF_INIT(4u << 20);
        struct websocket w;
        struct websocket_message m;
        size_t used = 0;
        websocket_init(&w);
        frame(&in, 0x81, data, lens[i]);
        assert_int_equal(websocket_next(&w, in.data, in.len, &m, &used), 1);
        assert_int_equal(m.len, lens[i]);
        websocket_put(&out, WEBSOCKET_TEXT, data, lens[i]);
        assert_int_equal(out.len, in.len - 4); /* the same without a mask */
        assert_int_equal(out.data[0], in.data[0]);
        assert_int_equal((unsigned char)out.data[1], (unsigned char)in.data[1] & 0x7f);
        if (lens[i])
            assert_memory_equal(out.data + out.len - lens[i], data, lens[i]);
        websocket_fini(&w);
        buf_fini(&in);
        buf_fini(&out);
    }
    free(data);
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum websocket_code fault;
    } bad[] = {
        { "\x81\x05Hello", 7, WEBSOCKET_BROKEN },                      /* not masked */
        { "\xc1\x85" MASK "12345", 11, WEBSOCKET_BROKEN },             /* compressed */
        { "\x83\x80" MASK, 6, WEBSOCKET_BROKEN },                      /* no such kind */
        { "\x8b\x80" MASK, 6, WEBSOCKET_BROKEN },                      /* nor this */
        { "\x09\x80" MASK, 6, WEBSOCKET_BROKEN },                      /* a ping in pieces */
        { "\x89\xfe\x01\x00" MASK, 8, WEBSOCKET_BROKEN },              /* a long ping */
        { "\x80\x81" MASK "a", 7, WEBSOCKET_BROKEN },                  /* the end of nothing */
        { "\x01\x80" MASK "\x81\x80" MASK, 12, WEBSOCKET_BROKEN },     /* one within another */
        { "\x81\xfe\x00\x7d" MASK, 8, WEBSOCKET_BROKEN },              /* a length too wide */
        { "\x81\xff\0\0\0\0\0\0\xff\xff" MASK, 14, WEBSOCKET_BROKEN }, /* the same */
        { "\x81\xff\0\0\0\0\0\x10\0\x01" MASK, 14, WEBSOCKET_TOO_LARGE },
        { "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff" MASK, 14, WEBSOCKET_TOO_LARGE },
        { "\x81\x81" MASK "\xc8", 7, WEBSOCKET_NO_TEXT }, /* 0xff when unmasked */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct websocket w;
        struct websocket_message m;
        char bytes[32];
        size_t used = 0, done = 0;
        int rc;
        memcpy(bytes, bad[i].bytes, bad[i].len);
        websocket_init(&w);
        while ((rc = websocket_next(&w, bytes + done, bad[i].len - done, &m, &used)) == 1)
            done += used;
        assert_int_equal(rc, -1);
        assert_int_equal(w.fault, bad[i].fault);
        websocket_fini(&w);
    }
}

static void test_pieces_have_a_bound(void **state)
{
    char *data = mem_new(WEBSOCKET_MESSAGE_MAX);
    struct buf in = BUF_INIT(4u << 20);
    struct websocket w;
    struct websocket_message m;
    size_t used = 0;
    (void)state;
    websocket_init(&w);
    frame(&in, 0x02, data, WEBSOCKET_MESSAGE_MAX);
    assert_int_equal(websocket_next(&w, in.data, in.len, &m, &used), 1);
    buf_clear(&in);
    frame(&in, 0x80, data, 1);
    assert_int_equal(websocket_next(&w, in.data, in.len, &m, &used), -1);
    assert_int_equal(w.fault, WEBSOCKET_TOO_LARGE);
    websocket_fini(&w);
    buf_fini(&in);
    free(data);
}

static void test_close(void **state)
{
    struct buf out = BUF_INIT(64);
    (void)state;
    websocket_put_close(&out, WEBSOCKET_DONE);
    assert_int_equal(out.len, 4);
    assert_memory_equal(out.data, "\x88\x02\x03\xe8", 4);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_pieces_with_a_ping_between),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_pieces_have_a_bound),
        cmocka_unit_test(test_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
