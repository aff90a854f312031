/* Usage by itself, without a core: how it decays, that it adds up, who is charged, what stays after
 * another declaration, what forecasts may do with a copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "queue/queues.h"
#include "queue/test/quota.h"

#include "base/mem.h"

#include <string.h>

#define HOUR 3600000ull
#define WEEK (7 * 24 * HOUR)
#define Q60  (UINT64_C(1) << 60)

struct desk { /* queues "default" and "a" of a cluster with four devices */
    struct cluster *cluster;
    struct catalogue *catalogue;
    struct queues *queues;
    uint64_t now;
};

static int setup(void **state)
{
    static struct desk d;
    d = (struct desk){ .cluster = cluster_create(20000, 20999, 20000),
                       .catalogue = catalogue_create(),
                       .now = WEEK };
    const struct node_spec node = { .name = "n",
                                    .address = "127.0.0.2",
                                    .host = "h",
                                    .cpu_milli = 32000,
                                    .memory = 256 * GIB,
                                    .gpus = 4,
                                    .gpu_type = "" };
    cluster_set_up(d.cluster, cluster_put(d.cluster, &node), true);
    catalogue_put(d.catalogue, &(struct entry){ .kind = ENTRY_QUOTA, .name = "a" });
    d.queues = queues_create(&(struct queues_config){ .cluster = d.cluster });
    queues_declare(d.queues, d.catalogue);
    *state = &d;
    return 0;
}

static int teardown(void **state)
{
    struct desk *d = *state;
    queues_destroy(d->queues);
    catalogue_destroy(d->catalogue);
    cluster_destroy(d->cluster);
    return 0;
}

static void near(uint64_t is, uint64_t wanted, uint64_t by)
{
    if (is + by < wanted || is > wanted + by)
        fail_msg("%llu is not within %llu of %llu", (unsigned long long)is, (unsigned long long)by,
                 (unsigned long long)wanted);
}

static void hold(struct desk *d, uint64_t job, const char *queue, uint64_t gpu_milli)
{
    const struct queue_charge all = {
        .job = job, .queue = queue, .owner = "ada", .held = { .gpu_milli = gpu_milli }
    };
    queues_charge(d->queues, &all, d->now);
}

static uint32_t user(struct desk *d, const char *queue, const char *owner)
{
    return queues_user(d->queues, queues_position(d->queues, queue), owner, d->now);
}

static uint64_t usage(struct desk *d, const char *queue)
{
    return queues_usage(d->queues, user(d, queue, "ada"), d->now);
}

static void usage_halves(void **state)
{
    uint64_t last = Q60;
    (void)state;
    assert_true(queues_decay(0, WEEK) == Q60);
    assert_true(queues_decay(1000 * WEEK, WEEK) == 0);
    assert_true(queues_decay(1000 * WEEK, UINT64_MAX) == Q60);
    near(queues_decay(WEEK, WEEK), Q60 / 2, 2);
    near(queues_decay(3 * WEEK, WEEK), Q60 / 8, 2);
    near(queues_decay(WEEK / 2, WEEK), 815238614083298888ull, 1000); /* 2^59.5 */
    for (uint64_t ms = 1; ms < 2 * WEEK; ms = ms * 3 / 2 + 1) {
        assert_true(queues_decay(ms, WEEK) < last);
        last = queues_decay(ms, WEEK);
    }
}

/* Against the same by small steps and real numbers. */
static void usage_adds_up_however_often_it_changes(void **state)
{
    struct desk *d = *state;
    uint64_t seed = 424242;
    long double wanted = 0, share = 0;
    const uint64_t step = 60000;
    const long double left = (long double)queues_decay(step, WEEK) / (long double)Q60;
    for (int i = 0; i < 600; i++) {
        if (next_random(&seed) % 3 == 0) {
            const unsigned gpus = (unsigned)(next_random(&seed) % 3);
            hold(d, 1, "default", 1000ull * gpus);
            share = 250000.0L * gpus;
        }
        d->now += step;
        wanted = wanted * left + share * step / (long double)HOUR;
        if (i % 100 == 99)
            near(usage(d, "default"), (uint64_t)wanted, (uint64_t)wanted / 1000 + 10);
    }
    assert_true(wanted > 500000);
}

