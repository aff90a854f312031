/* What a node of an allocation makes of the environment that Slurm gave it, and what its host says
 * the allocation has of the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/pilot.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/conf.h"
#include "node/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[] = {
    "MUSTER_PILOT_TCP", "MUSTER_PILOT_PIN",  "MUSTER_PILOT_JOIN",  "MUSTER_PILOT_DIRS",
    "SLURMD_NODENAME",  "SLURM_JOB_ID",      "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE",
    "SLURM_STEP_GPUS",  "SLURM_MEM_PER_CPU", "SLURM_JOB_GPUS",     "MUSTER_PILOT_FOLLOW",
};
#define PIN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int set_up(void **state)
{
    *state = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    setenv("MUSTER_PILOT_TCP", "10.0.0.1:6879,[::1]:6879", 1);
    setenv("MUSTER_PILOT_PIN", PIN, 1);
    setenv("MUSTER_PILOT_JOIN", "aa", 1);
    setenv("MUSTER_PILOT_DIRS", "/tmp:/dev/shm", 1);
    setenv("SLURMD_NODENAME", "n7", 1);
    setenv("SLURM_JOB_ID", "4711", 1);
    return 0;
}

static int tear_down(void **state)
{
    arena_destroy(*state);
    return 0;
}

/* The configuration as a host reads it. */
static struct conf read_back(struct arena *arena)
{
    struct pilot_site site;
    struct conf conf;
    struct err err;
    char dir[] = "/tmp/muster-pilot-XXXXXX";
    AUTO_BUF struct buf text = BUF_INIT(32768);
    (void)arena;
    assert_int_equal(pilot_read(&site, &err), 0);
    pilot_configure(&site, "n7.2", "bb", &text);
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *path = file_join(dir, "host.conf");
    assert_int_equal(file_replace(path, text.data, text.len, 0600, &err), 0);
    assert_int_equal(conf_read_host(dir, &conf, &err), 0);
    file_remove_tree(dir, NULL);
    return conf;
}

static void a_node_is_configured(void **state)
{
    setenv("SLURM_CPUS_ON_NODE", "8", 1);
    setenv("SLURM_MEM_PER_NODE", "16000", 1);
    setenv("SLURM_STEP_GPUS", "0,3", 1);
    const struct conf conf = read_back(*state);
    assert_string_equal(conf.node, "n7.2");
    assert_string_equal(conf.token, "bb");
    assert_string_equal(conf.pin, PIN);
    assert_int_equal(conf.n_places, 2);
    assert_true(conf.outlive_term);
    assert_int_equal(conf.cpus, 8);
    assert_int_equal(conf.memory, 16000ull << 20);
    assert_string_equal(conf.gpus, "0,3");
}

/* The server of a home that nodes share has moved: its address is another one, and nothing else. */
static void a_server_that_moves_is_followed(void **state)
{
    char path[] = "/tmp/muster-places-XXXXXX";
    static const char moved[] = "tcp=10.0.0.9:7000\npin=00\ntoken=cc\n",
                      wrong[] = "tcp=somewhere\n";
    struct err err;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    setenv("MUSTER_PILOT_FOLLOW", path, 1);
    assert_int_equal(read_back(*state).n_places, 2); /* it says nothing yet */
    assert_int_equal(file_replace(path, moved, sizeof moved - 1, 0600, &err), 0);
    struct conf conf = read_back(*state);
    assert_int_equal(conf.n_places, 1);
    assert_string_equal(conf.places[0].addr, "10.0.0.9");
    assert_int_equal(conf.places[0].port, 7000);
    assert_string_equal(conf.pin, PIN);
    assert_string_equal(conf.token, "bb");
    assert_int_equal(chmod(path, 0620), 0); /* others may have written it */
    assert_int_equal(read_back(*state).n_places, 2);
    assert_int_equal(file_replace(path, wrong, sizeof wrong - 1, 0600, &err), 0);
    assert_int_equal(read_back(*state).n_places, 2);
    unlink(path);
    conf = read_back(*state);
    assert_string_equal(conf.places[0].addr, "10.0.0.1");
}

static void what_slurm_does_not_say_is_seen(void **state)
{
    setenv("SLURM_MEM_PER_NODE", "0", 1);
    struct conf conf = read_back(*state);
    assert_int_equal(conf.cpus, 0);
    assert_int_equal(conf.memory, 0);
    assert_string_equal(conf.gpus, "none");
    setenv("SLURM_CPUS_ON_NODE", "4", 1);
    setenv("SLURM_MEM_PER_CPU", "100", 1);
    setenv("SLURM_JOB_GPUS", "1", 1);
    conf = read_back(*state);
    assert_int_equal(conf.memory, 400ull << 20);
    assert_string_equal(conf.gpus, "1");
}

