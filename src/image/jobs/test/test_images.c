/* Images of a job without a core: who is asked and how often, what its row keeps of the answer, and
 * which jobs' images come early. */
#include "image/jobs/images.h"

#include "base/mem.h"
#include "image/jobs/early_images.h"
#include "image/jobs/user_dirs.h"
#include "job/account.h"
#include "sched/cluster.h"
#include "store/store.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#define NAME  "host/team/x:1"
#define FIRST "1111111111111111111111111111111111111111111111111111111111111111"
#define OTHER "2222222222222222222222222222222222222222222222222222222222222222"
#define JOB                                                                                        \
    "{\"name\":\"one\",\"roles\":{\"w\":{\"run\":\"x\",\"image\":\"" NAME "\","                    \
    "\"resources\":{\"cpu\":1}}}}"

struct fix {
    struct arena *arena, *scratch;
    struct store *store;
    struct live *live;
    struct cluster *cluster;
    struct live_job *job;
    struct images *images;
    unsigned asked, kept, events, fetched, dropped;
    bool replays;
    uint64_t now;
};
static struct fix f;

static uint64_t now(const void *arg)
{
    (void)arg;
    return f.now;
}

static bool replays(const void *arg)
{
    (void)arg;
    return f.replays;
}

static const struct job_spec *spec(void *arg, struct live_job *job)
{
    (void)arg;
    return job->spec;
}

static int row(void *arg, struct arena *arena, uint64_t id, struct job_row *out)
{
    (void)arg;
    (void)arena;
    *out = live_find(f.live, id)->row;
    return 0;
}

static void touch(void *arg, struct live_job *job)
{
    (void)arg;
    assert_ptr_equal(job, f.job);
}

static void keep(void *arg, struct live_job *job)
{
    (void)arg;
    (void)job;
    f.kept++;
}

static void event(void *arg, const struct live_job *job, struct text_node *body)
{
    (void)arg;
    (void)job;
    assert_string_equal(text_word(body, "image"), NAME);
    f.events++;
}

static void on_ask(void *arg, const struct image_question *question)
{
    (void)arg;
    assert_int_equal(question->names.n, 1);
    assert_string_equal(question->names.at[0], NAME);
    f.asked++;
}

static void on_fetch(void *arg, const struct image_wish *wish)
{
    (void)arg;
    assert_string_equal(wish->name, NAME "@sha256:" FIRST);
    assert_string_equal(wish->store, "/s/images");
    f.fetched++;
}

static void on_drop(void *arg, uint64_t job)
{
    (void)arg;
    assert_true(job == f.job->row.id);
    f.dropped++;
}

static int setup(void **state)
{
    const struct job_row queued = {
        .id = 7, .generation = 1, .tasks = 1, .state = JOB_QUEUED, .name = "one", .owner = "me"
    };
    const struct node_spec node = { .name = "vm",
                                    .host = "vm",
                                    .address = "127.0.0.1",
                                    .cpu_milli = 4000,
                                    .memory = UINT64_C(8) << 30,
                                    .gpu_type = "" };
    struct report report;
    struct err err;
    (void)state;
    f = (struct fix){ .arena = arena_create(), .scratch = arena_create(), .live = live_create() };
    f.now = 1000;
    f.store = store_open_memory((struct store_tap){ .event = NULL }, &err);
    f.cluster = cluster_create(20000, 20100, 20000);
    cluster_set_up(f.cluster, cluster_put(f.cluster, &node), true);
    report_init(&report, f.arena);
    f.job = live_add(f.live, &queued);
    f.job->spec = job_decode(f.arena, json_parse(f.arena, JOB, strlen(JOB), 0, &report), &report);
    assert_non_null(f.job->spec);
    live_make_tasks(f.job);
    f.job->notes.runtime = RUNTIME_BWRAP;
    live_wait_add(f.live, f.job);
    f.images = images_create(&(struct images_config){ .store = f.store,
                                                      .live = f.live,
                                                      .cluster = f.cluster,
                                                      .scratch = f.scratch,
                                                      .state_dir = "/s",
                                                      .users_dir = "/u",
                                                      .ask = on_ask,
                                                      .fetch_early = on_fetch,
                                                      .drop_early = on_drop,
                                                      .server = { .now = now,
                                                                  .replays = replays,
                                                                  .spec = spec,
                                                                  .row = row,
                                                                  .touch = touch,
                                                                  .keep = keep,
                                                                  .event = event } });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    images_destroy(f.images);
    live_destroy(f.live);
    cluster_destroy(f.cluster);
    store_close(f.store);
    arena_destroy(f.scratch);
    arena_destroy(f.arena);
    return 0;
}

