/* The server is killed after every step of a scenario, and at random: the job ends the same way,
 * every attempt begins once, nothing is held at the end. A model test throws random commands,
 * deaths and crashes at many jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "answer/cluster_views.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

struct scenario {
    const char *name, *text;
    int (*by_attempt)(uint64_t job, const char *role, uint32_t index, uint32_t attempt);
    int code_all;
    unsigned stop_at; /* step at which the owner stops it; 0: never */
    enum ctl_verb verb;
    enum job_state end;
    uint32_t attempts; /* rows at the end; 0: any */
};

static int second_time_lucky(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index == 1 && attempt == 1 ? 1 : 0;
}

#define TWO(retry)                                                                                 \
    "{\"name\":\"r\",\"retry\":" retry                                                             \
    ",\"roles\":{\"m\":{\"run\":\"a\",\"resources\":{\"cpu\":2}},"                                 \
    "\"w\":{\"replicas\":2,\"run\":\"b\",\"resources\":{\"cpu\":2,\"gpu\":1},\"ports\":{\"p\":2}}}}"

static const struct scenario scenarios[] = {
    { .name = "plain", .text = TWO("{}"), .end = JOB_SUCCEEDED, .attempts = 3 },
    { .name = "task retry",
      .text = TWO("{\"scope\":\"task\",\"unknown\":1}"),
      .by_attempt = second_time_lucky,
      .end = JOB_SUCCEEDED,
      .attempts = 4 },
    { .name = "job retry",
      .text = TWO("{\"scope\":\"job\",\"unknown\":1}"),
      .by_attempt = second_time_lucky,
      .end = JOB_SUCCEEDED,
      .attempts = 6 },
    { .name = "fails",
      .text = TWO("{}"),
      .by_attempt = second_time_lucky,
      .end = JOB_FAILED,
      .attempts = 3 },
    { .name = "stopped",
      .text = TWO("{}"),
      .code_all = FAKE_RUNS,
      .stop_at = 6,
      .verb = CTL_STOP,
      .end = JOB_STOPPED,
      .attempts = 3 },
    { .name = "suspended",
      .text = TWO("{}"),
      .code_all = FAKE_RUNS,
      .stop_at = 6,
      .verb = CTL_SUSPEND,
      .end = JOB_SUSPENDED,
      .attempts = 3 },
};

/* Plays it with a crash after step `at`; the number of steps it took. */
static unsigned play(const struct scenario *s, unsigned at)
{
    struct world w;
    world_init(&w);
    w.by_attempt = s->by_attempt;
    w.code_all = s->code_all;
    unsigned step = 0;
    uint64_t job = world_submit(&w, s->text);
    assert_true(job != 0);
    for (bool going = true; going || (s->stop_at && step <= s->stop_at) || step <= at; step++) {
        assert_true(step < 1000);
        if (step == at)
            world_crash(&w);
        if (s->stop_at && step == s->stop_at)
            world_command(&w, job, s->verb);
        going = world_step(&w);
    }
    world_pass(&w, 1000); /* what was launched before the crash is launched again a little later */
    if (world_state(&w, job) != s->end || w.fake.doubled || world_used(&w) || fake_alive(&w.fake) ||
        (s->attempts && world_attempts(&w, job) != s->attempts))
        fail_msg("%s, crash at %u: %s, %u attempts, %u doubled, %llu used, %zu agents: %s", s->name,
                 at, job_state_word(world_state(&w, job)), world_attempts(&w, job), w.fake.doubled,
                 (unsigned long long)world_used(&w), fake_alive(&w.fake), world_events(&w, job));
    assert_int_equal(world_count(&w, job, "refused"), 0);
    world_fini(&w);
    return step;
}

static void crash_after_every_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
        unsigned steps = play(&scenarios[i], 100000 % 997);
        for (unsigned at = 0; at < (steps < 40 ? steps : 40); at++)
            play(&scenarios[i], at);
    }
}

/* Committed, and the server dies before the engine hears of it: no directory, no agent; the start
 * is made again. */
