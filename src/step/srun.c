/* srun: starts tasks on the nodes of its job, shows what they write, and ends with the highest of
 * their exit codes.
 *
 * Role: one connection to the script's node for the claim, one to each node with tasks. Signals are
 * passed on; SIGTERM, and SIGINT twice within a second, end the step: SIGTERM to its tasks, SIGKILL
 * KILL_WAIT_MS later or at the next one.
 *
 * Caveats: a node that cannot be reached has failed all its tasks. Inside a loop over lines of a
 * file srun reads the file, as Slurm's does: --input=none. */
#include "conn/conn.h"
#include "step/step.h"

#include "base/mem.h"
#include "step/handshake.h"
#include "step/input_window.h"
#include "step/peer.h"
#include "step/srun_output.h"
#include "step/srun_plan.h"
#include "step/srun_stdin.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KILL_WAIT_MS = 30000,
    AGAIN_MS = 1000,
    DIAL_MS = 100,    /* between two tries to reach a node */
    REACH_MS = 60000, /* all nodes of a job start together, but some a little later */
    EXIT_OF_SRUN = 1,
    FAILED_CODE = 255
};

struct srun;
struct link { /* to a node */
    struct srun *srun;
    const struct srun_node *node;
    struct srun_target *target; /* NULL: of the claim */
    struct conn *conn;
    struct handshake handshake;
    bool known;
    uint32_t left; /* tasks that have not ended */
    struct srun_writer writer;
    struct input_window window;
    uv_timer_t again;
    uint64_t since; /* of the first try */
    bool tried;
};
struct srun {
    uv_loop_t loop;
    struct arena *arena;
    struct srun_job job;
    struct srun_plan plan;
    struct srun_limits limits;
    struct srun_opts *parts;
    size_t n_parts;
    struct link claim, *links;
    struct srun_output *out;
    struct srun_stdin *input;
    uv_signal_t signals[8];
    size_t n_signals;
    uv_timer_t kill_timer, limit, wait;
    uint64_t interrupted_at;
    uint32_t left;
    int code;
    bool quiet, ending, over;
    bool kill_on_bad;
};

/* ---- the end ---- */

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_link(struct link *link)
{
    conn_close(link->conn);
    link->conn = NULL;
    if (link->tried)
        close_handle((uv_handle_t *)&link->again);
}

static void finish(struct srun *s)
{
    if (s->over)
        return;
    s->over = true;
    srun_stdin_destroy(s->input);
    s->input = NULL;
    close_link(&s->claim);
    for (size_t i = 0; s->links && i < s->plan.n; i++)
        close_link(&s->links[i]);
    for (size_t i = 0; i < s->n_signals; i++)
        close_handle((uv_handle_t *)&s->signals[i]);
    close_handle((uv_handle_t *)&s->kill_timer);
    close_handle((uv_handle_t *)&s->limit);
    close_handle((uv_handle_t *)&s->wait);
}

static void raise_code(struct srun *s, int code)
{
    s->code = code > s->code ? code : s->code;
}

static void send_signal(struct srun *s, int number)
{
    const struct step_signal signal = { .signal = (uint32_t)number };
    for (size_t i = 0; s->links && i < s->plan.n; i++) {
        struct link *link = &s->links[i];
        if (!link->conn || !link->known)
            continue;
        step_put(conn_out(link->conn), &signal);
        conn_flush(link->conn);
    }
}

static void on_kill(uv_timer_t *timer)
{
    send_signal(timer->data, SIGKILL);
}

/* At once SIGTERM, then SIGKILL. Before its tasks were started there is nothing to wait for. */
static void end_step(struct srun *s)
{
    if (s->ending) {
        send_signal(s, SIGKILL);
        return;
    }
    s->ending = true;
    if (!s->links) {
        raise_code(s, EXIT_OF_SRUN);
        finish(s);
        return;
    }
    send_signal(s, SIGCONT);
    send_signal(s, SIGTERM);
    (void)uv_timer_start(&s->kill_timer, on_kill, KILL_WAIT_MS, 0);
}

static void on_limit(uv_timer_t *timer)
{
    struct srun *s = timer->data;
    fprintf(stderr, "srun: error: Step %s.%u timed out\n", getenv("SLURM_JOB_ID"),
            s->plan.targets[0].start.step);
    raise_code(s, 1);
    end_step(s);
}

