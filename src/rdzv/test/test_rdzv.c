/* The life of a rendezvous, told as short lines: what each member was ordered, in order. Failures
 * and budgets, newcomers and losses, a leader that takes over, the node check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdzv/rdzv.h"

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#define MS(n) ((uint64_t)(n)*1000)

struct scene {
    struct rdzv *rdzv;
    struct buf log; /* "R1.0:0/2+0 " is member 1, round 0, rank 0 of 2, no restarts */
    struct rdzv_settings settings;
    uint64_t now_us;
    bool undecided;
    const char *role; /* of who joins next */
    struct buf roles; /* "1:0/4 " is member 1: its first rank is the first of 4 of its role */
    uint32_t guilty;  /* group rank of the first death, of the last END */
    char text[512];   /* of the last END or NOTE */
};

static void on_order(void *arg, const struct rdzv_order *order)
{
    struct scene *scene = arg;
    unsigned to = (unsigned)order->to;
    if (order->kind == RDZV_ORDER_ROUND)
        buf_addf(&scene->roles, "%u:%u/%u ", to, order->round.role_first, order->round.role_world);
    if (order->kind == RDZV_ORDER_ROUND)
        buf_addf(&scene->log, "R%u.%u:%u/%zu+%u ", to, order->round.round, order->round.group_rank,
                 (size_t)order->round.nodes, order->round.restarts);
    else if (order->kind == RDZV_ORDER_STOP)
        buf_addf(&scene->log, "S%u.%u ", to, order->stop.round);
    else if (order->kind == RDZV_ORDER_CHECK)
        buf_addf(&scene->log, "C%u.%u:%u/%zu ", to, order->check.round, order->check.index,
                 order->check.n);
    else if (order->kind == RDZV_ORDER_REFUSED)
        buf_addf(&scene->log, "X%u:%d ", to, (int)order->refused.why);
    else if (order->kind == RDZV_ORDER_NOTE)
        buf_addf(&scene->log, "N%u:%u ", to, (unsigned)order->note.about);
    if (order->kind == RDZV_ORDER_NOTE)
        (void)snprintf(scene->text, sizeof scene->text, "%s", order->note.text);
    if (order->kind != RDZV_ORDER_END)
        return;
    (void)snprintf(scene->text, sizeof scene->text, "%s", order->end.text);
    buf_addf(&scene->log, "E%u:%d ", to, (int)order->end.kind);
    scene->undecided = order->end.undecided;
    if (order->end.n_deaths > 0)
        scene->guilty = order->end.deaths[0].group_rank;
}

static void lead(struct scene *scene)
{
    static const struct rdzv_limits limits = { .beat_ms = 1000,
                                               .silence_ms = 2500,
                                               .resume_ms = 2000 };
    rdzv_destroy(scene->rdzv);
    scene->rdzv = rdzv_create(&limits, (struct rdzv_sink){ .order = on_order, .arg = scene });
}

static void open_scene(struct scene *scene, uint32_t min, uint32_t max)
{
    *scene = (struct scene){ .log = BUF_INIT(8192), .roles = BUF_INIT(8192), .now_us = MS(1000) };
    scene->settings = (struct rdzv_settings){ .min = min,
                                              .max = max,
                                              .node_unit = 1,
                                              .max_restarts = 1,
                                              .last_call_ms = 500,
                                              .join_ms = 5000,
                                              .exit_barrier_ms = 1000 };
    lead(scene);
}

static void close_scene(struct scene *scene)
{
    rdzv_destroy(scene->rdzv);
    buf_fini(&scene->log);
    buf_fini(&scene->roles);
}

static void join_with(struct scene *scene, uint64_t id, const struct rdzv_claim *claim)
{
    struct rdzv_join join = { .member = id,
                              .run_id = "run",
                              .node = "n",
                              .addr = "10.0.0.1",
                              .node_rank = RDZV_ANY_RANK,
                              .ranks = 2,
                              .settings = scene->settings,
                              .role = scene->role };
    if (claim)
        join.claim = *claim;
    rdzv_join(scene->rdzv, &join, scene->now_us);
}

static void join(struct scene *scene, uint64_t id)
{
    join_with(scene, id, NULL);
}

