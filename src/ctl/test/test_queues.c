/* Queues in a running core: declarations that replace settings, usage that halves, admission that
 * refuses what can never start. A restart comes to the same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "answer/cluster_views.h"
#include "ctl/test/world.h"
#include "queue/test/quota.h"

#include "answer/free_devices.h"
#include "base/mem.h"
#include "ctl/catalogue_work.h"
#include "ctl/core.h"
#include "ctl/node_work.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define HOUR 3600000ull
#define WEEK (7 * 24 * HOUR)

/* ---- a running core ---- */

static int setup(void **state)
{
    static struct world w;
    world_init(&w);
    w.code_all = FAKE_RUNS;
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world_fini(*state);
    return 0;
}

struct said {
    struct err err;
    char problem[300];
};

static void on_said(void *arg, const struct ctl_answer *answer)
{
    struct said *said = arg;
    said->err = answer->err ? *answer->err : (struct err){ 0 };
    snprintf(said->problem, sizeof said->problem, "%s",
             answer->report && answer->report->n ? answer->report->at[0].what : "");
}

static struct said declare(struct world *w, const char *text)
{
    struct said said = { 0 };
    struct declaration ask = { .owner = "root", .text = text, .len = strlen(text) };
    ctl_declare(w->ctl, &ask, on_said, &said);
    ctl_turn(w->ctl);
    return said;
}

static struct said undeclare(struct world *w, enum entry_kind kind, const char *name)
{
    struct said said = { 0 };
    ctl_undeclare(w->ctl, "root", kind, name, on_said, &said);
    ctl_turn(w->ctl);
    return said;
}

static uint64_t submit(struct world *w, const char *owner, const char *queue_name, unsigned gpus)
{
    char text[300];
    snprintf(text, sizeof text,
             "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"gpu\":%u}}}}", gpus);
    uint64_t job = world_submit_as(
        w, &(struct submission){
               .owner = owner, .text = text, .len = strlen(text), .queue = queue_name });
    world_run(w);
    return job;
}

static uint64_t usage(struct world *w, const char *queue_name, const char *owner)
{
    uint32_t user =
        queues_user(w->ctl->queues, queues_position(w->ctl->queues, queue_name), owner, w->now);
    return queues_usage(w->ctl->queues, user, w->now);
}

static void near(uint64_t is, uint64_t wanted, uint64_t by)
{
    if (is + by < wanted || is > wanted + by)
        fail_msg("%llu is not within %llu of %llu", (unsigned long long)is, (unsigned long long)by,
                 (unsigned long long)wanted);
}

static void a_declaration_is_taken_whole_or_refused(void **state)
{
    struct world *w = *state;
    struct said said = declare(w, Q "a\nguaranteed: {gpu: 2}\n---\n" Q "b\nguaranteed: {gpu: 3}\n");
    assert_int_equal(said.err.code, ERR_INPUT);
    assert_string_equal(said.problem, "queues are guaranteed 5 gpu together (a 2 gpu, b 3 gpu), "
                                      "and the cluster has 4 gpu");
    assert_string_equal(
        queues_specs(w->ctl->queues, &(size_t){ 0 })[queues_position(w->ctl->queues, "a")].name,
        "default");
    assert_int_equal(declare(w, Q "a\nguaranteed: {gpu: 2}\n---\n" Q "b\nparent: a\n").err.code, 0);
    assert_int_equal(undeclare(w, ENTRY_QUOTA, "a").err.code, ERR_CONFLICT);
    assert_non_null(catalogue_find(core_catalogue(w->ctl), ENTRY_QUOTA, "a"));
    world_crash(w);
    size_t n;
    const struct queue_spec *specs = queues_specs(w->ctl->queues, &n);
    assert_int_equal(n, 3);
    assert_true(specs[queues_position(w->ctl->queues, "a")].sure.gpu_milli == 2000);
    assert_int_equal(undeclare(w, ENTRY_QUOTA, "b").err.code, 0);
    assert_int_equal(undeclare(w, ENTRY_QUOTA, "a").err.code, 0);
    queues_specs(w->ctl->queues, &n);
    assert_int_equal(n, 1);
}

static struct queues_view all_queues(struct world *w, struct arena *arena)
{
    struct queues_view view;
    assert_int_equal(answer_queues_view(w->ctl, arena, NULL, NULL, &view, NULL), 0);
    return view;
}

