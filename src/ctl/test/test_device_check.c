/* Devices that tasks have left: what is launched there next waits for a look, and what a look finds
 * taken is given back at no cost. One node with two devices; nobody looks but the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "answer/cluster_views.h"
#include "ctl/node_work.h"
#include "ctl/test/world.h"
#include "inventory/closed_devices.h"
#include "job/gpu.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define NODE "n"
#define TOLD 4u
#define WHY  "device 0 of n: somebody has it"
#define ONE  "{\"name\":\"one\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"gpu\":1}}}}"
#define TWO                                                                                        \
    "{\"name\":\"two\",\"retry\":{\"scope\":\"task\",\"unknown\":1,\"platform\":\"never\","        \
    "\"conflict\":\"never\"},\"roles\":{\"w\":{\"replicas\":2,\"run\":\"x\",\"resources\":"        \
    "{\"gpu\":1}}}}"

struct fixture {
    struct world world; /* first */
    unsigned asked;
    bool nobody_looks;
    uint32_t slice;
    char devices_told[TOLD][16]; /* CUDA_VISIBLE_DEVICES of launched tasks */
    uint32_t files_told[TOLD], told;
    struct gpu_device devices[3];
    struct gpu_report report;
    struct node_spec node;
    int (*start)(struct engine *, const struct launch *, struct err *); /* of the engine */
};

static void on_look(void *arg)
{
    ((struct fixture *)arg)->asked++;
}

static void before(struct world *w, struct ctl_config *config)
{
    struct fixture *f = w->hooked;
    config->nodes = &f->node;
    config->n_nodes = 1;
    config->look = f->nobody_looks ? NULL : on_look;
    config->look_arg = f;
    config->slice = f->slice;
}

static struct fixture *make(bool nobody_looks, uint32_t devices)
{
    static struct fixture f;
    f = (struct fixture){ .nobody_looks = nobody_looks };
    for (uint32_t i = 0; i < devices; i++)
        f.devices[i] = (struct gpu_device){ .number = i,
                                            .minor = i,
                                            .model = "A",
                                            .uuid = "",
                                            .pci = "",
                                            .error = "",
                                            .offered = true,
                                            .slot = i };
    f.report = (struct gpu_report){
        .driver = "", .error = "", .at = f.devices, .n = devices, .n_slots = devices
    };
    f.node = (struct node_spec){ .name = NODE,
                                 .address = "127.0.0.2",
                                 .host = "h",
                                 .cpu_milli = 4000,
                                 .memory = 16ull << 30,
                                 .disk = 1ull << 40,
                                 .gpus = devices,
                                 .gpu_type = "A",
                                 .report = &f.report };
    world_init_with(&f.world, (struct world_hooks){ .before = before }, &f);
    f.world.code_all = FAKE_RUNS;
    return &f;
}

static int setup(void **state)
{
    *state = make(false, 2);
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    assert_int_equal(w->fake.doubled, 0);
    world_fini(w);
    return 0;
}

static uint64_t runs(struct world *w, const char *text)
{
    uint64_t job = world_submit(w, text);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    return job;
}

static void stop(struct world *w, uint64_t job)
{
    world_command(w, job, CTL_STOP);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_STOPPED);
}

static void see(struct world *w, uint32_t device)
{
    ctl_device_seen(w->ctl, NODE, device);
    ctl_turn(w->ctl);
    world_run(w);
}

static void close_device(struct world *w, uint32_t device, const char *why)
{
    ctl_device(w->ctl, NODE, device, *why ? &(struct device_trouble){ .why = why } : NULL);
    ctl_turn(w->ctl);
    world_run(w);
}

static void assert_waits(struct world *w, uint64_t job)
{
    assert_int_equal(world_state(w, job), JOB_STARTING);
    assert_non_null(strstr(world_reason(w, job), "waits until device 0 of n has been looked at"));
}

static void waits_until_seen(void **state)
{
    struct fixture *f = *state;
    struct world *w = &f->world;
    uint64_t first = runs(w, ONE);
    assert_int_equal(f->asked, 0);
    assert_true(ctl_device_left(w->ctl, NODE, 0) == 0);
    assert_true(ctl_device_in_use(w->ctl, NODE, 0) && !ctl_device_in_use(w->ctl, NODE, 1));
    stop(w, first);
    uint64_t left = ctl_device_left(w->ctl, NODE, 0);
    assert_true(left != 0 && ctl_device_left(w->ctl, NODE, 1) == 0);
    assert_int_equal(f->asked, 0); /* nobody needs to know */
    unsigned starts = w->fake.starts;
    uint64_t second = world_submit(w, ONE);
    world_run(w);
    assert_waits(w, second);
    assert_true(f->asked > 0);
    assert_int_equal(w->fake.starts, starts);
    assert_false(ctl_device_in_use(w->ctl, NODE, 0));
    see(w, 1); /* another one */
    assert_waits(w, second);
    see(w, 0);
    assert_int_equal(world_state(w, second), JOB_RUNNING);
    assert_true(ctl_device_in_use(w->ctl, NODE, 0));
    stop(w, second);
    assert_true(ctl_device_left(w->ctl, NODE, 0) > left);
}