static void report(struct scene *scene, uint64_t id, uint32_t round, enum rdzv_outcome outcome,
                   uint64_t age_us)
{
    struct rdzv_death death = { .code = 1, .age_us = age_us };
    struct rdzv_report said = { .term = rdzv_term(scene->rdzv),
                                .round = round,
                                .outcome = outcome,
                                .deaths = { .at = &death, .n = outcome == RDZV_FAILED } };
    rdzv_report(scene->rdzv, id, &said, scene->now_us);
}

/* Deaths of one node in one report. */
static void report_deaths(struct scene *scene, uint64_t id, const struct rdzv_death *at, size_t n)
{
    struct rdzv_report said = { .term = rdzv_term(scene->rdzv),
                                .outcome = RDZV_FAILED,
                                .deaths = { .at = at, .n = n } };
    rdzv_report(scene->rdzv, id, &said, scene->now_us);
}

static void told(struct scene *scene, const char *expected)
{
    assert_string_equal(buf_str(&scene->log), expected);
    buf_clear(&scene->log);
}

static void pass(struct scene *scene, uint64_t ms)
{
    scene->now_us += MS(ms);
    for (uint64_t id = 1; id < 9; id++)
        rdzv_beat(scene->rdzv, id, scene->now_us);
    (void)rdzv_tick(scene->rdzv, scene->now_us);
}

static void test_failure_and_budget(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 2, 2);
    join(&scene, 1);
    told(&scene, "");
    join(&scene, 2);
    told(&scene, "R1.0:0/2+0 R2.0:1/2+0 ");
    report(&scene, 2, 0, RDZV_FAILED, 0);
    told(&scene, "S1.0 S2.0 ");
    join(&scene, 2);
    told(&scene, "");
    join(&scene, 1);
    told(&scene, "R1.1:0/2+1 R2.1:1/2+1 ");
    report(&scene, 2, 0, RDZV_FAILED, 0); /* of an old round */
    told(&scene, "");
    report(&scene, 2, 1, RDZV_FAILED, 0);
    told(&scene, "S1.1 S2.1 ");
    report(&scene, 1, 1, RDZV_FAILED, 500); /* told later: ages of two machines are not compared */
    join(&scene, 1);
    join(&scene, 2);
    told(&scene, "E1:2 E2:2 ");
    assert_int_equal(scene.guilty, 1);
    assert_false(scene.undecided);
    join(&scene, 1); /* its connection broke before it heard */
    join(&scene, 7);
    told(&scene, "E1:2 X7:6 ");
    close_scene(&scene);
}

/* Ranks are counted for each --role, in the order of group ranks. */
static void test_roles(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 4, 4);
    join(&scene, 1);
    scene.role = "reader";
    join(&scene, 2);
    scene.role = RDZV_ROLE;
    join(&scene, 3);
    scene.role = "reader";
    join(&scene, 4);
    assert_string_equal(buf_str(&scene.roles), "1:0/4 2:0/4 3:2/4 4:2/4 ");
    close_scene(&scene);
}

/* A cause of its own goes before the error of a collective, whichever was seen first; of equals,
 * one wake-up is a tie, and a later one never goes before an earlier one. */
