/* What lies on the server's disk and tasks on a machine are to have: packed by the real program,
 * sent, unpacked and shown there. Where a machine sees the same directory, and where it does not,
 * which is tried by taking the marker away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "main/packer.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/machines/test/fixture.h"

#include <dirent.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct project {
    struct fix *f;
    struct packer_config packer;
    char *dir; /* of the code */
};

static int set_up(void **state)
{
    struct project *c = mem_new(sizeof *c);
    struct err err;
    c->f = fix_create();
    c->packer = (struct packer_config){ .loop = &c->f->loop, .program = MUSTER };
    c->dir = file_join(c->f->dir, "project");
    assert_int_equal(file_mkdirs(c->dir, 0755, &err), 0);
    fix_close_server(c->f);
    c->f->packer = packer_of(&c->packer);
    fix_open_server(c->f);
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    struct project *c = *state;
    fix_destroy(c->f);
    free(c->dir);
    free(c);
    return 0;
}

static void write_text(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = file_join(dir, name);
    struct err err;
    assert_int_equal(file_mkdirs(dir, 0755, &err), 0);
    assert_int_equal(file_replace(path, text, strlen(text), 0644, &err), 0);
}

static void start_well(struct fix *f, const struct launch *launch)
{
    struct err err = { .what = "" };
    int rc = fix_start(f, launch, &err);
    assert_string_equal(err.what, "");
    assert_int_equal(rc, 0);
}

static unsigned count_markers(const struct project *c, bool remove)
{
    DIR *dir = opendir(c->dir);
    unsigned n = 0;
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, ".muster-shared-", strlen(".muster-shared-")) == 0) {
            if (remove)
                assert_int_equal(unlinkat(dirfd(dir), entry->d_name, 0), 0);
            n++;
        }
    closedir(dir);
    return n;
}

/* The machine of these tests sees the server's directories: as one that does not, its marker gone.
 */
static void hide_marker(const struct project *c)
{
    assert_int_equal(count_markers(c, true), 1);
}

/* What it said, once it is over. */
static char *run_to_end(const struct project *c, const struct launch *launch)
{
    struct fix *f = c->f;
    start_well(f, launch);
    if (launch->work_dir || launch->code_dir)
        hide_marker(c);
    UNTIL(f, f->facts[FACT_ENDED] + f->facts[FACT_REFUSED] == 1);
    assert_string_equal(f->refused, "");
    fix_end_well(f);
    return fix_log(f);
}

/* The name of the archive of the generation; NULL: it is not whole yet. */
static char *staged(const struct fix *f)
{
    AUTO_FREE char *folder = file_join(f->dir, ".code");
    DIR *dir = opendir(folder);
    char *found = NULL;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
        if (strlen(entry->d_name) == 64)
            found = mem_strdup(entry->d_name);
    if (dir)
        closedir(dir);
    return found;
}

static bool is_staged(const struct fix *f)
{
    AUTO_FREE char *name = staged(f);
    return name;
}

static void a_working_directory_travels(void **state)
{
    struct project *c = *state;
    struct fix *f = c->f;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "cat word lib/word; pwd; echo mine > result");
    AUTO_FREE char *lib = file_join(c->dir, "lib"), *result = file_join(c->dir, "result");
    launch.work_dir = c->dir;
    write_text(c->dir, "word", "above\n");
    write_text(lib, "word", "below\n");
    fix_start_host(f);
    AUTO_FREE char *text = run_to_end(c, &launch);
    AUTO_FREE char *where = mem_printf("above\nbelow\n%s/runs/7.1.n1/code\n", f->host_dir);
    assert_string_equal(text, where);
    assert_true(access(result, F_OK) != 0);
}

/* 4 MiB, more than is looked at to decide. */
static void write_large(const struct project *c, bool random)
{
    const size_t size = 4u << 20;
    AUTO_FREE char *bytes = mem_new(size);
    AUTO_FREE char *path = file_join(c->dir, "large");
    struct err err;
    memset(bytes, 'x', size);
    if (random)
        randombytes_buf(bytes, size);
    assert_int_equal(file_replace(path, bytes, size, 0644, &err), 0);
}

