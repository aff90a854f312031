/* Tasks are put into equal nodes as the planner will put them: those of a group on one node, roles
 * that are placed together as one piece, roles apart or spread one to a node, and of the others as
 * many to a node as the partition's smallest has room for. What the fullest of these nodes has is
 * asked of each. A node of an allocation is not larger than what was asked for, so what is not said
 * of a task (memory, say) is not asked for. The exception is a batch script that asks for whole
 * nodes: how large these are is Slurm's to know, and theirs to say when they have joined. */
#include "engine/slurm/request.h"

#include "base/buf.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/scan.h"
#include "engine/slurm/partitions.h"
#include "job/job.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define AGENT_MEMORY (UINT64_C(128) << 20) /* for what watches over the tasks */
#define START_MS     120000u               /* until the first task runs, and 90 s before the end */
#define END_MS       90000u
#define PIECES_MAX   JOB_MAX_ROLES

struct piece { /* what goes to one node */
    uint64_t cpu_milli, memory, gpu_milli;
    uint32_t n, least; /* so many of them */
    bool alone;        /* at most one on a node */
};
struct bin {
    uint64_t cpu_milli, memory, gpu_milli;
    uint32_t alone; /* the number of the last piece that is alone there; 0: none */
};
struct packing {
    struct piece pieces[PIECES_MAX];
    size_t n_pieces;
    struct slurm_gpus gpus;   /* of a piece */
    struct slurm_shape shape; /* cpus 0: not known */
    struct bin bins[PILOT_NODES_MAX];
    uint32_t n_bins;
};

static void add_role(struct piece *p, const struct role *role, uint64_t share)
{
    const struct resources *r = &role->resources;
    p->cpu_milli += share * r->cpu_milli;
    p->memory += share * r->memory;
    p->gpu_milli += share * r->gpu_milli;
}

/* In how many pieces does the role come that have so many tasks each? */
static void count(struct piece *p, const struct role *role, uint32_t share)
{
    const uint32_t least = role->spares ? role->replicas : role->min;
    const uint32_t n = (role->replicas + share - 1) / share, l = (least + share - 1) / share;
    p->n = n > p->n ? n : p->n;
    p->least = l > p->least ? l : p->least;
}

static const struct colocate *set_of(const struct job_spec *job, const char *role)
{
    for (size_t i = 0; i < job->placing.n_together; i++)
        if (words_have(&job->placing.together[i].roles, role))
            return &job->placing.together[i];
    return NULL;
}

static uint32_t share_in(const struct colocate *set, const char *role)
{
    const char *text = pairs_get(&set->shares, role);
    uint64_t n = 1;
    if (text)
        (void)scan_u64(text, 1, JOB_MAX_TASKS, &n);
    return (uint32_t)n;
}

static void add_pieces(struct packing *p, const struct job_spec *job)
{
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct role *role = &job->roles[i];
        const struct colocate *set = set_of(job, role->name);
        struct piece *piece = &p->pieces[p->n_pieces];
        if (set && strcmp(set->roles.at[0], role->name) != 0)
            continue; /* with the first of them */
        *piece = (struct piece){ .alone = words_have(&job->placing.apart, role->name) ||
                                          words_have(&job->placing.spread, role->name) };
        for (size_t k = 0; set && k < set->roles.n; k++) {
            const struct role *one = job_role(job, set->roles.at[k], NULL);
            const uint32_t share = one ? share_in(set, one->name) : 1;
            if (one) {
                add_role(piece, one, share);
                count(piece, one, share);
            }
        }
        if (!set) {
            const uint32_t share = role->per_group ? role->per_group : 1;
            add_role(piece, role, share);
            count(piece, role, share);
        }
        if (piece->n)
            p->n_pieces++;
    }
}

