/* Explanations as JSON: their table, and the words of their numbers. A change that would start a
 * job is printed as the command that makes it, what-if as the one that does what was asked about.
 */
#include "api/explain_json.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "base/scan.h"
#include "dialect/dialect.h"
#include "explain/view.h"

#include <stdio.h>

/* {number, name}, as they may be known. */
static struct text_node *put_job(struct arena *arena, struct text_node *parent, const char *key,
                                 const struct other_job *job)
{
    struct text_node *map = text_map(arena, parent, key);
    if (job->number)
        text_int(arena, map, "number", (int64_t)job->number);
    if (job->name)
        text_str(arena, map, "name", job->name);
    return map;
}

static void put_blocker(struct arena *arena, struct text_node *map, const char *name,
                        const void *member)
{
    const struct other_job *job = *(const struct other_job *const *)member;
    if (job)
        put_job(arena, map, name, job);
}

static void put_named(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    const struct other_list *list = member;
    struct text_node *out = list->n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < list->n; i++)
        put_job(arena, out, NULL, &list->at[i]);
}

static void put_ends(struct arena *arena, struct text_node *map, const char *name,
                     const void *member)
{
    const struct end_list *list = member;
    struct text_node *out = list->n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < list->n; i++) {
        struct text_node *one = put_job(arena, out, NULL, &list->at[i].job);
        view_put_date(arena, one, "at", list->at[i].at_ms);
        text_bool(arena, one, "assumed", list->at[i].assumed);
        text_bool(arena, one, "waits", list->at[i].waits);
    }
}

void explain_put_away(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    const struct away_list *list = member;
    struct text_node *out = list->n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < list->n; i++) {
        const struct away_view *away = &list->at[i];
        struct text_node *one = text_map(arena, out, NULL);
        text_str(arena, one, "node", away->node);
        view_put_date(arena, one, "since", away->since_ms);
        if (away->why)
            text_str(arena, one, "why", away->why);
        if (away->tried)
            text_str(arena, one, "tried", away->tried);
        text_int(arena, one, "tasks", (int64_t)away->tasks);
        text_bool(arena, one, "left", away->left);
    }
}

static void put_delays(struct arena *arena, struct text_node *map, const char *name,
                       const void *member)
{
    const struct delay_list *list = member;
    struct text_node *out = list->n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < list->n; i++) {
        struct text_node *one = put_job(arena, out, NULL, &list->at[i].job);
        view_put_date(arena, one, "before", list->at[i].before_ms);
        if (list->at[i].after_ms)
            view_put_date(arena, one, "after", list->at[i].after_ms);
    }
}

static void put_rank(struct arena *arena, struct text_node *map, const char *name,
                     const void *member)
{
    const struct rank_view *rank = *(const struct rank_view *const *)member;
    if (!rank)
        return;
    struct text_node *out = text_map(arena, map, name);
    text_bool(arena, out, "claims", rank->claims);
    text_bool(arena, out, "sure", rank->sure);
    text_int(arena, out, "priority", rank->priority);
    text_int(arena, out, "asked_priority", rank->asked_priority);
    if (rank->promised_ms)
        view_put_date(arena, out, "promised", rank->promised_ms);
    text_int(arena, out, "load", (int64_t)rank->load);
    text_int(arena, out, "usage", (int64_t)rank->usage);
    text_int(arena, out, "age_ms", (int64_t)rank->age_ms);
}

static void put_unfit(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    static const char *const kinds[] = {
        [UNFIT_RESOURCE] = "resource", [UNFIT_PORT] = "port",       [UNFIT_NODE] = "node",
        [UNFIT_APART] = "apart",       [UNFIT_DRAINED] = "drained", [UNFIT_DOWN] = "down"
    };
    const struct unfit_view *view = *(const struct unfit_view *const *)member;
    if (!view)
        return;
    const struct unfits *u = &view->unfits;
    struct text_node *out = text_map(arena, map, name);
    text_int(arena, out, "nodes", u->nodes);
    text_str(arena, out, "task", arena_printf(arena, "%s/%u", view->role, u->index));
    struct text_node *counts = text_list(arena, out, "counts");
    for (size_t i = 0; i < u->n; i++) {
        struct text_node *one = text_map(arena, counts, NULL);
        text_str(arena, one, "why", kinds[u->at[i].kind]);
        if (*u->at[i].name)
            text_str(arena, one, "resource", u->at[i].name);
        text_int(arena, one, "nodes", u->at[i].nodes);
    }
    if (view->pods)
        text_str(arena, out, "said", view->pods->unfit(arena, u));
}

