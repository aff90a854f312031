/* A window over the jobs that ended: each stands in two groups, and leaves them again when
 * RUN_TIMES_JOBS others have ended. The jobs of a group leave it in the order in which they came.
 */
#include "learn/run_times.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

#define PAGE 512u

struct group {
    char *key;
    VEC(uint64_t) ms; /* oldest first, from head on */
    size_t head;
    uint64_t sorted[RUN_TIMES_SAMPLES];
    uint32_t n_sorted;
    bool stale; /* sorted is behind ms */
};
struct ended_job { /* one job of the window */
    struct group *name, *queue;
};
struct pending_time {
    char *name, *queue; /* keys */
    uint64_t ms;
};
struct run_times {
    struct string_map *groups;
    VEC(struct ended_job) window;
    size_t oldest;                    /* in it, when it is full */
    VEC(struct pending_time) pending; /* of the open turn */
};

struct run_times *run_times_create(void)
{
    struct run_times *r = mem_new(sizeof *r);
    r->groups = string_map_create();
    return r;
}

static void drop_group(void *at)
{
    struct group *g = at;
    vec_fini(&g->ms);
    free(g->key);
    free(g);
}

static void drop_pending(struct run_times *r)
{
    for (size_t i = 0; i < r->pending.n; i++) {
        free(r->pending.at[i].name);
        free(r->pending.at[i].queue);
    }
    vec_clear(&r->pending);
}

void run_times_destroy(struct run_times *r)
{
    if (!r)
        return;
    string_map_destroy_with(r->groups, drop_group);
    drop_pending(r);
    vec_fini(&r->pending);
    vec_fini(&r->window);
    free(r);
}

/* ---- groups ---- */

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort(struct group *g)
{
    size_t n = g->ms.n - g->head;
    g->n_sorted = (uint32_t)(n < RUN_TIMES_SAMPLES ? n : RUN_TIMES_SAMPLES);
    memcpy(g->sorted, g->ms.at + g->ms.n - g->n_sorted, g->n_sorted * sizeof *g->sorted);
    qsort(g->sorted, g->n_sorted, sizeof *g->sorted, by_size);
    g->stale = false;
}

static struct group *join(struct run_times *r, const char *key, uint64_t ms)
{
    struct group *g = string_map_get(r->groups, key);
    if (!g) {
        g = mem_new(sizeof *g);
        g->key = mem_strdup(key);
        string_map_set(r->groups, key, g);
    }
    vec_push(&g->ms, ms);
    g->stale = true;
    return g;
}

static void leave(struct run_times *r, struct group *g)
{
    if (++g->head == g->ms.n) {
        string_map_remove(r->groups, g->key);
        drop_group(g);
        return;
    }
    if (g->head > g->ms.n / 2) {
        memmove(g->ms.at, g->ms.at + g->head, (g->ms.n - g->head) * sizeof *g->ms.at);
        g->ms.n -= g->head;
        g->head = 0;
    }
    g->stale = true;
}

static void learn(struct run_times *r, const struct pending_time *p)
{
    const struct ended_job job = { .name = join(r, p->name, p->ms),
                                   .queue = join(r, p->queue, p->ms) };
    if (r->window.n < RUN_TIMES_JOBS) {
        vec_push(&r->window, job);
        return;
    }
    const struct ended_job oldest = r->window.at[r->oldest];
    r->window.at[r->oldest] = job;
    r->oldest = (r->oldest + 1) % RUN_TIMES_JOBS;
    leave(r, oldest.name);
    leave(r, oldest.queue);
}

/* Neither owners nor names of jobs and queues have a line break in them. */
static char *name_key(const struct job_row *row)
{
    AUTO_BUF struct buf key = BUF_INIT(1 << 16);
    buf_addf(&key, "job\n%s\n%s", row->owner, row->name);
    return mem_strdup(buf_str(&key));
}

static char *queue_key(const struct job_row *row)
{
    AUTO_BUF struct buf key = BUF_INIT(1 << 16);
    buf_addf(&key, "queue\n%s", row->queue);
    return mem_strdup(buf_str(&key));
}

/* ---- what ends ---- */

