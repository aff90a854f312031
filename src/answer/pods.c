/* Jobs as the pods of the system they are written for: lists, and one pod with its events.
 *
 * Inputs: rows, and what lives in memory. Effects: none. Nothing of it is stored: names and words
 * are the convention's, events of placing and starting come from the attempts, and why a pod waits
 * is asked of the scheduler again (times and counts are those of its looks). */
#include "answer/pods.h"

#include "account/rights.h"
#include "answer/job_list.h"
#include "answer/tasks.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/ctl.h"
#include "live/row_json.h"
#include "text/remedies.h"

#include <stdio.h>
#include <string.h>

#define JOBS_MAX   5000 /* the newest that are looked at */
#define PAGE       1000
#define EVENTS     3   /* of one pod at most */
#define NAME_WHOLE 253 /* shorter names of pods are whole everywhere */

struct pods {
    struct contents core;
    struct arena *arena;
    const struct pod_ask *ask;
    bool labels, details, events; /* of each pod: labels; what it asks for; its events */
    struct pod_list *list;
    /* the job that is being shown */
    const struct job_row *row;
    const struct live_job *live;
    const struct job_spec *spec;
    const struct pod_words *words;
    uint64_t eligible_ms;        /* its tasks might begin then */
    const struct unfits *unfits; /* asked once a job, when needed */
};

struct task_now { /* one task, from its row and its last attempt */
    const struct task_row *task;
    const struct attempt_row *last;
    uint32_t attempts;
};

/* ---- events ---- */

static void put_event(struct pods *p, struct pod_view *pod, const struct pod_event_view *event)
{
    struct pod_event_list *list = &pod->events;
    if (!list->at)
        list->at = ARENA_ARRAY(p->arena, EVENTS, struct pod_event_view);
    struct pod_event_view *put = &list->at[list->n++];
    *put = *event;
    put->count = put->count ? put->count : 1;
    put->first_ms = put->first_ms ? put->first_ms : put->last_ms;
}

static const struct unfits *unfits_of(struct pods *p)
{
    struct sched_more more;
    if (p->unfits)
        return p->unfits;
    if (!planning_left(p->core.ctl, p->arena, p->live, &more))
        more = (struct sched_more){ .spec = p->spec };
    struct unfits *found = ARENA_NEW(p->arena, struct unfits);
    *found = sched_unfit(p->core.cluster, &more, p->arena);
    p->unfits = found;
    return found;
}

static void put_waiting(struct pods *p, struct pod_view *pod)
{
    const struct live_refusal *r = live_refusal(p->live);
    const struct unfits *u = r->count ? unfits_of(p) : NULL;
    if (!u || u->n == 0)
        return;
    struct pod_event_view event = { .type = "Warning",
                                    .reason = "FailedScheduling",
                                    .from = p->words->scheduler,
                                    .count = r->count,
                                    .first_ms = ctl_date_of(p->core.ctl, r->first_ms),
                                    .last_ms = ctl_date_of(p->core.ctl, r->last_ms) };
    event.message =
        p->live->waits ? p->words->rejected(p->arena, p->spec, u) : p->words->unfit(p->arena, u);
    put_event(p, pod, &event);
}

static void put_life(struct pods *p, struct pod_view *pod, const struct attempt_row *a)
{
    struct pod_event_view event = { .type = "Normal",
                                    .reason = "Scheduled",
                                    .from = p->words->scheduler,
                                    .last_ms = a->placed_ms };
    event.message = arena_printf(p->arena, "Successfully assigned %s/%s to %s", pod->namespace,
                                 pod->name, a->node);
    put_event(p, pod, &event);
    if (a->started_ms) {
        event = (struct pod_event_view){ .type = "Normal",
                                         .reason = "Started",
                                         .from = "muster",
                                         .message = "Started container main",
                                         .last_ms = a->started_ms };
        put_event(p, pod, &event);
    }
    if (attempt_state_final(a->state) && a->state != ATTEMPT_SUCCEEDED) {
        const char *why = *a->reason ? a->reason : "it ended";
        struct remedies logs = { .n = 0 };
        remedies_add(
            &logs, REMEDY_LOGS_OF_TASK,
            arena_printf(p->arena, "%llu\n%s", (unsigned long long)p->row->number, pod->task));
        event = (struct pod_event_view){ .type = "Warning",
                                         .reason = "Failed",
                                         .from = "muster",
                                         .message = remedies_line(p->arena, why, &logs),
                                         .last_ms = a->ended_ms };
        put_event(p, pod, &event);
    }
}

/* ---- one pod ---- */

