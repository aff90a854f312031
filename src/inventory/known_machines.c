/* Rows of machines. A kind with a point: recordings and copies of the records have none of them,
 * because what a machine is to the core comes by the engine's facts. */
#include "inventory/known_machines.h"

#include "account/audit.h"
#include "live/row_json.h"
#include "sched/cluster.h"
#include "store/store.h"
#include "text/json.h"

#include "base/mem.h"

#include <sodium.h>
#include <string.h>

#define KIND          "machine.host"
#define NAME_MOST     63u
#define ADDRESS_MOST  255u
#define MACHINES_MOST 256u

struct known_machines {
    struct known_machines_config config;
};

struct known_machines *known_machines_create(const struct known_machines_config *config)
{
    struct known_machines *m = mem_new(sizeof *m);
    m->config = *config;
    return m;
}

void known_machines_destroy(struct known_machines *m)
{
    free(m);
}

/* false: the row cannot be read. */
static bool read_row(struct arena *arena, const struct object_row *row, struct machine *out)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *map = json_parse(arena, row->spec, strlen(row->spec), 0, &report);
    const struct text_node *labels = text_get(map, "labels"), *at = text_get(map, "at");
    const char *hash = text_word(map, "token");
    size_t len = 0;
    *out = (struct machine){ .name = row->name,
                             .address = text_word(map, "address"),
                             .by = text_word(map, "by"),
                             .at_ms = at && at->kind == TEXT_INT ? (uint64_t)at->integer : 0 };
    for (const struct text_node *n = labels ? labels->first : NULL; n; n = n->next)
        pairs_set(&out->labels, arena, n->key, n->str ? n->str : "");
    return sodium_hex2bin(out->token_hash, sizeof out->token_hash, hash, strlen(hash), NULL, &len,
                          NULL) == 0 &&
           len == sizeof out->token_hash;
}

int known_machines_list(const struct known_machines *m, struct arena *arena,
                        struct machine_list *list, struct err *err)
{
    struct object_row *rows;
    size_t n = 0;
    *list = (struct machine_list){ .n = 0 };
    if (store_objects(m->config.store, arena, &(struct object_row){ .kind = KIND }, &rows, &n, err))
        return -1;
    list->at = ARENA_ARRAY(arena, n, struct machine);
    for (size_t i = 0; i < n; i++)
        list->n += read_row(arena, &rows[i], &list->at[list->n]);
    return 0;
}

int known_machine_find(const struct known_machines *m, struct arena *arena, const char *name,
                       struct machine *out, struct err *err)
{
    struct object_row row = { .kind = KIND, .project = "", .name = name };
    int found = store_get_object(m->config.store, arena, &row, err);
    return found == 1 ? read_row(arena, &row, out) : found;
}

/* ---- adding ---- */

static bool good_name(const char *name)
{
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MOST && strspn(name, rest) == len && !strchr("-_.", name[0]);
}

static int check(const struct known_machines *m, struct arena *arena, const struct machine *one,
                 struct err *err)
{
    uint32_t at = cluster_find(m->config.cluster, one->name);
    struct machine_list all;
    if (!good_name(one->name)) {
        err_set(err, ERR_INPUT, "\"%.80s\" is no name of a machine", one->name);
        return err_hint(err, "letters, digits, - _ and ., at most %u", NAME_MOST);
    }
    if (strlen(one->address) > ADDRESS_MOST)
        return err_set(err, ERR_INPUT, "the address has more than %u bytes", ADDRESS_MOST);
    if (at != UINT32_MAX && !cluster_node(m->config.cluster, at).spec->machine) {
        err_set(err, ERR_CONFLICT, "%s is a node of the server's own machine", one->name);
        return err_hint(err, "give the machine another name");
    }
    if (known_machines_list(m, arena, &all, err))
        return -1;
    return all.n < MACHINES_MOST
               ? 0
               : err_set(err, ERR_TOO_LARGE, "there are %u machines, and no room for more",
                         MACHINES_MOST);
}

