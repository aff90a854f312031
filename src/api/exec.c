/* The upgrades: agents (to the link), interactive commands and clients at a task's stdin (to the
 * engine that runs the task). */
#include "api/call.h"

#include "access/task_entry.h"
#include "access/task_stdin.h"
#include "base/log.h"
#include "base/mem.h"
#include "link/link.h"
#include "text/remedies.h"
#include "wire/frame.h"

#include <string.h>

/* ---- agents ---- */

static void agent_taken(void *arg, int fd, const void *extra, size_t len)
{
    struct call *call = arg;
    const char *token = http_header(call->request, "Authorization") + strlen("Bearer ");
    link_attach(call->api->config.link, token, fd, extra, len, NULL);
    call_free(call);
}

void agents_upgrade(struct call *call)
{
    const char *token = http_header(call->request, "Authorization");
    const char *upgrade = http_header(call->request, "Upgrade");
    struct err err;
    bool has = token && strncmp(token, "Bearer ", 7) == 0;
    if (has && link_holds(call->api->config.link, token + 7)) {
        log_debug("agent.stranger", "note=\"its job is not in the records\"");
        err_set(&err, ERR_UNAVAILABLE, "the records do not know this agent's job");
        call_problem(call, &err, NULL);
    } else if (!has || !link_knows(call->api->config.link, token + 7)) {
        auth_refuse(call);
    } else if (!upgrade || strcmp(upgrade, "muster/1") != 0) {
        err_set(&err, ERR_INPUT, "this route is an upgrade to muster/1");
        call_problem(call, &err, NULL);
    } else {
        http_upgrade(call->request, "muster/1", agent_taken, call);
    }
}

/* ---- exec ---- */

struct exec_call {
    struct call *call;
    struct engine_exec exec;
    uint64_t job;
    const char *task;
};

/* What went wrong after the upgrade is told in the protocol itself. */
static void refuse(struct call *call, int fd, const struct err *err)
{
    const char *advice = remedies_line(call->arena, err->hint, &err->remedies);
    AUTO_BUF struct buf out = BUF_INIT(4096);
    size_t mark = wire_begin(&out, WIRE_STDERR, 0);
    wire_put_u32(&out, 0);
    buf_addf(&out, "error: %s\n%s%s%s", err->what, *advice ? "  " : "", advice,
             *advice ? "\n" : "");
    wire_end(&out, mark);
    mark = wire_begin(&out, WIRE_EXIT, 0);
    wire_put_u32(&out, 0);
    wire_put_u32(&out, (uint32_t)err_exit_status(err->code));
    wire_end(&out, mark);
    if (write(fd, out.data, out.len) < 0)
        return; /* the client is gone as well */
}

static void exec_taken(void *arg, int fd, const void *extra, size_t len)
{
    struct exec_call *x = arg;
    struct err err;
    (void)extra; /* the client waits for the 101 before it sends */
    (void)len;
    channel_note(x->call, fd);
    x->exec.fd = fd;
    caller_tell(x->call);
    const struct task_target to = { x->call->owner, x->job, x->task };
    if (task_exec(ctl_access(x->call->api->config.ctl), &to, &x->exec, &err) < 0) {
        refuse(x->call, fd, &err);
        close(fd);
    }
    call_free(x->call);
    free(x);
}

static bool read_exec(struct call *call, struct exec_call *x, struct err *err)
{
    uint64_t rows = 24, cols = 80, port = 0;
    const char *arg;
    size_t n = 0;
    x->task = http_query(call->request, "task", 0);
    if (x->task)
        x->task = arena_strdup(call->arena, x->task);
    while (http_query(call->request, "arg", n))
        n++;
    x->exec.argv = (struct words){ .at = ARENA_ARRAY(call->arena, n + 1, const char *), .n = n };
    for (size_t i = 0; (arg = http_query(call->request, "arg", i)); i++)
        x->exec.argv.at[i] = arena_strdup(call->arena, arg);
    x->exec.tty = call_flag(call, "tty");
    if (!call_u64(call, "rows", 1, 10000, &rows, err) ||
        !call_u64(call, "cols", 1, 10000, &cols, err) ||
        !call_u64(call, "port", 1, 65535, &port, err))
        return false;
    x->exec.port = (uint16_t)port;
    x->exec.rows = (uint16_t)rows;
    x->exec.cols = (uint16_t)cols;
    return true;
}

