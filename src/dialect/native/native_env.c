/* What a task learns about itself and its peers from its environment, in muster's words and in
 * those of PyTorch. */
#include "dialect/native/native_env.h"

#include "base/buf.h"
#include "dialect/place_cache.h"

#include <ctype.h>
#include <string.h>

enum {
    STRING_MAX = 96 * 1024, /* one string of an environment may have 128 KiB; /etc/hosts has all */
    PORT_BASE = 20000,      /* below the kernel's range for outgoing connections */
    PORT_SPAN = 10000,
};

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

struct placed_job { /* what the list of peers is made of */
    const struct job_spec *job;
    const struct job_place *place;
};

/* NULL: longer than a program can be given. */
static const void *make_peers(struct arena *arena, const void *arg)
{
    const struct placed_job *placed = arg;
    const struct job_place *place = placed->place;
    AUTO_BUF struct buf peers = BUF_INIT(STRING_MAX);
    for (uint32_t i = 0; i < place->n && !peers.overflow; i++) {
        const struct task_place *task = &place->tasks[i];
        buf_addf(&peers, "%s%s/%u=%s", i ? "," : "", placed->job->roles[task->role].name,
                 task->index, text_or_empty(task->address));
    }
    return peers.overflow ? NULL : arena_strdup(arena, buf_str(&peers));
}

static void put_peers(struct arena *arena, const struct job_spec *job,
                      const struct job_place *place, struct pairs *out)
{
    const struct placed_job placed = { .job = job, .place = place };
    const char *peers = place_cache_get(place, arena, "native.peers", make_peers, &placed);
    if (peers)
        pairs_put(out, arena, "MUSTER_PEERS", peers);
    else
        place_leave_out(place, "MUSTER_PEERS");
}

static void put_ports(struct arena *arena, const struct task_place *task, struct pairs *out)
{
    for (uint32_t i = 0; i < task->n_ports; i++) {
        AUTO_BUF struct buf name = BUF_INIT(256), numbers = BUF_INIT(STRING_MAX);
        buf_puts(&name, "MUSTER_PORT_");
        for (const char *c = task->ports[i].label; *c; c++)
            buf_putc(&name, isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_');
        for (uint32_t k = 0; k < task->ports[i].count; k++)
            buf_addf(&numbers, "%s%u", k ? "," : "", task->ports[i].numbers[k]);
        pairs_set(out, arena, buf_str(&name), buf_str(&numbers));
    }
}

void native_env(struct arena *arena, const struct job_spec *job, const struct job_place *place,
                uint32_t flat, const struct site *site, struct pairs *out)
{
    (void)site;
    const struct task_place *task = &place->tasks[flat];
    const struct role *role = &job->roles[task->role];
    char id[JOB_ID_TEXT];
    pairs_set(out, arena, "MUSTER_JOB_NAME", text_or_empty(job->name));
    pairs_set(out, arena, "MUSTER_JOB_ID", job_id_format(id, place->id));
    pairs_setf(out, arena, "MUSTER_JOB_NUMBER", "%llu", (unsigned long long)place->number);
    pairs_setf(out, arena, "MUSTER_GENERATION", "%u", place->generation);
    pairs_set(out, arena, "MUSTER_ROLE", role->name);
    pairs_setf(out, arena, "MUSTER_INDEX", "%u", task->index);
    pairs_setf(out, arena, "MUSTER_RANK", "%u", flat);
    pairs_setf(out, arena, "MUSTER_TASKS", "%u", place->n);
    pairs_setf(out, arena, "MUSTER_REPLICAS", "%u", role->replicas);
    pairs_setf(out, arena, "MUSTER_ATTEMPT", "%u", task->attempt);
    pairs_set(out, arena, "MUSTER_NODE", text_or_empty(task->node));
    pairs_set(out, arena, "MUSTER_ADDRESS", text_or_empty(task->address));
    put_peers(arena, job, place, out);
    put_ports(arena, task, out);
}

/* ---- PyTorch ---- */

static uint32_t master_port(const struct job_place *place)
{
    static const char *const labels[] = { "rdzv", "master" };
    const struct task_place *master = &place->tasks[0];
    for (size_t k = 0; k < sizeof labels / sizeof *labels; k++)
        for (uint32_t i = 0; i < master->n_ports; i++)
            if (strcmp(master->ports[i].label, labels[k]) == 0 && master->ports[i].count > 0)
                return master->ports[i].numbers[0];
    if (master->n_ports > 0 && master->ports[0].count > 0)
        return master->ports[0].numbers[0];
    return PORT_BASE + (uint32_t)((place->number + place->generation) % PORT_SPAN);
}

void pytorch_env(struct arena *arena, const struct job_spec *job, const struct job_place *place,
                 uint32_t flat, const struct site *site, struct pairs *out)
{
    (void)job;
    (void)site;
    const char *address = text_or_empty(place->tasks[0].address);
    pairs_set(out, arena, "MASTER_ADDR", address);
    pairs_setf(out, arena, "MASTER_PORT", "%u", master_port(place));
    pairs_setf(out, arena, "WORLD_SIZE", "%u", place->n);
    pairs_setf(out, arena, "RANK", "%u", flat);
    pairs_set(out, arena, "LOCAL_RANK", "0");
    pairs_set(out, arena, "LOCAL_WORLD_SIZE", "1");
    pairs_setf(out, arena, "NODE_RANK", "%u", flat);
    pairs_setf(out, arena, "PET_NNODES", "%u", place->n);
    pairs_setf(out, arena, "PET_NODE_RANK", "%u", flat);
    pairs_set(out, arena, "PET_MASTER_ADDR", address);
    pairs_setf(out, arena, "PET_MASTER_PORT", "%u", master_port(place));
}
