/* Keeps the tree of queues and the usage of users, in memory and as rows. Usage is computed with
 * integers alone, so that a restart comes to the same numbers. */
#include "ctl/queues.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/core.h"
#include "text/json.h"

#include <inttypes.h>
#include <string.h>

#define ROW_KIND   "usage"
#define ONE_Q60    (UINT64_C(1) << 60)
#define LN2_Q60    UINT64_C(799144290325165979) /* ln 2 times 2^60, rounded */
#define FINE_BITS  20 /* usage is kept in so much finer units: short jobs count too */
#define HOUR_MS    3600000u
/* From a span this many times shorter than the half-life, what accrues does not decay within it. */
#define SHORT_SPAN 4096u

__extension__ typedef unsigned __int128 wide;

struct user {
    const char *queue, *owner; /* name of the queue: positions change with declarations */
    uint64_t usage;            /* 2^-FINE_BITS millionths of the cluster, times hours */
    uint64_t at_ms;            /* as of then; held since */
    struct vector held;
    bool kept;  /* it has a row, or will */
    bool dirty; /* that is behind */
};
struct charge { /* of one job */
    uint32_t user;
    struct vector held;
};
struct queues {
    struct queue_tree *tree;
    struct arena *arena; /* of users' texts */
    VEC(struct user) users;
    struct smap *by_name; /* "queue/owner" -> position + 1 */
    struct map *charges;  /* job id -> struct charge */
    uint32_t version;     /* of the tree */
    bool dirty;           /* a user is */
};

struct queues *queues_create(void)
{
    struct queues *q = mem_new(sizeof *q);
    q->arena = arena_create();
    q->by_name = smap_create();
    q->charges = map_create();
    return q;
}

void queues_destroy(struct queues *q)
{
    if (!q)
        return;
    map_destroy_with(q->charges, free);
    smap_destroy(q->by_name);
    vec_fini(&q->users);
    queue_tree_destroy(q->tree);
    arena_destroy(q->arena);
    free(q);
}

/* ---- the tree ---- */

void queues_make(struct ctl *ctl)
{
    queue_tree_destroy(ctl->queues->tree);
    ctl->queues->version++;
    ctl->queues->tree = queue_tree_make(ctl->catalogue, ctl->cluster, ctl->config.topology);
}

const struct queue_tree *queues_tree(const struct ctl *ctl)
{
    return ctl->queues->tree;
}

const struct queue_spec *queues_specs(const struct ctl *ctl, size_t *n)
{
    *n = ctl->queues->tree->n;
    return ctl->queues->tree->specs;
}

uint32_t queues_position(const struct ctl *ctl, const char *name)
{
    return queue_tree_position(ctl->queues->tree, name);
}

/* ---- decay ---- */

/* e^-x by its series; x below 1, all in 2^-60. */
static uint64_t exp_minus(uint64_t x)
{
    uint64_t term = ONE_Q60, sum = ONE_Q60;
    for (uint64_t i = 1; term; i++) {
        term = (uint64_t)((wide)term * x >> 60) / i;
        sum = i % 2 ? sum - term : sum + term;
    }
    return sum;
}

uint64_t queues_decay(uint64_t dt_ms, uint64_t half_ms)
{
    if (half_ms == UINT64_MAX || dt_ms == 0)
        return ONE_Q60;
    uint64_t halvings = dt_ms / half_ms, rest = dt_ms % half_ms;
    if (halvings >= 60)
        return 0;
    return exp_minus((uint64_t)((wide)LN2_Q60 * rest / half_ms)) >> halvings;
}

static uint64_t half_life(const struct ctl *ctl)
{
    return ctl->config.half_life_ms ? ctl->config.half_life_ms : QUEUES_HALF_LIFE_MS;
}

/* Milliseconds of holding something over the span that are left at its end, in 2^-16. */
static uint64_t span_left(uint64_t dt_ms, uint64_t half_ms, uint64_t left)
{
    if (half_ms == UINT64_MAX || dt_ms < half_ms / SHORT_SPAN)
        return dt_ms << 16;
    return (uint64_t)(((wide)(ONE_Q60 - left) << 16) * half_ms / LN2_Q60);
}

static uint64_t usage_at(const struct ctl *ctl, const struct user *user, uint64_t now_ms)
{
    uint64_t half = half_life(ctl), dt = now_ms > user->at_ms ? now_ms - user->at_ms : 0;
    wide share = vector_share(&user->held, &ctl->queues->tree->total);
    if (dt == 0 || (share == 0 && user->usage == 0))
        return user->usage;
    uint64_t left = queues_decay(dt, half);
    wide old = (wide)user->usage * left >> 60;
    wide new = (share * span_left(dt, half, left) << (FINE_BITS - 16)) / HOUR_MS;
    return old + new > UINT64_MAX ? UINT64_MAX : (uint64_t)(old + new);
}

