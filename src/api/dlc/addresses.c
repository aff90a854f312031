/* The ways into a job that runs: the address of its own page, and a terminal in a pod by an address
 * that opens once and soon expires. */
#include "api/dlc/op.h"

#include "api/dlc/state.h"

#include <string.h>

/* ---- the page of a Ray job ---- */

const char *dlc_port_url(struct arena *a, const struct attempt_view *attempt, const char *label)
{
    const char *address = attempt->address;
    for (size_t i = 0; i < attempt->ports.n; i++) {
        const struct placed_port *port = &attempt->ports.at[i];
        if (port->count && strcmp(port->label, label) == 0)
            return arena_printf(a, "http://%s:%u/", address && *address ? address : "localhost",
                                port->numbers[0]);
    }
    return NULL;
}

/* Has a role of the canonical job a port of that label? */
static bool has_port(struct arena *a, const struct text_node *spec, const char *label)
{
    struct report report;
    report_init(&report, a);
    const struct job_spec *job = spec ? job_decode(a, spec, &report) : NULL;
    for (size_t i = 0; job && i < job->n_roles; i++)
        for (size_t k = 0; k < job->roles[i].n_ports; k++)
            if (strcmp(job->roles[i].ports[k].label, label) == 0)
                return true;
    return false;
}

/* Of the first task that runs and has it; NULL: none does. */
static const char *dashboard_of(struct arena *a, const struct task_list *tasks)
{
    const char *url = NULL;
    for (size_t i = 0; i < tasks->n && !url; i++) {
        const struct attempt_list *all = &tasks->at[i].attempts;
        if (tasks->at[i].state == TASK_RUNNING && all->n)
            url = dlc_port_url(a, &all->at[all->n - 1], DLC_DASHBOARD_PORT);
    }
    return url;
}

/* The address is the job's own, as it is with TensorBoards: nothing is shared by asking, and a
 * token says no more than who may ask. */
void dlc_dashboard(struct dlc_call *d)
{
    struct job_ask ask = { .owner = d->call->owner, .parts = JOB_TASKS | JOB_SPEC };
    struct job_view job = { 0 };
    struct err err;
    if (!dlc_job(d, d->param[0], &ask.job))
        return;
    if (answer_job_view(d->ctl, d->arena, &ask, &job, &err)) {
        dlc_err(d, &err, NULL);
        return;
    }
    const char *url = dashboard_of(d->arena, &job.task_list);
    if (!url && !has_port(d->arena, job.spec, DLC_DASHBOARD_PORT)) {
        dlc_fail(
            d, 400, "BadRequest",
            "job \"%.40s\" has no dashboard: a RayJob has one, and any job with a port that is "
            "called " DLC_DASHBOARD_PORT,
            d->param[0]);
        return;
    }
    if (!url) {
        dlc_fail(d, 400, "BadRequest", "the dashboard of job \"%.40s\" does not run: it is %s",
                 d->param[0], dlc_job_status(&job));
        return;
    }
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "url", url);
    if (strcmp(d->op->name, "GetRayDashboard") == 0)
        text_str(d->arena, out, "metricsEnabled", "false");
    dlc_ok(d, out);
}

/* ---- a terminal ---- */

/* The authority of the request, which the client may have sent with its scheme. */
static const char *host_of(const struct dlc_call *d)
{
    const char *host = http_header(d->call->request, "Host");
    const char *scheme = host ? strstr(host, "://") : NULL;
    return scheme ? scheme + 3 : host ? host : "localhost";
}

static const char *prefix_of(const struct dlc_call *d)
{
    const char *target = http_target(d->call->request), *root = strstr(target, "/api/v1/");
    return arena_strndup(d->arena, target, root ? (size_t)(root - target) : 0);
}

void dlc_web_terminal(struct dlc_call *d)
{
    const struct dlc_state *state = d->call->facade_state;
    struct dlc_pod pod;
    if (!dlc_pod(d, &pod))
        return;
    if (pod.task->state != TASK_RUNNING || (pod.attempt && pod.task->attempt != pod.attempt)) {
        dlc_fail(d, 400, "BadRequest", "pod \"%.100s\" does not run", d->param[1]);
        return;
    }
    if (!answer_may_write(d->ctl, &d->call->who, pod.job)) {
        dlc_fail(d, 403, "Forbidden.RAM", "job \"%.40s\" is not yours", d->param[0]);
        return;
    }
    const char *token = terminals_seal(
        state->terminals, d->arena,
        (struct terminal_pass){ .owner = d->call->owner,
                                .token = d->call->who.token,
                                .key = d->call->who.key,
                                .job = pod.job,
                                .task = arena_printf(d->arena, "%s/%u", pod.role, pod.index),
                                .until_ms = d->now_ms + TERMINAL_LIFE_MS });
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "WebTerminalUrl",
             arena_printf(d->arena, "%s://%s%s" TERMINAL_PATH "%s",
                          http_over_tls(d->call->request) ? "wss" : "ws", host_of(d), prefix_of(d),
                          token ? token : ""));
    dlc_ok(d, out);
}

/* The other end of that address: the token is the only proof, and good once. */
bool dlc_terminal(struct dlc_call *d)
{
    const struct dlc_state *state = d->call->facade_state;
    const char *path = strstr(http_path(d->call->request), TERMINAL_PATH), *why;
    struct terminal_pass pass;
    if (!path)
        return false;
    if (!terminals_open(state->terminals, d->arena, path + strlen(TERMINAL_PATH), &pass) ||
        pass.until_ms < d->now_ms ||
        !nonces_add(state->nonces, "webterminal", pass.nonce, pass.until_ms, d->now_ms)) {
        dlc_fail(d, 403, "Forbidden.RAM",
                 "this address of a terminal is used, old or none: ask GetWebTerminal for another");
        return true;
    }
    struct identity who;
    identify_by_name(ctl_accounts(d->ctl), d->arena, pass.owner, &who);
    who.since_ms = pass.until_ms - TERMINAL_LIFE_MS;
    who.token = pass.token;
    who.key = pass.key;
    facade_admit(d->call, &who);
    if (!ctl_identity_lives(d->ctl, &who)) {
        dlc_fail(d, 403, "Forbidden.RAM", "%.60s is not let in any more", pass.owner);
        return true;
    }
    if (terminal_begin(state->terminals, d->call, &pass, &why))
        d->gone = true;
    else
        dlc_fail(d, 400, "InvalidParameter", "%s", why);
    return true;
}
