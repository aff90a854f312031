/* An archive has its SHA-256 as its name as soon as it is whole, so what a restarted server finds
 * is what its runs were started with: all nodes of a generation have the same code. Effects beside
 * archives: a marker in a directory of code, and a note of it, from the packing to the drop. */
#include "engine/machines/staging.h"

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/tar_tree.h"
#include "job/account.h"
#include "wire/host.h"

#include <dirent.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY_SIZE    40
#define HASH_DIGITS 64u

struct stage {
    struct staging *all;
    struct generation generation;
    char *folder, *part, *path; /* path NULL: it is being packed */
    char *marker;               /* NULL: there is none */
    void *packing;              /* of the packer; NULL: nothing is */
};

struct staging {
    struct machines_packer packer;
    struct staging_sink sink;
    struct string_map *stages; /* by key_of() */
    char *notes;               /* NULL: no markers are made */
};

static const char *key_of(char out[KEY_SIZE], struct generation g)
{
    snprintf(out, KEY_SIZE, "%llu.%u", (unsigned long long)g.job, g.number);
    return out;
}

static bool read_key(const char *text, struct generation *g)
{
    const char *dot = strchr(text, '.');
    char job[KEY_SIZE];
    uint64_t number;
    size_t len = dot ? (size_t)(dot - text) : 0;
    if (!len || len >= sizeof job)
        return false;
    memcpy(job, text, len);
    job[len] = '\0';
    if (!scan_u64(job, 0, UINT64_MAX, &g->job) || !scan_u64(dot + 1, 0, UINT32_MAX, &number))
        return false;
    g->number = (uint32_t)number;
    return true;
}

static struct stage *find(const struct staging *all, struct generation g)
{
    char key[KEY_SIZE];
    return string_map_get(all->stages, key_of(key, g));
}

static void free_stage(void *value)
{
    struct stage *stage = value;
    if (stage->packing) {
        stage->all->packer.drop(stage->packing);
        (void)unlink(stage->part);
    }
    free(stage->marker);
    free(stage->folder);
    free(stage->part);
    free(stage->path);
    free(stage);
}

struct staging *staging_create(struct machines_packer packer, const char *notes,
                               struct staging_sink sink)
{
    struct staging *all = mem_new(sizeof *all);
    all->packer = packer;
    all->sink = sink;
    all->notes = notes ? mem_strdup(notes) : NULL;
    all->stages = string_map_create();
    return all;
}

void staging_destroy(struct staging *all)
{
    if (!all)
        return;
    string_map_destroy_with(all->stages, free_stage);
    free(all->notes);
    free(all);
}

static struct stage *add(struct staging *all, struct generation g, const char *folder)
{
    char key[KEY_SIZE];
    struct stage *stage = mem_new(sizeof *stage);
    stage->all = all;
    stage->generation = g;
    stage->folder = mem_strdup(folder);
    string_map_set(all->stages, key_of(key, g), stage);
    return stage;
}

static void forget(struct stage *stage)
{
    char key[KEY_SIZE];
    string_map_remove(stage->all->stages, key_of(key, stage->generation));
    free_stage(stage);
}

/* ---- markers ---- */

/* A note for each marker that is there, in a folder of their own: a server that starts anew finds
 * those of jobs that are gone too. */
static char *note_of(const struct staging *all, struct generation g)
{
    char key[KEY_SIZE];
    return all->notes ? file_join(all->notes, key_of(key, g)) : NULL;
}

/* What was noted, also by an earlier server. */
static char *read_note(const struct staging *all, struct generation g)
{
    AUTO_FREE char *path = note_of(all, g);
    char *text = NULL;
    size_t len;
    return path && file_read(path, HOST_MARKER, &text, &len, NULL) == 0 ? text : NULL;
}

/* With the rights of the account, to whom the directory is. */
static int write_marker(const struct account *account, const char *file, const char *text)
{
    AS_FS_USER(account_files(account));
    return file_replace(file, text, strlen(text), 0644, NULL);
}

/* Noted before it is made, so that one that a killed server left is found. A directory that cannot
 * be written is copied. */