static void bring_up(struct ctl *ctl, struct user *user)
{
    uint64_t now = core_now(ctl);
    user->usage = usage_at(ctl, user, now);
    user->at_ms = now > user->at_ms ? now : user->at_ms;
    user->kept = user->dirty = ctl->queues->dirty = true;
}

/* ---- users ---- */

static uint32_t user_named(struct queues *q, const char *queue, const char *owner, uint64_t now)
{
    AUTO_BUF struct buf key = BUF_INIT(1 << 16);
    buf_addf(&key, "%s/%s", queue, owner);
    uintptr_t known = (uintptr_t)smap_get(q->by_name, buf_str(&key));
    if (known)
        return (uint32_t)(known - 1);
    struct user *user = vec_add(&q->users);
    *user = (struct user){ .queue = arena_strdup(q->arena, queue),
                           .owner = arena_strdup(q->arena, owner),
                           .at_ms = now };
    smap_set(q->by_name, buf_str(&key), (void *)(uintptr_t)q->users.n);
    return (uint32_t)(q->users.n - 1);
}

uint32_t queues_user(struct ctl *ctl, uint32_t queue, const char *owner)
{
    const struct queue_tree *tree = ctl->queues->tree;
    if (queue >= tree->n)
        queue = queue_tree_position(tree, NULL);
    return user_named(ctl->queues, tree->specs[queue].name, owner, core_now(ctl));
}

uint64_t queues_usage(const struct ctl *ctl, uint32_t user, uint64_t now_ms)
{
    if (user >= ctl->queues->users.n)
        return 0;
    return usage_at(ctl, &ctl->queues->users.at[user], now_ms) >> FINE_BITS;
}

uint32_t queues_version(const struct ctl *ctl)
{
    return ctl->queues->version;
}

void queues_locate(struct ctl *ctl, struct live_job *job)
{
    if (job->located == ctl->queues->version)
        return;
    job->located = ctl->queues->version;
    job->queue_at = queues_position(ctl, job->row.queue);
    job->user_at = queues_user(ctl, job->queue_at, job->row.owner);
}

const struct sched_user *queues_users(const struct ctl *ctl, struct arena *arena,
                                      const struct sched_snapshot *s)
{
    const struct queues *q = ctl->queues;
    struct sched_user *out = ARENA_ARRAY(arena, q->users.n, struct sched_user);
    uint64_t now = core_now(ctl);
    for (size_t i = 0; i < s->n_jobs; i++) {
        uint32_t user = s->jobs[i].user;
        out[user].queue = s->jobs[i].queue;
        if (!out[user].usage)
            out[user].usage = queues_usage(ctl, user, now);
    }
    return out;
}

size_t queues_user_count(const struct ctl *ctl)
{
    return ctl->queues->users.n;
}

struct queue_user queues_user_at(const struct ctl *ctl, uint32_t user)
{
    const struct user *u = &ctl->queues->users.at[user];
    return (struct queue_user){ .queue = queue_tree_position(ctl->queues->tree, u->queue),
                                .owner = u->owner,
                                .held = u->held };
}

/* ---- what users would have ---- */

struct queues_ahead {
    const struct ctl *ctl;
    struct user *users;
    size_t n;
};

struct queues_ahead *queues_ahead(const struct ctl *ctl, struct arena *arena)
{
    const struct queues *q = ctl->queues;
    struct queues_ahead *ahead = ARENA_NEW(arena, struct queues_ahead);
    *ahead = (struct queues_ahead){ .ctl = ctl,
                                    .users = ARENA_ARRAY(arena, q->users.n, struct user),
                                    .n = q->users.n };
    if (ahead->n)
        memcpy(ahead->users, q->users.at, ahead->n * sizeof *ahead->users);
    return ahead;
}

uint64_t queues_ahead_at(void *arg, uint32_t user, uint64_t at_ms)
{
    const struct queues_ahead *ahead = arg;
    return user < ahead->n ? usage_at(ahead->ctl, &ahead->users[user], at_ms) >> FINE_BITS : 0;
}

void queues_ahead_hold(void *arg, uint32_t user, const struct vector *held, bool more,
                       uint64_t at_ms)
{
    struct queues_ahead *ahead = arg;
    if (user >= ahead->n)
        return;
    struct user *u = &ahead->users[user];
    u->usage = usage_at(ahead->ctl, u, at_ms);
    u->at_ms = at_ms > u->at_ms ? at_ms : u->at_ms;
    if (more)
        vector_add(&u->held, held);
    else
        vector_take(&u->held, held);
}

/* ---- charging ---- */

static struct vector held_by(const struct live_job *job)
{
    struct vector all = { 0 };
    for (size_t i = 0; job->tasks && job->spec && i < job->spec->n_roles; i++) {
        struct vector of_role = vector_of_role(&job->spec->roles[i], job->taken[i]);
        vector_add(&all, &of_role);
    }
    return all;
}

