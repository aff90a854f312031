/* Every route in one table: the dispatcher, the 405 answers and the OpenAPI document all read it.
 * Who asks, what a job's program may ask, and limits are looked at before a handler is called. */
#include "api/call.h"

#include "api/facade.h"
#include "api/secret_calls.h"
#include "base/mem.h"
#include "base/turn_meter.h"

#include <stdio.h>
#include <string.h>

#define SUBMIT                                                                                     \
    "from name queue env set file code cwd wait dry_run like apply replace "                       \
    "python python_from"
#define AGENTS_PATH "/v1/agents"
#define LOGS        "task stream tail since attempt follow"

#define ROUTE(m, p, h, f, s, q, a, code)                                                           \
    {                                                                                              \
        .method = m, .path = p, .handle = h, .flags = f, .summary = s, .query = q, .answer = a,    \
        .status = code                                                                             \
    }

static const struct route routes[] = {
    ROUTE("GET", "/", page_get, ROUTE_OPEN, "A small page that shows jobs, tasks and live logs", "",
          NULL, 200),
    ROUTE("GET", "/login", auth_login, ROUTE_OPEN, "Trades a one-time key for the page's cookie",
          "key", NULL, 303),
    ROUTE("GET", "/healthz", server_health, ROUTE_OPEN, "The server's loop turns", "", NULL, 200),
    ROUTE("GET", "/readyz", server_health, ROUTE_OPEN, "The server takes jobs", "", NULL, 200),
    ROUTE("GET", "/metrics", server_metrics, 0, "Prometheus text", "", NULL, 200),
    ROUTE("GET", "/v1/openapi.json", openapi_get, 0, "This document", "", NULL, 200),
    ROUTE("GET", "/v1/server", server_info, 0, "Process, addresses, counts", "", NULL, 200),
    ROUTE("POST", "/v1/server/stop", server_stop, ROUTE_ADMIN,
          "Ends the server; jobs go on under their agents", "", NULL, 202),
    ROUTE("POST", "/v1/backup", backup_post, ROUTE_ADMIN | ROUTE_STREAM,
          "A backup of the records and of the code that live jobs need, a tar; never two at once",
          "", NULL, 200),
    ROUTE("POST", "/v1/login-link", auth_login_link, ROUTE_READ,
          "A one-time link that opens the page, for who asks for it", "", NULL, 200),
    ROUTE("GET", "/v1/config", server_config, 0,
          "Effective configuration and where each value is from", "", NULL, 200),
    ROUTE("GET", "/v1/jobs", job_list, ROUTE_LISTS | ROUTE_OF_CHILDREN,
          "Jobs, newest first; the members of an array by index",
          "state owner queue name from limit before array count", NULL, 200),
    ROUTE("POST", "/v1/jobs", job_submit, ROUTE_SUBMITS | ROUTE_OF_CHILDREN,
          "Submits a job in any dialect; application/x-ndjson: one a line", SUBMIT, "Submitted",
          201),
    ROUTE("GET", "/v1/jobs/{job}", job_show, ROUTE_OF_JOB | ROUTE_OF_CHILDREN, "One job",
          "tasks spec timeline origin", "Job", 200),
    ROUTE("DELETE", "/v1/jobs/{job}", job_delete, 0, "Forgets an ended job", "", NULL, 200),
    ROUTE("GET", "/v1/jobs/{job}/tasks", job_tasks, ROUTE_OF_JOB | ROUTE_OF_CHILDREN,
          "Its tasks with their attempts", "", NULL, 200),
    ROUTE("GET", "/v1/jobs/{job}/origin", job_origin, 0, "The text as submitted", "", NULL, 200),
    ROUTE("GET", "/v1/jobs/{job}/explain", job_explain, 0,
          "Why it waits, until when, what would change that; what_if: what changes would do",
          "what_if", "Explanation", 200),
    ROUTE("POST", "/v1/explain", job_explain_text, ROUTE_READ | ROUTE_LISTS,
          "The same for a text, nothing is stored", SUBMIT, "Submitted", 200),
    ROUTE("POST", "/v1/jobs/{job}/stop", job_stop, ROUTE_OF_JOB | ROUTE_OF_CHILDREN,
          "Ends its tasks; now=1 without grace", "now", "Job", 202),
    ROUTE("POST", "/v1/jobs/{job}/restart", job_restart, ROUTE_OF_JOB,
          "Its tasks anew, or only those named; counted=1: out of its retries",
          "reason counted task", "Job", 202),
    ROUTE("POST", "/v1/jobs/{job}/fail", job_fail, ROUTE_OF_JOB,
          "Ends it as failed, without a retry: said by its own program", "reason", "Job", 202),
    ROUTE("POST", "/v1/jobs/{job}/signal", job_signal, 0,
          "A signal to the processes of its tasks, or of those named; the answer says who heard it",
          "signal task", NULL, 200),
    ROUTE("GET", "/v1/jobs/{job}/board", board_get, ROUTE_STREAM | ROUTE_OF_JOB,
          "What its tasks left for each other; with key one of them, waited for", "key after wait",
          NULL, 200),
    ROUTE("PUT", "/v1/jobs/{job}/board", board_put, ROUTE_OF_JOB,
          "Leaves the body under a key until the next generation", "key", NULL, 200),
    ROUTE("POST", "/v1/jobs/{job}/suspend", job_suspend, 0, "Frees its resources, keeps it", "",
          "Job", 202),
    ROUTE("POST", "/v1/jobs/{job}/resume", job_resume, 0, "Queues a suspended job", "", "Job", 202),
    ROUTE("GET", "/v1/jobs/{job}/events", events_get,
          ROUTE_STREAM | ROUTE_LISTS | ROUTE_OF_JOB | ROUTE_OF_CHILDREN,
          "Its events; follow=1 streams NDJSON or SSE", "after follow limit", NULL, 200),
    ROUTE("GET", "/v1/events", events_all, ROUTE_STREAM | ROUTE_LISTS, "Events of all jobs",
          "after follow limit", NULL, 200),
    ROUTE("GET", "/v1/jobs/{job}/logs", logs_get,
          ROUTE_STREAM | ROUTE_LOGS | ROUTE_OF_JOB | ROUTE_OF_CHILDREN,
          "Output of its tasks, NDJSON or text/plain", LOGS, NULL, 200),
    ROUTE("POST", "/v1/jobs/{job}/logs", logs_get,
          ROUTE_STREAM | ROUTE_READ | ROUTE_LOGS | ROUTE_OF_JOB | ROUTE_OF_CHILDREN,
          "The same from given offsets on", LOGS, NULL, 200),
    ROUTE(
        "GET", "/v1/jobs/{job}/exec", job_exec, ROUTE_STREAM | ROUTE_WRITE | ROUTE_OF_JOB,
        "Upgrade to muster-exec/1: a command in a task's view; port=N: a connection to that port of "
        "its, instead",
        "task arg tty rows cols port", NULL, 101),
    ROUTE("GET", "/v1/jobs/{job}/attach", job_attach, ROUTE_STREAM | ROUTE_WRITE,
          "Where a client would be let at a task's stdin; upgraded to muster-attach/1, it is",
          "task attempt session offset rows cols", NULL, 200),
    ROUTE("GET", "/v1/pods", pods_list, ROUTE_LISTS,
          "Tasks as the pods of the system their job is written for", "namespace", NULL, 200),
    ROUTE("GET", "/v1/pods/{pod}", pods_show, 0, "One pod with its labels and events", "namespace",
          "Pod", 200),
    ROUTE("POST", "/v1/catalogue", catalogue_declare, 0,
          "Declares what jobs point to by name, YAML or JSON; all or none", "", NULL, 200),
    ROUTE("GET", "/v1/catalogue/{kind}", catalogue_list_get, 0, "What is declared, and what ships",
          "", NULL, 200),
    ROUTE("DELETE", "/v1/catalogue/{kind}/{name}", catalogue_remove, 0,
          "Forgets a declaration; what ships is as it was", "", NULL, 200),
    ROUTE("GET", "/v1/archives/{hash}", archive_get, 0, "Is code of this SHA-256 kept here?", "",
          NULL, 200),
    ROUTE("PUT", "/v1/archives/{hash}", archive_put, 0, "A piece of a gzipped tar, at offset",
          "part offset", NULL, 200),
    ROUTE("POST", "/v1/archives/{hash}", archive_unpack, ROUTE_STREAM,
          "Checks what was put: inputs.code.archive", "part", NULL, 201),
    ROUTE("GET", "/v1/queues", queues_list, 0,
          "Queues, parents first: shares, what is used, who waits and why", "", NULL, 200),
    ROUTE("GET", "/v1/queues/{queue}", queues_show, 0, "One queue with its users", "", NULL, 200),
    ROUTE("GET", "/v1/nodes", nodes_list, 0, "Nodes with what is used, and what is free in all", "",
          NULL, 200),
    ROUTE("POST", "/v1/nodes/{node}/drain", node_drain, ROUTE_ADMIN,
          "No new tasks on it; dry_run=1: who runs there, and where they could go now", "dry_run",
          NULL, 200),
    ROUTE("POST", "/v1/nodes/{node}/undrain", node_undrain, ROUTE_ADMIN, "Tasks again", "", NULL,
          200),
    ROUTE("GET", "/v1/machines", machines_list, ROUTE_ADMIN,
          "Machines that may be nodes: connected, unreachable, never came; and where they connect",
          "", NULL, 200),
    ROUTE("POST", "/v1/machines", machine_add, ROUTE_ADMIN,
          "A machine: {name, address, labels}; the answer has its token, told once, and where its "
          "host connects; again (200): a new token",
          "", NULL, 201),
    ROUTE("DELETE", "/v1/machines/{machine}", machine_remove, ROUTE_ADMIN,
          "No machine of this server any more; force=1: what runs there is given up", "force", NULL,
          200),
    ROUTE("POST", "/v1/machines/{machine}/fence", machine_fence, ROUTE_ADMIN,
          "Somebody made sure that nothing lives there: {reason}; its runs are gone", "", NULL,
          200),
    ROUTE("GET", "/v1/pilots", pilots_list, ROUTE_ADMIN,
          "Allocations of Slurm that this server holds, and whether Slurm can be asked", "", NULL,
          200),
    ROUTE(
        "POST", "/v1/pilots", pilot_start, ROUTE_ADMIN,
        "One more: {nodes, partition, time_ms, cpus, gpus, gpu_type, idle_ms, flags: [for sbatch]}; the "
        "answer has its name",
        "", NULL, 201),
    ROUTE("GET", "/v1/pilots/{pilot}", pilot_show, ROUTE_ADMIN, "One of them", "", NULL, 200),
    ROUTE("POST", "/v1/pilots/{pilot}/stop", pilot_stop, ROUTE_ADMIN,
          "Gives it back: its jobs end with their grace and wait again; now=1: at once", "now",
          NULL, 200),
    ROUTE("GET", "/v1/users", users_list, 0,
          "Users with role and projects; one's own for who is no admin", "", NULL, 200),
    ROUTE("POST", "/v1/users", user_create, 0,
          "A user: {name, role, projects, email, password, extension, disabled}", "", NULL, 201),
    ROUTE("GET", "/v1/users/{user}", user_show, 0, "One user", "", NULL, 200),
    ROUTE("PATCH", "/v1/users/{user}", user_change, ROUTE_READ,
          "What is given is set; password null: none any more; another password ends its tokens",
          "", NULL, 200),
    ROUTE("DELETE", "/v1/users/{user}", user_remove, 0, "Forgets it with its keys and tokens", "",
          NULL, 200),
    ROUTE("GET", "/v1/keys", keys_list, 0, "Access keys, without their secrets", "owner", NULL,
          200),
    ROUTE("POST", "/v1/keys", key_create, 0,
          "An access key: {owner, label, session_s}; its secret is told once", "", NULL, 201),
    ROUTE("DELETE", "/v1/keys/{key}", key_remove, 0, "Forgets it", "", NULL, 200),
    ROUTE("POST", "/v1/keys/{key}/disable", key_disable, 0, "It signs nothing any more", "", NULL,
          200),
    ROUTE("POST", "/v1/keys/{key}/enable", key_enable, 0, "It does again", "", NULL, 200),
    ROUTE("GET", "/v1/tokens", tokens_list, 0, "Bearer tokens, without their text", "owner", NULL,
          200),
    ROUTE("POST", "/v1/tokens", token_create, ROUTE_READ,
          "A token: {owner, label, expires_s}; told once", "", NULL, 201),
    ROUTE("DELETE", "/v1/tokens/{token}", token_remove, ROUTE_READ, "Revokes it", "", NULL, 200),
    ROUTE("GET", "/v1/secrets", secrets_list, 0,
          "Secrets that jobs can name, one's own and those of one's projects; never their values",
          "owner project", NULL, 200),
    ROUTE("PUT", "/v1/secrets/{secret}", secret_put, 0,
          "The body is the value from now on: of later attempts, and in files of tasks that run",
          "owner project", NULL, 200),
    ROUTE("PUT", "/v1/secrets/{secret}/{member}", secret_put, 0,
          "The same of a member of a set; both parts are its name", "owner project", NULL, 200),
    ROUTE("DELETE", "/v1/secrets/{secret}", secret_remove, 0,
          "Forgets it; tasks that run keep what they have", "owner project", NULL, 200),
    ROUTE("DELETE", "/v1/secrets/{secret}/{member}", secret_remove, 0,
          "The same of a member of a set", "owner project", NULL, 200),
    ROUTE("GET", "/v1/audit", audit_get, ROUTE_ADMIN,
          "Who did what from where, newest first; chain=1: from after on, to check the hashes",
          "after before chain since user action limit", NULL, 200),
    ROUTE("GET", "/v1/certificate", certificate_get, 0,
          "What clients of https are to trust: {address, authority}", "", NULL, 200),
    ROUTE("GET", AGENTS_PATH, agents_upgrade, ROUTE_OPEN | ROUTE_STREAM,
          "Upgrade to muster/1: for muster's own agents", "", NULL, 101),
};

