/* Launchers inside a job: who meets, what is told to whom, and what a loss, a restarted server and
 * a failed commit do to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/arena.h"
#include "ctl/test/world.h"
#include "store/store.h"
#include "wire/rendezvous.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define PAIR                                                                                       \
    "{\"name\":\"pair\",\"retry\":{\"scope\":\"task\",\"unknown\":2,\"platform\":3},"              \
    "\"roles\":{\"w\":{\"replicas\":2,\"run\":\"b\",\"resources\":{\"cpu\":3}}}}"

struct fix {
    struct world w;
    struct arena *arena;
    uint64_t job;
    uint32_t min; /* nodes; 0: 1 */
};

static int setup(void **state)
{
    static struct fix fix;
    fix.arena = arena_create();
    fix.min = 0;
    world_init(&fix.w);
    fix.w.code_all = FAKE_RUNS;
    fix.job = world_submit(&fix.w, PAIR);
    world_run(&fix.w);
    *state = &fix;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    world_fini(&f->w);
    arena_destroy(f->arena);
    return 0;
}

/* ---- launchers ---- */

struct seat { /* one launcher as the test plays it */
    struct fix *f;
    uint32_t index, attempt, channel;
    uint64_t member;
    uint64_t term; /* from its last ROUND */
    uint32_t round, restarts;
    uint64_t world_id;
    uint32_t nodes;
};

static const char *node_of(const struct seat *s)
{
    struct fake *fake = &s->f->w.fake;
    for (size_t i = 0; i < fake->agents.n; i++)
        for (size_t k = 0; !fake->agents.at[i]->dead && k < fake->agents.at[i]->tasks.n; k++)
            if (fake->agents.at[i]->tasks.at[k].ref.index == s->index &&
                fake->agents.at[i]->tasks.at[k].attempt == s->attempt)
                return fake->agents.at[i]->node;
    fail_msg("no task %u attempt %u", s->index, s->attempt);
    return "";
}

static void tell(const struct seat *s, enum launcher_what what, const struct buf *bytes)
{
    struct fake *fake = &s->f->w.fake;
    struct engine_fact fact = { .kind = FACT_LAUNCHER,
                                .generation = { .job = s->f->job, .number = 1 },
                                .node = node_of(s),
                                .task = { .index = s->index },
                                .attempt = s->attempt,
                                .launcher = { .channel = s->channel,
                                              .what = what,
                                              .bytes = bytes ? bytes->data : NULL,
                                              .len = bytes ? bytes->len : 0 } };
    fake->base.sink.fact(fake->base.sink.arg, &fact);
    world_run(&s->f->w);
}

static void join(struct seat *s, const char *run_id, bool claims)
{
    struct buf out = BUF_INIT(1 << 20);
    struct rdzv_join message = { .member = s->member,
                                 .run_id = run_id,
                                 .node = "n",
                                 .addr = "127.0.0.2",
                                 .node_rank = s->index,
                                 .ranks = 2,
                                 .store_port = 5000,
                                 .settings = { .min = s->f->min ? s->f->min : 1,
                                               .max = 2,
                                               .node_unit = 1,
                                               .max_restarts = 3,
                                               .last_call_ms = 30000,
                                               .join_ms = 600000,
                                               .exit_barrier_ms = 300000 } };
    if (claims)
        message.claim = (struct rdzv_claim){ .term = s->term,
                                             .round = s->round,
                                             .group_rank = s->index,
                                             .restarts = s->restarts,
                                             .running = true,
                                             .world_id = s->world_id,
                                             .nodes = s->nodes };
    tell(s, LAUNCHER_OPEN, NULL);
    rdzv_put(&out, &message);
    tell(s, LAUNCHER_DATA, &out);
    buf_fini(&out);
}

static void report(const struct seat *s, enum rdzv_outcome outcome)
{
    struct buf out = BUF_INIT(1 << 20);
    struct rdzv_death death = {
        .rank = 1, .local_rank = 1, .signal = 9, .message = "", .error_file = "", .tail = ""
    };
    struct rdzv_report message = { .term = s->term, .round = s->round, .outcome = outcome };
    if (outcome == RDZV_FAILED)
        message.deaths = (struct rdzv_deaths){ .at = &death, .n = 1 };
    rdzv_put(&out, &message);
    tell(s, LAUNCHER_DATA, &out);
    buf_fini(&out);
}

