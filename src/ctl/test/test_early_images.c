/* Images of jobs that wait: of the next few, as soon as their digests are known, once, with what
 * jobs ahead want kept; they end with the job, and a failure is told and changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "answer/jobs.h"
#include "ctl/test/world.h"
#include "image/jobs/early_images.h"
#include "image/jobs/images.h"
#include "job/image_progress.h"
#include "job/node_spec.h"

#include <stdio.h>
#include <string.h>

#define D1      "1111111111111111111111111111111111111111111111111111111111111111"
#define D2      "2222222222222222222222222222222222222222222222222222222222222222"
#define BY1     "host/team/one@sha256:" D1
#define BY2     "host/team/two@sha256:" D2
#define ALL_CPU "\"resources\":{\"cpu\":4}"
#define JOB(name, image, more)                                                                     \
    "{\"name\":\"" name "\",\"runtime\":\"bwrap\"," more "\"roles\":{\"w\":{\"run\":\"x\","        \
    "\"image\":\"" image "\"," ALL_CPU "}}}"
#define BLOCKS "{\"name\":\"blocks\",\"roles\":{\"w\":{\"run\":\"x\"," ALL_CPU "}}}"

struct wished {
    uint64_t job;
    char name[120], node[40], store[120], keep[160];
};
struct fixture {
    struct world world; /* first */
    struct wished at[16];
    size_t n;
    uint64_t dropped[16];
    size_t n_dropped;
};
static struct fixture f;

static void on_ask(void *arg, const struct image_question *question)
{
    (void)arg;
    (void)question;
}

static void on_wish(void *arg, const struct image_wish *wish)
{
    struct wished *one = &f.at[f.n++];
    (void)arg;
    assert_true(f.n < 16);
    one->job = wish->job;
    snprintf(one->name, sizeof one->name, "%s", wish->name);
    snprintf(one->node, sizeof one->node, "%s", wish->node);
    snprintf(one->store, sizeof one->store, "%s", wish->store);
    one->keep[0] = '\0';
    for (size_t i = 0; i < wish->keep.n && i < 2; i++)
        snprintf(one->keep + strlen(one->keep), sizeof one->keep - strlen(one->keep), "%s ",
                 wish->keep.at[i]);
}

static void on_drop(void *arg, uint64_t job)
{
    (void)arg;
    f.dropped[f.n_dropped++] = job;
}

static void before(struct world *w, struct ctl_config *config)
{
    (void)w;
    config->ask_images = on_ask;
    config->fetch_early = on_wish;
    config->drop_early = on_drop;
}

/* All of its node is taken. */
static int setup(void **state)
{
    f = (struct fixture){ .n = 0 };
    world_init_with(&f.world, (struct world_hooks){ .before = before }, &f);
    f.world.code_all = FAKE_RUNS;
    for (size_t i = 0; i < f.world.n_nodes; i++)
        (void)world_submit(&f.world, BLOCKS);
    world_run(&f.world);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_fini(&f.world);
    return 0;
}

static uint64_t submit(const char *text)
{
    uint64_t job = world_submit(&f.world, text);
    world_run(&f.world);
    return job;
}

static void say_of(uint64_t job, const char *node, struct image_progress news)
{
    struct engine_sink sink = ctl_sink(f.world.ctl);
    news.digest = news.digest ? news.digest : "";
    news.problem = news.problem ? news.problem : "";
    const struct engine_fact fact = {
        .kind = FACT_IMAGE, .generation = { .job = job }, .node = node, .image = &news
    };
    sink.fact(sink.arg, &fact);
    ctl_turn(f.world.ctl);
    world_run(&f.world);
}

static void say(uint64_t job, struct image_progress news)
{
    say_of(job, "", news);
}

static void stop(uint64_t job)
{
    world_command(&f.world, job, CTL_STOP);
    world_run(&f.world);
}

static void test_the_next_ones_come_with_what_is_ahead_kept(void **state)
{
    (void)state;
    uint64_t first = submit(JOB("first", BY1, ""));
    uint64_t second = submit(JOB("second", BY2, ""));
    assert_int_equal(f.n, 2);
    assert_int_equal(f.at[0].job, first);
    assert_string_equal(f.at[0].name, BY1);
    assert_string_equal(f.at[0].keep, "");
    assert_non_null(strstr(f.at[0].store, "/images"));
    assert_int_equal(f.at[1].job, second);
    assert_string_equal(f.at[1].keep, D1 " ");
    world_pass(&f.world, 60000);
    assert_int_equal(f.n, 2);
}

static void test_a_few_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < EARLY_JOBS + 3; i++)
        (void)submit(JOB("one", BY1, ""));
    assert_int_equal(f.n, EARLY_JOBS);
}

static void test_a_name_waits_for_its_digest(void **state)
{
    (void)state;
    uint64_t job = submit(JOB("one", "host/team/one:1", ""));
    uint64_t behind = submit(JOB("behind", BY2, ""));
    assert_int_equal(f.n, 0); /* what comes for the one behind would take the first one's room */
    say(job,
        (struct image_progress){ .step = IMAGE_PINNED, .name = "host/team/one:1", .digest = D1 });
    assert_int_equal(f.n, 2);
    assert_string_equal(f.at[0].name, "host/team/one:1@sha256:" D1);
    assert_int_equal(f.at[1].job, behind);
    assert_string_equal(f.at[1].keep, D1 " ");
}

