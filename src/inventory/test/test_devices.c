/* Devices of one node and the tasks of one job: who is told that one is closed, what waits for a
 * look at one that was left, and by which names programs know them. No core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "inventory/closed_devices.h"
#include "inventory/left_devices.h"
#include "inventory/task_devices.h"
#include "live/live.h"
#include "sched/cluster.h"
#include "text/json.h"

#include "base/mem.h"

#include <string.h>

#define JOB                                                                                        \
    "{\"name\":\"j\",\"roles\":{\"w\":{\"replicas\":2,\"run\":\"x\",\"resources\":{\"gpu\":1}}}}"
#define WHY "device 0 of n: it fails"

struct fix {
    struct arena *arena;
    struct live *live;
    struct live_job *job;
    struct cluster *cluster;
    struct closed_devices *closed;
    struct left_devices *left;
    struct gpu_device devices[2];
    struct gpu_report report;
    uint32_t gpus[2][1];
    unsigned told, touched, looks;
    uint32_t flat;
};

static void on_holds(void *arg, struct live_job *job, uint32_t flat, const char *why)
{
    struct fix *f = arg;
    assert_ptr_equal(job, f->job);
    assert_string_equal(why, WHY);
    f->told++;
    f->flat = flat;
}

static void on_touch(void *arg, struct live_job *job)
{
    struct fix *f = arg;
    assert_ptr_equal(job, f->job);
    f->touched++;
}

static void on_look(void *arg)
{
    ((struct fix *)arg)->looks++;
}

static void make_left(struct fix *f, bool looked_at)
{
    left_devices_destroy(f->left);
    f->left = left_devices_create(&(struct left_devices_config){ .cluster = f->cluster,
                                                                 .live = f->live,
                                                                 .looked_at = looked_at,
                                                                 .arg = f,
                                                                 .touch = on_touch,
                                                                 .look = on_look });
}

/* Both tasks have their place: the first runs on device 0, the second is to be launched on 1. */
static int set_up(void **state)
{
    const struct job_row row = { .id = 7,
                                 .generation = 1,
                                 .tasks = 2,
                                 .gpu_milli = 2000,
                                 .state = JOB_RUNNING,
                                 .name = "j",
                                 .owner = "me" };
    struct fix *f = mem_new(sizeof *f);
    struct report report;
    f->arena = arena_create();
    f->live = live_create();
    report_init(&report, f->arena);
    f->job = live_add(f->live, &row);
    f->job->spec =
        job_decode(f->arena, json_parse(f->arena, JOB, strlen(JOB), 0, &report), &report);
    live_make_tasks(f->job);
    for (uint32_t i = 0; i < 2; i++) {
        f->devices[i] = (struct gpu_device){ .number = 5 + i,
                                             .minor = 3 + i,
                                             .model = "A100",
                                             .uuid = "",
                                             .pci = "",
                                             .error = "",
                                             .memory = 80,
                                             .offered = true,
                                             .slot = i };
        f->gpus[i][0] = i;
        f->job->tasks[i].place.node = "n";
        f->job->tasks[i].place.gpus = f->gpus[i];
        f->job->tasks[i].place.n_gpus = 1;
        live_set_taken(f->job, &f->job->tasks[i], true);
    }
    f->job->tasks[0].attempt_state = ATTEMPT_RUNNING;
    f->job->tasks[0].phase = PHASE_RUNNING;
    f->job->tasks[1].attempt_state = ATTEMPT_STARTING;
    f->job->tasks[1].phase = PHASE_PLACED;
    live_set_active(f->live, f->job, true);
    f->report =
        (struct gpu_report){ .driver = "", .error = "", .at = f->devices, .n = 2, .n_slots = 2 };
    f->cluster = cluster_create(20000, 20999, 20000);
    const struct node_spec node = { .name = "n",
                                    .address = "127.0.0.2",
                                    .host = "h",
                                    .gpus = 2,
                                    .gpu_type = "A100",
                                    .report = &f->report };
    cluster_set_up(f->cluster, cluster_put(f->cluster, &node), true);
    f->closed = closed_devices_create(&(struct closed_devices_config){
        .cluster = f->cluster, .live = f->live, .arg = f, .holds = on_holds, .touch = on_touch });
    make_left(f, true);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    left_devices_destroy(f->left);
    closed_devices_destroy(f->closed);
    cluster_destroy(f->cluster);
    live_destroy(f->live);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void who_has_it_is_told_once(void **state)
{
    struct fix *f = *state;
    const struct device_trouble trouble = { .why = WHY, .subject = 13 };
    struct device_trouble is;
    assert_false(device_close(f->closed, "nobody", 0, &trouble));
    assert_null(closed_in_place(f->closed, &f->job->tasks[0].place));
    assert_true(device_close(f->closed, "n", 0, &trouble));
    assert_true(device_close(f->closed, "n", 0, &trouble));
    assert_int_equal(f->told, 1);
    assert_int_equal(f->flat, 0);
    assert_int_equal(f->touched, 0); /* it runs */
    assert_true(cluster_device_is_closed(f->cluster, 0, 0));
    assert_true(device_trouble(f->closed, "n", 0, &is));
    assert_string_equal(is.why, WHY);
    assert_string_equal(closed_in_place(f->closed, &f->job->tasks[0].place), WHY);
    assert_null(closed_in_place(f->closed, &f->job->tasks[1].place));
    assert_true(device_close(f->closed, "n", 0, NULL));
    assert_false(device_trouble(f->closed, "n", 0, &is));
    assert_false(cluster_device_is_closed(f->cluster, 0, 0));
}

static void what_is_to_be_launched_there_is_looked_at(void **state)
{
    struct fix *f = *state;
    device_close(f->closed, "n", 1, &(struct device_trouble){ .why = WHY });
    assert_int_equal(f->told, 1);
    assert_int_equal(f->flat, 1);
    assert_int_equal(f->touched, 1);
}

static void a_job_hears_of_those_it_could_use(void **state)
{
    struct fix *f = *state;
    const char *types[] = { "H100" };
    struct job_spec *spec = f->job->spec;
    assert_null(closed_for_job(f->closed, f->arena, spec, NULL));
    device_close(f->closed, "n", 0, &(struct device_trouble){ .why = WHY });
    assert_string_equal(closed_for_job(f->closed, f->arena, spec, "w"), WHY);
    assert_null(closed_for_job(f->closed, f->arena, spec, "other"));
    spec->roles[0].resources.gpu_types = (struct words){ .at = types, .n = 1 };
    assert_null(closed_for_job(f->closed, f->arena, spec, NULL));
    f->job->tasks[1].taken = false;
    device_close(f->closed, "n", 1, &(struct device_trouble){ .why = "device 1" });
    assert_string_equal(closed_for_job(f->closed, f->arena, NULL, NULL), WHY "; and 1 more");
}

static void launches_wait_for_a_look(void **state)
{
    struct fix *f = *state;
    const struct task_place *place = &f->job->tasks[1].place;
    assert_null(device_check_wait(f->left, f->arena, f->job));
    device_leave(f->left, place);
    uint64_t left = device_left(f->left, "n", 1);
    assert_true(left != 0 && device_left(f->left, "n", 0) == 0);
    assert_string_equal(device_check_wait(f->left, f->arena, f->job),
                        "waits until device 6 of n has been looked at: a task has just left it");
    assert_int_equal(f->looks, 1);
    device_leave_loaded(f->left, f->job); /* once more, after a restart */
    assert_true(device_left(f->left, "n", 1) > left);
    device_seen(f->left, "n", 1);
    device_seen(f->left, "n", 1);
    assert_int_equal(f->touched, 1);
    assert_null(device_check_wait(f->left, f->arena, f->job));
    assert_true(device_in_use(f->left, "n", 0) && !device_in_use(f->left, "n", 1));
}

static void nobody_looks_and_nothing_waits(void **state)
{
    struct fix *f = *state;
    make_left(f, false);
    device_leave(f->left, &f->job->tasks[1].place);
    assert_null(device_check_wait(f->left, f->arena, f->job));
}

static void positions_become_numbers_files_and_names(void **state)
{
    struct fix *f = *state;
    struct task_place *place = &f->job->tasks[1].place;
    struct task_devices is = devices_of_task(f->cluster, f->arena, place);
    assert_int_equal(is.numbers[0], 6);
    assert_int_equal(is.minors[0], 4);
    assert_int_equal(is.memory, 80);
    assert_int_equal(is.hold, GPU_GRANT_WHOLE);
    assert_true(!is.names && !is.parts);
    f->devices[0].divided = true;
    f->devices[1].uuid = "MIG-1";
    is = devices_of_task(f->cluster, f->arena, place);
    assert_string_equal(is.names[0], "MIG-1");
    place->gpu_share_milli = 500;
    assert_int_equal(devices_hold(f->cluster, place), GPU_GRANT_SHARE);
    place->n_gpus = 0;
    assert_int_equal(devices_of_task(f->cluster, f->arena, place).hold, GPU_GRANT_NONE);
    assert_null(devices_mps("", f->arena, NULL));
    const struct account ada = { .ids = { .uid = 12 } };
    assert_non_null(strstr(devices_mps("/run/mps-{uid}", f->arena, &ada), "12"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(who_has_it_is_told_once),           T(what_is_to_be_launched_there_is_looked_at),
        T(a_job_hears_of_those_it_could_use), T(launches_wait_for_a_look),
        T(nobody_looks_and_nothing_waits),    T(positions_become_numbers_files_and_names),
    };
    return cmocka_run_group_tests_name("inventory/devices", tests, NULL, NULL);
}
