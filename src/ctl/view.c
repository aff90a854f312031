/* Reading: jobs, lists, events, nodes and figures as trees. Rows are the truth; what lives in
 * memory is newer for reasons and log ends. Nothing here writes. */

#include "account/rights.h"
#include "base/mem.h"
#include "ctl/cluster_views.h"
#include "ctl/core.h"
#include "ctl/devices.h"
#include "ctl/free_devices.h"
#include "ctl/job_list.h"
#include "ctl/nodes.h"
#include "ctl/results.h"
#include "ctl/tasks.h"
#include "ctl/timeline.h"
#include "ctl/views.h"
#include "ctl/wait_texts.h"
#include "depend/array.h"
#include "job/old_sentence.h"
#include "job/record.h"
#include "live/row_json.h"
#include "store/find.h"
#include "text/json.h"

#include <string.h>

#define MANY_TASKS 256u /* fewer are counted as fast as a row is read */

static struct text_node *parse(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    return text ? json_parse(arena, text, strlen(text), 0, &report) : NULL;
}

/* ---- one job ---- */

static void fill_array(struct ctl *ctl, const struct job_row *row, struct arena *arena,
                       struct job_view *view)
{
    uint32_t *counts = ARENA_ARRAY(arena, JOB_STATE_N, uint32_t);
    array_counts(ctl->arrays, row, counts);
    view->members = row->members;
    view->member_states = counts;
}

/* The indices are in the canonical job; a list reads them where it is in memory, and of the others
 * from their rows. */
static void fill_indices(struct ctl *ctl, uint64_t id, struct arena *arena, struct job_view *view)
{
    const struct live_array *array = array_find(ctl->arrays, id);
    char text[JOB_ARRAY_TEXT];
    struct job_row row;
    if (!view->members)
        return;
    const struct job_spec *spec = array ? array->spec : NULL;
    if (!spec && core_row(ctl, arena, id, &row) == 0)
        spec = job_of_text(arena, row.spec);
    if (!spec)
        return;
    view->indices = arena_strdup(arena, job_array_range(text, &spec->array));
    view->at_once = spec->array.at_once;
}

static void fill_words(struct ctl *ctl, const struct ctl_list_row *job, struct job_view *view)
{
    const struct live_job *live = live_find(ctl->live, job->row.id);
    const struct dialect *dialect = dialect_find(ctl->config.dialects, job->row.dialect);
    const struct convention *words = convention_find(ctl->config.dialects, job->row.dialect);
    view->title = dialect ? dialect->title : NULL;
    if (words && words->job_word)
        view->word =
            words->job_word(job->row.state, live && live_in_phase(live, PHASE_RUNNING) > 0);
    if (words && words->held_word && job->row.state == JOB_STOPPING && live &&
        live->notes.hold_until_ms > 0)
        view->word = words->held_word(job->row.outcome);
}

static void fill_runtime(enum job_runtime runtime, struct job_view *view)
{
    view->runtime = runtime == RUNTIME_SERVER ? NULL : runtime_word(runtime);
}

static void fill_live(const struct ctl *ctl, const struct live_job *live, struct job_view *view)
{
    fill_runtime(live->notes.runtime, view);
    if (live->row.state == JOB_QUEUED && live->waits) {
        view->expected_ms = core_date_of(ctl, live->expected_ms);
        /* Since then a node went, say: it is no promise any more. */
        if (live->expected_ms && live->expected_ms <= live->notes.promised_ms)
            view->promised_ms = core_date_of(ctl, live->notes.promised_ms);
    }
    view->held_until_ms = core_date_of(ctl, live->notes.hold_until_ms);
    struct role_tally sum;
    live_tally(live, &sum);
    view->tasks_succeeded = sum.succeeded;
    view->tasks_failed = sum.failed;
}

/* Of a large job that has ended its row knows it: counting took 10 ms. */
static bool fill_kept_counts(struct ctl *ctl, struct arena *arena, const struct job_row *row,
                             struct job_view *view)
{
    struct job_row whole;
    struct live_column notes = { 0 };
    if (row->members || row->tasks < MANY_TASKS || core_row(ctl, arena, row->id, &whole) != 0)
        return false;
    row_json_read_job(arena, arena, whole.live, &notes);
    view->tasks_succeeded = notes.ended.succeeded;
    view->tasks_failed = notes.ended.failed;
    return notes.counted;
}