static bool wanted(const struct pods *p, const char *name)
{
    return p->ask->job || !p->ask->name || strcmp(p->ask->name, name) == 0;
}

static void add_pod(struct pods *p, const struct pod_view *pod)
{
    struct pod_list *list = p->list;
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;
        struct pod_view *wider = ARENA_ARRAY(p->arena, cap, struct pod_view);
        if (list->n)
            memcpy(wider, list->at, list->n * sizeof *wider);
        list->at = wider;
        list->cap = cap;
    }
    list->at[list->n++] = *pod;
}

static void put_labels(struct pods *p, struct pod_view *pod, const struct task_place *place)
{
    struct pairs *labels = ARENA_NEW(p->arena, struct pairs);
    struct pairs *annotations = ARENA_NEW(p->arena, struct pairs);
    p->words->labels(p->arena, p->spec, place, labels);
    pod->labels = labels;
    if (place)
        p->words->annotations(p->arena, p->spec, place, annotations);
    if (annotations->n)
        pod->annotations = annotations;
}

static void put_requests(struct pods *p, struct pod_view *pod, const struct resources *r)
{
    char text[FMT_MAX];
    struct pairs *requests = ARENA_NEW(p->arena, struct pairs);
    if (r->cpu_milli)
        pairs_set(requests, p->arena, "cpu", fmt_milli(text, r->cpu_milli));
    if (r->memory)
        pairs_set(requests, p->arena, "memory", fmt_size(text, r->memory));
    if (r->disk)
        pairs_set(requests, p->arena, "ephemeral-storage", fmt_size(text, r->disk));
    if (r->gpu_milli)
        pairs_set(requests, p->arena, "nvidia.com/gpu", fmt_milli(text, r->gpu_milli));
    for (size_t i = 0; i < r->custom.n; i++)
        pairs_set(requests, p->arena, r->custom.at[i].name, fmt_milli(text, r->custom.at[i].milli));
    pod->requests = requests;
}

static const char *command_of(struct pods *p, const struct role *role)
{
    if (role->run)
        return arena_strdup(p->arena, role->run);
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    for (size_t i = 0; i < role->argv.n; i++)
        buf_addf(&text, "%s%s", i ? " " : "", role->argv.at[i]);
    return arena_strdup(p->arena, buf_str(&text));
}

static struct pod_view pod_of(struct pods *p, const char *name)
{
    return (struct pod_view){ .name = name,
                              .namespace = p->row->project,
                              .job = p->row->number,
                              .controlled_by =
                                  arena_printf(p->arena, "%s/%s", p->words->kind, p->row->name) };
}

static void put_master(struct pods *p)
{
    const char *name = p->words->master ? p->words->master(p->arena, p->spec) : NULL;
    if (!name || !wanted(p, name))
        return;
    struct pod_view pod = pod_of(p, name);
    enum job_state state = p->live ? p->live->row.state : p->row->state;
    enum task_state as = state == JOB_SUCCEEDED ? TASK_SUCCEEDED
                         : state == JOB_FAILED  ? TASK_FAILED
                                                : TASK_RUNNING;
    pod.state = as;
    pod.status = p->words->status(as, "");
    pod.ready = as == TASK_RUNNING;
    pod.created_ms = pod.started_ms = p->row->submitted_ms;
    pod.ended_ms = p->row->ended_ms;
    if (p->labels)
        put_labels(p, &pod, NULL);
    if (p->events) {
        struct pod_event_view event = { .type = "Normal",
                                        .reason = "Started",
                                        .from = "muster",
                                        .message = "the server itself is the job's master",
                                        .last_ms = p->row->submitted_ms };
        put_event(p, &pod, &event);
    }
    add_pod(p, &pod);
}

static bool being_removed(const struct pods *p)
{
    return p->live &&
           (p->live->row.outcome == OUTCOME_STOPPED || p->live->row.outcome == OUTCOME_SUSPENDED);
}

static void put_attempt(struct pods *p, struct pod_view *pod, const struct task_now *now,
                        enum task_state state)
{
    const struct attempt_row *a = now->last;
    struct live_task place = { 0 };
    const char *phrase = "";
    row_json_read_place(p->arena, p->arena, a->place, &place);
    pod->node = a->node;
    pod->ip = place.place.address;
    pod->created_ms = a->attempt > 1 ? a->placed_ms : p->eligible_ms;
    pod->started_ms = a->started_ms;
    pod->ended_ms = a->ended_ms;
    pod->restarts = now->attempts - 1;
    if (attempt_state_final(a->state)) {
        phrase = dialect_classify(p->core.dialects, p->spec, &a->ending).phrase;
        pod->has_exit_code = a->ending.exited;
        pod->exit_code = a->ending.code;
    }
    pod->ready = state == TASK_RUNNING;
    if (being_removed(p) && !task_state_final(state))
        state = TASK_STOPPED;
    pod->state = state;
    pod->status = p->words->status(state, phrase ? phrase : "");
    if (p->events)
        put_life(p, pod, a);
}