static void test_who_was_first(void **state)
{
    (void)state;
    const struct rdzv_death peer = { .rank = 0, .code = 1, .of_peer = true, .wakeup = 5 };
    const struct rdzv_death own = { .rank = 1, .local_rank = 1, .code = 3, .wakeup = 5 };
    const struct rdzv_death killed = { .rank = 2, .local_rank = 2, .signal = 9, .wakeup = 5 };
    const struct rdzv_death later = { .rank = 1, .local_rank = 1, .signal = 9, .wakeup = 6 };
    const struct rdzv_death far = { .rank = 7, .code = 9, .wakeup = 5 };
    const struct rdzv_death ended = { .rank = 7, .code = 1, .stopped = true, .wakeup = 1 };
    const struct {
        struct rdzv_death here[3], there;
        size_t n;
        const char *text;
        bool undecided;
    } cases[] = {
        { { peer, own }, far, 2, "rank 1 on n exited with 3; no restart", false },
        { { peer, later }, ended, 2, "rank 1 on n was killed (SIGKILL); no restart", false },
        { { killed, later }, far, 2, "rank 2 on n was killed (SIGKILL); no restart", false },
        { { peer }, far, 1, "rank 7 on n exited with 9; no restart", false },
        { { peer }, ended, 1, "rank 0 on n exited with 1; no restart", false },
        { { own, peer, killed },
          far,
          3,
          "rank 1 on n exited with 3 and rank 2 on n was killed (SIGKILL), at the same moment; no",
          true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        const char *text = NULL;
        uint64_t member = 0;
        open_scene(&scene, 2, 2);
        scene.settings.max_restarts = 0;
        join(&scene, 1);
        join(&scene, 2);
        report_deaths(&scene, 1, cases[i].here, cases[i].n);
        assert_false(rdzv_root(scene.rdzv, &member, &text));
        report_deaths(&scene, 2, &cases[i].there, 1);
        join(&scene, 1);
        join(&scene, 2);
        if (strncmp(scene.text, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("%zu: %s", i, scene.text);
        assert_int_equal(scene.undecided, cases[i].undecided);
        assert_true(rdzv_root(scene.rdzv, &member, &text));
        assert_int_equal(member, i == 3 ? 2 : 1);
        close_scene(&scene);
    }
}

static void test_newcomer_and_loss(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 1, 3);
    join(&scene, 1);
    join(&scene, 2);
    told(&scene, "");
    pass(&scene, 500); /* nobody came in the last call */
    told(&scene, "R1.0:0/2+0 R2.0:1/2+0 ");
    join(&scene, 3);
    told(&scene, "S1.0 S2.0 ");
    report(&scene, 1, 0, RDZV_FAILED, 0); /* of being stopped: nobody pays */
    join(&scene, 1);
    join(&scene, 2);
    told(&scene, "R1.1:0/3+0 R2.1:1/3+0 R3.1:2/3+0 ");
    join(&scene, 4); /* more than max: waits */
    told(&scene, "");
    rdzv_lost(scene.rdzv, 1, "reset", scene.now_us);
    told(&scene, "S2.1 S3.1 ");
    join(&scene, 2);
    join(&scene, 3);
    told(&scene, "R2.2:0/3+0 R3.2:1/3+0 R4.2:2/3+0 ");
    scene.now_us += MS(2400);
    rdzv_beat(scene.rdzv, 2, scene.now_us);
    rdzv_beat(scene.rdzv, 3, scene.now_us);
    scene.now_us += MS(200);
    (void)rdzv_tick(scene.rdzv, scene.now_us); /* 4 fell silent */
    told(&scene, "S2.2 S3.2 ");
    close_scene(&scene);
}

/* Ranks of the others die of a node's loss, and may be the first to notice it. */
static void test_a_loss_is_nobodys_failure(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 1, 3);
    scene.settings.max_restarts = 0;
    join(&scene, 1);
    join(&scene, 2);
    join(&scene, 3);
    told(&scene, "R1.0:0/3+0 R2.0:1/3+0 R3.0:2/3+0 ");
    report(&scene, 1, 0, RDZV_FAILED, 0);
    told(&scene, "S1.0 S2.0 S3.0 ");
    join(&scene, 1);
    join(&scene, 2);
    rdzv_lost(scene.rdzv, 3, "its connection broke", scene.now_us);
    told(&scene, "R1.1:0/2+0 R2.1:1/2+0 ");

    struct rdzv_claim claim = {
        .term = 4, .round = 7, .running = true, .world_id = 77, .nodes = 2
    };
    lead(&scene); /* the lost one led */
    join_with(&scene, 1, &claim);
    report(&scene, 1, 7, RDZV_FAILED, 0);
    told(&scene, "S1.7 ");
    join(&scene, 1);
    told(&scene, "");
    rdzv_without(scene.rdzv, 1, "it fell silent", scene.now_us); /* no need to wait for it */
    told(&scene, "R1.8:0/1+0 ");
    report(&scene, 1, 8, RDZV_FAILED, 0);
    join(&scene, 1);
    told(&scene, "S1.8 E1:2 ");
    close_scene(&scene);
}

static void test_done_and_barrier(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 2, 2);
    join(&scene, 1);
    join(&scene, 2);
    buf_clear(&scene.log);
    report(&scene, 1, 0, RDZV_DONE, 0);
    rdzv_lost(scene.rdzv, 1, "reset", scene.now_us); /* it had done its part */
    told(&scene, "");
    report(&scene, 2, 0, RDZV_DONE, 0);
    told(&scene, "E2:1 ");
    close_scene(&scene);

    open_scene(&scene, 2, 2);
    join(&scene, 1);
    join(&scene, 2);
    buf_clear(&scene.log);
    report(&scene, 1, 0, RDZV_DONE, 0);
    pass(&scene, 999);
    told(&scene, "");
    pass(&scene, 1);
    told(&scene, "E1:1 ");
    report(&scene, 2, 0, RDZV_FAILED, 0); /* alone it is less than min */
    join(&scene, 2);
    told(&scene, "S2.0 E2:2 ");
    close_scene(&scene);
}

