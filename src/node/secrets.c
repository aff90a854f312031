/* Values by name, and files in directories of memory. A file is written beside its place, with the
 * rights that it is to have, and renamed, so that nobody reads a part of it. */
#include "node/secrets.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW "..new" /* no secret has such a name */

struct value {
    char *name, *at;
    size_t len;
};
struct secrets {
    VEC(struct value) values;
    struct masks masks;
};

struct secrets *secrets_create(void)
{
    return mem_new(sizeof(struct secrets));
}

static void wipe(struct value *value)
{
    explicit_bzero(value->at, value->len);
    free(value->at);
    value->at = NULL;
}

void secrets_destroy(struct secrets *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->values.n; i++) {
        wipe(&s->values.at[i]);
        free(s->values.at[i].name);
    }
    vec_fini(&s->values);
    masks_fini(&s->masks);
    free(s);
}

static struct value *find(const struct secrets *s, const char *name)
{
    for (size_t i = 0; i < s->values.n; i++)
        if (strcmp(s->values.at[i].name, name) == 0)
            return &s->values.at[i];
    return NULL;
}

/* Nothing of this process's memory is written to a disk from then on. */
static void forbid_core(void)
{
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core) != 0)
        return;
    core.rlim_cur = 0;
    (void)setrlimit(RLIMIT_CORE, &core);
}

bool secrets_take(struct secrets *s, const struct launch_secret *list, size_t n)
{
    bool other = false;
    forbid_core();
    for (size_t i = 0; i < n; i++) {
        struct value *value = find(s, list[i].name);
        if (value && value->len == list[i].len && memcmp(value->at, list[i].at, list[i].len) == 0)
            continue;
        if (value)
            wipe(value);
        else
            *(value = vec_add(&s->values)) = (struct value){ .name = mem_strdup(list[i].name) };
        value->at = mem_new(list[i].len + 1);
        value->len = list[i].len;
        memcpy(value->at, list[i].at, list[i].len);
        masks_add(&s->masks, value->at, value->len); /* what it was before stays masked */
        other = true;
    }
    return other;
}

const struct masks *secrets_masks(const struct secrets *s)
{
    return &s->masks;
}

void secrets_put_env(const struct secrets *s, const struct launch_task *task, struct arena *arena,
                     struct pairs *env)
{
    for (size_t i = 0; i < task->n_secrets; i++) {
        const struct secret_place *place = &task->secrets[i];
        const struct value *value = place->env ? find(s, place->name) : NULL;
        if (value)
            pairs_set(env, arena, place->env, value->at);
    }
}

/* ---- files ---- */

/* Where the file of a place lies: directory, and the name in it. */
static const char *split(struct arena *arena, const struct secret_place *place, const char *own_dir,
                         const char **dir)
{
    const char *slash = strrchr(place->file, '/');
    *dir = own_dir;
    if (place->file[0] != '/')
        return place->file;
    *dir = arena_strndup(arena, place->file, (size_t)(slash - place->file));
    return slash + 1;
}

static int add_dir(struct secret_files *files, const char *dir, struct err *err)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->at[i], dir) == 0)
            return 0;
    if (files->n == SECRET_DIRS_MAX)
        return err_set(err, ERR_INPUT, "secrets are to lie in more than %d directories",
                       SECRET_DIRS_MAX);
    files->fd[files->n] = -1;
    files->at[files->n++] = dir;
    return 0;
}

int secret_files_plan(struct secret_files *files, struct arena *arena,
                      const struct launch_task *task, const char *own_dir,
                      const struct account *account, struct err *err)
{
    *files = (struct secret_files){ .own_dir = own_dir };
    for (size_t i = 0; i < task->n_secrets; i++) {
        const struct secret_place *place = &task->secrets[i];
        const char *dir = NULL;
        if (!place->file)
            continue;
        (void)split(arena, place, own_dir, &dir);
        if (!*dir || file_climbs(dir))
            return err_set(err, ERR_INPUT, "no secret can lie at %.200s", place->file);
        if (add_dir(files, dir, err) != 0)
            return -1;
    }
    files->dirs = (struct memory_dirs){ .at = files->at,
                                        .n = files->n,
                                        .given = account != NULL,
                                        .uid = account ? account->ids.uid : 0,
                                        .gid = account ? account->ids.gid : 0 };
    return 0;
}

int secret_files_open(struct secret_files *files, int root, struct err *err)
{
    for (size_t i = 0; i < files->n; i++) {
        if (files->fd[i] < 0)
            files->fd[i] = memory_open(root, files->at[i]);
        if (files->fd[i] < 0)
            return err_sys(err, "%s in memory", files->at[i]);
    }
    return 0;
}

void secret_files_close(struct secret_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        if (files->fd[i] >= 0)
            close(files->fd[i]);
    files->n = 0;
}

static bool is_same(int dir, const char *name, const struct value *value)
{
    struct stat st;
    AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size != value->len)
        return false;
    char *was = mem_new(value->len + 1);
    bool same = pread(fd, was, value->len, 0) == (ssize_t)value->len &&
                memcmp(was, value->at, value->len) == 0;
    explicit_bzero(was, value->len);
    free(was);
    return same;
}

static int write_value(int dir, const char *name, const struct value *value,
                       const struct secret_files *files)
{
    (void)unlinkat(dir, NEW, 0);
    AUTO_CLOSE int fd =
        openat(dir, NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
    if (fd < 0 || file_write_all(fd, value->at, value->len) != 0 || fchmod(fd, 0400) != 0 ||
        (files->dirs.given && fchown(fd, files->dirs.uid, files->dirs.gid) != 0))
        return -1;
    return renameat(dir, NEW, dir, name);
}

/* A member of a set without a path of its own lies in a directory of the set. */
static int open_below(int dir, const char *set, const struct secret_files *files)
{
    if (mkdirat(dir, set, 0700) == 0 && files->dirs.given &&
        fchownat(dir, set, files->dirs.uid, files->dirs.gid, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    return openat(dir, set, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int write_file(const struct secret_files *files, int dir, const char *name,
                      const struct value *value)
{
    const char *slash = strchr(name, '/');
    AUTO_CLOSE int below = -1;
    if (slash) {
        AUTO_FREE char *set = mem_strndup(name, (size_t)(slash - name));
        below = open_below(dir, set, files);
        if (below < 0)
            return -1;
        dir = below;
        name = slash + 1;
    }
    return is_same(dir, name, value) ? 0 : write_value(dir, name, value, files);
}

static int dir_of(const struct secret_files *files, const char *dir)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->at[i], dir) == 0)
            return files->fd[i];
    return -1;
}

int secret_files_write(const struct secret_files *files, const struct secrets *secrets,
                       const struct launch_task *task, struct err *err)
{
    struct arena *arena = arena_create();
    int rc = 0;
    for (size_t i = 0; i < task->n_secrets && files->n > 0 && rc == 0; i++) {
        const struct secret_place *place = &task->secrets[i];
        const struct value *value = place->file ? find(secrets, place->name) : NULL;
        const char *dir;
        if (!value)
            continue;
        const char *name = split(arena, place, files->own_dir, &dir);
        if (write_file(files, dir_of(files, dir), name, value) != 0)
            rc = err_sys(err, "the file of secret %s", place->name);
    }
    arena_destroy(arena);
    return rc;
}
