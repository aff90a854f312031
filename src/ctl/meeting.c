/* Halls, lines, members and machines.
 *
 * A hall is one generation of one job. A line is one launcher's connection, as its agent numbers
 * it; a member is a launcher that has joined: it keeps its place while its line is being made anew.
 * The machine decides, this file knows who is alive: a member is lost when its launcher's line was
 * closed by the agent, when its attempt is over, or when it does not come back within RESUME_MS
 * after its agent did. Nothing is lost by silence.
 *
 * A rendezvous that is over answers for ever that it is, except to a launcher that starts another
 * one: the next command of the same attempt, or anybody after a failure. */
#include "ctl/meeting.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/minutes.h"
#include "rdzv/rdzv.h"
#include "wire/rendezvous.h"

#include <stdio.h>
#include <string.h>

#define BEAT_MS      10000u
#define RESUME_MS    10000u
#define STOP_MS      600000u /* a launcher that hangs does not hold the others for ever */
#define FRAME_MAX    (2u << 20)
#define OUT_MAX      (64u << 20)
#define MACHINES_MAX 16u   /* of one generation */
#define MEMBERS_MAX  4096u /* of one machine */
#define LINES_MAX    16384u

#define WHOLE_JOB UINT32_MAX

struct meeting {
    struct hall *hall;
    uint32_t role; /* whose tasks meet; or WHOLE_JOB */
    char *run_id;
    struct rdzv *machine;
    struct map *members;
    uint64_t due_us;          /* the machine's next deadline; UINT64_MAX: none */
    uint32_t expected, later; /* as the machine was told */
    bool failed;              /* it is over, and not because all were done */
    bool again;               /* a launcher has said that this round's ranks were started again */
};
struct member {
    struct meeting *meeting;
    uint64_t id;
    uint32_t flat, attempt;
    struct line *line; /* NULL: it has to come again */
    uint64_t due_us;   /* until then */
};
struct line {
    struct hall *hall;
    char *key, *node;
    uint32_t channel, flat, attempt;
    struct member *member; /* NULL: has not joined */
    struct buf in, out;
    bool waits; /* is in the list of lines with something to send */
    bool hang_up;
};
struct hall {
    struct meetings *all;
    struct ctl *ctl;
    uint64_t job;
    uint32_t generation;
    VEC(struct meeting *) meetings;
    VEC(struct line *) lines;
    struct paces paces;
};
struct meetings {
    struct map *halls;  /* by job */
    struct smap *lines; /* by job, generation, node and channel */
    struct minutes *minutes;
    VEC(struct line *) sending;
    struct arena *scratch;
};

struct meetings *meetings_create(void)
{
    struct meetings *all = mem_new(sizeof *all);
    all->halls = map_create();
    all->lines = smap_create();
    all->minutes = minutes_create();
    all->scratch = arena_create();
    return all;
}

/* ---- lines ---- */

static void line_key(char out[400], struct generation g, const char *node, uint32_t channel)
{
    snprintf(out, 400, "%llu.%u.%u.%.320s", (unsigned long long)g.job, g.number, channel, node);
}

static void line_sends(struct line *line)
{
    if (line->waits)
        return;
    line->waits = true;
    vec_push(&line->hall->all->sending, line);
}

static void line_free(struct line *line)
{
    struct hall *hall = line->hall;
    struct meetings *all = hall->all;
    for (size_t i = 0; line->waits && i < all->sending.n; i++)
        if (all->sending.at[i] == line) {
            vec_remove(&all->sending, i);
            break;
        }
    for (size_t i = 0; i < hall->lines.n; i++)
        if (hall->lines.at[i] == line) {
            vec_remove(&hall->lines, i);
            break;
        }
    if (line->member)
        line->member->line = NULL;
    smap_remove(all->lines, line->key);
    buf_fini(&line->in);
    buf_fini(&line->out);
    free(line->key);
    free(line->node);
    free(line);
}

/* What is in out still goes; then the agent hangs up and the line is gone. */
static void line_hang_up(struct line *line)
{
    line->hang_up = true;
    line_sends(line);
}

