/* A leader with several launchers over real sockets and the real machine: rounds form, members are
 * lost, callers are held or sent on, leaders yield to later terms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launch/leader.h"
#include "launch/rdzv_listener.h"

#define PATIENCE_MS 120000u
#define CALLERS     3
#define OWN         100u

struct heard { /* by one member */
    int n[RDZV_FRAME_N];
    struct arena *memory;
    struct rdzv_round round;
    struct rdzv_stop stop;
    struct rdzv_leader_address moved;
    struct rdzv_refused refused;
    struct conn *conn;
    int lost;
};
struct scene {
    uv_loop_t loop;
    uv_timer_t alarm;
    struct settings settings;
    struct leader *leader;
    struct heard own, callers[CALLERS];
    int moved, alone;
};

static int hear(struct heard *heard, const struct rdzv_frame_data *frame)
{
    heard->n[frame->kind]++;
    switch (frame->kind) {
    case RDZV_FRAME_ROUND: return rdzv_get(frame, heard->memory, &heard->round);
    case RDZV_FRAME_STOP: return rdzv_get(frame, heard->memory, &heard->stop);
    case RDZV_FRAME_MOVED: return rdzv_get(frame, heard->memory, &heard->moved);
    case RDZV_FRAME_REFUSED: return rdzv_get(frame, heard->memory, &heard->refused);
    default: return 0;
    }
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct rdzv_frame_data said = rdzv_frame_of(frame);
    (void)conn;
    return hear(arg, &said);
}

static void on_lost(void *arg, struct conn *conn, const char *why)
{
    struct heard *heard = arg;
    (void)why;
    if (heard->conn == conn)
        heard->conn = NULL;
    heard->lost++;
}

static void on_own_order(void *arg, const struct rdzv_frame_data *frame)
{
    assert_int_equal(hear(&((struct scene *)arg)->own, frame), 0);
}

static void on_moved(void *arg, const struct rdzv_leader_address *moved)
{
    (void)moved;
    ((struct scene *)arg)->moved++;
}

static void on_alone(void *arg)
{
    ((struct scene *)arg)->alone++;
}

static void on_alarm(uv_timer_t *timer)
{
    (void)timer;
}

static void wait_for(struct scene *scene, const int *value, int want)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (*value < want) {
        if (clock_mono_ms() > until)
            fail_msg("waited in vain for %d, have %d", want, *value);
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    }
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    struct err err;
    struct listen_place place = { .addr = "127.0.0.1" };
    struct leader_sink sink = {
        .order = on_own_order, .moved = on_moved, .alone = on_alone, .arg = scene
    };
    scene->settings.token = "t";
    scene->settings.beat_ms = 1000;
    scene->settings.silence_ms = 60000;
    scene->settings.shutdown_ms = 1000;
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uv_timer_init(&scene->loop, &scene->alarm);
    uv_timer_start(&scene->alarm, on_alarm, 100, 100);
    scene->own.memory = arena_create();
    for (int i = 0; i < CALLERS; i++)
        scene->callers[i].memory = arena_create();
    scene->leader = leader_create(&scene->loop, &scene->settings, OWN, sink);
    assert_int_equal(leader_listen(scene->leader, &place, &err), 0);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    for (int i = 0; i < CALLERS; i++) {
        conn_close(scene->callers[i].conn);
        arena_destroy(scene->callers[i].memory);
    }
    leader_destroy(scene->leader);
    arena_destroy(scene->own.memory);
    uv_close((uv_handle_t *)&scene->alarm, NULL);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    free(scene);
    return 0;
}

static struct rdzv_join join_of(uint64_t member, uint32_t min, uint32_t max)
{
    return (struct rdzv_join){
        .member = member,
        .run_id = "run",
        .node = "n",
        .addr = "127.0.0.1",
        .node_rank = RDZV_ANY_RANK,
        .ranks = 2,
        .store_port = 1,
        .settings = { .min = min,
                      .max = max,
                      .node_unit = 1,
                      .last_call_ms = max > 2 ? 60000 : 0, /* all of a large world are waited for */
                      .join_ms = 60000,
                      .exit_barrier_ms = 60000 },
    };
}

