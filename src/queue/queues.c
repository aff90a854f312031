/* Keeps the tree of queues and the usage of users, in memory and as rows. Usage is computed with
 * integers alone, so that a restart comes to the same numbers. */
#include "queue/queues.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
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
    struct queues_config config;
    struct queue_tree *tree;
    struct arena *arena; /* of users' texts */
    VEC(struct user) users;
    struct string_map *by_name; /* "queue/owner" -> position + 1 */
    struct map *charges;        /* job id -> struct charge */
    uint32_t version;           /* of the tree */
    bool dirty;                 /* a user is */
};

struct queues *queues_create(const struct queues_config *config)
{
    struct queues *q = mem_new(sizeof *q);
    q->config = *config;
    q->arena = arena_create();
    q->by_name = string_map_create();
    q->charges = map_create();
    return q;
}

void queues_destroy(struct queues *q)
{
    if (!q)
        return;
    map_destroy_with(q->charges, free);
    string_map_destroy(q->by_name);
    vec_fini(&q->users);
    queue_tree_destroy(q->tree);
    arena_destroy(q->arena);
    free(q);
}

/* ---- the tree ---- */

void queues_declare(struct queues *q, const struct catalogue *catalogue)
{
    queue_tree_destroy(q->tree);
    q->version++;
    q->tree = queue_tree_make(catalogue, q->config.cluster, q->config.topology);
}

const struct queue_tree *queues_tree(const struct queues *q)
{
    return q->tree;
}

uint32_t queues_version(const struct queues *q)
{
    return q->version;
}

const struct queue_spec *queues_specs(const struct queues *q, size_t *n)
{
    *n = q->tree->n;
    return q->tree->specs;
}