static void line_send(struct line *line)
{
    struct hall *hall = line->hall;
    struct engine *engine = hall->ctl->config.engine;
    struct generation g = { .job = hall->job, .number = hall->generation };
    line->waits = false;
    if (line->out.overflow) {
        log_warn("launcher.deaf", "job=%llu node=%s", (unsigned long long)hall->job, line->node);
        buf_clear(&line->out);
        line->hang_up = true;
    }
    if (engine->ops->tell_launcher && line->out.len)
        engine->ops->tell_launcher(engine, g, line->node, line->channel, line->out.data,
                                   line->out.len);
    if (engine->ops->tell_launcher && line->hang_up)
        engine->ops->tell_launcher(engine, g, line->node, line->channel, NULL, 0);
    buf_fini(&line->out);
    buf_init(&line->out, OUT_MAX);
    if (line->hang_up)
        line_free(line);
}

/* ---- what a machine says ---- */

/* The program of one of them could not be started: none of their attempts is worth another one. */
static void mark_unstartable(const struct member *member, const struct rdzv_end *end)
{
    const struct hall *hall = member->meeting->hall;
    struct live_job *job = live_find(hall->ctl->live, hall->job);
    if (!job || !job->tasks || job->row.generation != hall->generation)
        return;
    struct live_task *task = &job->tasks[member->flat];
    for (size_t i = 0; i < end->n_deaths && task->attempt == member->attempt; i++)
        task->unstartable = task->unstartable || end->deaths[i].death.spared;
}

static void on_order(void *arg, const struct rdzv_order *order)
{
    struct meeting *meeting = arg;
    struct member *member = map_get(meeting->members, order->to);
    struct line *line = member ? member->line : NULL;
    if (order->kind == RDZV_ORDER_END && order->end.kind != RDZV_END_DONE)
        meeting->failed = true;
    if (order->kind == RDZV_ORDER_END && member)
        mark_unstartable(member, &order->end);
    if (!line)
        return; /* it asks again when it comes again */
    switch (order->kind) {
    case RDZV_ORDER_WELCOME: rdzv_put(&line->out, &order->welcome); break;
    case RDZV_ORDER_ROUND: rdzv_put(&line->out, &order->round); break;
    case RDZV_ORDER_CHECK: rdzv_put(&line->out, &order->check); break;
    case RDZV_ORDER_STOP: rdzv_put(&line->out, &order->stop); break;
    case RDZV_ORDER_END: rdzv_put(&line->out, &order->end); break;
    case RDZV_ORDER_REFUSED: rdzv_put(&line->out, &order->refused); break;
    case RDZV_ORDER_NOTE: rdzv_put(&line->out, &order->note); break;
    }
    line_sends(line);
}

/* That everybody goes then is no news, and nobody is told to form another round. */
static bool job_closes(const struct live_job *job)
{
    return live_closing(job) || !job_state_holds(job->row.state);
}

static void note(struct hall *hall, const struct member *about, enum minute_kind kind,
                 const char *text)
{
    struct live_job *job = live_find(hall->ctl->live, hall->job);
    struct minute minute = { .job = hall->job, .kind = kind, .text = text };
    if (!job || !job->tasks || (kind == MINUTE_LOST && job_closes(job)))
        return;
    if (about) {
        const struct task_place *place = &job->tasks[about->flat].place;
        minute.has_task = true;
        minute.task = (struct task_ref){ .role = (uint16_t)place->role, .index = place->index };
        minute.attempt = about->attempt;
    }
    minutes_add(hall->all->minutes, &hall->paces, core_now(hall->ctl), &minute);
}

static void on_news(void *arg, const struct rdzv_news *news)
{
    static const enum minute_kind of[] = {
        [RDZV_NEWS_JOINED] = MINUTE_JOINED, [RDZV_NEWS_ROUND] = MINUTE_ROUND,
        [RDZV_NEWS_FAILED] = MINUTE_FAILED, [RDZV_NEWS_LOST] = MINUTE_LOST,
        [RDZV_NEWS_CHECK] = MINUTE_CHECK,   [RDZV_NEWS_OVER] = MINUTE_OVER,
    };
    struct meeting *meeting = arg;
    if (news->kind == RDZV_NEWS_ROUND)
        meeting->again = false;
    note(meeting->hall, map_get(meeting->members, news->member), of[news->kind], news->text);
}

