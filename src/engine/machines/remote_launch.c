/* Code goes as an archive, files of the server's own making with the launch. Data, results and the
 * interpreter are the machine's: their paths stay as they are. */
#include "engine/machines/remote_launch.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX 16u
#define FILE_MAX  (16u << 20)
#define CONFIG    "config.json" /* beside the files of conventions (live/launches/launch_files.c) */

static const char *base_name(struct arena *arena, const char *path)
{
    size_t n = strlen(path), start;
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (start = n; start > 0 && path[start - 1] != '/';)
        start--;
    return arena_strndup(arena, path + start, n - start);
}

static void move_code(struct launch *launch, struct arena *arena, struct remote_code *code)
{
    const char *there = arena_printf(arena, "%s/code", launch->dir);
    *code = (struct remote_code){ .hash = NULL };
    for (size_t i = 0; i < launch->n_mounts; i++)
        if (launch->mounts[i].is_code) {
            code->dir = launch->mounts[i].from;
            launch->mounts[i].from = there;
        }
    if (launch->code_dir) {
        code->dir = launch->code_dir;
        code->under = base_name(arena, launch->code_dir);
        launch->code_dir = arena_printf(arena, "%s/%s", there, code->under);
        launch->code_limit = 0; /* it is looked at here */
    } else if (launch->archive) {
        code->hash = base_name(arena, launch->archive);
        launch->work_dir = there;
    } else if (launch->work_dir) {
        code->dir = launch->work_dir;
        launch->work_dir = there;
    }
}

static int add_file(struct launch *launch, struct arena *arena, const char *path, struct err *err)
{
    struct launch_file *file = &launch->files[launch->n_files];
    AUTO_FREE char *text = NULL;
    struct stat st;
    if (stat(path, &st) != 0)
        return err_sys(err, "%s", path);
    if (launch->n_files == FILES_MAX)
        return err_set(err, ERR_CANNOT, "more than %u files go with a launch", FILES_MAX);
    *file = (struct launch_file){ .name = base_name(arena, path), .program = st.st_mode & 0100 };
    launch->n_files++;
    if (S_ISDIR(st.st_mode))
        return 0;
    if (file_read(path, FILE_MAX, &text, &file->len, err) != 0)
        return -1;
    char *at = arena_alloc(arena, file->len + 1);
    memcpy(at, text, file->len);
    file->at = at;
    return 0;
}

static bool lies_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

static int add_files(struct launch *launch, struct arena *arena, struct err *err)
{
    const char *config = arena_printf(arena, "%s/" CONFIG, launch->dir);
    launch->files = ARENA_ARRAY(arena, FILES_MAX, struct launch_file);
    launch->n_files = 0;
    for (size_t i = 0; i < launch->n_mounts; i++) {
        const struct bind_mount *mount = &launch->mounts[i];
        if (!mount->is_code && lies_below(mount->from, launch->dir) &&
            add_file(launch, arena, mount->from, err) != 0)
            return -1;
    }
    struct stat st;
    return stat(config, &st) == 0 ? add_file(launch, arena, config, err) : 0;
}

int remote_launch(struct launch *launch, struct arena *arena, struct remote_code *code,
                  struct err *err)
{
    struct bind_mount *mounts = ARENA_ARRAY(arena, launch->n_mounts + 1, struct bind_mount);
    if (launch->n_mounts > 0)
        memcpy(mounts, launch->mounts, launch->n_mounts * sizeof *mounts);
    launch->mounts = mounts;
    launch->packages = NULL;
    move_code(launch, arena, code);
    return add_files(launch, arena, err);
}
