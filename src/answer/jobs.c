/* Jobs as answers: one, and lists. Rows are the truth; what lives in memory is newer for reasons.
 * Nothing here writes. */
#include "answer/jobs.h"

#include "account/rights.h"
#include "answer/job_list.h"
#include "answer/tasks.h"
#include "answer/timeline.h"
#include "base/mem.h"
#include "ctl/ctl.h"
#include "ctl/results.h"
#include "depend/array.h"
#include "job/record.h"
#include "live/row_json.h"
#include "store/find.h"

#include <string.h>

#define MANY_TASKS 256u /* fewer are counted as fast as a row is read */

/* ---- one job ---- */

static void fill_array(const struct contents *core, const struct job_row *row, struct arena *arena,
                       struct job_view *view)
{
    uint32_t *counts = ARENA_ARRAY(arena, JOB_STATE_N, uint32_t);
    array_counts(core->arrays, row, counts);
    view->members = row->members;
    view->member_states = counts;
}

/* The indices are in the canonical job; a list reads them where it is in memory, and of the others
 * from their rows. */
static void fill_indices(const struct contents *core, uint64_t id, struct arena *arena,
                         struct job_view *view)
{
    const struct live_array *array = array_find(core->arrays, id);
    char text[JOB_ARRAY_TEXT];
    struct job_row row;
    if (!view->members)
        return;
    const struct job_spec *spec = array ? array->spec : NULL;
    if (!spec && core_row(core->ctl, arena, id, &row) == 0)
        spec = job_of_text(arena, row.spec);
    if (!spec)
        return;
    view->indices = arena_strdup(arena, job_array_range(text, &spec->array));
    view->at_once = spec->array.at_once;
}

