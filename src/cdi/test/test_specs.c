/* Directories of specifications: what counts of several, whose files are believed, and which device
 * is the one that was given out. */
#include "cdi/specs.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define GOLDEN(name) SOURCE_ROOT "/tests/golden/cdi/" name

struct place { /* two directories, of whoever runs this */
    char top[32], first[48], second[48];
    const char *dirs[2];
    struct cdi_place usual;
    struct arena *arena;
    struct cdi_specs specs;
};

static int set_up(void **state)
{
    struct place *p = mem_new(sizeof *p);
    snprintf(p->top, sizeof p->top, "/tmp/muster-cdi-XXXXXX");
    if (!mkdtemp(p->top))
        return -1;
    snprintf(p->first, sizeof p->first, "%s/etc", p->top);
    snprintf(p->second, sizeof p->second, "%s/run", p->top);
    p->dirs[0] = p->first;
    p->dirs[1] = p->second;
    p->usual = (struct cdi_place){ .dirs = p->dirs, .n_dirs = 2, .owner = geteuid() };
    p->arena = arena_create();
    *state = p;
    return mkdir(p->first, 0755);
}

static int tear_down(void **state)
{
    struct place *p = *state;
    int rc = file_remove_tree(p->top, NULL);
    arena_destroy(p->arena);
    free(p);
    return rc;
}

static void put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", dir, name);
    struct err err;
    assert_int_equal(file_replace(path, text, strlen(text), 0644, &err), 0);
}

static void put_golden(const char *dir, const char *name, const char *from)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    struct err err;
    assert_int_equal(file_read(from, CDI_BYTES_MAX, &text, &len, &err), 0);
    put(dir, name, text);
}

/* What the task with these gets: its nodes, or why there is nothing. */
static const char *find(struct place *p, const uint32_t *minors, const struct gpu_part *parts,
                        size_t n)
{
    struct cdi_edits edits;
    struct err err;
    const struct cdi_grant grant = { .minors = minors, .parts = parts, .n = n };
    cdi_specs_read(p->arena, &p->usual, &p->specs);
    int rc = cdi_find(p->arena, &p->specs, &grant, &edits, &err);
    return rc == 0  ? words_joined(p->arena, &edits.nodes, " ")
           : rc > 0 ? "none"
                    : arena_strdup(p->arena, err.what);
}

static const char *find_one(struct place *p, uint32_t minor)
{
    return find(p, &minor, NULL, 1);
}

static void there_is_none(void **state)
{
    struct place *p = *state;
    assert_string_equal(find_one(p, 0), "none");
    put(p->first, "gds.yaml", "kind: nvidia.com/gds\n");
    put(p->first, "readme.txt", "kind: [");
    put(p->first, ".hidden.yaml", "kind: [");
    assert_string_equal(find_one(p, 0), "none");
}

#define SHARED "nvidia-modeset nvidia-uvm nvidia-uvm-tools nvidiactl"

static void devices_by_their_nodes(void **state)
{
    struct place *p = *state;
    put_golden(p->first, "nvidia.yaml", GOLDEN("two-devices-1.14.yaml"));
    assert_string_equal(find_one(p, 0), SHARED " nvidia0 dri/card1 dri/renderD128");
    assert_string_equal(find_one(p, 1), SHARED " nvidia1 dri/card2 dri/renderD129");
    assert_string_equal(find(p, (const uint32_t[]){ 1, 0 }, NULL, 2),
                        SHARED " nvidia1 dri/card2 dri/renderD129 nvidia0 dri/card1 "
                               "dri/renderD128");
    assert_non_null(strstr(find_one(p, 2), "no device of them is /dev/nvidia2 alone"));
}

static void instances_by_their_capabilities(void **state)
{
    struct place *p = *state;
    const uint32_t minors[] = { 0, 0 };
    const struct gpu_part second = { .is = true, .caps = { 39, 40 }, .n_caps = 2 };
    const struct gpu_part both[] = { { .is = true, .caps = { 30, 31 }, .n_caps = 2 }, second };
    const struct gpu_part other = { .is = true, .caps = { 30, 40 }, .n_caps = 2 };
    const struct gpu_part bare = { .is = true };
    put_golden(p->first, "nvidia.yml", GOLDEN("instances-1.17.yaml"));
    assert_string_equal(find(p, minors, &second, 1),
                        "nvidia-uvm nvidiactl nvidia0 nvidia-caps/nvidia-cap39 "
                        "nvidia-caps/nvidia-cap40");
    assert_string_equal(find(p, minors, both, 2),
                        "nvidia-uvm nvidiactl nvidia0 nvidia-caps/nvidia-cap30 "
                        "nvidia-caps/nvidia-cap31 nvidia-caps/nvidia-cap39 "
                        "nvidia-caps/nvidia-cap40");
    assert_non_null(strstr(find(p, minors, &other, 1), "that instance of /dev/nvidia0"));
    assert_non_null(strstr(find(p, minors, &bare, 1), "have no files here"));
    assert_non_null(strstr(find_one(p, 0), "no device of them is /dev/nvidia0 alone"));
    assert_string_equal(find_one(p, 1), "nvidia-uvm nvidiactl nvidia1");
}