static bool has_room(const struct packing *p, const struct bin *b, const struct piece *piece,
                     uint32_t number)
{
    const struct slurm_shape *s = &p->shape;
    if (piece->alone && b->alone == number)
        return false;
    return s->cpus && b->cpu_milli + piece->cpu_milli <= s->cpus * 1000 &&
           b->memory + piece->memory + AGENT_MEMORY <= s->memory &&
           b->gpu_milli + piece->gpu_milli <= s->gpus * UINT64_C(1000);
}

/* The next bin that has room; a new one when none has. false: there are too many. */
static bool put(struct packing *p, const struct piece *piece, uint32_t number, uint32_t *from)
{
    while (*from < p->n_bins && !has_room(p, &p->bins[*from], piece, number))
        ++*from;
    if (*from == PILOT_NODES_MAX)
        return false;
    struct bin *b = &p->bins[*from];
    if (*from == p->n_bins)
        p->bins[p->n_bins++] = (struct bin){ .cpu_milli = 0 };
    b->cpu_milli += piece->cpu_milli;
    b->memory += piece->memory;
    b->gpu_milli += piece->gpu_milli;
    b->alone = piece->alone ? number : b->alone;
    return true;
}

/* The pieces that ask for most first. */
static int pack(struct packing *p, bool least, struct err *err)
{
    bool done[PIECES_MAX] = { false };
    p->n_bins = 0;
    for (size_t k = 0; k < p->n_pieces; k++) {
        size_t at = p->n_pieces;
        for (size_t i = 0; i < p->n_pieces; i++) {
            const struct piece *one = &p->pieces[i];
            if (done[i])
                continue;
            if (at == p->n_pieces || one->gpu_milli > p->pieces[at].gpu_milli ||
                (one->gpu_milli == p->pieces[at].gpu_milli &&
                 one->cpu_milli > p->pieces[at].cpu_milli))
                at = i;
        }
        const struct piece *piece = &p->pieces[at];
        uint32_t from = 0;
        done[at] = true;
        for (uint32_t i = 0; i < (least ? piece->least : piece->n); i++)
            if (!put(p, piece, (uint32_t)at + 1, &from))
                return err_set(err, ERR_CANNOT, "it needs more than %u nodes", PILOT_NODES_MAX);
    }
    return 0;
}

static bool is_batch_script(const struct job_spec *job)
{
    return words_have(&job->conventions, "sbatch");
}

/* Without --exclusive a batch script asks for a core for each task at least. */
static bool has_whole_nodes(const struct job_spec *job)
{
    for (size_t i = 0; is_batch_script(job) && i < job->n_roles; i++)
        if (job->roles[i].resources.cpu_milli == 0)
            return true;
    return false;
}

/* All nodes of an allocation are alike: a type is asked for when every role with GPUs asks for it.
 * What a batch script names by --constraint is a feature of nodes, which Slurm is asked for too. */
static void find_gpus(struct packing *p, const struct job_spec *job)
{
    const struct words *types = NULL;
    const char *feature = is_batch_script(job) ? pairs_get(&job->labels, "constraint") : NULL;
    uint64_t most = 0;
    bool same = true;
    for (size_t i = 0; i < p->n_pieces; i++)
        most = p->pieces[i].gpu_milli > most ? p->pieces[i].gpu_milli : most;
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct resources *r = &job->roles[i].resources;
        if (!r->gpu_milli)
            continue;
        same = same && (!types || words_are_same(types, &r->gpu_types));
        types = &r->gpu_types;
    }
    p->gpus.n = (uint32_t)((most + 999) / 1000);
    if (types && same && !(types->n == 1 && feature && strcasecmp(types->at[0], feature) == 0))
        p->gpus.types = *types;
}