static void put(struct known_machines *m, struct arena *arena, const struct machine *one)
{
    char hash[65];
    struct text_node *map = text_map(arena, NULL, NULL);
    text_str(arena, map, "address", one->address);
    text_pairs(arena, text_map(arena, map, "labels"), &one->labels);
    text_str(arena, map, "by", one->by);
    text_int(arena, map, "at", (int64_t)one->at_ms);
    text_str(arena, map, "token",
             sodium_bin2hex(hash, sizeof hash, one->token_hash, sizeof one->token_hash));
    const struct object_row row = {
        .kind = KIND, .project = "", .name = one->name, .spec = row_json_print(arena, map)
    };
    store_put_object(m->config.store, &row, NULL);
    audit_add(m->config.accounts,
              &(struct audit_entry){ .action = "machine.add", .object = one->name });
}

int known_machine_add(struct known_machines *m, const struct machine *one, struct err *err)
{
    struct arena *arena = arena_create();
    int rc = check(m, arena, one, err);
    if (rc == 0)
        put(m, arena, one);
    arena_destroy(arena);
    return rc;
}

/* ---- what happens to one ---- */

static int is_there(const struct known_machines *m, struct arena *arena, const char *name,
                    struct err *err)
{
    struct machine machine;
    int found = known_machine_find(m, arena, name, &machine, err);
    if (found == 0)
        err_set(err, ERR_NOT_FOUND, "no machine \"%.100s\"", name);
    return found == 1 ? 0 : -1;
}

static uint32_t tasks_on(const struct known_machines *m, const char *name)
{
    uint32_t at = cluster_find(m->config.cluster, name);
    return at == UINT32_MAX ? 0 : cluster_node(m->config.cluster, at).tasks;
}

#define NAMED_JOBS 8u

/* "12 ddp, 14 eval" */
static const char *jobs_on(const struct known_machines *m, struct arena *arena, const char *name)
{
    const char *text = "";
    uint32_t n = 0;
    for (size_t i = 0; i < live_active(m->config.live) && n <= NAMED_JOBS; i++) {
        const struct live_job *job = live_active_at(m->config.live, i);
        if (!live_agent(job, name))
            continue;
        n++;
        text = n > NAMED_JOBS ? arena_printf(arena, "%s and others", text)
                              : arena_printf(arena, "%s%s%llu %.60s", text, n > 1 ? ", " : "",
                                             (unsigned long long)job->row.number, job->row.name);
    }
    return text;
}

static int is_free(const struct known_machines *m, struct arena *arena, const char *name,
                   struct err *err)
{
    uint32_t tasks = tasks_on(m, name);
    if (!tasks)
        return 0;
    err_set(err, ERR_CONFLICT, "%u task%s on %s (%s)", tasks, tasks == 1 ? " is" : "s are", name,
            jobs_on(m, arena, name));
    return err_hint(
        err, "drain it and wait for them, or give them up with --force (over HTTP ?force=1)");
}

int known_machine_remove(struct known_machines *m, const char *name, bool force, struct err *err)
{
    const struct object_row row = { .kind = KIND, .project = "", .name = name };
    struct arena *arena = arena_create();
    int rc = is_there(m, arena, name, err);
    if (rc == 0 && !force)
        rc = is_free(m, arena, name, err);
    arena_destroy(arena);
    if (rc)
        return -1;
    store_delete_object(m->config.store, &row, NULL);
    audit_add(m->config.accounts,
              &(struct audit_entry){ .action = "machine.remove", .object = name });
    return 0;
}

int known_machine_fence(struct known_machines *m, const char *name, const char *reason,
                        struct err *err)
{
    struct arena *arena = arena_create();
    int rc = is_there(m, arena, name, err);
    if (rc == 0)
        audit_add(
            m->config.accounts,
            &(struct audit_entry){ .action = "machine.fence",
                                   .object = arena_printf(arena, "%s: %.200s", name, reason) });
    arena_destroy(arena);
    return rc;
}
