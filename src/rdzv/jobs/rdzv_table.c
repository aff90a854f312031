/* The rendezvous of each generation of a job, and the launchers that take part.
 *
 * A line is one launcher's connection, as its agent numbers it; a group is the host (rdzv/host.h)
 * of those who met over their lines. This file knows who is alive: a member is lost when its
 * launcher's line was closed by the agent, when its attempt is over, or when it does not come back
 * within RESUME_MS after its agent did. By the silence of its machine it is lost only to those who
 * are enough without it: the next round fences its ranks, and what it runs is not taken for ended.
 * Else it is waited for.
 *
 * A rendezvous that is over answers for ever that it is, except to a launcher that starts another
 * one: the next command of the same attempt, or anybody after a failure. */
#include "rdzv/jobs/rdzv_table.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "dialect/dialect.h"
#include "live/live.h"
#include "live/silence_bound.h"
#include "rdzv/host.h"
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

struct rdzv_group {
    struct rdzv_generation *start;
    uint32_t role; /* whose tasks meet; or WHOLE_JOB */
    char *run_id;
    struct rdzv_host *host; /* tags of its members: attempt_tag() */
    bool again;             /* a launcher has said that this round's ranks were started again */
};
struct line {
    struct rdzv_generation *start;
    char *key, *node;
    uint64_t id; /* for the host */
    uint32_t channel, flat, attempt;
    struct rdzv_group *group; /* NULL: has not joined */
    struct buf in, out;
    bool waits; /* is in the list of lines with something to send */
    bool hang_up;
};
struct rdzv_generation {
    struct rdzv_table *all;
    uint64_t job;
    uint32_t generation;
    VEC(struct rdzv_group *) groups;
    VEC(struct line *) lines;
    struct event_rates event_rates;
};
struct rdzv_table {
    struct rdzv_table_config config;
    struct map *generations;  /* by job */
    struct string_map *lines; /* by job, generation, node and channel */
    struct map *by_id;        /* the same */
    uint64_t last_line;
    struct launcher_events *events;
    VEC(struct line *) sending;
    struct arena *scratch;
};

static uint64_t now_of(const struct rdzv_table *all)
{
    return all->config.server.now(all->config.server.arg);
}

static uint64_t mono_us_of(const struct rdzv_table *all)
{
    return all->config.server.mono_us(all->config.server.arg);
}

static void wake(const struct rdzv_table *all, uint64_t at_ms)
{
    all->config.server.wake(all->config.server.arg, at_ms);
}

struct rdzv_table *rdzv_table_create(const struct rdzv_table_config *config)
{
    struct rdzv_table *all = mem_new(sizeof *all);
    all->config = *config;
    all->generations = map_create();
    all->lines = string_map_create();
    all->by_id = map_create();
    all->events = launcher_events_create();
    all->scratch = arena_create();
    return all;
}

static const struct job_spec *spec_of(const struct rdzv_table *all, struct live_job *job)
{
    return all->config.server.spec(all->config.server.arg, job);
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
    vec_push(&line->start->all->sending, line);
}

