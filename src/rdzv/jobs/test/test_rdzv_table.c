/* The table without a core: an engine that keeps what launchers are told, a clock that is set by
 * hand, live jobs made here, and a list of the events that come. */
#include "rdzv/jobs/rdzv_table.h"

#include "base/buf.h"
#include "base/mem.h"
#include "dialect/dialect.h"
#include "live/live.h"
#include "text/json.h"
#include "wire/rendezvous.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#define JOB   7u
#define TASKS 2u
#define PAIR                                                                                       \
    "{\"name\":\"pair\",\"roles\":{\"w\":{\"replicas\":2,\"run\":\"b\",\"resources\":{\"cpu\":3}}}}"

struct fix {
    struct engine engine; /* first */
    struct arena *arena;
    struct live *live;
    struct live_job *job;
    struct rdzv_table *table;
    struct buf told[TASKS];
    bool hung_up[TASKS];
    struct buf events; /* their types, a blank behind each */
    uint64_t now, wake_at;
};

static void tell_launcher(struct engine *engine, struct generation of, const char *node,
                          uint32_t channel, const void *bytes, size_t len)
{
    struct fix *f = (struct fix *)engine;
    assert_true(of.job == JOB && of.number == 1 && strcmp(node, "n1") == 0);
    if (bytes)
        buf_add(&f->told[channel], bytes, len);
    else
        f->hung_up[channel] = true;
}

static const struct engine_ops ops = { .name = "test", .tell_launcher = tell_launcher };

static uint64_t now(const void *f)
{
    return ((const struct fix *)f)->now;
}

static uint64_t mono_us(const void *f)
{
    return ((const struct fix *)f)->now * 1000;
}

static void wake(void *f, uint64_t at_ms)
{
    ((struct fix *)f)->wake_at = at_ms;
}

static const struct job_spec *spec(void *f, struct live_job *job)
{
    (void)f;
    return job->spec;
}

static void write_event(void *arg, const struct launcher_event *event, const char *type)
{
    struct fix *f = arg;
    assert_true(event->job == JOB);
    buf_addf(&f->events, "%s ", type);
}

static void make_job(struct fix *f)
{
    const struct job_row row = { .id = JOB,
                                 .number = 1,
                                 .generation = 1,
                                 .tasks = TASKS,
                                 .state = JOB_RUNNING,
                                 .name = "pair",
                                 .owner = "me" };
    struct report report;
    report_init(&report, f->arena);
    f->job = live_add(f->live, &row);
    f->job->spec =
        job_decode(f->arena, json_parse(f->arena, PAIR, strlen(PAIR), 0, &report), &report);
    assert_non_null(f->job->spec);
    live_make_tasks(f->job);
    for (uint32_t i = 0; i < TASKS; i++) {
        struct live_task *task = &f->job->tasks[i];
        task->state = TASK_RUNNING;
        task->attempt = 1;
        task->attempt_state = ATTEMPT_RUNNING;
        task->phase = PHASE_RUNNING;
        task->place.node = "n1";
    }
    live_count_tasks(f->job);
    live_add_agent(f->job, "n1");
}

static int setup(void **state)
{
    static const struct dialects none = { .n_conventions = 0 };
    static struct fix f;
    f = (struct fix){ .engine.ops = &ops, .arena = arena_create(), .live = live_create() };
    f.now = 1000000;
    buf_init(&f.events, 1 << 16);
    for (size_t i = 0; i < TASKS; i++)
        buf_init(&f.told[i], 1 << 20);
    make_job(&f);
    f.table = rdzv_table_create(&(struct rdzv_table_config){ .engine = &f.engine,
                                                             .dialects = &none,
                                                             .live = f.live,
                                                             .server = { .arg = &f,
                                                                         .now = now,
                                                                         .mono_us = mono_us,
                                                                         .wake = wake,
                                                                         .spec = spec,
                                                                         .write = write_event } });
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    rdzv_table_destroy(f->table);
    live_destroy(f->live);
    buf_fini(&f->events);
    for (size_t i = 0; i < TASKS; i++)
        buf_fini(&f->told[i]);
    arena_destroy(f->arena);
    return 0;
}

static void say(struct fix *f, uint32_t index, enum launcher_what what, const struct buf *bytes)
{
    const struct engine_fact fact = { .kind = FACT_LAUNCHER,
                                      .generation = { .job = JOB, .number = 1 },
                                      .node = "n1",
                                      .task = { .index = index },
                                      .attempt = 1,
                                      .launcher = { .channel = index,
                                                    .what = what,
                                                    .bytes = bytes ? bytes->data : NULL,
                                                    .len = bytes ? bytes->len : 0 } };
    rdzv_table_hear(f->table, &fact);
}

