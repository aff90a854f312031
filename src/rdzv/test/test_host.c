/* A host with launchers that the test plays: who speaks over which connection, who may come again
 * and until when, whose silence is forgiven. What each connection is told is a list of short words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdzv/host.h"

#include "base/mem.h"

#include <string.h>

#define MS(n) ((uint64_t)(n)*1000)

struct scene {
    struct rdzv_host *host;
    struct arena *arena;
    uint64_t now_us;
    struct buf log; /* "R11:1 " is a round, told over connection 11 to member 1; "-11 " replaced */
    uint64_t about; /* tag of whom the last news was about */
    int losses;     /* that were news */
};

static void on_order(void *arg, const struct rdzv_participant *to, const struct rdzv_order *order)
{
    static const char letters[] = "?WRCSEXN";
    struct scene *scene = arg;
    if (order->kind != RDZV_ORDER_WELCOME)
        buf_addf(&scene->log, "%c%u:%u ", letters[order->kind], (unsigned)to->conn,
                 (unsigned)to->id);
}

static void on_news(void *arg, const struct rdzv_participant *about, const struct rdzv_notice *news)
{
    struct scene *scene = arg;
    scene->about = about ? about->tag : 0;
    scene->losses += news->kind == RDZV_NOTICE_LOST;
}

static void on_replaced(void *arg, uint64_t conn)
{
    buf_addf(&((struct scene *)arg)->log, "-%u ", (unsigned)conn);
}

static void open_host(struct scene *scene, uint32_t silence_ms)
{
    const struct rdzv_limits limits = { .beat_ms = 1000,
                                        .silence_ms = silence_ms,
                                        .resume_ms = 2000 };
    scene->host = rdzv_host_create(
        &limits, (struct rdzv_host_sink){
                     .order = on_order, .news = on_news, .replaced = on_replaced, .arg = scene });
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    scene->arena = arena_create();
    scene->now_us = MS(1000);
    buf_init(&scene->log, 4096);
    open_host(scene, 0);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    rdzv_host_destroy(scene->host);
    arena_destroy(scene->arena);
    buf_fini(&scene->log);
    free(scene);
    return 0;
}

/* Connection and tag are made of the member's number: 11, 12 ... and 101, 102 ... */
static int join_over(struct scene *scene, uint64_t conn, uint64_t member)
{
    struct rdzv_join join = { .member = member,
                              .run_id = "run",
                              .node = "n",
                              .addr = "a",
                              .node_rank = RDZV_ANY_RANK,
                              .ranks = 1,
                              .settings = { .min = 1,
                                            .max = 2,
                                            .node_unit = 1,
                                            .last_call_ms = 60000,
                                            .join_ms = 60000,
                                            .exit_barrier_ms = 1000 } };
    return rdzv_host_join(scene->host, conn, 100 + member, &join, scene->now_us);
}

static void form(struct scene *scene)
{
    assert_int_equal(join_over(scene, 11, 1), 0);
    assert_int_equal(join_over(scene, 12, 2), 0);
    assert_string_equal(buf_str(&scene->log), "R11:1 R12:2 ");
    buf_clear(&scene->log);
}

static int say(struct scene *scene, uint64_t conn, const struct buf *frames)
{
    struct rdzv_frame_data frame;
    size_t used;
    assert_int_equal(rdzv_next(frames->data, frames->len, &frame, &used), 1);
    return rdzv_host_hear(scene->host, conn, &frame, scene->arena, scene->now_us);
}

static int report(struct scene *scene, uint64_t conn, enum rdzv_outcome outcome)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct rdzv_report message = { .term = rdzv_term(rdzv_host_rendezvous(scene->host)),
                                   .outcome = outcome };
    rdzv_put(&out, &message);
    return say(scene, conn, &out);
}

static void members_are_told_over_their_connections(void **state)
{
    struct scene *scene = *state;
    form(scene);
    assert_int_equal(rdzv_host_count(scene->host), 2);
    assert_int_equal(rdzv_host_at(scene->host, 12)->id, 2);
    assert_int_equal(rdzv_host_member(scene->host, 2)->tag, 102);
    assert_int_equal(report(scene, 11, RDZV_FAILED), 0);
    assert_string_equal(buf_str(&scene->log), "S11:1 S12:2 ");
    assert_int_equal(report(scene, 13, RDZV_FAILED), -1); /* nobody has joined there */
    AUTO_BUF struct buf out = BUF_INIT(4096);
    rdzv_put_as(&out, RDZV_FRAME_EVENT, &(struct rdzv_event){ "type", "text" });
    assert_int_equal(say(scene, 11, &out), -1); /* not for a rendezvous */
}

static void one_connection_is_one_member(void **state)
{
    struct scene *scene = *state;
    form(scene);
    assert_int_equal(join_over(scene, 11, 3), -1);
    assert_int_equal(rdzv_host_count(scene->host), 2);
    assert_int_equal(rdzv_host_at(scene->host, 11)->id, 1);
}