static void lost_nodes_refuse_nothing_that_was_there(void **state)
{
    struct world *w = *state;
    assert_int_equal(declare(w, Q "a\nguaranteed: {gpu: 4}\n").err.code, 0);
    w->n_nodes = 1;
    world_crash(w);
    assert_int_equal(declare(w, Q "b\n").err.code, 0);
    assert_int_equal(declare(w, Q "b\nguaranteed: {gpu: 1}\n").err.code, ERR_INPUT);
    struct arena *arena = arena_create();
    const struct words warnings = all_queues(w, arena).warnings;
    assert_true(warnings.n > 0);
    assert_string_equal(warnings.at[0],
                        "queue \"a\" is guaranteed 4 gpu, and the cluster has 2 gpu");
    arena_destroy(arena);
}

static void drained_nodes_are_warned_of(void **state)
{
    struct world *w = *state;
    struct said said;
    assert_int_equal(declare(w, Q "a\nguaranteed: {gpu: 3}\n").err.code, 0);
    ctl_node_command(w->ctl, "n2", true, on_said, &said);
    ctl_turn(w->ctl);
    struct arena *arena = arena_create();
    const struct words warnings = all_queues(w, arena).warnings;
    assert_true(warnings.n > 0);
    assert_non_null(
        strstr(warnings.at[0], "queues are guaranteed 3 gpu, and usable nodes have 2 gpu"));
    arena_destroy(arena);
}

static void what_can_never_start_is_refused(void **state)
{
    struct world *w = *state;
    assert_int_equal(declare(w, Q "a\nmaximum: {gpu: 1}\n---\n" Q "b\nparent: a\n---\n" Q
                                  "c\nuser: {gpu: 50%}\n")
                         .err.code,
                     0);
    assert_int_equal(submit(w, "ada", "b", 2), 0);
    assert_non_null(strstr(w->what, "asks for 2 gpu and can never start in \"b\": the maximum of "
                                    "\"a\" is 1 gpu"));
    assert_int_equal(submit(w, "ada", "a", 2), 0);
    assert_non_null(strstr(w->what, "the maximum of this queue is 1 gpu"));
    assert_int_equal(world_submit(w, "{\"name\":\"j\",\"queue\":\"c\",\"roles\":{\"w\":{"
                                     "\"replicas\":3,\"run\":\"x\",\"resources\":{\"gpu\":1}}}}"),
                     0);
    assert_non_null(strstr(w->what, "asks for 3 gpu, and a user has at most 2 gpu of \"c\""));
    assert_true(submit(w, "ada", "b", 1) != 0);
}

static void who_waits_for_its_own_user_starts_when_that_job_is_gone(void **state)
{
    struct world *w = *state;
    assert_int_equal(declare(w, Q "a\nuser: {gpu: 1}\n").err.code, 0);
    uint64_t first = submit(w, "ada", "a", 1), second = submit(w, "ada", "a", 1);
    assert_int_equal(world_state(w, second), JOB_QUEUED);
    world_command(w, first, CTL_STOP);
    world_run(w);
    assert_int_equal(world_state(w, second), JOB_RUNNING);
    uint64_t third = submit(w, "ada", "a", 1);
    assert_int_equal(world_state(w, third), JOB_QUEUED);
    world_command(w, second, CTL_SUSPEND);
    world_run(w);
    assert_int_equal(world_state(w, third), JOB_RUNNING);
}

/* Its places are free before its agents are gone, and so is its share: who only borrows would start
 * in between, and be ended for the next of the queue at once. */
static void a_share_is_free_with_its_places(void **state)
{
    struct world *w = *state;
    assert_int_equal(declare(w, Q "a\nguaranteed: {gpu: 4}\n---\n" Q "b\n").err.code, 0);
    uint64_t first = submit(w, "ada", "a", 2), second = submit(w, "ada", "a", 2);
    uint64_t borrows = submit(w, "eve", "b", 2), next = submit(w, "ada", "a", 2);
    assert_int_equal(world_state(w, second), JOB_RUNNING);
    assert_int_equal(world_state(w, next), JOB_QUEUED);
    world_command(w, first, CTL_STOP);
    world_run(w);
    assert_int_equal(world_state(w, next), JOB_RUNNING);
    assert_int_equal(world_state(w, borrows), JOB_QUEUED);
    assert_int_equal(world_attempts(w, borrows), 0);
}