/* As its machine keeps it. */
static uint64_t kept_size(const struct fix *f)
{
    AUTO_FREE char *folder = file_join(f->host_dir, "code");
    DIR *dir = opendir(folder);
    struct stat st = { .st_size = 0 };
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strlen(entry->d_name) == 64)
            assert_int_equal(fstatat(dirfd(dir), entry->d_name, &st, 0), 0);
    closedir(dir);
    return (uint64_t)st.st_size;
}

static void check_large(const struct project *c, bool random)
{
    struct fix *f = c->f;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "wc -c < large");
    launch.work_dir = c->dir;
    write_large(c, random);
    fix_start_host(f);
    AUTO_FREE char *text = run_to_end(c, &launch);
    assert_string_equal(text, "4194304\n");
}

static void what_gets_smaller_is_compressed(void **state)
{
    const struct project *c = *state;
    check_large(c, false);
    assert_true(kept_size(c->f) < 1u << 20);
}

static void what_does_not_travels_as_it_is(void **state)
{
    const struct project *c = *state;
    check_large(c, true);
    assert_true(kept_size(c->f) % 512 == 0); /* a tar */
    assert_true(kept_size(c->f) > 4u << 20);
}

static void a_code_directory_is_shown_by_its_name(void **state)
{
    struct project *c = *state;
    struct fix *f = c->f;
    struct launch_task task;
    struct launch launch =
        fix_launch(f, &task, "pwd; cat project/word; touch project/x && echo written; true");
    launch.code_dir = c->dir;
    write_text(c->dir, "word", "it is here\n");
    fix_start_host(f);
    AUTO_FREE char *text = run_to_end(c, &launch);
    assert_non_null(strstr(text, f->host_dir));
    assert_non_null(strstr(text, "\nit is here\n"));
    assert_null(strstr(text, "written"));
}

static void code_is_mounted_where_it_is_wanted(void **state)
{
    struct project *c = *state;
    struct fix *f = c->f;
    struct launch_task task;
    AUTO_FREE char *at = file_join(f->dir, "shown");
    AUTO_FREE char *run = mem_printf("cat %s/word", at);
    struct launch launch = fix_launch(f, &task, run);
    struct bind_mount mount = { .from = c->dir, .at = at, .read_only = true, .is_code = true };
    launch.mounts = &mount;
    launch.n_mounts = 1;
    write_text(c->dir, "word", "mounted\n");
    fix_start_host(f);
    start_well(f, &launch);
    UNTIL(f, f->facts[FACT_ENDED] + f->facts[FACT_REFUSED] == 1);
    if (f->facts[FACT_REFUSED]) /* no namespaces for this user */
        skip();
    fix_end_well(f);
    AUTO_FREE char *text = fix_log(f);
    assert_string_equal(text, "mounted\n");
}

static void files_of_the_server_travel(void **state)
{
    struct project *c = *state;
    struct fix *f = c->f;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task,
                                      "echo \"$MUSTER_CONFIG\"; cat \"$MUSTER_CONFIG\"; "
                                      "echo \"<$MUSTER_SERVER>\"");
    struct arena *arena = arena_create();
    write_text(f->copies, "config.json", "{}\n");
    pairs_setf(&task.env, arena, "MUSTER_CONFIG", "%s/config.json", f->copies);
    pairs_set(&task.env, arena, "MUSTER_SERVER", "unix:/run/muster/sock");
    fix_start_host(f);
    AUTO_FREE char *text = run_to_end(c, &launch);
    AUTO_FREE char *said = mem_printf("%s/runs/7.1.n1/config.json\n{}\n<>\n", f->host_dir);
    assert_string_equal(text, said);
    arena_destroy(arena);
}