static void line_free(struct line *line)
{
    struct rdzv_generation *start = line->start;
    struct rdzv_table *all = start->all;
    for (size_t i = 0; line->waits && i < all->sending.n; i++)
        if (all->sending.at[i] == line) {
            vec_remove(&all->sending, i);
            break;
        }
    for (size_t i = 0; i < start->lines.n; i++)
        if (start->lines.at[i] == line) {
            vec_remove(&start->lines, i);
            break;
        }
    if (line->group) /* unless it may come again, it is lost as soon as time is looked at */
        rdzv_host_cut(line->group->host, line->id, mono_us_of(start->all));
    string_map_remove(all->lines, line->key);
    map_remove(all->by_id, line->id);
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
    struct rdzv_generation *start = line->start;
    struct engine *engine = start->all->config.engine;
    struct generation g = { .job = start->job, .number = start->generation };
    line->waits = false;
    if (line->out.overflow) {
        log_warn("launcher.deaf", "job=%llu node=%s", (unsigned long long)start->job, line->node);
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

/* ---- what a rendezvous says ---- */

/* A task's attempt as a number, and back. */
static uint64_t attempt_tag(uint32_t flat, uint32_t attempt)
{
    return (uint64_t)attempt << 32 | flat;
}

static uint32_t tag_flat(uint64_t tag)
{
    return (uint32_t)tag;
}

static uint32_t tag_attempt(uint64_t tag)
{
    return (uint32_t)(tag >> 32);
}

/* The program of one of them could not be started: none of their attempts is worth another one. */
static void mark_unstartable(const struct rdzv_generation *start, uint64_t tag,
                             const struct rdzv_end *end)
{
    struct live_job *job = live_find(start->all->config.live, start->job);
    if (!job || !job->tasks || job->row.generation != start->generation)
        return;
    struct live_task *task = &job->tasks[tag_flat(tag)];
    for (size_t i = 0; i < end->n_deaths && task->attempt == tag_attempt(tag); i++)
        task->unstartable = task->unstartable || end->deaths[i].death.spared;
}

static void on_order(void *arg, const struct rdzv_participant *to, const struct rdzv_order *order)
{
    struct rdzv_group *group = arg;
    struct line *line = map_get(group->start->all->by_id, to->conn);
    if (order->kind == RDZV_ORDER_END)
        mark_unstartable(group->start, to->tag, &order->end);
    if (!line)
        return;
    rdzv_put_order(&line->out, order);
    line_sends(line);
}

static void on_replaced(void *arg, uint64_t conn)
{
    struct rdzv_group *group = arg;
    struct line *line = map_get(group->start->all->by_id, conn);
    line->group = NULL;
    line_hang_up(line);
}

/* That everybody goes then is no news, and nobody is told to form another round. */
static bool job_closes(const struct live_job *job)
{
    return live_closing(job) || !job_state_holds(job->row.state);
}

/* about: tag of an attempt; NULL: of all. */
static void note(struct rdzv_generation *start, const uint64_t *about,
                 enum launcher_event_kind kind, const char *text)
{
    struct live_job *job = live_find(start->all->config.live, start->job);
    struct launcher_event event = { .job = start->job, .kind = kind, .text = text };
    if (!job || !job->tasks || (kind == LAUNCHER_EVENT_LOST && job_closes(job)))
        return;
    if (about) {
        const struct task_place *place = &job->tasks[tag_flat(*about)].place;
        event.has_task = true;
        event.task = (struct task_ref){ .role = (uint16_t)place->role, .index = place->index };
        event.attempt = tag_attempt(*about);
    }
    launcher_events_add(start->all->events, &start->event_rates, now_of(start->all), &event);
}

static void on_news(void *arg, const struct rdzv_participant *about, const struct rdzv_notice *news)
{
    static const enum launcher_event_kind of[] = {
        [RDZV_NOTICE_JOINED] = LAUNCHER_EVENT_JOINED, [RDZV_NOTICE_ROUND] = LAUNCHER_EVENT_ROUND,
        [RDZV_NOTICE_FAILED] = LAUNCHER_EVENT_FAILED, [RDZV_NOTICE_LOST] = LAUNCHER_EVENT_LOST,
        [RDZV_NOTICE_CHECK] = LAUNCHER_EVENT_CHECK,   [RDZV_NOTICE_OVER] = LAUNCHER_EVENT_OVER,
    };
    struct rdzv_group *group = arg;
    if (news->kind == RDZV_NOTICE_ROUND)
        group->again = false;
    note(group->start, about ? &about->tag : NULL, of[news->kind], news->text);
}

/* ---- groups ---- */

/* How many of the role's tasks can take part: those that live, and those that come again. Tasks of
 * an elastic role that found no room yet come later, and nobody waits for them who has enough; so
 * do those whose machine is silent, once the others have gone on. */
static bool takes_part(const struct live_job *job, const struct live_task *task)
{
    return live_attempt(task) ||
           (live_again(task) && task->attempt_state != ATTEMPT_NONE && !job_closes(job));
}

static bool is_ours(const struct rdzv_group *group, const struct live_task *task)
{
    return group->role == WHOLE_JOB || task->place.role == group->role;
}

static uint32_t count_expected(const struct rdzv_group *group, const struct live_job *job,
                               uint32_t *later)
{
    uint32_t n = 0;
    *later = 0;
    for (uint32_t flat = 0; flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        bool ours = is_ours(group, task), comes = takes_part(job, task);
        n += ours && comes && !task->left;
        *later +=
            ours && (task->left || (task->state == TASK_WAITING && !comes)) && !job_closes(job);
    }
    return n;
}

/* What is due, and when it wants to be called next; after anything that was said to it. */
static void look_ahead(struct rdzv_group *group)
{
    const struct rdzv_table *all = group->start->all;
    uint64_t now = mono_us_of(all);
    uint64_t due_us = rdzv_host_tick(group->host, now);
    if (due_us != UINT64_MAX)
        wake(all, now_of(all) + (due_us > now ? due_us - now : 0) / 1000 + 1);
}

/* false: nothing has changed. */
static bool expect(struct rdzv_group *group, const struct live_job *job)
{
    uint32_t later, n = count_expected(group, job, &later);
    return rdzv_host_expect(group->host, n, later, mono_us_of(group->start->all));
}

static bool has_spares(const struct live_job *job, uint32_t role)
{
    bool any = false;
    for (uint32_t i = 0; i < job->spec->n_roles; i++)
        any |= (role == WHOLE_JOB || role == i) && job->spec->roles[i].spares > 0;
    return any;
}

static struct rdzv_group *group_create(struct rdzv_generation *start, const struct live_job *job,
                                       uint32_t role, const char *run_id)
{
    const struct rdzv_limits limits = { .beat_ms = BEAT_MS,
                                        .silence_ms = 0,
                                        .resume_ms = RESUME_MS,
                                        .surplus = has_spares(job, role),
                                        .share_nodes = true,
                                        .stop_ms = STOP_MS };
    struct rdzv_group *group = mem_new(sizeof *group);
    group->start = start;
    group->role = role;
    group->run_id = mem_strdup(run_id);
    group->host = rdzv_host_create(
        &limits, (struct rdzv_host_sink){
                     .order = on_order, .news = on_news, .replaced = on_replaced, .arg = group });
    vec_push(&start->groups, group);
    (void)expect(group, job);
    return group;
}

static void group_destroy(struct rdzv_group *group)
{
    struct rdzv_generation *start = group->start;
    for (size_t i = 0; i < start->lines.n; i++)
        if (start->lines.at[i]->group == group)
            start->lines.at[i]->group = NULL;
    for (size_t i = 0; i < start->groups.n; i++)
        if (start->groups.at[i] == group) {
            vec_remove(&start->groups, i);
            break;
        }
    rdzv_host_destroy(group->host);
    free(group->run_id);
    free(group);
}

/* ---- generations ---- */

static void generation_destroy(struct rdzv_generation *start)
{
    while (start->lines.n)
        line_free(start->lines.at[start->lines.n - 1]);
    while (start->groups.n)
        group_destroy(start->groups.at[start->groups.n - 1]);
    vec_fini(&start->lines);
    vec_fini(&start->groups);
    map_remove(start->all->generations, start->job);
    free(start);
}

size_t rdzv_table_count(const struct rdzv_table *all)
{
    return map_count(all->generations);
}

void rdzv_table_destroy(struct rdzv_table *all)
{
    size_t cursor;
    uint64_t job;
    void *start;
    if (!all)
        return;
    while (cursor = 0, map_next(all->generations, &cursor, &job, &start))
        generation_destroy(start);
    map_destroy(all->generations);
    string_map_destroy(all->lines);
    map_destroy(all->by_id);
    launcher_events_destroy(all->events);
    vec_fini(&all->sending);
    arena_destroy(all->scratch);
    free(all);
}

void rdzv_table_forget(struct rdzv_table *all, uint64_t job, uint32_t generation)
{
    struct rdzv_generation *start = map_get(all->generations, job);
    if (start && start->generation != generation)
        generation_destroy(start);
}

static struct rdzv_generation *generation_of(struct rdzv_table *all, const struct live_job *job)
{
    struct rdzv_generation *start = map_get(all->generations, job->row.id);
    if (start && start->generation == job->row.generation)
        return start;
    if (start)
        generation_destroy(start);
    start = mem_new(sizeof *start);
    start->all = all;
    start->job = job->row.id;
    start->generation = job->row.generation;
    map_set(all->generations, start->job, start);
    return start;
}

/* ---- silent machines ---- */

static bool is_silent(const struct rdzv_group *group, const struct live_job *job,
                      const struct live_task *task)
{
    return live_attempt(task) &&
           silence_past_bound(job, live_agent(job, task->place.node), now_of(group->start->all));
}

/* Its launcher is told nothing that it could hear; it comes again over another line. */
static void leave_task(struct rdzv_group *group, const struct live_job *job, uint32_t flat)
{
    struct live_task *task = &job->tasks[flat];
    struct rdzv_generation *start = group->start;
    const struct rdzv_participant *one;
    uint64_t member = 0, tag = attempt_tag(flat, task->attempt);
    size_t cursor = 0;
    char why[SILENCE_TEXT_MAX];
    task->left = true;
    while ((one = rdzv_host_next(group->host, &cursor)))
        member = one->tag == tag ? one->id : member;
    silence_text(why, live_agent(job, task->place.node), now_of(start->all));
    if (member)
        rdzv_host_lose(group->host, member, why, mono_us_of(start->all));
    for (size_t i = start->lines.n; i-- > 0;)
        if (start->lines.at[i]->group == group && start->lines.at[i]->flat == flat) {
            start->lines.at[i]->group = NULL;
            line_hang_up(start->lines.at[i]);
        }
}

/* Those who can be reached go on when they are enough for a round. */
static void look_at_silence(struct rdzv_group *group, const struct live_job *job)
{
    const struct rdzv *rdzv = rdzv_host_rendezvous(group->host);
    uint64_t now = mono_us_of(group->start->all);
    uint32_t least = rdzv_least(rdzv), heard = 0;
    bool held = false;
    for (uint32_t flat = 0; job->silent && flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        heard += is_ours(group, task) && takes_part(job, task) && !is_silent(group, job, task);
    }
    for (uint32_t flat = 0; job->silent && flat < job->row.tasks; flat++) {
        const struct live_task *task = &job->tasks[flat];
        if (!is_ours(group, task) || task->left || !is_silent(group, job, task))
            continue;
        if (least && heard >= least && rdzv_phase(rdzv) != RDZV_OVER)
            leave_task(group, job, flat);
        else
            held = true;
    }
    if (rdzv_phase(rdzv) != RDZV_OVER)
        rdzv_hold(rdzv_host_rendezvous(group->host), held, now);
}

/* ---- what a launcher says ---- */

static void refuse(struct line *line, enum rdzv_refusal why, const char *text)
{
    struct rdzv_refused refused = { .why = why, .text = text };
    rdzv_put(&line->out, &refused);
    line_hang_up(line);
}

/* May a launcher that was no part of it begin another rendezvous in its place? */
static bool may_replace(const struct rdzv_group *group, const struct line *line)
{
    size_t cursor = 0;
    const struct rdzv_participant *one;
    if (rdzv_phase(rdzv_host_rendezvous(group->host)) != RDZV_OVER)
        return false;
    if (rdzv_host_failed(group->host))
        return true;
    while ((one = rdzv_host_next(group->host, &cursor)))
        if (one->tag == attempt_tag(line->flat, line->attempt))
            return true;
    return false;
}

static struct rdzv_group *find_meeting(struct line *line, const struct live_job *job,
                                       const struct rdzv_join *join)
{
    struct rdzv_generation *start = line->start;
    bool whole = dialect_one_world(start->all->config.dialects, job->spec);
    uint32_t role = whole ? WHOLE_JOB : job->tasks[line->flat].place.role;
    for (size_t i = 0; i < start->groups.n; i++) {
        struct rdzv_group *group = start->groups.at[i];
        if (group->role != role || strcmp(group->run_id, join->run_id) != 0)
            continue;
        if (rdzv_host_member(group->host, join->member) || !may_replace(group, line))
            return group;
        group_destroy(group);
        break;
    }
    if (start->groups.n >= MACHINES_MAX) {
        refuse(line, RDZV_REFUSED_RUN,
               "this job has too many rendezvous already: give its launchers the same --rdzv-id");
        return NULL;
    }
    return group_create(start, job, role, join->run_id);
}

static int take_join(struct line *line, const struct live_job *job,
                     const struct rdzv_frame_data *frame)
{
    struct rdzv_join join;
    if (rdzv_get(frame, line->start->all->scratch, &join) != 0)
        return -1;
    struct rdzv_group *group = line->group ? line->group : find_meeting(line, job, &join);
    if (!group)
        return 0;
    if (!rdzv_host_member(group->host, join.member) &&
        rdzv_host_count(group->host) >= MEMBERS_MAX) {
        refuse(line, RDZV_REFUSED_FULL, "4096 launchers take part in this rendezvous already");
        return 0;
    }
    line->group = group;
    int rc = rdzv_host_join(group->host, line->id, attempt_tag(line->flat, line->attempt), &join,
                            mono_us_of(line->start->all));
    if (rc == 0 && job->silent) { /* with it they may be enough */
        look_at_silence(group, job);
        (void)expect(group, job);
    }
    return rc;
}

static int take_note(struct line *line, const struct rdzv_frame_data *frame)
{
    struct rdzv_event said;
    if (rdzv_get(frame, line->start->all->scratch, &said) != 0)
        return -1;
    struct rdzv_group *group = line->group;
    uint64_t tag = attempt_tag(line->flat, line->attempt);
    if (strcmp(said.type, "launch.again") == 0) {
        /* Every launcher says it, and the first is as good as the others; one that meets nobody
         * speaks for itself. */
        if (!group || !group->again)
            note(line->start, group ? NULL : &tag, LAUNCHER_EVENT_AGAIN, said.text);
        if (group)
            group->again = true;
        return 0;
    }
    note(line->start, &tag, LAUNCHER_EVENT_NOTE,
         said.text); /* which says by itself what it is about */
    return 0;
}

static int take_frame(struct line *line, const struct live_job *job,
                      const struct rdzv_frame_data *frame)
{
    if (frame->kind == RDZV_FRAME_JOIN)
        return take_join(line, job, frame);
    if (frame->kind == RDZV_FRAME_EVENT)
        return take_note(line, frame);
    return line->group ? rdzv_host_hear(line->group->host, line->id, frame,
                                        line->start->all->scratch, mono_us_of(line->start->all))
                       : -1;
}

/* The line stands for nobody any more; who took part in one that is over is remembered
 * (may_replace). */
static void line_lose(struct line *line, const char *why)
{
    struct rdzv_group *group = TAKE(line->group);
    if (!group)
        return;
    rdzv_host_closed(group->host, line->id, why, mono_us_of(line->start->all));
    look_ahead(group);
}

/* Every whole frame; what comes after a refusal is not read. */
static void line_read(struct line *line, const struct live_job *job)
{
    struct arena *scratch = line->start->all->scratch;
    size_t done = 0;
    int got = 1;
    while (got == 1 && !line->hang_up) {
        struct rdzv_frame_data frame;
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
    if (got < 0)
        line_lose(line, "its launcher does not speak the protocol");
    else if (line->group)
        look_ahead(line->group);
    if (got >= 0)
        return;
    log_warn("launcher.frame", "job=%llu node=%s broken, connection closed",
             (unsigned long long)line->start->job, line->node);
    line_hang_up(line);
}

static void line_open(struct rdzv_table *all, struct live_job *job, const struct engine_fact *fact,
                      const char *key)
{
    uint32_t flat = live_flat(job, fact->task);
    if (flat == UINT32_MAX)
        return;
    const struct live_task *task = &job->tasks[flat];
    struct rdzv_generation *start = generation_of(all, job);
    struct line *line = mem_new(sizeof *line);
    line->start = start;
    line->key = mem_strdup(key);
    line->node = mem_strdup(fact->node);
    line->id = ++all->last_line;
    line->channel = fact->launcher.channel;
    line->flat = flat;
    line->attempt = fact->attempt;
    buf_init(&line->in, FRAME_MAX);
    buf_init(&line->out, OUT_MAX);
    vec_push(&start->lines, line);
    string_map_set(all->lines, key, line);
    map_set(all->by_id, line->id, line);
    if (start->lines.n > LINES_MAX || task->attempt != fact->attempt ||
        attempt_state_final(task->attempt_state))
        line_hang_up(line);
}

static void line_closed(struct line *line)
{
    line_lose(line, "its launcher has ended");
    line_free(line);
}

/* A connection of the agent was made anew: its launchers' lines are void, they come again. */
static void node_again(struct rdzv_table *all, const struct engine_fact *fact)
{
    struct rdzv_generation *start = map_get(all->generations, fact->generation.job);
    if (!start || start->generation != fact->generation.number)
        return;
    for (size_t i = start->lines.n; i-- > 0;) {
        struct line *line = start->lines.at[i];
        if (strcmp(line->node, fact->node) != 0)
            continue;
        if (line->group)
            rdzv_host_cut(line->group->host, line->id, mono_us_of(all) + RESUME_MS * 1000ull);
        line_free(line);
    }
    wake(all, now_of(all) + RESUME_MS + 1);
}

void rdzv_table_hear(struct rdzv_table *all, const struct engine_fact *fact)
{
    char key[400];
    struct live_job *job = live_find(all->config.live, fact->generation.job);
    if (fact->kind == FACT_AGENT_JOINED) {
        node_again(all, fact);
        if (job && job->row.generation == fact->generation.number && job->tasks)
            silence_end(job, fact->node); /* before its launchers come */
    }
    if (fact->kind != FACT_LAUNCHER)
        return;
    if (!job || job->row.generation != fact->generation.number || !job->tasks || !spec_of(all, job))
        return;
    line_key(key, fact->generation, fact->node, fact->launcher.channel);
    struct line *line = string_map_get(all->lines, key);
    if (fact->launcher.what == LAUNCHER_OPEN && !line)
        line_open(all, job, fact, key);
    if (fact->launcher.what == LAUNCHER_CLOSE && line)
        line_closed(line);
    if (fact->launcher.what == LAUNCHER_DATA && line && !line->hang_up) {
        buf_add(&line->in, fact->launcher.bytes, fact->launcher.len);
        line_read(line, job);
    }
}

/* ---- what follows from the job ---- */

static const char *attempt_over(const struct live_job *job, uint64_t tag)
{
    const struct live_task *task = &job->tasks[tag_flat(tag)];
    if (task->attempt != tag_attempt(tag) || task->attempt_state == ATTEMPT_NONE)
        return "its task has ended";
    if (!attempt_state_final(task->attempt_state))
        return NULL;
    return task->attempt_state == ATTEMPT_LOST ? "its agent is gone" : "its task has ended";
}

static void lose_ended(struct rdzv_group *group, const struct live_job *job)
{
    struct rdzv_host *host = group->host;
    VEC(struct rdzv_participant) over = { 0 };
    const struct rdzv_participant *one;
    size_t cursor = 0;
    while ((one = rdzv_host_next(host, &cursor)))
        if (attempt_over(job, one->tag))
            vec_push(&over, *one);
    for (size_t i = 0; i < over.n && rdzv_phase(rdzv_host_rendezvous(host)) != RDZV_OVER; i++)
        rdzv_host_lose(host, over.at[i].id, attempt_over(job, over.at[i].tag),
                       mono_us_of(group->start->all));
    if (over.n)
        look_ahead(group);
    vec_fini(&over);
}

void rdzv_table_follow(struct rdzv_table *all, struct live_job *job)
{
    struct rdzv_generation *start = map_get(all->generations, job->row.id);
    if (!start || start->generation != job->row.generation || !job->tasks)
        return;
    for (size_t i = 0; i < start->groups.n && !job_closes(job); i++) {
        struct rdzv_group *group = start->groups.at[i];
        lose_ended(group, job);
        look_at_silence(group, job);
        if (expect(group, job))
            look_ahead(group);
    }
    for (size_t i = start->lines.n; i-- > 0;)
        if (attempt_over(job, attempt_tag(start->lines.at[i]->flat, start->lines.at[i]->attempt)))
            line_free(start->lines.at[i]);
}

const char *rdzv_table_root(struct rdzv_table *all, const struct live_job *job, uint32_t flat,
                            uint32_t *of)
{
    struct rdzv_generation *start = map_get(all->generations, job->row.id);
    if (!start || start->generation != job->row.generation)
        return NULL;
    for (size_t i = start->groups.n; i-- > 0;) { /* the newest of several, one after another */
        struct rdzv_group *group = start->groups.at[i];
        uint64_t id;
        const char *clause;
        if (group->role != WHOLE_JOB && group->role != job->tasks[flat].place.role)
            continue;
        if (!rdzv_root(rdzv_host_rendezvous(group->host), &id, &clause))
            continue;
        const struct rdzv_participant *one = rdzv_host_member(group->host, id);
        if (!one)
            return NULL;
        *of = tag_flat(one->tag);
        return clause;
    }
    return NULL;
}

static bool met_well(const struct rdzv_group *group)
{
    return rdzv_phase(rdzv_host_rendezvous(group->host)) == RDZV_OVER &&
           !rdzv_host_failed(group->host);
}

bool rdzv_table_done(const struct rdzv_table *all, const struct live_job *job, uint32_t role)
{
    struct rdzv_generation *start = map_get(all->generations, job->row.id);
    if (!start || start->generation != job->row.generation)
        return false;
    for (size_t i = start->groups.n; i-- > 0;) {
        const struct rdzv_group *group = start->groups.at[i];
        if (group->role == WHOLE_JOB || group->role == role)
            return met_well(group);
    }
    return false;
}

bool rdzv_table_ending(const struct rdzv_table *all, const struct live_job *job)
{
    struct rdzv_generation *start = map_get(all->generations, job->row.id);
    if (!start || start->generation != job->row.generation)
        return false;
    for (size_t i = 0; i < start->groups.n; i++) {
        const struct rdzv_participant *one;
        size_t cursor = 0;
        while (met_well(start->groups.at[i]) &&
               (one = rdzv_host_next(start->groups.at[i]->host, &cursor)))
            if (!attempt_over(job, one->tag) && !job->tasks[tag_flat(one->tag)].left)
                return true;
    }
    return false;
}

/* ---- time ---- */

void rdzv_table_tick(struct rdzv_table *all)
{
    size_t cursor = 0;
    uint64_t job;
    void *value;
    while (map_next(all->generations, &cursor, &job, &value)) {
        struct rdzv_generation *start = value;
        for (size_t i = 0; i < start->groups.n; i++)
            look_ahead(start->groups.at[i]);
    }
}

/* ---- the turn ---- */

void rdzv_table_record(struct rdzv_table *all)
{
    launcher_events_record(all->events, all->config.server.write, all->config.server.arg);
}

void rdzv_table_undone(struct rdzv_table *all)
{
    launcher_events_undone(all->events);
}

void rdzv_table_committed(struct rdzv_table *all)
{
    launcher_events_committed(all->events);
}

void rdzv_table_act(struct rdzv_table *all)
{
    while (all->sending.n) {
        struct line *line = all->sending.at[all->sending.n - 1];
        all->sending.n--;
        line_send(line);
    }
}

bool rdzv_table_idle(const struct rdzv_table *all)
{
    return all->sending.n == 0 && !launcher_events_waiting(all->events);
}