static void nobody_looks(void **state)
{
    (void)state;
    struct fixture *f = make(true, 1);
    struct world *w = &f->world;
    stop(w, runs(w, ONE));
    assert_true(ctl_device_left(w->ctl, NODE, 0) == 0);
    stop(w, runs(w, ONE));
    world_fini(w);
}

static void declared_nodes_are_not_looked_at(void **state)
{
    (void)state;
    struct fixture *f = make(false, 1);
    struct world *w = &f->world;
    f->node.report = NULL;
    world_crash(w);
    stop(w, runs(w, ONE));
    stop(w, runs(w, ONE));
    assert_int_equal(f->asked, 0);
    world_fini(w);
}

/* It was given both, and keeps neither. */
static void a_gang_waits_again_as_a_whole(void **state)
{
    struct fixture *f = *state;
    struct world *w = &f->world;
    stop(w, runs(w, ONE));
    unsigned starts = w->fake.starts;
    uint64_t gang = world_submit(w, TWO);
    world_run(w);
    assert_waits(w, gang);
    assert_true(world_used(w) >= 2000);
    close_device(w, 0, WHY);
    assert_int_equal(world_state(w, gang), JOB_QUEUED);
    assert_non_null(strstr(world_reason(w, gang), WHY));
    assert_int_equal(world_used(w), 0);
    assert_int_equal(w->fake.starts, starts);
    assert_int_equal(world_count(w, gang, "restart"), 1);
    close_device(w, 0, "");
    assert_waits(w, gang); /* that it is given out again is not a look */
    see(w, 0);
    see(w, 1); /* which it held */
    assert_int_equal(world_state(w, gang), JOB_RUNNING);
    assert_int_equal(world_count(w, gang, "task.retry"), 0);
}

static int first_fails_once(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index == 0 && attempt == 1 ? 1 : FAKE_RUNS;
}

static void a_task_comes_again_in_its_place_when_seen(void **state)
{
    struct fixture *f = *state;
    struct world *w = &f->world;
    w->by_attempt = first_fails_once;
    uint64_t job = world_submit(w, TWO);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RESTARTING);
    assert_int_equal(world_attempts(w, job), 3);
    assert_int_equal(fake_running(&w->fake), 1);
    assert_true(f->asked > 0);
    see(w, 0);
    see(w, 1);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 3);
}

/* Its only retry is spent on the failure; its peer goes on. */
static void a_task_goes_elsewhere_at_no_cost(void **state)
{
    (void)state;
    struct fixture *f = make(false, 3);
    struct world *w = &f->world;
    w->by_attempt = first_fails_once;
    uint64_t job = world_submit(w, TWO);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RESTARTING);
    uint32_t its = ctl_device_left(w->ctl, NODE, 0) ? 0 : 1;
    close_device(w, its, WHY);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 4);
    assert_int_equal(world_count(w, job, "restart"), 0);
    assert_true(ctl_device_in_use(w->ctl, NODE, 2));
    assert_false(ctl_device_in_use(w->ctl, NODE, its));
    teardown((void *[]){ w });
}

static void a_launch_is_held_over_a_crash(void **state)
{
    struct fixture *f = *state;
    struct world *w = &f->world;
    stop(w, runs(w, ONE));
    uint64_t job = world_submit(w, ONE);
    world_run(w);
    assert_waits(w, job);
    f->asked = 0;
    world_crash(w);
    world_pass(w, 1000);
    assert_waits(w, job);
    assert_true(f->asked > 0);
    see(w, 0);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 1);
}

/* Between two attempts the agent is there: what it knows of the second is not in the records. */
static void so_is_one_in_its_place(void **state)
{
    struct fixture *f = *state;
    struct world *w = &f->world;
    w->by_attempt = first_fails_once;
    uint64_t job = world_submit(w, TWO);
    world_run(w);
    uint32_t its = ctl_device_left(w->ctl, NODE, 0) ? 0 : 1;
    world_crash(w);
    world_pass(w, 1000);
    assert_int_equal(fake_running(&w->fake), 1);
    assert_false(ctl_device_in_use(w->ctl, NODE, its)); /* whatever is in use there counts */
    assert_true(ctl_device_in_use(w->ctl, NODE, 1 - its));
    see(w, 0);
    see(w, 1);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 3);
    assert_true(f->asked > 0);
}