static void a_workspace_leads_to_its_queue(void **state)
{
    struct world *w = *state;
    assert_non_null(strstr(declare(w, "kind: workspace\nname: team\nqueue: a\n").problem,
                           "queue \"a\" is not known here"));
    assert_int_equal(declare(w, Q "a\n---\nkind: workspace\nname: team\nqueue: a\n").err.code, 0);
    static const char text[] = "{\"name\":\"j\",\"project\":\"team\",\"roles\":{\"w\":{\"run\":"
                               "\"x\"}}}";
    uint64_t own = world_submit(w, text);
    struct submission ask = {
        .owner = "ada", .text = text, .len = sizeof text - 1, .queue = "default"
    };
    uint64_t other = world_submit_as(w, &ask);
    assert_string_equal(live_find(w->ctl->live, own)->row.queue, "a");
    assert_string_equal(live_find(w->ctl->live, other)->row.queue, "default");
    struct said said = undeclare(w, ENTRY_QUOTA, "a");
    assert_string_equal(said.err.what, "jobs of workspace \"team\" go to queue \"a\"");
    assert_int_equal(undeclare(w, ENTRY_WORKSPACE, "team").err.code, 0);
    assert_int_equal(undeclare(w, ENTRY_QUOTA, "a").err.code, 0);
}

/* ---- what users had ---- */

static void usage_is_share_times_hours(void **state)
{
    struct world *w = *state;
    assert_int_equal(usage(w, "default", "ada"), 0);
    uint64_t job = submit(w, "ada", NULL, 1); /* a quarter of the devices */
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    world_pass(w, HOUR);
    near(usage(w, "default", "ada"), 250000, 1000);
    assert_int_equal(usage(w, "default", "bob"), 0);
    submit(w, "ada", NULL, 2);
    world_pass(w, HOUR);
    near(usage(w, "default", "ada"), 1000000, 5000);
    world_command(w, job, CTL_STOP_NOW);
    world_run(w);
    world_pass(w, WEEK);
    /* Held for long, half the cluster weighs 0.5 times half_life / ln 2 hours. */
    near(usage(w, "default", "ada"), 500000 + 60592000, 50000);
}

static void a_restart_orders_the_same(void **state)
{
    struct world *w = *state;
    uint64_t stopped = submit(w, "ada", NULL, 1);
    world_pass(w, HOUR);
    submit(w, "bob", NULL, 2);
    world_pass(w, 20 * 60000);
    world_command(w, stopped, CTL_STOP_NOW);
    world_run(w);
    world_pass(w, 10 * 60000);
    uint64_t ada = usage(w, "default", "ada"), bob = usage(w, "default", "bob");
    assert_true(ada > 300000 && bob > 200000);
    world_crash(w);
    assert_true(usage(w, "default", "ada") == ada);
    assert_true(usage(w, "default", "bob") == bob); /* its job went on */
    world_run(w);
    assert_true(usage(w, "default", "bob") == bob);
    w->now += HOUR; /* nobody was there */
    world_crash(w);
    near(usage(w, "default", "bob"), bob + 500000, 5000);
    assert_true(usage(w, "default", "ada") < ada);
}

static void time_alone_writes_nothing(void **state)
{
    struct world *w = *state;
    submit(w, "ada", NULL, 1);
    world_pass(w, 60000);
    uint64_t commits = w->ctl->counters.commits;
    world_pass(w, 5 * HOUR);
    assert_int_equal(w->ctl->counters.commits, commits);
    assert_true(usage(w, "default", "ada") > 1200000);
}

static int first_task_ends(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job, (void)role, (void)attempt;
    return index == 0 ? 0 : FAKE_RUNS;
}

/* A task that is over gives its devices back, and is not charged for any more. */
static void only_what_is_held_is_charged(void **state)
{
    struct world *w = *state;
    w->by_attempt = first_task_ends;
    uint64_t job = world_submit(w, "{\"name\":\"j\",\"roles\":{\"w\":{\"replicas\":2,\"run\":\"x\","
                                   "\"resources\":{\"gpu\":1}}}}");
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_used(w), 1000);
    uint32_t ada =
        queues_user(w->ctl->queues, queues_position(w->ctl->queues, NULL), "ada", w->now);
    assert_int_equal(queues_user_at(w->ctl->queues, ada).held.gpu_milli, 1000);
    world_pass(w, HOUR);
    near(usage(w, "default", "ada"), 250000, 1000);
    world_crash(w);
    world_run(w);
    ada = queues_user(w->ctl->queues, queues_position(w->ctl->queues, NULL), "ada", w->now);
    assert_int_equal(queues_user_at(w->ctl->queues, ada).held.gpu_milli, 1000);
    world_command(w, job, CTL_STOP_NOW);
    world_run(w);
    assert_int_equal(queues_user_at(w->ctl->queues, ada).held.gpu_milli, 0);
}