static void fill_words(const struct contents *core, const struct listed_job *job,
                       struct job_view *view)
{
    const struct live_job *live = live_find(core->live, job->row.id);
    const struct dialect *dialect = dialect_find(core->dialects, job->row.dialect);
    const struct convention *words = convention_find(core->dialects, job->row.dialect);
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

static void fill_live(const struct contents *core, const struct live_job *live,
                      struct job_view *view)
{
    fill_runtime(live->notes.runtime, view);
    if (live->row.state == JOB_QUEUED && live->waits) {
        view->expected_ms = ctl_date_of(core->ctl, live->expected_ms);
        /* Since then a node went, say: it is no promise any more. */
        if (live->expected_ms && live->expected_ms <= live->notes.promised_ms)
            view->promised_ms = ctl_date_of(core->ctl, live->notes.promised_ms);
    }
    view->held_until_ms = ctl_date_of(core->ctl, live->notes.hold_until_ms);
    struct role_tally sum;
    live_tally(live, &sum);
    view->tasks_succeeded = sum.succeeded;
    view->tasks_failed = sum.failed;
}

/* Of a large job that has ended its row knows it: counting took 10 ms. */
static bool fill_kept_counts(const struct contents *core, struct arena *arena,
                             const struct job_row *row, struct job_view *view)
{
    struct job_row whole;
    struct live_column notes = { 0 };
    if (row->members || row->tasks < MANY_TASKS ||
        core_lean_row(core->ctl, arena, row->id, &whole) != 0)
        return false;
    row_json_read_job(arena, arena, whole.live, &notes);
    view->tasks_succeeded = notes.ended.succeeded;
    view->tasks_failed = notes.ended.failed;
    return notes.counted;
}

/* Of an array: of all its members. Of a job that has ended: as it ended. */
static void fill_task_counts(const struct contents *core, struct arena *arena,
                             const struct job_row *row, struct job_view *view)
{
    struct task_counts counts = { 0 };
    if (fill_kept_counts(core, arena, row, view))
        return;
    if (store_task_counts(core->store, row, &counts, NULL) != 0)
        return;
    view->tasks_running = counts.running;
    view->tasks_succeeded = counts.succeeded;
    view->tasks_failed = counts.failed;
}

/* What a list tells. Texts of the row are in the arena; a live job's reason is its own. */
static void fill_job(const struct contents *core, const struct listed_job *job, const char *owner,
                     struct arena *arena, struct job_view *view)
{
    const struct job_row *row = &job->row;
    const struct live_job *live = live_find(core->live, row->id);
    *view = (struct job_view){ .id = row->id,
                               .name = row->name,
                               .owner = row->owner,
                               .project = row->project,
                               .queue = row->queue,
                               .dialect = row->dialect,
                               .state = row->state,
                               .outcome = row->outcome,
                               .reason = arena_strdup(
                                   arena, answer_listed_reason(core->ctl, arena, job, owner)),
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
                               .not_before_ms = ctl_date_of(core->ctl, row->not_before_ms),
                               .array = array_number(row),
                               .has_index = row->array != 0,
                               .index = row->index };
    fill_words(core, job, view);
    if (row->members)
        fill_array(core, row, arena, view);
    if (live) {
        fill_live(core, live, view);
        view->away = nodes_away_of(core->nodes, arena, live);
    } else {
        fill_task_counts(core, arena, row, view);
    }
    fill_indices(core, row->id, arena, view);
}

/* Credentials are shown to nobody; others than the owner see no secret. */
static const char *origin_text(const struct contents *core, struct arena *arena,
                               const struct job_row *row, bool may)
{
    struct origin_row origin;
    if (store_get_origin(core->store, arena, row->id, &origin, NULL) != 1)
        return NULL;
    if (!may || !origin.text)
        return origin.masked;
    if (origin.masked && strcmp(origin.text, origin.masked) == 0)
        return origin.text;
    return dialect_without_credentials(core->dialects, arena, row->dialect, origin.text,
                                       strlen(origin.text));
}

#define TIMELINE_PAGE 1000

static struct event_list timeline_of(const struct contents *core, struct arena *arena, uint64_t id,
                                     const char *owner)
{
    struct event_list all = { .at = ARENA_ARRAY(arena, TIMELINE_MAX, struct event_view) }, page;
    struct timeline line = { .job = id, .reader = owner };
    bool more = true;
    while (more) {
        more = timeline_read(core->ctl, arena, &line, TIMELINE_PAGE, &page);
        if (page.n)
            memcpy(all.at + all.n, page.at, page.n * sizeof *page.at);
        all.n += page.n;
    }
    return all;
}

/* Of one that began anew, its reason speaks of the generation before. */
static void fill_first(const struct contents *core, struct arena *arena, const struct job_row *row,
                       struct job_view *view)
{
    const struct live_job *live = live_find(core->live, row->id);
    struct words first = live ? live->notes.first : row_json_first(arena, row->live);
    enum job_outcome outcome = live ? live->row.outcome : row->outcome;
    if (!first.n || (row->state != JOB_FAILED && outcome != OUTCOME_FAILED))
        return;
    view->first.at = ARENA_ARRAY(arena, first.n, const char *);
    for (; view->first.n < first.n; view->first.n++)
        view->first.at[view->first.n] = arena_strdup(arena, first.at[view->first.n]);
}

static void fill_images(const struct contents *core, struct arena *arena, const struct job_row *row,
                        struct job_view *view)
{
    const struct live_job *live = live_find(core->live, row->id);
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
static void fill_site(const struct contents *core, struct arena *arena, const struct job_row *row,
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
    view->python = site.python_from ? site.python : core->python;
    view->python_from = site.python_from ? site.python_from
                        : view->python   ? PYTHON_OF_SERVER
                                         : NULL;
    view->warnings = warnings_of(arena, row, &site);
    view->differs = site.differs;
}

static void fill_lists(const struct contents *core, struct arena *arena, const struct job_row *row,
                       const struct job_ask *ask, struct job_view *view)
{
    if ((ask->parts & JOB_TASKS) && !row->members)
        view->task_list = tasks_all(core, arena, row);
    if (ask->parts & JOB_TIMELINE)
        view->timeline = timeline_of(core, arena, row->id, ask->owner);
}

int answer_job_view(struct ctl *ctl, struct arena *arena, const struct job_ask *ask,
                    struct job_view *view, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct job_row row;
    struct listed_job job;
    if (core_row(ctl, arena, ask->job, &row) || !user_may_read(core.accounts, ask->owner, &row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    bool may = user_may_change(core.accounts, ask->owner, &row);
    job_list_fill(ctl, &row, &job);
    fill_job(&core, &job, ask->owner, arena, view);
    fill_first(&core, arena, &row, view);
    fill_images(&core, arena, &row, view);
    fill_site(&core, arena, &row, view);
    fill_lists(&core, arena, &row, ask, view);
    if (ask->parts & JOB_SPEC)
        view->spec = job_list_spec(arena, row.spec, may);
    if (ask->parts & JOB_ORIGIN)
        view->origin = origin_text(&core, arena, &row, may);
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

int answer_list_view(struct ctl *ctl, struct arena *arena, const struct job_filter *filter,
                     struct job_list *list, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct listed_job *all;
    size_t n = 0;
    if (answer_list(ctl, arena, filter, &all, &n, err))
        return -1;
    *list = (struct job_list){ .at = ARENA_ARRAY(arena, n, struct job_view), .n = n };
    for (size_t i = 0; i < n; i++)
        fill_job(&core, &all[i], filter->reader, arena, &list->at[i]);
    if (n == filter->limit && n > 0)
        list->next = all[n - 1].row.id;
    return 0;
}

int answer_list_count(struct ctl *ctl, const struct job_filter *filter, uint64_t *n,
                      struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    return store_list_count(core.store, filter, n, err);
}
