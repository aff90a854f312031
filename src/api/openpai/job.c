/* The job that a path names, and what both the list and the detail say of it. A job's name here is
 * user~job; where a user has several jobs of one name (other front ends allow that), it is the
 * newest, and the number stands for any. */
#include "api/openpai/job.h"

#include "base/mem.h"
#include "base/scan.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define TAG_KIND "job.tag"

/* ---- finding ---- */

const struct identity *pai_reader(const struct pai *p)
{
    if (!p->open)
        return &p->call->who;
    struct identity *all = ARENA_NEW(p->a, struct identity);
    *all = p->call->who;
    all->name = all->name ? all->name : "";
    all->role = ROLE_ADMIN; /* reads what everybody has; masked as for strangers */
    return all;
}

static bool found(struct pai *p, const char *user, const char *job)
{
    struct err err;
    uint64_t number;
    if (!user && ctl_find(p->ctl, job, &p->id, &err) < 0)
        return false;
    if (user && ctl_find_owned(p->ctl, user, job, &p->id, &err) < 0) {
        if (!scan_u64(job, 1, INT64_MAX, &number) || ctl_find(p->ctl, job, &p->id, &err) < 0)
            return false;
        const struct job_ask ask = { .job = p->id };
        struct job_view view;
        if (answer_job_view(p->ctl, p->a, &ask, &view, &err) || strcmp(view.owner, user) != 0)
            return false;
    }
    p->as = answer_may_read(p->ctl, &p->call->who, p->id) ? p->me : NULL;
    return p->as || p->open;
}

bool pai_find_job(struct pai *p)
{
    const char *text = p->param[0], *tilde = strchr(text, '~');
    p->call->who.name = p->call->who.name ? p->call->who.name : "";
    if (p->route->flags & PAI_NAMED) {
        p->user = text;
        p->job = p->param[1];
    } else if (tilde) {
        p->user = arena_strndup(p->a, text, (size_t)(tilde - text));
        p->job = tilde + 1;
    } else {
        p->user = NULL; /* version 1 had jobs without a user */
        p->job = text;
    }
    p->frame = p->user ? arena_printf(p->a, "%s~%s", p->user, p->job) : p->job;
    if (found(p, p->user, p->job))
        return true;
    pai_fail(p, PAI_NO_JOB, "Job %.600s is not found.", p->frame);
    return false;
}

bool pai_own_job(struct pai *p, const char *what)
{
    if (!pai_find_job(p))
        return false;
    if (answer_may_write(p->ctl, &p->call->who, p->id))
        return true;
    pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to %s job %.600s.", p->me, what, p->frame);
    return false;
}

const struct job_view *pai_job_view(struct pai *p, unsigned parts)
{
    struct err err;
    struct job_view *view = ARENA_NEW(p->a, struct job_view);
    const struct job_ask ask = { .job = p->id, .owner = p->as, .parts = parts };
    if (answer_job_view(p->ctl, p->a, &ask, view, &err) == 0 &&
        answer_listed(p->ctl, p->a, p->id, p->as, &p->row, &err) == 0)
        return view;
    pai_fail(p, PAI_NO_JOB, "Job %.600s is not found.", p->frame);
    return NULL;
}

/* ---- words ---- */

static bool is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

/* RUNNING while a task runs; STOPPING is known to version 2, of a user's stop only. */
const char *pai_job_word(unsigned version, const struct listed_job *job)
{
    enum job_state state = job->row.state;
    if (state == JOB_SUCCEEDED)
        return "SUCCEEDED";
    if (state == JOB_FAILED)
        return "FAILED";
    if (state == JOB_STOPPED)
        return "STOPPED";
    if (version == PAI_V2 && state == JOB_STOPPING && job->row.outcome == OUTCOME_STOPPED)
        return "STOPPING";
    if (version == PAI_V2 && (state == JOB_STOPPING || state == JOB_RESTARTING))
        return "RUNNING";
    return job->running ? "RUNNING" : "WAITING";
}

