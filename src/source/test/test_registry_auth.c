/* Credentials of registries: both forms of the file and logins of the job's text become one
 * document of docker's form, and a wrong file is named without what is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "source/registry_auth.h"

#include "base/mem.h"

#include <string.h>

static char *made(const char *file, const struct inputs *inputs)
{
    char *json = NULL;
    struct err err;
    int rc = registry_auth_make(file, file ? strlen(file) : 0, inputs, &json, &err);
    assert_int_equal(rc, 0);
    return json;
}

static void files_of_both_forms(void **state)
{
    const struct inputs none = { .n_logins = 0 };
    (void)state;
    assert_null(made(NULL, &none));
    AUTO_FREE char *lines = made("hub\r\nme\nword\n", &none);
    assert_string_equal(lines, "{\"auths\":{\"hub\":{\"auth\":\"bWU6d29yZA==\"}}}");
    AUTO_FREE char *docker = made(
        " {\"auths\":{\"a\":{\"auth\":\"eA==\"},\"b\":{}},\"credHelpers\":{\"c\":\"run\"}}", &none);
    assert_string_equal(docker, "{\"auths\":{\"a\":{\"auth\":\"eA==\"}}}");
}

static void logins_follow_the_file(void **state)
{
    struct registry_login logins[] = { { .server = "a", .user = "me", .password = "no" },
                                       { .image = "reg.io/x/y:1", .auth = "eQ==" } };
    const struct inputs inputs = { .logins = logins, .n_logins = ARRAY_LEN(logins) };
    (void)state;
    AUTO_FREE char *both = made("{\"auths\":{\"a\":{\"auth\":\"eA==\"}}}", &inputs);
    assert_string_equal(both,
                        "{\"auths\":{\"a\":{\"auth\":\"eA==\"},\"reg.io\":{\"auth\":\"eQ==\"}}}");
}

static void a_wrong_file_is_not_repeated(void **state)
{
    static const char *const wrong[] = { "hub\nsecret-word", "{\"secret-word\":1}",
                                         "{secret-word" };
    const struct inputs none = { .n_logins = 0 };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char *json = NULL;
        struct err err;
        assert_int_equal(registry_auth_make(wrong[i], strlen(wrong[i]), &none, &json, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
        assert_null(strstr(err.what, "secret-word"));
        assert_null(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_both_forms),
        cmocka_unit_test(logins_follow_the_file),
        cmocka_unit_test(a_wrong_file_is_not_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