static void test_one_that_waits_for_something_else_gets_none(void **state)
{
    (void)state;
    uint64_t job = submit(JOB("first", BY1, ""));
    assert_int_equal(f.n, 1);
    (void)submit(JOB("after", BY2, "\"after\":[{\"job\":\"first\"}],"));
    assert_int_equal(f.n, 1);
    stop(job);
}

static void test_it_ends_with_the_job(void **state)
{
    (void)state;
    uint64_t first = submit(JOB("first", BY1, "")), second = submit(JOB("second", BY2, ""));
    say(second, (struct image_progress){ .step = IMAGE_EARLY_READY, .name = BY2, .digest = D2 });
    stop(first);
    assert_int_equal(f.n_dropped, 1);
    assert_int_equal(f.dropped[0], first);
    stop(second); /* nothing of it comes */
    assert_int_equal(f.n_dropped, 1);
}

static void test_a_failure_changes_nothing(void **state)
{
    (void)state;
    uint64_t job = submit(JOB("one", BY1, ""));
    struct arena *arena = arena_create();
    say(job, (struct image_progress){ .step = IMAGE_EARLY_FETCHES, .name = BY1, .bytes = 7 });
    assert_int_equal(world_count(&f.world, job, "image"), 1);
    say(job, (struct image_progress){
                 .step = IMAGE_EARLY_FAILED, .name = BY1, .problem = "nobody there" });
    assert_int_equal(world_count(&f.world, job, "image"), 2);
    assert_int_equal(world_state(&f.world, job), JOB_QUEUED);
    struct job_view view;
    const struct job_ask ask = { .owner = "ada", .job = job };
    assert_int_equal(answer_job_view(f.world.ctl, arena, &ask, &view, NULL), 0);
    assert_non_null(view.early_images);
    const struct text_node *one = view.early_images->first;
    assert_string_equal(text_get(one, "step")->str, "failed");
    assert_string_equal(text_get(one, "problem")->str, "nobody there");
    arena_destroy(arena);
}

/* A machine that is full, so that the next jobs wait. */
static void add_machine(const char *name, bool early_images)
{
    struct engine_sink sink = ctl_sink(f.world.ctl);
    const struct node_spec spec = { .name = name,
                                    .address = "127.0.0.9",
                                    .host = name,
                                    .cpu_milli = 4000,
                                    .memory = 1ull << 30,
                                    .gpu_type = "",
                                    .early_images = early_images,
                                    .machine = true };
    sink.fact(sink.arg, &(struct engine_fact){
                            .kind = FACT_NODE_UP, .node = name, .spec = &spec, .at_ms = 1 });
    ctl_turn(f.world.ctl);
    (void)submit(BLOCKS);
}

static void test_machines_that_know_how_get_it_too(void **state)
{
    (void)state;
    add_machine("m1", true);
    add_machine("older", false);
    uint64_t job = submit(JOB("one", BY1, ""));
    assert_int_equal(f.n, 2);
    assert_string_equal(f.at[0].node, "");
    assert_string_equal(f.at[1].node, "m1");
    assert_string_equal(f.at[1].name, BY1);
    say_of(job, "m1",
           (struct image_progress){ .step = IMAGE_EARLY_READY, .name = BY1, .bytes = 7 });
    say_of(job, "m9",
           (struct image_progress){ .step = IMAGE_EARLY_READY, .name = BY1, .bytes = 7 });
    struct arena *arena = arena_create();
    struct job_view view;
    const struct job_ask asked = { .owner = "ada", .job = job };
    assert_int_equal(answer_job_view(f.world.ctl, arena, &asked, &view, NULL), 0);
    assert_int_equal(view.early_images->count, 2);
    const struct text_node *here = view.early_images->first, *there = here->next;
    assert_null(text_get(here, "node"));
    assert_string_equal(text_get(here, "step")->str, "waiting");
    assert_string_equal(text_get(there, "node")->str, "m1");
    assert_string_equal(text_get(there, "step")->str, "ready");
    assert_int_equal(world_count(&f.world, job, "image"), 1);
    arena_destroy(arena);
    stop(job);
    assert_int_equal(f.n_dropped, 1);
}

static void test_the_idlest_few_of_many_machines(void **state)
{
    char name[8];
    (void)state;
    for (unsigned i = 0; i < EARLY_MACHINES + 2; i++) {
        snprintf(name, sizeof name, "m%u", i);
        add_machine(name, true);
    }
    (void)submit(JOB("one", BY1, ""));
    assert_int_equal(f.n, EARLY_MACHINES + 1);
    for (unsigned i = 0; i < EARLY_MACHINES; i++) {
        snprintf(name, sizeof name, "m%u", i);
        assert_string_equal(f.at[i + 1].node, name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_next_ones_come_with_what_is_ahead_kept, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_few_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_name_waits_for_its_digest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_that_waits_for_something_else_gets_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_it_ends_with_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_failure_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_machines_that_know_how_get_it_too, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_idlest_few_of_many_machines, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