/* A task whose last attempt is over and that gets another is a pod that waits already. */
static void put_task(struct pods *p, const struct task_now *now, uint32_t role, uint32_t index)
{
    enum task_state state = now->task ? now->task->state : TASK_WAITING;
    bool waits = state == TASK_WAITING || !now->last;
    struct task_place place = { .role = role, .index = index };
    place.attempt = now->last ? now->last->attempt + waits : 1;
    const char *name = p->words->name(p->arena, p->spec, &place);
    bool ended = job_state_final(p->live ? p->live->row.state : p->row->state);
    if (!wanted(p, name) || (state == TASK_STOPPED && ended) || (waits && ended))
        return;
    struct pod_view pod = pod_of(p, name);
    pod.role = arena_strdup(p->arena, p->spec->roles[role].name);
    pod.index = index;
    pod.task = arena_printf(p->arena, "%s/%u", pod.role, index);
    pod.image = arena_strdup(p->arena, p->spec->roles[role].image);
    if (p->labels)
        put_labels(p, &pod, &place);
    if (p->details) {
        put_requests(p, &pod, &p->spec->roles[role].resources);
        pod.command = command_of(p, &p->spec->roles[role]);
    }
    if (waits) {
        pod.state = TASK_WAITING;
        pod.status = p->words->status(TASK_WAITING, "");
        pod.restarts = now->attempts;
        pod.created_ms = now->last && now->last->ended_ms ? now->last->ended_ms : p->eligible_ms;
        if (p->events && p->live)
            put_waiting(p, &pod);
    } else {
        put_attempt(p, &pod, now, state);
    }
    add_pod(p, &pod);
}

/* ---- one job ---- */

/* Tasks of one role, from that index. */
static const struct task_now *tasks_now(struct pods *p, uint32_t role, uint32_t first, uint32_t n)
{
    struct task_now *now = ARENA_ARRAY(p->arena, n, struct task_now);
    const struct task_range range = {
        .job = p->row->id,
        .first = { .role = (uint16_t)role, .index = first },
        .last = { .role = (uint16_t)role, .index = first + n - 1 },
    };
    struct task_row *tasks;
    struct attempt_row *attempts;
    size_t n_tasks = 0, n_attempts = 0;
    if (store_tasks_in(p->core.store, p->arena, &range, &tasks, &n_tasks, NULL))
        n_tasks = 0;
    if (store_attempts_in(p->core.store, p->arena, &range, &attempts, &n_attempts, NULL))
        n_attempts = 0;
    for (size_t i = 0; i < n_tasks; i++)
        now[tasks[i].ref.index - first].task = &tasks[i];
    for (size_t i = 0; i < n_attempts; i++) {
        struct task_now *of = &now[attempts[i].ref.index - first];
        of->attempts++;
        if (!of->last || of->last->attempt < attempts[i].attempt)
            of->last = &attempts[i];
    }
    return now;
}

/* false: any pod may be called so. A name that was cut may have lost its number. */
static bool number_of(const char *name, uint64_t *number)
{
    const char *last = name && strlen(name) < NAME_WHOLE ? strrchr(name, '-') : NULL;
    return last && scan_u64(last + 1, 0, UINT32_MAX, number);
}

/* Of each role the one whose pod may have the name that is asked for; false: any may. */
static bool put_named(struct pods *p)
{
    uint64_t number;
    if (!number_of(p->ask->job ? p->ask->like : p->ask->name, &number))
        return false;
    p->list->whole = true;
    for (uint32_t r = 0; r < p->spec->n_roles; r++) {
        uint32_t index = p->words->index(&p->spec->roles[r], number);
        if (index < p->spec->roles[r].replicas)
            put_task(p, tasks_now(p, r, index, 1), r, index);
    }
    return true;
}