const struct route *api_routes(size_t *n)
{
    *n = ARRAY_LEN(routes);
    return routes;
}

/* Matches "/v1/jobs/{job}/stop" against a path; {..} takes one non-empty segment. */
static bool match(const char *pattern, const char *path, struct call *call)
{
    unsigned n = 0;
    while (*pattern) {
        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        size_t len = strcspn(path, "/");
        if (len == 0 || n == ARRAY_LEN(call->param))
            return false;
        call->param[n++] = arena_strndup(call->arena, path, len);
        path += len;
        pattern += strcspn(pattern, "}") + 1;
    }
    return *path == '\0';
}

static void no_route(struct call *call, const char *allowed)
{
    struct err err;
    const char *path = http_path(call->request), *method = http_method(call->request);
    if (allowed[0]) {
        http_add_header(call->request, "Allow", allowed);
        err_set(&err, ERR_METHOD, "%s does not take %s", path, method);
        err_hint(&err, "it takes %s", allowed);
    } else {
        err_set(&err, ERR_NOT_FOUND, "nothing is at %s", path);
        err_hint(&err, "/v1/openapi.json lists every route");
    }
    call_problem(call, &err, NULL);
}

static void refuse(struct call *call, const struct route *route, const struct err *err)
{
    caller_refused(call, NULL, "request",
                   arena_printf(call->arena, "%s %s", route->method, http_path(call->request)),
                   err);
    call_problem(call, err, NULL);
}

