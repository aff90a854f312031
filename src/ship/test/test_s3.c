/* What is read of a store's answers and of a file of credentials, and which texts name a place in a
 * store. No store is asked: that is in the tests from end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ship/s3.h"
#include "ship/s3_credentials.h"
#include "ship/s3_xml.h"
#include "ship/target.h"

#include <stdlib.h>
#include <string.h>

static struct xml_span span(const char *text)
{
    return (struct xml_span){ .at = text, .len = strlen(text) };
}

static void test_elements(void **state)
{
    (void)state;
    struct xml_span rest =
        span("<?xml version=\"1.0\"?><List xmlns=\"http://s3/\"><Prefix>a/</Prefix>"
             "<Common><Prefix>a/1/</Prefix></Common><Common/>"
             "<Common ><Prefix>a/2/</Prefix></Common></List>");
    struct xml_span one;
    char text[16];
    assert_true(xml_text(rest, "Prefix", text, sizeof text));
    assert_string_equal(text, "a/");
    assert_true(xml_next(&rest, "Common", &one) && xml_text(one, "Prefix", text, sizeof text));
    assert_string_equal(text, "a/1/");
    assert_true(xml_next(&rest, "Common", &one) && xml_text(one, "Prefix", text, sizeof text));
    assert_string_equal(text, "a/2/");
    assert_false(xml_next(&rest, "Common", &one));
    assert_false(xml_text(rest, "Commo", text, sizeof text));
    assert_string_equal(text, "");
}

static void test_text(void **state)
{
    static const struct {
        const char *in, *out;
        bool found;
    } cases[] = {
        { .in = "<E>&quot;ab&#34;&amp;&lt;&gt;&apos;</E>", .out = "\"ab\"&<>'", .found = true },
        { .in = "<E>&unknown; &</E>", .out = "&unknown; &", .found = true },
        { .in = "<E>0123456789abcdefghij</E>", .out = "0123456789abcde", .found = true },
        { .in = "<E></E>", .out = "", .found = true },
        { .in = "<E>no end", .out = "" },
        { .in = "<E", .out = "" },
        { .in = "<", .out = "" },
        { .in = "", .out = "" },
        { .in = "<EE>x</EE>", .out = "" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[16];
        assert_int_equal(xml_text(span(cases[i].in), "E", text, sizeof text), cases[i].found);
        assert_string_equal(text, cases[i].out);
    }
    struct xml_span none = { .at = NULL }, one;
    assert_false(xml_next(&none, "E", &one));
}

static void test_profiles(void **state)
{
    static const char file[] = "aws_access_key_id = outside\n"
                               "[default]\r\naws_access_key_id = first\r\n"
                               "# aws_secret_access_key = commented\n"
                               "; and so\n[ second ]\n\taws_access_key_id=k=1\n"
                               "aws_secret_access_key = s/+=\naws_session_token= t \n"
                               "region = eu-west-1\nnothing\n[default ";
    struct arena *a = arena_create();
    struct s3_credentials c = { .key = NULL };
    (void)state;
    s3_read_profile(a, file, "second", &c);
    assert_string_equal(c.key, "k=1");
    assert_string_equal(c.secret, "s/+=");
    assert_string_equal(c.token, "t");
    c = (struct s3_credentials){ .key = NULL };
    s3_read_profile(a, file, "default", &c);
    assert_string_equal(c.key, "first");
    assert_null(c.secret);
    c = (struct s3_credentials){ .key = NULL };
    s3_read_profile(a, file, "third", &c);
    assert_null(c.key);
    arena_destroy(a);
}

static void test_places(void **state)
{
    static const struct {
        struct target_place place;
        bool good;
    } cases[] = {
        { { .where = "s3://bucket" }, true },
        { { .where = "s3://bucket/" }, true },
        { { .where = "s3://b.u-c_K3t/a b/\xc3\xbc+/c/" }, true },
        { { .where = "s3://bucket/a", .endpoint = "https://minio:9000/" }, true },
        { { .where = "s3://bucket/a", .endpoint = "http://[::1]:9000", .region = "eu-1" }, true },
        { { .where = "/a/directory" }, true },
        { { .where = "s3://" }, false },
        { { .where = "s3:///a" }, false },
        { { .where = "s3://b..t/a" }, false },
        { { .where = "s3://b?t/a" }, false },
        { { .where = "s3://bucket//a" }, false },
        { { .where = "s3://bucket/a//b" }, false },
        { { .where = "s3://bucket/../b" }, false },
        { { .where = "s3://bucket/a/." }, false },
        { { .where = "s3://bucket/a\nb" }, false },
        { { .where = "s3://bucket/a", .endpoint = "minio:9000" }, false },
        { { .where = "s3://bucket/a", .endpoint = "https://" }, false },
        { { .where = "s3://bucket/a", .endpoint = "https://k:s@minio" }, false },
        { { .where = "s3://bucket/a", .endpoint = "https://minio/?a" }, false },
        { { .where = "s3://bucket/a", .region = "a b" }, false },
        { { .where = "s3:bucket" }, false },
        { { .where = "directory" }, false },
    };
    (void)state;
    unsetenv("AWS_ENDPOINT_URL");
    unsetenv("AWS_ENDPOINT_URL_S3");
    unsetenv("AWS_REGION");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        bool good = target_check(&cases[i].place, &err) == 0;
        if (good != cases[i].good)
            fail_msg("%s %s", cases[i].place.where, err.what);
        assert_true(good || (err.code == ERR_INPUT && *err.hint));
        assert_null(strstr(err.what, "k:s"));
    }
}

static void test_environment(void **state)
{
    const struct target_place place = { .where = "s3://b", .endpoint = "", .region = "" };
    (void)state;
    assert_string_equal(s3_region(&place), "us-east-1");
    setenv("AWS_DEFAULT_REGION", "eu-1", 1);
    assert_string_equal(s3_region(&place), "eu-1");
    setenv("AWS_REGION", "eu-2", 1);
    assert_string_equal(s3_region(&place), "eu-2");
    assert_string_equal(s3_endpoint(&place), "");
    setenv("AWS_ENDPOINT_URL", "http://all", 1);
    setenv("AWS_ENDPOINT_URL_S3", "http://s3", 1);
    assert_string_equal(s3_endpoint(&place), "http://s3");
    const struct target_place said = { .where = "s3://b",
                                       .endpoint = "http://x",
                                       .region = "eu-3" };
    assert_string_equal(s3_endpoint(&said), "http://x");
    assert_string_equal(s3_region(&said), "eu-3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),    cmocka_unit_test(test_text),
        cmocka_unit_test(test_profiles),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