void run_times_ended(struct run_times *r, const struct job_row *row)
{
    bool ran = row->started_ms && row->ended_ms >= row->started_ms;
    if (!ran || row->members || (row->state != JOB_SUCCEEDED && row->state != JOB_FAILED))
        return;
    vec_push(&r->pending, ((struct pending_time){ .name = name_key(row),
                                                  .queue = queue_key(row),
                                                  .ms = row->ended_ms - row->started_ms }));
}

void run_times_committed(struct run_times *r)
{
    for (size_t i = 0; i < r->pending.n; i++)
        learn(r, &r->pending.at[i]);
    drop_pending(r);
}

void run_times_undone(struct run_times *r)
{
    drop_pending(r);
}

/* ---- the start ---- */

static void add_members(struct run_times *r, struct store *store, const struct job_row *array)
{
    struct arena *arena = arena_create();
    const struct job_filter filter = { .states = 1u << JOB_SUCCEEDED | 1u << JOB_FAILED,
                                       .array = array->id,
                                       .members = array->members,
                                       .limit = PAGE };
    struct job_row *rows;
    size_t n = 0;
    struct err err;
    if (store_list(store, arena, &filter, &rows, &n, &err) == 0)
        for (size_t i = n; i-- > 0;)
            run_times_ended(r, &rows[i]);
    arena_destroy(arena);
}

/* A page of the newest, newest first. Returns the id from which the next one goes on; 0: that was
 * all. */
static uint64_t add_page(struct run_times *r, struct store *store, uint64_t before)
{
    struct arena *arena = arena_create();
    const struct job_filter filter = { .before_id = before, .limit = PAGE };
    struct job_row *rows;
    size_t n = 0;
    struct err err;
    uint64_t next = 0;
    if (store_list(store, arena, &filter, &rows, &n, &err))
        log_error("run_times.load", "%s", err.what);
    for (size_t i = 0; i < n && r->pending.n < RUN_TIMES_JOBS; i++) {
        if (rows[i].members)
            add_members(r, store, &rows[i]);
        else
            run_times_ended(r, &rows[i]);
        next = rows[i].id;
    }
    arena_destroy(arena);
    return n == PAGE ? next : 0;
}

void run_times_load(struct run_times *r, struct store *store)
{
    uint64_t next = 0;
    uint32_t pages = 0;
    if (!store_keeps_details(store))
        return;
    do
        next = add_page(r, store, next);
    while (next && r->pending.n < RUN_TIMES_JOBS && ++pages < 2 * RUN_TIMES_JOBS / PAGE);
    for (size_t i = r->pending.n; i-- > 0;)
        learn(r, &r->pending.at[i]);
    drop_pending(r);
}

/* ---- asking ---- */

static bool samples_of(const struct run_times *r, char *key, uint32_t least,
                       struct run_samples *out)
{
    struct group *g = string_map_get(r->groups, key);
    free(key);
    if (!g || g->ms.n - g->head < least)
        return false;
    if (g->stale)
        sort(g);
    *out = (struct run_samples){ .ms = g->sorted, .n = g->n_sorted };
    return true;
}

bool run_times_find(const struct run_times *r, const struct job_row *of, struct run_samples *out)
{
    if (samples_of(r, name_key(of), RUN_TIMES_NAME, out))
        return true;
    bool found = samples_of(r, queue_key(of), RUN_TIMES_QUEUE, out);
    out->of_queue = found;
    return found;
}

uint64_t run_samples_beyond(const struct run_samples *s, uint64_t ran_ms, uint32_t thousandths)
{
    uint32_t first = 0;
    while (first < s->n && s->ms[first] <= ran_ms)
        first++;
    uint32_t left = s->n - first;
    if (left == 0)
        return 0;
    uint32_t at = (uint32_t)((uint64_t)left * thousandths / 1000);
    return s->ms[first + (at < left ? at : left - 1)];
}

uint64_t run_samples_at(const struct run_samples *s, uint32_t thousandths)
{
    uint32_t at = (uint32_t)((uint64_t)s->n * thousandths / 1000);
    return s->ms[at < s->n ? at : s->n - 1];
}
