/* Launches without a core: what agents of two nodes are told of a job of three tasks, what lies on
 * this machine for them, and what an engine of numbers is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dialect/place_cache.h"
#include "live/launches/job_launches.h"
#include "live/live.h"
#include "secret/secrets.h"
#include "secret/token.h"
#include "text/json.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define JOB                                                                                        \
    "{\"name\":\"train\",\"config\":{\"lr\":1},"                                                   \
    "\"inputs\":{\"data\":[{\"from\":\"digits\",\"at\":\"/mnt/digits\",\"read_only\":true}]},"     \
    "\"roles\":{\"w\":{\"replicas\":3,\"run\":\"x\",\"resources\":{\"cpu\":2}}}}"
#define SITE "{\"work_dir\":\"/home/ada/work\"}"

static void env_of(struct arena *arena, const struct job_spec *job, const struct job_place *place,
                   uint32_t flat, const struct site *site, struct pairs *out)
{
    (void)job;
    (void)site;
    pairs_setf(out, arena, "RANK", "%u", flat);
    place_leave_out(place, "PEERS");
}

static const struct convention convention = { .name = "test", .env = env_of };
static const struct convention *const conventions[] = { &convention };
static const struct dialects dialects = { .conventions = conventions, .n_conventions = 1 };

struct fix {
    struct arena *arena;
    struct live *live;
    struct live_job *job;
    struct secrets *secrets;
    struct launch_server server;
    struct job_launches *launches;
    unsigned char key[TOKEN_LEN];
    char dir[40], runs[64], users[64];
    struct launch_due due[3];
};

static int set_up(void **state)
{
    static const char *nodes[] = { "n1", "n1", "n2" };
    static const char *named[] = { "test" };
    const struct job_row row = { .id = 7,
                                 .number = 12,
                                 .generation = 2,
                                 .tasks = 3,
                                 .state = JOB_STARTING,
                                 .owner = "ada",
                                 .name = "train" };
    struct fix *f = mem_new(sizeof *f);
    struct report report;
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-launches-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->runs, sizeof f->runs, "%s/runs", f->dir);
    snprintf(f->users, sizeof f->users, "%s/users", f->dir);
    f->arena = arena_create();
    f->live = live_create();
    report_init(&report, f->arena);
    f->job = live_add(f->live, &row);
    f->job->spec =
        job_decode(f->arena, json_parse(f->arena, JOB, strlen(JOB), 0, &report), &report);
    assert_non_null(f->job->spec);
    f->job->spec->conventions = (struct words){ .at = named, .n = 1 };
    live_make_tasks(f->job);
    for (uint32_t i = 0; i < 3; i++) {
        struct task_place *place = &f->job->tasks[i].place;
        place->node = nodes[i];
        place->index = i;
        place->address = i == 2 ? "10.0.0.2" : "127.0.0.1";
        f->job->tasks[i].attempt = 4;
        f->due[i] = (struct launch_due){ .node = nodes[i], .seq = 1, .flat = i };
    }
    f->secrets = secrets_create(&(struct secrets_config){ .dialects = &dialects, .live = f->live });
    f->server = (struct launch_server){ .dialects = &dialects,
                                        .secrets = f->secrets,
                                        .key = f->key,
                                        .state_dir = f->dir,
                                        .users_dir = f->users,
                                        .runs_dir = f->runs,
                                        .socket = "/run/muster",
                                        .public_socket = NULL,
                                        .address = "http://10.0.0.1:6878",
                                        .python = "/usr/bin/python3",
                                        .log_tail = 99 };
    f->launches = job_launches_create(f->arena, &f->server, f->job, SITE);
    job_launches_name(f->launches, &f->server, 2);
    job_launches_name(f->launches, &f->server, 2);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    secrets_destroy(f->secrets);
    live_destroy(f->live);
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static int make(struct fix *f, uint32_t first, size_t n, bool last, struct launch *launch)
{
    struct err err = { 0 };
    const struct launch_share share = { .due = &f->due[first], .n = n, .last = last };
    return job_launch_make(f->launches, &f->server, &share, f->arena, launch, &err);
}

static void a_launch_says_all_of_its_tasks(void **state)
{
    struct fix *f = *state;
    struct launch launch;
    assert_int_equal(make(f, 0, 2, true, &launch), 0);
    assert_string_equal(launch.node, "n1");
    assert_int_equal(launch.generation.number, 2);
    assert_int_equal(launch.n_tasks, 2);
    assert_string_equal(launch.tasks[1].role, "w");
    assert_int_equal(launch.tasks[1].ref.index, 1);
    assert_int_equal(launch.tasks[1].attempt, 4);
    assert_int_equal(launch.tasks[1].cpu_milli, 2000);
    assert_string_equal(pairs_get(&launch.tasks[1].env, "RANK"), "1");
    assert_string_equal(pairs_get(&launch.tasks[1].env, "MUSTER_SERVER"), "unix:/run/muster");
    assert_string_equal(launch.work_dir, "/home/ada/work");
    assert_string_equal(launch.user_dir, launch.dir);
    assert_int_equal(launch.log_tail, 99);
    assert_int_equal(launch.n_mounts, 1);
    assert_string_equal(launch.mounts[0].from, "/home/ada/work/digits");
    assert_string_equal(launch.mounts[0].at, "/mnt/digits");
}

static void hosts_go_with_the_first_and_the_last(void **state)
{
    struct fix *f = *state;
    struct launch launch;
    assert_int_equal(make(f, 0, 1, false, &launch), 0);
    assert_int_equal(launch.n_hosts, 6); /* w-0 and w-0.train of each */
    assert_string_equal(launch.hosts[1].name, "w-0.train");
    assert_string_equal(launch.hosts[4].address, "10.0.0.2");
    assert_non_null(launch.hosts_text->next); /* named in two parts */
    assert_int_equal(make(f, 1, 1, false, &launch), 0);
    assert_int_equal(launch.n_hosts, 0);
    assert_int_equal(make(f, 1, 1, true, &launch), 0);
    assert_int_equal(launch.n_hosts, 6);
    assert_int_equal(make(f, 2, 1, false, &launch), 0); /* another agent */
    assert_int_equal(launch.n_hosts, 6);
}