static void allocated_but_never_launched(void **state)
{
    struct world w;
    (void)state;
    world_init(&w);
    w.fake.base.ops = &w.fake.ops;
    uint64_t job = world_submit(&w, scenarios[0].text);
    for (size_t i = 0; i < w.fake.agents.n; i++) /* as if the calls had not been made */
        w.fake.agents.at[i]->dead = true;
    w.fake.started.n = 0;
    char command[200];
    snprintf(command, sizeof command, "%s/1", w.runs);
    struct err err;
    assert_int_equal(file_remove_tree(command, &err), 0);
    world_crash(&w);
    world_run(&w);
    world_pass(&w, 1000);
    assert_int_equal(world_state(&w, job), JOB_SUCCEEDED);
    assert_int_equal(world_attempts(&w, job), 3);
    world_fini(&w);
}

/* ---- random ---- */

static unsigned dice(unsigned *seed, unsigned sides)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % sides;
}

static unsigned fate;
static int random_fate(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)role;
    unsigned x = (unsigned)(job >> 3) * 7919u + index * 104729u + attempt * 1299709u + fate;
    x = (x ^ (x >> 7)) * 2654435761u;
    switch ((x >> 20) % 10) {
    case 0: return 1;
    case 1: return 7;
    case 2: return FAKE_DIES;
    case 3: return FAKE_CONFLICT;
    default: return 0;
    }
}

static void submit_random(struct world *w, unsigned *seed)
{
    char text[600];
    static const char *const scopes[] = { "task", "job" };
    snprintf(
        text, sizeof text,
        "{\"name\":\"j%u\",\"priority\":%u,\"suspend\":%s,\"retry\":{\"scope\":\"%s\",\"unknown\":%u,\"platform\":\"always\"},"
        "\"roles\":{\"a\":{\"run\":\"x\",\"replicas\":%u,\"resources\":{\"cpu\":%u,\"gpu\":%s},\"ports\":{\"p\":1}},"
        "\"b\":{\"run\":\"y\",\"resources\":{\"cpu\":0.5}}}}",
        dice(seed, 9), 1 + dice(seed, 9), dice(seed, 8) ? "false" : "true", scopes[dice(seed, 2)],
        dice(seed, 3), 1 + dice(seed, 3), 1 + dice(seed, 2), dice(seed, 3) ? "0" : "0.5");
    world_submit(w, text);
}

static void check(struct world *w)
{
    struct arena *arena = arena_create();
    const struct nodes_view view = answer_nodes_view(w->ctl, arena);
    for (size_t i = 0; i < view.nodes.n; i++) {
        assert_true(view.nodes.at[i].cpu_used_milli <= view.nodes.at[i].cpu_milli);
        assert_true(view.nodes.at[i].gpu_used_milli <= view.nodes.at[i].gpus * 1000);
    }
    assert_int_equal(w->fake.doubled, 0);
    arena_destroy(arena);
}

static void random_one(struct world *w, unsigned *seed, uint64_t *jobs, size_t *n)
{
    static const enum ctl_verb verbs[] = { CTL_STOP, CTL_STOP_NOW, CTL_SUSPEND, CTL_RESUME,
                                           CTL_RESUME };
    unsigned what = dice(seed, 20);
    if (what < 4 && *n < 60) {
        submit_random(w, seed);
        if (w->job)
            jobs[(*n)++] = w->job;
    } else if (what == 4 && *n) {
        world_command(w, jobs[dice(seed, (unsigned)*n)], verbs[dice(seed, 5)]);
    } else if (what == 5 && w->fake.agents.n) {
        fake_kill_agent(&w->fake, dice(seed, (unsigned)w->fake.agents.n));
    } else if (what == 6) {
        world_crash(w);
    } else if (what == 7) {
        world_pass(w, 1 + dice(seed, 2000));
    } else {
        world_step(w);
    }
}