/* Those of the span that is asked for. */
static void put_tasks(struct pods *p)
{
    uint32_t skip = p->ask->first, left = p->ask->tasks ? p->ask->tasks : UINT32_MAX;
    for (uint32_t r = 0; r < p->spec->n_roles && left > 0; r++) {
        uint32_t tasks = p->spec->roles[r].replicas, first = skip < tasks ? skip : tasks;
        uint32_t n = tasks - first < left ? tasks - first : left;
        const struct task_now *now = n ? tasks_now(p, r, first, n) : NULL;
        for (uint32_t i = 0; i < n; i++)
            put_task(p, &now[i], r, first + i);
        skip -= first;
        left -= n;
    }
}

static void put_job(struct pods *p, uint64_t id)
{
    struct job_row *row = ARENA_NEW(p->arena, struct job_row);
    struct live_column notes = { 0 };
    if (core_row(p->core.ctl, p->arena, id, row) ||
        !user_may_read(p->core.accounts, p->ask->owner, row))
        return;
    p->row = row;
    p->unfits = NULL;
    p->live = live_find(p->core.live, row->id);
    p->spec = tasks_spec(&p->core, p->arena, row);
    enum job_state state = p->live ? p->live->row.state : row->state;
    if (!p->spec || state == JOB_STOPPED)
        return;
    if (p->live)
        notes = p->live->notes;
    else
        row_json_read_job(p->arena, p->arena, row->live, &notes);
    p->eligible_ms = notes.resumed_ms ? notes.resumed_ms : row->submitted_ms;
    if (p->ask->first == 0)
        put_master(p);
    if (state != JOB_SUSPENDED && !put_named(p))
        put_tasks(p);
}

/* ---- all of them ---- */

/* Names are unique in their namespace there: the newest job has it. */
static void put_jobs(struct pods *p, const char *dialect)
{
    struct string_map *seen = string_map_create();
    struct job_filter filter = { .dialect = dialect, .limit = PAGE };
    const struct identity who = { .name = p->ask->owner,
                                  .role = user_role_of(p->core.accounts, p->ask->owner) };
    if (who.name)
        filter_readable(p->core.accounts, p->arena, &who, &filter);
    struct job_row *rows;
    size_t n = PAGE, all = 0;
    while (n == PAGE && all < JOBS_MAX) {
        n = 0;
        if (store_list(p->core.store, p->arena, &filter, &rows, &n, NULL))
            break;
        for (size_t i = 0; i < n; i++) {
            const char *key = arena_printf(p->arena, "%s/%s", rows[i].project, rows[i].name);
            bool other = p->ask->namespace && strcmp(p->ask->namespace, rows[i].project) != 0;
            if (other || string_map_get(seen, key))
                continue;
            string_map_set(seen, key, rows);
            put_job(p, rows[i].id);
        }
        all += n;
        filter.before_id = n ? rows[n - 1].id : 0;
    }
    string_map_destroy(seen);
}

/* Of a job in any format: in the words of the first convention that has pods, unless its own has.
 * An array has none. */
static void put_one(struct pods *p, const struct listed_job *job)
{
    const struct dialects *all = p->core.dialects;
    const struct convention *own = convention_find(all, job->row.dialect);
    p->words = own ? own->pods : NULL;
    for (size_t i = 0; i < all->n_conventions && !p->words; i++)
        p->words = all->conventions[i]->pods;
    if (p->words && !job->row.members)
        put_job(p, job->row.id);
}

static int check_one(const struct pods *p, struct err *err)
{
    const char *name = p->ask->name, *namespace = p->ask->namespace;
    if (p->list->n == 1)
        return 0;
    if (p->list->n == 0) {
        err_set(err, ERR_NOT_FOUND, "no pod \"%.120s\"%s%.60s", name, namespace ? " in " : "",
                namespace ? namespace : "");
        return err_remedy_of(err, REMEDY_LIST_KIND, "pods");
    }
    err_set(err, ERR_INPUT, "%zu namespaces have a pod \"%.120s\"", p->list->n, name);
    return err_hint(err, "-n %.60s, for one of them", p->list->at[0].namespace);
}

int answer_pods_view(struct ctl *ctl, struct arena *arena, const struct pod_ask *ask,
                     struct pod_list *list, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct pods p = { .core = core, .arena = arena, .ask = ask, .list = list };
    *list = (struct pod_list){ 0 };
    p.details = ask->name || ask->details;
    p.labels = p.details || ask->labels;
    p.events = ask->name || ask->events;
    const struct dialects *all = core.dialects;
    if (ask->job) {
        put_one(&p, ask->job);
        return 0;
    }
    for (size_t i = 0; i < all->n_conventions; i++) {
        p.words = all->conventions[i]->pods;
        if (p.words)
            put_jobs(&p, all->conventions[i]->name);
    }
    return ask->name ? check_one(&p, err) : 0;
}