static bool same(const struct vector *a, const struct vector *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory == b->memory && a->gpu_milli == b->gpu_milli;
}

static void charge(struct ctl *ctl, const struct live_job *job, struct vector held, bool since_now)
{
    static const struct vector none = { 0 };
    struct queues *q = ctl->queues;
    struct charge *before = map_get(q->charges, job->row.id);
    if (same(before ? &before->held : &none, &held))
        return;
    uint32_t position =
        before ? before->user
               : queues_user(ctl, queue_tree_position(q->tree, job->row.queue), job->row.owner);
    struct user *user = &q->users.at[position];
    if (since_now)
        bring_up(ctl, user);
    if (before)
        vector_take(&user->held, &before->held);
    vector_add(&user->held, &held);
    if (same(&held, &none)) {
        free(map_remove(q->charges, job->row.id));
        return;
    }
    if (!before) {
        before = mem_new(sizeof *before);
        map_set(q->charges, job->row.id, before);
    }
    *before = (struct charge){ .user = position, .held = held };
}

void queues_release(struct ctl *ctl, const struct live_job *job)
{
    charge(ctl, job, (struct vector){ 0 }, true);
}

void queues_resume(struct ctl *ctl, const struct live_job *job)
{
    charge(ctl, job, held_by(job), false);
}

/* ---- rows ---- */

static void write_row(struct ctl *ctl, struct user *user)
{
    AUTO_BUF struct buf name = BUF_INIT(1 << 16);
    AUTO_BUF struct buf spec = BUF_INIT(256);
    buf_addf(&name, "%s/%s", user->queue, user->owner);
    buf_addf(&spec, "{\"usage\":\"%" PRIu64 "\",\"at\":%" PRIu64 "}", user->usage, user->at_ms);
    struct object_row row = {
        .kind = ROW_KIND, .project = "", .name = buf_str(&name), .spec = buf_str(&spec)
    };
    store_put_object(ctl->config.store, &row, NULL);
    user->dirty = false;
}

void queues_record(struct ctl *ctl)
{
    struct queues *q = ctl->queues;
    if (ctl->touched.n == 0)
        return;
    for (size_t i = 0; i < ctl->touched.n; i++) {
        const struct live_job *job = live_find(ctl->live, ctl->touched.at[i]);
        if (job)
            charge(ctl, job, held_by(job), true);
    }
    bool keeps = store_keeps_details(ctl->config.store); /* else nothing is ever loaded again */
    for (size_t i = 0; q->dirty && i < q->users.n; i++)
        if (keeps && q->users.at[i].dirty)
            write_row(ctl, &q->users.at[i]);
    q->dirty = false;
}

/* Which rows were lost is not known: each is written again with the next turn that gets through. */
void queues_undone(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->queues->users.n; i++) {
        struct user *user = &ctl->queues->users.at[i];
        user->dirty = user->kept;
    }
    ctl->queues->dirty = true;
}

/* A row of the store: false: it is forgotten, because nothing is left of its usage. */
static bool read_row(struct ctl *ctl, struct arena *arena, const struct object_row *row)
{
    struct report report;
    uint64_t usage = 0;
    report_init(&report, arena);
    const struct text_node *root = json_parse(arena, row->spec, strlen(row->spec), 0, &report);
    const struct text_node *amount = root ? text_get(root, "usage") : NULL;
    const struct text_node *at = root ? text_get(root, "at") : NULL;
    const char *slash = strchr(row->name, '/');
    if (!amount || amount->kind != TEXT_STR || !scan_u64(amount->str, 0, UINT64_MAX, &usage) ||
        !at || at->kind != TEXT_INT || at->integer < 0 || !slash) {
        log_error("usage.row", "\"%s\" cannot be read", row->name);
        return false;
    }
    struct user user = { .usage = usage, .at_ms = (uint64_t)at->integer };
    if (usage && usage_at(ctl, &user, core_now(ctl)) == 0)
        return false;
    const char *queue = arena_strndup(arena, row->name, (size_t)(slash - row->name));
    struct queues *q = ctl->queues;
    uint32_t position = user_named(q, queue, slash + 1, user.at_ms); /* users may move */
    struct user *known = &q->users.at[position];
    known->usage = usage;
    known->at_ms = user.at_ms;
    known->kept = true;
    return true;
}

void queues_load(struct ctl *ctl)
{
    struct arena *arena = arena_create();
    struct object_row *rows;
    size_t n = 0;
    if (store_objects(ctl->config.store, arena, &(struct object_row){ .kind = ROW_KIND }, &rows, &n,
                      NULL) == 0)
        for (size_t i = 0; i < n; i++)
            if (!read_row(ctl, arena, &rows[i]))
                store_delete_object(ctl->config.store, &rows[i], NULL);
    arena_destroy(arena);
}