static void put_estimates(struct arena *arena, struct text_node *map, const char *name,
                          const void *member)
{
    const struct estimates_view *view = *(const struct estimates_view *const *)member;
    struct text_node *list = view ? text_list(arena, map, name) : NULL;
    if (view && view->by_limit_ms) {
        struct text_node *one = text_map(arena, list, NULL);
        text_str(arena, one, "source", "limit");
        view_put_date(arena, one, "at", view->by_limit_ms);
    }
    if (view && view->learnt) {
        struct text_node *one = text_map(arena, list, NULL);
        text_str(arena, one, "source", "learnt");
        view_put_date(arena, one, "at", view->at_ms);
        view_put_date(arena, one, "earliest", view->earliest_ms);
        view_put_date(arena, one, "latest", view->latest_ms);
        text_int(arena, one, "known", view->known);
        text_int(arena, one, "jobs", view->jobs);
    }
}

static void put_run_time(struct arena *arena, struct text_node *map, const char *name,
                         const void *member)
{
    const struct run_time_view *view = *(const struct run_time_view *const *)member;
    struct text_node *out = view ? text_map(arena, map, name) : NULL;
    if (view && view->limit_ms.has)
        text_int(arena, out, "limit_ms", (int64_t)view->limit_ms.value);
    if (view && view->jobs) {
        text_str(arena, out, "of", view->of_queue ? "queue" : "name");
        text_int(arena, out, "jobs", view->jobs);
        text_int(arena, out, "median_ms", (int64_t)view->median_ms);
        text_int(arena, out, "low_ms", (int64_t)view->low_ms);
        text_int(arena, out, "high_ms", (int64_t)view->high_ms);
    }
    if (view)
        text_str(arena, out, "source", view->jobs ? "learnt" : "limit");
}

static void put_quota(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    const struct share_list *list = member;
    struct text_node *out = list->n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < list->n; i++) {
        const struct share_view *share = &list->at[i];
        struct text_node *one = text_map(arena, out, NULL);
        text_str(arena, one, share->queue ? "queue" : "user",
                 share->queue ? share->queue : share->user);
        view_put_amounts(arena, one, "used", &share->used);
        view_put_guarantee(arena, one, "guaranteed", &share->guaranteed);
        view_put_bounds(arena, one, "maximum", &share->maximum);
    }
}

static struct text_node *put_check(struct arena *arena, struct text_node *list, const char *name,
                                   bool exceeded)
{
    struct text_node *one = text_map(arena, list, NULL);
    text_str(arena, one, "name", name);
    text_str(arena, one, "status", exceeded ? "Exceeded" : "Passed");
    return one;
}

static void put_limit(struct arena *arena, struct text_node *list, const char *name,
                      const struct limit_check *check)
{
    struct text_node *one = put_check(arena, list, name, check->exceeded);
    struct text_node *over = text_list(arena, one, "exceed_resources");
    if (check->cpu)
        text_str(arena, over, NULL, "cpu");
    if (check->memory)
        text_str(arena, over, NULL, "memory");
    if (check->gpu)
        text_str(arena, over, NULL, "gpu");
    view_put_amounts(arena, one, "used", &check->used);
    view_put_bounds(arena, one, "limit", &check->limit);
    if (check->queue)
        text_str(arena, one, "queue", check->queue);
}

static void put_checks(struct arena *arena, struct text_node *map, const char *name,
                       const void *member)
{
    static const char *const names[LIMIT_CHECKS] = { [CHECK_QUEUE] = "SelfQuotaLimit",
                                                     [CHECK_ABOVE] = "AncestorQuotaLimit",
                                                     [CHECK_USER] = "UserLimit" };
    const struct checks_view *view = *(const struct checks_view *const *)member;
    if (!view)
        return;
    struct text_node *list = text_list(arena, map, name);
    for (int i = 0; i < LIMIT_CHECKS; i++)
        put_limit(arena, list, names[i], &view->limits[i]);
    struct text_node *one = put_check(arena, list, "QueueStrategyLimit", view->blocked);
    text_list(arena, one, "exceed_resources");
    text_str(arena, one, "strategy", queue_strategy_word(view->strategy));
    text_int(arena, one, "ahead", view->ahead);
}

/* ---- commands ---- */

static const struct refused typed = { .program = "muster" };