static void size_nodes(const struct packing *p, bool whole, struct pilot_ask *out)
{
    struct bin most = { .cpu_milli = 1000 };
    for (uint32_t i = 0; i < p->n_bins; i++) {
        const struct bin *b = &p->bins[i];
        most.cpu_milli = b->cpu_milli > most.cpu_milli ? b->cpu_milli : most.cpu_milli;
        most.memory = b->memory > most.memory ? b->memory : most.memory;
        most.gpu_milli = b->gpu_milli > most.gpu_milli ? b->gpu_milli : most.gpu_milli;
    }
    out->nodes = p->n_bins ? p->n_bins : 1;
    out->cpus = whole ? 0 : (uint32_t)((most.cpu_milli + 999) / 1000);
    out->gpus = (uint32_t)((most.gpu_milli + 999) / 1000);
    out->gpu_type = out->gpus && p->shape.gpu_type ? p->shape.gpu_type : "";
    if (most.memory && !whole) {
        const uint64_t all = most.memory + AGENT_MEMORY;
        out->memory = p->shape.memory && all > p->shape.memory ? p->shape.memory : all;
        out->memory = out->memory < most.memory ? most.memory : out->memory;
    }
}

/* ---- where, and for how long ---- */

/* A queue that Slurm has as a partition is meant as that; of a batch script any is. */
static const char *partition_of(struct arena *arena, const struct job_spec *job, const char *sinfo)
{
    const char *label = pairs_get(&job->placing.labels, REQUEST_PARTITION);
    const char *queue = job->queue;
    if (label)
        return label;
    if (!queue || !*queue || strcmp(queue, "default") == 0)
        return "";
    bool is_one = sinfo && slurm_has_partition(arena, sinfo, queue);
    return is_one || is_batch_script(job) ? queue : "";
}

/* sbatch takes no more names by --nodelist than the job gets nodes, and none that it does not know
 * by --exclude: so those of the partition are excluded that the job may not use. More of them than
 * a word for sbatch may have letters are left to the planner. -1: too few are left. */
static int add_excluded(struct arena *arena, const struct placing *placing, const char *sinfo,
                        const struct slurm_shape *shape, struct pilot_ask *out, struct err *err)
{
    AUTO_BUF struct buf flag = BUF_INIT(PILOT_FLAG_MAX + 1);
    const char *partition = shape->partition ? shape->partition : "";
    const struct words all =
        sinfo ? slurm_nodes(arena, sinfo, partition) : (struct words){ .n = 0 };
    struct words closed = { .at = ARENA_ARRAY(arena, all.n, const char *) };
    for (size_t i = 0; i < all.n; i++)
        if ((placing->nodes.n && !words_have(&placing->nodes, all.at[i])) ||
            words_have(&placing->avoid, all.at[i]))
            closed.at[closed.n++] = all.at[i];
    if (!closed.n)
        return 0;
    const size_t left = all.n - closed.n;
    if (left < out->least) {
        err_set(err, ERR_CANNOT, "it needs %u nodes, and may use %zu of partition %.60s of Slurm",
                out->least, left, partition);
        return err_hint(err, "name others: place.nodes, place.avoid; sinfo lists those there are");
    }
    out->nodes = out->nodes > left ? (uint32_t)left : out->nodes;
    buf_puts(&flag, "--exclude=");
    hostlist_write(&flag, closed.at, closed.n);
    if (!flag.overflow)
        out->flags.at[out->flags.n++] = arena_strdup(arena, buf_str(&flag));
    return 0;
}

static void add_flags(struct arena *arena, const struct job_spec *job, struct pilot_ask *out)
{
    static const struct {
        const char *label, *option;
    } rows[] = {
#define ROW(label, option) { label, option },
        REQUEST_LABELS(ROW)
#undef ROW
    };
    out->flags.at = ARENA_ARRAY(arena, ARRAY_LEN(rows) + 1, const char *);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *value = pairs_get(&job->placing.labels, rows[i].label);
        if (!value && is_batch_script(job)) /* what it asked for by the option of that name */
            value = i == 0 ? job->project : pairs_get(&job->labels, rows[i].option + 2);
        if (value && *value)
            out->flags.at[out->flags.n++] = arena_printf(arena, "%s=%s", rows[i].option, value);
    }
}

