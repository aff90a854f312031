/* The live state as text: what a replay has to come to. Times and texts that only say how something
 * was reached are left out (how far logs reach, words of reasons), and so is what a restart of the
 * server makes anew. */
#include "answer/state_text.h"

#include "base/buf.h"
#include "base/mem.h"
#include "ctl/contents.h"
#include "live/row_json.h"
#include "sched/cluster.h"
#include "sched/nodes.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define STATE_MAX ((size_t)1 << 30)

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void put_task(const struct live_job *job, uint32_t flat, struct arena *arena,
                     struct buf *out)
{
    const struct live_task *t = &job->tasks[flat];
    const char *notes = row_json_of_task(arena, t), *place = row_json_of_place(arena, t);
    buf_addf(out, "task %u %s attempt=%u/%s node=%s seq=%u taken=%d pid=%u placed=%llu", flat,
             task_state_word(t->state), t->attempt,
             t->attempt_state ? attempt_state_word(t->attempt_state) : "none",
             t->place.node ? t->place.node : "", t->seq, t->taken, t->pid,
             (unsigned long long)t->placed_ms);
    buf_addf(out, " started=%llu %s %s\n", (unsigned long long)t->started_ms, notes ? notes : "{}",
             place ? place : "{}");
}

static int by_node(const void *a, const void *b)
{
    return strcmp(((const struct live_agent *)a)->node, ((const struct live_agent *)b)->node);
}

static void put_agents(const struct live_job *job, struct arena *arena, struct buf *out)
{
    struct live_agent *at = ARENA_ARRAY(arena, job->agents.n, struct live_agent);
    if (job->agents.n == 0)
        return;
    memcpy(at, job->agents.at, job->agents.n * sizeof *at);
    qsort(at, job->agents.n, sizeof *at, by_node);
    for (size_t i = 0; i < job->agents.n; i++)
        buf_addf(out, "agent %s %s launch=%u seq=%llu\n", at[i].node, agent_state_word(at[i].state),
                 at[i].launch_seq, (unsigned long long)at[i].last_seq);
}

static void put_job(const struct live_job *job, struct arena *arena, struct buf *out)
{
    const struct job_row *row = &job->row;
    const char *notes = row_json_of_job(arena, &job->notes);
    buf_addf(out, "job %llu id=%llx %s owner=%s queue=%s priority=%u tasks=%u",
             (unsigned long long)row->number, (unsigned long long)row->id,
             job_state_word(row->state), row->owner, row->queue, row->priority, row->tasks);
    buf_addf(out, " outcome=%d generation=%u restarts=%u submitted=%llu started=%llu after=%llu",
             (int)row->outcome, row->generation, row->restarts,
             (unsigned long long)row->submitted_ms, (unsigned long long)row->started_ms,
             (unsigned long long)row->not_before_ms);
    buf_addf(out, " board=%u %s\n", job->on_board, notes ? notes : "{}");
    for (uint32_t flat = 0; job->tasks && flat < row->tasks; flat++)
        put_task(job, flat, arena, out);
    put_agents(job, arena, out);
}

static void put_jobs(const struct contents *core, struct arena *arena, struct buf *out)
{
    struct live_job *job;
    size_t cursor = 0, n = 0, all = live_count(core->live);
    uint64_t *ids = ARENA_ARRAY(arena, all, uint64_t);
    while (n < all && live_next(core->live, &cursor, &job))
        ids[n++] = job->row.id;
    if (n)
        qsort(ids, n, sizeof *ids, by_id);
    for (size_t i = 0; i < n; i++)
        put_job(live_find(core->live, ids[i]), arena, out);
}

static void put_nodes(const struct contents *core, struct buf *out)
{
    for (uint32_t i = 0; i < cluster_count(core->cluster); i++) {
        const struct node_view node = cluster_node(core->cluster, i);
        const struct ports *ports = cluster_ports(core->cluster, i);
        buf_addf(out, "node %s up=%d drained=%d cpu=%llu memory=%llu disk=%llu gpu=%llu tasks=%u",
                 node.spec->name, node.up, node.drained, (unsigned long long)node.cpu_used,
                 (unsigned long long)node.memory_used, (unsigned long long)node.disk_used,
                 (unsigned long long)node.gpu_used_milli, node.tasks);
        buf_addf(out, " port=%u\n", ports ? ports_next(ports) : 0);
    }
}

/* What users had, what is declared and drained, what shapes are known: rows by name. */
static void put_objects(const struct contents *core, const char *kind, struct arena *arena,
                        struct buf *out)
{
    struct object_row *rows;
    size_t n = 0;
    if (store_objects(core->store, arena, &(struct object_row){ .kind = kind }, &rows, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s %s %s %s\n", kind, rows[i].project, rows[i].name, rows[i].spec);
}

void answer_state_text(struct ctl *ctl, struct buf *out)
{
    const struct contents core = ctl_contents(ctl);
    static const char *const kinds[] = { "usage", "mix", "node", "quota" };
    struct arena *arena = arena_create();
    buf_addf(out, "last job=%llx event=%llu\n", (unsigned long long)core.last_id,
             (unsigned long long)store_last_event(core.store));
    put_jobs(&core, arena, out);
    put_nodes(&core, out);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        put_objects(&core, kinds[i], arena, out);
    arena_destroy(arena);
}

const char *answer_state_hash(struct ctl *ctl, char out[STATE_HASH_TEXT])
{
    unsigned char raw[16];
    AUTO_BUF struct buf text = BUF_INIT(STATE_MAX);
    answer_state_text(ctl, &text);
    crypto_generichash(raw, sizeof raw, (const unsigned char *)buf_str(&text), text.len, NULL, 0);
    return sodium_bin2hex(out, STATE_HASH_TEXT, raw, sizeof raw);
}