static void random_life(unsigned seed)
{
    struct world w;
    uint64_t jobs[64];
    size_t n = 0;
    world_init(&w);
    w.by_attempt = random_fate;
    fate = seed;
    for (int i = 0; i < 400; i++) {
        random_one(&w, &seed, jobs, &n);
        check(&w);
    }
    for (size_t i = 0; i < n; i++)
        world_command(&w, jobs[i], CTL_RESUME);
    for (int i = 0; i < 40; i++)
        world_pass(&w, 30000);
    for (size_t i = 0; i < n; i++)
        if (world_state(&w, jobs[i]) == JOB_SUSPENDED)
            world_command(&w, jobs[i], CTL_STOP);
    world_pass(&w, 600000);
    for (size_t i = 0; i < n; i++) {
        if (!job_state_final(world_state(&w, jobs[i])))
            fail_msg("job %zu is %s: %s (%s)", i, job_state_word(world_state(&w, jobs[i])),
                     world_reason(&w, jobs[i]), world_events(&w, jobs[i]));
        assert_int_equal(world_count(&w, jobs[i], "refused"), 0);
        assert_true(*world_reason(&w, jobs[i]) != '\0');
    }
    assert_true(world_used(&w) == 0);
    assert_int_equal(fake_alive(&w.fake), 0);
    world_fini(&w);
}

static void random_lives(void **state)
{
    const char *given = getenv("SEED");
    (void)state;
    if (given) {
        random_life((unsigned)strtoul(given, NULL, 10));
        return;
    }
    for (unsigned i = 0; i < 6; i++) {
        print_message("seed %u\n", i * 7919u + 1);
        random_life(i * 7919u + 1);
    }
}

static void in_slices_of_two(struct world *w, struct ctl_config *config)
{
    (void)w;
    config->slice = 2;
}

/* Of a job larger than a slice the places are recorded turn by turn, and nothing is started before
 * all of them are. What a crash cut off waits again, at no cost in retries. */
static void cut_off_while_placing(void **state)
{
    struct world w;
    (void)state;
    world_init_with(&w, (struct world_hooks){ .before = in_slices_of_two }, NULL);
    uint64_t job = world_submit(&w, "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\","
                                    "\"replicas\":5,\"resources\":{\"cpu\":1}}}}");
    assert_int_equal(world_state(&w, job), JOB_STARTING);
    assert_int_equal(world_attempts(&w, job), 2);
    assert_int_equal(w.fake.started.n, 0);
    world_crash(&w);
    assert_int_equal(w.fake.started.n, 0);
    world_pass(&w, 1000);
    assert_int_equal(world_state(&w, job), JOB_SUCCEEDED);
    assert_string_equal(world_events(&w, job), "submitted allocated restart requeued allocated "
                                               "started closing succeeded");
    assert_int_equal(world_attempts(&w, job), 2 + 5);
    assert_int_equal(w.fake.started.n, 5);
    assert_int_equal(world_used(&w), 0);
    world_fini(&w);
}

/* No agent is told of a task before all names of hosts are there, however many turns that takes:
 * four slices of two tasks are in one. */
static void hosts_in_slices(void **state)
{
    struct world w;
    (void)state;
    world_init_with(&w, (struct world_hooks){ .before = in_slices_of_two }, NULL);
    uint64_t job =
        world_submit(&w, "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":70,"
                         "\"resources\":{\"cpu\":0,\"memory\":\"0\"}}}}");
    while (!w.fake.hosts && world_step(&w)) {}
    assert_int_equal(w.fake.hosts, 2 * 70); /* w-0 and w-0.j */
    world_run(&w);
    assert_int_equal(world_state(&w, job), JOB_SUCCEEDED);
    assert_int_equal(w.fake.started.n, 70);
    world_fini(&w);
}

/* The hosts of a job are written once, for whatever agents are sent them. */
static void hosts_are_written_once(void **state)
{
    struct world w;
    (void)state;
    world_init(&w);
    uint64_t job =
        world_submit(&w, "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":2,"
                         "\"resources\":{\"cpu\":3,\"memory\":\"1Gi\"}}}}");
    world_run(&w);
    assert_int_equal(world_state(&w, job), JOB_SUCCEEDED);
    assert_int_equal(w.fake.host_launches, 2); /* one on each node */
    assert_int_equal(w.fake.host_texts, 1);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crash_after_every_step), cmocka_unit_test(allocated_but_never_launched),
        cmocka_unit_test(cut_off_while_placing),  cmocka_unit_test(hosts_in_slices),
        cmocka_unit_test(hosts_are_written_once), cmocka_unit_test(random_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