/* The row of that turn is lost, and written with the next one that gets through. */
static void a_full_disk_loses_no_usage(void **state)
{
    struct world *w = *state;
    struct rlimit was, none;
    uint64_t job = submit(w, "ada", NULL, 2);
    world_pass(w, HOUR);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    world_command(w, job, CTL_STOP_NOW);
    assert_int_not_equal(w->code, ERR_NONE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    near(usage(w, "default", "ada"), 500000, 2000);
    world_pass(w, HOUR); /* it was not stopped */
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    near(usage(w, "default", "ada"), 1000000, 5000);
    world_command(w, job, CTL_STOP_NOW);
    world_run(w);
    uint64_t before = usage(w, "default", "ada");
    world_crash(w);
    assert_true(usage(w, "default", "ada") == before);
    world_pass(w, WEEK);
    near(usage(w, "default", "ada"), before / 2, 100);
}

/* Each user's figures, and so who comes before whom, are the same after a kill. */
static void many_users_come_back_in_order(void **state)
{
    enum { USERS = 40 };
    struct world *w = *state;
    uint64_t had[USERS];
    char owner[16];
    assert_int_equal(declare(w, Q "a\n").err.code, 0);
    for (int i = 0; i < USERS; i++) {
        snprintf(owner, sizeof owner, "u%d", (i * 7) % USERS);
        uint64_t job = submit(w, owner, i % 2 ? "a" : NULL, 1);
        world_pass(w, 1000 * (1 + (uint64_t)i * (uint64_t)i));
        world_command_as(w, owner, job, CTL_STOP_NOW);
        world_run(w);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < USERS; i++) {
            snprintf(owner, sizeof owner, "u%d", (i * 7) % USERS);
            uint64_t now = usage(w, i % 2 ? "a" : "default", owner);
            assert_true(pass == 0 || now == had[i]);
            assert_true(i == 0 || pass == 0 || now > had[0]);
            had[i] = now;
        }
        world_crash(w);
    }
    w->now += 100 * WEEK; /* what nobody has any more is forgotten */
    world_crash(w);
    assert_int_equal(queues_user_count(w->ctl->queues), 0);
}

static void users_are_dense_and_stay(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    uint32_t ada = queues_user(w->ctl->queues, 0, "ada", w->now),
             bob = queues_user(w->ctl->queues, 0, "bob", w->now);
    assert_true(ada == 0 && bob == 1);
    assert_int_equal(declare(w, Q "a\n---\n" Q "b\n").err.code, 0);
    uint32_t other =
        queues_user(w->ctl->queues, queues_position(w->ctl->queues, "b"), "ada", w->now);
    assert_int_equal(other, 2);
    assert_int_equal(
        queues_user(w->ctl->queues, queues_position(w->ctl->queues, "default"), "ada", w->now),
        ada);
    const struct sched_job jobs[] = {
        { .queue = queues_position(w->ctl->queues, "default"), .user = ada },
        { .queue = queues_position(w->ctl->queues, "b"), .user = other },
    };
    const struct sched_snapshot asked = { .jobs = jobs, .n_jobs = ARRAY_LEN(jobs) };
    const struct sched_user *users = queues_users(w->ctl->queues, arena, &asked, w->now);
    assert_int_equal(queues_user_count(w->ctl->queues), 3);
    assert_int_equal(users[ada].queue, jobs[0].queue);
    assert_int_equal(users[other].queue, jobs[1].queue);
    arena_destroy(arena);
}

/* ---- answers ---- */

static const struct queue_view *queue_in(const struct queues_view *all, const char *name)
{
    for (size_t i = 0; i < all->queues.n; i++)
        if (strcmp(all->queues.at[i].name, name) == 0)
            return &all->queues.at[i];
    fail_msg("no queue %s", name);
    return NULL;
}

