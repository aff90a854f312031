/* Which image a name stands for: asked once, the same in every generation and for every server, and
 * launches wait for the answer. Nobody answers but the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "answer/archives.h"
#include "ctl/test/world.h"
#include "image/jobs/images.h"
#include "job/image_progress.h"

#include <stdio.h>
#include <string.h>

#define NAME  "host/team/x:1"
#define FIRST "1111111111111111111111111111111111111111111111111111111111111111"
#define OTHER "2222222222222222222222222222222222222222222222222222222222222222"
#define BY(d) NAME "@sha256:" d
#define JOB                                                                                        \
    "{\"name\":\"one\",\"runtime\":\"bwrap\",\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":2,"      \
    "\"image\":\"" NAME "\"}},\"retry\":{\"user\":1}}"

#define FAR                                                                                        \
    "{\"name\":\"far\",\"runtime\":\"bwrap\",\"place\":{\"labels\":{\"far\":\"1\"}},"              \
    "\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":2,\"image\":\"" NAME "\","                       \
    "\"resources\":{\"cpu\":1}}}}"

struct fixture {
    struct world world; /* first */
    struct arena *labels;
    unsigned asked;
    bool pack;
    char question[120], launched[160];
    int (*start)(struct engine *, const struct launch *, struct err *); /* of the engine */
};
static struct fixture f;

static void on_ask(void *arg, const struct image_question *question)
{
    (void)arg;
    f.asked++;
    assert_int_equal(question->names.n, 1);
    f.pack = question->pack;
    snprintf(f.question, sizeof f.question, "%s", question->names.at[0]);
}

static int note_start(struct engine *engine, const struct launch *launch, struct err *err)
{
    snprintf(f.launched, sizeof f.launched, "%s", launch->tasks[0].image);
    return f.start(engine, launch, err);
}

static void before(struct world *w, struct ctl_config *config)
{
    struct fake *fake = &w->fake;
    config->ask_images = on_ask;
    if (fake->ops.start != note_start) {
        f.start = fake->ops.start;
        fake->ops.start = note_start;
    }
}

static int setup(void **state)
{
    f = (struct fixture){ .asked = 0 };
    world_init_with(&f.world, (struct world_hooks){ .before = before }, &f);
    f.world.code_all = FAKE_RUNS;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_fini(&f.world);
    return 0;
}

static void say(uint64_t job, struct image_progress news, uint32_t generation, const char *node)
{
    struct engine_sink sink = ctl_sink(f.world.ctl);
    news.digest = news.digest ? news.digest : "";
    news.problem = news.problem ? news.problem : "";
    const struct engine_fact fact = { .kind = FACT_IMAGE,
                                      .generation = { .job = job, .number = generation },
                                      .node = node,
                                      .image = &news };
    sink.fact(sink.arg, &fact);
    ctl_turn(f.world.ctl);
    world_run(&f.world);
}

static void answer(uint64_t job, const char *digest)
{
    say(job,
        (struct image_progress){ .step = *digest ? IMAGE_PINNED : IMAGE_FAILED,
                                 .name = NAME,
                                 .digest = digest,
                                 .problem = "nobody is there" },
        0, "");
}

static void on_done(void *arg, const struct ctl_answer *said)
{
    (void)arg;
    assert_null(said->err);
}

static void begin_anew(uint64_t job)
{
    const struct ctl_restart ask = { .owner = "ada", .job = job };
    ctl_restart(f.world.ctl, &ask, on_done, NULL);
    ctl_turn(f.world.ctl);
    f.launched[0] = '\0';
    world_run(&f.world);
}

static void test_launches_wait_for_the_digest(void **state)
{
    (void)state;
    uint64_t job = world_submit(&f.world, JOB);
    world_run(&f.world);
    assert_int_equal(f.asked, 1);
    assert_string_equal(f.question, NAME);
    assert_int_equal(f.world.fake.starts, 0);
    assert_non_null(strstr(world_reason(&f.world, job), "waits until the registry has said"));
    answer(job, FIRST);
    assert_string_equal(f.launched, BY(FIRST));
    assert_int_equal(world_state(&f.world, job), JOB_RUNNING);
    /* A later answer changes nothing but is told. */
    answer(job, OTHER);
    assert_int_equal(world_count(&f.world, job, "image"), 2);
    begin_anew(job);
    assert_string_equal(f.launched, BY(FIRST));
    assert_int_equal(f.asked, 1);
}

