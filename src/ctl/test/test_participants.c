/* Each of those who take part in a turn, in a turn whose commit fails: what it has in memory is as
 * before, also after the next commit that succeeds; what cannot be asked for again happens then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "base/file.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/core.h"
#include "ctl/node_work.h"
#include "ctl/participants.h"
#include "depend/array.h"
#include "learn/run_times.h"
#include "wire/rendezvous.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define RUNS "{\"name\":\"runs\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":1}}}}"
#define ARRAY                                                                                      \
    "{\"name\":\"a\",\"array\":3,\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":4}}}}"

struct part {
    struct world w;
    struct arena *arena;
    struct rlimit limit;
    uint64_t job, ended, array;
};

static void on_answer(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    (void)answer;
}

/* As many jobs of that name have run as are needed to say how long the next one runs, but one. */
static int setup(void **state)
{
    static struct part p;
    p = (struct part){ .arena = arena_create() };
    world_init(&p.w);
    for (unsigned i = 0; i + 1 < RUN_TIMES_NAME; i++) {
        p.ended = world_submit(&p.w, RUNS);
        world_run(&p.w);
    }
    p.w.code_all = FAKE_RUNS;
    p.job = world_submit_as(
        &p.w, &(struct submission){ .owner = "bob", .text = RUNS, .len = strlen(RUNS) });
    p.array = world_submit(&p.w, ARRAY);
    world_run(&p.w);
    world_pass(&p.w, 3600000);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &p.limit), 0);
    *state = &p;
    return 0;
}

static int teardown(void **state)
{
    struct part *p = *state;
    setrlimit(RLIMIT_FSIZE, &p->limit);
    world_fini(&p->w);
    arena_destroy(p->arena);
    return 0;
}

static void fill_disk(struct part *p, bool full)
{
    struct rlimit limit = p->limit;
    if (full)
        limit.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static struct job_row row_of(struct part *p, uint64_t job)
{
    struct job_row row;
    assert_int_equal(store_get_job(p->w.store, p->arena, job, &row, NULL), 1);
    return row;
}

/* Is there an object of that kind and name with that in its text, in the records? */
static bool has_object(struct part *p, const char *kind, const char *name, const char *text)
{
    struct object_row *rows;
    size_t n;
    bool found = false;
    const struct object_row asked = { .kind = kind };
    assert_int_equal(store_objects(p->w.store, p->arena, &asked, &rows, &n, NULL), 0);
    for (size_t i = 0; i < n; i++)
        found = found || (strcmp(rows[i].name, name) == 0 && strstr(rows[i].spec, text));
    return found;
}

/* ---- what each of them does, and whether it is done ---- */

static void end_job(struct part *p)
{
    p->w.code_all = 0;
    for (int i = 0; i < 20; i++)
        world_step(&p->w);
    p->w.code_all = FAKE_RUNS;
}

static bool job_is_over(struct part *p)
{
    return !live_find(p->w.ctl->live, p->job);
}

/* One launcher that meets nobody else: its round begins at once. */
static void meet(struct part *p)
{
    struct fake *fake = &p->w.fake;
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);
    const struct rdzv_join join = { .member = 100,
                                    .run_id = "1",
                                    .node = "n",
                                    .addr = "127.0.0.2",
                                    .ranks = 1,
                                    .store_port = 5000,
                                    .settings = { .min = 1,
                                                  .max = 1,
                                                  .node_unit = 1,
                                                  .max_restarts = 3,
                                                  .last_call_ms = 30000,
                                                  .join_ms = 600000,
                                                  .exit_barrier_ms = 300000 } };
    rdzv_put(&out, &join);
    struct engine_fact fact = { .kind = FACT_LAUNCHER,
                                .generation = { .job = p->job, .number = 1 },
                                .node = live_find(p->w.ctl->live, p->job)->tasks[0].place.node,
                                .attempt = 1,
                                .launcher = { .channel = 7, .what = LAUNCHER_OPEN } };
    fake->base.sink.fact(fake->base.sink.arg, &fact);
    fact.launcher = (struct launcher_input){
        .channel = 7, .what = LAUNCHER_DATA, .bytes = out.data, .len = out.len
    };
    fake->base.sink.fact(fake->base.sink.arg, &fact);
    world_run(&p->w);
}

static bool round_is_told(struct part *p)
{
    return world_count(&p->w, p->job, "launch.round") == 1;
}

static void delete_ended(struct part *p)
{
    AUTO_FREE char *dir =
        mem_printf("%s/%llu", p->w.runs, (unsigned long long)row_of(p, p->ended).number);
    assert_true(file_is_dir(dir));
    world_command(&p->w, p->ended, CTL_DELETE);
}

/* Only two jobs and the array's members have directories then. */
static bool directory_is_gone(struct part *p)
{
    AUTO_FREE char *dir = mem_printf("%s/%u", p->w.runs, RUN_TIMES_NAME - 1);
    return !file_is_dir(dir);
}

static void add_user(struct part *p)
{
    const struct user_change ask = {
        .by = p->w.ctl->admin, .name = "alice", .create = true, .set_role = true, .role = ROLE_USER
    };
    ctl_user_put(p->w.ctl, &ask, on_answer, NULL);
    ctl_turn(p->w.ctl);
}

static bool user_is_known(struct part *p)
{
    struct arena *arena = arena_create();
    bool known = show_user(p->w.ctl->accounts, arena, p->w.ctl->admin, "alice") != NULL;
    arena_destroy(arena);
    return known;
}