/* As long as the job may run and end, what comes before and after it included. */
static uint64_t time_of(const struct job_spec *job, const struct slurm_shape *shape)
{
    const struct limits *l = &job->limits;
    if (!l->run_time_ms.has)
        return 0;
    const uint64_t time = l->run_time_ms.value + l->grace_ms + START_MS + END_MS;
    return shape->time_ms && time > shape->time_ms ? shape->time_ms : time;
}

/* What no waiting would cure is said at once; Slurm says the rest. */
static int check_partition(const struct pilot_ask *ask, const struct slurm_shape *shape,
                           struct err *err)
{
    const char *name = shape->partition;
    if (shape->nodes && ask->least > shape->nodes) {
        if (ask->cpus)
            err_set(err, ERR_CANNOT,
                    "it needs %u nodes with %u CPUs and %u GPUs each, and partition %.60s of Slurm "
                    "has %u",
                    ask->least, ask->cpus, ask->gpus, name, shape->nodes);
        else
            err_set(err, ERR_CANNOT,
                    "it needs %u whole nodes with %u GPUs each, and partition %.60s of Slurm has "
                    "%u",
                    ask->least, ask->gpus, name, shape->nodes);
        return err_hint(err, "ask for less, or name another partition: place.labels "
                             "{" REQUEST_PARTITION ": NAME}");
    }
    return 0;
}

static int find_shape(struct arena *arena, const struct packing *p, const char *sinfo,
                      const char *partition, struct slurm_shape *out, struct err *err)
{
    const struct slurm_gpus any = { .n = p->gpus.n };
    if (!sinfo || slurm_read_shape(arena, sinfo, partition, &p->gpus, out))
        return 0;
    if (*partition && !slurm_has_partition(arena, sinfo, partition)) {
        err_set(err, ERR_CANNOT, "Slurm has no partition \"%.60s\"", partition);
        return err_hint(err,
                        "sinfo lists them; name one: place.labels {" REQUEST_PARTITION ": NAME}");
    }
    if (!slurm_read_shape(arena, sinfo, partition, NULL, out))
        return 0; /* no default one: Slurm says so */
    if (p->gpus.types.n && slurm_read_shape(arena, sinfo, partition, &any, out)) {
        const struct words types = slurm_gpu_types(arena, sinfo, partition);
        return err_set(err, ERR_CANNOT,
                       "it needs %u GPUs %.60s on a node, and those of partition %.60s are %.200s",
                       any.n, words_joined(arena, &p->gpus.types, " or "), out->partition,
                       words_joined(arena, &types, ", "));
    }
    err_set(err, ERR_CANNOT, "it needs %u GPUs on a node, and no node of partition %.60s has them",
            any.n, out->partition);
    return err_hint(err, "name another partition: place.labels {" REQUEST_PARTITION ": NAME}");
}

int slurm_make_request(struct arena *arena, const struct job_spec *job, const char *sinfo,
                       struct pilot_ask *out, struct err *err)
{
    struct packing *p = ARENA_NEW(arena, struct packing);
    *p = (struct packing){ .n_pieces = 0 };
    *out = (struct pilot_ask){ .partition = partition_of(arena, job, sinfo) };
    add_pieces(p, job);
    find_gpus(p, job);
    if (find_shape(arena, p, sinfo, out->partition, &p->shape, err) < 0 || pack(p, true, err) < 0)
        return -1;
    out->least = p->n_bins ? p->n_bins : 1;
    if (pack(p, false, err) < 0)
        return -1;
    size_nodes(p, has_whole_nodes(job), out);
    if (p->shape.nodes && out->nodes > p->shape.nodes)
        out->nodes = p->shape.nodes > out->least ? p->shape.nodes : out->least;
    out->time_ms = time_of(job, &p->shape);
    add_flags(arena, job, out);
    if (p->shape.partition && check_partition(out, &p->shape, err) < 0)
        return -1;
    return add_excluded(arena, &job->placing, sinfo, &p->shape, out, err);
}
