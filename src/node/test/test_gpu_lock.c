/* Devices that tasks of two servers ask for: each is given once. The numbers are none of a real
 * device, so the test disturbs nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/gpu_lock.h"

#include <stdio.h>
#include <unistd.h>

static struct gpu_ask ask_of(const uint32_t *minors, size_t n, bool share, const char *server)
{
    return (struct gpu_ask){ .minors = minors, .n = n, .share = share, .server = server };
}

static void a_device_is_given_once(void **state)
{
    const uint32_t base = 4000000000u + (uint32_t)getpid(), two[] = { base, base + 1 };
    struct gpu_ask both = ask_of(two, 2, false, "/a"), second = ask_of(two + 1, 1, false, "/b"),
                   share = ask_of(two, 1, true, "/a"), other = ask_of(two, 1, true, "/b");
    struct gpu_locks a, b, c;
    uint32_t which = 0;
    (void)state;
    assert_true(gpu_locks_take(&b, &second, &which));
    assert_false(gpu_locks_take(&a, &both, &which));
    assert_int_equal(which, two[1]);
    assert_true(gpu_lock_is_foreign(two[1], NULL, "/a"));
    assert_false(gpu_lock_is_foreign(two[1], NULL, "/b"));
    assert_false(gpu_lock_is_foreign(two[0], NULL, "/a")); /* the refusal has left nothing held */
    gpu_locks_give(&b);
    assert_false(gpu_lock_is_foreign(two[1], NULL, "/a"));
    assert_true(gpu_locks_take(&a, &both, &which));
    assert_false(gpu_locks_take(&b, &share, &which)); /* whole is whole */
    gpu_locks_give(&a);
    gpu_locks_give(&a);
    /* Shares go together, of one server. */
    assert_true(gpu_locks_take(&a, &share, &which));
    assert_true(gpu_locks_take(&b, &share, &which));
    assert_false(gpu_locks_take(&c, &other, &which));
    assert_false(gpu_locks_take(&c, &both, &which));
    gpu_locks_give(&a);
    assert_true(gpu_lock_is_foreign(two[0], NULL, "/b"));
    gpu_locks_give(&b);
    assert_true(gpu_locks_take(&c, &other, &which));
    gpu_locks_give(&c);
    for (size_t i = 0; i < 2; i++) {
        char path[48];
        snprintf(path, sizeof path, "/run/muster/gpus/%u", two[i]);
        (void)unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_device_is_given_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