static void a_connection_that_ends_loses_its_member(void **state)
{
    struct scene *scene = *state;
    form(scene);
    rdzv_host_closed(scene->host, 13, "it never joined", scene->now_us);
    rdzv_host_closed(scene->host, 11, "it is gone", scene->now_us);
    assert_string_equal(buf_str(&scene->log), "S12:2 ");
    assert_int_equal(scene->losses, 1);
    assert_int_equal(scene->about, 101);
    assert_null(rdzv_host_member(scene->host, 1));
    assert_null(rdzv_host_at(scene->host, 11));
    buf_clear(&scene->log);
    rdzv_host_lose(scene->host, 2, "its task has ended", scene->now_us);
    assert_null(rdzv_host_at(scene->host, 12));
    assert_int_equal(rdzv_host_count(scene->host), 0);
}

static void another_connection_replaces_the_former(void **state)
{
    struct scene *scene = *state;
    form(scene);
    assert_int_equal(join_over(scene, 21, 1), 0);
    assert_non_null(strstr(buf_str(&scene->log), "-11 "));
    assert_null(rdzv_host_at(scene->host, 11));
    assert_int_equal(rdzv_host_member(scene->host, 1)->conn, 21);
    rdzv_host_closed(scene->host, 11, "it was closed then", scene->now_us);
    assert_int_equal(scene->losses, 0);
}

/* An agent's connection broke; its launchers are there still. */
static void who_was_cut_off_may_come_again(void **state)
{
    struct scene *scene = *state;
    form(scene);
    rdzv_host_cut(scene->host, 11, MS(5000));
    rdzv_host_cut(scene->host, 12, MS(5000));
    scene->now_us = MS(4999);
    assert_int_equal(rdzv_host_tick(scene->host, scene->now_us), MS(5000));
    assert_int_equal(scene->losses, 0);
    assert_int_equal(join_over(scene, 21, 1), 0);
    assert_int_equal(rdzv_host_tick(scene->host, scene->now_us), MS(5000));
    scene->now_us = MS(5000);
    assert_true(rdzv_host_tick(scene->host, scene->now_us) > MS(5000));
    assert_int_equal(scene->losses, 1); /* the other one did not */
    assert_null(rdzv_host_member(scene->host, 2));
    assert_int_equal(rdzv_host_member(scene->host, 1)->conn, 21);
}

static void one_that_is_over_remembers_who_was_there(void **state)
{
    struct scene *scene = *state;
    form(scene);
    assert_int_equal(report(scene, 11, RDZV_FAILED), 0); /* and no restart is left */
    assert_int_equal(join_over(scene, 11, 1), 0);
    assert_int_equal(join_over(scene, 12, 2), 0);
    assert_int_equal(rdzv_phase(rdzv_host_rendezvous(scene->host)), RDZV_OVER);
    rdzv_host_closed(scene->host, 12, "it has ended", scene->now_us);
    assert_int_equal(rdzv_host_member(scene->host, 2)->conn, 0);
    assert_true(rdzv_host_tick(scene->host, MS(60000)) == UINT64_MAX);
    assert_non_null(rdzv_host_member(scene->host, 2));
}

static void it_says_whether_it_failed(void **state)
{
    struct scene *scene = *state;
    form(scene);
    assert_int_equal(report(scene, 11, RDZV_DONE), 0);
    assert_int_equal(report(scene, 12, RDZV_DONE), 0);
    assert_string_equal(buf_str(&scene->log), "E11:1 E12:2 ");
    assert_false(rdzv_host_failed(scene->host));
    rdzv_host_destroy(scene->host);
    buf_clear(&scene->log);
    open_host(scene, 0);
    form(scene);
    assert_int_equal(report(scene, 11, RDZV_FAILED), 0);
    assert_int_equal(join_over(scene, 11, 1), 0);
    assert_int_equal(join_over(scene, 12, 2), 0);
    assert_true(rdzv_host_failed(scene->host)); /* no restart is left */
}

static void the_same_expectation_is_told_once(void **state)
{
    struct scene *scene = *state;
    assert_true(rdzv_host_expect(scene->host, 1, 0, scene->now_us));
    assert_false(rdzv_host_expect(scene->host, 1, 0, scene->now_us));
    assert_int_equal(join_over(scene, 11, 1), 0);
    assert_string_equal(buf_str(&scene->log), "R11:1 "); /* the second one is not waited for */
}

static void who_slept_itself_forgives_silence(void **state)
{
    struct scene *scene = *state;
    rdzv_host_destroy(scene->host);
    open_host(scene, 2500);
    form(scene);
    uint64_t due = rdzv_host_tick(scene->host, scene->now_us);
    assert_true(due <= scene->now_us + MS(2500));
    scene->now_us += MS(60000); /* it was stopped */
    due = rdzv_host_tick(scene->host, scene->now_us);
    assert_int_equal(scene->losses, 0);
    scene->now_us = due - 1;
    rdzv_host_beat(scene->host, 1, scene->now_us);
    scene->now_us = due + MS(1);
    (void)rdzv_host_tick(scene->host, scene->now_us);
    assert_int_equal(scene->losses, 1); /* it was not now */
    assert_non_null(rdzv_host_member(scene->host, 1));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(members_are_told_over_their_connections),
        TEST(one_connection_is_one_member),
        TEST(a_connection_that_ends_loses_its_member),
        TEST(another_connection_replaces_the_former),
        TEST(who_was_cut_off_may_come_again),
        TEST(one_that_is_over_remembers_who_was_there),
        TEST(it_says_whether_it_failed),
        TEST(the_same_expectation_is_told_once),
        TEST(who_slept_itself_forgives_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