static void declare(struct part *p)
{
    static const char text[] = "kind: quota\nname: a\n";
    const struct declaration ask = { .owner = "root", .text = text, .len = strlen(text) };
    ctl_declare(p->w.ctl, &ask, on_answer, NULL);
    ctl_turn(p->w.ctl);
}

static bool queue_is_declared(struct part *p)
{
    return queues_position(p->w.ctl->queues, "a") != queues_position(p->w.ctl->queues, NULL);
}

static void drain(struct part *p)
{
    ctl_node_command(p->w.ctl, "n1", true, on_answer, NULL);
    ctl_turn(p->w.ctl);
}

static bool node_is_drained(struct part *p)
{
    return cluster_node(p->w.ctl->cluster, cluster_find(p->w.ctl->cluster, "n1")).drained;
}

/* Nobody else is this job's owner: no other turn writes that row. */
static bool usage_is_written(struct part *p)
{
    return has_object(p, "usage", "default/bob", "usage") &&
           !has_object(p, "usage", "default/bob", "\"usage\":\"0\"");
}

/* As in the turn in which a job of that name ends, with something to commit. */
static void learn_run_time(struct part *p)
{
    const struct job_row row = row_of(p, p->ended);
    run_times_ended(p->w.ctl->run_times, &row);
    world_command(&p->w, p->array, CTL_SUSPEND);
}

static bool run_time_is_known(struct part *p)
{
    struct run_samples samples;
    const struct job_row row = row_of(p, p->ended);
    return run_times_find(p->w.ctl->run_times, &row, &samples) && samples.n == RUN_TIMES_NAME;
}

static void set_secret(struct part *p)
{
    const struct secret_change ask = {
        .by = p->w.ctl->admin, .name = "token", .value = "abc", .len = 3
    };
    ctl_secret_put(p->w.ctl, &ask, on_answer, NULL);
    world_run(&p->w);
}

static bool secret_is_kept(struct part *p)
{
    const struct secret_user user = { .name = p->w.ctl->admin };
    return has_secret(p->w.ctl->accounts, &user, "token");
}

static void submit_other(struct part *p)
{
    world_submit(&p->w, "{\"name\":\"o\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":3,"
                        "\"resources\":{\"cpu\":0.321}}}}");
}

static bool shape_is_learnt(struct part *p)
{
    return has_object(p, "mix", "mix", "321") || has_object(p, "mix", "last", "321");
}

static void suspend_array(struct part *p)
{
    world_command(&p->w, p->array, CTL_SUSPEND);
}

static bool array_is_suspended(struct part *p)
{
    const struct live_array *array = array_find(p->w.ctl->arrays, p->array);
    return array->counts[JOB_SUSPENDED] + array->counts[JOB_STOPPING] > 0 ||
           array->row.state == JOB_SUSPENDED;
}

static void suspend_job(struct part *p)
{
    world_command_as(&p->w, "bob", p->job, CTL_SUSPEND);
}

static bool job_is_suspended(struct part *p)
{
    return live_closing(live_find(p->w.ctl->live, p->job)) ||
           live_find(p->w.ctl->live, p->job)->row.state == JOB_SUSPENDED;
}

enum after { LOST, KEPT }; /* by the time that there is room again: to be asked for again, or not */
static const struct how {
    const char *name;
    void (*change)(struct part *);
    bool (*done)(struct part *);
    enum after after;
} hows[] = {
    { "facts", end_job, job_is_over, KEPT },
    { "launchers", meet, round_is_told, KEPT },
    { "deleted jobs", delete_ended, directory_is_gone, LOST },
    { "accounts", add_user, user_is_known, LOST },
    { "secrets", set_secret, secret_is_kept, LOST },
    { "catalogue", declare, queue_is_declared, LOST },
    { "nodes", drain, node_is_drained, LOST },
    { "queues", end_job, usage_is_written, KEPT },
    { "run times", learn_run_time, run_time_is_known, LOST },
    { "packing", submit_other, shape_is_learnt, KEPT },
    { "arrays", suspend_array, array_is_suspended, LOST },
    { "jobs", suspend_job, job_is_suspended, LOST },
};

static const struct how *how_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(hows); i++)
        if (strcmp(hows[i].name, name) == 0)
            return &hows[i];
    fail_msg("nothing makes %s fail", name);
    return NULL;
}

static void fails(struct part *p, const struct how *how)
{
    uint64_t failed = p->w.ctl->counters.commits_failed;
    if (how->done(p))
        fail_msg("%s: done before", how->name);
    fill_disk(p, true);
    how->change(p);
    fill_disk(p, false);
    if (p->w.ctl->counters.commits_failed == failed)
        fail_msg("%s: no commit failed", how->name);
    if (how->done(p))
        fail_msg("%s: done by a commit that failed", how->name);
    world_pass(&p->w, 5000); /* there is room again, and time for what was kept */
    ctl_node_command(p->w.ctl, "n2", true, on_answer, NULL); /* a commit that succeeds */
    world_run(&p->w);
    if (how->done(p) != (how->after == KEPT))
        fail_msg("%s: %s", how->name, how->after == KEPT ? "was lost" : "done after all");
    if (how->after == LOST)
        how->change(p);
    world_run(&p->w);
    if (!how->done(p))
        fail_msg("%s: cannot be done", how->name);
}

static void each_that_takes_part_bears_a_failed_commit(void **state)
{
    (void)state;
    size_t n;
    const struct participant *all = participants(&n);
    assert_int_equal(n, ARRAY_LEN(hows));
    for (size_t i = 0; i < n; i++) {
        void *p;
        setup(&p);
        fails(p, how_of(all[i].name));
        teardown(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_that_takes_part_bears_a_failed_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
