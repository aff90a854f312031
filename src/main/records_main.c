/* The records of a state directory, without its server: what jobs left beside them is looked at
 * here, the database in store/. */
#include "main/records_main.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "cli/state_dir.h"
#include "engine/local/local.h"
#include "job/ids.h"
#include "ship/backup_file.h"
#include "ship/gather.h"
#include "store/backup.h"
#include "store/recover.h"
#include "text/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what jobs left ---- */

struct traces {
    VEC(uint64_t) numbers;
};

static void add_numbers(struct traces *t, const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    uint64_t number;
    while (d && (entry = readdir(d)))
        if (scan_u64(entry->d_name, 1, UINT64_MAX, &number))
            vec_push(&t->numbers, number);
    if (d)
        closedir(d);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Of running jobs in the state directory, of other accounts' beside it. */
static void find_traces(struct arena *a, const char *state_dir, struct traces *t)
{
    add_numbers(t, arena_printf(a, "%s/runs", state_dir));
    add_numbers(t, arena_printf(a, "%s.users/jobs", state_dir));
    if (t->numbers.n)
        qsort(t->numbers.at, t->numbers.n, sizeof *t->numbers.at, ascending);
}

static struct text_node *list_traces(struct arena *a, const struct cli_records *ask)
{
    struct traces traces = { .numbers.n = 0 };
    struct text_node *list = text_list(a, NULL, NULL);
    find_traces(a, ask->state_dir, &traces);
    for (size_t i = 0; i < traces.numbers.n; i++)
        text_int(a, list, NULL, (int64_t)traces.numbers.at[i]);
    vec_fini(&traces.numbers);
    return list;
}

static void read_traces(const struct text_node *list, struct traces *t)
{
    for (const struct text_node *one = list->first; one; one = one->next)
        vec_push(&t->numbers, (uint64_t)one->integer);
}

/* What of that job runs on this machine: RUNS/NUMBER/gGENERATION/NODE. */
static void put_living(struct arena *a, struct text_node *list, const char *dir, uint64_t number,
                       unsigned levels)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    uint32_t pid;
    while (d && (entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        const char *path = arena_printf(a, "%s/%s", dir, entry->d_name);
        if (levels > 1) {
            put_living(a, list, path, number, levels - 1);
        } else if (local_lives(path, &pid)) {
            struct text_node *one = text_map(a, list, NULL);
            text_int(a, one, "number", (int64_t)number);
            text_str(a, one, "node", entry->d_name);
            text_int(a, one, "pid", pid);
            text_str(a, one, "dir", path);
        }
    }
    if (d)
        closedir(d);
}

/* ---- recover ---- */

static const char *records_path(struct arena *a, const struct cli_records *ask)
{
    return arena_printf(a, "%s/muster.db", ask->state_dir);
}

static void put_range(struct arena *a, struct text_node *root, const char *key, uint64_t has,
                      uint64_t last)
{
    if (last <= has)
        return;
    struct text_node *range = text_map(a, root, key);
    text_int(a, range, "from", (int64_t)has + 1);
    text_int(a, range, "to", (int64_t)last);
}

/* The records at path with what jobs left here. */
static int look_at(struct arena *a, const struct cli_records *ask, struct recover_ask of,
                   int (*what)(const struct recover_ask *, struct arena *, struct recovery_report *,
                               struct err *),
                   struct recovery_report *out, struct err *err)
{
    struct traces traces = { .numbers.n = 0 };
    if (ask->traces)
        read_traces(ask->traces, &traces);
    else
        find_traces(a, ask->state_dir, &traces);
    of.numbers = traces.numbers.at;
    of.n_numbers = traces.numbers.n;
    int rc = what(&of, a, out, err);
    vec_fini(&traces.numbers);
    return rc;
}

static void put_running(struct arena *a, const struct cli_records *ask,
                        const struct recovery_report *r, struct text_node *root)
{
    struct text_node *running = text_list(a, root, "running");
    for (size_t i = 0; i < r->n_unknown; i++)
        put_living(
            a, running,
            arena_printf(a, "%s/runs/%llu", ask->state_dir, (unsigned long long)r->unknown[i]),
            r->unknown[i], 2);
}

/* Each job that was there, by what is known of it. */
static void put_missing(struct arena *a, const struct recovery_report *r, struct text_node *root)
{
    struct text_node *list = text_list(a, root, "missing_jobs");
    for (size_t i = 0; i < r->missing.n; i++) {
        const struct missing_job *job = &r->missing.at[i];
        struct text_node *one = text_map(a, list, NULL);
        char id[JOB_ID_TEXT];
        if (job->number)
            text_int(a, one, "number", (int64_t)job->number);
        if (job->id)
            text_str(a, one, "id", job_id_format(id, job->id));
        if (job->name)
            text_str(a, one, "name", job->name);
        if (job->owner)
            text_str(a, one, "owner", job->owner);
    }
    if (r->missing.more)
        text_int(a, root, "more_missing", (int64_t)r->missing.more);
}

static void put_recovered(struct arena *a, const struct cli_records *ask,
                          const struct recovery_report *r, struct text_node *root)
{
    const struct recovery_report out = *r;
    text_int(a, root, "jobs", (int64_t)out.jobs);
    text_int(a, root, "events_to", (int64_t)out.event);
    struct text_node *missing = text_map(a, root, "missing");
    put_range(a, missing, "jobs", out.number, out.last_number);
    put_range(a, missing, "events", out.event, out.last_event);
    if (out.missing.n)
        put_missing(a, &out, root);
    text_int(a, root, "next_number", (int64_t)out.next_number);
    put_running(a, ask, &out, root);
    if (out.kept)
        text_str(a, root, "kept", out.kept);
}

/* from: a copy that takes the place of the records; NULL: they are mended. */
static struct text_node *mend(struct arena *a, const struct cli_records *ask, const char *from,
                              struct err *err)
{
    struct recovery_report out;
    const struct recover_ask of = { .path = records_path(a, ask),
                                    .dry_run = ask->dry_run,
                                    .from = from };
    int rc = look_at(a, ask, of, store_recover, &out, err);
    if (rc < 0)
        return NULL;
    struct text_node *root = text_map(a, NULL, NULL);
    text_str(a, root, "records", of.path);
    if (from) {
        put_recovered(a, ask, &out, root);
        return root;
    }
    text_bool(a, root, "damaged", out.damaged);
    if (!out.damaged)
        return root;
    text_str(a, root, "why", out.why);
    text_bool(a, root, "row_by_row", out.row_by_row);
    text_bool(a, root, "indexes", out.indexes);
    text_int(a, root, "failed", (int64_t)out.unreadable);
    text_int(a, root, "orphans", (int64_t)out.orphans);
    put_recovered(a, ask, &out, root);
    return root;
}

/* ---- backups ---- */

static struct text_node *look(struct arena *a, const struct cli_records *ask, struct err *err)
{
    const struct text_node *manifest = backup_file_read(a, ask->file, NULL, err);
    return manifest ? text_copy(a, NULL, NULL, manifest) : NULL;
}

/* What sealed the records: the same key, when this machine has it. A key of other records goes to
 * those that were replaced, so that a start asks for the right one. */
static int place_key(struct arena *a, const struct cli_records *ask, const char *key,
                     struct text_node *root, struct err *err)
{
    const char *named = arena_printf(a, "%s/" STATE_DIR_KEY_PATH, ask->state_dir);
    const char *own = arena_printf(a, "%s/identity.key", ask->state_dir);
    const struct text_node *kept = text_get(root, "kept");
    bool here = *key && access(key, R_OK) == 0;
    text_str(a, root, "seal_key", key);
    text_bool(a, root, "seal_key_here", here);
    if (ask->dry_run || strcmp(key, own) == 0)
        return 0;
    for (size_t i = 0; kept && i < 2; i++) {
        const char *from = i ? own : named;
        const char *to = arena_printf(a, "%s%s", kept->str, strrchr(from, '/'));
        if (rename(from, to) != 0 && errno != ENOENT)
            return err_sys(err, "%s", to);
    }
    const char *line = arena_printf(a, "%s\n", key);
    return here ? file_replace(named, line, strlen(line), 0600, err) : 0;
}

static int move_archives(struct arena *a, const char *from, const char *to, struct err *err)
{
    const struct dirent *entry;
    int rc = file_mkdirs(to, 0700, err);
    DIR *d = rc == 0 ? opendir(from) : NULL;
    while (rc == 0 && d && (entry = readdir(d)))
        if (entry->d_name[0] != '.' && rename(arena_printf(a, "%s/%s", from, entry->d_name),
                                              arena_printf(a, "%s/%s", to, entry->d_name)) != 0)
            rc = err_sys(err, "%s/%s", to, entry->d_name);
    if (d)
        closedir(d);
    return rc;
}

static struct text_node *restore_from(struct arena *a, const struct cli_records *ask,
                                      const char *dir, struct err *err)
{
    struct store_reach reach;
    const char *db = arena_printf(a, "%s/" BACKUP_RECORDS, dir);
    if (file_mkdirs(arena_printf(a, "%s/" BACKUP_ARCHIVES, dir), 0700, err) < 0)
        return NULL;
    const struct gather_ask chain = { .from = ask->file,
                                      .endpoint = ask->endpoint,
                                      .region = ask->region,
                                      .dir = dir,
                                      .segments = ask->segments };
    const struct text_node *manifest = gather_is_chain(ask->file)
                                           ? gather_chain(a, &chain, err)
                                           : backup_file_read(a, ask->file, dir, err);
    if (!manifest || store_look_at_copy(db, &reach, err) < 0)
        return NULL;
    if (!ask->dry_run &&
        move_archives(a, arena_printf(a, "%s/" BACKUP_ARCHIVES, dir),
                      arena_printf(a, "%s/" BACKUP_ARCHIVES, ask->state_dir), err) < 0)
        return NULL;
    struct text_node *root = mend(a, ask, db, err);
    const struct text_node *key = text_get(manifest, "seal_key");
    if (!root || place_key(a, ask, key && key->kind == TEXT_STR ? key->str : "", root, err) < 0)
        return NULL;
    text_copy(a, root, "backup", manifest);
    return root;
}

/* Its files are written beside the records and moved when all of them are as they should be. */
static struct text_node *restore(struct arena *a, const struct cli_records *ask, struct err *err)
{
    const char *dir = arena_printf(a, "%s/restore.tmp", ask->state_dir);
    bool was_there = access(ask->state_dir, F_OK) == 0;
    if (file_mkdirs(ask->state_dir, 0700, err) < 0 ||
        store_check_unused(records_path(a, ask), err) < 0)
        return NULL;
    if (!ask->replace && !ask->dry_run && access(records_path(a, ask), F_OK) == 0) {
        err_set(err, ERR_CONFLICT, "there are records in %s", ask->state_dir);
        err_hint(err, "--force puts the backup in their place, and keeps them beside it; or name "
                      "another directory with --state-dir");
        return NULL;
    }
    if (ask->segments && !gather_is_chain(ask->file)) {
        err_set(err, ERR_INPUT, "%s has no segments", ask->file);
        err_hint(err, "--segments is for the directory of a continuous backup");
        return NULL;
    }
    if (file_remove_tree(dir, err) < 0 || file_mkdirs(dir, 0700, err) < 0)
        return NULL;
    struct text_node *root = restore_from(a, ask, dir, err);
    file_remove_tree(dir, NULL);
    if (!was_there)
        (void)rmdir(ask->state_dir); /* goes unless the records are in it */
    return root;
}

static struct text_node *check(struct arena *a, const struct cli_records *ask, const char *path,
                               struct err *err)
{
    struct recovery_report out;
    if (look_at(a, ask, (struct recover_ask){ .path = path, .backup_copy = ask->file }, store_check,
                &out, err) < 0)
        return NULL;
    struct text_node *root = text_map(a, NULL, NULL);
    if (!ask->file)
        text_str(a, root, "records", path);
    text_bool(a, root, "damaged", out.damaged);
    if (out.damaged)
        text_str(a, root, "why", out.why);
    text_int(a, root, "jobs", (int64_t)out.jobs);
    text_int(a, root, "events_to", (int64_t)out.event);
    text_int(a, root, "orphans", (int64_t)out.orphans);
    text_int(a, root, "unreadable", (int64_t)out.unreadable);
    put_running(a, ask, &out, root);
    return root;
}

/* What a running server gave as a backup: the file is taken apart beside itself. */
static struct text_node *check_backup(struct arena *a, const struct cli_records *ask,
                                      struct err *err)
{
    struct text_node *root = NULL;
    const struct text_node *of = NULL;
    const char *dir = arena_printf(a, "%s.d", ask->file);
    if (file_mkdirs(arena_printf(a, "%s/" BACKUP_ARCHIVES, dir), 0700, err) == 0)
        of = backup_file_read(a, ask->file, dir, err);
    if (of)
        root = check(a, ask, arena_printf(a, "%s/" BACKUP_RECORDS, dir), err);
    file_remove_tree(dir, NULL);
    if (root && (of = text_get(of, "state_dir")) && of->kind == TEXT_STR)
        text_str(a, root, "records", arena_printf(a, "%s/muster.db", of->str));
    return root;
}

struct text_node *records_main(struct arena *a, const struct cli_records *ask, struct err *err)
{
    struct stat st;
    switch (ask->what) {
    case RECORDS_LOOK: return look(a, ask, err);
    case RECORDS_TRACES: return list_traces(a, ask);
    case RECORDS_RESTORE: return restore(a, ask, err);
    case RECORDS_CHECK:
        if (ask->file)
            return check_backup(a, ask, err);
        break;
    case RECORDS_RECOVER: break;
    }
    if (stat(ask->state_dir, &st) != 0) {
        err_sys(err, "%s", ask->state_dir);
        err_hint(err, "--state-dir says where the records are");
        return NULL;
    }
    return ask->what == RECORDS_CHECK ? check(a, ask, records_path(a, ask), err)
                                      : mend(a, ask, NULL, err);
}
