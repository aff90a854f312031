/* One launcher, from its first JOIN to its exit code. What it is doing is its phase; orders of the
 * leader, ends of ranks and signals move it. It answers the leader with what happened, never with
 * what should happen. Orders of an older term or another round are ignored: the leader that gave
 * them has been replaced. */
#include "launch/member.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "flags/flags.h"
#include "launch/agent_event.h"
#include "launch/check.h"
#include "launch/error_file.h"
#include "launch/leader_conn.h"
#include "launch/ranks.h"
#include "launch/store.h"
#include "launch/streams.h"
#include "launch/summary.h"
#include "launch/torch_events.h"
#include "launch/trace.h"
#include "launch/watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define FRAMES_MAX (32u << 20)
#define LINGER_MS  2000u /* a leader waits so long for the others to take note of the end */
#define WAITING_MS 1000u /* between lines about what is waited for */

enum phase {
    PHASE_WAITING, /* nothing runs */
    PHASE_RUNNING,
    PHASE_DONE,     /* all ranks ended with 0; the others may not be */
    PHASE_STOPPING, /* joins again when its ranks are gone */
    PHASE_LEAVING,  /* ends when its ranks are gone */
    PHASE_OVER
};

struct recorded_death {
    struct rdzv_death death;
    uint64_t at_us;
};

struct member {
    uv_loop_t *loop;
    const struct settings *settings;
    uint64_t id;
    char node[256];
    enum phase phase;
    int exit_code;
    bool ended; /* the leader told the end */
    struct leader_conn *leader;
    struct streams *streams;
    struct warm_interpreter *warm;
    struct ranks *ranks;
    struct check *check;
    struct trace *trace;
    struct watchdog *watchdog;
    struct torch_events *events;
    struct store_server *store, *next_store; /* of the round; offered for the next one */
    uint16_t next_port;

    uint64_t term;
    struct arena *memory;       /* of one frame */
    struct arena *round_memory; /* of round */
    struct rdzv_round round;
    bool has_round;
    uint32_t restarts;                 /* of the round before */
    uint64_t down_us;                  /* when this round's end was noticed */
    uint32_t spent, charged;           /* failures here; those that cost the job a restart */
    bool reported, final;              /* FAILED was told */
    VEC(struct recorded_death) fallen; /* of the round */
    size_t n_told;

    uv_timer_t waiting, linger,
        peer; /* peer: ranks have died of another's end, whose is not known */
    char waits_for[RDZV_TEXT_MAX], said[RDZV_TEXT_MAX];
    uv_signal_t signals[ARRAY_LEN(((struct settings *)0)->signals)];
};

/* ---- words ---- */

static void say(const struct member *member, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct member *member, const char *fmt, ...)
{
    AUTO_BUF struct buf line = BUF_INIT(8192);
    va_list ap;
    buf_addf(&line, "%s: ", launch_name_word(member->settings->name));
    va_start(ap, fmt);
    buf_addv(&line, fmt, ap);
    va_end(ap);
    buf_putc(&line, '\n');
    if (member->streams)
        streams_say(member->streams, buf_str(&line), line.len);
    else
        fputs(buf_str(&line), stderr); /* they could not be made */
}

static void say_line(void *streams, const char *line, size_t len)
{
    streams_say(streams, line, len);
}

static void trace(const struct member *member, const char *moment)
{
    trace_mark(member->trace, moment, member->round.round, UINT32_MAX);
}

static void tell_leader(struct member *member, struct buf *frames)
{
    if (!frames->overflow)
        leader_conn_send(member->leader, frames);
}

static void tell_event(struct member *member, const char *type, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(FRAMES_MAX);
    if (member->settings->backend != RDZV_BACKEND_AGENT)
        return;
    rdzv_put(&out, &(struct rdzv_event){ .type = type, .text = text });
    tell_leader(member, &out);
}

