/* The files that make an interpreter take a directory for its environment: pyvenv.cfg, links to the
 * real interpreter, an empty site-packages with one .pth file that adds the base's packages behind
 * it, and pip wrappers. What the base can import is found out from its layout alone: a virtual
 * environment by its pyvenv.cfg, anything else by the prefix that holds lib/pythonX.Y.
 *
 * pip runs of one environment take turns: a .pth line that costs nothing in other runs loads a
 * small module which holds a lock while pip works (also for `python -m pip`, where Python tells its
 * original arguments: 3.10). */
#include "node/pyenv.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/interpreter.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CFG_MAX 65536u

struct base {
    struct arena *arena;
    const char *real;    /* the interpreter behind all links */
    const char *home;    /* directory of the base interpreter */
    const char *prefix;  /* above home: holds lib/pythonX.Y */
    const char *version; /* "3.11" */
    const char *venv;    /* the base is a virtual environment: its directory; else NULL */
    bool outer_too;      /* packages of the interpreter itself are seen as well */
};

static const char *dir_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return arena_strndup(arena, path, slash && slash != path ? (size_t)(slash - path) : 1);
}

/* The value of a key of a pyvenv.cfg, or NULL. */
static const char *cfg_value(struct arena *arena, const char *text, const char *key)
{
    size_t len = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + len;
        if (strncasecmp(line, key, len) != 0)
            continue;
        at += strspn(at, " \t");
        if (*at != '=')
            continue;
        at += 1 + strspn(at + 1, " \t");
        size_t n = strcspn(at, "\r\n");
        while (n > 0 && (at[n - 1] == ' ' || at[n - 1] == '\t'))
            n--;
        return arena_strndup(arena, at, n);
    }
    return NULL;
}

static int read_venv(struct base *base, const char *interpreter, struct err *err)
{
    const char *above = dir_of(base->arena, dir_of(base->arena, interpreter));
    const char *cfg = arena_printf(base->arena, "%s/pyvenv.cfg", above);
    base->home = dir_of(base->arena, base->real);
    base->outer_too = true;
    if (access(cfg, F_OK) != 0)
        return 0;
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(cfg, CFG_MAX, &text, &len, err) != 0)
        return -1;
    const char *home = cfg_value(base->arena, text, "home");
    const char *outer = cfg_value(base->arena, text, "include-system-site-packages");
    if (!home)
        return err_set(err, ERR_INPUT, "%s has no line \"home = ...\"", cfg);
    base->venv = above;
    base->home = home;
    base->outer_too = outer && strcasecmp(outer, "true") == 0;
    return 0;
}

static bool has_library(const struct base *base, const char *version)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/lib/python%s/os.py", base->prefix, version);
    return access(path, F_OK) == 0;
}

/* X.Y from the interpreter's name, else from the library directories beside it. */
static int find_version(struct base *base, struct err *err)
{
    const char *name = strrchr(base->real, '/') + 1;
    if (strncmp(name, "python", 6) == 0 && strchr(name, '.') && has_library(base, name + 6)) {
        base->version = arena_strdup(base->arena, name + 6);
        return 0;
    }
    char pattern[PATH_MAX];
    snprintf(pattern, sizeof pattern, "%s/lib/python[0-9]*.[0-9]*/os.py", base->prefix);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return err_set(err, ERR_INPUT, "%s: no Python library below %s/lib", base->real,
                       base->prefix);
    const char *dir = dir_of(base->arena, found.gl_pathv[found.gl_pathc - 1]);
    base->version = strrchr(dir, '/') + 1 + strlen("python");
    globfree(&found);
    return 0;
}

static bool is_script(const char *path)
{
    char start[2] = "";
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, start, 2) == 2 && memcmp(start, "#!", 2) == 0;
}

/* A pyenv shim is a script that picks a version when it runs: the one that pyenv's own file names
 * is picked here. NULL when it is something else. */
static const char *behind_shim(struct arena *arena, const char *shim)
{
    const char *dir = dir_of(arena, shim);
    const char *root = dir_of(arena, dir);
    AUTO_FREE char *version = NULL;
    size_t len;
    if (strcmp(strrchr(dir, '/') + 1, "shims") != 0 ||
        file_read(arena_printf(arena, "%s/version", root), CFG_MAX, &version, &len, NULL) != 0)
        return NULL;
    version[strcspn(version, " \r\n")] = '\0';
    const char *path = strcmp(version, "system") == 0
                           ? "/usr/bin/python3"
                           : arena_printf(arena, "%s/versions/%s/bin/python3", root, version);
    return access(path, X_OK) == 0 && !is_script(path) ? path : NULL;
}

static int look_at(struct base *base, const char *interpreter, struct err *err)
{
    char real[PATH_MAX];
    if (!realpath(interpreter, real))
        return err_set(err, ERR_INPUT, "the Python interpreter %s: %s", interpreter,
                       strerror(errno));
    if (is_script(real)) {
        const char *named = behind_shim(base->arena, real);
        if (!named || !realpath(named, real))
            return err_set(err, ERR_INPUT, "%s is a script, not a Python interpreter", interpreter);
        interpreter = named;
    }
    if (access(real, X_OK) != 0)
        return err_set(err, ERR_INPUT, "%s is not a program", real);
    base->real = arena_strdup(base->arena, real);
    if (read_venv(base, interpreter, err) != 0)
        return -1;
    base->prefix = dir_of(base->arena, base->home);
    return find_version(base, err);
}

/* ---- writing ---- */

static int write_small(const char *path, const char *text, mode_t mode, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0 || file_write_all(fd, text, strlen(text)) != 0)
        return err_sys(err, "%s", path);
    return 0;
}