static void connect_caller(struct scene *scene, int i, const char *token)
{
    char preface[RDZV_PREFACE_MAX + 1];
    struct err err;
    struct heard *heard = &scene->callers[i];
    struct conn_events sink = { .frame = on_frame, .closed = on_lost, .arg = heard };
    assert_int_equal(rdzv_listener_preface(preface, token, &err), 0);
    struct conn_terms terms = launcher_terms;
    terms.handshake_ms = 0;
    heard->conn = conn_connect(
        &scene->loop,
        &(struct conn_target){ .addr = "127.0.0.1", .port = leader_port(scene->leader) }, &terms,
        sink);
    buf_puts(conn_out(heard->conn), preface);
}

static void join_caller(struct scene *scene, int i, uint32_t min, uint32_t max)
{
    struct rdzv_join join = join_of(1 + (uint64_t)i, min, max);
    connect_caller(scene, i, "t");
    rdzv_put(conn_out(scene->callers[i].conn), &join);
}

static void own_says(struct scene *scene, const struct rdzv_join *join)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    struct rdzv_frame_data frame;
    size_t used;
    rdzv_put(&out, join);
    assert_int_equal(rdzv_next(out.data, out.len, &frame, &used), 1);
    leader_hear(scene->leader, &frame);
}

static void form_world(struct scene *scene, uint32_t min)
{
    struct rdzv_join own = join_of(OWN, min, CALLERS + 1);
    leader_wake(scene->leader);
    own_says(scene, &own);
    assert_int_equal(scene->own.n[RDZV_FRAME_WELCOME], 0); /* from the loop, not from inside */
    for (int i = 0; i < CALLERS; i++)
        join_caller(scene, i, min, CALLERS + 1);
    wait_for(scene, &scene->own.n[RDZV_FRAME_ROUND], 1);
    for (int i = 0; i < CALLERS; i++)
        wait_for(scene, &scene->callers[i].n[RDZV_FRAME_ROUND], 1);
}

static void a_round_forms(void **state)
{
    struct scene *scene = *state;
    bool seen[CALLERS + 1] = { false };
    form_world(scene, CALLERS + 1);
    for (int i = 0; i <= CALLERS; i++) {
        const struct heard *heard = i < CALLERS ? &scene->callers[i] : &scene->own;
        uint64_t self = i < CALLERS ? 1 + (uint64_t)i : OWN;
        uint32_t rank = heard->round.group_rank;
        assert_int_equal(heard->round.world, 2 * (CALLERS + 1));
        assert_true(rank <= CALLERS && !seen[rank]);
        seen[rank] = true;
        assert_int_equal(heard->round.places[rank].member, self);
        assert_int_equal(heard->round.places[rank].first_rank, 2 * rank);
    }
    assert_int_equal(leader_callers(scene->leader), CALLERS);
}

static void a_broken_connection_stops_the_round(void **state)
{
    struct scene *scene = *state;
    form_world(scene, 1);
    conn_close(TAKE(scene->callers[1].conn));
    wait_for(scene, &scene->own.n[RDZV_FRAME_STOP], 1);
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_STOP], 1);
    wait_for(scene, &scene->callers[2].n[RDZV_FRAME_STOP], 1);
    assert_int_equal(scene->own.stop.round, 0);
    struct rdzv_join own = join_of(OWN, 1, CALLERS + 1);
    own_says(scene, &own);
    for (int i = 0; i < CALLERS; i += 2) {
        struct rdzv_join join = join_of(1 + (uint64_t)i, 1, CALLERS + 1);
        rdzv_put(conn_out(scene->callers[i].conn), &join);
        conn_flush(scene->callers[i].conn);
    }
    wait_for(scene, &scene->own.n[RDZV_FRAME_ROUND], 2);
    assert_int_equal(scene->own.round.round, 1);
    assert_int_equal(scene->own.round.n_places, CALLERS);
}