uint32_t queues_position(const struct queues *q, const char *name)
{
    return queue_tree_position(q->tree, name);
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

static uint64_t half_life(const struct queues *q)
{
    return q->config.half_life_ms ? q->config.half_life_ms : QUEUES_HALF_LIFE_MS;
}

/* Milliseconds of holding something over the span that are left at its end, in 2^-16. */
static uint64_t span_left(uint64_t dt_ms, uint64_t half_ms, uint64_t left)
{
    if (half_ms == UINT64_MAX || dt_ms < half_ms / SHORT_SPAN)
        return dt_ms << 16;
    return (uint64_t)(((wide)(ONE_Q60 - left) << 16) * half_ms / LN2_Q60);
}

static uint64_t usage_at(const struct queues *q, const struct user *user, uint64_t now_ms)
{
    uint64_t half = half_life(q), dt = now_ms > user->at_ms ? now_ms - user->at_ms : 0;
    wide share = vector_share(&user->held, &q->tree->total);
    if (dt == 0 || (share == 0 && user->usage == 0))
        return user->usage;
    uint64_t left = queues_decay(dt, half);
    wide old = (wide)user->usage * left >> 60;
    wide new = (share * span_left(dt, half, left) << (FINE_BITS - 16)) / HOUR_MS;
    return old + new > UINT64_MAX ? UINT64_MAX : (uint64_t)(old + new);
}

static void bring_up(struct queues *q, struct user *user, uint64_t now)
{
    user->usage = usage_at(q, user, now);
    user->at_ms = now > user->at_ms ? now : user->at_ms;
    user->kept = user->dirty = q->dirty = true;
}

/* ---- users ---- */

static uint32_t user_named(struct queues *q, const char *queue, const char *owner, uint64_t now)
{
    AUTO_BUF struct buf key = BUF_INIT(1 << 16);
    buf_addf(&key, "%s/%s", queue, owner);
    uintptr_t known = (uintptr_t)string_map_get(q->by_name, buf_str(&key));
    if (known)
        return (uint32_t)(known - 1);
    struct user *user = vec_add(&q->users);
    *user = (struct user){ .queue = arena_strdup(q->arena, queue),
                           .owner = arena_strdup(q->arena, owner),
                           .at_ms = now };
    string_map_set(q->by_name, buf_str(&key), (void *)(uintptr_t)q->users.n);
    return (uint32_t)(q->users.n - 1);
}

uint32_t queues_user(struct queues *q, uint32_t queue, const char *owner, uint64_t now_ms)
{
    if (queue >= q->tree->n)
        queue = queue_tree_position(q->tree, NULL);
    return user_named(q, q->tree->specs[queue].name, owner, now_ms);
}

uint64_t queues_usage(const struct queues *q, uint32_t user, uint64_t now_ms)
{
    return user < q->users.n ? usage_at(q, &q->users.at[user], now_ms) >> FINE_BITS : 0;
}

const struct sched_user *queues_users(const struct queues *q, struct arena *arena,
                                      const struct sched_snapshot *s, uint64_t now_ms)
{
    struct sched_user *out = ARENA_ARRAY(arena, q->users.n, struct sched_user);
    for (size_t i = 0; i < s->n_jobs; i++) {
        uint32_t user = s->jobs[i].user;
        out[user].queue = s->jobs[i].queue;
        if (!out[user].usage)
            out[user].usage = queues_usage(q, user, now_ms);
    }
    return out;
}

size_t queues_user_count(const struct queues *q)
{
    return q->users.n;
}

struct queue_user queues_user_at(const struct queues *q, uint32_t user)
{
    const struct user *u = &q->users.at[user];
    return (struct queue_user){ .queue = queue_tree_position(q->tree, u->queue),
                                .owner = u->owner,
                                .held = u->held };
}

/* ---- what users would have ---- */

struct queues_forecast {
    const struct queues *queues;
    struct user *users;
    size_t n;
};

struct queues_forecast *queues_ahead(const struct queues *q, struct arena *arena)
{
    struct queues_forecast *ahead = ARENA_NEW(arena, struct queues_forecast);
    *ahead = (struct queues_forecast){ .queues = q,
                                       .users = ARENA_ARRAY(arena, q->users.n, struct user),
                                       .n = q->users.n };
    if (ahead->n)
        memcpy(ahead->users, q->users.at, ahead->n * sizeof *ahead->users);
    return ahead;
}

uint64_t queues_ahead_at(void *arg, uint32_t user, uint64_t at_ms)
{
    const struct queues_forecast *ahead = arg;
    return user < ahead->n ? usage_at(ahead->queues, &ahead->users[user], at_ms) >> FINE_BITS : 0;
}

void queues_ahead_hold(void *arg, uint32_t user, const struct vector *held, bool more,
                       uint64_t at_ms)
{
    struct queues_forecast *ahead = arg;
    if (user >= ahead->n)
        return;
    struct user *u = &ahead->users[user];
    u->usage = usage_at(ahead->queues, u, at_ms);
    u->at_ms = at_ms > u->at_ms ? at_ms : u->at_ms;
    if (more)
        vector_add(&u->held, held);
    else
        vector_take(&u->held, held);
}

/* ---- charging ---- */

static bool same(const struct vector *a, const struct vector *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory == b->memory && a->gpu_milli == b->gpu_milli;
}

static void charge(struct queues *q, const struct queue_charge *hold, uint64_t now, bool since_now)
{
    static const struct vector none = { 0 };
    struct charge *before = map_get(q->charges, hold->job);
    if (same(before ? &before->held : &none, &hold->held))
        return;
    uint32_t position =
        before ? before->user
               : queues_user(q, queue_tree_position(q->tree, hold->queue), hold->owner, now);
    struct user *user = &q->users.at[position];
    if (since_now)
        bring_up(q, user, now);
    if (before)
        vector_take(&user->held, &before->held);
    vector_add(&user->held, &hold->held);
    if (same(&hold->held, &none)) {
        free(map_remove(q->charges, hold->job));
        return;
    }
    if (!before) {
        before = mem_new(sizeof *before);
        map_set(q->charges, hold->job, before);
    }
    *before = (struct charge){ .user = position, .held = hold->held };
}

void queues_charge(struct queues *q, const struct queue_charge *hold, uint64_t now_ms)
{
    charge(q, hold, now_ms, true);
}

void queues_resume(struct queues *q, const struct queue_charge *hold, uint64_t now_ms)
{
    charge(q, hold, now_ms, false);
}

/* ---- rows ---- */

static void write_row(const struct queues *q, struct user *user)
{
    AUTO_BUF struct buf name = BUF_INIT(1 << 16);
    AUTO_BUF struct buf spec = BUF_INIT(256);
    buf_addf(&name, "%s/%s", user->queue, user->owner);
    buf_addf(&spec, "{\"usage\":\"%" PRIu64 "\",\"at\":%" PRIu64 "}", user->usage, user->at_ms);
    struct object_row row = {
        .kind = ROW_KIND, .project = "", .name = buf_str(&name), .spec = buf_str(&spec)
    };
    store_put_object(q->config.store, &row, NULL);
    user->dirty = false;
}

void queues_record(struct queues *q)
{
    bool keeps = store_keeps_details(q->config.store); /* else nothing is ever loaded again */
    for (size_t i = 0; q->dirty && i < q->users.n; i++)
        if (keeps && q->users.at[i].dirty)
            write_row(q, &q->users.at[i]);
    q->dirty = false;
}

/* Which rows were lost is not known: each is written again with the next turn that gets through. */
void queues_undone(struct queues *q)
{
    for (size_t i = 0; i < q->users.n; i++)
        q->users.at[i].dirty = q->users.at[i].kept;
    q->dirty = true;
}

/* A row of the store: false: it is forgotten, because nothing is left of its usage. */
static bool read_row(struct queues *q, struct arena *arena, const struct object_row *row,
                     uint64_t now)
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
    if (usage && usage_at(q, &user, now) == 0)
        return false;
    const char *queue = arena_strndup(arena, row->name, (size_t)(slash - row->name));
    uint32_t position = user_named(q, queue, slash + 1, user.at_ms); /* users may move */
    struct user *known = &q->users.at[position];
    known->usage = usage;
    known->at_ms = user.at_ms;
    known->kept = true;
    return true;
}

void queues_load(struct queues *q, uint64_t now_ms)
{
    struct arena *arena = arena_create();
    struct object_row *rows;
    size_t n = 0;
    if (store_objects(q->config.store, arena, &(struct object_row){ .kind = ROW_KIND }, &rows, &n,
                      NULL) == 0)
        for (size_t i = 0; i < n; i++)
            if (!read_row(q, arena, &rows[i], now_ms))
                store_delete_object(q->config.store, &rows[i], NULL);
    arena_destroy(arena);
}