/* Its agent lives on, with what of the second attempt it was never told. */
static void a_task_goes_elsewhere_after_a_crash(void **state)
{
    (void)state;
    struct fixture *f = make(false, 3);
    struct world *w = &f->world;
    w->by_attempt = first_fails_once;
    uint64_t job = world_submit(w, TWO);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_RESTARTING);
    uint32_t its = ctl_device_left(w->ctl, NODE, 0) ? 0 : 1;
    world_crash(w);
    world_pass(w, 1000);
    assert_true(ctl_device_left(w->ctl, NODE, its) != 0);
    close_device(w, its, WHY);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_attempts(w, job), 4);
    assert_int_equal(world_count(w, job, "restart"), 0);
    assert_true(ctl_device_in_use(w->ctl, NODE, 2));
    assert_false(ctl_device_in_use(w->ctl, NODE, its));
    teardown((void *[]){ w });
}

static void what_runs_is_not_launched_again(void **state)
{
    struct world *w = *state;
    uint64_t job = runs(w, TWO);
    world_crash(w);
    world_pass(w, 1000);
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_true(ctl_device_left(w->ctl, NODE, 0) == 0);
    close_device(w, 0, WHY); /* what tasks have they keep */
    assert_int_equal(world_state(w, job), JOB_RUNNING);
    assert_int_equal(world_count(w, job, "task.device"), 1);
    assert_int_equal(world_attempts(w, job), 2);
}

/* A commit that fails: the job comes back from its rows, with the device that was closed under it.
 */
static void what_is_closed_stays_with_its_task(void **state)
{
    struct world *w = *state;
    uint64_t job = runs(w, TWO);
    struct rlimit was, none;
    close_device(w, 0, WHY);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = (struct rlimit){ .rlim_cur = 4096, .rlim_max = was.rlim_max };
    void (*before_it)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    world_command(w, job, CTL_STOP);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, before_it);
    assert_int_not_equal(w->code, ERR_NONE);
    assert_int_equal(answer_stats_view(w->ctl).gpu_used_milli, 2000);
    assert_true(ctl_device_in_use(w->ctl, NODE, 0));
    world_pass(w, 1000);
    stop(w, job);
    assert_int_equal(answer_stats_view(w->ctl).gpu_used_milli, 0);
}

static int start_noting(struct engine *engine, const struct launch *launch, struct err *err)
{
    struct fixture *f = ((struct fake *)(void *)engine)->arg; /* its world */
    for (size_t i = 0; i < launch->n_tasks && f->told < TOLD; i++) {
        const struct launch_task *task = &launch->tasks[i];
        const char *devices = pairs_get(&task->env, "CUDA_VISIBLE_DEVICES");
        f->files_told[f->told] = task->n_gpus ? task->gpus[0] : UINT32_MAX;
        snprintf(f->devices_told[f->told++], sizeof *f->devices_told, "%s",
                 devices ? devices : "none");
    }
    return f->start(engine, launch, err);
}

/* The driver counts anew while a job is launched a task at a time: its number of a device and that
 * of the device's file stay together. */
static void each_launch_looks_up_its_own_devices(void **state)
{
    (void)state;
    struct fixture *f = make(false, 2);
    struct world *w = &f->world;
    f->slice = 1;
    world_crash(w);
    f->start = w->fake.ops.start;
    w->fake.ops.start = start_noting;
    world_submit(w, TWO);
    while (f->told == 0)
        assert_true(world_step(w));
    assert_int_equal(f->told, 1);
    for (uint32_t i = 0; i < 2; i++)
        f->devices[i].number = f->devices[i].minor = 5 + i;
    ctl_devices(w->ctl, NODE, &f->report);
    world_run(w);
    assert_int_equal(f->told, 2);
    assert_string_equal(f->devices_told[0], "0");
    assert_int_equal(f->files_told[0], 0);
    assert_string_equal(f->devices_told[1], "6");
    assert_int_equal(f->files_told[1], 6);
    teardown((void *[]){ w });
}

static void what_waits_can_be_stopped(void **state)
{
    struct world *w = *state;
    stop(w, runs(w, ONE));
    uint64_t job = world_submit(w, ONE);
    world_run(w);
    unsigned starts = w->fake.starts;
    stop(w, job);
    see(w, 0);
    assert_int_equal(w->fake.starts, starts);
    assert_true(world_used(w) == 0);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(waits_until_seen),
        cmocka_unit_test(nobody_looks),
        cmocka_unit_test(declared_nodes_are_not_looked_at),
        T(a_gang_waits_again_as_a_whole),
        T(a_task_comes_again_in_its_place_when_seen),
        cmocka_unit_test(a_task_goes_elsewhere_at_no_cost),
        T(a_launch_is_held_over_a_crash),
        T(so_is_one_in_its_place),
        cmocka_unit_test(a_task_goes_elsewhere_after_a_crash),
        T(what_runs_is_not_launched_again),
        T(what_is_closed_stays_with_its_task),
        T(what_waits_can_be_stopped),
        cmocka_unit_test(each_launch_looks_up_its_own_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
