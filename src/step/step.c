/* muster-step: one process on each node of the job, for as long as the job lives there.
 *
 * Inputs: environment and config of the job (node_conf.h); connections of srun. Effects: the script
 * and tasks as children. The agent sends SIGTERM to every process of the job when it is to end:
 * this one stops accepting and ends when its children have, the agent sees to the rest. */
#include "step/step.h"

#include "base/mem.h"
#include "conn/conn.h"
#include "conn/listener.h"
#include "step/node_conf.h"
#include "step/peer.h"
#include "step/script.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct step_node {
    uv_loop_t loop;
    struct arena *arena;
    struct node_conf conf;
    struct listener *listener;
    struct peers peers;
    struct claims claims;
    struct script *script; /* NULL: there is none here, or it has ended */
    uv_signal_t child, term;
    uv_timer_t limit;
    int code;
    bool ending;
};

/* ---- the end ---- */

static void end(struct step_node *node)
{
    if (node->ending)
        return;
    node->ending = true;
    peers_end(&node->peers);
    listener_destroy(node->listener);
    script_destroy(node->script);
    node->script = NULL;
    uv_close((uv_handle_t *)&node->child, NULL);
    uv_close((uv_handle_t *)&node->term, NULL);
    uv_close((uv_handle_t *)&node->limit, NULL);
}

static void on_child(uv_signal_t *handle, int number)
{
    struct step_node *node = handle->data;
    pid_t pid;
    int status, code;
    bool over = false;
    (void)number;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (node->script && script_reap(node->script, pid, status, &code)) {
            node->code = code;
            over = true;
        } else {
            (void)peers_reap(&node->peers, pid, status);
        }
    }
    if (over)
        end(node);
}

/* The script's end is this one's; other nodes have nothing to wait for. */
static void on_term(uv_signal_t *handle, int number)
{
    struct step_node *node = handle->data;
    if (node->script)
        return;
    node->code = 128 + number;
    end(node);
}

static void on_limit(uv_timer_t *timer)
{
    struct step_node *node = timer->data;
    if (!node->conf.signal_batch)
        peers_signal(&node->peers, node->conf.signal);
    else if (node->script)
        script_signal(node->script, node->conf.signal);
}

/* ---- the beginning ---- */

static void on_caller(void *arg, int fd)
{
    peers_add(arg, fd);
}

/* On its own address; where the machine has no such address (it is behind another), on all. */
static int listen_at(struct step_node *node, struct err *err)
{
    struct listen_place place = { .addr = node->conf.address, .port = node->conf.port };
    int fd = listener_open_tcp(&place, err);
    if (fd < 0 && place.foreign) {
        place = (struct listen_place){ .addr = "*", .port = node->conf.port };
        fd = listener_open_tcp(&place, err);
    }
    if (fd < 0)
        return -1;
    node->listener = listener_create(
        &node->loop, fd, (struct listener_sink){ .caller = on_caller, .arg = &node->peers });
    return 0;
}

/* Cores of a node that the job has without a limit. */
static void count_cores(void)
{
    char text[24];
    cpu_set_t cores;
    if (getenv("SLURM_CPUS_ON_NODE") || sched_getaffinity(0, sizeof cores, &cores) != 0)
        return;
    snprintf(text, sizeof text, "%d", CPU_COUNT(&cores));
    (void)setenv("SLURM_CPUS_ON_NODE", text, 1);
}

static void make_environment(void)
{
    char pid[24];
    count_cores();
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    (void)setenv("SLURM_TASK_PID", pid, 1);
    (void)setenv("MUSTER_STEP_PATH", getenv("PATH") ? getenv("PATH") : "", 1);
}

static int begin(struct step_node *node, struct err *err)
{
    make_environment();
    node->peers = (struct peers){ .loop = &node->loop, .secret = node->conf.secret };
    node->peers.env = environ;
    if (node->conf.first && node->conf.room &&
        claims_init(&node->claims, node->arena, node->conf.room))
        node->peers.claims = &node->claims;
    if (listen_at(node, err) < 0)
        return -1;
    uv_signal_t *signals[] = { &node->child, &node->term };
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        (void)uv_signal_init(&node->loop, signals[i]);
        signals[i]->data = node;
    }
    (void)uv_signal_start(&node->child, on_child, SIGCHLD);
    (void)uv_signal_start(&node->term, on_term, SIGTERM);
    (void)uv_timer_init(&node->loop, &node->limit);
    node->limit.data = node;
    if (node->conf.signal)
        (void)uv_timer_start(&node->limit, on_limit, node->conf.signal_after_ms, 0);
    if (!node->conf.first)
        return 0;
    node->script = script_start(&node->loop, &node->conf, err);
    if (node->script)
        return 0;
    end(node);
    return -1;
}

int step_main(int argc, char **argv)
{
    struct step_node node = { .arena = arena_create() };
    struct err err = { .code = ERR_NONE };
    (void)argc;
    (void)argv;
    (void)signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&node.loop) != 0)
        err_set(&err, ERR_SYSTEM, "no event loop: too many open files");
    else if (node_conf_read(node.arena, &node.conf, &err) == 0 && begin(&node, &err) == 0)
        (void)uv_run(&node.loop, UV_RUN_DEFAULT);
    if (err.code != ERR_NONE) {
        fprintf(stderr, "muster-step: %s\n", err.what);
        if (*err.hint)
            fprintf(stderr, "  %s\n", err.hint);
        node.code = 1;
    }
    arena_destroy(node.arena);
    return node.code;
}
