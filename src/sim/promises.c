/* One record for each job that was promised something or runs; a heap of moments at which to look:
 * the time of a promise, the counted end of a job. Only promises that may still be violated are
 * gone through when something happens, and these are few: one for each queue, about. */
#include "sim/promises.h"

#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"

struct job_promise { /* a job */
    uint64_t id;
    size_t tag;
    uint64_t made_ms, at_ms, told_ms; /* at: as first promised; told: in the last pass. 0: not */
    uint64_t counted_ms;              /* runs, and is counted to be gone by then; 0: it waits */
    uint32_t right, watched;          /* watched: position + 1 */
    uint32_t violation;               /* + 1 */
    enum promise_break broken;
    bool late, overtime;
};
struct check_time { /* at which a job is looked at */
    uint64_t at_ms, of_promise /* 0, 1: counted ends of the same time come first */, job;
};
struct promises {
    uint64_t now_ms;
    struct map *ones;
    VEC(struct job_promise *) watched;
    VEC(struct check_time) heap;
    VEC(struct violation) violations;
    uint64_t overtime; /* jobs that run longer than counted */
    struct promise_counts counts;
};

static const struct {
    const char *word, *text;
} breaks[BREAK_N] = {
#define BREAK_ROW(id, word_, text_) { .word = word_, .text = text_ },
    PROMISE_BREAKS(BREAK_ROW)
#undef BREAK_ROW
};

const char *promise_break_word(enum promise_break what)
{
    return breaks[what].word;
}

const char *promise_break_text(enum promise_break what)
{
    return breaks[what].text;
}

struct promises *promises_create(uint64_t now_ms)
{
    struct promises *p = mem_new(sizeof *p);
    p->now_ms = now_ms;
    p->ones = map_create();
    return p;
}

void promises_destroy(struct promises *p)
{
    if (!p)
        return;
    map_destroy_with(p->ones, free);
    vec_fini(&p->watched);
    vec_fini(&p->heap);
    vec_fini(&p->violations);
    free(p);
}

static struct job_promise *one_of(struct promises *p, uint64_t job)
{
    struct job_promise *one = map_get(p->ones, job);
    if (one)
        return one;
    one = mem_new(sizeof *one);
    one->id = job;
    map_set(p->ones, job, one);
    return one;
}

/* ---- what is assumed ---- */

static void watch(struct promises *p, struct job_promise *one)
{
    vec_push(&p->watched, one);
    one->watched = (uint32_t)p->watched.n;
}

static void unwatch(struct promises *p, struct job_promise *one)
{
    if (!one->watched)
        return;
    struct job_promise *last = p->watched.at[--p->watched.n];
    p->watched.at[one->watched - 1] = last;
    last->watched = one->watched;
    one->watched = 0;
}

static void break_one(struct promises *p, struct job_promise *one, enum promise_break why)
{
    one->broken = why;
    unwatch(p, one);
}

static void break_all(struct promises *p, enum promise_break why)
{
    while (p->watched.n)
        break_one(p, p->watched.at[0], why);
}

/* Promises that a turn of this right comes before; of the same right, those that are later. */
static void break_behind(struct promises *p, const struct job_promise *by, uint32_t right,
                         uint64_t at_ms, enum promise_break why)
{
    for (size_t i = p->watched.n; i-- > 0;) {
        struct job_promise *one = p->watched.at[i];
        if (one != by && (right > one->right || (right == one->right && at_ms <= one->at_ms)))
            break_one(p, one, why);
    }
}

/* ---- what happens ---- */

static void late(struct promises *p, struct job_promise *one)
{
    one->late = true;
    p->counts.late[one->broken]++;
    unwatch(p, one);
    if (one->broken != BREAK_NONE || p->violations.n == VIOLATIONS_KEPT)
        return;
    vec_push(&p->violations,
             ((struct violation){ .tag = one->tag, .made_ms = one->made_ms, .at_ms = one->at_ms }));
    one->violation = (uint32_t)p->violations.n;
}

void promises_time(struct promises *p, uint64_t now_ms)
{
    while (p->heap.n && p->heap.at[0].at_ms < now_ms) {
        struct check_time moment;
        heap_take(&p->heap, &moment);
        struct job_promise *one = map_get(p->ones, moment.job);
        if (one && moment.of_promise && one->at_ms == moment.at_ms && !one->late) {
            late(p, one);
        } else if (one && !moment.of_promise && one->counted_ms == moment.at_ms) {
            p->overtime += !one->overtime;
            one->overtime = true;
            break_all(p, BREAK_OVERRUN);
        }
    }
    p->now_ms = now_ms;
}

static void promise(struct promises *p, struct job_promise *one, const struct plan_entry *entry)
{
    one->made_ms = p->now_ms;
    one->at_ms = one->told_ms = entry->at_ms;
    one->right = entry->right;
    one->late = false;
    one->violation = 0;
    one->broken = p->overtime ? BREAK_OVERRUN : BREAK_NONE;
    p->counts.made++;
    break_behind(p, one, entry->right, UINT64_MAX, BREAK_BETTER);
    if (!one->broken)
        watch(p, one);
    heap_push(&p->heap,
              ((struct check_time){ .at_ms = one->at_ms, .of_promise = 1, .job = one->id }));
}

void promises_reserve(struct promises *p, const struct plan_entry *entry, size_t tag)
{
    struct job_promise *one = one_of(p, entry->job);
    if (!one->at_ms) {
        one->tag = tag;
        promise(p, one, entry);
        return;
    }
    if (entry->right > one->right) /* its claim got better */
        break_behind(p, one, entry->right, UINT64_MAX, BREAK_BETTER);
    if (one->told_ms != entry->at_ms)
        break_behind(p, one, entry->right, one->at_ms, BREAK_MOVED);
    one->told_ms = entry->at_ms;
    if (entry->right < one->right && one->watched) /* others come before it now */
        break_one(p, one, BREAK_BETTER);
    one->right = entry->right;
}

void promises_start(struct promises *p, const struct plan_entry *entry, uint64_t lasts_ms)
{
    struct job_promise *one = one_of(p, entry->job);
    if (!one->at_ms || entry->right > one->right)
        break_behind(p, one, entry->right, UINT64_MAX, BREAK_BETTER);
    else if (one->at_ms != p->now_ms)
        break_behind(p, one, entry->right, one->at_ms, BREAK_MOVED);
    unwatch(p, one);
    p->counts.kept += one->at_ms && !one->late;
    if (one->violation)
        p->violations.at[one->violation - 1].started_ms = p->now_ms;
    one->at_ms = one->violation = 0;
    one->counted_ms = lasts_ms < UINT64_MAX - p->now_ms ? p->now_ms + lasts_ms : UINT64_MAX;
    heap_push(&p->heap, ((struct check_time){ .at_ms = one->counted_ms, .job = one->id }));
}

void promises_more(struct promises *p, const struct plan_entry *entry)
{
    if (entry->right == PLAN_RIGHT_FIRST)
        break_all(p, BREAK_AGAIN);
}

void promises_node_lost(struct promises *p)
{
    break_all(p, BREAK_NODE);
}

void promises_gone(struct promises *p, uint64_t job)
{
    struct job_promise *one = map_remove(p->ones, job);
    if (!one)
        return;
    unwatch(p, one);
    p->counts.dropped += one->at_ms && !one->late;
    p->overtime -= one->overtime;
    free(one);
}

struct promise_counts promises_counts(const struct promises *p)
{
    return p->counts;
}

const struct violation *promises_violations(const struct promises *p, size_t *n)
{
    *n = p->violations.n;
    return p->violations.at;
}