static void test_the_digest_outlives_the_server_and_its_question_does_not(void **state)
{
    (void)state;
    uint64_t job = world_submit(&f.world, JOB);
    world_run(&f.world);
    world_crash(&f.world);
    world_run(&f.world);
    assert_int_equal(f.asked, 2);
    assert_int_equal(f.world.fake.starts, 0);
    answer(job, FIRST);
    assert_string_equal(f.launched, BY(FIRST));
    world_crash(&f.world);
    world_run(&f.world);
    assert_int_equal(f.asked, 2);
    begin_anew(job);
    assert_string_equal(f.launched, BY(FIRST));
}

static void test_where_nobody_can_ask_the_first_pull_says(void **state)
{
    (void)state;
    uint64_t job = world_submit(&f.world, JOB);
    world_run(&f.world);
    answer(job, "");
    assert_string_equal(f.launched, NAME);
    const char *node = f.world.nodes[0].name;
    struct image_progress news = { .step = IMAGE_PINNED, .name = "host/other:1", .digest = OTHER };
    say(job, news, 1, node); /* none of its images */
    news.name = NAME;
    news.digest = "short";
    say(job, news, 1, node);
    assert_int_equal(world_count(&f.world, job, "image"), 1);
    news.digest = FIRST;
    say(job, news, 1, node);
    assert_int_equal(world_count(&f.world, job, "image"), 2);
    begin_anew(job);
    assert_string_equal(f.launched, BY(FIRST));
}

/* Of all nodes together one event some seconds, and the end of each. */
static void test_progress_is_few_events(void **state)
{
    (void)state;
    uint64_t job = world_submit(&f.world, JOB);
    world_run(&f.world);
    answer(job, FIRST);
    const char *node = f.world.nodes[0].name;
    struct image_progress news = { .step = IMAGE_FETCHES, .name = BY(FIRST), .digest = FIRST };
    for (unsigned i = 0; i < 10; i++) {
        news.bytes = i * 1000;
        news.total = 10000;
        news.took_ms = i * 100;
        say(job, news, 1, node);
    }
    assert_int_equal(world_count(&f.world, job, "image"), 2);
    world_pass(&f.world, 5000);
    say(job, news, 1, node);
    news.step = IMAGE_READY;
    say(job, news, 1, node);
    assert_int_equal(world_count(&f.world, job, "image"), 4);
}

static void add_machine(const char *name)
{
    struct engine_sink sink = ctl_sink(f.world.ctl);
    struct node_spec spec = { .name = name,
                              .address = name,
                              .host = name,
                              .gpu_type = "",
                              .cpu_milli = 1000,
                              .memory = 8ull << 30,
                              .disk = 1ull << 40 };
    pairs_set(&spec.labels, f.labels, "far", "1");
    const struct engine_fact up = { .kind = FACT_NODE_UP, .node = name, .spec = &spec };
    sink.fact(sink.arg, &up);
    ctl_turn(f.world.ctl);
}

/* Two tasks there are on two machines: the server fetches the image for both. */
static void test_machines_get_it_of_the_server(void **state)
{
    (void)state;
    f.labels = arena_create();
    add_machine("m1");
    add_machine("m2");
    uint64_t job = world_submit(&f.world, FAR);
    world_run(&f.world);
    answer(job, FIRST);
    assert_int_equal(f.asked, 2);
    assert_true(f.pack);
    assert_string_equal(f.question, BY(FIRST));
    assert_int_equal(f.world.fake.starts, 0);
    assert_non_null(strstr(world_reason(&f.world, job), "waits until the server has its image"));
    assert_null(answer_packed_image(f.world.ctl, f.labels, job, FIRST));
    const struct image_progress ready = { .step = IMAGE_READY, .name = BY(FIRST), .digest = FIRST };
    say(job, ready, 0, "");
    assert_string_equal(f.launched, BY(FIRST));
    const char *path = answer_packed_image(f.world.ctl, f.labels, job, FIRST);
    assert_non_null(path);
    assert_non_null(strstr(path, "/" IMAGES_PACKED "/" FIRST));
    assert_null(answer_packed_image(f.world.ctl, f.labels, job, OTHER));
    assert_null(answer_packed_image(f.world.ctl, f.labels, job + 1, FIRST));
    arena_destroy(f.labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_launches_wait_for_the_digest, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_the_digest_outlives_the_server_and_its_question_does_not, setup, teardown),
        cmocka_unit_test_setup_teardown(test_where_nobody_can_ask_the_first_pull_says, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_machines_get_it_of_the_server, setup, teardown),
        cmocka_unit_test_setup_teardown(test_progress_is_few_events, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
