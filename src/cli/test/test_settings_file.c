/* Settings that are kept with a state directory: what is kept, replaced and dropped, and what a
 * file says that is none of ours. Each test has a directory of its own. */
#include "cli/settings_file.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fix {
    char dir[64], *path;
    struct arena *arena;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    *f = (struct fix){ .dir = "/tmp/muster-kept-XXXXXX", .arena = arena_create() };
    assert_non_null(mkdtemp(f->dir));
    f->path = file_join(f->dir, "settings.json");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    struct err err;
    assert_int_equal(file_remove_tree(f->dir, &err), 0);
    arena_destroy(f->arena);
    free(f->path);
    free(f);
    return 0;
}

static void add(struct fix *f, const char *name, const char *value)
{
    struct pairs given = { 0 };
    struct err err;
    pairs_set(&given, f->arena, name, value);
    assert_int_equal(settings_file_add(f->arena, f->dir, &given, &err), 0);
}

/* The value that a server which comes after reads; NULL: none is kept. */
static const char *kept(struct fix *f, const char *name)
{
    struct pairs all = { 0 };
    struct err err;
    assert_int_equal(settings_file_read(f->arena, f->dir, &all, &err), 0);
    return pairs_get(&all, name);
}

static void write_file(struct fix *f, const char *text)
{
    struct err err;
    assert_int_equal(file_replace(f->path, text, strlen(text), 0600, &err), 0);
}

static void what_was_given_is_kept(void **state)
{
    struct fix *f = *state;
    struct stat st;
    assert_null(kept(f, "nodes")); /* no file yet */
    add(f, "nodes", "4x16cpu");
    add(f, "idle_exit", "1h");
    assert_string_equal(kept(f, "nodes"), "4x16cpu");
    add(f, "nodes", "2x8cpu");
    assert_string_equal(kept(f, "nodes"), "2x8cpu");
    assert_string_equal(kept(f, "idle_exit"), "1h");
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* What is about one run of a server does not come back with the next. */
static void what_is_of_one_run_is_not(void **state)
{
    static const char *const passing[] = { "state_dir", "record", "record_max", "log_level" };
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(passing); i++) {
        assert_false(settings_file_is(passing[i]));
        add(f, passing[i], "x");
        assert_null(kept(f, passing[i]));
    }
    assert_int_equal(access(f->path, F_OK), -1); /* nothing to keep, no file */
    assert_true(settings_file_is("queues"));
    write_file(f, "{\"record\": \"/r\", \"queues\": \"a\"}");
    assert_null(kept(f, "record"));
    assert_string_equal(kept(f, "queues"), "a");
}

static void an_empty_value_removes(void **state)
{
    struct fix *f = *state;
    add(f, "nodes", "1x1cpu");
    add(f, "queues", "a");
    add(f, "nodes", "");
    assert_null(kept(f, "nodes"));
    assert_string_equal(kept(f, "queues"), "a");
    add(f, "queues", "");
    assert_int_equal(access(f->path, F_OK), -1); /* the last one takes the file along */
}

static void one_is_dropped(void **state)
{
    struct fix *f = *state;
    struct err err;
    assert_int_equal(settings_file_drop(f->arena, f->dir, "nodes", &err), 0);
    add(f, "nodes", "1x1cpu");
    add(f, "queues", "a");
    assert_int_equal(settings_file_drop(f->arena, f->dir, "node", &err), 0); /* the whole name */
    assert_int_equal(settings_file_drop(f->arena, f->dir, "nodes", &err), 1);
    assert_int_equal(settings_file_drop(f->arena, f->dir, "nodes", &err), 0);
    assert_string_equal(kept(f, "queues"), "a");
}

/* Nothing that cannot be read is written over. */
static void files_of_somebody_else(void **state)
{
    static const char *const texts[] = { "", "{\"nodes\": ", "[1]", "\"nodes\"", "nodes: 1\n" };
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_FREE char *after = NULL;
        struct pairs all = { 0 }, given = { 0 };
        struct err err = { 0 };
        size_t len;
        write_file(f, texts[i]);
        pairs_set(&given, f->arena, "queues", "a");
        assert_int_equal(settings_file_read(f->arena, f->dir, &all, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
        assert_non_null(strstr(err.what, f->path));
        assert_non_null(strstr(err.hint, "remove it"));
        assert_int_equal(settings_file_add(f->arena, f->dir, &given, &err), -1);
        assert_int_equal(settings_file_drop(f->arena, f->dir, "nodes", &err), -1);
        assert_int_equal(file_read(f->path, 100, &after, &len, &err), 0);
        assert_string_equal(after, texts[i]);
    }
    write_file(f, "{\"nodes\": 4, \"queues\": \"a\"}"); /* a number is none of ours */
    assert_null(kept(f, "nodes"));
    assert_string_equal(kept(f, "queues"), "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(what_was_given_is_kept), T(what_is_of_one_run_is_not), T(an_empty_value_removes),
        T(one_is_dropped),         T(files_of_somebody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
