/* Devices that tasks of two servers ask for: each is given once. The numbers are none of a real
 * device, so the test disturbs nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/gpu_lock.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gpu_ask ask_of(const uint32_t *minors, size_t n, bool share, const char *server)
{
    return (struct gpu_ask){ .minors = minors, .n = n, .share = share, .server = server };
}

static void forget(uint32_t minor)
{
    static const char *const places[] = { "/run/muster/gpus/", "/run/lock/muster-gpu-",
                                          "/tmp/muster-gpu-" };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%u", places[i], minor);
        (void)unlink(path);
    }
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
    forget(two[0]);
    forget(two[1]);
}

/* ---- of two users ---- */

#define STRANGER 65534

/* Both the process of a stranger and what it is asked: 'w' and 's' take a device or a share of it,
 * 'g' gives it back, 'f' asks whether it is foreign. The answer is '1' or '0'. */
struct stranger {
    pid_t pid;
    int to, from;
};

static bool obey(char what, const struct gpu_ask *whole, const struct gpu_ask *share,
                 struct gpu_locks *locks)
{
    uint32_t which;
    switch (what) {
    case 'w': return gpu_locks_take(locks, whole, &which);
    case 's': return gpu_locks_take(locks, share, &which);
    case 'f': return gpu_lock_is_foreign(whole->minors[0], NULL, whole->server);
    default: gpu_locks_give(locks); return true;
    }
}

static void serve(int in, int out, uint32_t minor)
{
    const struct gpu_ask whole = ask_of(&minor, 1, false, "/b"),
                         share = ask_of(&minor, 1, true, "/b");
    struct gpu_locks locks = { .held = NULL };
    char what;
    if (setgid(STRANGER) != 0 || setuid(STRANGER) != 0)
        _exit(1);
    while (read(in, &what, 1) == 1) {
        what = obey(what, &whole, &share, &locks) ? '1' : '0';
        if (write(out, &what, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static struct stranger start_stranger(uint32_t minor)
{
    int to[2], from[2];
    assert_int_equal(pipe(to) | pipe(from), 0);
    const struct stranger s = { .pid = fork(), .to = to[1], .from = from[0] };
    if (s.pid == 0) {
        close(to[1]);
        serve(to[0], from[1], minor);
    }
    close(to[0]);
    close(from[1]);
    return s;
}

static bool ask_stranger(const struct stranger *s, char what)
{
    char answer = 0;
    assert_int_equal(write(s->to, &what, 1), 1);
    assert_int_equal(read(s->from, &answer, 1), 1);
    return answer == '1';
}

/* Whoever made the file: each of them first, once. */
static void users_share_no_device(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    unsetenv("XDG_RUNTIME_DIR");
    for (uint32_t first = 0; first < 2; first++) {
        const uint32_t minor = 4100000000u + 2 * (uint32_t)getpid() + first;
        const struct gpu_ask whole = ask_of(&minor, 1, false, "/a"),
                             share = ask_of(&minor, 1, true, "/a");
        struct gpu_locks a = { .held = NULL }, b = { .held = NULL };
        struct stranger s = start_stranger(minor);
        uint32_t which;
        assert_true(first ? ask_stranger(&s, 'w') : gpu_locks_take(&a, &whole, &which));
        assert_false(first ? gpu_locks_take(&a, &whole, &which) : ask_stranger(&s, 'w'));
        assert_false(first ? gpu_locks_take(&a, &share, &which) : ask_stranger(&s, 's'));
        assert_int_equal(gpu_lock_is_foreign(minor, NULL, "/a"), first);
        assert_int_equal(ask_stranger(&s, 'f'), !first);
        gpu_locks_give(&a);
        ask_stranger(&s, 'g');
        assert_false(ask_stranger(&s, 'f'));
        /* Shares of one user; the other one waits for the last of them. */
        assert_true(gpu_locks_take(&a, &share, &which));
        assert_true(gpu_locks_take(&b, &share, &which));
        assert_false(ask_stranger(&s, 's'));
        gpu_locks_give(&a);
        assert_false(ask_stranger(&s, 's'));
        assert_false(ask_stranger(&s, 'w'));
        gpu_locks_give(&b);
        assert_true(ask_stranger(&s, 's'));
        assert_false(gpu_locks_take(&a, &share, &which));
        assert_true(gpu_lock_is_foreign(minor, NULL, "/a"));
        close(s.to); /* its end gives all back */
        assert_int_equal(waitpid(s.pid, NULL, 0), s.pid);
        close(s.from);
        assert_true(gpu_locks_take(&a, &whole, &which));
        gpu_locks_give(&a);
        forget(minor);
    }
}

/* What stands in the place of a lock and is none keeps the device from everybody. */
static void what_is_no_lock_denies(void **state)
{
    const uint32_t minor = 4200000000u + (uint32_t)getpid();
    const struct gpu_ask whole = ask_of(&minor, 1, false, "/a");
    struct gpu_locks a;
    char path[64], other[80];
    uint32_t which = 0;
    (void)state;
    assert_true(gpu_locks_take(&a, &whole, &which));
    gpu_locks_give(&a);
    snprintf(path, sizeof path, "/run/lock/muster-gpu-%u", minor);
    if (access(path, F_OK) != 0)
        snprintf(path, sizeof path, "/tmp/muster-gpu-%u", minor);
    snprintf(other, sizeof other, "%s.other", path);
    static const char *const kinds[] = { "link", "fifo", "directory", "two names" };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(i < 3 ? unlink(path) : 0, 0);
        assert_int_equal(i == 0   ? symlink("/dev/null", path)
                         : i == 1 ? mkfifo(path, 0600)
                         : i == 2 ? mkdir(path, 0700)
                                  : link(path, other),
                         0);
        if (gpu_locks_take(&a, &whole, &which) || !gpu_lock_is_foreign(minor, NULL, "/a"))
            fail_msg("a %s in the place of a lock", kinds[i]);
        if (i == 2) {
            assert_int_equal(rmdir(path), 0);
            assert_true(gpu_locks_take(&a, &whole, &which));
            gpu_locks_give(&a);
        }
    }
    (void)unlink(other);
    assert_true(gpu_locks_take(&a, &whole, &which));
    gpu_locks_give(&a);
    forget(minor);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_device_is_given_once),
                                        cmocka_unit_test(users_share_no_device),
                                        cmocka_unit_test(what_is_no_lock_denies) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
