/* The files of a state directory. */
#include "main/server_files.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

struct world {
    struct arena *arena;
    char top[40], *dir;
    struct server_files files;
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    w->arena = arena_create();
    memcpy(w->top, "/tmp/muster-state-XXXXXX", sizeof "/tmp/muster-state-XXXXXX");
    if (!mkdtemp(w->top))
        return -1;
    w->dir = file_join(w->top, "a/b");
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    int rc = file_remove_tree(w->top, NULL);
    free(w->dir);
    arena_destroy(w->arena);
    free(w);
    return rc;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (unsigned)(st.st_mode & 07777);
}

static void made_once(void **state)
{
    struct world *w = *state;
    assert_int_equal(server_files_open(w->arena, w->dir, &w->files, &w->err), 0);
    assert_int_equal(mode_of(w->dir), 0700);
    assert_int_equal(mode_of(arena_printf(w->arena, "%s/token", w->dir)), 0600);
    assert_int_equal(strlen(w->files.token), 64);
    assert_true(file_is_dir(w->files.runs));
    assert_true(file_is_dir(w->files.fs));
    struct server_files again;
    assert_int_equal(server_files_open(w->arena, w->dir, &again, &w->err), 0);
    assert_string_equal(again.token, w->files.token);
}

static void open_tokens_are_refused(void **state)
{
    struct world *w = *state;
    assert_int_equal(server_files_open(w->arena, w->dir, &w->files, &w->err), 0);
    const char *token = arena_printf(w->arena, "%s/token", w->dir);
    assert_int_equal(chmod(token, 0644), 0);
    assert_int_equal(server_files_open(w->arena, w->dir, &w->files, &w->err), -1);
    assert_string_equal(w->err.hint, arena_printf(w->arena, "chmod 600 %s", token));
    assert_int_equal(err_exit_status(w->err.code), 5);
}

static void open_directories_are_refused(void **state)
{
    struct world *w = *state;
    assert_int_equal(file_mkdirs(w->dir, 0700, &w->err), 0);
    assert_int_equal(chmod(w->dir, 0777), 0);
    assert_int_equal(server_files_open(w->arena, w->dir, &w->files, &w->err), -1);
    assert_non_null(strstr(w->err.hint, "chmod 700"));
}

static void a_file_in_the_way(void **state)
{
    struct world *w = *state;
    char *parent = file_join(w->top, "a");
    assert_int_equal(file_replace(parent, "x", 1, 0600, &w->err), 0);
    assert_int_equal(server_files_open(w->arena, w->dir, &w->files, &w->err), -1);
    assert_non_null(strstr(w->err.hint, "--state-dir"));
    free(parent);
}

static void other_server(void **state)
{
    struct world *w = *state;
    struct server_info info = {
        .pid = (uint64_t)getppid(), .started_ms = 1, .version = "1", .address = ""
    };
    assert_int_equal(server_files_open(w->arena, w->dir, &w->files, &w->err), 0);
    assert_int_equal(server_files_other(&w->files), 0);
    assert_int_equal(server_files_announce(&w->files, &info, &w->err), 0);
    assert_int_equal(server_files_other(&w->files), getppid() > 1 ? getppid() : 0);
    info.pid = (uint64_t)getpid();
    assert_int_equal(server_files_announce(&w->files, &info, &w->err), 0);
    assert_int_equal(server_files_other(&w->files), 0);
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    info.pid = (uint64_t)gone;
    assert_int_equal(server_files_announce(&w->files, &info, &w->err), 0);
    assert_int_equal(server_files_other(&w->files), 0);
    server_files_withdraw(&w->files);
    assert_int_not_equal(access(w->files.info, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(made_once, begin, end),
        cmocka_unit_test_setup_teardown(open_tokens_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(open_directories_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_file_in_the_way, begin, end),
        cmocka_unit_test_setup_teardown(other_server, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