static void on_wait(uv_timer_t *timer)
{
    fprintf(stderr, "srun: First task exited, terminating the remaining tasks (--wait)\n");
    end_step(timer->data);
}

/* ---- tasks ---- */

static void say_end(const struct srun *s, const struct link *link, const struct step_ended_task *e)
{
    if (s->quiet)
        return;
    if (*e->why)
        fprintf(stderr, "slurmstepd: error: %s\n", e->why);
    if (e->signal)
        fprintf(stderr, "srun: error: %s: task %u: %s\n", link->node->name, e->rank,
                strsignal((int)e->signal));
    else if (e->code)
        fprintf(stderr, "srun: error: %s: task %u: Exited with exit code %u\n", link->node->name,
                e->rank, e->code);
}

static void first_exit(struct srun *s, bool bad)
{
    if (bad && s->kill_on_bad && !s->ending)
        end_step(s);
    else if (s->limits.wait_ms && !uv_is_active((uv_handle_t *)&s->wait))
        (void)uv_timer_start(&s->wait, on_wait, s->limits.wait_ms, 0);
}

/* Input comes behind START everywhere, and as far as all nodes take it. */
static bool takes_input(const struct link *link)
{
    return link->known && (!link->conn || conn_has_room(link->conn)) &&
           input_window_has_room(&link->window);
}

static void begin_input(struct srun *s)
{
    for (size_t i = 0; s->links && i < s->plan.n; i++)
        if (s->links[i].left && !takes_input(&s->links[i]))
            return;
    srun_stdin_go_on(s->input);
}

static void task_ended(struct link *link, const struct step_ended_task *e)
{
    struct srun *s = link->srun;
    int code = e->signal ? 128 + (int)e->signal : (int)e->code;
    srun_output_end(s->out, e->rank);
    say_end(s, link, e);
    raise_code(s, code);
    link->left -= link->left > 0;
    s->left -= s->left > 0;
    if (s->left == 0) {
        finish(s);
        return;
    }
    if (link->left == 0) /* what this node has taken holds up no other */
        begin_input(s);
    first_exit(s, code != 0);
}

static int take_beat(struct link *link, const struct wire_frame *frame)
{
    struct step_beat beat = { .input_end = 0 };
    if (step_get(frame, NULL, &beat) != 0)
        return -1;
    if (input_window_move(&link->window, beat.input_end))
        begin_input(link->srun);
    return 0;
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct link *link = arg;
    struct srun *s = link->srun;
    struct step_data data;
    struct step_ended_task ended;
    (void)conn;
    switch ((enum step_frame)frame->kind) {
    case STEP_FRAME_OUTPUT:
        if (step_get_as(frame, NULL, STEP_FRAME_OUTPUT, &data) != 0)
            return -1;
        srun_output_write(s->out, &link->writer, &data);
        return 0;
    case STEP_FRAME_ENDED:
        if (step_get(frame, s->arena, &ended) != 0)
            return -1;
        task_ended(link, &ended);
        return 0;
    case STEP_FRAME_BEAT: return take_beat(link, frame);
    default: return -1;
    }
}

static void dial(struct link *link);

static void on_again(uv_timer_t *timer)
{
    dial(timer->data);
}

/* A node that does not listen yet is tried again. One that was reached and went is not. */
static bool try_again(struct link *link)
{
    struct srun *s = link->srun;
    if (link->known || link->handshake.challenged || s->ending ||
        uv_now(&s->loop) - link->since > REACH_MS)
        return false;
    return uv_timer_start(&link->again, on_again, DIAL_MS, 0) == 0;
}

/* Whatever still ran there is not known. */
static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct link *link = arg;
    struct srun *s = link->srun;
    (void)conn;
    link->conn = NULL;
    if (link->left == 0 || try_again(link))
        return;
    fprintf(stderr, "srun: error: %s: %s\n", link->node->name,
            why && *why ? why : "the connection was closed");
    raise_code(s, FAILED_CODE);
    s->left -= link->left;
    link->left = 0;
    if (s->left == 0) {
        finish(s);
        return;
    }
    begin_input(s);
    first_exit(s, true);
}

static void on_room(void *arg, struct conn *conn)
{
    struct link *link = arg;
    (void)conn;
    begin_input(link->srun);
}

/* ---- handshake ---- */

