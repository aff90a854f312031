/* Rows of machines. A kind with a point: recordings and copies of the records have none of them,
 * because what a machine is to the core comes by the engine's facts. */
#include "ctl/machines.h"

#include "account/audit.h"
#include "ctl/core.h"
#include "ctl/nodes.h"
#include "live/row_json.h"
#include "sched/cluster.h"
#include "store/store.h"
#include "text/json.h"

#include <sodium.h>
#include <string.h>

#define KIND          "machine.host"
#define NAME_MOST     63u
#define ADDRESS_MOST  255u
#define MACHINES_MOST 256u

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

int ctl_machines(struct ctl *ctl, struct arena *arena, struct machine_list *list, struct err *err)
{
    struct object_row *rows;
    size_t n = 0;
    *list = (struct machine_list){ .n = 0 };
    if (store_objects(ctl->config.store, arena, &(struct object_row){ .kind = KIND }, &rows, &n,
                      err))
        return -1;
    list->at = ARENA_ARRAY(arena, n, struct machine);
    for (size_t i = 0; i < n; i++)
        list->n += read_row(arena, &rows[i], &list->at[list->n]);
    return 0;
}

int ctl_machine(struct ctl *ctl, struct arena *arena, const char *name, struct machine *out,
                struct err *err)
{
    struct object_row row = { .kind = KIND, .project = "", .name = name };
    int found = store_get_object(ctl->config.store, arena, &row, err);
    return found == 1 ? read_row(arena, &row, out) : found;
}

/* ---- commands ---- */

static bool good_name(const char *name)
{
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MOST && strspn(name, rest) == len && !strchr("-_.", name[0]);
}

static int check(struct ctl *ctl, struct arena *arena, const struct machine *m, struct err *err)
{
    uint32_t at = cluster_find(ctl->cluster, m->name);
    struct machine_list all;
    if (!good_name(m->name)) {
        err_set(err, ERR_INPUT, "\"%.80s\" is no name of a machine", m->name);
        return err_hint(err, "letters, digits, - _ and ., at most %u", NAME_MOST);
    }
    if (strlen(m->address) > ADDRESS_MOST)
        return err_set(err, ERR_INPUT, "the address has more than %u bytes", ADDRESS_MOST);
    if (at != UINT32_MAX && !cluster_node(ctl->cluster, at).spec->machine) {
        err_set(err, ERR_CONFLICT, "%s is a node of the server's own machine", m->name);
        return err_hint(err, "give the machine another name");
    }
    if (ctl_machines(ctl, arena, &all, err))
        return -1;
    return all.n < MACHINES_MOST
               ? 0
               : err_set(err, ERR_TOO_LARGE, "there are %u machines, and no room for more",
                         MACHINES_MOST);
}

void ctl_machine_put(struct ctl *ctl, const struct machine *m, ctl_done *done, void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    char hash[65];
    answer->writes = true;
    if (check(ctl, answer->arena, m, &answer->err))
        return;
    struct text_node *map = text_map(answer->arena, NULL, NULL);
    text_str(answer->arena, map, "address", m->address);
    text_pairs(answer->arena, text_map(answer->arena, map, "labels"), &m->labels);
    text_str(answer->arena, map, "by", m->by);
    text_int(answer->arena, map, "at", (int64_t)core_date(ctl));
    text_str(answer->arena, map, "token",
             sodium_bin2hex(hash, sizeof hash, m->token_hash, sizeof m->token_hash));
    const struct object_row row = {
        .kind = KIND, .project = "", .name = m->name, .spec = row_json_print(answer->arena, map)
    };
    store_put_object(ctl->config.store, &row, NULL);
    audit_add(ctl->accounts, &(struct audit_entry){ .action = "machine.add", .object = m->name });
}

static bool is_there(struct ctl *ctl, struct answer *answer, const char *name)
{
    struct machine machine;
    int found = ctl_machine(ctl, answer->arena, name, &machine, &answer->err);
    if (found == 1)
        return true;
    if (found == 0)
        err_set(&answer->err, ERR_NOT_FOUND, "no machine \"%.100s\"", name);
    return false;
}

static uint32_t tasks_on(const struct ctl *ctl, const char *name)
{
    uint32_t at = cluster_find(ctl->cluster, name);
    return at == UINT32_MAX ? 0 : cluster_node(ctl->cluster, at).tasks;
}

#define NAMED_JOBS 8u

/* "12 ddp, 14 eval" */
static const char *jobs_on(const struct ctl *ctl, struct arena *arena, const char *name)
{
    const char *text = "";
    uint32_t n = 0;
    for (size_t i = 0; i < live_active(ctl->live) && n <= NAMED_JOBS; i++) {
        const struct live_job *job = live_active_at(ctl->live, i);
        if (!live_agent(job, name))
            continue;
        n++;
        text = n > NAMED_JOBS ? arena_printf(arena, "%s and others", text)
                              : arena_printf(arena, "%s%s%llu %.60s", text, n > 1 ? ", " : "",
                                             (unsigned long long)job->row.number, job->row.name);
    }
    return text;
}

void ctl_machine_remove(struct ctl *ctl, const char *name, bool force, ctl_done *done, void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    answer->writes = true;
    if (!is_there(ctl, answer, name))
        return;
    uint32_t tasks = tasks_on(ctl, name);
    if (tasks && !force) {
        err_set(&answer->err, ERR_CONFLICT, "%u task%s on %s (%s)", tasks,
                tasks == 1 ? " is" : "s are", name, jobs_on(ctl, answer->arena, name));
        err_hint(&answer->err,
                 "drain it and wait for them, or give them up with --force (over HTTP ?force=1)");
        return;
    }
    const struct object_row row = { .kind = KIND, .project = "", .name = name };
    store_delete_object(ctl->config.store, &row, NULL);
    audit_add(ctl->accounts, &(struct audit_entry){ .action = "machine.remove", .object = name });
}

void ctl_machine_fence(struct ctl *ctl, const char *name, const char *reason, ctl_done *done,
                       void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    answer->writes = true;
    if (!is_there(ctl, answer, name))
        return;
    const char *object = arena_printf(answer->arena, "%s: %.200s", name, reason);
    audit_add(ctl->accounts, &(struct audit_entry){ .action = "machine.fence", .object = object });
}

void ctl_machine_note(struct ctl *ctl, const char *name, const char *note)
{
    nodes_note(ctl, name, note);
}
