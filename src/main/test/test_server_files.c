/* The files of a state directory: made once, with their modes; those that others may write to are
 * refused. Keys may lie outside of it. */
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
    server_files_withdraw(&w->files, true);
    assert_int_not_equal(access(w->files.info, F_OK), 0);
}

/* ---- the key of the records ---- */

static const char *ask_key(struct world *w, bool needed)
{
    return server_files_seal_key(w->arena, &w->files, needed, &w->err);
}

static void the_key_lies_outside(void **state)
{
    struct world *w = *state;
    const char *config = arena_printf(w->arena, "%s/config", w->top);
    setenv("XDG_CONFIG_HOME", config, 1);
    assert_int_equal(server_files_open(w->arena, w->dir, &w->files, &w->err), 0);
    const char *key = ask_key(w, false);
    assert_non_null(key);
    assert_memory_equal(key, config, strlen(config));
    assert_int_equal(mode_of(key), 0600);
    assert_int_equal(mode_of(arena_printf(w->arena, "%s/muster/keys", config)), 0700);
    assert_string_equal(ask_key(w, true), key); /* and is found again */
    struct server_files other, *files = &other;
    assert_int_equal(
        server_files_open(w->arena, arena_printf(w->arena, "%s/other", w->top), files, &w->err), 0);
    assert_string_not_equal(server_files_seal_key(w->arena, files, false, &w->err), key);
    const char *path = arena_printf(w->arena, "%s/seal_key.path", w->dir);
    assert_int_equal(file_replace(path, "x\n", 2, 0600, &w->err), 0);
    assert_null(ask_key(w, false));
    assert_non_null(strstr(w->err.what, "names no key"));
    assert_int_equal(unlink(path), 0);
    assert_null(ask_key(w, true)); /* no other one instead */
    assert_non_null(strstr(w->err.what, "says where their key is"));
    const char *own = arena_printf(w->arena, "%s/identity.key", w->dir);
    assert_int_equal(file_replace(own, "", 0, 0600, &w->err), 0);
    assert_string_equal(ask_key(w, true), own); /* an older directory's, whatever it is */
    unsetenv("XDG_CONFIG_HOME");
}

static void beside_the_users_configuration(void **state)
{
    struct world *w = *state;
    const uid_t nobody = 65534, self = geteuid();
    const char *home = getenv("HOME"), *was = home ? arena_strdup(w->arena, home) : NULL;
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", w->top, 1);
    if (self == 0) /* root has another place */
        assert_true(chown(w->top, nobody, nobody) == 0 && seteuid(nobody) == 0);
    assert_int_equal(server_files_open(w->arena, w->dir, &w->files, &w->err), 0);
    const char *key = ask_key(w, false);
    assert_non_null(key);
    const char *keys = arena_printf(w->arena, "%s/.config/muster/keys/", w->top);
    assert_memory_equal(key, keys, strlen(keys));
    /* where there can be none, it is said what to do */
    const char *path = arena_printf(w->arena, "%s/seal_key.path", w->dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(chmod(keys, 0500), 0);
    assert_null(ask_key(w, false));
    assert_non_null(strstr(w->err.hint, "--seal-key FILE"));
    assert_int_not_equal(access(path, F_OK), 0);
    if (self == 0)
        assert_int_equal(seteuid(self), 0);
    if (was)
        setenv("HOME", was, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(made_once, begin, end),
        cmocka_unit_test_setup_teardown(open_tokens_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(open_directories_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_file_in_the_way, begin, end),
        cmocka_unit_test_setup_teardown(other_server, begin, end),
        cmocka_unit_test_setup_teardown(the_key_lies_outside, begin, end),
        cmocka_unit_test_setup_teardown(beside_the_users_configuration, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
