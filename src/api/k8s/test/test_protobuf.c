/* Objects in protobuf: what kubectl sends, every type that is taken, every way in which bytes and
 * envelopes can be broken, and the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/k8s/protobuf.h"
#include "api/k8s/shape.h"
#include "base/buf.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

static int setup(void **state)
{
    *state = arena_create();
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(*state);
    return 0;
}

/* A text literal with NULs in it. */
#define BYTES(text) (text), sizeof(text) - 1

static void reads(struct arena *a, const char *data, size_t len, const char *json)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    struct err err = { 0 };
    const struct text_node *tree = kube_protobuf(a, data, len, &err);
    if (!tree)
        fail_msg("%s: %s", json, err.what);
    json_print(tree, 0, &out);
    assert_string_equal(buf_str(&out), json);
}

static void refused(struct arena *a, const char *data, size_t len, const char *what)
{
    struct err err = { 0 };
    if (kube_protobuf(a, data, len, &err))
        fail_msg("taken: %s", what);
    if (!strstr(err.what, what))
        fail_msg("\"%s\" does not say \"%s\"", err.what, what);
}

/* As kubectl 1.32 sends them. */
static void what_kubectl_sends(void **state)
{
    reads(*state,
          BYTES("k8s\0\n\17\n\2v1\22\tConfigMap\22\x41\n\21\n\1a\22\0\32\0\"\0*\0002\0008\0B\0"
                "\22\6\n\1a\22\1b\22\7\n\1u\22\2\xc3\xa9\32\33\n\3rnd\22\24$\xb3\7\34W:\xdeX\x91"
                "\30"
                "3\23\xd0\x8a\xda\xe3\xcf{\x88"
                "4\32\0\"\0"),
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},"
          "\"data\":{\"a\":\"b\",\"u\":\"\xc3\xa9\"},"
          "\"binaryData\":{\"rnd\":\"JLMHHFc63liRGDMT0Ira4897iDQ=\"}}");
    reads(*state,
          BYTES("k8s\0\n\14\n\2v1\22\6Secret\22\35\n\21\n\1s\22\0\32\0\"\0*\0002\0008\0B\0"
                "\22\6\n\1a\22\1b\32\0\32\0\"\0"),
          "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},"
          "\"data\":{\"a\":\"Yg==\"}}");
    reads(*state,
          BYTES("k8s\0\n\17\n\2v1\22\tNamespace\22\33\n\23\n\3foo\22\0\32\0\"\0*\0002\0008\0B\0"
                "\22\0\32\2\n\0\32\0\"\0"),
          "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"foo\"}}");
    reads(*state,
          BYTES("k8s\0\n2\n\27authorization.k8s.io/v1\22\27SelfSubjectAccessReview\22\77"
                "\n\20\n\0\22\0\32\0\"\0*\0002\0008\0B\0\22!\n\37\n\7dlrover\22\6create"
                "\32\0\"\0*\4pods2\0:\0\32\10\10\0\22\0\32\0 \0\32\0\"\0"),
          "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
          "\"spec\":{\"resourceAttributes\":{\"namespace\":\"dlrover\",\"verb\":\"create\","
          "\"resource\":\"pods\"}}}");
}

/* An object of that kind. */
static void of(struct buf *out, const char *kind, const char *raw, size_t len)
{
    out->len = 0;
    buf_add(out, "k8s\0\n", 5);
    buf_putc(out, (char)(strlen(kind) + 6));
    buf_addf(out, "\n\2v1\22%c%s\22", (char)strlen(kind), kind);
    for (; len >= 0x80; len >>= 7) /* never: what is longer writes its own */
        fail_msg("too long");
    buf_putc(out, (char)len);
    buf_add(out, raw, len);
}

static void every_type(void **state)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    of(&out, "DeleteOptions", BYTES("\10\0\22\6\n\1u\22\1v\30\0\"\nBackground*\3All"));
    reads(*state, out.data, out.len,
          "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,"
          "\"preconditions\":{\"uid\":\"u\",\"resourceVersion\":\"v\"},\"orphanDependents\":false,"
          "\"propagationPolicy\":\"Background\",\"dryRun\":[\"All\"]}");
    /* ten bytes of a negative number; fields of every wire type that no table names */
    of(&out, "DeleteOptions",
       BYTES("\10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\370\1\7\371\1"
             "12345678\372\1\1x\375\1"
             "1234"));
    reads(*state, out.data, out.len,
          "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":-1}");
    /* an entry without key and value, labels and finalizers */
    of(&out, "ConfigMap", BYTES("\n\15Z\6\n\1k\22\1vr\3a/b\22\0 \1"));
    reads(*state, out.data, out.len,
          "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"labels\":{\"k\":\"v\"},"
          "\"finalizers\":[\"a/b\"]},\"data\":{\"\":\"\"},\"immutable\":true}");
}

