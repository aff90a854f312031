/* All files are looked at when room is to be made: there are as many as there were different
 * uploads. An archive is as old as the last submission that named it (its time of change). */
#include "api/kept_code.h"

#include "answer/archives.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "job/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DAY_S      (24 * 3600)
#define KEEP_S     (90 * DAY_S)
#define HASH_LEN   64
#define OWNER_LEN  16 /* digits of a hash of the name, which may have any characters */
#define FREE_SHARE 20 /* the disk is under pressure when less than 1/20 of it is free */

struct file {
    char *path, *kept; /* kept NULL: a part */
    uint64_t bytes;
    time_t used;
    bool mine;
};
struct files {
    VEC(struct file) all;
};

static const char *owner_dir(struct call *call, const char *folder)
{
    unsigned char raw[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof raw + 1];
    const char *name = call->owner ? call->owner : "";
    crypto_hash_sha256(raw, (const unsigned char *)name, strlen(name));
    sodium_bin2hex(hex, sizeof hex, raw, sizeof raw);
    return arena_printf(call->arena, "%s/%.*s", folder, OWNER_LEN, hex);
}

int kept_code_at(struct call *call, const char *hash, const char *part, struct kept_code *k,
                 struct err *err)
{
    *k = (struct kept_code){ .hash = hash };
    k->folder = arena_printf(call->arena, "%s/archives", call->api->config.state_dir);
    k->path = arena_printf(call->arena, "%s/%s", k->folder, hash);
    if (!part)
        return 0;
    k->owned = owner_dir(call, k->folder);
    k->owned_path = arena_printf(call->arena, "%s/%s", k->owned, hash);
    k->part = arena_printf(call->arena, "%s/.%s.%s", k->owned, hash, part);
    return file_mkdirs(k->owned, 0700, err);
}

bool kept_code_is_there(const struct kept_code *k)
{
    struct stat st;
    return lstat(k->path, &st) == 0 && S_ISREG(st.st_mode);
}

int kept_code_take(const struct kept_code *k, struct err *err)
{
    if (kept_code_is_there(k)) /* somebody else was faster */
        return unlink(k->part) == 0 || errno == ENOENT ? 0 : err_sys(err, "%s", k->part);
    if (file_remove_tree(k->path, err) != 0) /* of an older version */
        return -1;
    if (chmod(k->part, 0400) != 0 || rename(k->part, k->owned_path) != 0 ||
        (link(k->owned_path, k->path) != 0 && errno != EEXIST))
        return err_sys(err, "%s", k->path);
    return 0;
}

/* ---- room ---- */

static void drop(struct file *f)
{
    struct stat owned, kept;
    if (f->kept && lstat(f->path, &owned) == 0 && lstat(f->kept, &kept) == 0 &&
        owned.st_ino == kept.st_ino)
        (void)unlink(f->kept);
    (void)unlink(f->path);
}

static void look_in(struct files *files, const char *folder, const char *owned, bool mine)
{
    struct stat st;
    DIR *dir = opendir(owned);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        AUTO_FREE char *path = mem_printf("%s/%s", owned, entry->d_name);
        if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        bool part = entry->d_name[0] == '.';
        struct file *f = vec_add(&files->all);
        *f = (struct file){ .path = TAKE(path),
                            .kept = part ? NULL : mem_printf("%s/%s", folder, entry->d_name),
                            .bytes = (uint64_t)st.st_size,
                            .used = st.st_mtime,
                            .mine = mine };
        if (!part && st.st_nlink == 1)
            f->used = 0; /* it was found changed: nothing is left but this */
    }
    if (dir)
        closedir(dir);
}

static int by_use(const void *a, const void *b)
{
    const struct file *one = a, *other = b;
    return (one->used > other->used) - (one->used < other->used);
}

static void look_around(const struct kept_code *k, struct files *files)
{
    DIR *dir = opendir(k->folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        AUTO_FREE char *path = mem_printf("%s/%s", k->folder, entry->d_name);
        if (strlen(entry->d_name) == OWNER_LEN)
            look_in(files, k->folder, path, strcmp(path, k->owned) == 0);
    }
    if (dir)
        closedir(dir);
    if (files->all.n > 1)
        qsort(files->all.at, files->all.n, sizeof *files->all.at, by_use);
}

static bool is_pressed(const char *folder, uint64_t more)
{
    struct statvfs v;
    if (statvfs(folder, &v) != 0)
        return false;
    uint64_t left = (uint64_t)v.f_bavail * v.f_frsize, all = (uint64_t)v.f_blocks * v.f_frsize;
    return left < more || left - more < all / FREE_SHARE;
}

static bool is_needed(struct call *call, const struct file *f)
{
    char archive[sizeof CODE_ARCHIVE + HASH_LEN];
    snprintf(archive, sizeof archive, CODE_ARCHIVE "%s", strrchr(f->path, '/') + 1);
    return f->kept && answer_needs_archive(call->api->config.ctl, archive);
}

int kept_code_make_room(struct call *call, const struct kept_code *k, uint64_t more,
                        struct err *err)
{
    struct files files = { .all = { .at = NULL } };
    const uint64_t quota = call->api->config.store_quota;
    const time_t now = (time_t)(clock_wall_ms() / 1000);
    uint64_t mine = 0;
    look_around(k, &files);
    for (size_t i = 0; i < files.all.n; i++)
        mine += files.all.at[i].mine ? files.all.at[i].bytes : 0;
    for (size_t i = 0; i < files.all.n; i++) {
        struct file *f = &files.all.at[i];
        time_t age = now - f->used;
        bool wanted = (f->mine && mine + more > quota) || is_pressed(k->folder, more);
        if (age > (f->kept && !wanted ? KEEP_S : DAY_S) && !is_needed(call, f)) {
            drop(f);
            mine -= f->mine ? f->bytes : 0;
        }
        free(f->path);
        free(f->kept);
    }
    vec_fini(&files.all);
    if (mine + more <= quota)
        return 0;
    err_set(err, ERR_FULL, "the code that you sent has %llu MiB already, and store_quota is %llu",
            (unsigned long long)(mine >> 20), (unsigned long long)(quota >> 20));
    return err_hint(err, "what no live job names makes room after a day; an admin can raise the "
                         "setting store_quota");
}
