/* What a host says of its machine: labels and devices as they are read, and what counts as a
 * change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/machine.h"
#include "node/smi.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

struct fix {
    struct arena *arena;
    char dir[64];
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    f->arena = arena_create();
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-machine-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void write_file(const struct fix *f, const char *name, const char *text)
{
    AUTO_FREE char *path = file_join(f->dir, name);
    AUTO_FREE char *folder = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
    struct err err;
    assert_int_equal(file_mkdirs(folder, 0700, &err), 0);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

static void devices_are_read(void **state)
{
    static const char text[] =
        "0, 00000000:0F:00.0, GPU-aaa, 81559, Disabled, NVIDIA H100 80GB HBM3\n"
        "1, 00000000:10:00.0, GPU-bbb, 24564, [N/A], NVIDIA GeForce RTX 4090, odd\n"
        "2, 00000000:11:00.0, GPU-ccc, [N/A], Enabled, NVIDIA A100\n";
    struct fix *f = *state;
    struct smi_list list;
    write_file(f, "0000:0f:00.0/information", "Model: H100\nDevice Minor: \t 7\nx: 1\n");
    smi_read(f->arena, text, f->dir, &list);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.error, "");
    assert_int_equal(list.at[0].minor, 7);
    assert_string_equal(list.at[0].uuid, "GPU-aaa");
    assert_string_equal(list.at[0].model, "NVIDIA H100 80GB HBM3");
    assert_true(list.at[0].memory == 81559ull << 20);
    assert_string_equal(list.at[0].error, "");
    assert_int_equal(list.at[1].minor, 1);
    assert_string_equal(list.at[1].model, "NVIDIA GeForce RTX 4090, odd");
    assert_non_null(strstr(list.at[2].error, "MIG"));
}

static void what_is_no_device_is_said(void **state)
{
    static const char *const texts[] = { "No devices were found\n", "1,2,3,4,5\n", ",,,,,\n",
                                         "-1, a, b, 1, c, d\n", "x, a/../b/ccccc, b, 1, c, d\n" };
    struct fix *f = *state;
    struct smi_list list;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        smi_read(f->arena, texts[i], f->dir, &list);
        assert_int_equal(list.n, 0);
        assert_non_null(strstr(list.error, "nvidia-smi says"));
    }
    smi_read(f->arena, "", f->dir, &list);
    assert_int_equal(list.n, 0);
    assert_string_equal(list.error, "");
}

static void labels_are_read(void **state)
{
    struct fix *f = *state;
    struct wire_host_hello hello = { .node = "n1" };
    struct err err;
    assert_int_equal(machine_read(f->arena, f->dir, &hello, &err), -1);
    write_file(f, "host.conf", "node=n1\nlabel=zone=a\nlabel=rack=r=2\n");
    assert_int_equal(machine_read(f->arena, f->dir, &hello, &err), 0);
    assert_string_equal(pairs_get(&hello.labels, "zone"), "a");
    assert_string_equal(pairs_get(&hello.labels, "rack"), "r=2");
    assert_true(hello.cpu_milli > 0 && hello.memory > 0 && *hello.boot);
    write_file(f, "host.conf", "label==a\n");
    assert_int_equal(machine_read(f->arena, f->dir, &hello, &err), -1);
    assert_non_null(strstr(err.what, "label=NAME=VALUE"));
}

static void changes_are_seen(void **state)
{
    struct fix *f = *state;
    struct wire_host_device before = { .minor = 1, .uuid = "u", .model = "m", .error = "" },
                            after = before;
    struct wire_host_hello a = {
        .disk = 1600, .devices = &before, .n_devices = 1, .device_error = ""
    };
    struct wire_host_hello b = a;
    b.devices = &after;
    b.disk = 1500;
    assert_false(machine_differs(&a, &b));
    b.disk = 1499;
    assert_true(machine_differs(&a, &b));
    b.disk = a.disk;
    after.error = "fell off the bus";
    assert_true(machine_differs(&a, &b));
    after.error = "";
    pairs_set(&b.labels, f->arena, "zone", "a");
    assert_true(machine_differs(&a, &b));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(devices_are_read),
        TEST(what_is_no_device_is_said),
        TEST(labels_are_read),
        TEST(changes_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
