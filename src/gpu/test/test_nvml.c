/* A driver that fails in part, says more than there is room for, or text without an end; and one
 * that is old. The library is one of ours (fake_nvml.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu/nvml.h"
#include "gpu/test/fake_nvml.h"

#include <dlfcn.h>
#include <string.h>

struct fix {
    struct arena *arena;
    struct fake_nvml *driver;
};

static int setup(void **state)
{
    static struct fix f;
    void *library = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    f.driver = library ? dlsym(library, "fake_nvml") : NULL;
    if (!f.driver)
        return -1;
    f.arena = arena_create();
    *state = &f;
    *f.driver = (struct fake_nvml){ .count = 2,
                                    .name = "NVIDIA H100",
                                    .instance_name = "NVIDIA H100 MIG 1g.10gb",
                                    .pci = "00000000:17:00.",
                                    .used = 7,
                                    .path = -1 };
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(((struct fix *)*state)->arena);
    return 0;
}

static struct gpu_report asked(const struct fix *f)
{
    struct gpu_report report;
    gpu_nvml_read(f->arena, &report);
    return report;
}

#ifndef OLD_DRIVER
static void a_driver_that_fails(void **state)
{
    struct fix *f = *state;
    struct fake_nvml *d = f->driver;
    d->init = 18;
    struct gpu_report report = asked(f);
    assert_string_equal(report.error, "the driver cannot be asked: words (NVML 18)");
    assert_int_equal(report.n, 0);
    assert_int_equal(d->shut_down, 0); /* what did not begin is not ended */
    d->init = 0;
    d->count_rc = 999;
    report = asked(f);
    assert_non_null(strstr(report.error, "its devices cannot be counted: words (NVML 999)"));
    assert_int_equal(report.n, 0);
    assert_int_equal(d->shut_down, 1);
}

/* The others are read. */
static void a_device_that_fails(void **state)
{
    struct fix *f = *state;
    struct fake_nvml *d = f->driver;
    d->handle_rc = 15;
    struct gpu_report report = asked(f);
    assert_int_equal(report.n, 2);
    assert_string_equal(report.at[0].error, "it does not answer: GPU is lost (NVML 15)");
    assert_string_equal(report.at[0].model, "");
    assert_string_equal(report.at[1].error, "");
    assert_string_equal(report.at[1].model, "NVIDIA H100");
    assert_int_equal(report.at[1].number, 1);
}

static void memory_that_cannot_be_read(void **state)
{
    struct fix *f = *state;
    struct fake_nvml *d = f->driver;
    struct gpu_report report = asked(f);
    assert_true(report.at[0].memory == 2000 && report.at[0].figures[GPU_MEMORY_USED].value == 7);
    d->memory_v2_rc = 3;
    report = asked(f); /* as drivers of before say it */
    assert_true(report.at[0].memory == 1000 && report.at[0].figures[GPU_MEMORY_USED].value == 7);
    d->memory_rc = 3; /* unified with the host's: no error */
    report = asked(f);
    assert_true(report.at[0].memory == 0 && !report.at[0].figures[GPU_MEMORY_USED].has);
    assert_string_equal(report.at[0].error, "");
    d->memory_rc = 15;
    report = asked(f);
    assert_string_equal(report.at[0].error, "its memory cannot be read: GPU is lost (NVML 15)");
}

static void more_than_there_is_room_for(void **state)
{
    struct fix *f = *state;
    struct fake_nvml *d = f->driver;
    d->count = 4000;
    d->processes = 256;
    struct gpu_report report = asked(f);
    assert_int_equal(report.n, 64);
    assert_int_equal(report.at[63].number, 63);
    assert_int_equal(report.at[63].n_links, 63);
    assert_int_equal(report.at[0].n_processes, 256);
    d->count = 1;
    d->processes = 257; /* it says so, and that all is well */
    report = asked(f);
    assert_int_equal(report.at[0].n_processes, 0);
    d->processes = 1;
    d->processes_rc = 7;
    report = asked(f);
    assert_int_equal(report.at[0].n_processes, 0);
    d->processes_rc = 0;
    d->process_memory = UINT64_MAX; /* as it says that it does not know */
    report = asked(f);
    assert_true(report.at[0].n_processes == 1 && report.at[0].processes[0].memory == 0);
}

/* Lines of a report end with what a driver calls a device. */
static void a_name_of_two_lines(void **state)
{
    struct fix *f = *state;
    struct fake_nvml *d = f->driver;
    d->name = "NVIDIA\nend=1";
    assert_string_equal(asked(f).at[0].model, "NVIDIA");
}

static void instances_with_a_gap(void **state)
{
    struct fix *f = *state;
    struct fake_nvml *d = f->driver;
    d->mig[0] = d->mig[2] = 1;
    d->instance_name = "NVIDIA H100"; /* whoever asks for a whole one must not get it */
    struct gpu_report report = asked(f);
    assert_int_equal(report.n, 4);
    assert_true(report.at[0].divided && !report.at[3].divided);
    assert_true(report.at[1].figures[GPU_MIG].value == 0);
    assert_true(report.at[2].figures[GPU_MIG].value == 2);
    assert_string_equal(report.at[2].model, "NVIDIA H100 MIG instance");
    assert_false(report.at[2].figures[GPU_MIG_GI].has); /* this driver does not know them */
    assert_string_equal(report.at[2].pci, report.at[0].pci);
}

static void links_are_counted_by_address(void **state)
{
    struct fix *f = *state;
    struct fake_nvml *d = f->driver;
    d->links = 4;
    memset(d->link_to, 'x', sizeof d->link_to); /* no end */
    struct gpu_report report = asked(f);
    assert_int_equal(report.at[0].links[0].nvlinks, 0);
    assert_false(report.at[0].links[0].has_path);
    memset(d->link_to, 0, sizeof d->link_to);
    memcpy(d->link_to, "00000000:17:00.1", 16);
    d->path = 20;
    report = asked(f);
    assert_true(report.at[0].links[0].to == 1 && report.at[0].links[0].nvlinks == 4);
    assert_true(report.at[0].links[0].has_path && report.at[0].links[0].path == 20);
    assert_int_equal(report.at[1].links[0].nvlinks, 0); /* the address is its own */
    d->link_type = 2;
    d->links = 4000; /* as many as a device can have */
    assert_int_equal(asked(f).at[1].links[0].nvlinks, 36);
}
#else
static void what_it_does_not_know_is_left_out(void **state)
{
    struct fix *f = *state;
    struct fake_nvml *d = f->driver;
    d->processes = 2;
    struct gpu_report report = asked(f);
    assert_string_equal(report.error, "");
    assert_int_equal(report.n, 2);
    const struct gpu_device *device = &report.at[1];
    assert_string_equal(device->model, "NVIDIA H100");
    assert_string_equal(device->uuid, "");
    assert_string_equal(device->error, "");
    assert_int_equal(device->minor, 1); /* its number */
    assert_int_equal(device->n_processes, 2);
    for (int i = 0; i < GPU_FIGURE_N; i++)
        assert_int_equal(device->figures[i].has, i == GPU_THROTTLE);
    assert_true(device->n_links == 1 && device->links[0].nvlinks == 0);
    d->init = 9;
    assert_string_equal(asked(f).error, "the driver cannot be asked: NVML error 9");
}
#endif

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
#ifndef OLD_DRIVER
        T(a_driver_that_fails),          T(a_device_that_fails), T(memory_that_cannot_be_read),
        T(more_than_there_is_room_for),  T(a_name_of_two_lines), T(instances_with_a_gap),
        T(links_are_counted_by_address),
#else
        T(what_it_does_not_know_is_left_out),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