static void join(struct fix *f, uint32_t index)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    const struct rdzv_join message = { .member = 100 + index,
                                       .run_id = "1",
                                       .node = "n",
                                       .addr = "127.0.0.2",
                                       .node_rank = index,
                                       .ranks = 2,
                                       .store_port = 5000,
                                       .settings = { .min = 1,
                                                     .max = 2,
                                                     .node_unit = 1,
                                                     .max_restarts = 3,
                                                     .last_call_ms = 30000,
                                                     .join_ms = 600000,
                                                     .exit_barrier_ms = 300000 } };
    rdzv_put(&out, &message);
    say(f, index, LAUNCHER_OPEN, NULL);
    say(f, index, LAUNCHER_DATA, &out);
}

static bool told(const struct fix *f, uint32_t index, enum rdzv_frame kind)
{
    const struct buf *all = &f->told[index];
    size_t used = 0;
    struct rdzv_frame_data frame;
    for (size_t done = 0; rdzv_next(all->data + done, all->len - done, &frame, &used) == 1;
         done += used)
        if (frame.kind == kind)
            return true;
    return false;
}

/* Orders wait for no commit. */
static void two_meet(void **state)
{
    struct fix *f = *state;
    assert_true(rdzv_table_idle(f->table));
    join(f, 0);
    rdzv_table_act(f->table);
    assert_false(told(f, 0, RDZV_FRAME_ROUND));
    join(f, 1);
    rdzv_table_act(f->table);
    assert_true(told(f, 0, RDZV_FRAME_ROUND));
    assert_true(told(f, 1, RDZV_FRAME_ROUND));
    assert_int_equal(rdzv_table_count(f->table), 1);
    assert_false(rdzv_table_done(f->table, f->job, 0));
}

static void events_wait_for_a_commit(void **state)
{
    static const char all[] = "launch.joined launch.joined launch.round ";
    struct fix *f = *state;
    join(f, 0);
    join(f, 1);
    rdzv_table_act(f->table);
    rdzv_table_record(f->table);
    assert_string_equal(buf_str(&f->events), all);
    rdzv_table_undone(f->table);
    buf_clear(&f->events);
    rdzv_table_record(f->table);
    assert_string_equal(buf_str(&f->events), all);
    rdzv_table_committed(f->table);
    buf_clear(&f->events);
    rdzv_table_record(f->table);
    assert_int_equal(f->events.len, 0);
    assert_true(rdzv_table_idle(f->table));
}

static void who_has_ended_is_lost(void **state)
{
    struct fix *f = *state;
    join(f, 0);
    join(f, 1);
    rdzv_table_record(f->table);
    rdzv_table_committed(f->table);
    buf_clear(&f->events);
    f->job->tasks[1].attempt_state = ATTEMPT_FAILED;
    rdzv_table_follow(f->table, f->job);
    rdzv_table_act(f->table);
    rdzv_table_record(f->table);
    assert_string_equal(buf_str(&f->events), "launch.lost ");
    assert_true(told(f, 0, RDZV_FRAME_STOP));
    rdzv_table_forget(f->table, JOB, 1);
    assert_int_equal(rdzv_table_count(f->table), 1);
    rdzv_table_forget(f->table, JOB, 2);
    assert_int_equal(rdzv_table_count(f->table), 0);
}

static void who_speaks_nonsense_is_hung_up_on(void **state)
{
    struct fix *f = *state;
    AUTO_BUF struct buf bad = BUF_INIT(64);
    buf_puts(&bad, "GET / HTTP/1.1\r\n\r\n");
    say(f, 0, LAUNCHER_OPEN, NULL);
    say(f, 0, LAUNCHER_DATA, &bad);
    rdzv_table_act(f->table);
    assert_true(f->hung_up[0]);
    assert_false(f->hung_up[1]);
}

/* Its agent was heard again over another connection: it has a while to come back. */
static void the_server_is_woken_for_who_is_cut_off(void **state)
{
    struct fix *f = *state;
    const struct engine_fact joined = { .kind = FACT_AGENT_JOINED,
                                        .generation = { .job = JOB, .number = 1 },
                                        .node = "n1" };
    join(f, 0);
    join(f, 1);
    rdzv_table_act(f->table);
    rdzv_table_hear(f->table, &joined);
    assert_true(f->wake_at > f->now);
    f->now = f->wake_at;
    rdzv_table_tick(f->table);
    rdzv_table_record(f->table);
    assert_non_null(strstr(buf_str(&f->events), "launch.lost "));
}

int main(void)
{
#define TEST(of) cmocka_unit_test_setup_teardown(of, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(two_meet),
        TEST(events_wait_for_a_commit),
        TEST(who_has_ended_is_lost),
        TEST(who_speaks_nonsense_is_hung_up_on),
        TEST(the_server_is_woken_for_who_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
