/* The records of a state directory, without its server: what jobs left beside them is looked at
 * here, the database in store/. */
#include "main/records_main.h"

#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "engine/local/local.h"
#include "main/backup_file.h"
#include "store/recover.h"
#include "text/tree.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

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

static void put_range(struct arena *a, struct text_node *root, const char *key, uint64_t has,
                      uint64_t last)
{
    if (last <= has)
        return;
    struct text_node *range = text_map(a, root, key);
    text_int(a, range, "from", (int64_t)has + 1);
    text_int(a, range, "to", (int64_t)last);
}

static struct text_node *recover(struct arena *a, const struct cli_records *ask, struct err *err)
{
    struct traces traces = { .numbers.n = 0 };
    struct recovered out;
    find_traces(a, ask->state_dir, &traces);
    const struct recover_ask of = { .path = arena_printf(a, "%s/muster.db", ask->state_dir),
                                    .dry_run = ask->dry_run,
                                    .numbers = traces.numbers.at,
                                    .n_numbers = traces.numbers.n };
    int rc = store_recover(&of, a, &out, err);
    vec_fini(&traces.numbers);
    if (rc < 0)
        return NULL;
    struct text_node *root = text_map(a, NULL, NULL);
    text_str(a, root, "records", of.path);
    text_bool(a, root, "damaged", out.damaged);
    if (!out.damaged)
        return root;
    text_str(a, root, "why", out.why);
    text_int(a, root, "jobs", (int64_t)out.jobs);
    text_int(a, root, "events_to", (int64_t)out.event);
    text_bool(a, root, "row_by_row", out.row_by_row);
    struct text_node *missing = text_map(a, root, "missing");
    put_range(a, missing, "jobs", out.number, out.last_number);
    put_range(a, missing, "events", out.event, out.last_event);
    text_int(a, root, "failed", (int64_t)out.unreadable);
    text_int(a, root, "orphans", (int64_t)out.orphans);
    text_int(a, root, "next_number", (int64_t)out.next_number);
    struct text_node *running = text_list(a, root, "running");
    for (size_t i = 0; i < out.n_unknown; i++)
        put_living(
            a, running,
            arena_printf(a, "%s/runs/%llu", ask->state_dir, (unsigned long long)out.unknown[i]),
            out.unknown[i], 2);
    if (out.kept)
        text_str(a, root, "kept", out.kept);
    return root;
}

/* ---- backups ---- */

static struct text_node *look(struct arena *a, const struct cli_records *ask, struct err *err)
{
    const struct text_node *manifest = backup_file_read(a, ask->file, NULL, err);
    return manifest ? text_copy(a, NULL, NULL, manifest) : NULL;
}

struct text_node *records_main(struct arena *a, const struct cli_records *ask, struct err *err)
{
    struct stat st;
    if (ask->what == RECORDS_LOOK)
        return look(a, ask, err);
    if (stat(ask->state_dir, &st) != 0) {
        err_sys(err, "%s", ask->state_dir);
        err_hint(err, "--state-dir says where the records are");
        return NULL;
    }
    return recover(a, ask, err);
}
