/* Tasks and files as people name them, with bounds and errors; the state directory: where it is,
 * its socket's path, and a token that others may not read. */
#include "cli/names.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/state_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void tasks(void **state)
{
    struct arena *a = arena_create();
    struct task_name name;
    struct err err;
    (void)state;
    assert_int_equal(names_task(a, "worker", &name, &err), 0);
    assert_string_equal(name.role, "worker");
    assert_false(name.has_index);
    assert_int_equal(names_task(a, "worker/12", &name, &err), 0);
    assert_string_equal(name.role, "worker");
    assert_true(name.has_index);
    assert_int_equal(name.index, 12);
    assert_int_equal(names_task(a, "/1", &name, &err), -1);
    assert_int_equal(names_task(a, "worker/x", &name, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    assert_non_null(strstr(err.hint, "worker/0"));
    arena_destroy(a);
}

static char *scratch(void)
{
    char *dir = mem_strdup("/tmp/muster-cli-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return dir;
}

static void job_files(void **state)
{
    char *dir = scratch(), *path = file_join(dir, "job.json"), *text = NULL;
    struct err err;
    size_t len;
    (void)state;
    assert_int_equal(names_read_job_file(path, &text, &len, &err), -1);
    assert_int_equal(err_exit_status(err.code), 2);
    assert_int_equal(names_read_job_file(dir, &text, &len, &err), -1);
    assert_int_equal(err_exit_status(err.code), 2);
    assert_int_equal(file_replace(path, "{}", 2, 0600, &err), 0);
    assert_int_equal(names_read_job_file(path, &text, &len, &err), 0);
    assert_int_equal(len, 2);
    free(text);
    assert_int_equal(truncate(path, 100 << 20), 0);
    assert_int_equal(names_read_job_file(path, &text, &len, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
    assert_non_null(strstr(err.what, "100 MiB"));
    assert_non_null(strstr(err.what, "at most 4 MiB"));
    assert_int_equal(file_remove_tree(dir, &err), 0);
    free(path);
    free(dir);
}

static void state_dirs(void **state)
{
    struct err err;
    (void)state;
    setenv("MUSTER_STATE_DIR", "/a/b/", 1);
    char *dir = state_dir_find(NULL, &err);
    assert_string_equal(dir, "/a/b");
    free(dir);
    dir = state_dir_find("/x", &err);
    assert_string_equal(dir, "/x");
    free(dir);
    unsetenv("MUSTER_STATE_DIR");
    setenv("XDG_STATE_HOME", "/xdg", 1);
    dir = state_dir_find(NULL, &err);
    assert_string_equal(dir, "/xdg/muster");
    free(dir);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/home/ada", 1);
    dir = state_dir_find("", &err);
    assert_string_equal(dir, "/home/ada/.local/state/muster");
    free(dir);
    dir = state_dir_find("rel", &err);
    assert_int_equal(dir[0], '/');
    assert_non_null(strstr(dir, "/rel"));
    free(dir);
}

static void sockets_fit(void **state)
{
    char longer[200] = "/";
    (void)state;
    char *path = state_dir_socket("/home/ada/.local/state/muster");
    assert_string_equal(path, "/home/ada/.local/state/muster/sock");
    free(path);
    memset(longer + 1, 'x', sizeof longer - 2);
    unsetenv("XDG_RUNTIME_DIR");
    path = state_dir_socket(longer);
    char *again = state_dir_socket(longer);
    assert_true(strlen(path) < 108);
    assert_string_equal(path, again);
    assert_memory_equal(path, "/tmp/muster-", 12);
    free(path);
    longer[100] = 'y';
    path = state_dir_socket(longer);
    assert_string_not_equal(path, again);
    free(path);
    free(again);
}

static void tokens(void **state)
{
    char *dir = scratch(), *path = file_join(dir, "token");
    struct err err;
    (void)state;
    assert_null(state_dir_token(dir, &err));
    assert_int_equal(file_replace(path, "0123456789abcdef0123456789abcdef\n", 33, 0600, &err), 0);
    char *token = state_dir_token(dir, &err);
    assert_string_equal(token, "0123456789abcdef0123456789abcdef");
    free(token);
    assert_int_equal(chmod(path, 0640), 0);
    assert_null(state_dir_token(dir, &err));
    assert_int_equal(err.code, ERR_DENIED);
    assert_non_null(strstr(err.hint, "chmod 600"));
    assert_int_equal(file_replace(path, "short\n", 6, 0600, &err), 0);
    assert_null(state_dir_token(dir, &err));
    assert_int_equal(file_remove_tree(dir, &err), 0);
    free(path);
    free(dir);
}

static void what_has_to_be_there(void **state)
{
    char *dir = scratch(), *inside = file_join(dir, "a/b");
    struct err err = { .code = ERR_NONE };
    (void)state;
    assert_int_equal(names_need(dir, &err), 0);
    assert_int_equal(names_need("s3://bucket/prefix", &err), 0);
    assert_int_equal(names_need(inside, &err), -1);
    assert_int_equal(err_exit_status(err.code), 2);
    assert_non_null(strstr(err.what, inside));
    assert_int_equal(file_remove_tree(dir, NULL), 0);
    free(inside);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks),      cmocka_unit_test(job_files),
        cmocka_unit_test(state_dirs), cmocka_unit_test(sockets_fit),
        cmocka_unit_test(tokens),     cmocka_unit_test(what_has_to_be_there)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