static void each_job_is_charged_where_it_began(void **state)
{
    struct desk *d = *state;
    hold(d, 1, "a", 1000);
    hold(d, 2, "nobody declared that", 2000);
    hold(d, 1, "default", 2000); /* its queue has another name now: the user stays */
    assert_int_equal(queues_user_at(d->queues, user(d, "a", "ada")).held.gpu_milli, 2000);
    assert_int_equal(queues_user_at(d->queues, user(d, "default", "ada")).held.gpu_milli, 2000);
    hold(d, 1, "a", 0);
    hold(d, 2, "a", 0);
    hold(d, 3, "a", 0); /* held nothing before either */
    assert_int_equal(queues_user_at(d->queues, user(d, "a", "ada")).held.gpu_milli, 0);
    assert_int_equal(queues_user_at(d->queues, user(d, "default", "ada")).held.gpu_milli, 0);
    assert_int_equal(queues_user_count(d->queues), 2);
}

/* What a loaded job holds counts from when its user's row was written, not from now. */
static void a_loaded_job_held_it_before(void **state)
{
    struct desk *d = *state;
    const uint32_t ada = user(d, "default", "ada");
    const struct queue_charge all = { 1, "default", "ada", { .gpu_milli = 1000 } };
    d->now += HOUR;
    queues_resume(d->queues, &all, d->now);
    near(queues_usage(d->queues, ada, d->now), 250000, 1000);
}

static void users_outlive_their_queue(void **state)
{
    struct desk *d = *state;
    const uint32_t before = queues_version(d->queues), ada = user(d, "a", "ada");
    struct catalogue *less = catalogue_create();
    hold(d, 1, "a", 1000);
    d->now += HOUR;
    queues_declare(d->queues, less);
    assert_true(queues_version(d->queues) != before);
    assert_int_equal(queues_position(d->queues, "a"), queues_position(d->queues, "default"));
    near(queues_usage(d->queues, ada, d->now), 250000, 1000);
    queues_declare(d->queues, d->catalogue);
    assert_int_equal(user(d, "a", "ada"), ada);
    assert_int_equal(queues_user_at(d->queues, ada).queue, queues_position(d->queues, "a"));
    catalogue_destroy(less);
}

static void a_forecast_changes_nothing(void **state)
{
    struct desk *d = *state;
    struct arena *arena = arena_create();
    const struct vector two = { .gpu_milli = 2000 };
    const uint32_t ada = user(d, "default", "ada");
    hold(d, 1, "default", 1000);
    struct queues_forecast *ahead = queues_ahead(d->queues, arena);
    queues_ahead_hold(ahead, ada, &two, true, d->now);
    near(queues_ahead_at(ahead, ada, d->now + HOUR), 750000, 3000);
    queues_ahead_hold(ahead, ada, &two, false, d->now + HOUR);
    near(queues_ahead_at(ahead, ada, d->now + 2 * HOUR), 1000000, 6000);
    near(queues_usage(d->queues, ada, d->now + HOUR), 250000, 1000);
    assert_int_equal(queues_ahead_at(ahead, ada + 1, d->now), 0); /* came later */
    arena_destroy(arena);
}

/* ---- bounds ---- */

static void more_than_the_queue_ever_gives_is_refused(void **state)
{
    struct desk *d = *state;
    struct arena *arena = arena_create();
    struct report report;
    struct role role = { .name = "w", .replicas = 3, .resources = { .gpu_milli = 1000 } };
    struct job_spec job = { .name = "j", .queue = "a", .roles = &role, .n_roles = 1 };
    struct entry two = { .kind = ENTRY_QUOTA, .name = "a" };
    two.maximum.gpu = (struct portion){ .given = true, .value = 2000 };
    catalogue_put(d->catalogue, &two);
    queues_declare(d->queues, d->catalogue);
    report_init(&report, arena);
    assert_int_equal(queues_check_job(d->queues, &job, &report), -1);
    assert_string_equal(report.at[0].what,
                        "asks for 3 gpu and can never start in \"a\": the maximum of this queue is "
                        "2 gpu");
    role.replicas = 2;
    report_init(&report, arena);
    assert_int_equal(queues_check_job(d->queues, &job, &report), 0);
    job.queue = "default";
    role.replicas = 300; /* no bound is said there: that is the planner's to refuse */
    assert_int_equal(queues_check_job(d->queues, &job, &report), 0);
    arena_destroy(arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(usage_halves),
        TEST(usage_adds_up_however_often_it_changes),
        TEST(each_job_is_charged_where_it_began),
        TEST(a_loaded_job_held_it_before),
        TEST(users_outlive_their_queue),
        TEST(a_forecast_changes_nothing),
        TEST(more_than_the_queue_ever_gives_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