/* Of two to three nodes the third comes when the two have ended well: that is its end too. One that
 * must take part is refused. */
static void test_too_late(void **state)
{
    (void)state;
    struct scene scene;
    for (uint32_t min = 2; min <= 3; min++) {
        open_scene(&scene, min, 3);
        for (uint64_t id = 1; id <= min; id++)
            join(&scene, id);
        pass(&scene, 500);
        for (uint64_t id = 1; id <= min; id++)
            report(&scene, id, 0, RDZV_DONE, 0);
        buf_clear(&scene.log);
        join(&scene, 4);
        told(&scene, min == 2 ? "E4:1 " : "X4:6 ");
        close_scene(&scene);
    }
}

static void test_unit_and_refusals(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 2, 4);
    scene.settings.node_unit = 2;
    for (uint64_t id = 1; id <= 3; id++)
        join(&scene, id);
    pass(&scene, 500);
    told(&scene, "R1.0:0/2+0 R2.0:1/2+0 ");
    scene.settings.max = 6;
    join(&scene, 5);
    told(&scene, "X5:4 ");
    scene.settings.max = 4;
    join(&scene, 6);
    told(&scene, "S1.0 S2.0 ");
    close_scene(&scene);

    open_scene(&scene, 3, 3);
    join(&scene, 1);
    rdzv_expect(scene.rdzv, 2, 0, scene.now_us);
    told(&scene, "E1:3 ");
    close_scene(&scene);

    /* Who comes when there is room is waited for by those who are too few ... */
    open_scene(&scene, 3, 4);
    join(&scene, 1);
    join(&scene, 2);
    rdzv_expect(scene.rdzv, 2, 2, scene.now_us);
    told(&scene, "");
    rdzv_expect(scene.rdzv, 3, 1, scene.now_us);
    told(&scene, "");
    join(&scene, 3); /* ... and by nobody else */
    told(&scene, "R1.0:0/3+0 R2.0:1/3+0 R3.0:2/3+0 ");
    close_scene(&scene);
    open_scene(&scene, 3, 4);
    join(&scene, 1);
    rdzv_expect(scene.rdzv, 1, 2, scene.now_us);
    told(&scene, "");
    rdzv_expect(scene.rdzv, 1, 1, scene.now_us);
    told(&scene, "E1:3 ");
    close_scene(&scene);
    open_scene(&scene, 3, 3);
    join(&scene, 1);
    pass(&scene, 5000);
    told(&scene, "E1:4 ");
    close_scene(&scene);
}

static void test_take_over(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 1, 3);
    struct rdzv_claim claim = {
        .term = 4, .round = 7, .restarts = 1, .running = true, .world_id = 77, .nodes = 3
    };
    join_with(&scene, 1, &claim);
    assert_int_equal(rdzv_term(scene.rdzv), 5);
    claim.group_rank = 1;
    join_with(&scene, 2, &claim);
    told(&scene, "");
    struct rdzv_claim old = claim;
    old.round = 6;
    join_with(&scene, 9, &old); /* runs something older */
    told(&scene, "S9.6 ");
    pass(&scene, 2000); /* 3 does not come back */
    told(&scene, "S1.7 S2.7 ");
    join(&scene, 1);
    join(&scene, 2);
    told(&scene, "");
    join(&scene, 9);
    told(&scene, "R1.8:0/3+1 R2.8:1/3+1 R9.8:2/3+1 ");
    close_scene(&scene);
}

/* Whose ranks are done and whose round a newer one replaced says so when it is told to stop, in the
 * term that it has heard of meanwhile: that round does not come back, in which it would be told to
 * stop again and have nothing to answer. */
