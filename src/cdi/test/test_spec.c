/* Specifications as several versions of nvidia-ctk write them (tests/golden/cdi), the hooks of
 * those that count, and what makes one unusable. */
#include "cdi/spec.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void read_golden(struct arena *arena, const char *name, struct cdi_spec *spec)
{
    AUTO_FREE char *path = mem_printf(SOURCE_ROOT "/tests/golden/cdi/%s", name), *text = NULL;
    size_t len;
    struct err err;
    assert_int_equal(file_read(path, CDI_BYTES_MAX, &text, &len, &err), 0);
    *spec = (struct cdi_spec){ .file = "golden" };
    if (cdi_spec_read(arena, text, len, spec, &err) != 0)
        fail_msg("%s: %s", name, err.what);
    assert_string_equal(spec->file, "golden");
}

static void two_devices_of_yaml(void **state)
{
    struct arena *arena = arena_create();
    struct cdi_spec spec;
    (void)state;
    read_golden(arena, "two-devices-1.14.yaml", &spec);
    assert_int_equal(spec.n_devices, 3);
    assert_string_equal(spec.devices[1].name, "1");
    const struct cdi_edits *own = &spec.devices[0].edits, *all = &spec.edits;
    assert_string_equal(words_joined(arena, &own->nodes, " "), "nvidia0 dri/card1 dri/renderD128");
    assert_int_equal(own->n_links, 2); /* chmod is none */
    assert_string_equal(own->links[1].at, "/dev/dri/by-path/pci-0000:07:00.0-render");
    assert_string_equal(own->links[1].to, "../renderD128");
    assert_string_equal(words_joined(arena, &all->nodes, " "),
                        "nvidia-modeset nvidia-uvm nvidia-uvm-tools nvidiactl");
    assert_string_equal(words_joined(arena, &all->folders, " "),
                        "/usr/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu/vdpau");
    assert_int_equal(all->n_mounts, 4);
    assert_string_equal(all->mounts[3].from, "/usr/bin/nvidia-smi");
    assert_true(all->mounts[3].read_only);
    assert_int_equal(all->env.n + all->n_groups, 0);
    arena_destroy(arena);
}

static void hooks_of_the_newer_program(void **state)
{
    struct arena *arena = arena_create();
    struct cdi_spec spec;
    (void)state;
    read_golden(arena, "instances-1.17.yaml", &spec);
    assert_int_equal(spec.n_devices, 5);
    assert_string_equal(words_joined(arena, &spec.edits.env, " "),
                        "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64 NVIDIA_VISIBLE_DEVICES=void");
    assert_int_equal(spec.edits.n_links, 1);
    assert_string_equal(spec.edits.links[0].at, "/usr/lib64/libcuda.so");
    assert_string_equal(words_joined(arena, &spec.edits.folders, " "), "/usr/lib64");
    arena_destroy(arena);
}

static void one_device_of_json(void **state)
{
    struct arena *arena = arena_create();
    struct cdi_spec spec;
    (void)state;
    read_golden(arena, "one-device-1.18.json", &spec);
    assert_int_equal(spec.n_devices, 2);
    assert_int_equal(spec.devices[0].edits.n_groups, 2); /* 0 is ignored */
    assert_int_equal(spec.devices[0].edits.groups[1], 104);
    assert_string_equal(spec.edits.links[0].to, "libcuda.so.1");
    assert_string_equal(spec.edits.folders.at[0], "/usr/lib/x86_64-linux-gnu");
    arena_destroy(arena);
}

static int try_text(const char *text, char what[256])
{
    struct arena *arena = arena_create();
    struct cdi_spec spec = { .file = "f" };
    struct err err = { .what = "" };
    int rc = cdi_spec_read(arena, text, strlen(text), &spec, &err);
    memcpy(what, err.what, sizeof err.what);
    arena_destroy(arena);
    return rc;
}

static void those_of_other_kinds(void **state)
{
    char what[256];
    (void)state;
    assert_int_equal(try_text("kind: nvidia.com/gds\ncdiVersion: 9.0\ndevices: nothing\n", what),
                     1);
}

#define FRONT    "kind: nvidia.com/gpu\ncdiVersion: 0.6.0\n"
#define ONE      FRONT "devices:\n- name: 0\n  containerEdits:\n"
#define OF_MOUNT ONE "    mounts:\n    - "