static void put_sets(struct buf *out, const struct words *sets)
{
    for (size_t i = 0; i < sets->n; i++) {
        buf_puts(out, " --set ");
        remedy_put_words(out, &sets->at[i], 1);
    }
}

static void put_command(struct buf *out, enum remedy_id id, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    remedy_put_line(out, id, text, &typed);
}

/* Does what was asked about. */
static void put_how(struct arena *arena, struct text_node *map, const char *name,
                    const void *member)
{
    const struct explain_view *view = member;
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    if (!view->changes.n)
        return;
    put_command(&out, REMEDY_RESUBMIT, view->number);
    buf_puts(&out, view->in_its_place ? " --replace" : "");
    buf_puts(&out, view->never ? " --wait" : ""); /* it is taken only to wait for nodes */
    put_sets(&out, &view->changes);
    text_str(arena, map, name, arena_strdup(arena, buf_str(&out)));
}

static const char *way_command(struct arena *arena, const struct explain_view *view,
                               const struct change_view *way)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    if (way->kind == CHANGE_RESUME) {
        put_command(&out, REMEDY_RESUME, view->number);
    } else if (view->job) {
        put_command(&out, REMEDY_RESUBMIT, view->number);
        buf_puts(&out, " --replace");
    } else {
        remedy_put_line(&out, REMEDY_SUBMIT_FILE, view->file ? view->file : "FILE", &typed);
    }
    put_sets(&out, &way->sets);
    return arena_strdup(arena, buf_str(&out));
}

/* "6 tasks, 12 gpu on n1 n2 and 3 more" */
static const char *way_gives(struct arena *arena, const struct change_view *way)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    char text[FMT_MAX];
    size_t nodes = 0;
    struct string_map *seen = string_map_create();
    buf_addf(&out, "%zu task%s", way->places.n, way->places.n == 1 ? "" : "s");
    if (way->gpu_milli)
        buf_addf(&out, ", %s gpu", fmt_milli(text, way->gpu_milli));
    for (size_t i = 0; i < way->places.n; i++) {
        const char *node = way->places.at[i].value;
        if (string_map_get(seen, node))
            continue;
        string_map_set(seen, node, &out);
        if (nodes++ < 3)
            buf_addf(&out, "%s%s", nodes == 1 ? " on " : " ", node);
    }
    if (nodes > 3)
        buf_addf(&out, " and %zu more", nodes - 3);
    string_map_destroy(seen);
    return arena_strdup(arena, buf_str(&out));
}

static void put_way(struct arena *arena, struct text_node *list, const struct explain_view *view,
                    const struct change_view *way)
{
    static const char *const resumed[] = { "joins the queue", "would start at once" };
    struct text_node *one = text_map(arena, list, NULL);
    text_str(arena, one, "what", way->set ? way->set : resumed[way->at_once]);
    text_str(arena, one, "kind", way_word(way->kind));
    text_str(arena, one, "how", way_command(arena, view, way));
    if (way->kind == CHANGE_RESUME)
        return;
    text_str(arena, one, "gives", way_gives(arena, way));
    struct text_node *sets = text_list(arena, one, "set");
    for (size_t i = 0; i < way->sets.n; i++)
        text_str(arena, sets, NULL, way->sets.at[i]);
    text_pairs(arena, text_map(arena, one, "places"), &way->places);
}

static void put_ways(struct arena *arena, struct text_node *map, const char *name,
                     const void *member)
{
    const struct explain_view *view = member;
    struct text_node *list = view->ways.n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < view->ways.n; i++)
        put_way(arena, list, view, &view->ways.at[i]);
}

