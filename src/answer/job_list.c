/* Jobs of lists as plain values. Rows are the truth; what lives in memory is newer. Nothing here
 * writes. */
#include "answer/job_list.h"

#include "account/rights.h"
#include "ctl/contents.h"
#include "ctl/wait_texts.h"
#include "depend/dependency.h"
#include "job/image_progress.h"
#include "live/lines.h"
#include "live/live.h"
#include "live/wording.h"
#include "store/list_row.h"

#include <string.h>

void job_list_fill(struct ctl *ctl, const struct job_row *stored, struct listed_job *out)
{
    const struct contents core = ctl_contents(ctl);
    const struct live_job *live = live_find(core.live, stored->id);
    const struct live_array *array = stored->members ? array_find(core.arrays, stored->id) : NULL;
    *out = (struct listed_job){ .row = array ? array->row : live ? live->row : *stored };
    struct job_row *row = &out->row;
    row->name = stored->name;
    row->owner = stored->owner;
    row->project = stored->project;
    row->queue = stored->queue;
    row->dialect = stored->dialect;
    row->array = stored->array;
    row->index = stored->index;
    row->members = stored->members;
    job_id_format(out->id, row->id);
    if (live && live->tally && live->spec)
        out->running = live_in_phase(live, PHASE_RUNNING);
}

int answer_list(struct ctl *ctl, struct arena *arena, const struct job_filter *filter,
                struct listed_job **jobs, size_t *n, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct job_row *rows;
    size_t count = 0;
    if (store_list(core.store, arena, filter, &rows, &count, err))
        return -1;
    *jobs = ARENA_ARRAY(arena, count, struct listed_job);
    *n = count;
    for (size_t i = 0; i < count; i++)
        job_list_fill(ctl, &rows[i], &(*jobs)[i]);
    return 0;
}

