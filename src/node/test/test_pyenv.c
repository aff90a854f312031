/* The job's Python environment, tried with the interpreter of this machine (skipped where there is
 * none). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/pyenv.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *find_python(void)
{
    static const char *const places[] = { "/usr/bin/python3", "/usr/local/bin/python3" };
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* Runs a program of the environment; its output in text. */
static int run(const char *dir, const char *program, const char *const *args, char text[2000])
{
    AUTO_FREE char *path = mem_printf("%s/bin/%s", dir, program);
    char *argv[10] = { path };
    for (size_t i = 0; args[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)args[i];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        execv(path, argv);
        _exit(127);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t n; len < 1999 && (n = read(ends[0], text + len, 1999 - len)) > 0;)
        len += (size_t)n;
    text[len] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int make_dir(void **state)
{
    char *dir = mem_strdup("/tmp/muster-py-XXXXXX");
    *state = dir;
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    struct err err;
    int rc = file_remove_tree(*state, &err);
    free(*state);
    return rc;
}

static void it_is_an_environment_of_its_own(void **state)
{
    const char *python = find_python();
    if (!python) {
        print_message("no python3 here\n");
        skip();
    }
    struct err err;
    char text[2000];
    AUTO_FREE char *dir = mem_printf("%s/with 'blank/py", (const char *)*state);
    AUTO_FREE char *want = mem_printf("%s True\n", dir);
    int rc = pyenv_make(dir, python, &err);
    if (rc != 0)
        print_message("%s\n", err.what);
    assert_int_equal(rc, 0);
    assert_int_equal(pyenv_make(dir, python, &err), 0); /* again */
    const char *args[] = { "-c",
                           "import sys, json; print(sys.prefix, sys.prefix != sys.base_prefix)",
                           NULL };
    assert_int_equal(run(dir, "python", args, text), 0);
    assert_string_equal(text, want);
    assert_int_equal(run(dir, "python3", args, text), 0);
    assert_string_equal(text, want);
}

static void pip_installs_into_it(void **state)
{
    const char *python = find_python();
    if (!python) {
        print_message("no python3 here\n");
        skip();
    }
    struct err err;
    char text[2000];
    AUTO_FREE char *dir = mem_printf("%s/py", (const char *)*state);
    assert_int_equal(pyenv_make(dir, python, &err), 0);
    const char *version[] = { "--version", NULL };
    if (run(dir, "pip", version, text) != 0 && strstr(text, "No module named pip")) {
        print_message("this Python has neither pip nor the wheel of it\n");
        skip();
    }
    assert_non_null(strstr(text, "pip "));
    /* A package made here, so that nothing is fetched. */
    AUTO_FREE char *wheel =
        mem_printf("%s/muster_trial-1.0-py3-none-any.whl", (const char *)*state);
    AUTO_FREE char *script = mem_printf(
        "import zipfile\n"
        "z = zipfile.ZipFile(r'''%s''', 'w')\n"
        "z.writestr('muster_trial.py', 'answer = 42\\n')\n"
        "d = 'muster_trial-1.0.dist-info/'\n"
        "z.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: muster-trial\\nVersion: 1.0\\n')\n"
        "z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\n"
        "Tag: py3-none-any\\n')\n"
        "z.writestr(d + 'RECORD', 'muster_trial.py,,\\n' + d + 'METADATA,,\\n' + d + 'WHEEL,,\\n' + "
        "d + 'RECORD,,\\n')\n"
        "z.close()\n",
        wheel);
    const char *make[] = { "-c", script, NULL };
    assert_int_equal(run(dir, "python", make, text), 0);
    const char *install[] = { "install", "--quiet", "--no-index", "--disable-pip-version-check",
                              wheel,     NULL };
    int rc = run(dir, "pip", install, text);
    if (rc != 0)
        print_message("%s\n", text);
    assert_int_equal(rc, 0);
    const char *use[] = { "-c",
                          "import muster_trial; print(muster_trial.answer, "
                          "muster_trial.__file__)",
                          NULL };
    assert_int_equal(run(dir, "python", use, text), 0);
    assert_int_equal(strncmp(text, "42 ", 3), 0);
    assert_int_equal(strncmp(text + 3, dir, strlen(dir)), 0);
    AUTO_FREE char *lock = mem_printf("%s/.lock", dir);
    assert_int_equal(access(lock, F_OK), 0); /* pip took its turn */
}

static void a_virtual_environment_is_a_base(void **state)
{
    const char *python = find_python();
    if (!python) {
        print_message("no python3 here\n");
        skip();
    }
    struct err err;
    char text[2000];
    AUTO_FREE char *base = mem_printf("%s/base", (const char *)*state);
    AUTO_FREE char *dir = mem_printf("%s/py", (const char *)*state);
    assert_int_equal(pyenv_make(base, python, &err),
                     0); /* itself made like a virtual environment */
    const char *where[] = { "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", NULL };
    assert_int_equal(run(base, "python", where, text), 0);
    text[strcspn(text, "\n")] = '\0';
    AUTO_FREE char *module = mem_printf("%s/of_the_base.py", text);
    assert_int_equal(file_replace(module, "name = 'base'\n", 14, 0644, &err), 0);
    AUTO_FREE char *interpreter = mem_printf("%s/bin/python", base);
    assert_int_equal(pyenv_make(dir, interpreter, &err), 0);
    const char *use[] = { "-c", "import of_the_base, sys; print(of_the_base.name, sys.prefix)",
                          NULL };
    assert_int_equal(run(dir, "python", use, text), 0);
    AUTO_FREE char *want = mem_printf("base %s\n", dir);
    assert_string_equal(text, want);
}

static void what_is_no_python(void **state)
{
    struct err err;
    AUTO_FREE char *dir = mem_printf("%s/py", (const char *)*state);
    assert_int_equal(pyenv_make(dir, "/no/such/python", &err), -1);
    assert_non_null(strstr(err.what, "/no/such/python"));
    assert_false(file_is_dir(dir));
}

static void a_script_is_no_python(void **state)
{
    const char *python = find_python();
    struct err err;
    AUTO_FREE char *dir = mem_printf("%s/py", (const char *)*state);
    AUTO_FREE char *shims = mem_printf("%s/shims", (const char *)*state);
    AUTO_FREE char *bin = mem_printf("%s/versions/9.9/bin", (const char *)*state);
    AUTO_FREE char *shim = mem_printf("%s/python3", shims);
    AUTO_FREE char *link = mem_printf("%s/python3", bin);
    AUTO_FREE char *version = mem_printf("%s/version", (const char *)*state);
    assert_int_equal(file_mkdirs(shims, 0755, &err), 0);
    assert_int_equal(file_mkdirs(bin, 0755, &err), 0);
    assert_int_equal(file_replace(shim, "#!/bin/sh\nexit 1\n", 17, 0755, &err), 0);
    assert_int_equal(pyenv_make(dir, shim, &err), -1);
    assert_non_null(strstr(err.what, "is a script"));
    if (!python) {
        print_message("no python3 here\n");
        skip();
    }
    /* A shim of pyenv is looked through. */
    assert_int_equal(file_replace(version, "9.9\n", 4, 0644, &err), 0);
    assert_int_equal(symlink(python, link), 0);
    assert_int_equal(pyenv_make(dir, shim, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_an_environment_of_its_own, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(pip_installs_into_it, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_virtual_environment_is_a_base, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(what_is_no_python, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_script_is_no_python, make_dir, drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