const struct view_row explain_rows[] = {
    ROW(explain_view, job, ID, 0, "id"),
    ROW(explain_view, number, COUNT, 0, ""),
    ROW(explain_view, name, TEXT, 0, ""),
    ROW(explain_view, array, COUNT, 0, "number of its array, of a member"),
    GIVEN(explain_view, index, "of a member, in its array"),
    WORD_OF(explain_view, state, view_job_word, ""),
    ROW(explain_view, queue, TEXT, 0, ""),
    ROW(explain_view, reason, TEXT, 0, "one sentence"),
    ROW(explain_view, why, TEXT, 0,
        "resource ports labels topology ahead time after array nodes_down quota user reserved "
        "evicting pending"),
    ROW(explain_view, resource, TEXT, 0, "that is short"),
    ROW(explain_view, level, TEXT, 0, "of the topology that has to hold all"),
    ROW(explain_view, domain, TEXT, 0, "of that level which comes closest"),
    ROW(explain_view, role, TEXT, 0, "whose tasks do not fit"),
    ROW(explain_view, never, TEXT, 0,
        "why it never fits the nodes that there are: it waits for others"),
    ROW(explain_view, need, COUNT, 0, "per task (milli or bytes)"),
    ROW(explain_view, best, COUNT, 0, "free on the node that comes closest, or left of a share"),
    ROW(explain_view, short_by, COUNT, 0, "in all"),
    ROW(explain_view, total, COUNT, 0, "of the whole job, or of the share"),
    ROW(explain_view, node, TEXT, 0, "that comes closest"),
    PUT_BY(explain_view, blocker, put_blocker,
           "{number, name}: whose promise it would delay; here and below without a number of a job "
           "that the reader may not read"),
    PUT_BY(
        explain_view, unfit, put_unfit,
        "{nodes, task, counts: [{why, resource, nodes}], said}: of the nodes, on how many its "
        "next task finds what in the way; said: where its format has pods, in Kubernetes' words"),
    ROW(explain_view, ahead, COUNT, ALWAYS, "waiting jobs of its queue that start before it"),
    ROW(explain_view, ahead_elsewhere, COUNT, 0, "the same of other queues"),
    ROW(explain_view, ahead_known, FLAG, 0,
        "these and no others start before it when nothing changes: no job comes or is stopped, each "
        "runs to its limit, no node comes or goes; absent: those whose turn comes before"),
    PUT_BY(explain_view, ahead_jobs, put_named, "[{number, name}]: the first of its queue"),
    PUT_BY(explain_view, rank, put_rank,
           "what its turn is made of, in this order: claims (others were ended for it), sure (its "
           "queue is), priority, promised, load (of its queue, thousandths of what it is due), "
           "usage (of its user), age_ms"),
    STAMP(explain_view, until, "does not start earlier"),
    STAMP(explain_view, expected, "starts by then as far as limits of run time say"),
    ROW(explain_view, promised, FLAG, 0, "room is kept for it from then on"),
    ROW(explain_view, at_least, FLAG, 0, "expected is not_before: no more is known"),
    STAMP(explain_view, not_before,
          "starts no sooner, unless a job ends or is stopped before its limit, a node comes, or a "
          "priority changes"),
    PUT_BY(
        explain_view, estimates, put_estimates,
        "[{source, at, earliest, latest, known, jobs}]: source limit: each job runs to its limit "
        "of run time, or as long as is assumed of those without; source learnt: as long as jobs "
        "like it ran before; known: of so many of the jobs that matter"),
    PUT_BY(explain_view, run_time, put_run_time,
           "{source, limit_ms, of, jobs, median_ms, low_ms, high_ms}: how long it runs: learnt of "
           "jobs of its owner and name, or of its queue, with the middle half of them"),
    PUT_BY(explain_view, ends, put_ends,
           "[{number, name, at, assumed, waits}]: whose ends that rests on, latest first; assumed: "
           "it has no limit of run time"),
    ROW(explain_view, n_ends, COUNT, 0, "how many in all"),
    STAMP(explain_view, not_later,
          "what it was told first, while that holds and rests on limits alone"),
    PUT_BY(explain_view, away, explain_put_away, AWAY_DOC),
    NESTED(explain_view, early_images, NULL, EARLY_IMAGES_DOC),
    ROW(explain_view, would_start, FLAG, ALWAYS, "starts now"),
    ROW(explain_view, changes, WORDS, 0, "what-if: the assignments"),
    { .name = "how",
      .doc = "what-if: the command that does it",
      .shape = PUT,
      .flags = A_TEXT,
      .put = put_how },
    PUT_BY(
        explain_view, delays, put_delays,
        "[{number, name, before, after}]: what-if and files: whose promise moves; without after: "
        "it goes"),
    { .name = "ways",
      .doc = "[{what, kind, how, gives, set, places}]: what would start it now, smallest change "
             "first",
      .shape = PUT,
      .put = put_ways },
    PUT_BY(explain_view, quota, put_quota,
           "[{queue or user, used, guaranteed, maximum}]: its queue, those above, its user"),
    PUT_BY(explain_view, checks, put_checks,
           "[{name, status, exceed_resources, used, limit}]: as PAI-DLC's diagnosis has them"),
    PUT_BY(explain_view, places, view_put_pairs, "task: node"),
    END
};