int answer_listed(struct ctl *ctl, struct arena *arena, uint64_t id, const char *owner,
                  struct listed_job *out, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct job_row row;
    if (core_lean_row(ctl, arena, id, &row) || !user_may_read(core.accounts, owner, &row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    row.live = NULL;
    job_list_fill(ctl, &row, out);
    return 0;
}

/* ---- why ---- */

static const char *told(struct reader *reader, const struct reason *reason)
{
    struct draft text;
    draft_reason(&text, reason);
    const struct sentence said = draft_said(&text);
    return arena_strdup(reader->arena, reader_text(reader, &said));
}

/* A waiting job has its line's reason; what was not looked at, its place in the queue. */
static const char *line_reason(const struct contents *core, struct reader *reader,
                               struct live_job *live)
{
    enum wait_why why = live->line ? live->line->why.why : live->why.why;
    size_t ahead = live_wait_position(core->live, live);
    if ((why == WAIT_AHEAD || why == WAIT_PENDING) && ahead > 0)
        return told(reader, &(struct reason){ .kind = REASON_BEHIND, .n = (uint32_t)ahead });
    const struct sentence said = reason_of(core->ctl, reader, live);
    return arena_strdup(reader->arena, reader_text(reader, &said));
}

static const char *wait_reason(const struct contents *core, struct reader *reader,
                               struct live_job *live)
{
    struct depend_answer answer;
    uint32_t at_once = array_bound(core->arrays, &live->row);
    if (live->waits)
        return line_reason(core, reader, live);
    if (at_once)
        return told(reader, &(struct reason){ .kind = REASON_SLOT, .n = at_once });
    if (!depend_work_blocks(core->ctl, reader->arena, live, &answer))
        return NULL;
    return told(reader, &(struct reason){ .kind = REASON_DEPENDS, .depend = &answer });
}

const char *answer_listed_reason(struct ctl *ctl, struct arena *arena, const struct listed_job *job,
                                 const char *owner)
{
    const struct contents core = ctl_contents(ctl);
    struct reader reader = reader_of(core.accounts, arena, owner);
    const struct job_row *row = &job->row;
    struct live_job *live = live_find(core.live, row->id);
    const char *reason = NULL;
    if (row->members && !job_state_final(row->state)) {
        uint32_t counts[JOB_STATE_N];
        char text[JOB_ARRAY_TEXT];
        array_counts(core.arrays, row, counts);
        return arena_strdup(arena, job_array_counts(text, counts));
    }
    if (live && live->row.state == JOB_QUEUED)
        reason = wait_reason(&core, &reader, live);
    if (!reason)
        reason = reader_text(&reader, &row->reason);
    return reason ? reason : "";
}

/* ---- what it says ---- */

/* Members of an array have its body. */
static uint64_t body_of(const struct listed_job *job)
{
    return job->row.array ? job->row.array : job->row.id;
}

/* Values of variables may be secrets: only the owner sees them. */
static void mask_env(struct text_node *spec)
{
    struct text_node *roles = text_get(spec, "roles");
    for (struct text_node *role = roles ? roles->first : NULL; role; role = role->next) {
        struct text_node *env = text_get(role, "env");
        for (struct text_node *one = env ? env->first : NULL; one; one = one->next) {
            one->kind = TEXT_STR;
            one->str = "***";
        }
    }
}

struct text_node *job_list_spec(struct arena *arena, const char *text, bool may)
{
    struct report report;
    report_init(&report, arena);
    struct text_node *tree = text ? json_parse(arena, text, strlen(text), 0, &report) : NULL;
    if (tree && !may)
        mask_env(tree);
    return tree;
}

struct text_node *answer_spec_tree(struct ctl *ctl, struct arena *arena,
                                   const struct listed_job *job, const char *owner)
{
    const struct contents core = ctl_contents(ctl);
    const char *spec = NULL;
    if (store_get_spec(core.store, arena, body_of(job), &spec, NULL) != 1)
        return NULL;
    return job_list_spec(arena, spec, user_may_change(core.accounts, owner, &job->row));
}

/* The spec of an object as documents/documents.c keeps it. */
static struct json_span spec_of(const char *object)
{
    static const char *const spec[] = { "spec", NULL };
    struct json_span found = { NULL, 0 };
    if (object && !json_find(&(struct json_span){ object, strlen(object) }, spec, &found))
        found.at = NULL;
    return found;
}

int answer_said(struct ctl *ctl, struct arena *arena, const struct listed_job *job,
                const struct documents_ask *ask, struct job_documents *said)
{
    const struct contents core = ctl_contents(ctl);
    struct said_row row;
    bool sent = strcmp(job->row.dialect, ask->dialect) == 0;
    bool may = user_may_change(core.accounts, ask->owner, &job->row);
    struct said_ask of = { .job = body_of(job), .kind = ask->kind, .name = ask->dialect };
    if (sent)
        of.text = may ? SAID_ORIGIN : SAID_MASKED;
    if (store_get_said(core.store, arena, &of, &row, NULL) != 1)
        return -1;
    *said = (struct job_documents){ .last = row.last, .may = may, .document = spec_of(row.object) };
    if (row.text)
        *(sent ? &said->sent : &said->canonical) = (struct json_span){ row.text, strlen(row.text) };
    return 0;
}

/* ---- images that come early ---- */

static const char *step_of(const struct early_image *image)
{
    switch (image->step) {
    case IMAGE_EARLY_FETCHES: return "fetching";
    case IMAGE_EARLY_READY: return "ready";
    case IMAGE_EARLY_FAILED: return "failed";
    default: return "waiting";
    }
}

const struct text_node *listed_early_images(struct arena *arena, const struct live_job *job)
{
    if (job->n_early == 0 || job->early_of != job->row.generation || job->row.state != JOB_QUEUED)
        return NULL;
    struct text_node *list = text_list(arena, NULL, NULL);
    for (uint32_t i = 0; i < job->n_early; i++) {
        const struct early_image *image = &job->early[i];
        struct text_node *one = text_map(arena, list, NULL);
        text_str(arena, one, "image", image->name);
        if (*image->node)
            text_str(arena, one, "node", image->node);
        text_str(arena, one, "step", step_of(image));
        if (image->bytes)
            text_int(arena, one, "bytes", (int64_t)image->bytes);
        if (image->total)
            text_int(arena, one, "total", (int64_t)image->total);
        if (*image->problem)
            text_str(arena, one, "problem", image->problem);
    }
    return list;
}