/* The old connection is not broken yet when the member is there again. */
static void a_member_may_connect_anew(void **state)
{
    struct scene *scene = *state;
    form_world(scene, 1);
    scene->callers[0].conn = NULL;
    struct rdzv_join join = join_of(1, 1, CALLERS + 1);
    join.claim = (struct rdzv_claim){ .term = scene->callers[0].round.term,
                                      .round = 0,
                                      .group_rank = scene->callers[0].round.group_rank,
                                      .running = true,
                                      .world_id = scene->own.round.world_id,
                                      .nodes = CALLERS + 1 };
    int welcomes = scene->callers[0].n[RDZV_FRAME_WELCOME];
    connect_caller(scene, 0, "t");
    rdzv_put(conn_out(scene->callers[0].conn), &join);
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_WELCOME], welcomes + 1);
    wait_for(scene, &scene->callers[0].lost, 1); /* the former one was closed by the leader */
    assert_int_equal(leader_callers(scene->leader), CALLERS);
    rdzv_put_as(conn_out(scene->callers[0].conn), RDZV_FRAME_BEAT, NULL);
    conn_flush(scene->callers[0].conn);
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_BEAT], 1);
    assert_int_equal(scene->own.n[RDZV_FRAME_STOP], 0);
}

/* It stood for the first one still when it was gone, and the leader wrote into freed memory. */
static void one_connection_is_one_member(void **state)
{
    struct scene *scene = *state;
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    form_world(scene, 1);
    struct rdzv_join join = join_of(77, 1, CALLERS + 1);
    rdzv_put(conn_out(scene->callers[0].conn), &join);
    conn_flush(scene->callers[0].conn);
    conn_close(TAKE(scene->callers[0].conn));
    while (leader_callers(scene->leader) == CALLERS) {
        assert_true(clock_mono_ms() < until);
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    }
    conn_close(TAKE(scene->callers[1].conn)); /* all who are left are told to stop */
    wait_for(scene, &scene->callers[2].n[RDZV_FRAME_STOP], 1);
    struct rdzv_join own = join_of(OWN, 1, CALLERS + 1);
    own_says(scene, &own);
    join = join_of(3, 1, CALLERS + 1);
    rdzv_put(conn_out(scene->callers[2].conn), &join);
    conn_flush(scene->callers[2].conn);
    wait_for(scene, &scene->own.n[RDZV_FRAME_ROUND], 2);
    assert_int_equal(scene->own.round.n_places, 2);
}

static void a_wrong_token_is_refused(void **state)
{
    struct scene *scene = *state;
    leader_wake(scene->leader);
    connect_caller(scene, 0, "other");
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_REFUSED], 1);
    assert_int_equal(scene->callers[0].refused.why, RDZV_REFUSED_TOKEN);
    struct rdzv_join join = join_of(1, 1, 1);
    rdzv_put(conn_out(scene->callers[0].conn), &join);
    rdzv_put_as(conn_out(scene->callers[0].conn), RDZV_FRAME_BEAT, NULL);
    conn_flush(scene->callers[0].conn);
    join_caller(scene, 1, 1, 2);
    wait_for(scene, &scene->callers[1].n[RDZV_FRAME_ROUND], 1);
    assert_int_equal(scene->callers[1].round.n_places, 1);
    assert_int_equal(scene->callers[0].n[RDZV_FRAME_WELCOME], 0);
}

static void callers_are_held_until_it_leads(void **state)
{
    struct scene *scene = *state;
    join_caller(scene, 0, 1, 1);
    rdzv_put_as(conn_out(scene->callers[0].conn), RDZV_FRAME_BEAT, NULL);
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_BEAT], 1); /* alive, and nothing else */
    assert_int_equal(scene->callers[0].n[RDZV_FRAME_WELCOME], 0);
    leader_wake(scene->leader);
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_ROUND], 1);
}