/* What lies behind `state` in the launcher of version 1 and in the controller of version 2. */
const char *pai_sub_state(const struct listed_job *job)
{
    static const char *const words[JOB_STATE_N] = {
        [JOB_SUSPENDED] = "AttemptCreationPending", [JOB_QUEUED] = "AttemptCreationPending",
        [JOB_STARTING] = "AttemptPreparing",        [JOB_RUNNING] = "AttemptRunning",
        [JOB_RESTARTING] = "AttemptDeleting",       [JOB_STOPPING] = "AttemptDeleting",
    };
    const char *word = words[job->row.state];
    return word ? word : "Completed";
}

const char *pai_task_word(enum task_state state)
{
    static const char *const words[TASK_STATE_N] = { [TASK_RUNNING] = "RUNNING",
                                                     [TASK_SUCCEEDED] = "SUCCEEDED",
                                                     [TASK_FAILED] = "FAILED",
                                                     [TASK_STOPPED] = "STOPPED" };
    return words[state] ? words[state] : "WAITING";
}

const char *pai_attempt_word(enum attempt_state state)
{
    static const char *const words[ATTEMPT_STATE_N] = { [ATTEMPT_RUNNING] = "RUNNING",
                                                        [ATTEMPT_SUCCEEDED] = "SUCCEEDED",
                                                        [ATTEMPT_FAILED] = "FAILED",
                                                        [ATTEMPT_LOST] = "FAILED",
                                                        [ATTEMPT_STOPPED] = "STOPPED" };
    return words[state] ? words[state] : "WAITING";
}

const char *pai_priority(uint64_t priority)
{
    static const char *const words[] = { [1] = "oppo", [5] = "test", [8] = "prod", [9] = "crit" };
    return priority < ARRAY_LEN(words) ? words[priority] : NULL;
}

/* A name of 32 digits that is always the same for the same job; clients only show it. */
const char *pai_debug_id(struct arena *a, const char *frame)
{
    unsigned char hash[16];
    char hex[33];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)frame, strlen(frame), NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    return arena_strdup(a, hex);
}

int64_t pai_stop_code(unsigned version, bool job)
{
    if (version == PAI_V2)
        return job ? -210 : -220;
    return job ? -7351 : -7400;
}

/* ---- tags ---- */

void pai_tags_load(const struct pai *p, const char *job, struct document_list *tags)
{
    *tags = documents_list(ctl_documents(p->ctl), p->a, TAG_KIND, job);
}

struct words pai_tags_of(struct arena *a, const struct document_list *tags, const char *id)
{
    struct words found = { 0 };
    size_t low = 0, high = tags->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(tags->at[middle].project, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < tags->n && is(tags->at[high].project, id);)
        high++;
    found.at = ARENA_ARRAY(a, high - low, const char *);
    for (; low < high; low++)
        found.at[found.n++] = tags->at[low].name;
    return found;
}

/* ---- what is said everywhere ---- */

void pai_write_status(struct pai_writer *out, unsigned version, const struct listed_job *job)
{
    const struct job_row *row = &job->row;
    bool stopped = row->outcome == OUTCOME_STOPPED || row->state == JOB_STOPPED;
    pai_write_text(out, "state", pai_job_word(version, job));
    pai_write_text(out, "subState", pai_sub_state(job));
    pai_write_text(out, "executionType", stopped ? "STOP" : "START");
    pai_write_text(out, "username", row->owner);
    pai_write_int(out, "retries", row->restarts);
    if (version == PAI_V2)
        pai_write_ms(out, "submissionTime", row->submitted_ms);
    pai_write_ms(out, "createdTime", row->submitted_ms);
    if (version == PAI_V2)
        pai_write_ms(out, "launchedTime", row->started_ms);
    pai_write_ms(out, "completedTime", row->ended_ms);
    pai_write_text(out, "virtualCluster", *row->queue ? row->queue : NULL);
    pai_write_int(out, "totalGpuNumber", (int64_t)((row->gpu_milli + 999) / 1000));
    pai_write_int(out, "totalTaskNumber", row->tasks);
    struct pai_writer details = pai_write_map(out, "retryDetails");
    pai_write_int(&details, "user", row->restarts);
    pai_write_int(&details, "platform", 0);
    pai_write_int(&details, "resource", 0);
    pai_write_end(&details);
    if (version == PAI_V2)
        pai_write_ms(out, "retryDelayTime", row->not_before_ms);
}
