/* What is made of a specification on a node: when there is nothing of use in it, and the names that
 * programs load its libraries by. What a task sees is tried in tests/test_cdi.py. */
#include "node/device_spec.h"

#include "base/file.h"
#include "base/mem.h"
#include "cdi/specs.h"
#include "node/soname.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int find_cmocka(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char **path = arg;
    (void)size;
    if (strstr(info->dlpi_name, "libcmocka.so"))
        *path = info->dlpi_name;
    return *path != NULL;
}

static void a_library_says_its_name(void **state)
{
    char name[SONAME_MAX] = "none";
    const char *path = NULL;
    (void)state;
    dl_iterate_phdr(find_cmocka, &path);
    assert_non_null(path);
    assert_true(soname_read(path, name));
    assert_int_equal(strncmp(name, "libcmocka.so.", strlen("libcmocka.so.")), 0);
    assert_false(soname_read("/proc/self/exe", name)); /* a program has none */
    assert_false(soname_read("/dev/null", name));
    assert_false(soname_read("/nowhere", name));
    assert_false(soname_read("/", name));
}

/* The first bytes of a library, up to anywhere. */
static void one_that_is_cut_off_has_none(void **state)
{
    char name[SONAME_MAX], cut[] = "/tmp/muster-soname-XXXXXX";
    const char *path = NULL;
    AUTO_FREE char *text = NULL;
    size_t len;
    (void)state;
    dl_iterate_phdr(find_cmocka, &path);
    assert_int_equal(file_read(path, 64u << 20, &text, &len, NULL), 0);
    AUTO_CLOSE int fd = mkstemp(cut);
    assert_true(fd >= 0);
    for (size_t n = 1; n < 512; n += 7) {
        assert_int_equal(pwrite(fd, text, n, 0), (ssize_t)n);
        assert_false(soname_read(cut, name));
    }
    memset(text + 64, 0xff, len < 512 ? len - 64 : 512 - 64);
    assert_int_equal(pwrite(fd, text, len, 0), (ssize_t)len);
    assert_false(soname_read(cut, name));
    unlink(cut);
}

static void what_cannot_be_used_is_nothing(void **state)
{
    char dir[] = "/tmp/muster-spec-XXXXXX";
    uint32_t minor = UINT32_MAX; /* no machine has it */
    struct launch_task task = { .role = "worker", .gpus = &minor, .n_gpus = 1 };
    struct arena *arena = arena_create();
    (void)state;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *file = mem_printf("%s/nvidia.yaml", dir);
    const char *const dirs[] = { dir };
    const struct cdi_place place = { .dirs = dirs, .n_dirs = 1, .owner = geteuid() };
    static const char text[] = "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\ndevices:\n- name: '0'\n"
                               "  containerEdits:\n    deviceNodes:\n"
                               "    - path: /dev/nvidia4294967295\n";
    assert_int_equal(file_replace(file, text, strlen(text), 0644, NULL), 0);
    assert_null(device_spec_find(arena, &place, &task)); /* it has no device */
    task.gpu_hold = GPU_GRANT_WHOLE;
    assert_null(device_spec_find(arena, &place, &task)); /* it is not there */
    assert_int_equal(file_replace(file, "kind: [", 7, 0644, NULL), 0);
    assert_null(device_spec_find(arena, &place, &task));
    assert_int_equal(unlink(file), 0);
    assert_null(device_spec_find(arena, &place, &task));
    assert_int_equal(rmdir(dir), 0);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_says_its_name),
        cmocka_unit_test(one_that_is_cut_off_has_none),
        cmocka_unit_test(what_cannot_be_used_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