static void say_lead(struct scene *scene, int i, uint64_t term)
{
    struct rdzv_leader_address lead = { .term = term, .addr = "10.0.0.9", .port = 99 };
    if (!scene->callers[i].conn)
        connect_caller(scene, i, "t");
    rdzv_put_as(conn_out(scene->callers[i].conn), RDZV_FRAME_LEAD, &lead);
    conn_flush(scene->callers[i].conn);
}

static void callers_are_sent_to_the_leader(void **state)
{
    struct scene *scene = *state;
    join_caller(scene, 0, 1, 1);
    rdzv_put_as(conn_out(scene->callers[0].conn), RDZV_FRAME_BEAT, NULL);
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_BEAT], 1);
    struct rdzv_leader_address there = { .term = 4, .addr = "10.0.0.4", .port = 44 };
    leader_sleep(scene->leader, &there);
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_MOVED], 1);
    assert_string_equal(scene->callers[0].moved.addr, "10.0.0.4");
    join_caller(scene, 1, 1, 1);
    wait_for(scene, &scene->callers[1].n[RDZV_FRAME_MOVED], 1);
    assert_int_equal(scene->callers[1].moved.port, 44);
    say_lead(scene, 2, 3); /* one that was stopped while the others went on without it */
    wait_for(scene, &scene->callers[2].n[RDZV_FRAME_MOVED], 1);
    assert_int_equal(scene->callers[2].moved.port, 44);
    assert_int_equal(scene->callers[2].moved.term, 4);
}

static void the_later_term_leads(void **state)
{
    struct scene *scene = *state;
    leader_wake(scene->leader);
    join_caller(scene, 0, 2, 2);
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_WELCOME], 1);
    say_lead(scene, 1, 1); /* the same term: the one at the endpoint stays */
    wait_for(scene, &scene->callers[1].n[RDZV_FRAME_MOVED], 1);
    assert_int_equal(scene->callers[1].moved.port, leader_port(scene->leader));
    assert_true(leader_leads(scene->leader));
    say_lead(scene, 1, 7);
    wait_for(scene, &scene->moved, 1);
    assert_false(leader_leads(scene->leader));
    wait_for(scene, &scene->callers[0].n[RDZV_FRAME_MOVED], 1);
    assert_int_equal(scene->callers[0].moved.port, 99);
}

static void a_probe_finds_a_later_leader(void **state)
{
    struct scene *scene = *state, *other;
    void *second;
    assert_int_equal(set_up(&second), 0);
    other = second;
    /* The other one knows a term of 5 from a member's claim. */
    struct rdzv_join join = join_of(1, 1, 2);
    join.claim = (struct rdzv_claim){ .term = 5, .running = true, .world_id = 1, .nodes = 1 };
    leader_wake(other->leader);
    connect_caller(other, 0, "t");
    rdzv_put(conn_out(other->callers[0].conn), &join);
    wait_for(other, &other->callers[0].n[RDZV_FRAME_WELCOME], 1);
    leader_wake(scene->leader);
    leader_probe(scene->leader, "127.0.0.1", leader_port(other->leader));
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (scene->moved == 0) {
        assert_true(clock_mono_ms() < until);
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
        (void)uv_run(&other->loop, UV_RUN_NOWAIT);
    }
    assert_false(leader_leads(scene->leader));
    assert_true(leader_leads(other->leader));
    (void)tear_down(&second);
}

static void the_last_one_to_go_is_told(void **state)
{
    struct scene *scene = *state;
    form_world(scene, 1);
    for (int i = 0; i < CALLERS; i++)
        conn_close(TAKE(scene->callers[i].conn));
    wait_for(scene, &scene->alone, 1);
    assert_int_equal(leader_callers(scene->leader), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_round_forms),
        TEST(a_broken_connection_stops_the_round),
        TEST(a_member_may_connect_anew),
        TEST(one_connection_is_one_member),
        TEST(a_wrong_token_is_refused),
        TEST(callers_are_held_until_it_leads),
        TEST(callers_are_sent_to_the_leader),
        TEST(the_later_term_leads),
        TEST(a_probe_finds_a_later_leader),
        TEST(the_last_one_to_go_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