static void make_marker(struct stage *stage, const char *dir, const struct account *account)
{
    unsigned char raw[2][16];
    char name[33], text[33];
    AUTO_FREE char *path = note_of(stage->all, stage->generation);
    randombytes_buf(raw, sizeof raw);
    sodium_bin2hex(name, sizeof name, raw[0], sizeof raw[0]);
    sodium_bin2hex(text, sizeof text, raw[1], sizeof raw[1]);
    AUTO_FREE char *file = mem_printf("%s/" TAR_TREE_MARKER "%s", dir, name);
    AUTO_FREE char *marker = mem_printf("%s %s", text, file);
    if (!path || dir[0] != '/' || strlen(marker) > HOST_MARKER || strchr(dir, '\n') ||
        file_mkdirs(stage->all->notes, 0700, NULL) != 0 ||
        file_replace(path, marker, strlen(marker), 0600, NULL) != 0 ||
        write_marker(account, file, text) != 0)
        return;
    stage->marker = TAKE(marker);
}

static void remove_marker(const struct staging *all, struct generation g)
{
    AUTO_FREE char *path = note_of(all, g);
    AUTO_FREE char *marker = read_note(all, g);
    const char *space = marker ? strchr(marker, ' ') : NULL;
    if (space) /* its name is nobody else's, in whatever directory that is by now */
        (void)unlink(space + 1);
    if (path)
        (void)unlink(path);
}

const char *staging_marker(const struct staging *all, struct generation g)
{
    const struct stage *stage = find(all, g);
    return stage ? stage->marker : NULL;
}

void staging_sweep(struct staging *all, staging_lives_fn *lives, const void *arg)
{
    DIR *dir = all->notes ? opendir(all->notes) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct generation g;
        if (read_key(entry->d_name, &g) && !lives(arg, g))
            remove_marker(all, g);
    }
    if (dir)
        closedir(dir);
}

/* ---- packing ---- */

static void on_packed(void *arg, const struct packed_archive *packed, const struct err *problem)
{
    struct stage *stage = arg;
    struct staging *all = stage->all;
    struct generation g = stage->generation;
    struct err err;
    stage->packing = NULL;
    if (problem)
        err = *problem;
    else
        stage->path = file_join(stage->folder, packed->hash);
    bool failed =
        problem || (rename(stage->part, stage->path) != 0 && err_sys(&err, "%s", stage->path) != 0);
    if (!failed && packed->n_left > 0)
        log_warn("code.left_out",
                 "job=%llu generation=%u n=%llu first=\"%s\" note=\"links that lead out of the "
                 "directory, pipes and devices do not travel\"",
                 (unsigned long long)g.job, g.number, (unsigned long long)packed->n_left,
                 packed->left);
    if (failed) {
        (void)unlink(stage->part);
        remove_marker(all, g);
        forget(stage); /* the next launch tries again */
    }
    all->sink.done(all->sink.arg, g, failed ? &err : NULL);
}

const char *staging_find(struct staging *all, struct generation g, const char *folder)
{
    struct stage *stage = find(all, g);
    if (stage)
        return stage->path;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && !stage && (entry = readdir(dir));) {
        if (strlen(entry->d_name) != HASH_DIGITS)
            continue;
        stage = add(all, g, folder);
        stage->path = file_join(folder, entry->d_name);
        stage->marker = read_note(all, g);
    }
    if (dir)
        closedir(dir);
    return stage ? stage->path : NULL;
}

int staging_get(struct staging *all, struct generation g, const struct machines_pack *what,
                const char *folder, const char **path, struct err *err)
{
    struct stage *stage = find(all, g);
    *path = staging_find(all, g, folder);
    if (stage || *path)
        return *path ? 1 : 0;
    if (!all->packer.start)
        return err_set(err, ERR_CANNOT, "this server packs no code");
    if (file_mkdirs(folder, 0700, err) != 0)
        return -1;
    stage = add(all, g, folder);
    stage->part = file_join(folder, "part");
    remove_marker(all, g); /* of a server that was killed before it had packed */
    make_marker(stage, what->dir, what->account);
    (void)unlink(stage->part); /* of a server that was killed */
    struct machines_pack pack = *what;
    pack.file = stage->part;
    stage->packing = all->packer.start(all->packer.arg, &pack, on_packed, stage, err);
    if (stage->packing)
        return 0;
    remove_marker(all, g);
    forget(stage);
    return -1;
}

const char *staging_path(const struct staging *all, struct generation g)
{
    const struct stage *stage = find(all, g);
    return stage ? stage->path : NULL;
}

void staging_drop(struct staging *all, struct generation g)
{
    struct stage *stage = find(all, g);
    remove_marker(all, g); /* also one that was never looked for: its machine is none any more */
    if (!stage)
        return;
    if (stage->path)
        (void)unlink(stage->path);
    forget(stage);
}
