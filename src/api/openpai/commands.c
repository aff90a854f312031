/* What is done to a job that is there: stopped, started again where that is possible, removed,
 * tagged. */
#include "api/openpai/commands.h"

#include "api/openpai/job.h"
#include "api/openpai/members.h"
#include "base/mem.h"

#include <string.h>

#define TAG_KIND "job.tag"
#define TAG_MAX  200u

static void on_done(void *arg, const struct ctl_answer *answer)
{
    struct pai *p = arg;
    if (!answer->err)
        pai_message(p, p->version == PAI_V2 && p->route->handle == pai_job_tag ? 200 : 202,
                    p->said);
    else if (answer->err->code == ERR_DENIED)
        pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to execute job %.600s.", p->me,
                 p->frame);
    else
        pai_err(p, answer->err, NULL);
}

/* ---- executionType ---- */

/* Stopping what has ended changes nothing and is no error, as on the original. */
static void execute(struct pai *p, bool stop)
{
    const struct job_view *job = pai_job_view(p, 0);
    if (!job)
        return;
    p->said = arena_printf(
        p->a, p->version == PAI_V1 ? "execute job %s successfully" : "Execute job %s successfully.",
        p->frame);
    if (job->ended_ms && stop) {
        pai_message(p, 202, p->said);
        return;
    }
    if (job->ended_ms) {
        pai_fail(p, PAI_PARAMETERS,
                 "Job %.600s has ended and cannot be started again; submit its config under a new "
                 "name.",
                 p->frame);
        return;
    }
    call_keep(p->call);
    ctl_command(p->ctl, p->me, p->id, stop ? CTL_STOP : CTL_RESUME, on_done, p);
}

void pai_job_execute(struct pai *p)
{
    const struct text_node *body = pai_body(p);
    const char *value = pai_text(body, "value");
    if (!body)
        return;
    bool stop = value && strcmp(value, "STOP") == 0;
    if (!stop && !(value && strcmp(value, "START") == 0))
        pai_fail(p, PAI_PARAMETERS, "\"value\" must be one of [START, STOP]");
    else if (pai_own_job(p, "execute"))
        execute(p, stop);
}

/* ---- delete: version 1 only. A job that lives is ended first. ---- */

void pai_job_delete(struct pai *p)
{
    if (!pai_own_job(p, "remove"))
        return;
    p->said = arena_printf(p->a, "deleted job %s successfully", p->frame);
    call_keep(p->call);
    ctl_command(p->ctl, p->me, p->id, CTL_DROP, on_done, p);
}

/* ---- tags ---- */

static const char *read_tag(struct pai *p)
{
    const struct text_node *body = pai_body(p);
    const char *tag = pai_text(body, "value");
    if (!body)
        return NULL;
    if (tag && *tag && strlen(tag) <= TAG_MAX && !strchr(tag, ','))
        return tag;
    pai_fail(p, PAI_PARAMETERS, "\"value\" must be a text of 1 to %u bytes without a comma",
             TAG_MAX);
    return NULL;
}

void pai_job_tag(struct pai *p)
{
    bool put = strcmp(p->route->method, "PUT") == 0;
    struct arena *a = p->a;
    const char *tag = read_tag(p);
    if (!tag || !pai_own_job(p, "execute"))
        return;
    const struct job_view *job = pai_job_view(p, 0);
    char id[JOB_ID_TEXT];
    struct text_node *spec = text_map(a, NULL, NULL);
    text_str(a, spec, "value", "");
    if (!job)
        return;
    const struct document row = { .kind = TAG_KIND,
                                  .project = arena_strdup(a, job_id_format(id, job->id)),
                                  .name = tag,
                                  .spec = put ? spec : NULL };
    const struct document_changes ask = { .by = p->me, .at = &row, .n = 1 };
    if (!put && !document_find(ctl_documents(p->ctl), a, &row)) {
        pai_fail(p, PAI_NO_TAG, "Tag %s is not found.", tag);
        return;
    }
    p->said = arena_printf(
        a, put ? "Add tag %s for job %s successfully." : "Delete tag %s from job %s successfully.",
        tag, p->frame);
    call_keep(p->call);
    ctl_documents_put(p->ctl, &ask, on_done, p);
}