static int make_link(const char *dir, const char *name, const char *target, struct err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/bin/%s", dir, name);
    (void)unlink(path);
    return symlink(target, path) == 0 ? 0 : err_sys(err, "%s", path);
}

/* A text as a Python literal. */
static const char *literal(struct arena *arena, const char *text)
{
    struct buf out = BUF_INIT(8 * PATH_MAX);
    buf_putc(&out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_putc(&out, '\\');
        buf_putc(&out, *text);
    }
    buf_putc(&out, '\'');
    const char *copy = arena_strdup(arena, buf_str(&out));
    buf_fini(&out);
    return copy;
}

static void add_site(const struct base *base, struct buf *pth, const char *path)
{
    if (file_is_dir(path))
        buf_addf(pth, "import site; site.addsitedir(%s)\n", literal(base->arena, path));
}

/* A base without pip: the wheel that Python or the distribution ships for making environments can
 * be run from where it lies. */
static void add_pip(const struct base *base, struct buf *pth)
{
    const char *patterns[] = {
        arena_printf(base->arena, "%s/lib/python%s/ensurepip/_bundled/pip-*.whl", base->prefix,
                     base->version),
        "/usr/share/python-wheels/pip-*.whl",
    };
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        buf_addf(pth, "%s\n", found.gl_pathv[found.gl_pathc - 1]);
        globfree(&found);
        return;
    }
}

static const char *packages_of(const struct base *base, const char *prefix)
{
    return arena_printf(base->arena, "%s/lib/python%s/site-packages", prefix, base->version);
}

static void add_outer(const struct base *base, struct buf *pth)
{
    const char *home = getenv("HOME");
    if (!base->venv && home)
        add_site(base, pth, packages_of(base, arena_printf(base->arena, "%s/.local", home)));
    add_site(base, pth, packages_of(base, base->prefix));
    if (strcmp(base->prefix, "/usr") != 0)
        return;
    add_site(base, pth,
             arena_printf(base->arena, "/usr/local/lib/python%s/dist-packages", base->version));
    add_site(base, pth, "/usr/lib/python3/dist-packages");
    add_site(base, pth,
             arena_printf(base->arena, "/usr/lib/python%s/dist-packages", base->version));
}

static bool has_pip(const struct base *base)
{
    const char *dirs[] = {
        base->venv ? packages_of(base, base->venv) : NULL,
        base->outer_too ? packages_of(base, base->prefix) : NULL,
        base->outer_too && strcmp(base->prefix, "/usr") == 0 ? "/usr/lib/python3/dist-packages"
                                                             : NULL,
    };
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        if (dirs[i] && file_is_dir(arena_printf(base->arena, "%s/pip", dirs[i])))
            return true;
    return false;
}

static const char turns_text[] =
    "import fcntl, os\n"
    "if not os.environ.get('MUSTER_PIP_TURN'):\n"
    "    os.environ['MUSTER_PIP_TURN'] = '1'\n"
    "    held = open(os.path.join(os.path.dirname(__file__), '..', '..', '..', '.lock'), 'w')\n"
    "    fcntl.flock(held, fcntl.LOCK_EX)\n";

static int write_packages(const struct base *base, const char *dir, struct err *err)
{
    const char *site = packages_of(base, dir);
    if (file_mkdirs(site, 0755, err) != 0)
        return -1;
    AUTO_BUF struct buf pth = BUF_INIT(1u << 16);
    if (base->venv)
        add_site(base, &pth, packages_of(base, base->venv));
    if (base->outer_too)
        add_outer(base, &pth);
    if (!has_pip(base))
        add_pip(base, &pth);
    buf_puts(&pth, "import sys; 'pip' in getattr(sys, 'orig_argv', ())[1:4] and "
                   "__import__('_muster_pip_turn')\n");
    const char *turn = arena_printf(base->arena, "%s/_muster_pip_turn.py", site);
    const char *list = arena_printf(base->arena, "%s/muster.pth", site);
    if (write_small(turn, turns_text, 0644, err) != 0)
        return -1;
    return write_small(list, buf_str(&pth), 0644, err);
}

static int write_programs(const struct base *base, const char *dir, const char *interpreter,
                          struct err *err)
{
    struct arena *arena = base->arena;
    if (file_mkdirs(arena_printf(arena, "%s/bin", dir), 0755, err) != 0)
        return -1;
    const char *names[] = { "python", "python3", arena_printf(arena, "python%s", base->version) };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (make_link(dir, names[i], base->real, err) != 0)
            return -1;
    /* Started by sh, so that the path of the environment may be long and may hold blanks. */
    const char *pip = arena_printf(arena, "#!/bin/sh\n"
                                          "exec \"${0%%/*}/python\" -m pip \"$@\"\n");
    const char *pips[] = { "pip", "pip3", arena_printf(arena, "pip%s", base->version) };
    for (size_t i = 0; i < ARRAY_LEN(pips); i++)
        if (write_small(arena_printf(arena, "%s/bin/%s", dir, pips[i]), pip, 0755, err) != 0)
            return -1;
    return write_small(arena_printf(arena, "%s/pyvenv.cfg", dir),
                       arena_printf(arena,
                                    "home = %s\ninclude-system-site-packages = false\n"
                                    "version = %s\n" PYENV_BASE "%s\n",
                                    base->home, base->version, interpreter),
                       0644, err);
}

int pyenv_make(const char *dir, const char *interpreter, struct err *err)
{
    struct base base = { .arena = arena_create() };
    int rc = look_at(&base, interpreter, err);
    if (rc == 0)
        rc = write_packages(&base, dir, err);
    if (rc == 0)
        rc = write_programs(&base, dir, interpreter, err);
    arena_destroy(base.arena);
    return rc;
}