/* Of a job's program: its own job, and of that only what programs need; of one that may submit, its
 * owner's jobs. */
static bool permitted_to_job(struct call *call, const struct route *route)
{
    const struct identity *who = &call->who;
    bool others = who->submits && route->flags & ROUTE_OF_CHILDREN;
    struct err err;
    uint64_t id;
    if (!strchr(route->path, '{')) {
        if (others)
            return true;
    } else if (others || route->flags & ROUTE_OF_JOB) {
        if (answer_find_for(call->api->config.ctl, who, call->param[0], &id, &err) == 0 &&
            (others || id == who->of.job))
            return true;
    }
    err_set(&err, ERR_DENIED, "programs of job %llu may not ask for this",
            (unsigned long long)who->of_number);
    if (route->flags & ROUTE_OF_CHILDREN && !who->submits)
        err_hint(&err, "a job that says \"server: submit\" may submit, watch and stop jobs of its "
                       "owner");
    else
        err_hint(&err, "they may use the board of their own job, read it and its logs, enter its "
                       "tasks, restart, fail and stop it");
    refuse(call, route, &err);
    return false;
}

/* By the role alone; whose job it is the core looks at. */
static bool permitted(struct call *call, const struct route *route)
{
    bool reads = route->flags & ROUTE_READ ||
                 (strcmp(route->method, "GET") == 0 && !(route->flags & ROUTE_WRITE));
    enum user_role least = route->flags & ROUTE_ADMIN ? ROLE_ADMIN
                           : reads                    ? ROLE_READER
                                                      : ROLE_USER;
    struct err err;
    if (call->who.of.job && !(route->flags & ROUTE_OPEN))
        return permitted_to_job(call, route);
    if (route->flags & ROUTE_OPEN || call->who.role >= least)
        return true;
    err_set(&err, ERR_DENIED,
            route->flags & ROUTE_ADMIN ? "%.60s is no admin of this server"
                                       : "%.60s is a reader: it changes nothing",
            call->owner);
    refuse(call, route, &err);
    return false;
}