static void answer(enum image_step step, const char *digest)
{
    struct image_progress news = { .step = step, .name = NAME, .digest = digest, .problem = "" };
    images_answer(f.images,
                  &(struct engine_fact){ .generation = { .job = 7 }, .node = "", .image = &news });
}

static void a_name_is_asked_once(void **state)
{
    const struct role *role = &f.job->spec->roles[0];
    (void)state;
    assert_string_equal(images_of_launch(f.job, f.arena, role), NAME);
    assert_non_null(images_wait(f.images, f.job));
    assert_non_null(images_wait(f.images, f.job));
    assert_int_equal(f.asked, 1);
    answer(IMAGE_PINNED, FIRST);
    assert_null(images_wait(f.images, f.job));
    assert_int_equal(f.kept, 1);
    assert_string_equal(images_of_launch(f.job, f.arena, role), NAME "@sha256:" FIRST);
    answer(IMAGE_PINNED, OTHER); /* is said, and changes nothing */
    assert_int_equal(f.kept, 1);
    assert_int_equal(f.events, 2);
    assert_string_equal(images_of_launch(f.job, f.arena, role), NAME "@sha256:" FIRST);
    f.job->notes.runtime = RUNTIME_HOST;
    assert_null(images_of_launch(f.job, f.arena, role));
}

static void what_was_packed_has_a_path(void **state)
{
    (void)state;
    assert_null(images_packed(f.images, f.arena, 7, FIRST));
    answer(IMAGE_READY, FIRST);
    assert_string_equal(images_packed(f.images, f.arena, 7, FIRST), "/s/" IMAGES_PACKED "/" FIRST);
    assert_null(images_packed(f.images, f.arena, 7, OTHER));
    assert_null(images_packed(f.images, f.arena, 8, FIRST));
}

static void note_wait(enum wait_why why)
{
    early_images_begin(f.images);
    early_images_note(f.images, f.job, &(struct wait_reason){ .why = why });
    early_images_go_on(f.images);
}

static void the_next_ones_come_early(void **state)
{
    (void)state;
    pairs_set(&f.job->notes.images, f.job->arena, NAME, FIRST);
    note_wait(WAIT_PENDING); /* not for room */
    assert_int_equal(f.fetched, 0);
    note_wait(WAIT_RESOURCE);
    note_wait(WAIT_RESOURCE);
    assert_int_equal(f.fetched, 1);
    f.job->row.state = JOB_SUSPENDED;
    early_images_go_on(f.images);
    assert_int_equal(f.dropped, 1);
}

static void a_recording_asks_nobody(void **state)
{
    struct images *quiet;
    (void)state;
    f.replays = true;
    quiet = images_create(&(struct images_config){
        .scratch = f.scratch, .server = { .now = now, .replays = replays, .spec = spec } });
    assert_non_null(images_wait(quiet, f.job)); /* until its answer is read */
    images_destroy(quiet);
}

static void accounts_have_their_own(void **state)
{
    const struct user_dirs dirs = { .state_dir = "/s", .users_dir = "/u" };
    const struct account ada = { .name = "ada", .ids = { .uid = 1000 } };
    struct err err;
    (void)state;
    assert_string_equal(user_dirs_images(&dirs, f.arena, NULL), "/s/images");
    assert_string_equal(user_dirs_images(&dirs, f.arena, &ada), "/u/images/1000");
    assert_int_equal(user_dirs_make_images(&dirs, NULL, &err), 0); /* the server's own is there */
}

int main(void)
{
#define TEST(of) cmocka_unit_test_setup_teardown(of, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_name_is_asked_once),     TEST(what_was_packed_has_a_path),
        TEST(the_next_ones_come_early), TEST(a_recording_asks_nobody),
        TEST(accounts_have_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