/* ---- meetings ---- */

/* How many of the role's tasks can take part: those that live, and those that come again. Tasks of
 * an elastic role that found no room yet come later, and nobody waits for them who has enough. */
static uint32_t count_expected(const struct live_job *job, uint32_t role, uint32_t *later)
{
    uint32_t n = 0;
    *later = 0;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        bool ours = role == WHOLE_JOB || task->place.role == role;
        bool comes = task->again && task->attempt_state != ATTEMPT_NONE && !job_closes(job);
        n += ours && (live_attempt(task) || comes);
        *later += ours && task->state == TASK_WAITING && !comes && !job_closes(job);
    }
    return n;
}

/* When it wants to be called next, after anything that was said to it. */
static void look_ahead(struct meeting *meeting)
{
    struct ctl *ctl = meeting->hall->ctl;
    uint64_t now = core_mono_us(ctl);
    meeting->due_us = rdzv_tick(meeting->machine, now);
    if (meeting->due_us != UINT64_MAX)
        core_wake(ctl,
                  core_now(ctl) + (meeting->due_us > now ? meeting->due_us - now : 0) / 1000 + 1);
}

static void expect(struct meeting *meeting, const struct live_job *job)
{
    uint32_t later, n = count_expected(job, meeting->role, &later);
    if (n == meeting->expected && later == meeting->later)
        return;
    meeting->expected = n;
    meeting->later = later;
    rdzv_expect(meeting->machine, n, later, core_mono_us(meeting->hall->ctl));
}

static struct meeting *meeting_create(struct hall *hall, const struct live_job *job, uint32_t role,
                                      const char *run_id)
{
    static const struct rdzv_limits limits = { .beat_ms = BEAT_MS,
                                               .silence_ms = 0,
                                               .resume_ms = RESUME_MS,
                                               .share_nodes = true,
                                               .stop_ms = STOP_MS };
    struct meeting *meeting = mem_new(sizeof *meeting);
    meeting->hall = hall;
    meeting->role = role;
    meeting->run_id = mem_strdup(run_id);
    meeting->members = map_create();
    meeting->expected = UINT32_MAX;
    meeting->due_us = UINT64_MAX;
    meeting->machine = rdzv_create(
        &limits, (struct rdzv_sink){ .order = on_order, .news = on_news, .arg = meeting });
    vec_push(&hall->meetings, meeting);
    expect(meeting, job);
    return meeting;
}

static void member_free(struct member *member)
{
    if (member->line)
        member->line->member = NULL;
    map_remove(member->meeting->members, member->id);
    free(member);
}

static void meeting_destroy(struct meeting *meeting)
{
    struct hall *hall = meeting->hall;
    size_t cursor = 0;
    uint64_t id;
    void *value;
    while (map_next(meeting->members, &cursor, &id, &value)) {
        struct member *member = value;
        if (member->line)
            member->line->member = NULL;
        free(member);
    }
    map_destroy(meeting->members);
    for (size_t i = 0; i < hall->meetings.n; i++)
        if (hall->meetings.at[i] == meeting) {
            vec_remove(&hall->meetings, i);
            break;
        }
    rdzv_destroy(meeting->machine);
    free(meeting->run_id);
    free(meeting);
}

/* The machine first: the event about it names the member. */
static void member_lost(struct member *member, const char *why)
{
    struct meeting *meeting = member->meeting;
    rdzv_lost(meeting->machine, member->id, why, core_mono_us(meeting->hall->ctl));
    member_free(member);
    look_ahead(meeting);
}

/* ---- halls ---- */