static bool within_limits(struct call *call, const struct route *route)
{
    struct err err;
    if (route->flags & ROUTE_STREAM && !(route->flags & ROUTE_OPEN) &&
        !http_may_last(call->request)) {
        err_set(&err, ERR_UNAVAILABLE, "%.60s has too many connections, or the server has",
                call->owner);
        err_hint(&err, "end some that follow logs or events");
        call_problem(call, &err, NULL);
        return false;
    }
    if ((route->flags & ROUTE_SUBMITS && limit_one(call, LIMIT_SUBMIT, &err) < 0) ||
        (route->flags & ROUTE_LISTS && limit_one(call, LIMIT_LIST, &err) < 0) ||
        (route->flags & ROUTE_LOGS && limit_check(call, LIMIT_LOG, &err) < 0)) {
        call_problem(call, &err, NULL);
        return false;
    }
    return true;
}

static struct call *call_of(struct api *api, struct http_request *request)
{
    struct call *call = mem_new(sizeof *call);
    call->api = api;
    call->request = request;
    call->arena = arena_create();
    return call;
}

void api_refused(void *arg, struct http_request *request, const struct err *err)
{
    struct call *call = call_of(arg, request);
    if (!facade_refuse(call, err))
        call_problem(call, err, NULL);
}

static void serve(struct call *call, const struct route *route)
{
    TURN_WORK(call->api->config.meter, route->path, 0);
    call->success = route->status;
    route->handle(call);
}

bool api_spares(void *arg, struct http_request *request)
{
    (void)arg;
    return strcmp(http_path(request), AGENTS_PATH) == 0;
}

void api_handle(void *arg, struct http_request *request)
{
    struct call *call = call_of(arg, request);
    TURN_WORK(call->api->config.meter, "request", 0);
    if (facade_handle(call))
        return;
    const char *method = http_method(request);
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    char allowed[64] = "";
    const struct route *route = NULL;
    for (size_t i = 0; i < ARRAY_LEN(routes) && !route; i++) {
        if (!match(routes[i].path, http_path(request), call))
            continue;
        if (strcmp(routes[i].method, method) == 0)
            route = &routes[i];
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "", routes[i].method);
    }
    /* Who asks comes before what there is: a stranger learns nothing of that. */
    if (!(route && route->flags & ROUTE_OPEN) && !auth_identity(call)) {
        auth_refuse(call);
    } else if (!route) {
        no_route(call, allowed);
    } else if (permitted(call, route) && within_limits(call, route)) {
        serve(call, route);
    }
}