static void what_is_missing_is_named(void **state)
{
    struct pilot_site site;
    struct err err;
    (void)state;
    setenv("SLURM_STEP_GPUS", "0\n1", 1);
    assert_int_equal(pilot_read(&site, &err), -1);
    unsetenv("SLURMD_NODENAME");
    assert_int_equal(pilot_read(&site, &err), -1);
    assert_non_null(strstr(err.what, "SLURMD_NODENAME"));
}

static void the_time_that_is_left_is_a_bound(void **state)
{
    static const int64_t day = 86400;
    (void)state;
    assert_int_equal(pilot_bound("30"), day + 30);
    assert_int_equal(pilot_bound("9:40"), day + 580);
    assert_int_equal(pilot_bound("1:00:01"), day + 3601);
    assert_int_equal(pilot_bound("2-03:00:00"), 3 * day + 3 * 3600);
    const int64_t never = pilot_bound(NULL);
    assert_true(never > 60 * 365 * day);
    assert_int_equal(pilot_bound("UNLIMITED"), never);
    assert_int_equal(pilot_bound("1:2:3:4"), never);
    assert_int_equal(pilot_bound("x-1:00"), never);
}

/* A child whose own child has left it. */
static void nothing_below_outlives_it(void **state)
{
    int ends[2];
    char byte;
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (fork() == 0)
            setsid();
        for (;;)
            pause();
    }
    close(ends[1]);
    pilot_end_children();
    assert_int_equal(read(ends[0], &byte, 1), 0); /* nobody has the other end any more */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    close(ends[0]);
}

static void a_machine_is_what_its_allocation_has(void **state)
{
    struct wire_host_device seen[] = { { .minor = 0, .uuid = "a", .model = "x" },
                                       { .minor = 1, .uuid = "b", .model = "x" },
                                       { .minor = 3, .uuid = "c", .model = "x" } };
    struct conf conf = { .cpus = 4, .memory = 1 << 20, .gpus = "1,3" };
    struct wire_host_hello hello = {
        .cpu_milli = 64000, .memory = 1ull << 40, .devices = seen, .n_devices = 3
    };
    machine_limit(*state, &conf, &hello);
    assert_int_equal(hello.cpu_milli, 4000);
    assert_int_equal(hello.memory, 1 << 20);
    assert_int_equal(hello.n_devices, 2);
    assert_string_equal(hello.devices[1].uuid, "c");
    machine_limit(*state, &conf, &hello); /* as many as it has: numbered anew, where others hide */
    assert_int_equal(hello.n_devices, 2);
    hello = (struct wire_host_hello){ .device_error = "no driver" };
    machine_limit(*state, &conf, &hello); /* none can be seen */
    assert_int_equal(hello.n_devices, 2);
    assert_int_equal(hello.devices[1].minor, 3);
    assert_string_equal(hello.device_error, "");
    conf = (struct conf){ .gpus = "none" };
    machine_limit(*state, &conf, &hello);
    assert_int_equal(hello.n_devices, 0);
    hello = (struct wire_host_hello){ .cpu_milli = 1, .memory = 2 };
    machine_limit(*state, &(struct conf){ .cpus = 0 }, &hello);
    assert_int_equal(hello.cpu_milli, 1);
    assert_int_equal(hello.memory, 2);
}

/* A file of its own, which stays when the copy goes. */
static void a_copy_is_taken_into_its_directory(void **state)
{
    char dir[] = "/tmp/muster-pilot-XXXXXX", other[] = "/dev/shm/muster-pilot-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_non_null(mkdtemp(other)); /* on another file system, where there is one */
    AUTO_FREE char *copy = file_join(other, "copy");
    AUTO_FREE char *none = file_join(other, "none");
    assert_int_equal(file_replace(copy, "#!/bin/true\n", 12, 0700, NULL), 0);
    AUTO_FREE char *here = pilot_take_program(other, copy);
    AUTO_FREE char *there = pilot_take_program(dir, copy);
    assert_non_null(here);
    assert_non_null(there);
    assert_null(pilot_take_program(dir, none));
    assert_int_equal(unlink(copy), 0);
    assert_int_equal(access(here, R_OK | X_OK), 0);
    assert_int_equal(access(there, R_OK | X_OK), 0);
    file_remove_tree(dir, NULL);
    file_remove_tree(other, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_is_configured, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_moves_is_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_slurm_does_not_say_is_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_time_that_is_left_is_a_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_below_outlives_it, set_up, tear_down),
        cmocka_unit_test(a_copy_is_taken_into_its_directory),
        cmocka_unit_test_setup_teardown(a_machine_is_what_its_allocation_has, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