void job_exec(struct call *call)
{
    const char *upgrade = http_header(call->request, "Upgrade");
    struct err err;
    uint64_t id;
    if (!call_job(call, &id))
        return;
    struct exec_call *x = mem_new(sizeof *x);
    x->call = call;
    x->job = id;
    bool good = read_exec(call, x, &err);
    if (good && (!upgrade || strcmp(upgrade, "muster-exec/1") != 0)) {
        err_set(&err, ERR_INPUT, "this route is an upgrade to muster-exec/1");
        err_hint(&err, "the verb exec of the command line speaks it");
        good = false;
    }
    if (good) {
        http_upgrade(call->request, "muster-exec/1", exec_taken, x);
        return;
    }
    free(x);
    call_problem(call, &err, NULL);
}

/* ---- attach ---- */

struct attach_call {
    struct call *call;
    struct stdin_request ask;
    struct engine_attach to;
};

static void attach_taken(void *arg, int fd, const void *extra, size_t len)
{
    struct attach_call *x = arg;
    struct err err;
    (void)extra; /* the client waits for the 101 before it sends */
    (void)len;
    channel_note(x->call, fd);
    x->to.fd = fd;
    caller_tell(x->call);
    if (task_attach(ctl_access(x->call->api->config.ctl), &x->ask, &x->to, &err) < 0) {
        refuse(x->call, fd, &err);
        close(fd);
    }
    call_free(x->call);
    free(x);
}

static bool read_attach(struct call *call, struct attach_call *x, struct err *err)
{
    uint64_t rows = 0, cols = 0, attempt = 0;
    const char *task = http_query(call->request, "task", 0);
    x->ask.task = task ? arena_strdup(call->arena, task) : NULL;
    if (!call_u64(call, "rows", 0, 10000, &rows, err) ||
        !call_u64(call, "cols", 0, 10000, &cols, err) ||
        !call_u64(call, "attempt", 0, UINT32_MAX, &attempt, err) ||
        !call_u64(call, "session", 0, UINT64_MAX, &x->to.session, err) ||
        !call_u64(call, "offset", 0, UINT64_MAX, &x->to.offset, err))
        return false;
    x->ask.attempt = (uint32_t)attempt;
    x->to.rows = (uint16_t)rows;
    x->to.cols = (uint16_t)cols;
    return true;
}

/* Without an upgrade the route says where it would lead. */
static void say_where(struct call *call, const struct attach_call *x)
{
    struct text_node *root = text_map(call->arena, NULL, NULL);
    const struct task_ref *task = &x->to.task;
    text_str(call->arena, root, "task",
             arena_printf(call->arena, "%s/%u", x->ask.role, task->index));
    text_int(call->arena, root, "attempt", x->to.attempt);
    text_bool(call->arena, root, "tty", x->ask.tty);
    call_answer(call, 200, root);
}

void job_attach(struct call *call)
{
    const char *upgrade = http_header(call->request, "Upgrade");
    struct err err;
    uint64_t id;
    if (!call_job(call, &id))
        return;
    struct attach_call *x = mem_new(sizeof *x);
    x->call = call;
    x->ask = (struct stdin_request){ .owner = call->owner, .job = id };
    x->to.fd = -1;
    bool good = read_attach(call, x, &err) &&
                task_attach(ctl_access(call->api->config.ctl), &x->ask, &x->to, &err) == 0;
    if (good && upgrade && strcmp(upgrade, "muster-attach/1") == 0) {
        http_upgrade(call->request, "muster-attach/1", attach_taken, x);
        return;
    }
    if (good)
        say_where(call, x);
    else
        call_problem(call, &err, NULL);
    free(x);
}
