/* Which Python a submission names: by option, by the environment that is active, by PATH; what a
 * server on another machine is told; and which module a program says it lacks. Environments are
 * directories with links to this machine's python3. */
#include "cli/python_choice.h"

#include "base/file.h"
#include "base/interpreter.h"
#include "base/mem.h"
#include "cli/missing_module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fix {
    struct cli cli;
    char dir[64];
    const char *env, *python; /* DIR/env, DIR/env/bin/python */
    char *path;               /* as it was */
    const char *real;
};

static void make_dir(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    *f = (struct fix){ .dir = "/tmp/muster-python-XXXXXX" };
    struct arena *a = f->cli.arena = arena_create();
    assert_non_null(mkdtemp(f->dir));
    f->path = mem_strdup(getenv("PATH"));
    f->real = interpreter_in_path(a, f->path, "python3");
    assert_non_null(f->real); /* the build itself needs one */
    f->env = arena_printf(a, "%s/env", f->dir);
    f->python = arena_printf(a, "%s/bin/python", f->env);
    make_dir(f->env);
    make_dir(arena_printf(a, "%s/bin", f->env));
    assert_int_equal(symlink(f->real, f->python), 0);
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    struct err err;
    setenv("PATH", f->path, 1);
    assert_int_equal(file_remove_tree(f->dir, &err), 0);
    arena_destroy(f->cli.arena);
    free(f->path);
    free(f);
    return 0;
}

static void chosen(struct fix *f, const char *option, const char *path, const char *from)
{
    struct python_choice choice;
    struct err err = { 0 };
    if (python_choose(&f->cli, option, &choice, &err) < 0)
        fail_msg("%s: %s", option, err.what);
    assert_string_equal(choice.path, path);
    assert_string_equal(choice.from, from);
}

static void refused(struct fix *f, const char *option, const char *what)
{
    struct python_choice choice;
    struct err err = { 0 };
    assert_int_equal(python_choose(&f->cli, option, &choice, &err), -1);
    if (!strstr(err.what, what) || !*err.hint)
        fail_msg("%s: %s (%s)", option, err.what, err.hint);
}

static void by_option(void **state)
{
    struct fix *f = *state;
    struct arena *a = f->cli.arena;
    chosen(f, f->env, f->python, "option"); /* a directory of an environment */
    chosen(f, f->python, f->python, "option");
    chosen(f, arena_printf(a, "%s/../env/bin/python", f->env), f->python, "option");
    chosen(f, "python3", f->real, "option"); /* a name is looked up */
    const char *text = arena_printf(a, "%s/text", f->dir);
    struct err err;
    assert_int_equal(file_replace(text, "no program", 10, 0644, &err), 0);
    refused(f, text, "not a program");
    refused(f, arena_printf(a, "%s/none", f->dir), "No such file");
    refused(f, f->dir, "is no Python"); /* a directory without one */
    refused(f, "no-such-python", "is no Python");
    refused(f, "/bin/true", "is no Python");
}

/* Links are not followed: an environment is known by where its Python lies. */
static void by_environment(void **state)
{
    struct fix *f = *state;
    setenv("CONDA_PREFIX", f->env, 1);
    chosen(f, NULL, f->python, "CONDA_PREFIX");
    setenv("VIRTUAL_ENV", f->dir, 1); /* has no Python: the next one counts */
    chosen(f, NULL, f->python, "CONDA_PREFIX");
    setenv("VIRTUAL_ENV", f->env, 1);
    chosen(f, NULL, f->python, "VIRTUAL_ENV");
    setenv("VIRTUAL_ENV", "env", 1); /* a relative one means nothing to a server */
    unsetenv("CONDA_PREFIX");
    chosen(f, NULL, f->real, "PATH");
}

/* An environment that was made for a task goes with its job: what it was made from is named. */
static void in_a_task(void **state)
{
    struct fix *f = *state;
    struct arena *a = f->cli.arena;
    const char *file = arena_printf(a, "%s/pyvenv.cfg", f->env);
    const char *text = arena_printf(a, "home = /usr\n" PYENV_BASE "%s\n", f->real);
    struct err err;
    assert_int_equal(file_replace(file, text, strlen(text), 0644, &err), 0);
    setenv("VIRTUAL_ENV", f->env, 1);
    chosen(f, NULL, f->real, "VIRTUAL_ENV");
    text = "home = /usr\n" PYENV_BASE "/gone/python3\n";
    assert_int_equal(file_replace(file, text, strlen(text), 0644, &err), 0);
    chosen(f, NULL, f->real, "PATH");
}

static void by_path(void **state)
{
    struct fix *f = *state;
    struct python_choice choice;
    struct err err;
    setenv("PATH", f->dir, 1);
    assert_int_equal(python_choose(&f->cli, NULL, &choice, &err), 0);
    assert_null(choice.path); /* the server's is used */
}

static void on_another_machine(void **state)
{
    struct fix *f = *state;
    struct python_choice choice;
    struct err err;
    f->cli.url = mem_strdup("http://far:6878");
    setenv("VIRTUAL_ENV", f->env, 1);
    assert_false(python_is_local(&f->cli));
    assert_int_equal(python_choose(&f->cli, NULL, &choice, &err), 0);
    assert_null(choice.path);
    chosen(f, "/opt/far/python", "/opt/far/python", "option"); /* unchecked */
    refused(f, "python3", "the server is on another machine");
    free(f->cli.url);
    f->cli.url = mem_strdup("unix:/run/sock");
    assert_true(python_is_local(&f->cli));
    chosen(f, NULL, f->python, "VIRTUAL_ENV");
    free(f->cli.url);
}

static void modules_that_are_missing(void **state)
{
    static const struct {
        const char *output, *module;
    } rows[] = {
        { "ModuleNotFoundError: No module named 'torch'\n", "torch" },
        { "No module named 'torch.distributed'; 'torch' is not a package\n", "torch" },
        { "/usr/bin/python3: No module named my_pkg\n", "my_pkg" },
        { "No module named 'a'\nduring that:\nNo module named 'b'\n", "b" }, /* the last one */
        { "No module named ''\n", NULL },
        { "no module named 'torch'\n", NULL },
        { "", NULL },
    };
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *module = missing_module_name(f->cli.arena, rows[i].output);
        if (!module != !rows[i].module || (module && strcmp(module, rows[i].module) != 0))
            fail_msg("%s: %s", rows[i].output, module ? module : "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(by_option), T(by_environment),     T(in_a_task),
        T(by_path),   T(on_another_machine), T(modules_that_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
