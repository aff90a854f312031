/* Jobs come in: version 1 as JSON or as a nested form, version 2 as YAML. The text goes to the core
 * as it was sent; a form becomes the JSON that it stands for. */
#include "api/openpai/submit.h"

#include "answer/jobs.h"
#include "api/accounts.h"
#include "api/openpai/attempts.h"
#include "api/openpai/detail.h"
#include "api/openpai/form.h"
#include "api/openpai/job.h"
#include "api/openpai/members.h"
#include "ctl/results.h"
#include "text/detect.h"

#include <string.h>
#include <strings.h>

#define FROM_V1 "openpai-v1"
#define FROM_V2 "openpai-v2"

struct text {
    const char *at;
    size_t len;
    const struct text_node *tree; /* NULL: the core says what is wrong with it */
};

static bool is_type(const struct pai *p, const char *front)
{
    const char *type = http_header(p->call->request, "Content-Type");
    return type && strncasecmp(type, front, strlen(front)) == 0;
}

static bool read_form(struct pai *p, struct text *text)
{
    struct report report;
    struct err err;
    report_init(&report, p->a);
    text->tree = pai_job_form(p->a, &text->at, &text->len, &report);
    if (text->tree)
        return true;
    report_err(&report, &err);
    pai_fail(p, PAI_PARAMETERS, "%s", pai_problems(p->a, &err, &report));
    return false;
}

static bool read_v1(struct pai *p, struct text *text)
{
    if (is_type(p, "application/x-www-form-urlencoded"))
        return read_form(p, text);
    if (is_type(p, "text/") || is_type(p, "multipart/")) {
        pai_fail(p, PAI_PARAMETERS, "\"value\" must be an object");
        return false;
    }
    return true;
}

static bool read_v2(struct pai *p)
{
    if (!is_type(p, "application/x-www-form-urlencoded") && !is_type(p, "multipart/"))
        return true;
    pai_fail(p, PAI_PROTOCOL, "a job of version 2 is sent as YAML, with Content-Type: text/yaml");
    return false;
}

/* false: answered. */
static bool read_text(struct pai *p, struct text *text)
{
    struct report report;
    *text = (struct text){ 0 };
    text->at = http_body(p->call->request, &text->len);
    if (!(p->version == PAI_V1 ? read_v1(p, text) : read_v2(p)))
        return false;
    report_init(&report, p->a);
    if (!text->tree)
        text->tree = text_parse(p->a, text->at, text->len, &report);
    return true;
}

/* The virtual cluster that the text names. */
static const char *cluster_of(const struct pai *p, const struct text *text)
{
    const struct text_node *map =
        p->version == PAI_V1 ? text->tree : text_get(text->tree, "defaults");
    return pai_text(map, "virtualCluster");
}

/* ---- the answer ---- */

/* Nothing but the queue is wrong. */
static bool is_unknown_cluster(const struct report *report)
{
    bool any = false;
    for (size_t i = 0; report && i < report->n; i++) {
        if (report->at[i].severity != SEVERITY_ERROR)
            continue;
        if (strcmp(report->at[i].path, "queue") != 0)
            return false;
        any = true;
    }
    return any;
}

static void on_refused(struct pai *p, const struct ctl_answer *answer)
{
    if (p->cluster && is_unknown_cluster(answer->report))
        pai_fail(p, PAI_NO_VC, "Virtual cluster %.200s is not found.", p->cluster);
    else if (answer->err->code == ERR_CONFLICT && p->version == PAI_V1)
        pai_fail(p, PAI_CONFLICT_JOB, "Job name %.600s already exists", p->job);
    else if (answer->err->code == ERR_CONFLICT)
        pai_fail(p, PAI_CONFLICT_JOB, "Job %.600s already exists.", p->frame);
    else if (answer->err->code == ERR_DENIED)
        pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to submit jobs.", p->me);
    else
        pai_err(p, answer->err, answer->report);
}

static void on_submitted(void *arg, const struct ctl_answer *answer)
{
    struct pai *p = arg;
    if (answer->err) {
        on_refused(p, answer);
        return;
    }
    p->id = answer->job;
    p->job = arena_strdup(p->a, answer->made.submitted->name);
    p->frame = arena_printf(p->a, "%s~%s", p->me, p->job);
    if (p->version == PAI_V2) {
        pai_message(p, 202,
                    arena_printf(p->a, "Update job %s for user %s successfully.", p->job, p->me));
        return;
    }
    p->as = p->me;
    const struct job_view *job = pai_job_view(p, JOB_TASKS);
    if (!job)
        return;
    if (p->call->request)
        http_add_header(p->call->request, "Location",
                        arena_printf(p->a, "/rest-server/api/v1/user/%s/jobs/%s", p->me, p->job));
    struct text_node *out = pai_detail(p, &(struct pai_start){ .job = job });
    pai_put_roles(p, out, job, 0);
    pai_answer(p, 201, out);
}

static void submit(struct pai *p, const char *name)
{
    struct text text;
    struct err err;
    if (limit_one(p->call, LIMIT_SUBMIT, &err) < 0) {
        pai_err(p, &err, NULL);
        return;
    }
    if (!read_text(p, &text))
        return;
    p->cluster = cluster_of(p, &text);
    p->job = name ? name : pai_text(text.tree, p->version == PAI_V1 ? "jobName" : "name");
    p->job = p->job ? p->job : "";
    p->frame = arena_printf(p->a, "%s~%s", p->me, p->job);
    const struct submission ask = { .owner = p->me,
                                    .text = text.at,
                                    .len = text.len,
                                    .from = p->version == PAI_V1 ? FROM_V1 : FROM_V2,
                                    .name = name,
                                    .unique = true };
    call_keep(p->call);
    accounts_submit(p->call, &ask, on_submitted, p);
}

/* Everybody submits for themselves. */
static bool own_name(struct pai *p)
{
    if (!(p->route->flags & PAI_NAMED) || strcmp(p->param[0], p->me) == 0)
        return true;
    pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to do operation in %.200s", p->me,
             p->param[0]);
    return false;
}

void pai_job_submit(struct pai *p)
{
    if (own_name(p))
        submit(p, NULL);
}

/* The name stands in the path. */
void pai_job_put(struct pai *p)
{
    if (own_name(p))
        submit(p, p->param[p->route->flags & PAI_NAMED ? 1 : 0]);
}