static void hall_destroy(struct hall *hall)
{
    while (hall->lines.n)
        line_free(hall->lines.at[hall->lines.n - 1]);
    while (hall->meetings.n)
        meeting_destroy(hall->meetings.at[hall->meetings.n - 1]);
    vec_fini(&hall->lines);
    vec_fini(&hall->meetings);
    map_remove(hall->all->halls, hall->job);
    free(hall);
}

size_t meetings_count(const struct ctl *ctl)
{
    return map_count(ctl->meetings->halls);
}

void meetings_destroy(struct meetings *all)
{
    size_t cursor;
    uint64_t job;
    void *hall;
    if (!all)
        return;
    while (cursor = 0, map_next(all->halls, &cursor, &job, &hall))
        hall_destroy(hall);
    map_destroy(all->halls);
    smap_destroy(all->lines);
    minutes_destroy(all->minutes);
    vec_fini(&all->sending);
    arena_destroy(all->scratch);
    free(all);
}

void meetings_forget(struct ctl *ctl, uint64_t job, uint32_t generation)
{
    struct hall *hall = map_get(ctl->meetings->halls, job);
    if (hall && hall->generation != generation)
        hall_destroy(hall);
}

static struct hall *hall_of(struct ctl *ctl, const struct live_job *job)
{
    struct hall *hall = map_get(ctl->meetings->halls, job->row.id);
    if (hall && hall->generation == job->row.generation)
        return hall;
    if (hall)
        hall_destroy(hall);
    hall = mem_new(sizeof *hall);
    hall->all = ctl->meetings;
    hall->ctl = ctl;
    hall->job = job->row.id;
    hall->generation = job->row.generation;
    map_set(ctl->meetings->halls, hall->job, hall);
    return hall;
}

/* ---- what a launcher says ---- */

static void refuse(struct line *line, enum rdzv_refusal why, const char *text)
{
    struct rdzv_refused refused = { .why = why, .text = text };
    rdzv_put(&line->out, &refused);
    line_hang_up(line);
}

/* May a launcher that was no part of it begin another rendezvous in its place? */
static bool may_replace(const struct meeting *meeting, const struct line *line)
{
    size_t cursor = 0;
    uint64_t id;
    void *value;
    if (rdzv_phase(meeting->machine) != RDZV_OVER)
        return false;
    if (meeting->failed)
        return true;
    while (map_next(meeting->members, &cursor, &id, &value)) {
        const struct member *member = value;
        if (member->flat == line->flat && member->attempt == line->attempt)
            return true;
    }
    return false;
}

static struct meeting *find_meeting(struct line *line, const struct live_job *job,
                                    const struct rdzv_join *join)
{
    struct hall *hall = line->hall;
    bool whole = dialect_one_world(hall->ctl->config.dialects, job->spec);
    uint32_t role = whole ? WHOLE_JOB : job->tasks[line->flat].place.role;
    for (size_t i = 0; i < hall->meetings.n; i++) {
        struct meeting *meeting = hall->meetings.at[i];
        if (meeting->role != role || strcmp(meeting->run_id, join->run_id) != 0)
            continue;
        if (map_get(meeting->members, join->member) || !may_replace(meeting, line))
            return meeting;
        meeting_destroy(meeting);
        break;
    }
    if (hall->meetings.n >= MACHINES_MAX) {
        refuse(line, RDZV_REFUSED_RUN,
               "this job has too many rendezvous already: give its launchers the same --rdzv-id");
        return NULL;
    }
    return meeting_create(hall, job, role, join->run_id);
}

static struct member *find_member(struct line *line, struct meeting *meeting,
                                  const struct rdzv_join *join)
{
    struct member *member = map_get(meeting->members, join->member);
    if (!member && map_count(meeting->members) >= MEMBERS_MAX) {
        refuse(line, RDZV_REFUSED_FULL, "4096 launchers take part in this rendezvous already");
        return NULL;
    }
    if (!member) {
        member = mem_new(sizeof *member);
        member->meeting = meeting;
        member->id = join->member;
        map_set(meeting->members, member->id, member);
    }
    if (member->line && member->line != line) {
        member->line->member = NULL; /* it came again before its old connection was seen to end */
        line_hang_up(member->line);
    }
    member->line = line;
    member->flat = line->flat;
    member->attempt = line->attempt;
    line->member = member;
    return member;
}