static void test_replaced_round_stays_replaced(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 2, 3);
    const struct rdzv_claim none = { .term = 2 };
    join_with(&scene, 3, &none);
    struct rdzv_claim older = { .term = 1, .done = true, .world_id = 5, .nodes = 2 };
    join_with(&scene, 1, &older);
    const struct rdzv_claim newer = { .term = 2, .world_id = 6, .nodes = 2 };
    join_with(&scene, 2, &newer);
    told(&scene, "S1.0 ");
    older.term = rdzv_term(scene.rdzv);
    join_with(&scene, 1, &older);
    pass(&scene, 2000); /* nobody else comes of either round */
    told(&scene, "R1.1:0/3+0 R2.1:1/3+0 R3.1:2/3+0 ");
    close_scene(&scene);
}

/* ---- the node check ---- */

static void checked(struct scene *scene, uint64_t id, uint32_t check, enum rdzv_check_result result,
                    uint64_t took_us)
{
    struct rdzv_check_report what = { .term = rdzv_term(scene->rdzv),
                                      .check = check,
                                      .result = result,
                                      .took_us = took_us,
                                      .figures = "matmul 2 ms",
                                      .why = result == RDZV_CHECK_OK ? "" : "no route" };
    rdzv_checked(scene->rdzv, id, &what, scene->now_us);
}

static void open_check(struct scene *scene, uint32_t min, uint32_t max)
{
    open_scene(scene, min, max);
    scene->settings.check = true;
    for (uint32_t id = 1; id <= max; id++)
        join(scene, id);
    buf_clear(&scene->log);
}

static void test_check_blames_alone(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, 2, 2);
    scene.settings.check = true;
    join(&scene, 1);
    join(&scene, 2);
    told(&scene, "C1.0:0/2 C2.0:1/2 ");
    checked(&scene, 1, 1, RDZV_CHECK_OK, 10);
    checked(&scene, 1, 1, RDZV_CHECK_OK, 10); /* again: ignored */
    told(&scene, "");
    checked(&scene, 2, 1, RDZV_CHECK_SELF_BAD, 0); /* its own fault: no second round */
    told(&scene, "E2:5 N1:2 E1:5 ");
    assert_string_equal(scene.text, "1 of 2 nodes failed the node check; 1 is left, and a round "
                                    "needs 2. n failed the node check: no route (matmul 2 ms)");
    close_scene(&scene);

    open_check(&scene, 1, 2); /* the one that is left goes on at once, and alone */
    checked(&scene, 2, 1, RDZV_CHECK_SELF_BAD, 0);
    checked(&scene, 1, 1, RDZV_CHECK_PAIR_BAD, 0); /* its partner failed: nobody is left to meet */
    told(&scene, "E2:5 N1:2 R1.0:0/1+0 ");
    join(&scene, 2);
    told(&scene, "X2:6 ");
    close_scene(&scene);
}

static void test_check_cannot_tell(void **state)
{
    (void)state;
    struct scene scene;
    open_check(&scene, 1, 2);
    for (uint32_t check = 1; check <= 2; check++) {
        checked(&scene, 1, check, RDZV_CHECK_PAIR_BAD, 0);
        checked(&scene, 2, check, RDZV_CHECK_PAIR_BAD, 0);
        told(&scene, check == 1 ? "C1.1:0/2 C2.1:1/2 " : "E1:5 N2:1 E2:5 ");
    }
    assert_non_null(strstr(scene.text, "cannot tell which one is at fault: no route"));
    assert_int_equal(rdzv_phase(scene.rdzv), RDZV_OVER);
    close_scene(&scene);
}

static void test_check_finds_one_of_four(void **state)
{
    (void)state;
    struct scene scene;
    open_check(&scene, 3, 4);
    for (uint64_t id = 1; id <= 4; id++)
        checked(&scene, id, 1, id < 3 ? RDZV_CHECK_PAIR_BAD : RDZV_CHECK_OK, 10 * id);
    told(&scene, "C1.1:0/2 C2.1:0/2 C3.1:1/2 C4.1:1/2 "); /* 3 with 2, 4 with 1 */
    for (uint64_t id = 1; id <= 4; id++)
        checked(&scene, id, 2, id == 1 || id == 4 ? RDZV_CHECK_PAIR_BAD : RDZV_CHECK_OK, 10 * id);
    told(&scene, "E1:5 N2:1 N3:1 N4:1 R2.0:0/3+0 R3.0:1/3+0 R4.0:2/3+0 ");
    close_scene(&scene);
}