static void settings_lie_beside_it(void **state)
{
    struct fix *f = *state;
    struct launch launch;
    char path[200], want[100];
    assert_int_equal(make(f, 2, 1, true, &launch), 0);
    snprintf(want, sizeof want, "%s/12/g2/n2", f->runs);
    assert_string_equal(launch.dir, want);
    snprintf(path, sizeof path, "%s/config.json", want);
    assert_string_equal(pairs_get(&launch.tasks[0].env, "MUSTER_CONFIG"), path);
    AUTO_FREE char *text = NULL;
    size_t len;
    struct err err;
    assert_int_equal(file_read(path, 100, &text, &len, &err), 0);
    assert_non_null(strstr(text, "\"lr\":1"));
}

static void what_no_entry_serves_is_said(void **state)
{
    struct fix *f = *state;
    struct launch launch;
    f->job->spec->inputs.data[0].from = "nas://nowhere/x";
    assert_int_equal(make(f, 0, 2, true, &launch), -1);
    job_launch_wipe(&launch, f->arena);
}

static void tokens_are_of_the_key_that_the_agent_has(void **state)
{
    struct fix *f = *state;
    const unsigned char none[TOKEN_LEN] = { 0 };
    unsigned char token[TOKEN_LEN];
    struct launch launch;
    assert_int_equal(make(f, 0, 1, true, &launch), 0);
    token_derive(f->key, f->job, "n1", token);
    assert_memory_equal(launch.token, token, TOKEN_LEN);
    memset(live_add_agent(f->job, "n1")->token_hash, 9, 32); /* by another key */
    assert_int_equal(make(f, 0, 1, true, &launch), 0);
    assert_memory_equal(launch.token, none, TOKEN_LEN);
    job_launch_wipe(&launch, f->arena);
}

static void others_reach_the_server_where_they_may(void **state)
{
    struct fix *f = *state;
    struct account other = { .name = "bob", .ids = { .uid = 4000000 } };
    assert_string_equal(launch_address(&f->server, f->arena, &other), "http://10.0.0.1:6878");
    f->server.public_socket = "/run/public";
    assert_string_equal(launch_address(&f->server, f->arena, &other), "unix:/run/public");
    assert_string_equal(launch_address(&f->server, f->arena, NULL), "unix:/run/muster");
}

static void numbers_say_what_tasks_hold(void **state)
{
    struct fix *f = *state;
    const struct launch_share share = { .due = f->due, .n = 2, .last = true };
    const struct launch launch = job_launch_numbers(f->job, &share, f->arena);
    assert_int_equal(launch.n_tasks, 2);
    assert_int_equal(launch.tasks[0].cpu_milli, 2000);
    assert_null(launch.dir);
    assert_int_equal(launch.tasks[0].env.n, 0);
}

static void what_is_left_out_is_named(void **state)
{
    struct fix *f = *state;
    assert_string_equal(launch_left_out(&f->server, f->job, f->arena),
                        "PEERS left out of the environment of its tasks: longer than a program "
                        "can be given");
    f->job->spec->conventions.n = 0;
    assert_null(launch_left_out(&f->server, f->job, f->arena));
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_launch_says_all_of_its_tasks),
        T(hosts_go_with_the_first_and_the_last),
        T(settings_lie_beside_it),
        T(what_no_entry_serves_is_said),
        T(tokens_are_of_the_key_that_the_agent_has),
        T(others_reach_the_server_where_they_may),
        T(numbers_say_what_tasks_hold),
        T(what_is_left_out_is_named),
    };
    return cmocka_run_group_tests_name("live/launches/job_launches", tests, NULL, NULL);
}
