/* Makes the directories of a launcher's rounds, named as torchrun names them, and says the paths of
 * the files in them. Random parts of names are tried until one is free. */
#include "launch/stream_files.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define RANDOM_CHARS 8
#define NAME_KEPT    200 /* of the run id: names end at 255 bytes */
#define TRIES        100

void stream_files_init(struct stream_files *files, const char *log_dir, const char *run_id,
                       uint32_t ranks)
{
    *files = (struct stream_files){ .log_dir = log_dir, .run_id = run_id, .ranks = ranks };
    files->none = log_dir && strcmp(log_dir, "/dev/null") == 0;
    files->temporary = !log_dir || !log_dir[0];
}

/* parent/PREFIX_xxxxxxxx, made; malloc'ed. */
static char *make_unique(const char *parent, const char *prefix, struct err *err)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    for (int i = 0; i < TRIES; i++) {
        unsigned char dice[RANDOM_CHARS];
        char name[RANDOM_CHARS + 1] = "";
        if (getrandom(dice, sizeof dice, 0) != (ssize_t)sizeof dice) {
            err_sys(err, "random bytes");
            return NULL;
        }
        for (size_t c = 0; c < sizeof dice; c++)
            name[c] = chars[dice[c] % (sizeof chars - 1)];
        AUTO_FREE char *path = mem_printf("%s/%s_%s", parent, prefix, name);
        if (mkdir(path, 0700) == 0)
            return TAKE(path);
        if (errno != EEXIST) {
            err_sys(err, "directory %s", path);
            return NULL;
        }
    }
    err_set(err, ERR_SYSTEM, "no free name for a directory in %s", parent);
    return NULL;
}

static int make_base(struct stream_files *files, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    AUTO_FREE char *cwd = NULL;
    if (files->temporary) {
        files->base = make_unique(tmp && file_is_dir(tmp) ? tmp : "/tmp", "torchelastic", err);
        if (!files->base)
            return -1;
    } else if (file_mkdirs(files->log_dir, 0777, err) != 0) {
        return err_in(err, "--log-dir");
    }
    const char *base = files->temporary ? files->base : files->log_dir;
    if (base[0] == '/') {
        if (!files->temporary)
            files->base = mem_strdup(base);
        return 0;
    }
    cwd = realpath(base, NULL);
    if (!cwd)
        return err_sys(err, "--log-dir %s", base);
    free(files->base);
    files->base = TAKE(cwd);
    return 0;
}

static int make_run(struct stream_files *files, struct err *err)
{
    if (!files->base && make_base(files, err) != 0)
        return -1;
    AUTO_FREE char *name = mem_strndup(files->run_id, strnlen(files->run_id, NAME_KEPT));
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash, '/'))
        *slash = '_';
    files->run = make_unique(files->base, name, err);
    return files->run ? 0 : -1;
}

/* Removes what is empty of the present attempt. */
static void prune(struct stream_files *files)
{
    if (!files->temporary || !files->attempt)
        return;
    for (uint32_t i = 0; i < files->ranks; i++) {
        AUTO_FREE char *dir = mem_printf("%s/%u", files->attempt, i);
        (void)rmdir(dir); /* one that holds something stays */
    }
    (void)rmdir(files->attempt);
}

void stream_files_fini(struct stream_files *files)
{
    prune(files);
    if (files->temporary && files->run)
        (void)rmdir(files->run);
    if (files->temporary && files->base)
        (void)rmdir(files->base);
    free(files->base);
    free(files->run);
    free(files->attempt);
}

int stream_files_attempt(struct stream_files *files, uint32_t number, struct err *err)
{
    if (files->none || (files->attempt && files->number == number))
        return 0;
    if (!files->run && make_run(files, err) != 0)
        return -1;
    AUTO_FREE char *dir = mem_printf("%s/attempt_%u", files->run, number);
    if (file_mkdirs(dir, 0777, err) != 0)
        return -1;
    prune(files);
    free(files->attempt);
    files->attempt = TAKE(dir);
    files->number = number;
    return 0;
}

char *stream_files_path(const struct stream_files *files, uint32_t local_rank, const char *name)
{
    return mem_printf("%s/%u/%s", files->attempt, local_rank, name);
}

int stream_files_rank(struct stream_files *files, uint32_t local_rank, struct err *err)
{
    if (files->none)
        return 0;
    AUTO_FREE char *dir = mem_printf("%s/%u", files->attempt, local_rank);
    AUTO_FREE char *error = stream_files_path(files, local_rank, "error.json");
    if (file_mkdirs(dir, 0777, err) != 0)
        return -1;
    if (unlink(error) != 0 && errno != ENOENT)
        return err_sys(err, "%s", error);
    return 0;
}

int stream_files_open(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    return fd >= 0 ? fd : err_sys(err, "%s", path);
}

int stream_files_open_common(const struct stream_files *files, const char *name, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", files->attempt, name);
    return stream_files_open(path, err);
}
