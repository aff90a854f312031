/* What skopeo 1.9.3 says when a registry cannot give an image, as it said it, and what becomes of
 * that. */
#include "node/fetch/registry.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define LINE(cause)                                                                                \
    "time=\"2026-11-27T07:34:41Z\" level=fatal msg=\"Error parsing image name "                    \
    "\\\"docker://127.0.0.1:25990/a/b:1\\\": " cause "\"\n"

static void reasons_are_told_apart(void **state)
{
    static const struct {
        const char *name, *said;
        enum err_code code;
        const char *what;
    } rows[] = {
        { "127.0.0.1:25990/a/b:1",
          LINE("reading manifest 1 in 127.0.0.1:25990/a/b: unauthorized: authentication required"),
          ERR_INPUT, "the registry wants credentials" },
        { "127.0.0.1:25990/a/b:1",
          LINE("reading manifest 1 in 127.0.0.1:25990/a/b: manifest unknown: manifest unknown"),
          ERR_INPUT, "no such tag or digest" },
        { "127.0.0.1:25990/a/denied:1",
          LINE("reading manifest 1 in 127.0.0.1:25990/a/denied: manifest unknown: x"), ERR_INPUT,
          "no such tag or digest" },
        { "127.0.0.1:25999/a/b:1",
          LINE(
              "pinging container registry 127.0.0.1:25999: Get \\\"http://127.0.0.1:25999/v2/\\\": "
              "dial tcp 127.0.0.1:25999: connect: connection refused"),
          ERR_UNAVAILABLE, "does not answer" },
        { "nosuchhost.invalid/a/b:1",
          LINE(
              "pinging container registry nosuchhost.invalid: Get \\\"http://nosuchhost.invalid/v2/"
              "\\\": dial tcp: lookup nosuchhost.invalid on 10.255.255.53:53: no such host"),
          ERR_UNAVAILABLE, "no address for its registry" },
        { "h.example/a:1",
          LINE("Get \\\"https://h.example/v2/\\\": http: server gave HTTP response "
               "to HTTPS client"),
          ERR_UNAVAILABLE, "speaks no TLS" },
        { "a:1", LINE("writing blob: write /x/dir-put-blob1: no space left on device"), ERR_FULL,
          "does not fit on the disk" },
        { "a:1", LINE("reading blob: unexpected EOF"), ERR_UNAVAILABLE, "broke off" },
        { "h.example/a:1",
          LINE("Requesting bear token: denied: requested access to the resource is denied"),
          ERR_INPUT, "these credentials may not read it" },
        { "a:1", LINE("open /run/containers/0/auth.json: permission denied"), ERR_UNAVAILABLE,
          "permission denied" },
        { "a:1", "corrupted blob, expecting sha256:00, got sha256:11", ERR_UNAVAILABLE,
          "came damaged" },
        { "a:1", "expected 12 bytes in blob, got 10", ERR_UNAVAILABLE, "came damaged" },
        { "a:1", LINE("something that nobody knew"), ERR_UNAVAILABLE,
          "something that nobody knew" },
        { "a:1", "", ERR_UNAVAILABLE, "cannot be had" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct image_ref ref;
        struct err err;
        assert_int_equal(image_ref_parse(rows[i].name, &ref, &err), 0);
        assert_int_equal(registry_failure(&ref, rows[i].said, &err), -1);
        if (err.code != rows[i].code || !strstr(err.what, rows[i].what))
            fail_msg("%s: %s", rows[i].said, err.what);
        assert_null(strchr(err.what, '\n'));
    }
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_are_told_apart),
    };
    return cmocka_run_group_tests_name("node/fetch/registry", tests, NULL, NULL);
}