/* The last frame of that kind that was sent to it, or false. Everything it got is used up. */
static bool got(struct seat *s, enum rdzv_frame kind, struct rdzv_frame_data *found)
{
    struct fake_line *line = fake_line(&s->f->w.fake, node_of(s), s->channel);
    size_t done = 0, used = 0;
    struct rdzv_frame_data frame;
    bool any = false;
    if (!line)
        return false;
    char *copy = ARENA_ARRAY(s->f->arena, line->bytes.len + 1, char);
    if (line->bytes.len)
        memcpy(copy, line->bytes.data, line->bytes.len);
    while (rdzv_next(copy + done, line->bytes.len - done, &frame, &used) == 1) {
        done += used;
        if (frame.kind == kind) {
            *found = frame;
            any = true;
        }
    }
    assert_true(done == line->bytes.len);
    buf_clear(&line->bytes);
    return any;
}

static bool got_round(struct seat *s)
{
    struct rdzv_frame_data frame;
    struct rdzv_round round;
    if (!got(s, RDZV_FRAME_ROUND, &frame))
        return false;
    assert_int_equal(rdzv_get(&frame, s->f->arena, &round), 0);
    s->term = round.term;
    s->round = round.round;
    s->restarts = round.restarts;
    s->world_id = round.world_id;
    s->nodes = round.nodes;
    return true;
}

static bool got_plain(struct seat *s, enum rdzv_frame kind)
{
    struct rdzv_frame_data frame;
    return got(s, kind, &frame);
}

static void two_meet(struct fix *f, struct seat pair[2])
{
    for (uint32_t i = 0; i < 2; i++)
        pair[i] =
            (struct seat){ .f = f, .index = i, .attempt = 1, .channel = 1 + i, .member = 100 + i };
    join(&pair[0], "1", false);
    assert_false(got_round(&pair[0])); /* the other one will come: no last call is needed */
    join(&pair[1], "1", false);
    assert_true(got_round(&pair[0]));
    assert_true(got_round(&pair[1]));
    assert_int_equal(pair[0].nodes, 2);
}

/* ---- tests ---- */

static void they_meet_without_waiting(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    assert_int_equal(world_count(&f->w, f->job, "launch.round"), 1);
    assert_int_equal(world_count(&f->w, f->job, "launch.joined"), 2);
}

static void a_failure_brings_a_round(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    report(&pair[0], RDZV_FAILED);
    assert_true(got_plain(&pair[1], RDZV_FRAME_STOP));
    assert_int_equal(world_count(&f->w, f->job, "launch.failed"), 1);
    pair[0].channel = 11; /* each JOIN of this test is on a new connection */
    pair[1].channel = 12;
    join(&pair[0], "1", false);
    join(&pair[1], "1", false);
    assert_true(got_round(&pair[0]));
    assert_int_equal(pair[0].round, 1);
    assert_int_equal(world_count(&f->w, f->job, "launch.round"), 2);
    for (int i = 0; i < 2; i++) { /* both started it again; the job says so once */
        struct buf out = BUF_INIT(1024);
        rdzv_put(&out, &(struct rdzv_event){ .type = "launch.again",
                                             .text = "rank 0 failed: started again in 0.1 s" });
        tell(&pair[i], LAUNCHER_DATA, &out);
        buf_fini(&out);
    }
    assert_int_equal(world_count(&f->w, f->job, "launch.again"), 1);
    assert_int_equal(world_count(&f->w, f->job, "launch.note"), 0);
}

static void a_closed_line_is_a_loss(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    tell(&pair[1], LAUNCHER_CLOSE, NULL);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 1);
}

static int second_dies(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index == 1 && attempt == 1 ? 1 : FAKE_RUNS;
}

