/* Replies as skopeo 1.9.3 sends them, as one that is newer might, and what is none. Each is text
 * here: skopeo itself is asked by test_proxy.c's callers and by tests/test_images.py. */
#include "node/fetch/proxy_reply.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct proxy_reply read_good(const char *text)
{
    struct proxy_reply reply;
    struct err err = { .what = "" };
    if (proxy_reply_read(text, strlen(text), &reply, &err) != 0)
        fail_msg("%s: %s", text, err.what);
    return reply;
}

static void replies_of_every_kind_are_read(void **state)
{
    (void)state;
    struct proxy_reply reply =
        read_good("{\"success\":true,\"value\":\"0.2.3\",\"pipeid\":0,\"error\":\"\"}\n");
    assert_true(reply.good && reply.version[0] == 0 && reply.version[1] == 2);
    reply = read_good("{\"success\":true,\"value\":7,\"pipeid\":4294967295,\"error\":\"\"}");
    assert_true(reply.good && reply.number == 7 && reply.pipe == UINT32_MAX);
    reply = read_good("{\"success\":true,\"value\":null,\"more\":[1,{\"a\":2}]}");
    assert_true(reply.good && reply.number == 0 && reply.pipe == 0);
    reply = read_good("{\"success\":false,\"value\":null,\"pipeid\":0,\"error\":\"reading: EOF\"}");
    assert_false(reply.good);
    assert_string_equal(reply.error, "reading: EOF");
}

static void what_is_no_number_or_version_counts_as_none(void **state)
{
    static const char *const values[] = {
        "-3",    "1.5", "\"2\"",     "\"0.2x.1\"", "\"\"",
        "\"0\"", "[7]", "{\"a\":7}", "\"a.b\"",    "9999999999999999999999"
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        AUTO_FREE char *text =
            mem_printf("{\"success\":true,\"value\":%s,\"pipeid\":-1}", values[i]);
        struct proxy_reply reply = read_good(text);
        if (reply.number != 0 || reply.version[0] != 0 || reply.version[1] != 0 || reply.pipe != 0)
            fail_msg("%s", values[i]);
    }
    struct proxy_reply reply = read_good("{\"success\":true,\"pipeid\":4294967296}");
    assert_int_equal(reply.pipe, 0);
}

static void a_long_error_keeps_its_end(void **state)
{
    char words[2 * PROXY_ERROR_MAX + 1];
    (void)state;
    memset(words, 'x', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    AUTO_FREE char *text = mem_printf("{\"success\":false,\"error\":\"%sthe end\"}", words);
    struct proxy_reply reply = read_good(text);
    assert_int_equal(strlen(reply.error), PROXY_ERROR_MAX - 1);
    assert_string_equal(reply.error + PROXY_ERROR_MAX - 1 - 7, "the end");
}

static void what_is_none_is_refused(void **state)
{
    static const char *const texts[] = { "",
                                         "{",
                                         "[]",
                                         "true",
                                         "{}",
                                         "{\"success\":1}",
                                         "{\"success\":\"true\"}",
                                         "{\"success\":true}}" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct proxy_reply reply = { .number = 5 };
        struct err err = { .code = ERR_NONE };
        assert_int_equal(proxy_reply_read(texts[i], strlen(texts[i]), &reply, &err), -1);
        assert_int_equal(err.code, ERR_SYSTEM);
        assert_int_equal(reply.number, 5);
    }
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_of_every_kind_are_read),
        cmocka_unit_test(what_is_no_number_or_version_counts_as_none),
        cmocka_unit_test(a_long_error_keeps_its_end),
        cmocka_unit_test(what_is_none_is_refused),
    };
    return cmocka_run_group_tests_name("node/fetch/proxy_reply", tests, NULL, NULL);
}