static void the_tree_says_who_uses_what(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    assert_int_equal(declare(w, Q "p\nguaranteed: {gpu: 2}\n---\n" Q
                                  "a\nparent: p\nguaranteed: {gpu: 1}\nuser: {gpu: 3}\n")
                         .err.code,
                     0);
    submit(w, "ada", "a", 2);
    submit(w, "bob", "default", 1);
    uint64_t waits = submit(w, "ada", "a", 2);
    assert_int_equal(world_state(w, waits), JOB_QUEUED);
    const struct queues_view all = all_queues(w, arena);
    const struct queue_view *a = queue_in(&all, "a"), *p = queue_in(&all, "p");
    assert_int_equal(p->used.gpu_milli, 2000);
    assert_int_equal(p->borrowed.gpu_milli, 0);
    assert_int_equal(a->borrowed.gpu_milli, 0); /* p covers it */
    assert_int_equal(queue_in(&all, "default")->borrowed.gpu_milli, 1000);
    assert_true(a->running == 1 && a->waiting == 1);
    assert_int_equal(a->states[JOB_QUEUED], 1);
    assert_int_equal(a->first->number, 3);
    assert_true(*a->first->reason != '\0');
    assert_null(a->users.at);
    world_pass(w, HOUR);
    struct queues_view one;
    struct err err;
    assert_int_equal(answer_queues_view(w->ctl, arena, NULL, "a", &one, &err), 0);
    const struct queue_user_view *user = &queue_in(&one, "a")->users.at[0];
    assert_string_equal(user->name, "ada");
    assert_int_equal(user->held.gpu_milli, 2000);
    assert_int_equal(user->cap.gpu_milli, 3000);
    near(user->usage, 500000, 2000);
    assert_int_equal(answer_queues_view(w->ctl, arena, NULL, "defautl", &one, &err), -1);
    assert_string_equal(err.hint, "default");
    arena_destroy(arena);
}

static void what_is_free_comes_in_blocks(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    const struct contents core = ctl_contents(w->ctl);
    struct free_sum sum = free_sum(&core, free_nodes(&core, arena));
    assert_true(sum.idle == 4 && sum.blocks[2] == 2 && sum.blocks[3] == 0);
    world_submit(w,
                 "{\"name\":\"s\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"gpu\":0.5}}}}");
    world_run(w);
    struct free_node *nodes = free_nodes(&core, arena);
    sum = free_sum(&core, nodes);
    assert_int_equal(sum.gpu_milli, 3500);
    assert_true(sum.idle == 3 && sum.blocks[2] == 1 && sum.blocks[3] == 1);
    assert_true(nodes[0].idle + nodes[1].idle == 3);
    arena_destroy(arena);
}

static void plans_are_timed_in_bins(void **state)
{
    struct world *w = *state;
    struct counters before = w->ctl->counters;
    counters_plan(w->ctl, 100);
    counters_plan(w->ctl, 101);
    counters_plan(w->ctl, 5000000);
    const struct counters *now = &w->ctl->counters;
    assert_int_equal(now->plans_timed - before.plans_timed, 3);
    assert_int_equal(now->plan_us_sum - before.plan_us_sum, 5000201);
    assert_int_equal(now->plan_us_last, 5000000);
    assert_int_equal(now->plan_bins[0] - before.plan_bins[0], 1);
    assert_int_equal(now->plan_bins[1] - before.plan_bins[1], 1);
    assert_int_equal(now->plan_bins[PLAN_BINS - 1] - before.plan_bins[PLAN_BINS - 1], 1);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_declaration_is_taken_whole_or_refused),
        IN_WORLD(only_what_is_held_is_charged),
        IN_WORLD(lost_nodes_refuse_nothing_that_was_there),
        IN_WORLD(drained_nodes_are_warned_of),
        IN_WORLD(what_can_never_start_is_refused),
        IN_WORLD(who_waits_for_its_own_user_starts_when_that_job_is_gone),
        IN_WORLD(a_share_is_free_with_its_places),
        IN_WORLD(a_workspace_leads_to_its_queue),
        IN_WORLD(usage_is_share_times_hours),
        IN_WORLD(a_restart_orders_the_same),
        IN_WORLD(time_alone_writes_nothing),
        IN_WORLD(a_full_disk_loses_no_usage),
        IN_WORLD(many_users_come_back_in_order),
        IN_WORLD(users_are_dense_and_stay),
        IN_WORLD(the_tree_says_who_uses_what),
        IN_WORLD(what_is_free_comes_in_blocks),
        IN_WORLD(plans_are_timed_in_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