static void broken_bytes(void **state)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    static const struct {
        const char *raw;
        size_t len;
        const char *what;
    } rows[] = {
        { BYTES("\12\5\n\1a"), "length beyond its end" },
        { BYTES("\12\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), "length beyond its end" },
        { BYTES("\12\200"), "ends within a number" },
        { BYTES("\12"), "ends within a number" },
        { BYTES("\200\200\200\200\200\200\200\200\200\200\1"), "more than ten bytes" },
        { BYTES("\2\0"), "whose number is none" },
        { BYTES("\373\1"), "no known type" },
        { BYTES("\371\1\0\0\0"), "length beyond its end" },
        { BYTES("\10\1"), "metadata is of another type" },
        { BYTES("\42\0"), "immutable is of another type" },
        { BYTES("\40\1\40\1"), "immutable is there twice" },
        { BYTES("\12\0\12\0"), "metadata is there twice" },
        { BYTES("\12\6\n\1a\n\1b"), "name is there twice" },
        { BYTES("\12\3\n\1\xff"), "name is no UTF-8" },
        { BYTES("\12\3\n\1\0"), "name is no UTF-8" },
        { BYTES("\22\3\n\1\xc3"), "data is no UTF-8" },
        { BYTES("\22\3\22\1\xc3"), "data is no UTF-8" },
        { BYTES("\22\2\10\1"), "data is no map of texts" },
        { BYTES("\22\6\n\1a\22\1b\22\3\n\1a"), "data has \"a\" twice" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        of(&out, "ConfigMap", rows[i].raw, rows[i].len);
        refused(*state, out.data, out.len, rows[i].what);
    }
}

static void broken_envelopes(void **state)
{
    refused(*state, BYTES(""), "does not begin");
    refused(*state, BYTES("k8s"), "does not begin");
    refused(*state, BYTES("{\"a\":1}"), "does not begin");
    refused(*state, BYTES("k8s\0"), "without a kind");
    refused(*state, BYTES("k8s\0\n\5\22\3Job"), "of a Job is not supported");
    refused(*state, BYTES("k8s\0\n\5\22\3Job\22\0\32\4gzip"), "is compressed");
    refused(*state, BYTES("k8s\0\n\12\22\3Job\22\3Job"), "kind is there twice");
    /* every front part of a good one is broken, or the object without its end */
    static const char good[] = "k8s\0\n\14\n\2v1\22\6Secret\22\n\22\6\n\1a\22\1b\32\0";
    struct err err;
    for (size_t n = 0; n < sizeof good - 1; n++)
        if (kube_protobuf(*state, good, n, &err) && n != 18)
            fail_msg("%zu bytes are taken", n);
}

static void bounds(void **state)
{
    for (unsigned more = 0; more < 2; more++) {
        AUTO_BUF struct buf raw = BUF_INIT(1u << 20);
        AUTO_BUF struct buf out = BUF_INIT(1u << 20);
        struct err err;
        for (unsigned i = 0; i < KUBE_MEMBERS_MAX + more; i++)
            buf_addf(&raw, "\22\6\n\4%04x", i);
        buf_add(&out, BYTES("k8s\0\n\17\n\2v1\22\tConfigMap\22"));
        size_t len = raw.len;
        for (; len >= 0x80; len >>= 7)
            buf_putc(&out, (char)(len | 0x80));
        buf_putc(&out, (char)len);
        buf_add(&out, raw.data, raw.len);
        const struct text_node *tree = kube_protobuf(*state, out.data, out.len, &err);
        assert_int_equal(tree != NULL, !more);
        if (tree)
            assert_false(kube_crowded(tree));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_kubectl_sends, setup, teardown),
        cmocka_unit_test_setup_teardown(every_type, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_envelopes, setup, teardown),
        cmocka_unit_test_setup_teardown(bounds, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