/* What tasks write there stays, as on the server's own machine. */
static void a_directory_that_the_machine_sees_is_used(void **state)
{
    struct project *c = *state;
    struct fix *f = c->f;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "pwd; echo mine > result");
    AUTO_FREE char *result = file_join(c->dir, "result");
    AUTO_FREE char *where = mem_printf("%s\n", c->dir);
    launch.work_dir = c->dir;
    write_text(c->dir, "word", "shared\n");
    fix_start_host(f);
    start_well(f, &launch);
    UNTIL(f, f->facts[FACT_ENDED] == 1);
    fix_end_well(f);
    AUTO_FREE char *text = fix_log(f);
    assert_string_equal(text, where);
    assert_int_equal(access(result, F_OK), 0);
}

static void too_much_is_refused_with_what_to_do(void **state)
{
    struct project *c = *state;
    struct fix *f = c->f;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "true");
    launch.work_dir = c->dir;
    launch.code_limit = 3;
    write_text(c->dir, "word", "12345");
    fix_start_host(f);
    start_well(f, &launch);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    assert_int_equal(f->facts[FACT_REFUSED], 1);
    assert_non_null(strstr(f->refused, c->dir));
    assert_non_null(strstr(f->refused, "--code DIR"));
}

/* All nodes of a generation have the same code, also those that a restarted server starts. */
static void a_restarted_server_has_packed_it(void **state)
{
    struct project *c = *state;
    struct fix *f = c->f;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "cat word");
    launch.work_dir = c->dir;
    write_text(c->dir, "word", "as it was\n");
    start_well(f, &launch);
    UNTIL(f, is_staged(f));
    write_text(c->dir, "word", "as it is\n");
    fix_close_server(f);
    fix_open_server(f);
    fix_recover(f);
    fix_start_host(f);
    AUTO_FREE char *text = run_to_end(c, &launch);
    assert_string_equal(text, "as it was\n");
}

/* Killed while it packs, or after: what the next one does not run any more it leaves no file of. */
static void a_killed_server_leaves_a_marker(const struct project *c, bool runs)
{
    struct fix *f = c->f;
    struct err err;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "true");
    launch.work_dir = c->dir;
    write_text(c->dir, "word", "12345");
    start_well(f, &launch);
    assert_int_equal(count_markers(c, false), 1);
    fix_close_server(f);
    assert_int_equal(count_markers(c, false), 1);
    fix_open_server(f);
    if (runs)
        fix_recover(f);
    else
        assert_int_equal(f->engine->ops->recover(f->engine, NULL, 0, &err), 0);
    assert_int_equal(count_markers(c, false), runs ? 1 : 0);
}

static void a_marker_of_what_is_over_goes(void **state)
{
    a_killed_server_leaves_a_marker(*state, false);
}

static void a_marker_of_what_runs_stays(void **state)
{
    a_killed_server_leaves_a_marker(*state, true);
}

static void a_stop_while_it_is_packed(void **state)
{
    struct project *c = *state;
    struct fix *f = c->f;
    struct launch_task task;
    struct launch launch = fix_launch(f, &task, "true");
    launch.work_dir = c->dir;
    write_text(c->dir, "word", "12345");
    fix_start_host(f);
    start_well(f, &launch);
    fix_stop(f, STOP_GRACE);
    UNTIL(f, f->facts[FACT_AGENT_GONE] == 1);
    assert_int_equal(f->facts[FACT_STARTED], 0);
    UNTIL(f, is_staged(f));
    assert_int_equal(f->facts[FACT_STARTED], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_working_directory_travels),
        TEST(what_gets_smaller_is_compressed),
        TEST(what_does_not_travels_as_it_is),
        TEST(a_code_directory_is_shown_by_its_name),
        TEST(code_is_mounted_where_it_is_wanted),
        TEST(files_of_the_server_travel),
        TEST(a_directory_that_the_machine_sees_is_used),
        TEST(too_much_is_refused_with_what_to_do),
        TEST(a_marker_of_what_is_over_goes),
        TEST(a_marker_of_what_runs_stays),
        TEST(a_restarted_server_has_packed_it),
        TEST(a_stop_while_it_is_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