static void each_flaw_is_named(void **state)
{
    static const struct {
        const char *text, *what;
    } rows[] = {
        { "", "" },
        { "[1]", "no kind" },
        { "kind: [", "" },
        { "kind: nvidia.com/gpu\ncdiVersion: 0.2.0\n", "cdiVersion \"0.2.0\"" },
        { "kind: nvidia.com/gpu\ncdiVersion: 1.0.0\n", "cdiVersion \"1.0.0\"" },
        { "kind: nvidia.com/gpu\ncdiVersion: 0.9\n", "cdiVersion \"0.9\"" },
        { "kind: nvidia.com/gpu\n", "cdiVersion \"\"" },
        { FRONT, "no devices" },
        { FRONT "devices: {}\n", "line 3: devices is no list" },
        { FRONT "devices: [{}]\n", "without a name" },
        { FRONT "devices: [{name: a}, {name: a}]\n", "twice: a" },
        { FRONT "devices: [{name: a, containerEdits: []}]\n", "no map" },
        { ONE "    deviceNodes: [{path: /etc/shadow}]\n", "in /dev: /etc/shadow" },
        { ONE "    deviceNodes: [{path: /dev/../etc/shadow}]\n", "in /dev" },
        { ONE "    deviceNodes: [{path: /dev/}]\n", "in /dev" },
        { ONE "    deviceNodes: [{path: /dev/x, type: p}]\n", "no type of a device: p" },
        { ONE "    deviceNodes: [x]\n", "in /dev" },
        { OF_MOUNT "{hostPath: a, containerPath: /b}\n", "hostPath" },
        { OF_MOUNT "{hostPath: /a, containerPath: /b/../c}\n", "containerPath" },
        { OF_MOUNT "{hostPath: /a, containerPath: /}\n", "containerPath" },
        { OF_MOUNT "{hostPath: tmpfs, containerPath: /b, type: tmpfs}\n", "tmpfs" },
        { OF_MOUNT "{hostPath: /a, containerPath: /b, options: ro}\n", "options is no list" },
        { ONE "    env: [A]\n", "no NAME=value: A" },
        { ONE "    env: ['=A']\n", "no NAME=value" },
        { ONE "    additionalGids: [x]\n", "no number of a group: x" },
        { ONE "    additionalGids: [-1]\n", "no number of a group" },
        { ONE "    hooks: [{args: 1}]\n", "args is no list" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char what[256];
        assert_int_equal(try_text(rows[i].text, what), -1);
        if (!*what || !strstr(what, rows[i].what))
            fail_msg("%s -> %s", rows[i].text, what);
    }
}

/* A program that is not nvidia-ctk, arguments that end early, targets that are none. */
static void hooks_that_are_left_out(void **state)
{
    static const char text[] =
        ONE "    hooks:\n"
            "    - {path: /bin/sh, args: [sh, create-symlinks, --link, 'a::/b']}\n"
            "    - {path: /usr/bin/nvidia-ctk, args: [nvidia-ctk, hook]}\n"
            "    - {path: /usr/bin/nvidia-ctk, args: []}\n"
            "    - {path: /usr/bin/nvidia-ctk}\n"
            "    - {path: nvidia-ctk, args: [x, create-symlinks, --link, 'a', --link, '::/b']}\n"
            "    - {path: nvidia-ctk, args: [x, create-symlinks, --link, 'a::b', --linker=x::/y]}\n"
            "    - {path: nvidia-ctk, args: [x, create-symlinks, --link]}\n"
            "    - {path: nvidia-ctk, args: [x, update-ldcache, --folder, lib, --folder, /l]}\n";
    struct arena *arena = arena_create();
    struct cdi_spec spec = { .file = "f" };
    struct err err;
    (void)state;
    assert_int_equal(cdi_spec_read(arena, text, strlen(text), &spec, &err), 0);
    assert_string_equal(spec.devices[0].name, "0");
    assert_int_equal(spec.devices[0].edits.n_links, 0);
    assert_string_equal(words_joined(arena, &spec.devices[0].edits.folders, " "), "/l");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_devices_of_yaml), cmocka_unit_test(hooks_of_the_newer_program),
        cmocka_unit_test(one_device_of_json),  cmocka_unit_test(those_of_other_kinds),
        cmocka_unit_test(each_flaw_is_named),  cmocka_unit_test(hooks_that_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