/* The task is retried by its policy: the next attempt's launcher takes its place again. */
static void an_ended_attempt_is_a_loss_and_its_retry_joins(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    f->w.by_attempt = second_dies;
    world_run(&f->w);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 1);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
    world_pass(&f->w, 1000);
    pair[0].channel = 21;
    join(&pair[0], "1", false);
    struct seat again = { .f = f, .index = 1, .attempt = 2, .channel = 22, .member = 200 };
    assert_true(got_round(&pair[0])); /* one is enough for it */
    join(&again, "1", false);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP)); /* but two are better */
    pair[0].channel = 23;
    join(&pair[0], "1", false);
    assert_true(got_round(&again));
    assert_int_equal(again.nodes, 2);
}

static void a_lost_agent_is_a_loss(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    const char *node = node_of(&pair[1]);
    size_t i = 0;
    while (strcmp(f->w.fake.agents.at[i]->node, node) != 0)
        i++;
    fake_kill_agent(&f->w.fake, i);
    world_run(&f->w);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 1);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
}

static void agent_again(const struct seat *s)
{
    struct fake *fake = &s->f->w.fake;
    struct engine_fact fact = { .kind = FACT_AGENT_JOINED,
                                .generation = { .job = s->f->job, .number = 1 },
                                .node = node_of(s) };
    fake->base.sink.fact(fake->base.sink.arg, &fact);
    world_run(&s->f->w);
}

static void a_broken_uplink_is_no_loss(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    agent_again(&pair[1]);
    world_pass(&f->w, 5000);
    pair[1].channel = 31;
    join(&pair[1], "1", true);
    world_pass(&f->w, 60000);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 0);
    assert_int_equal(world_count(&f->w, f->job, "launch.round"), 1);
    report(&pair[1], RDZV_FAILED); /* it is heard on its new line */
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
}

static void who_does_not_come_back_is_lost(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    agent_again(&pair[1]);
    world_pass(&f->w, 9000);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 0);
    world_pass(&f->w, 2000);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 1);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
}

static void a_restarted_server_changes_nothing(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    world_crash(&f->w);
    world_run(&f->w);
    fake_lines_clear(&f->w.fake);
    pair[0].channel = 41;
    pair[1].channel = 42;
    join(&pair[0], "1", true);
    join(&pair[1], "1", true);
    world_pass(&f->w, 60000);
    assert_false(got_plain(&pair[0], RDZV_FRAME_STOP));
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 0);
    pair[0].term++; /* of the leader that took over */
    report(&pair[0], RDZV_FAILED);
    assert_true(got_plain(&pair[1], RDZV_FRAME_STOP));
}

/* ---- silent machines ---- */

static void agent_silent(const struct seat *s)
{
    struct fake *fake = &s->f->w.fake;
    struct engine_fact fact = { .kind = FACT_AGENT_SILENT,
                                .generation = { .job = s->f->job, .number = 1 },
                                .node = node_of(s),
                                .quiet_ms = 1000 };
    fake->base.sink.fact(fake->base.sink.arg, &fact);
    world_run(&s->f->w);
}

/* Over another line, where it was told to stop. */
static void join_again(struct seat *s, bool claims)
{
    s->channel += 10;
    join(s, "1", claims);
}

static void the_others_leave_a_silent_machine(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    agent_silent(&pair[1]);
    world_pass(&f->w, 1900); /* it was silent for 1000 ms when that was told */
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 0);
    world_pass(&f->w, 100);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 1);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
    join_again(&pair[0], false);
    assert_true(got_round(&pair[0]));
    assert_int_equal(pair[0].nodes, 1);
    assert_int_equal(world_state(&f->w, f->job), JOB_RUNNING); /* its task may live */
    /* It is back, and knows nothing: its old ranks end before it takes part again. */
    agent_again(&pair[1]);
    join_again(&pair[1], true);
    assert_true(got_plain(&pair[1], RDZV_FRAME_STOP));
    assert_false(got_plain(&pair[0], RDZV_FRAME_STOP));
    join_again(&pair[1], false);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
    join_again(&pair[0], false);
    assert_true(got_round(&pair[0]));
    assert_true(got_round(&pair[1]));
    assert_int_equal(pair[1].nodes, 2);
}

