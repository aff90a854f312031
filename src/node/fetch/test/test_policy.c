/* Policies of signatures as administrators write them: which of them demand something, and whose
 * file counts. */
#include "node/fetch/policy.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define ANY  "[{\"type\":\"insecureAcceptAnything\"}]"
#define SIGN "[{\"type\":\"signedBy\",\"keyType\":\"GPGKeys\",\"keyPath\":\"/k\"}]"

static void any_requirement_is_found(void **state)
{
    static const struct {
        const char *text;
        enum policy policy;
    } rows[] = {
        { "{\"default\":" ANY "}", POLICY_ANY },
        { "{\"default\":" ANY ",\"transports\":{\"docker-daemon\":{\"\":" ANY "}}}", POLICY_ANY },
        { "{\"default\":" ANY ",\"transports\":{}}", POLICY_ANY },
        { "{\"default\":" SIGN "}", POLICY_DEMANDS },
        { "{\"default\":[{\"type\":\"reject\"}]}", POLICY_DEMANDS },
        { "{\"default\":[{\"type\":\"insecureAcceptAnything\"},{\"type\":\"signedBy\"}]}",
          POLICY_DEMANDS },
        { "{\"default\":" ANY ",\"transports\":{\"docker\":{\"\":" ANY ",\"a.example\":" SIGN "}}}",
          POLICY_DEMANDS },
        { "{\"default\":" ANY ",\"transports\":{\"docker\":[]}}", POLICY_ANY },
        { "{\"default\":" ANY ",\"transports\":{\"docker\":[" ANY "]}}", POLICY_DEMANDS },
        { "{\"default\":" ANY ",\"transports\":[]}", POLICY_DEMANDS },
        { "{\"default\":[]}", POLICY_DEMANDS },
        { "{\"default\":\"insecureAcceptAnything\"}", POLICY_DEMANDS },
        { "{}", POLICY_DEMANDS },
        { "", POLICY_DEMANDS },
        { "{\"default\":" ANY, POLICY_DEMANDS },
        { "{\"default\":" ANY ",\"default\":" SIGN "}", POLICY_DEMANDS },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (policy_of(rows[i].text, strlen(rows[i].text)) != rows[i].policy)
            fail_msg("%s", rows[i].text);
}

static void the_file_of_an_account_is_before_that_of_the_node(void **state)
{
    char home[] = "/tmp/muster-policy.XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(home));
    enum policy of_node = policy_read(home);
    AUTO_FREE char *dir = mem_printf("%s/.config/containers", home);
    AUTO_FREE char *path = mem_printf("%s/policy.json", dir);
    assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
    static const char text[] = "{\"default\":" SIGN "}", any[] = "{\"default\":" ANY "}";
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
    assert_int_equal(policy_read(home), POLICY_DEMANDS);
    assert_int_equal(file_replace(path, any, strlen(any), 0600, NULL), 0);
    assert_int_equal(policy_read(home), POLICY_ANY);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* nobody can read it */
    assert_int_equal(policy_read(home), POLICY_DEMANDS);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(policy_read(home), of_node);
    assert_int_equal(file_remove_tree(home, NULL), 0);
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_requirement_is_found),
        cmocka_unit_test(the_file_of_an_account_is_before_that_of_the_node),
    };
    return cmocka_run_group_tests_name("node/fetch/policy", tests, NULL, NULL);
}