static int take_join(struct line *line, const struct live_job *job,
                     const struct rdzv_frame_in *frame)
{
    struct rdzv_join join;
    if (rdzv_get(frame, line->hall->all->scratch, &join) != 0)
        return -1;
    if (line->member && line->member->id != join.member)
        return -1;
    struct meeting *meeting = line->member ? line->member->meeting : find_meeting(line, job, &join);
    struct member *member = meeting ? find_member(line, meeting, &join) : NULL;
    if (member)
        rdzv_join(meeting->machine, &join, core_mono_us(line->hall->ctl));
    return 0;
}

static int take_note(struct line *line, const struct rdzv_frame_in *frame)
{
    struct rdzv_event said;
    if (rdzv_get(frame, line->hall->all->scratch, &said) != 0)
        return -1;
    struct meeting *meeting = line->member ? line->member->meeting : NULL;
    struct member stand_in = { .flat = line->flat, .attempt = line->attempt };
    if (strcmp(said.type, "launch.again") == 0) {
        /* Every launcher says it, and the first is as good as the others; one that meets nobody
         * speaks for itself. */
        if (!meeting || !meeting->again)
            note(line->hall, meeting ? NULL : &stand_in, MINUTE_AGAIN, said.text);
        if (meeting)
            meeting->again = true;
        return 0;
    }
    note(line->hall, &stand_in, MINUTE_NOTE, said.text); /* which says by itself what it is about */
    return 0;
}

/* Of a launcher that has joined. */
static int take_said(struct member *member, const struct rdzv_frame_in *frame)
{
    struct rdzv *machine = member->meeting->machine;
    struct hall *hall = member->meeting->hall;
    uint64_t now = core_mono_us(hall->ctl);
    struct arena *scratch = hall->all->scratch;
    struct rdzv_report report;
    struct rdzv_checked checked;
    struct rdzv_leave leave;
    switch (frame->kind) {
    case RDZV_FRAME_REPORT:
        if (rdzv_get(frame, scratch, &report) != 0)
            return -1;
        rdzv_report(machine, member->id, &report, now);
        return 0;
    case RDZV_FRAME_CHECKED:
        if (rdzv_get(frame, scratch, &checked) != 0)
            return -1;
        rdzv_checked(machine, member->id, &checked, now);
        return 0;
    case RDZV_FRAME_LEAVE:
        if (rdzv_get(frame, scratch, &leave) != 0)
            return -1;
        rdzv_leave(machine, member->id, &leave, now);
        return 0;
    case RDZV_FRAME_BEAT: rdzv_beat(machine, member->id, now); return 0;
    default: return -1;
    }
}

static int take_frame(struct line *line, const struct live_job *job,
                      const struct rdzv_frame_in *frame)
{
    if (frame->kind == RDZV_FRAME_JOIN)
        return take_join(line, job, frame);
    if (frame->kind == RDZV_FRAME_EVENT)
        return take_note(line, frame);
    return line->member ? take_said(line->member, frame) : -1;
}

/* Every whole frame; what comes after a refusal is not read. */
static void line_read(struct line *line, const struct live_job *job)
{
    struct arena *scratch = line->hall->all->scratch;
    size_t done = 0;
    int got = 1;
    while (got == 1 && !line->hang_up) {
        struct rdzv_frame_in frame;
        size_t used = 0;
        got = rdzv_next(line->in.data ? line->in.data + done : "", line->in.len - done, &frame,
                        &used);
        if (got == 1 && take_frame(line, job, &frame) != 0)
            got = -1;
        done += got == 1 ? used : 0;
        arena_reset(scratch);
    }
    if (line->in.overflow)
        got = -1;
    buf_drop(&line->in, done);
    struct member *member = line->member;
    if (member && got >= 0)
        look_ahead(member->meeting);
    if (got >= 0)
        return;
    log_warn("launcher.frame", "job=%llu node=%s broken, connection closed",
             (unsigned long long)line->hall->job, line->node);
    if (member)
        member_lost(member, "its launcher does not speak the protocol");
    line_hang_up(line);
}

