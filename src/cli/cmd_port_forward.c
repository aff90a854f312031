/* muster port-forward: a port here that leads to one of a running task. Each connection is a
 * process of its own with a session as exec has it, whose other end is that port. */
#include "cli/cmd.h"

#include "base/mem.h"
#include "base/opt.h"
#include "base/scan.h"
#include "cli/call.h"
#include "cli/exec_call.h"
#include "cli/jobs.h"
#include "cli/names.h"
#include "cli/output.h"
#include "text/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAITING 64 /* connections that are not taken yet */

static const struct opt opts[] = {
    COMMON_OPTS,
    OPT_END,
};

struct forward {
    struct cli *cli;
    struct exec_call call;
    int listener;
    uint64_t local; /* 0: any that is free */
};

/* "8080", "9000:8080" */
static int read_ports(struct forward *f, const char *text, struct err *err)
{
    const char *colon = strchr(text, ':'), *there = colon ? colon + 1 : text;
    const char *here = colon ? arena_strndup(f->cli->arena, text, (size_t)(colon - text)) : text;
    uint64_t port;
    if (!scan_u64(there, 1, 65535, &port) || !scan_u64(here, 0, 65535, &f->local)) {
        err_set(err, ERR_INPUT, "\"%.40s\" is no port", text);
        return err_hint(err, "8080, or 9000:8080 for port 9000 here");
    }
    f->call.port = (uint16_t)port;
    return 0;
}

static bool has_task(const struct text_node *view, const char *name)
{
    const struct text_node *list = text_get(view, "task_list");
    const size_t n = strlen(name);
    for (const struct text_node *t = list ? list->first : NULL; t; t = t->next) {
        const char *its = text_word(t, "name");
        if (strncmp(its, name, n) == 0 && (!its[n] || its[n] == '/'))
            return true;
    }
    return false;
}

/* Whether the task runs is asked anew for each connection. */
static int check_task(const struct forward *f, const struct text_node *view, struct err *err)
{
    const char *state = text_word(view, "state");
    if (out_final(state))
        return err_set(err, ERR_CONFLICT, "job %s is %s: none of its tasks runs", f->call.job,
                       state);
    if (f->call.task && !has_task(view, f->call.task))
        return err_set(err, ERR_NOT_FOUND, "job %s has no task \"%.100s\"", f->call.job,
                       f->call.task);
    return 0;
}

static int listen_here(struct forward *f, struct err *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)f->local) };
    socklen_t size = sizeof at;
    int on = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (f->listener < 0)
        return err_sys(err, "socket");
    (void)setsockopt(f->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(f->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(f->listener, WAITING) != 0 ||
        getsockname(f->listener, (struct sockaddr *)&at, &size) != 0)
        return err_sys(err, "port %llu of this machine", (unsigned long long)f->local);
    f->local = ntohs(at.sin_port);
    return 0;
}

static void say_where(const struct forward *f, const char *job)
{
    const char *address = arena_printf(f->cli->arena, "127.0.0.1:%u", (unsigned)f->local);
    if (f->cli->json) {
        struct text_node *root = text_map(f->cli->arena, NULL, NULL);
        text_str(f->cli->arena, root, "address", address);
        text_int(f->cli->arena, root, "port", f->call.port);
        out_json(root);
    } else if (f->cli->quiet) {
        printf("%s\n", address);
    } else {
        printf("%s leads to port %u of job %s, until this command ends\n", address, f->call.port,
               job);
    }
    fflush(stdout);
}

/* Whoever connected is this process's input and output. It ends with him, and with the command. */
static _Noreturn void serve(const struct forward *f, int fd, pid_t parent)
{
    struct session s;
    struct err err;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)signal(SIGPIPE, SIG_DFL);
    if (getppid() != parent || dup2(fd, STDIN_FILENO) < 0)
        _exit(1);
    session_init(&s, false);
    s.to = fd;
    if (exec_call_run(f->cli, &f->call, &s, &err) < 0)
        fprintf(stderr, "%s\n", err.what);
    fflush(NULL);
    _exit(0);
}

static int accept_all(const struct forward *f, struct err *err)
{
    pid_t self = getpid();
    (void)signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            return err_sys(err, "taking a connection");
        fflush(NULL);
        if (fork() == 0)
            serve(f, fd, self);
        close(fd);
    }
}

static int run_port_forward(struct cli *cli, const void *opts_, int argc, char **argv,
                            struct err *err)
{
    struct forward f = { .cli = cli, .listener = -1 };
    struct task_name name;
    (void)opts_;
    if (cmd_operands(&cmd_port_forward, argc, 2, 3, err) < 0)
        return -1;
    f.call.job = argv[0];
    f.call.task = argc > 2 ? argv[1] : NULL;
    if ((f.call.task && names_task(cli->arena, f.call.task, &name, err) < 0) ||
        read_ports(&f, argv[argc - 1], err) < 0)
        return -1;
    const struct text_node *view = jobs_view(cli, argv[0], "?tasks=1", err);
    if (!view || check_task(&f, view, err) < 0 || listen_here(&f, err) < 0)
        return -1;
    say_where(&f, jobs_label(cli->arena, view));
    call_drop(cli); /* each has its own connection */
    int rc = accept_all(&f, err);
    close(f.listener);
    return rc;
}

static const char *const examples[] = {
    "muster port-forward 12 6006",
    "TensorBoard of its only task at http://127.0.0.1:6006",
    "muster port-forward ddp worker/1 9000:8080",
    "port 8080 of that task at port 9000 here",
    NULL,
};
const struct cmd cmd_port_forward = {
    .name = "port-forward",
    .summary = "a port here that leads to one of a task",
    .operands = "JOB [ROLE/INDEX] [LOCAL:]PORT",
    .opts = opts,
    .size = sizeof(struct common_opts),
    .examples = examples,
    .run = run_port_forward,
};