static void a_machine_that_is_heard_in_time_is_not_left(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    agent_silent(&pair[1]);
    world_pass(&f->w, 1500);
    agent_again(&pair[1]);
    join_again(&pair[1], true);
    world_pass(&f->w, 60000);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 0);
    assert_int_equal(world_count(&f->w, f->job, "launch.round"), 1);
}

/* Nobody is lost for want of it, however long that takes. */
static void a_machine_that_is_needed_is_waited_for(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    f->min = 2;
    two_meet(f, pair);
    agent_silent(&pair[1]);
    world_pass(&f->w, 60000);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 0);
    report(&pair[0], RDZV_FAILED); /* it has waited for the other one for too long */
    join_again(&pair[0], false);
    for (int hour = 0; hour < 5; hour++)
        world_pass(&f->w, 3600000);
    assert_false(got_plain(&pair[0], RDZV_FRAME_END));
    assert_int_equal(world_count(&f->w, f->job, "launch.over"), 0);
    agent_again(&pair[1]);
    join_again(&pair[1], true);
    join_again(&pair[1], false);
    assert_true(got_round(&pair[0]));
    assert_true(got_round(&pair[1]));
    assert_int_equal(pair[1].nodes, 2);
}

/* To the next server. */
static void does_not_come_again(struct fix *f, const struct seat *s)
{
    const char *node = node_of(s);
    world_crash(&f->w);
    for (size_t i = 0; i < f->w.fake.agents.n; i++)
        if (strcmp(f->w.fake.agents.at[i]->node, node) == 0)
            f->w.fake.agents.at[i]->comes_again = false;
    world_run(&f->w);
    fake_lines_clear(&f->w.fake);
}

static void silence_outlives_the_server(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    agent_silent(&pair[1]);
    does_not_come_again(f, &pair[1]);
    join_again(&pair[0], true);
    world_pass(&f->w, 9000); /* it may still come back to this one */
    assert_false(got_plain(&pair[0], RDZV_FRAME_STOP));
    world_pass(&f->w, 2000);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
    join_again(&pair[0], false);
    assert_true(got_round(&pair[0]));
    assert_int_equal(pair[0].nodes, 1);
}

/* ---- silence, and a commit that fails ---- */

static void suspension_is_not_recorded(struct fix *f)
{
    struct rlimit was, none;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    world_command(&f->w, f->job, CTL_SUSPEND);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(f->w.code, ERR_SYSTEM); /* the commit failed */
}

/* It is not longer than it would be without that. */
static void silence_goes_on_over_a_failed_commit(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    agent_silent(&pair[1]);
    world_pass(&f->w, 1500); /* it was silent for 1000 ms when that was told */
    suspension_is_not_recorded(f);
    world_pass(&f->w, 400);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 0);
    world_pass(&f->w, 600);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 1);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
}

static void on_machines(struct world *w, struct ctl_config *config)
{
    static struct node_spec machines[2];
    for (size_t i = 0; i < 2; i++) {
        machines[i] = w->nodes[i];
        machines[i].machine = true;
    }
    config->nodes = machines;
}

static int first_succeeds(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    (void)attempt;
    return index == 0 ? 0 : FAKE_RUNS;
}

/* No engine says of an agent that it is silent when the server has not heard it since it started.
 */
static void who_was_not_heard_yet_is_not_forgotten(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    world_fini(&f->w);
    world_init_with(&f->w, (struct world_hooks){ .before = on_machines }, NULL);
    f->w.code_all = FAKE_RUNS;
    f->job = world_submit(&f->w, PAIR);
    world_run(&f->w);
    two_meet(f, pair);
    does_not_come_again(f, &pair[1]);
    join_again(&pair[0], true);
    suspension_is_not_recorded(f);
    world_pass(&f->w, 9000); /* it may still come back to this server */
    assert_false(got_plain(&pair[0], RDZV_FRAME_STOP));
    world_pass(&f->w, 2000);
    assert_true(got_plain(&pair[0], RDZV_FRAME_STOP));
    join_again(&pair[0], false);
    assert_true(got_round(&pair[0]));
    report(&pair[0], RDZV_DONE);
    f->w.by_attempt = first_succeeds;
    world_pass(&f->w, 60000);
    assert_int_equal(world_state(&f->w, f->job), JOB_SUCCEEDED);
}