static void line_open(struct ctl *ctl, struct live_job *job, const struct engine_fact *fact,
                      const char *key)
{
    uint32_t flat = live_flat(job, fact->task);
    if (flat == UINT32_MAX)
        return;
    const struct live_task *task = &job->tasks[flat];
    struct hall *hall = hall_of(ctl, job);
    struct line *line = mem_new(sizeof *line);
    line->hall = hall;
    line->key = mem_strdup(key);
    line->node = mem_strdup(fact->node);
    line->channel = fact->launcher.channel;
    line->flat = flat;
    line->attempt = fact->attempt;
    buf_init(&line->in, FRAME_MAX);
    buf_init(&line->out, OUT_MAX);
    vec_push(&hall->lines, line);
    smap_set(ctl->meetings->lines, key, line);
    if (hall->lines.n > LINES_MAX || task->attempt != fact->attempt ||
        attempt_state_final(task->attempt_state))
        line_hang_up(line);
}

static void line_closed(struct line *line)
{
    struct member *member = line->member;
    line_free(line);
    /* Who took part in one that is over is remembered (may_replace). */
    if (member && rdzv_phase(member->meeting->machine) != RDZV_OVER)
        member_lost(member, "its launcher has ended");
}

/* A connection of the agent was made anew: its launchers' lines are void, they come again. */
static void node_again(struct ctl *ctl, const struct engine_fact *fact)
{
    struct hall *hall = map_get(ctl->meetings->halls, fact->generation.job);
    if (!hall || hall->generation != fact->generation.number)
        return;
    for (size_t i = hall->lines.n; i-- > 0;) {
        struct line *line = hall->lines.at[i];
        if (strcmp(line->node, fact->node) != 0)
            continue;
        if (line->member)
            line->member->due_us = core_mono_us(ctl) + RESUME_MS * 1000ull;
        line_free(line);
    }
    core_wake(ctl, core_now(ctl) + RESUME_MS + 1);
}

void meetings_hear(struct ctl *ctl, const struct engine_fact *fact)
{
    char key[400];
    if (fact->kind == FACT_AGENT_JOINED)
        node_again(ctl, fact);
    if (fact->kind != FACT_LAUNCHER)
        return;
    struct live_job *job = live_find(ctl->live, fact->generation.job);
    if (!job || job->row.generation != fact->generation.number || !job->tasks ||
        !core_spec(ctl, job))
        return;
    line_key(key, fact->generation, fact->node, fact->launcher.channel);
    struct line *line = smap_get(ctl->meetings->lines, key);
    if (fact->launcher.what == LAUNCHER_OPEN && !line)
        line_open(ctl, job, fact, key);
    if (fact->launcher.what == LAUNCHER_CLOSE && line)
        line_closed(line);
    if (fact->launcher.what == LAUNCHER_DATA && line && !line->hang_up) {
        buf_add(&line->in, fact->launcher.bytes, fact->launcher.len);
        line_read(line, job);
    }
}

/* ---- what follows from the job ---- */

static const char *attempt_over(const struct live_job *job, uint32_t flat, uint32_t attempt)
{
    const struct live_task *task = &job->tasks[flat];
    if (task->attempt != attempt || task->attempt_state == ATTEMPT_NONE)
        return "its task has ended";
    if (!attempt_state_final(task->attempt_state))
        return NULL;
    return task->attempt_state == ATTEMPT_LOST ? "its agent is gone" : "its task has ended";
}

static void lose_ended(struct meeting *meeting, const struct live_job *job)
{
    VEC(struct member *) over = { 0 };
    size_t cursor = 0;
    uint64_t id;
    void *value;
    while (map_next(meeting->members, &cursor, &id, &value)) {
        struct member *member = value;
        if (attempt_over(job, member->flat, member->attempt))
            vec_push(&over, member);
    }
    for (size_t i = 0; i < over.n; i++)
        if (rdzv_phase(meeting->machine) != RDZV_OVER)
            member_lost(over.at[i], attempt_over(job, over.at[i]->flat, over.at[i]->attempt));
    vec_fini(&over);
}

