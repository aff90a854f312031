/* The text that a job was submitted with, in the form that Accept asks for; a job that another
 * front end submitted, in the words of the version that is asked. And where its tasks would be
 * reached by ssh. */
#include "api/openpai/config.h"

#include "api/openpai/attempts.h"
#include "api/openpai/job.h"
#include "api/openpai/members.h"
#include "base/mem.h"
#include "dialect/openpai/openpai.h"
#include "text/detect.h"
#include "text/json.h"
#include "text/yaml.h"

#include <string.h>

#define CONFIG_MAX (16u << 20)
#define MASK       "******"

/* ---- which form ---- */

enum form { FORM_AS_SENT, FORM_JSON, FORM_YAML };

/* The first of both that Accept names; other types are no wish. */
static enum form wanted(const struct pai *p)
{
    const char *accept = http_header(p->call->request, "Accept");
    const char *json = accept ? strstr(accept, "json") : NULL;
    const char *yaml = accept ? strstr(accept, "yaml") : NULL;
    if (json && (!yaml || json < yaml))
        return FORM_JSON;
    return yaml ? FORM_YAML : FORM_AS_SENT;
}

static void answer_text(struct pai *p, const char *text, bool yaml)
{
    call_text(p->call, 200, yaml ? "text/yaml; charset=utf-8" : "application/json; charset=utf-8",
              text, strlen(text));
}

static void answer_tree(struct pai *p, const struct text_node *tree, bool yaml)
{
    AUTO_BUF struct buf text = BUF_INIT(CONFIG_MAX);
    if (yaml)
        yaml_print(tree, &text);
    else
        json_print(tree, 2, &text);
    answer_text(p, buf_str(&text), yaml);
}

/* ---- what ---- */

static void no_config(struct pai *p)
{
    pai_fail(p, PAI_NO_CONFIG, "Config of job %.600s is not found.", p->frame);
}

/* Secrets of version 2 are nobody's to read again, as on the original. */
static bool mask(struct arena *a, struct text_node *tree)
{
    struct text_node *secrets = text_get(tree, "secrets");
    if (!secrets || secrets->kind == TEXT_NULL)
        return false;
    secrets->kind = TEXT_STR;
    secrets->str = arena_strdup(a, MASK);
    secrets->first = secrets->last = NULL;
    secrets->count = 0;
    return true;
}

static void answer_sent(struct pai *p, const char *text)
{
    struct report report;
    bool yaml = p->version == PAI_V2;
    enum form form = wanted(p);
    report_init(&report, p->a);
    struct text_node *tree = text_parse(p->a, text, strlen(text), &report);
    bool masked = tree && yaml && mask(p->a, tree);
    if (!tree || (form == FORM_AS_SENT && !masked))
        answer_text(p, text, yaml);
    else
        answer_tree(p, tree, form == FORM_AS_SENT ? yaml : form == FORM_YAML);
}

static void answer_written(struct pai *p, const struct text_node *spec)
{
    const struct dialect *dialect = p->version == PAI_V1 ? &openpai_v1 : &openpai_v2;
    struct report report;
    report_init(&report, p->a);
    const struct job_spec *job = spec ? job_decode(p->a, spec, &report) : NULL;
    struct text_node *tree = job ? dialect_write(p->a, dialect, job, &report) : NULL;
    enum form form = wanted(p);
    if (tree)
        answer_tree(p, tree, form == FORM_AS_SENT ? p->version == PAI_V2 : form == FORM_YAML);
    else
        no_config(p);
}

void pai_job_config(struct pai *p)
{
    const struct job_view *job = pai_find_job(p) ? pai_job_view(p, JOB_ORIGIN | JOB_SPEC) : NULL;
    if (!job)
        return;
    if (strcmp(job->dialect, p->version == PAI_V1 ? "openpai-v1" : "openpai-v2") == 0) {
        if (pai_said(job->origin))
            answer_sent(p, job->origin);
        else
            no_config(p);
    } else {
        answer_written(p, job->spec);
    }
}

/* ---- ssh ---- */

static void put_container(struct pai *p, struct text_node *list, const struct task_view *task,
                          uint64_t n)
{
    const struct attempt_view *attempt = pai_last_attempt(task, n);
    const struct placed_port *port = NULL;
    for (size_t i = 0; attempt && i < attempt->ports.n; i++)
        if (strcmp(attempt->ports.at[i].label, "ssh") == 0)
            port = &attempt->ports.at[i];
    if (!port || !port->count || attempt->ended_ms)
        return;
    struct text_node *out = text_map(p->a, list, NULL);
    text_str(p->a, out, "id", pai_container(p, task, attempt));
    pai_put_text(p->a, out, "sshIp", pai_said(attempt->address));
    text_str(p->a, out, "sshPort", arena_printf(p->a, "%u", port->numbers[0]));
}

static void put_keys(struct pai *p, struct text_node *out)
{
    struct text_node *keys = text_map(p->a, out, "keyPair");
    text_str(p->a, keys, "folderPath", "");
    text_str(p->a, keys, "publicKeyFileName", arena_printf(p->a, "%s.pub", p->frame));
    text_str(p->a, keys, "privateKeyFileName", p->frame);
    text_str(p->a, keys, "privateKeyDirectDownloadLink", "");
}

/* The ports of running tasks; what listens there is the tasks' own. Version 2 has no such thing. */
void pai_job_ssh(struct pai *p)
{
    const struct job_view *job = pai_find_job(p) ? pai_job_view(p, JOB_TASKS) : NULL;
    if (!job)
        return;
    struct text_node *out = text_map(p->a, NULL, NULL), *list = text_list(p->a, out, "containers");
    for (size_t i = 0; i < job->task_list.n; i++)
        put_container(p, list, &job->task_list.at[i], pai_attempt_of(job));
    if (p->version == PAI_V2 || !list->count) {
        pai_fail(p, PAI_NO_SSH, "SSH info of job %.600s is not found.", p->frame);
        return;
    }
    put_keys(p, out);
    pai_answer(p, 200, out);
}