/* Of an array: of all its members. Of a job that has ended: as it ended. */
static void fill_task_counts(struct ctl *ctl, struct arena *arena, const struct job_row *row,
                             struct job_view *view)
{
    struct task_counts counts = { 0 };
    if (fill_kept_counts(ctl, arena, row, view))
        return;
    if (store_task_counts(ctl->config.store, row, &counts, NULL) != 0)
        return;
    view->tasks_running = counts.running;
    view->tasks_succeeded = counts.succeeded;
    view->tasks_failed = counts.failed;
}

/* What a list tells. Texts of the row are in the arena; a live job's reason is its own. */
static void fill_job(struct ctl *ctl, const struct ctl_list_row *job, const char *owner,
                     struct arena *arena, struct job_view *view)
{
    const struct job_row *row = &job->row;
    const struct live_job *live = live_find(ctl->live, row->id);
    *view =
        (struct job_view){ .id = row->id,
                           .name = row->name,
                           .owner = row->owner,
                           .project = row->project,
                           .queue = row->queue,
                           .dialect = row->dialect,
                           .state = row->state,
                           .outcome = row->outcome,
                           .reason = arena_strdup(arena, ctl_listed_reason(ctl, arena, job, owner)),
                           .number = row->number,
                           .priority = row->priority,
                           .generation = row->generation,
                           .restarts = row->restarts,
                           .tasks = row->tasks,
                           .tasks_running = job->running,
                           .gpu_milli = row->gpu_milli,
                           .submitted_ms = row->submitted_ms,
                           .started_ms = row->started_ms,
                           .ended_ms = row->ended_ms,
                           .not_before_ms = core_date_of(ctl, row->not_before_ms),
                           .array = array_number(row),
                           .has_index = row->array != 0,
                           .index = row->index };
    fill_words(ctl, job, view);
    if (row->members)
        fill_array(ctl, row, arena, view);
    if (live) {
        fill_live(ctl, live, view);
        view->away = nodes_away_of(ctl, arena, live);
    } else {
        fill_task_counts(ctl, arena, row, view);
    }
    fill_indices(ctl, row->id, arena, view);
}

/* Credentials are shown to nobody; others than the owner see no secret. */
static const char *origin_text(struct ctl *ctl, struct arena *arena, const struct job_row *row,
                               bool may)
{
    struct origin_row origin;
    if (store_get_origin(ctl->config.store, arena, row->id, &origin, NULL) != 1)
        return NULL;
    if (!may || !origin.text)
        return origin.masked;
    if (origin.masked && strcmp(origin.text, origin.masked) == 0)
        return origin.text;
    return dialect_without_credentials(ctl->config.dialects, arena, row->dialect, origin.text,
                                       strlen(origin.text));
}

#define TIMELINE_PAGE 1000

static struct event_list timeline_of(struct ctl *ctl, struct arena *arena, uint64_t id,
                                     const char *owner)
{
    struct event_list all = { .at = ARENA_ARRAY(arena, TIMELINE_MAX, struct event_view) }, page;
    struct timeline line = { .job = id, .reader = owner };
    bool more = true;
    while (more) {
        more = timeline_read(ctl, arena, &line, TIMELINE_PAGE, &page);
        if (page.n)
            memcpy(all.at + all.n, page.at, page.n * sizeof *page.at);
        all.n += page.n;
    }
    return all;
}

/* Of one that began anew, its reason speaks of the generation before. */
static void fill_first(struct ctl *ctl, struct arena *arena, const struct job_row *row,
                       struct job_view *view)
{
    const struct live_job *live = live_find(ctl->live, row->id);
    struct words first = live ? live->notes.first : row_json_first(arena, row->live);
    enum job_outcome outcome = live ? live->row.outcome : row->outcome;
    if (!first.n || (row->state != JOB_FAILED && outcome != OUTCOME_FAILED))
        return;
    view->first.at = ARENA_ARRAY(arena, first.n, const char *);
    for (; view->first.n < first.n; view->first.n++)
        view->first.at[view->first.n] = arena_strdup(arena, first.at[view->first.n]);
}