#define OF(name, nodes)                                                                            \
    "{\"kind\": \"nvidia.com/gpu\", \"cdiVersion\": \"0.5.0\", \"devices\": [{\"name\": \"" name   \
    "\", \"containerEdits\": {\"deviceNodes\": [" nodes "]}}]}"
#define NODE(name) "{\"path\": \"/dev/" name "\"}"

static void a_later_directory_counts(void **state)
{
    struct place *p = *state;
    put(p->first, "a.json", OF("0", NODE("nvidia0")));
    assert_int_equal(mkdir(p->second, 0755), 0);
    put(p->second, "b.json", OF("0", NODE("nvidia0") "," NODE("nvidiactl")));
    assert_string_equal(find_one(p, 0), "nvidia0 nvidiactl");
    put(p->second, "b.json", OF("0", NODE("nvidia7")));
    assert_non_null(strstr(find_one(p, 0), "no device of them is /dev/nvidia0"));
    put(p->second, "b.json", OF("other", NODE("nvidia7")));
    assert_string_equal(find_one(p, 0), "nvidia0");
}

static void two_of_one_directory_that_name_it(void **state)
{
    struct place *p = *state;
    put(p->first, "a.json", OF("0", NODE("nvidia0")));
    put(p->first, "b.json", OF("0", NODE("nvidia0")));
    assert_non_null(strstr(find_one(p, 0), "both name device 0: neither counts"));
    assert_int_equal(mkdir(p->second, 0755), 0);
    put(p->second, "c.json", OF("0", NODE("nvidia0") "," NODE("nvidiactl")));
    assert_string_equal(find_one(p, 0), "nvidia0 nvidiactl");
    assert_int_equal(p->specs.problems.n, 0);
}

static void one_that_cannot_be_read(void **state)
{
    struct place *p = *state;
    put(p->first, "a.yaml", "kind: [");
    assert_non_null(strstr(find_one(p, 0), "/etc/a.yaml: "));
    put(p->first, "b.json", OF("0", NODE("nvidia0")));
    assert_string_equal(find_one(p, 0), "nvidia0");
    assert_int_equal(p->specs.problems.n, 1);
    assert_non_null(strstr(find_one(p, 1), "/etc/a.yaml: "));
}

static void those_that_others_may_write(void **state)
{
    struct place *p = *state;
    AUTO_FREE char *path = mem_printf("%s/a.json", p->first);
    put(p->first, "a.json", OF("0", NODE("nvidia0")));
    assert_int_equal(chmod(path, 0664), 0);
    assert_non_null(strstr(find_one(p, 0), "others may write it"));
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(p->first, 0777), 0);
    assert_non_null(strstr(find_one(p, 0), "others may write it"));
    assert_int_equal(chmod(p->first, 0755), 0);
    p->usual.owner = geteuid() + 1;
    assert_non_null(strstr(find_one(p, 0), "belongs to user"));
    p->usual.owner = geteuid();
    assert_string_equal(find_one(p, 0), "nvidia0");
    assert_int_equal(truncate(path, CDI_BYTES_MAX + 1), 0);
    assert_non_null(strstr(find_one(p, 0), "it has more than"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_non_null(strstr(find_one(p, 0), "it is no file"));
}

static void what_shows_devices_of_others_is_not_used(void **state)
{
    struct place *p = *state;
    put(p->first, "a.json",
        "{\"kind\": \"nvidia.com/gpu\", \"cdiVersion\": \"0.5.0\", \"containerEdits\": "
        "{\"deviceNodes\": [" NODE("nvidia1") "]}, \"devices\": [{\"name\": \"0\", "
                                              "\"containerEdits\": {\"deviceNodes\": [" NODE(
                                                  "nvidia0") "]}}]}");
    assert_non_null(strstr(find_one(p, 0), "they show /dev/nvidia1, which was not given"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(there_is_none),
        TEST(devices_by_their_nodes),
        TEST(instances_by_their_capabilities),
        TEST(a_later_directory_counts),
        TEST(two_of_one_directory_that_name_it),
        TEST(one_that_cannot_be_read),
        TEST(those_that_others_may_write),
        TEST(what_shows_devices_of_others_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
