/* The engine puts what it sends along below launch.dir (engine/machines/remote_launch.h), so that
 * one rule finds all of it. Other paths, of data and of results, are this machine's own. */
#include "node/rebase.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PYTHON     "python3"
#define MARKER_MAX 256u

struct rebase {
    struct arena *arena;
    const char *from, *to, *server;
    size_t len; /* of from */
};

/* launch.dir/code, and what is below it. */
static const char *move_code(const struct rebase *r, const char *path, const char *code)
{
    const char *front = "/code";
    if (!path || !code || strncmp(path, r->from, r->len) != 0 ||
        strncmp(path + r->len, front, strlen(front)) != 0)
        return path;
    const char *rest = path + r->len + strlen(front);
    return *rest == '/' || *rest == '\0' ? code : path;
}

static const char *move_path(const struct rebase *r, const char *path)
{
    if (!path || r->len == 0 || strncmp(path, r->from, r->len) != 0 ||
        (path[r->len] != '/' && path[r->len] != '\0'))
        return path;
    return arena_printf(r->arena, "%s%s", r->to, path + r->len);
}

/* Programs here cannot ask it there. */
static bool is_own_server(const struct pair *pair)
{
    static const char *const fronts[] = { "unix:",        "http://127.",  "http://localhost",
                                          "http://[::1]", "https://127.", "https://localhost",
                                          "https://[::1]" };
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++)
        if (strcmp(pair->name, "MUSTER_SERVER") == 0 &&
            strncmp(pair->value, fronts[i], strlen(fronts[i])) == 0)
            return true;
    return false;
}

static void move_env(const struct rebase *r, struct pairs *env)
{
    struct pairs out = { .n = 0 };
    for (size_t i = 0; i < env->n; i++) {
        const char *value = is_own_server(&env->at[i]) ? r->server : move_path(r, env->at[i].value);
        if (value)
            pairs_put(&out, r->arena, env->at[i].name, value);
    }
    *env = out;
}

static const char *find_program(struct arena *arena, const char *name)
{
    const char *at = getenv("PATH");
    for (at = at ? at : ""; *at; at += *at == ':') {
        size_t len = strcspn(at, ":");
        const char *path = arena_printf(arena, "%.*s/%s", (int)len, at, name);
        at += len;
        if (*path == '/' && access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

static const char *find_python(struct arena *arena, const char *named)
{
    return named && access(named, X_OK) == 0 ? named : find_program(arena, PYTHON);
}

void rebase_launch(struct launch *launch, struct arena *arena, const struct rebase_target *to)
{
    const struct rebase r = {
        .arena = arena,
        .from = launch->dir,
        .to = to->dir,
        .server = to->server,
        .len = strlen(launch->dir),
    };
    launch->work_dir = move_path(&r, move_code(&r, launch->work_dir, to->code));
    launch->code_dir = move_path(&r, move_code(&r, launch->code_dir, to->code));
    launch->requirements = move_path(&r, launch->requirements);
    for (size_t i = 0; i < launch->n_mounts; i++)
        launch->mounts[i].from = move_path(&r, move_code(&r, launch->mounts[i].from, to->code));
    for (size_t i = 0; i < launch->n_tasks; i++)
        move_env(&r, &launch->tasks[i].env);
    launch->packages = to->packages;
    launch->python = find_python(arena, launch->python);
    launch->dir = to->dir;
}

char *rebase_find_shared(const char *marker)
{
    AUTO_FREE char *text = NULL;
    size_t len, says = strcspn(marker, " ");
    const char *path = marker + says + (marker[says] == ' ');
    const char *slash = strrchr(path, '/');
    if (says == 0 || *path != '/' || slash == path ||
        file_read(path, MARKER_MAX, &text, &len, NULL) != 0 || len != says ||
        memcmp(text, marker, says) != 0)
        return NULL;
    return mem_strndup(path, (size_t)(slash - path));
}

static int write_one(const struct launch_file *file, const char *path, struct err *err)
{
    if (file->at)
        return file_replace(path, file->at, file->len, file->program ? 0755 : 0644, err);
    if (file_mkdirs(path, 0700, err) != 0)
        return -1;
    return chmod(path, 01777) == 0 ? 0 : err_sys(err, "%s", path);
}

int rebase_write_files(const struct launch *launch, struct err *err)
{
    for (size_t i = 0; i < launch->n_files; i++) {
        const struct launch_file *file = &launch->files[i];
        AUTO_FREE char *path = file_join(launch->dir, file->name);
        if (strchr(file->name, '/') || file->name[0] == '.' || !file->name[0])
            return err_set(err, ERR_INPUT, "\"%.60s\" is no name of a file", file->name);
        if (write_one(file, path, err) != 0)
            return -1;
    }
    return 0;
}