/* false: there is nobody who takes it. */
static bool tell_job(struct member *member, const char *type, const char *text)
{
    const struct settings *s = member->settings;
    if (s->backend != RDZV_BACKEND_AGENT)
        return s->agent_socket && agent_event(s->agent_socket, s->agent_cookie, type, text);
    tell_event(member, type, text);
    return true;
}

static void on_warm_says(void *arg, const char *text)
{
    struct member *member = arg;
    if (member->phase >= PHASE_LEAVING)
        return; /* it went because everything does */
    if (strncmp(text, "warm", 4) != 0)
        say(member, "%s", text);
    tell_event(member, "launch.warm", text);
}

/* ---- ending ---- */

static void on_linger_over(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* Others still have to hear the end from the leader in this process. */
static void finish(struct member *member, int exit_code)
{
    if (member->phase == PHASE_OVER)
        return;
    member->phase = PHASE_OVER;
    member->exit_code = exit_code;
    if (member->ended && leader_conn_leads(member->leader) &&
        leader_conn_others(member->leader) > 0)
        uv_timer_start(&member->linger, on_linger_over, LINGER_MS, 0);
    else
        uv_stop(member->loop);
}

static void on_alone(void *arg)
{
    struct member *member = arg;
    if (member->phase == PHASE_OVER)
        uv_stop(member->loop);
}

/* For whoever started this launcher and looks at its error file. */
static void leave_word(struct member *member, const char *text)
{
    struct err err;
    if (error_file_of_launcher(text, &err) != 0)
        say(member, "%s", err.what);
}

/* Stops what runs, then ends with 1. */
static void leave(struct member *member, int number)
{
    enum phase before = member->phase;
    if (before == PHASE_OVER)
        return;
    member->phase = PHASE_LEAVING;
    uv_timer_stop(&member->waiting);
    if (before == PHASE_WAITING || before == PHASE_DONE)
        finish(member, 1);
    else
        ranks_stop(member->ranks, number,
                   before == PHASE_LEAVING ? 0 : member->settings->shutdown_ms);
}

static void send_leave(struct member *member, enum rdzv_leaving why, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(FRAMES_MAX);
    rdzv_put(&out, &(struct rdzv_leave){ .why = why, .text = text });
    tell_leader(member, &out);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct member *member = handle->data;
    char text[64];
    if (member->phase == PHASE_OVER)
        return;
    snprintf(text, sizeof text, "signal SIG%s", sigabbrev_np(number) ? sigabbrev_np(number) : "?");
    if (member->phase == PHASE_LEAVING) {
        say(member, "received SIG%s again: killing the ranks", text + strlen("signal SIG"));
    } else {
        say(member, "received %d death signal (SIG%s), shutting down workers", number,
            text + strlen("signal SIG"));
        send_leave(member, RDZV_LEAVES_STOPPED, text);
        char word[96];
        snprintf(word, sizeof word, "SignalException: Process %d got signal: %d", (int)getpid(),
                 number);
        leave_word(member, word);
        torch_events_signal(member->events, word);
    }
    leave(member, number);
}

/* ---- deaths ---- */

/* Those not told yet, in an arena. */
static struct rdzv_deaths untold(struct member *member)
{
    size_t n = member->fallen.n - member->n_told;
    struct rdzv_deaths deaths = { .n = n < RDZV_MAX_DEATHS ? n : RDZV_MAX_DEATHS };
    struct rdzv_death *at = ARENA_ARRAY(member->memory, deaths.n, struct rdzv_death);
    uint64_t now = clock_mono_us();
    for (size_t i = 0; i < deaths.n; i++) {
        const struct recorded_death *fallen = &member->fallen.at[member->n_told + i];
        at[i] = fallen->death;
        at[i].age_us = now - fallen->at_us;
    }
    deaths.at = at;
    deaths.more = (uint32_t)(n - deaths.n);
    return deaths;
}

static void send_report(struct member *member, enum rdzv_outcome outcome)
{
    AUTO_BUF struct buf out = BUF_INIT(FRAMES_MAX);
    arena_reset(member->memory);
    struct rdzv_report report = { .term = member->term,
                                  .round = member->round.round,
                                  .outcome = outcome,
                                  .final = outcome == RDZV_FAILED && member->final,
                                  .deaths = untold(member) };
    rdzv_put(&out, &report);
    member->n_told = member->fallen.n;
    tell_leader(member, &out);
}

/* The round has failed here: says so, and stops what runs. */
static void fail_round(struct member *member)
{
    bool spared = false;
    for (size_t i = 0; i < member->fallen.n; i++)
        spared = spared || member->fallen.at[i].death.spared;
    uv_timer_stop(&member->peer);
    member->down_us = member->fallen.at[0].at_us;
    member->spent++;
    member->final = spared || member->spent > member->settings->rdzv.max_restarts;
    member->reported = true;
    member->phase = PHASE_STOPPING;
    send_report(member, RDZV_FAILED);
    ranks_stop(member->ranks, 0, member->settings->shutdown_ms);
}

static void on_peer_waited(uv_timer_t *timer)
{
    struct member *member = timer->data;
    if (member->phase == PHASE_RUNNING && member->fallen.n > 0)
        fail_round(member);
}

static void note_death(struct member *member, const struct rdzv_death *death)
{
    struct recorded_death fallen = { .death = *death, .at_us = clock_mono_us() - death->age_us };
    const char *hung = watchdog_reason(member->watchdog, (pid_t)death->pid);
    if (hung) {
        fallen.death.message = hung;
        fallen.death.error_file = "";
        fallen.death.of_peer = false;
        say(member, "rank %u (pid %u): %s", death->rank, death->pid, hung);
    }
    vec_push(&member->fallen, fallen);
}

/* Who else ended in the same wake-up may have been first as well: they are told together. Those
 * that died because another was gone wait for that one: here, or told by the leader. */
static void on_rank_ended(void *arg, const struct rdzv_death *death, bool more)
{
    struct member *member = arg;
    bool own = false;
    trace_mark(member->trace, "ended", member->round.round, death->local_rank);
    if (death->code != 0 || death->signal != 0)
        note_death(member, death);
    if (more || member->phase != PHASE_RUNNING || member->fallen.n == 0)
        return;
    for (size_t i = 0; i < member->fallen.n; i++)
        own = own || !member->fallen.at[i].death.of_peer;
    if (own)
        fail_round(member);
    else if (!uv_is_active((uv_handle_t *)&member->peer))
        uv_timer_start(&member->peer, on_peer_waited, PEER_ERROR_WAIT_MS, 0);
}

/* ---- joining ---- */

static void on_checked(void *arg, const struct rdzv_check_report *checked)
{
    struct member *member = arg;
    AUTO_BUF struct buf out = BUF_INIT(FRAMES_MAX);
    const char *figures = checked->figures && checked->figures[0] ? checked->figures : "no figures";
    if (checked->result == RDZV_CHECK_OK)
        say(member, "node check: %s", figures);
    else
        say(member, "node check failed%s: %s (%s)",
            checked->result == RDZV_CHECK_PAIR_BAD ? " with a partner" : "", checked->why, figures);
    rdzv_put(&out, checked);
    tell_leader(member, &out);
}

/* A store that was offered and not used is offered again. */
static int open_store(struct member *member, struct err *err)
{
    if (member->next_store)
        return 0;
    if (leader_conn_shares_port(member->leader)) {
        member->next_store = store_open_unbound(member->loop, &store_default_limits);
        member->next_port = leader_conn_lead_port(member->leader);
        return 0;
    }
    const char *addr = leader_conn_listen_addr(member->leader);
    member->next_store = store_open(member->loop, addr, 0, &store_default_limits, err);
    if (!member->next_store && strcmp(addr, "*") != 0) /* others reach it by another address */
        member->next_store = store_open(member->loop, "*", 0, &store_default_limits, err);
    if (!member->next_store)
        return -1;
    member->next_port = store_port(member->next_store);
    return 0;
}

static struct rdzv_claim make_claim(struct member *member)
{
    const struct rdzv_round *round = &member->round;
    if (!member->has_round)
        return (struct rdzv_claim){ .term = member->term };
    return (struct rdzv_claim){
        .term = member->term,
        .round = round->round,
        .group_rank = round->group_rank,
        .restarts = round->restarts,
        .running = member->phase == PHASE_RUNNING || member->phase == PHASE_STOPPING,
        .done = member->phase == PHASE_DONE,
        .world_id = round->world_id,
        .nodes = round->nodes,
    };
}

static void give_up(struct member *member, const char *text)
{
    say(member, "%s", text);
    leave_word(member, text);
    send_leave(member, RDZV_LEAVES_FAILED, text);
    leave(member, 0);
}

static void send_join(struct member *member)
{
    AUTO_BUF struct buf out = BUF_INIT(FRAMES_MAX);
    const struct settings *settings = member->settings;
    struct err err;
    if (open_store(member, &err) != 0) {
        give_up(member, err.what);
        return;
    }
    if (settings->rdzv.check && !member->check)
        member->check = check_create(member->loop, settings,
                                     leader_conn_listen_addr(member->leader), on_checked, member);
    arena_reset(member->memory);
    struct rdzv_join join = {
        .member = member->id,
        .run_id = settings->run_id,
        .node = member->node,
        .addr = leader_conn_addr(member->leader),
        .node_rank = settings->node_rank,
        .ranks = settings->ranks,
        .store_port = member->next_port,
        .lead_port = leader_conn_lead_port(member->leader),
        .check_port = member->check ? check_port(member->check) : 0,
        .spent = member->spent,
        .settings = settings->rdzv,
        .claim = make_claim(member),
        /* A server of before roles takes no join that says one. */
        .role = strcmp(settings->role, RDZV_ROLE) == 0 ? NULL : settings->role,
    };
    if (member->phase == PHASE_WAITING) {
        join.deaths = untold(member);
        member->n_told = member->fallen.n;
    }
    rdzv_put(&out, &join);
    trace(member, "join");
    torch_events_join(member->events);
    tell_leader(member, &out);
}

/* A leader listens. What a former one may not have heard is said again. */
static void on_taken(void *arg)
{
    struct member *member = arg;
    if (member->phase >= PHASE_LEAVING)
        return;
    if (member->phase == PHASE_STOPPING)
        member->n_told = 0;
    send_join(member);
    if (member->phase == PHASE_STOPPING && member->reported)
        send_report(member, RDZV_FAILED);
}

static void on_ranks_gone(void *arg)
{
    struct member *member = arg;
    trace(member, "gone");
    switch (member->phase) {
    case PHASE_RUNNING:
        if (member->fallen.n > 0 && member->round.nodes > 1)
            break; /* of an end on another node, which is about to be told */
        if (member->fallen.n > 0) {
            fail_round(member);
            break;
        }
        member->phase = PHASE_DONE;
        send_report(member, RDZV_DONE);
        break;
    case PHASE_STOPPING:
        member->phase = PHASE_WAITING;
        send_join(member);
        break;
    case PHASE_LEAVING: finish(member, 1); break;
    case PHASE_WAITING:
    case PHASE_DONE:
    case PHASE_OVER: break;
    }
}

/* ---- orders ---- */

static void on_waiting(uv_timer_t *timer)
{
    struct member *member = timer->data;
    if (member->phase != PHASE_WAITING || strcmp(member->waits_for, member->said) == 0)
        return;
    snprintf(member->said, sizeof member->said, "%s", member->waits_for);
    say(member, "waiting for nodes: %s", member->waits_for);
}

static int hear_welcome(struct member *member, const struct rdzv_frame_data *frame)
{
    struct rdzv_welcome welcome;
    if (rdzv_get(frame, member->memory, &welcome) != 0)
        return -1;
    if (welcome.term > member->term)
        member->term = welcome.term;
    snprintf(member->waits_for, sizeof member->waits_for, "%s",
             welcome.waiting ? welcome.waiting : "");
    if (member->waits_for[0] && !uv_is_active((uv_handle_t *)&member->waiting))
        uv_timer_start(&member->waiting, on_waiting, WAITING_MS, WAITING_MS);
    return 0;
}

static void keep_round(struct member *member, const struct rdzv_frame_data *frame)
{
    uint32_t former = member->has_round ? member->round.restarts : 0;
    arena_reset(member->round_memory);
    if (rdzv_get(frame, member->round_memory, &member->round) != 0)
        BUG("a frame was read once and not twice");
    if (member->round.restarts == former)
        member->spent = member->charged; /* it was not the ranks' fault: a node came or was lost */
    member->charged = member->spent;
    member->has_round = true;
    member->term = member->round.term;
    member->reported = member->final = false;
    vec_clear(&member->fallen);
    watchdog_clear(member->watchdog);
    member->n_told = 0;
    uv_timer_stop(&member->waiting);
    uv_timer_stop(&member->peer);
    member->waits_for[0] = member->said[0] = '\0';
}

/* The former round's store ends with its round; ours serves when this node is the first. */
static void change_store(struct member *member)
{
    struct store_server *former = TAKE(member->store);
    if (member->round.group_rank == 0)
        member->store = TAKE(member->next_store);
    leader_conn_serve_store(member->leader, member->store);
    store_close(former);
}

/* Inside a job this is one event of the job, not a line in the log of each of its tasks. */
static void say_started(struct member *member, uint32_t former_restarts)
{
    const struct rdzv_round *round = &member->round;
    char text[RDZV_TEXT_MAX], how[64] = "";
    if (member->down_us == 0)
        return;
    double took = (double)(clock_mono_us() - member->down_us) / 1e6;
    if (round->restarts > former_restarts)
        snprintf(how, sizeof how, ", restart %u of %u", round->restarts,
                 member->settings->rdzv.max_restarts);
    snprintf(text, sizeof text, "%.1024s: started again in %.2f s%s (round %u, %u node%s, %s)",
             round->cause, took, how, round->round, round->nodes, round->nodes == 1 ? "" : "s",
             ranks_were_warm(member->ranks) ? "warm" : "cold");
    if (!tell_job(member, "launch.again", text))
        say(member, "%s", text);
}

static void put_start_events(struct member *member)
{
    uint32_t n = member->round.own.ranks, *pids = ARENA_ARRAY(member->memory, n, uint32_t);
    for (uint32_t i = 0; i < n; i++)
        pids[i] = (uint32_t)ranks_pid(member->ranks, i);
    torch_events_round(member->events, &member->round, pids, member->spent);
}

static void put_end_events(struct member *member, enum rdzv_end_kind kind)
{
    struct rdzv_death *deaths =
        ARENA_ARRAY(member->memory, member->fallen.n + 1, struct rdzv_death);
    for (size_t i = 0; i < member->fallen.n; i++)
        deaths[i] = member->fallen.at[i].death;
    torch_events_end(member->events, kind != RDZV_END_DONE,
                     &(struct rdzv_deaths){ .at = deaths, .n = member->fallen.n });
}

static int hear_round(struct member *member, const struct rdzv_frame_data *frame)
{
    struct rdzv_round round;
    struct err err;
    if (rdzv_get(frame, member->memory, &round) != 0)
        return -1;
    if (round.term < member->term || member->phase != PHASE_WAITING)
        return 0;
    uint32_t former_restarts = member->has_round ? member->round.restarts : 0;
    keep_round(member, frame);
    trace(member, "round");
    change_store(member);
    leader_conn_know(member->leader, &member->round);
    member->phase = PHASE_RUNNING;
    if (ranks_start(member->ranks, &member->round, member->spent, &err) != 0) {
        member->phase = PHASE_WAITING;
        give_up(member, err.what);
        return 0;
    }
    trace(member, "started");
    put_start_events(member);
    say_started(member, former_restarts);
    member->down_us = 0;
    return 0;
}

static int hear_stop(struct member *member, const struct rdzv_frame_data *frame)
{
    struct rdzv_stop stop;
    if (rdzv_get(frame, member->memory, &stop) != 0)
        return -1;
    if (stop.term < member->term || !member->has_round || stop.round != member->round.round ||
        (member->phase != PHASE_RUNNING && member->phase != PHASE_DONE))
        return 0;
    member->term = stop.term;
    member->down_us = clock_mono_us();
    trace(member, "stop");
    member->phase = PHASE_STOPPING;
    ranks_stop(member->ranks, 0, member->settings->shutdown_ms);
    return 0;
}

static int hear_check(struct member *member, const struct rdzv_frame_data *frame)
{
    struct rdzv_check check;
    if (rdzv_get(frame, member->memory, &check) != 0)
        return -1;
    if (member->check && check.term >= member->term && member->phase == PHASE_WAITING)
        check_run(member->check, &check);
    return 0;
}

/* Inside a job the events tell of the others. */
static int hear_note(struct member *member, const struct rdzv_frame_data *frame)
{
    struct rdzv_finding note;
    if (rdzv_get(frame, member->memory, &note) != 0)
        return -1;
    if (note.term < member->term)
        return 0;
    if (note.about == member->id)
        say(member, "node check of this node: %s", note.text);
    else if (member->settings->backend != RDZV_BACKEND_AGENT)
        say(member, "node check: %s", note.text);
    return 0;
}

static int hear_end(struct member *member, const struct rdzv_frame_data *frame)
{
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    struct rdzv_end end;
    struct err err;
    if (rdzv_get(frame, member->memory, &end) != 0)
        return -1;
    if (end.term < member->term || member->phase >= PHASE_LEAVING)
        return 0;
    member->ended = true;
    put_end_events(member, end.kind);
    if (end.kind == RDZV_END_DONE && !member->has_round)
        say(member, "the others had ended well before this node came: there is nothing to do");
    if (end.kind == RDZV_END_DONE && member->phase != PHASE_RUNNING) {
        finish(member, 0);
        return 0;
    }
    streams_flush(member->streams);
    summary_print(member->settings, &end, isatty(STDERR_FILENO) == 1, &text);
    fputs(buf_str(&text), stderr);
    if (error_file_of_end(&end, &err) != 0)
        say(member, "%s", err.what);
    leave(member, 0);
    return 0;
}

static int hear_refused(struct member *member, const struct rdzv_frame_data *frame)
{
    struct rdzv_refused refused;
    if (rdzv_get(frame, member->memory, &refused) != 0)
        return -1;
    say(member, "the leader of the rendezvous refused this node: %s", refused.text);
    leave_word(member, refused.text);
    leave(member, 0);
    return 0;
}

static void on_order(void *arg, const struct rdzv_frame_data *frame)
{
    struct member *member = arg;
    int rc = 0;
    arena_reset(member->memory);
    if (member->phase >= PHASE_LEAVING)
        return;
    switch (frame->kind) {
    case RDZV_FRAME_WELCOME: rc = hear_welcome(member, frame); break;
    case RDZV_FRAME_ROUND: rc = hear_round(member, frame); break;
    case RDZV_FRAME_STOP: rc = hear_stop(member, frame); break;
    case RDZV_FRAME_CHECK: rc = hear_check(member, frame); break;
    case RDZV_FRAME_END: rc = hear_end(member, frame); break;
    case RDZV_FRAME_REFUSED: rc = hear_refused(member, frame); break;
    case RDZV_FRAME_NOTE: rc = hear_note(member, frame); break;
    default: break;
    }
    if (rc != 0)
        say(member, "the leader said something that cannot be read (frame %d, %zu bytes)",
            (int)frame->kind, frame->len);
}

static void on_seat_says(void *arg, const char *text)
{
    say(arg, "%s", text);
}

static void on_seat_failed(void *arg, const char *text)
{
    struct member *member = arg;
    say(member, "%s", text);
    leave_word(member, text);
    leave(member, 0);
}

/* ---- making ---- */

static int open_all(struct member *member, const char *cookie, struct err *err)
{
    const struct settings *settings = member->settings;
    struct leader_conn_sink leader = { .taken = on_taken,
                                       .order = on_order,
                                       .say = on_seat_says,
                                       .failed = on_seat_failed,
                                       .alone = on_alone,
                                       .arg = member };
    struct ranks_sink ranks = { .ended = on_rank_ended, .gone = on_ranks_gone, .arg = member };
    if (getrandom(&member->id, sizeof member->id, 0) != (ssize_t)sizeof member->id)
        return err_sys(err, "a random number");
    member->id |= 1; /* never 0 */
    const char *node = settings->backend == RDZV_BACKEND_AGENT ? getenv("MUSTER_TASK_NODE") : NULL;
    if (node && *node)
        snprintf(member->node, sizeof member->node, "%s", node);
    else if (gethostname(member->node, sizeof member->node - 1) != 0)
        return err_sys(err, "the name of this machine");
    member->streams = streams_create(member->loop, settings, err);
    if (!member->streams)
        return -1;
    member->events = torch_events_create(settings, say_line, member->streams);
    if (settings->timer_file) {
        member->watchdog = watchdog_create(member->loop, settings->timer_file, cookie, err);
        if (!member->watchdog)
            return -1;
    }
    if (settings->warm)
        member->warm = warm_create(member->loop, settings, cookie, on_warm_says, member);
    member->ranks =
        ranks_create(member->loop, settings, member->streams, member->warm, cookie, ranks);
    member->leader = leader_conn_create(member->loop, settings, member->id, leader);
    return 0;
}

/* nohup ignores the signal of a terminal that goes away, and means all that it starts; torchrun
 * takes it back. */
static bool under_nohup(int number)
{
    struct sigaction now;
    return number == SIGHUP && sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void open_handles(struct member *member)
{
    const struct settings *settings = member->settings;
    uv_timer_init(member->loop, &member->waiting);
    uv_timer_init(member->loop, &member->linger);
    uv_timer_init(member->loop, &member->peer);
    member->waiting.data = member->linger.data = member->peer.data = member;
    for (size_t i = 0; i < settings->n_signals; i++) {
        uv_signal_init(member->loop, &member->signals[i]);
        member->signals[i].data = member;
        if (!under_nohup(settings->signals[i]))
            uv_signal_start(&member->signals[i], on_signal, settings->signals[i]);
    }
}

static void close_all(struct member *member)
{
    ranks_destroy(member->ranks);
    warm_destroy(member->warm);
    check_destroy(member->check);
    watchdog_destroy(member->watchdog);
    torch_events_destroy(member->events);
    leader_conn_destroy(member->leader);
    store_close(member->store);
    store_close(member->next_store);
    streams_destroy(member->streams);
    for (size_t i = 0; i < member->settings->n_signals; i++)
        uv_close((uv_handle_t *)&member->signals[i], NULL);
    uv_close((uv_handle_t *)&member->waiting, NULL);
    uv_close((uv_handle_t *)&member->linger, NULL);
    uv_close((uv_handle_t *)&member->peer, NULL);
    (void)uv_run(member->loop, UV_RUN_DEFAULT);
    vec_fini(&member->fallen);
    trace_close(member->trace);
    arena_destroy(member->memory);
    arena_destroy(member->round_memory);
}

int member_run(uv_loop_t *loop, const struct settings *settings, const char *cookie)
{
    struct member member = { .loop = loop,
                             .settings = settings,
                             .exit_code = 1,
                             .memory = arena_create(),
                             .round_memory = arena_create() };
    struct err err;
    member.trace = trace_open();
    trace(&member, "begin");
    open_handles(&member);
    if (open_all(&member, cookie, &err) != 0) {
        say(&member, "%s", err.what);
        leave_word(&member, err.what);
    } else {
        leader_conn_start(member.leader);
        if (member.phase != PHASE_OVER)
            (void)uv_run(loop, UV_RUN_DEFAULT);
    }
    close_all(&member);
    return member.exit_code;
}
