/* Choosing an interpreter. Links are not followed: the interpreter of a virtual environment is a
 * link, and is known by where it lies. */
#include "cli/python_choice.h"

#include "base/file.h"
#include "base/interpreter.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_MAX 4096

bool python_is_local(const struct cli *cli)
{
    return !cli->url || strncmp(cli->url, "unix:", 5) == 0;
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *python_of_dir(struct arena *a, const char *dir)
{
    static const char *const names[] = { "python", "python3" };
    for (size_t i = 0; i < 2; i++) {
        const char *path = arena_printf(a, "%s/bin/%s", dir, names[i]);
        if (is_program(path))
            return path;
    }
    return NULL;
}

/* The directory without links and dots, the name as it is. */
static const char *absolute(struct arena *a, const char *path)
{
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *dir = !slash          ? "."
                      : slash == path ? "/"
                                      : arena_strndup(a, path, (size_t)(slash - path));
    if (!realpath(dir, real))
        return path;
    return arena_printf(a, "%s/%s", strcmp(real, "/") == 0 ? "" : real, slash ? slash + 1 : path);
}

static int choose_named(struct cli *cli, const char *option, struct python_choice *out,
                        struct err *err)
{
    struct stat st;
    const char *file = option;
    if (stat(option, &st) == 0 && S_ISDIR(st.st_mode)) {
        file = python_of_dir(cli->arena, option);
    } else if (!strchr(option, '/')) {
        file = interpreter_in_path(cli->arena, getenv("PATH"), option);
    } else if (!is_program(option)) {
        err_set(err, ERR_INPUT, "--python %s: %s", option,
                access(option, F_OK) != 0 ? strerror(errno) : "not a program");
        return err_hint(err, "a Python program or the directory of an environment: "
                             "--python .venv/bin/python");
    }
    if (!file || !interpreter_ask(cli->arena, file)) {
        err_set(err, ERR_INPUT, "--python %s is no Python", option);
        return err_hint(err, "a Python program or the directory of an environment: "
                             "--python .venv/bin/python");
    }
    file = interpreter_behind(cli->arena, absolute(cli->arena, file));
    *out = (struct python_choice){ .path = file, .from = "option" };
    return 0;
}

/* In a task of a job the environment is the task's, which goes with that job: what is submitted
 * there gets the interpreter it was made from. NULL: no such environment. */
static const char *base_of_task(struct arena *a, const char *dir)
{
    AUTO_FREE char *text = NULL;
    struct err err;
    size_t len;
    if (file_read(arena_printf(a, "%s/pyvenv.cfg", dir), CONFIG_MAX, &text, &len, &err) < 0)
        return NULL;
    const char *line = strstr(text, "\n" PYENV_BASE);
    line = line ? line + strlen("\n" PYENV_BASE) : NULL;
    return line ? arena_strndup(a, line, strcspn(line, "\n")) : NULL;
}

static const char *of_variable(struct cli *cli, const char *name)
{
    const char *dir = getenv(name);
    const char *base = dir && dir[0] == '/' ? base_of_task(cli->arena, dir) : NULL;
    if (base)
        return is_program(base) ? base : NULL;
    const char *path = dir && dir[0] == '/' ? python_of_dir(cli->arena, dir) : NULL;
    return path ? interpreter_behind(cli->arena, path) : NULL;
}

int python_choose(struct cli *cli, const char *option, struct python_choice *out, struct err *err)
{
    static const char *const variables[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
    *out = (struct python_choice){ .path = NULL };
    if (option && !python_is_local(cli)) {
        if (option[0] != '/') {
            err_set(err, ERR_INPUT, "--python %s: the server is on another machine", option);
            return err_hint(err, "the whole path, as it is there: --python /usr/bin/python3");
        }
        *out = (struct python_choice){ .path = option, .from = "option" };
        return 0;
    }
    if (option)
        return choose_named(cli, option, out, err);
    if (!python_is_local(cli))
        return 0;
    for (size_t i = 0; i < 2 && !out->path; i++)
        *out = (struct python_choice){ of_variable(cli, variables[i]), variables[i] };
    if (!out->path)
        *out = (struct python_choice){ interpreter_in_path(cli->arena, getenv("PATH"), "python3"),
                                       "PATH" };
    return 0;
}
