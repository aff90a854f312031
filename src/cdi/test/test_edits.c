/* Edits of several devices as those of one container: what is added last counts, and what both say
 * stands there once. Does this machine have what they name? */
#include "cdi/edits.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define WORDS(...)                                                                                 \
    {                                                                                              \
        .at = (const char *[]){ __VA_ARGS__ }, .n = ARRAY_LEN(((const char *[]){ __VA_ARGS__ }))   \
    }

static void what_two_devices_share_is_there_once(void **state)
{
    struct arena *arena = arena_create();
    struct cdi_edits all = { .n_mounts = 0 };
    struct cdi_mount first[] = { { .from = "/a", .at = "/m" }, { .from = "/b", .at = "/n" } };
    struct cdi_mount second[] = { { .from = "/c", .at = "/m", .read_only = true } };
    struct cdi_link links[] = { { .at = "/l", .to = "a" } }, last[] = { { .at = "/l", .to = "b" } };
    uint32_t groups[] = { 44, 104 };
    const struct cdi_edits one = { .nodes = WORDS("nvidiactl", "nvidia0"),
                                   .env = WORDS("A=1", "AB=2"),
                                   .mounts = first,
                                   .n_mounts = 2,
                                   .links = links,
                                   .n_links = 1,
                                   .folders = WORDS("/lib"),
                                   .groups = groups,
                                   .n_groups = 2 };
    const struct cdi_edits other = { .nodes = WORDS("nvidiactl", "nvidia1"),
                                     .env = WORDS("A=3", "C=4"),
                                     .mounts = second,
                                     .n_mounts = 1,
                                     .links = last,
                                     .n_links = 1,
                                     .folders = WORDS("/lib", "/lib64"),
                                     .groups = groups,
                                     .n_groups = 1 };
    (void)state;
    cdi_edits_add(arena, &all, &one);
    cdi_edits_add(arena, &all, &other);
    assert_string_equal(words_joined(arena, &all.nodes, " "), "nvidiactl nvidia0 nvidia1");
    assert_string_equal(words_joined(arena, &all.env, " "), "A=3 AB=2 C=4");
    assert_string_equal(words_joined(arena, &all.folders, " "), "/lib /lib64");
    assert_int_equal(all.n_mounts, 2);
    assert_string_equal(all.mounts[0].from, "/c");
    assert_true(all.mounts[0].read_only);
    assert_string_equal(first[0].from, "/a"); /* as it was */
    assert_int_equal(all.n_links, 1);
    assert_string_equal(all.links[0].to, "b");
    assert_int_equal(all.n_groups, 2);
    arena_destroy(arena);
}

static void this_machine_has_them(void **state)
{
    struct err err;
    struct cdi_mount mount = { .from = "/proc/self/exe", .at = "/m" };
    struct cdi_edits edits = { .nodes = WORDS("null"), .mounts = &mount, .n_mounts = 1 };
    (void)state;
    assert_int_equal(cdi_edits_check(&edits, "/dev", &err), 0);
    edits.nodes.at[0] = "nvidia-that-is-not-there";
    assert_int_equal(cdi_edits_check(&edits, "/dev", &err), -1);
    assert_non_null(strstr(err.what, "/dev/nvidia-that-is-not-there is no device"));
    edits.nodes.at[0] = "stdin"; /* a link */
    assert_int_equal(cdi_edits_check(&edits, "/dev", &err), -1);
    edits.nodes.at[0] = "null";
    mount.from = "/nowhere/libcuda.so.1";
    assert_int_equal(cdi_edits_check(&edits, "/dev", &err), -1);
    assert_non_null(strstr(err.what, "/nowhere/libcuda.so.1 is not on this machine"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_devices_share_is_there_once),
        cmocka_unit_test(this_machine_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