/* What the others have done without it needs it no more; what it runs ends when it is back. */
static void a_job_is_done_without_a_silent_machine(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    agent_silent(&pair[1]);
    world_pass(&f->w, 3000);
    join_again(&pair[0], false);
    assert_true(got_round(&pair[0]));
    report(&pair[0], RDZV_DONE);
    f->w.by_attempt = first_succeeds;
    world_run(&f->w);
    assert_int_equal(world_state(&f->w, f->job), JOB_SUCCEEDED);
}

/* Those who have done are not waited for again because a commit fails. */
static void a_failed_commit_leaves_it_as_it_was(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    agent_silent(&pair[1]);
    world_pass(&f->w, 3000);
    join_again(&pair[0], false);
    assert_true(got_round(&pair[0]));
    report(&pair[0], RDZV_DONE);
    suspension_is_not_recorded(f);
    f->w.by_attempt = first_succeeds;
    world_pass(&f->w, 1000);
    assert_int_equal(world_state(&f->w, f->job), JOB_SUCCEEDED);
}

/* An elastic job in which one task is enough: two have met, and both know that all ranks ended
 * well. */
static uint64_t two_have_done(struct fix *f, struct seat pair[2])
{
    world_command(&f->w, f->job, CTL_STOP);
    world_run(&f->w);
    f->job = world_submit(&f->w, "{\"name\":\"e\",\"roles\":{\"w\":{\"done\":{\"succeeded\":1},"
                                 "\"replicas\":{\"min\":1,\"max\":2},\"run\":\"b\","
                                 "\"resources\":{\"cpu\":3}}}}");
    assert_true(f->job != 0);
    world_run(&f->w);
    two_meet(f, pair);
    for (int i = 0; i < 2; i++)
        report(&pair[i], RDZV_DONE);
    f->w.by_attempt = first_succeeds;
    world_run(&f->w);
    assert_int_equal(world_count(&f->w, f->job, "task.succeeded"), 1);
    return f->job;
}

/* Its end was near when the job had all it needs: it is not ended by a signal. */
static void the_last_launcher_ends_by_itself(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    uint64_t job = two_have_done(f, pair);
    assert_int_equal(world_state(&f->w, job), JOB_RUNNING);
    f->w.by_attempt = NULL;
    f->w.code_all = 0;
    world_run(&f->w);
    assert_int_equal(world_state(&f->w, job), JOB_SUCCEEDED);
    assert_int_equal(world_count(&f->w, job, "task.succeeded"), 2);
    assert_int_equal(world_count(&f->w, job, "task.stopped"), 0);
}

static void a_launcher_that_does_not_end_is_stopped(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    uint64_t job = two_have_done(f, pair);
    world_pass(&f->w, 9999);
    assert_int_equal(world_state(&f->w, job), JOB_RUNNING);
    world_pass(&f->w, 1);
    assert_int_equal(world_state(&f->w, job), JOB_SUCCEEDED);
    assert_int_equal(world_count(&f->w, job, "task.stopped"), 1);
}

/* Nothing can be recorded: ranks come back all the same, and later it is told. */
static void a_full_disk_holds_nobody_up(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    struct rlimit was, none;
    two_meet(f, pair);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    report(&pair[0], RDZV_FAILED);
    bool stopped = got_plain(&pair[1], RDZV_FRAME_STOP);
    pair[0].channel = 61;
    pair[1].channel = 62;
    join(&pair[0], "1", false);
    join(&pair[1], "1", false);
    bool again = got_round(&pair[0]) && got_round(&pair[1]);
    unsigned told = world_count(&f->w, f->job, "launch.round");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_true(stopped);
    assert_true(again);
    assert_int_equal(told, 1);
    world_pass(&f->w, 5000);
    assert_int_equal(world_count(&f->w, f->job, "launch.failed"), 1);
    assert_int_equal(world_count(&f->w, f->job, "launch.round"), 2);
}

