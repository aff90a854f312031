/* The ways into a job that runs: the address of its own page, and a terminal in a pod by an address
 * that opens once and soon expires. */
#include "api/dlc/op.h"
#include "api/view_trees.h"

#include "api/dlc/state.h"

#include <string.h>

/* ---- the page of a Ray job ---- */

/* Of a task that runs, the port of that label: its address. */
static const char *address_of(struct dlc_call *d, const struct text_node *task, const char *label)
{
    const struct text_node *attempts = text_get(task, "attempts");
    const struct text_node *attempt = attempts ? attempts->last : NULL;
    const struct text_node *ports = attempt ? text_get(attempt, "ports") : NULL;
    const struct text_node *port = ports ? text_get(ports, label) : NULL;
    if (!port || !port->first)
        return NULL;
    const char *host = dlc_text(attempt, "address");
    return arena_printf(d->arena, "http://%s:%lld/", host ? host : "localhost",
                        (long long)port->first->integer);
}

static bool runs(const struct text_node *task)
{
    const char *state = dlc_text(task, "state");
    return state && strcmp(state, "running") == 0;
}

/* The address is the job's own, as it is with TensorBoards: nothing is shared by asking, and a
 * token says no more than who may ask. */
void dlc_dashboard(struct dlc_call *d)
{
    uint64_t id;
    struct err err;
    if (!dlc_job(d, d->param[0], &id))
        return;
    const struct text_node *tree = tree_of_job(
        d->ctl, d->arena,
        &(struct job_ask){ .job = id, .owner = d->call->owner, .parts = CTL_TASKS | CTL_SPEC },
        &err);
    const struct text_node *tasks = tree ? text_get(tree, "task_list") : NULL;
    const struct text_node *spec = tree ? text_get(tree, "spec") : NULL;
    const struct text_node *roles = spec ? text_get(spec, "roles") : NULL;
    const char *url = NULL;
    bool has = false;
    for (const struct text_node *role = roles ? roles->first : NULL; role; role = role->next) {
        const struct text_node *ports = text_get(role, "ports");
        has = has || (ports && ports->kind == TEXT_MAP && text_get(ports, DLC_DASHBOARD_PORT));
    }
    for (const struct text_node *t = tasks ? tasks->first : NULL; t && !url; t = t->next)
        if (runs(t))
            url = address_of(d, t, DLC_DASHBOARD_PORT);
    if (!url && !has) {
        dlc_fail(
            d, 400, "BadRequest",
            "job \"%.40s\" has no dashboard: a RayJob has one, and any job with a port that is "
            "called " DLC_DASHBOARD_PORT,
            d->param[0]);
        return;
    }
    if (!url) {
        dlc_fail(d, 400, "BadRequest", "the dashboard of job \"%.40s\" does not run: it is %s",
                 d->param[0], dlc_job_status(tree));
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
    const struct text_node *attempt = text_get(pod.task, "attempt");
    if (!runs(pod.task) || (pod.attempt && attempt && attempt->integer != pod.attempt)) {
        dlc_fail(d, 400, "BadRequest", "pod \"%.100s\" does not run", d->param[1]);
        return;
    }
    if (!ctl_may_write(d->ctl, &d->call->who, pod.job)) {
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
    ctl_identity_name(d->ctl, d->arena, pass.owner, &who);
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