static void test_check_names_stragglers(void **state)
{
    (void)state;
    struct scene scene;
    for (int exclude = 0; exclude < 2; exclude++) {
        open_scene(&scene, 2, 3);
        scene.settings.check = true;
        scene.settings.exclude_straggler = exclude;
        for (uint64_t id = 1; id <= 3; id++)
            join(&scene, id);
        for (uint32_t check = 1; check <= 2; check++)
            for (uint64_t id = 1; id <= 3; id++)
                checked(&scene, id, check, RDZV_CHECK_OK, id == 2 ? 90000 : 10000 + id);
        const char *orders = strstr(buf_str(&scene.log), "N1:2 ");
        assert_non_null(orders);
        assert_non_null(
            strstr(orders, exclude ? "N3:2 R1.0:0/2+0 R3.0:1/2+0 " : "N2:2 N3:2 R1.0:0/3+0 "));
        assert_int_equal(strstr(buf_str(&scene.log), "E2:5 ") != NULL, exclude);
        assert_non_null(strstr(scene.text, "90 ms where the median is 10 ms (matmul 2 ms)"));
        close_scene(&scene);
    }
}

/* A failure, a new leader: the same nodes, no check. A newcomer: all are checked. */
static void test_check_only_of_new_nodes(void **state)
{
    (void)state;
    struct scene scene;
    open_check(&scene, 2, 3);
    for (uint64_t id = 1; id <= 3; id++)
        checked(&scene, id, 1, RDZV_CHECK_OK, 10);
    told(&scene, "R1.0:0/3+0 R2.0:1/3+0 R3.0:2/3+0 ");
    report(&scene, 2, 0, RDZV_FAILED, 0);
    for (uint64_t id = 1; id <= 3; id++)
        join(&scene, id);
    told(&scene, "S1.0 S2.0 S3.0 R1.1:0/3+1 R2.1:1/3+1 R3.1:2/3+1 ");
    rdzv_lost(scene.rdzv, 3, "reset", scene.now_us);
    join(&scene, 1);
    join(&scene, 2);
    told(&scene, "S1.1 S2.1 R1.2:0/2+1 R2.2:1/2+1 ");
    lead(&scene);
    struct rdzv_claim claim = {
        .term = 4, .round = 2, .restarts = 1, .running = true, .world_id = 77, .nodes = 2
    };
    join_with(&scene, 1, &claim);
    claim.group_rank = 1;
    join_with(&scene, 2, &claim);
    report(&scene, 1, 2, RDZV_FAILED, 0);
    join(&scene, 1);
    join(&scene, 2);
    told(&scene, "S1.2 S2.2 R1.3:0/2+2 R2.3:1/2+2 ");
    join(&scene, 8);
    join(&scene, 1);
    join(&scene, 2);
    told(&scene, "S1.3 S2.3 C1.0:0/3 C2.0:1/3 C8.0:2/3 ");
    close_scene(&scene);
}

/* Who never answers is out after the time that a check may take, and the others go on. */
static void test_check_has_an_end(void **state)
{
    (void)state;
    struct scene scene;
    open_check(&scene, 1, 2);
    checked(&scene, 1, 1, RDZV_CHECK_PAIR_BAD, 0);
    pass(&scene, 329999);
    told(&scene, "");
    pass(&scene, 1);
    told(&scene, "E2:5 N1:2 R1.0:0/1+0 ");
    assert_string_equal(scene.text, "n failed the node check: no answer within 330 s");
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_and_budget),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_who_was_first),
        cmocka_unit_test(test_newcomer_and_loss),
        cmocka_unit_test(test_a_loss_is_nobodys_failure),
        cmocka_unit_test(test_done_and_barrier),
        cmocka_unit_test(test_too_late),
        cmocka_unit_test(test_unit_and_refusals),
        cmocka_unit_test(test_take_over),
        cmocka_unit_test(test_replaced_round_stays_replaced),
        cmocka_unit_test(test_check_blames_alone),
        cmocka_unit_test(test_check_cannot_tell),
        cmocka_unit_test(test_check_finds_one_of_four),
        cmocka_unit_test(test_check_names_stragglers),
        cmocka_unit_test(test_check_only_of_new_nodes),
        cmocka_unit_test(test_check_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