/* torchrun a && torchrun b: the second rendezvous of the same tasks is a new one. */
static void one_after_the_other(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    for (int i = 0; i < 2; i++)
        report(&pair[i], RDZV_DONE);
    assert_true(got_plain(&pair[0], RDZV_FRAME_END));
    assert_true(got_plain(&pair[1], RDZV_FRAME_END));
    tell(&pair[0], LAUNCHER_CLOSE, NULL);
    struct seat late = { .f = f, .index = 0, .attempt = 1, .channel = 51, .member = 300 };
    join(&late, "1", false); /* the other one's first launcher is still there */
    struct seat other = { .f = f, .index = 1, .attempt = 1, .channel = 52, .member = 301 };
    tell(&pair[1], LAUNCHER_CLOSE, NULL);
    join(&other, "1", false);
    assert_true(got_round(&late));
    assert_true(got_round(&other));
    assert_int_equal(other.nodes, 2);
}

static void nonsense_ends_the_line(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    struct buf out = BUF_INIT(64);
    buf_add(&out, "\xff\xff\xff\xff nonsense", 13);
    tell(&pair[0], LAUNCHER_DATA, &out);
    assert_true(fake_line(&f->w.fake, node_of(&pair[0]), pair[0].channel)->closed);
    assert_true(got_plain(&pair[1], RDZV_FRAME_STOP));
    buf_fini(&out);
}

static void too_many_rendezvous(void **state)
{
    struct fix *f = *state;
    for (uint32_t i = 0; i < 17; i++) {
        char run[16];
        snprintf(run, sizeof run, "run-%u", i);
        struct seat s = { .f = f, .attempt = 1, .channel = 100 + i, .member = 1000 + i };
        join(&s, run, false);
        assert_int_equal(got_plain(&s, RDZV_FRAME_REFUSED), i == 16);
    }
}

static void a_chatterer_does_not_fill_the_records(void **state)
{
    struct fix *f = *state;
    struct seat s = { .f = f, .attempt = 1, .channel = 1, .member = 1 };
    struct buf out = BUF_INIT(1 << 20);
    for (int i = 0; i < 1000; i++)
        rdzv_put(&out,
                 &(struct rdzv_event){ .type = "chatter", .text = "line one\nline two \x01" });
    tell(&s, LAUNCHER_OPEN, NULL);
    tell(&s, LAUNCHER_DATA, &out);
    assert_int_equal(world_count(&f->w, f->job, "launch.note"), 100);
    world_pass(&f->w, 10000);
    tell(&s, LAUNCHER_DATA, &out);
    assert_in_range(world_count(&f->w, f->job, "launch.note"), 104, 106);
    buf_fini(&out);
}

static void the_end_of_the_job_ends_it(void **state)
{
    struct fix *f = *state;
    struct seat pair[2];
    two_meet(f, pair);
    world_command(&f->w, f->job, CTL_STOP);
    world_run(&f->w);
    assert_int_equal(world_state(&f->w, f->job), JOB_STOPPED);
    assert_int_equal(world_count(&f->w, f->job, "launch.lost"), 0);
    ctl_turn(f->w.ctl); /* nothing is left over: the leak checker looks at the rest */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(they_meet_without_waiting),
        T(a_failure_brings_a_round),
        T(a_closed_line_is_a_loss),
        T(an_ended_attempt_is_a_loss_and_its_retry_joins),
        T(a_lost_agent_is_a_loss),
        T(a_broken_uplink_is_no_loss),
        T(who_does_not_come_back_is_lost),
        T(a_restarted_server_changes_nothing),
        T(the_others_leave_a_silent_machine),
        T(a_machine_that_is_heard_in_time_is_not_left),
        T(a_machine_that_is_needed_is_waited_for),
        T(silence_outlives_the_server),
        T(silence_goes_on_over_a_failed_commit),
        T(who_was_not_heard_yet_is_not_forgotten),
        T(a_job_is_done_without_a_silent_machine),
        T(a_failed_commit_leaves_it_as_it_was),
        T(the_last_launcher_ends_by_itself),
        T(a_launcher_that_does_not_end_is_stopped),
        T(a_full_disk_holds_nobody_up),
        T(one_after_the_other),
        T(nonsense_ends_the_line),
        T(too_many_rendezvous),
        T(a_chatterer_does_not_fill_the_records),
        T(the_end_of_the_job_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