static void start_tasks(struct link *link)
{
    conn_set_events(link->conn,
                    (struct conn_events){
                        .frame = on_frame, .room = on_room, .closed = on_closed, .arg = link });
    step_put(conn_out(link->conn), &link->target->start);
    if (link->target->start.input) /* the answer says how much it takes */
        step_put_as(conn_out(link->conn), STEP_FRAME_BEAT, NULL);
    conn_flush(link->conn);
    conn_keep_alive(link->conn, &step_keep_alive);
    if (link->srun->ending)
        send_signal(link->srun, SIGTERM);
    begin_input(link->srun);
}

static void begin_step(struct srun *s, const struct step_grant *grant);

static int on_grant(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct link *link = arg;
    struct step_grant grant;
    (void)conn;
    if (frame->kind == (enum wire_kind)STEP_FRAME_BEAT)
        return 0;
    if (frame->kind != (enum wire_kind)STEP_FRAME_GRANT || link->srun->links ||
        step_get(frame, link->srun->arena, &grant) != 0)
        return -1;
    begin_step(link->srun, &grant);
    return 0;
}

static void claim(struct link *link)
{
    conn_set_events(link->conn,
                    (struct conn_events){ .frame = on_grant, .closed = on_closed, .arg = link });
    step_put(conn_out(link->conn), &link->srun->plan.claim);
    conn_flush(link->conn);
}

static ssize_t on_bytes(void *arg, struct conn *conn, char *at, size_t len)
{
    struct link *link = arg;
    size_t used;
    int rc = handshake_take(&link->handshake, at, len, &used, conn_out(conn));
    if (rc < 0)
        return -1;
    conn_flush(conn);
    if (rc == 0)
        return (ssize_t)used;
    conn_admit(conn);
    link->known = true;
    if (link->target)
        start_tasks(link);
    else
        claim(link);
    return (ssize_t)used;
}

static void dial(struct link *link)
{
    struct srun *s = link->srun;
    const struct conn_target target = { .addr = link->node->address, .port = link->node->port };
    if (!link->tried) {
        (void)uv_timer_init(&s->loop, &link->again);
        link->again.data = link;
        link->since = uv_now(&s->loop);
        link->tried = true;
    }
    handshake_init(&link->handshake, getenv("MUSTER_JOB_SECRET"), false, NULL);
    link->conn =
        conn_connect(&s->loop, &target, &step_terms,
                     (struct conn_events){ .bytes = on_bytes, .closed = on_closed, .arg = link });
}

/* ---- signals ---- */

static void on_signal(uv_signal_t *handle, int number)
{
    struct srun *s = handle->data;
    uint64_t now = uv_now(&s->loop);
    if (number != SIGINT && number != SIGTERM && number != SIGQUIT && number != SIGHUP) {
        send_signal(s, number);
        return;
    }
    bool again = s->interrupted_at && now - s->interrupted_at < AGAIN_MS;
    if (number != SIGINT || again || !isatty(STDIN_FILENO)) {
        end_step(s);
        return;
    }
    s->interrupted_at = now;
    fprintf(stderr, "srun: interrupt (one more within 1 sec to abort)\n");
}

static void watch_signals(struct srun *s)
{
    static const int numbers[] = { SIGINT,  SIGTERM, SIGQUIT, SIGHUP,
                                   SIGUSR1, SIGUSR2, SIGALRM, SIGCONT };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        (void)uv_signal_init(&s->loop, &s->signals[i]);
        s->signals[i].data = s;
        (void)uv_signal_start(&s->signals[i], on_signal, numbers[i]);
        s->n_signals++;
    }
}

/* ---- the whole ---- */

static bool send_input(void *arg, const struct step_data *data)
{
    struct srun *s = arg;
    bool room = true;
    for (size_t i = 0; i < s->plan.n; i++) {
        struct link *link = &s->links[i];
        if (!link->conn || link->left == 0)
            continue;
        size_t mark = wire_begin(conn_out(link->conn), (enum wire_kind)STEP_FRAME_INPUT, 0);
        codec_put(conn_out(link->conn), step_messages[STEP_FRAME_INPUT - STEP_FRAME_CLAIM].rows,
                  data);
        wire_end(conn_out(link->conn), mark);
        conn_flush(link->conn);
        link->window.sent += data->len;
        room &= takes_input(link);
    }
    return room;
}