static void fill_images(const struct ctl *ctl, struct arena *arena, const struct job_row *row,
                        struct job_view *view)
{
    const struct live_job *live = live_find(ctl->live, row->id);
    const struct pairs kept = live ? live->notes.images : row_json_images(arena, row->live);
    for (size_t i = 0; i < kept.n; i++)
        pairs_setf(&view->images, arena, kept.at[i].name, "sha256:%s", kept.at[i].value);
    view->early_images = live ? listed_early_images(arena, live) : NULL;
}

/* A job whose description is gone is shown as far as it is known. */
static const struct text_node *warnings_of(struct arena *arena, const struct job_row *row,
                                           const struct site_record *site)
{
    if (row->spec)
        return site->warnings;
    struct text_node *list = text_list(arena, NULL, NULL), *one = text_map(arena, list, NULL);
    text_str(arena, one, "what",
             "what the job was cannot be read: that was lost with damaged records, or it is sealed "
             "with another key");
    return list;
}

/* Of its row: where it runs and what was said when it came. */
static void fill_site(const struct ctl *ctl, struct arena *arena, const struct job_row *row,
                      struct job_view *view)
{
    struct site_record site;
    row_json_read_site(arena, row->site, &site);
    fill_runtime(site.runtime, view);
    view->parent = site.parent;
    view->file = site.file;
    view->work_dir = site.code_dir ? NULL : site.work_dir;
    view->code_dir = site.code_dir;
    view->output_dir = site.output_dir;
    view->python = site.python_from ? site.python : ctl->config.python;
    view->python_from = site.python_from ? site.python_from
                        : view->python   ? PYTHON_OF_SERVER
                                         : NULL;
    view->warnings = warnings_of(arena, row, &site);
    view->differs = site.differs;
}

static void fill_lists(struct ctl *ctl, struct arena *arena, const struct job_row *row,
                       const struct job_ask *ask, struct job_view *view)
{
    if ((ask->parts & CTL_TASKS) && !row->members)
        view->task_list = tasks_all(ctl, arena, row);
    if (ask->parts & CTL_TIMELINE)
        view->timeline = timeline_of(ctl, arena, row->id, ask->owner);
}