void meetings_follow(struct ctl *ctl, struct live_job *job)
{
    struct hall *hall = map_get(ctl->meetings->halls, job->row.id);
    if (!hall || hall->generation != job->row.generation || !job->tasks)
        return;
    for (size_t i = 0; i < hall->meetings.n && !job_closes(job); i++) {
        struct meeting *meeting = hall->meetings.at[i];
        uint32_t before = meeting->expected, later = meeting->later;
        lose_ended(meeting, job);
        expect(meeting, job);
        if (meeting->expected != before || meeting->later != later)
            look_ahead(meeting);
    }
    for (size_t i = hall->lines.n; i-- > 0;)
        if (attempt_over(job, hall->lines.at[i]->flat, hall->lines.at[i]->attempt))
            line_free(hall->lines.at[i]);
}

const char *meetings_root(struct ctl *ctl, const struct live_job *job, uint32_t flat, uint32_t *of)
{
    struct hall *hall = map_get(ctl->meetings->halls, job->row.id);
    if (!hall || hall->generation != job->row.generation)
        return NULL;
    for (size_t i = hall->meetings.n; i-- > 0;) { /* the newest of several, one after another */
        struct meeting *meeting = hall->meetings.at[i];
        uint64_t id;
        const char *clause;
        if (meeting->role != WHOLE_JOB && meeting->role != job->tasks[flat].place.role)
            continue;
        if (!rdzv_root(meeting->machine, &id, &clause))
            continue;
        const struct member *member = map_get(meeting->members, id);
        if (!member)
            return NULL;
        *of = member->flat;
        return clause;
    }
    return NULL;
}

/* ---- time ---- */

/* The next time at which one of them has to be back; UINT64_MAX: all are there. */
static uint64_t lose_missing(struct meeting *meeting, uint64_t now)
{
    VEC(struct member *) missing = { 0 };
    uint64_t next = UINT64_MAX, id;
    size_t cursor = 0;
    void *value;
    while (map_next(meeting->members, &cursor, &id, &value)) {
        struct member *member = value;
        if (member->line)
            continue;
        if (member->due_us <= now)
            vec_push(&missing, member);
        else if (member->due_us < next)
            next = member->due_us;
    }
    for (size_t i = 0; i < missing.n; i++)
        if (rdzv_phase(meeting->machine) != RDZV_OVER)
            member_lost(missing.at[i], "its launcher did not come back");
    vec_fini(&missing);
    return next;
}

void meetings_tick(struct ctl *ctl)
{
    size_t cursor = 0;
    uint64_t job, now = core_mono_us(ctl);
    void *value;
    while (map_next(ctl->meetings->halls, &cursor, &job, &value)) {
        struct hall *hall = value;
        for (size_t i = 0; i < hall->meetings.n; i++) {
            struct meeting *meeting = hall->meetings.at[i];
            uint64_t next = lose_missing(meeting, now);
            look_ahead(meeting);
            if (next != UINT64_MAX)
                core_wake(ctl, core_now(ctl) + (next - now) / 1000 + 1);
        }
    }
}

/* ---- the turn ---- */

void meetings_record(struct ctl *ctl)
{
    minutes_record(ctl->meetings->minutes, ctl);
}

void meetings_undone(struct ctl *ctl)
{
    minutes_undone(ctl->meetings->minutes);
}

void meetings_committed(struct ctl *ctl)
{
    minutes_committed(ctl->meetings->minutes);
}

void meetings_act(struct ctl *ctl)
{
    struct meetings *all = ctl->meetings;
    while (all->sending.n) {
        struct line *line = all->sending.at[all->sending.n - 1];
        all->sending.n--;
        line_send(line);
    }
}

bool meetings_idle(const struct ctl *ctl)
{
    return ctl->meetings->sending.n == 0 && !minutes_waiting(ctl->meetings->minutes);
}