static void fail(struct srun *s, const struct err *err)
{
    fprintf(stderr, "srun: error: %s\n", err->what);
    if (*err->hint)
        fprintf(stderr, "srun: %s\n", err->hint);
    raise_code(s, EXIT_OF_SRUN);
    finish(s);
}

static void begin_step(struct srun *s, const struct step_grant *grant)
{
    struct err err = { .code = ERR_NONE };
    srun_plan_grant(s->arena, &s->plan, grant);
    s->out = srun_output_create(&s->parts[0], grant->step, s->plan.tasks, &err);
    if (s->out)
        s->input =
            srun_stdin_create(&s->loop, s->parts[0].at[SRUN_INPUT],
                              (struct srun_stdin_sink){ .give = send_input, .arg = s }, &err);
    if (err.code != ERR_NONE) {
        fail(s, &err);
        return;
    }
    s->links = ARENA_ARRAY(s->arena, s->plan.n, struct link);
    s->left = s->plan.tasks;
    s->claim.left = 0; /* from here on it only holds what was claimed */
    for (size_t i = 0; i < s->plan.n; i++) {
        struct srun_target *t = &s->plan.targets[i];
        t->start.input = s->input != NULL;
        s->links[i] = (struct link){ .srun = s,
                                     .node = t->node,
                                     .target = t,
                                     .left = (uint32_t)t->start.n_tasks,
                                     .writer = { .node = t->node->name, .node_id = (uint32_t)i } };
        dial(&s->links[i]);
    }
    if (s->limits.run_ms)
        (void)uv_timer_start(&s->limit, on_limit, s->limits.run_ms, 0);
}

static int prepare(struct srun *s, int argc, char **argv, struct err *err)
{
    if (srun_opts_read(s->arena, argc, argv, &s->parts, &s->n_parts, err) < 0)
        return -1;
    const struct srun_opts *first = &s->parts[0];
    const char *job = getenv("SLURM_JOB_ID"), *kill = first->at[SRUN_KILL_ON_BAD_EXIT];
    if (first->at[SRUN_VERSION]) {
        puts("muster's srun, after slurm 22.05");
        return 1;
    }
    s->quiet = first->at[SRUN_QUIET] != NULL;
    s->kill_on_bad = kill && strcmp(kill, "0") != 0;
    if (first->at[SRUN_JOBID] && (!job || strcmp(first->at[SRUN_JOBID], job) != 0))
        return err_set(err, ERR_CANNOT, "--jobid=%.40s is not the job that this is in",
                       first->at[SRUN_JOBID]);
    if (srun_opts_limits(first, &s->limits, err) < 0 ||
        srun_job_read(s->arena, getenv("MUSTER_STEP_NODES"), environ, &s->job, err) < 0)
        return -1;
    if (!getenv("MUSTER_JOB_SECRET"))
        return err_set(err, ERR_CANNOT,
                       "MUSTER_JOB_SECRET is not set: no node of the job would "
                       "start anything");
    return srun_plan_make(s->arena, &s->job, s->parts, s->n_parts, &s->plan, err);
}

static void begin(struct srun *s)
{
    uv_timer_t *timers[] = { &s->kill_timer, &s->limit, &s->wait };
    for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
        (void)uv_timer_init(&s->loop, timers[i]);
        timers[i]->data = s;
    }
    watch_signals(s);
    /* The claim's link stands for no task, but its end before the grant is the step's. */
    s->claim = (struct link){ .srun = s, .node = &s->job.nodes[0], .left = 1 };
    s->left = 1;
    dial(&s->claim);
}

int srun_main(int argc, char **argv)
{
    struct srun s = { .arena = arena_create() };
    struct err err = { .code = ERR_NONE };
    (void)signal(SIGPIPE, SIG_IGN);
    int rc = prepare(&s, argc, argv, &err);
    if (rc == 0 && uv_loop_init(&s.loop) != 0)
        rc = err_set(&err, ERR_SYSTEM, "no event loop: too many open files");
    if (rc == 0) {
        begin(&s);
        (void)uv_run(&s.loop, UV_RUN_DEFAULT);
    } else if (rc < 0) {
        s.over = true;
        fail(&s, &err);
    }
    srun_output_destroy(s.out);
    arena_destroy(s.arena);
    return s.code;
}