int ctl_job_view(struct ctl *ctl, struct arena *arena, const struct job_ask *ask,
                 struct job_view *view, struct err *err)
{
    struct job_row row;
    struct ctl_list_row job;
    if (core_row(ctl, arena, ask->job, &row) || !user_may_read(ctl->accounts, ask->owner, &row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    bool may = user_may_change(ctl->accounts, ask->owner, &row);
    job_list_fill(ctl, &row, &job);
    fill_job(ctl, &job, ask->owner, arena, view);
    fill_first(ctl, arena, &row, view);
    fill_images(ctl, arena, &row, view);
    fill_site(ctl, arena, &row, view);
    fill_lists(ctl, arena, &row, ask, view);
    if (ask->parts & CTL_SPEC)
        view->spec = job_list_spec(arena, row.spec, may);
    if (ask->parts & CTL_ORIGIN)
        view->origin = origin_text(ctl, arena, &row, may);
    return 0;
}

struct job_view job_view_of(const struct job_result *job)
{
    return (struct job_view){ .id = job->id,
                              .number = job->number,
                              .name = job->name,
                              .owner = job->owner,
                              .state = job->state,
                              .outcome = job->outcome,
                              .reason = job->reason,
                              .array = job->array,
                              .has_index = job->has_index,
                              .index = job->index,
                              .members = job->members,
                              .tasks = job->tasks,
                              .gpu_milli = job->gpu_milli,
                              .generation = job->generation,
                              .restarts = job->restarts,
                              .away = job->away };
}

int ctl_list_view(struct ctl *ctl, struct arena *arena, const struct job_filter *filter,
                  struct job_list *list, struct err *err)
{
    struct ctl_list_row *all;
    size_t n = 0;
    if (ctl_list(ctl, arena, filter, &all, &n, err))
        return -1;
    *list = (struct job_list){ .at = ARENA_ARRAY(arena, n, struct job_view), .n = n };
    for (size_t i = 0; i < n; i++)
        fill_job(ctl, &all[i], filter->reader, arena, &list->at[i]);
    if (n == filter->limit && n > 0)
        list->next = all[n - 1].row.id;
    return 0;
}

int ctl_list_count(struct ctl *ctl, const struct job_filter *filter, uint64_t *n, struct err *err)
{
    return store_list_count(ctl->config.store, filter, n, err);
}

/* ---- events ---- */

struct event_names { /* of the job the last event was about */
    uint64_t job, number;
    const struct job_spec *spec;
};

static void name_job(struct ctl *ctl, struct arena *arena, uint64_t id, struct event_names *names)
{
    struct job_row row;
    if (names->job == id)
        return;
    *names = (struct event_names){ .job = id };
    if (core_row(ctl, arena, id, &row))
        return;
    names->number = row.number;
    names->spec = tasks_spec(ctl, arena, &row);
}

static const char *member(const struct text_node *body, const char *key)
{
    const struct text_node *node = body ? text_get(body, key) : NULL;
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

/* What is said beside it is not said twice. */
static bool is_rest(struct reader *reader, const struct text_node *one)
{
    if (strcmp(one->key, EVICTED_FOR) == 0)
        return !reader_hides(reader, (uint64_t)one->integer);
    return strcmp(one->key, "state") != 0 && strcmp(one->key, "text") != 0;
}

static struct text_node *rest_of(struct reader *reader, const struct text_node *body)
{
    struct text_node *rest = text_map(reader->arena, NULL, NULL);
    for (const struct text_node *one = body ? body->first : NULL; one; one = one->next)
        if (is_rest(reader, one))
            text_copy(reader->arena, rest, one->key, one);
    return rest->count ? rest : NULL;
}

/* Its job, and what that is called, are the reader's to know already. */
static struct event_view event_of(struct ctl *ctl, struct reader *reader,
                                  const struct event_row *row, struct event_names *names)
{
    struct arena *arena = reader->arena;
    const struct text_node *body = parse(arena, row->body);
    const struct sentence said = recorded_sentence(arena, member(body, "text"), row->named);
    name_job(ctl, arena, row->job, names);
    struct event_view view = { .seq = row->seq,
                               .job = row->job,
                               .number = names->number,
                               .at_ms = row->at_ms,
                               .steady_ms = row->steady_ms,
                               .type = row->type,
                               .has_task = row->has_task,
                               .index = row->task.index,
                               .attempt = row->attempt,
                               .state = member(body, "state"),
                               .text = reader_text(reader, &said),
                               .body = rest_of(reader, body) };
    if (!row->has_task && view.state)
        view.job_state = job_state_parse(view.state);
    if (row->has_task && names->spec && row->task.role < names->spec->n_roles) {
        view.role = arena_strdup(arena, names->spec->roles[row->task.role].name);
        view.task = arena_printf(arena, "%s/%u", view.role, row->task.index);
    }
    return view;
}

int ctl_events_view(struct ctl *ctl, struct arena *arena, const struct ctl_events *ask,
                    struct event_list *list, struct err *err)
{
    struct event_row *rows;
    size_t n = 0;
    struct event_names names = { 0 };
    struct event_range range = { .job = ask->job, .after = ask->after, .limit = ask->limit };
    struct reader reader = reader_of(ctl->accounts, arena, ask->reader);
    if (store_events(ctl->config.store, arena, &range, &rows, &n, err))
        return -1;
    *list = (struct event_list){ .at = ARENA_ARRAY(arena, n, struct event_view), .n = n };
    for (size_t i = 0; i < n; i++)
        list->at[i] = event_of(ctl, &reader, &rows[i], &names);
    return 0;
}

/* ---- nodes and figures ---- */

const char *node_state_word(enum node_state state)
{
    return state == NODE_DOWN ? "down" : state == NODE_DRAINED ? "drained" : "up";
}

static struct node_answer node_of(const struct ctl *ctl, struct arena *arena, uint32_t i,
                                  const struct free_node *free)
{
    const struct node_view node = cluster_node(ctl->cluster, i);
    const struct node_spec *spec = node.spec;
    struct node_answer view = { .name = spec->name,
                                .address = spec->address,
                                .host = spec->host,
                                .state = !node.up       ? NODE_DOWN
                                         : node.drained ? NODE_DRAINED
                                                        : NODE_UP,
                                .gpu_type = spec->gpu_type,
                                .cpu_milli = spec->cpu_milli,
                                .cpu_used_milli = node.cpu_used,
                                .memory = spec->memory,
                                .memory_used = node.memory_used,
                                .disk = spec->disk,
                                .disk_used = node.disk_used,
                                .gpus = spec->gpus,
                                .gpu_used_milli = cluster_gpu_held(ctl->cluster, i),
                                .tasks = node.tasks,
                                .gpu_idle = free->idle,
                                .gpu_free = { free->device, free->n },
                                .labels = spec->labels,
                                .custom = spec->custom,
                                .engine = node_engine(spec),
                                .lasts_ms = spec->lasts_ms,
                                .declared = spec->declared };
    const struct node_outage *away = node.up ? NULL : nodes_away(ctl, spec->name);
    if (away) {
        view.why = nodes_why(arena, away);
        view.since_ms = away->since_ms;
    }
    if (spec->report) {
        view.gpu_driver = spec->report->driver;
        view.gpu_error = spec->report->error;
        view.devices = devices_tree(ctl, arena, spec);
    }
    return view;
}

struct nodes_view ctl_nodes_view(struct ctl *ctl, struct arena *arena)
{
    const struct free_node *free = free_nodes(ctl, arena);
    struct nodes_view view = { .free = free_sum(ctl, free) };
    const uint32_t n = cluster_count(ctl->cluster);
    view.nodes.at = ARENA_ARRAY(arena, n, struct node_answer);
    for (uint32_t i = 0; i < n; i++)
        if (!cluster_node(ctl->cluster, i).spec->gone)
            view.nodes.at[view.nodes.n++] = node_of(ctl, arena, i, &free[i]);
    return view;
}

static void add_nodes(const struct ctl *ctl, struct stats_view *view)
{
    view->nodes = cluster_count(ctl->cluster);
    for (uint32_t i = 0; i < view->nodes; i++) {
        struct node_view node = cluster_node(ctl->cluster, i);
        view->nodes_up += node.up && !node.drained;
        view->cpu_milli += node.spec->cpu_milli;
        view->cpu_used_milli += node.cpu_used;
        view->memory += node.spec->memory;
        view->memory_used += node.memory_used;
        view->gpus += node.spec->gpus;
        view->gpu_used_milli += cluster_gpu_held(ctl->cluster, i);
    }
}

struct stats_view ctl_stats_view(struct ctl *ctl)
{
    static const uint64_t bounds[] = { PLAN_BOUNDS_US };
    const struct counters *c = &ctl->counters;
    struct job_counts counts = { 0 };
    struct stats_view view = { .live = live_count(ctl->live),
                               .waiting = live_waiting(ctl->live),
                               .turns = c->turns,
                               .commits = c->commits,
                               .commits_failed = c->commits_failed,
                               .facts = c->facts,
                               .events = store_last_event(ctl->config.store),
                               .plans = c->plans,
                               .plan_time = { .last_us = c->plan_us_last,
                                              .sum_us = c->plan_us_sum,
                                              .count = c->plans_timed,
                                              .bounds = bounds,
                                              .bins = c->plan_bins,
                                              .n = ARRAY_LEN(bounds) },
                               .submitted = c->submitted,
                               .evicted = c->evicted,
                               .promised = c->promised,
                               .late = c->late,
                               .storage_full = ctl->unwritten };
    store_counts(ctl->config.store, &counts, NULL);
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        view.jobs[state] = (uint64_t)counts.by_state[state];
    add_nodes(ctl, &view);
    return view;
}
