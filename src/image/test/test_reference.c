/* Names of images: what Docker makes of them, and what is refused, with the reason and what to
 * write instead. */
#include "image/reference.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void names_are_read_as_docker_reads_them(void **state)
{
    static const struct {
        const char *text, *full;
    } rows[] = {
        { "debian", "docker.io/library/debian:latest" },
        { "debian:12", "docker.io/library/debian:12" },
        { "openpai/pytorch:1.0", "docker.io/openpai/pytorch:1.0" },
        { "localhost/a", "localhost/a:latest" },
        { "localhost:5000/team/a:b", "localhost:5000/team/a:b" },
        { "127.0.0.1:25000/team/a__b-c.d", "127.0.0.1:25000/team/a__b-c.d:latest" },
        { "[::1]:5000/a", "[::1]:5000/a:latest" },
        { "registry.example.com/a/b/c:V_1.x-2", "registry.example.com/a/b/c:V_1.x-2" },
        { "a@sha256:" HEX, "docker.io/library/a@sha256:" HEX },
        { "r.io/a:tag@sha256:" HEX, "r.io/a@sha256:" HEX },
        { "r.io/a--b", "r.io/a--b:latest" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct image_ref ref, again;
        struct err err;
        char text[IMAGE_TEXT_MAX], twice[IMAGE_TEXT_MAX];
        assert_int_equal(image_ref_parse(rows[i].text, &ref, &err), 0);
        image_ref_print(&ref, text);
        assert_string_equal(text, rows[i].full);
        assert_int_equal(image_ref_parse(text, &again, &err), 0);
        image_ref_print(&again, twice);
        assert_string_equal(text, twice);
    }
}

static void what_is_no_name_is_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "", "is empty" },
        { "docker://debian", "is an address" },
        { "Debian", "no valid name" },
        { "a//b", "no valid name" },
        { "/a", "no valid name" },
        { "a/", "no valid name" },
        { "a..b", "no valid name" },
        { "a___b", "no valid name" },
        { "../a", "no valid registry" },
        { "a b", "no valid name" },
        { "a\nb", "no valid name" },
        { "-a", "no valid name" },
        { "a:", "no valid tag" },
        { "a:-b", "no valid tag" },
        { "a:b:c", "no valid tag" },
        { "a@sha256:12", "no valid digest" },
        { "a@md5:" HEX, "no valid digest" },
        { "a@sha256:" HEX "0", "no valid digest" },
        { "h:port/a", "no valid registry" },
        { "h:123456/a", "no valid registry" },
        { "[x]/a", "no valid name" },
        { "[::1:5/a", "no valid registry" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct image_ref ref = { .tag = "untouched" };
        struct err err;
        assert_int_equal(image_ref_parse(rows[i].text, &ref, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
        if (!strstr(err.what, rows[i].why))
            fail_msg("%s: %s", rows[i].text, err.what);
        assert_string_not_equal(err.hint, "");
        assert_string_equal(ref.tag, "untouched");
    }
}

static void lengths_are_bounded(void **state)
{
    char text[600];
    struct image_ref ref;
    struct err err;
    (void)state;
    memset(text, 'a', sizeof text);
    text[246] = '\0'; /* with "docker.io/library/" more than 255 */
    assert_int_equal(image_ref_parse(text, &ref, &err), -1);
    assert_non_null(strstr(err.what, "too long a name"));
    text[227] = '\0';
    assert_int_equal(image_ref_parse(text, &ref, &err), 0);
    memset(text, 'a', sizeof text);
    text[599] = '\0';
    assert_int_equal(image_ref_parse(text, &ref, &err), -1);
    memset(text, 't', sizeof text);
    text[1] = ':';
    text[2 + IMAGE_TAG_MAX] = '\0';
    assert_int_equal(image_ref_parse(text, &ref, &err), 0);
    text[2 + IMAGE_TAG_MAX] = 't';
    text[3 + IMAGE_TAG_MAX] = '\0';
    assert_int_equal(image_ref_parse(text, &ref, &err), -1);
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_docker_reads_them),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(lengths_are_bounded),
    };
    return cmocka_run_group_tests_name("image/reference", tests, NULL, NULL);
}
