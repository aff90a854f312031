/* Why does a job wait, and what would change it: the scheduler's own code on the cluster as it is
 * now. */
#include "ctl/array.h"
#include "ctl/core.h"
#include "ctl/views.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const char *const why_words[] = {
    [WAIT_RESOURCE] = "resource",     [WAIT_PORTS] = "ports",     [WAIT_LABELS] = "labels",
    [WAIT_AHEAD] = "ahead",           [WAIT_TIME] = "time",       [WAIT_AFTER] = "after",
    [WAIT_NODES_DOWN] = "nodes_down", [WAIT_PENDING] = "pending",
};

static struct text_node *places_tree(struct arena *arena, const struct job_spec *spec,
                                     const struct plan_entry *entry)
{
    struct text_node *map = text_map(arena, NULL, NULL);
    for (uint32_t i = 0; i < entry->n_tasks; i++)
        text_str(arena, map,
                 arena_printf(arena, "%s/%u", spec->roles[entry->tasks[i].role].name,
                              entry->tasks[i].index),
                 entry->tasks[i].node);
    return map;
}

static bool fits_with(struct ctl *ctl, struct arena *arena, const struct job_spec *spec,
                      uint32_t replicas)
{
    struct job_spec other = *spec;
    struct role role = spec->roles[0];
    role.replicas = role.min = replicas;
    other.roles = &role;
    other.gangs = NULL;
    other.n_gangs = 0;
    struct sched_job job = { .id = 1, .spec = &other };
    return sched_try(ctl->cluster, &job, core_now(ctl), arena).kind == PLAN_ADMIT;
}

/* The largest number of tasks of a one-role job that would start now. */
static uint32_t most_that_fit(struct ctl *ctl, struct arena *arena, const struct job_spec *spec)
{
    uint32_t low = 0, high = spec->roles[0].replicas;
    while (low + 1 < high) {
        uint32_t mid = low + (high - low) / 2;
        if (fits_with(ctl, arena, spec, mid))
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void add_way(struct arena *arena, struct explain_view *view, const char *what,
                    const char *how)
{
    view->ways = view->ways ? view->ways : text_list(arena, NULL, NULL);
    struct text_node *one = text_map(arena, view->ways, NULL);
    text_str(arena, one, "what", what);
    text_str(arena, one, "how", how);
}

static void find_ways(struct ctl *ctl, struct arena *arena, const struct live_job *job,
                      struct explain_view *view)
{
    const struct job_spec *spec = job->spec;
    if (job->row.state == JOB_SUSPENDED) {
        add_way(arena, view, view->would_start ? "would start at once" : "joins the queue",
                arena_printf(arena, "muster resume %llu", (unsigned long long)job->row.number));
        return;
    }
    if (view->would_start || spec->n_roles != 1 || spec->roles[0].replicas < 2)
        return;
    uint32_t fit = most_that_fit(ctl, arena, spec);
    if (fit > 0)
        add_way(arena, view, arena_printf(arena, "replicas=%u", fit),
                arena_printf(arena, "muster submit --like %llu --set roles.%s.replicas=%u",
                             (unsigned long long)job->row.number, spec->roles[0].name, fit));
}

static void add_reason(struct arena *arena, const struct wait_reason *reason,
                       struct explain_view *view)
{
    view->reason = reason->text ? arena_strdup(arena, reason->text) : view->reason;
    view->why = reason->why < ARRAY_LEN(why_words) ? why_words[reason->why] : NULL;
    view->resource = reason->resource;
    view->role = reason->role;
    view->node = reason->node;
    view->need = reason->need;
    view->best = reason->best;
    view->short_by = reason->short_by;
    view->total = reason->total;
    view->until_ms = reason->until_ms;
}

static void explain_waiting(struct ctl *ctl, struct arena *arena, struct live_job *job,
                            struct explain_view *view)
{
    char text[LIVE_REASON_MAX];
    if (!core_spec(ctl, job))
        return;
    bool blocked = job->notes.has_after && after_blocked(ctl, job, text, sizeof text) != 0;
    struct sched_job asked = { .id = job->row.id,
                               .spec = job->spec,
                               .not_before_ms = job->row.not_before_ms,
                               .blocked_after = blocked };
    struct plan_entry entry = sched_try(ctl->cluster, &asked, core_now(ctl), arena);
    view->would_start = entry.kind == PLAN_ADMIT;
    if (view->would_start)
        view->places = places_tree(arena, job->spec, &entry);
    else
        add_reason(arena, &entry.reason, view);
    const struct live_array *array = job->aside ? array_find(ctl, job->row.array) : NULL;
    if (blocked)
        view->reason = arena_strdup(arena, text);
    if (array) {
        view->reason =
            arena_printf(arena, "its array runs %u at a time", array->spec->array.at_once);
        view->why = "array";
        view->would_start = false;
        view->places = NULL;
    }
    if (job->waits)
        view->ahead = live_wait_position(ctl->live, job);
    find_ways(ctl, arena, job, view);
}

/* A job that runs with fewer tasks than it asks for: what keeps the others. */
static void explain_rest(struct ctl *ctl, struct arena *arena, const struct live_job *job,
                         struct explain_view *view)
{
    struct sched_more more;
    if (!job->spec || !job->tasks || !planning_left(ctl, arena, job, &more))
        return;
    struct sched_snapshot one = { .cluster = ctl->cluster, .more = &more, .n_more = 1 };
    struct plan plan = sched_plan(&one, core_now(ctl), arena);
    const char *own = view->reason;
    if (plan.n == 0 || plan.at[0].kind != PLAN_WAIT)
        return;
    add_reason(arena, &plan.at[0].reason, view);
    view->reason = arena_printf(arena, "%s; %zu more wait: %s", own ? own : "", more.n,
                                plan.at[0].reason.text ? plan.at[0].reason.text : "");
}

/* Of an array: its first member that waits to start, one that has its turn before one that has not;
 * its own id when none does. */
static uint64_t whom(struct ctl *ctl, uint64_t id)
{
    const struct live_array *array = array_find(ctl, id);
    uint64_t aside = 0;
    for (uint32_t i = 1; array && i <= array->row.members; i++) {
        const struct live_job *job = live_find(ctl->live, id + i);
        if (!job || job->row.state != JOB_QUEUED)
            continue;
        if (job->waits)
            return job->row.id;
        aside = aside ? aside : job->row.id;
    }
    return aside ? aside : id;
}

struct text_node *ctl_explain_tree(struct ctl *ctl, struct arena *arena, uint64_t asked,
                                   struct err *err)
{
    struct job_row row;
    char text[JOB_ID_TEXT];
    uint64_t id = whom(ctl, asked);
    if (core_row(ctl, arena, id, &row)) {
        err_set(err, ERR_NOT_FOUND, "no such job");
        return NULL;
    }
    struct live_job *live = live_find(ctl->live, id);
    struct explain_view view = { .job = job_id_format(text, id),
                                 .number = row.number,
                                 .name = row.name,
                                 .array = array_number(&row),
                                 .has_index = row.array != 0,
                                 .index = row.index,
                                 .queue = row.queue,
                                 .state = job_state_word(live ? live->row.state : row.state),
                                 .reason = live ? live_reason(live) : row.reason };
    if (live && (live->row.state == JOB_QUEUED || live->row.state == JOB_SUSPENDED))
        explain_waiting(ctl, arena, live, &view);
    else if (live)
        explain_rest(ctl, arena, live, &view);
    return view_put(arena, NULL, NULL, VIEW_EXPLAIN, &view);
}
