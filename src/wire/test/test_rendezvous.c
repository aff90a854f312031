/* Frames of the rendezvous: what is written is read the same; what is cut, too long or out of range
 * is refused; encoders keep the bounds by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/rendezvous.h"

#include <string.h>

static int begin(void **state)
{
    *state = arena_create();
    return 0;
}

static int end(void **state)
{
    arena_destroy(*state);
    return 0;
}

static struct rdzv_frame_data only(const struct buf *out, enum rdzv_frame kind)
{
    struct rdzv_frame_data frame;
    size_t used = 0;
    assert_false(out->overflow);
    assert_int_equal(rdzv_next(out->data, out->len, &frame, &used), 1);
    assert_int_equal(used, out->len);
    assert_int_equal(frame.kind, kind);
    for (size_t cut = 0; cut < out->len; cut++) {
        struct rdzv_frame_data part;
        assert_int_equal(rdzv_next(out->data, cut, &part, &used), 0);
    }
    return frame;
}

static struct rdzv_death a_death(void)
{
    return (struct rdzv_death){ .rank = 3,
                                .local_rank = 1,
                                .pid = 99,
                                .code = -1,
                                .signal = 9,
                                .oom = true,
                                .victim = true,
                                .at_exit = true,
                                .spared = true,
                                .of_peer = true,
                                .wakeup = 9,
                                .age_us = 12345678901,
                                .at_s = 1700000000,
                                .message = "boom",
                                .error_file = "/tmp/e",
                                .tail = "last line" };
}

static void same_death(const struct rdzv_death *a, const struct rdzv_death *b)
{
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->local_rank, b->local_rank);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->code, b->code);
    assert_int_equal(a->signal, b->signal);
    assert_true(a->oom == b->oom && a->victim == b->victim && a->at_exit == b->at_exit &&
                a->spared == b->spared);
    assert_int_equal(a->age_us, b->age_us);
    assert_int_equal(a->at_s, b->at_s);
    assert_string_equal(a->message, b->message);
    assert_string_equal(a->error_file, b->error_file);
    assert_string_equal(a->tail, b->tail);
}

static void test_join(void **state)
{
    struct arena *arena = *state;
    struct rdzv_death death = a_death();
    struct rdzv_join join = {
        .member = 0x1122334455667788,
        .run_id = "run",
        .node = "n1",
        .addr = "::1",
        .node_rank = RDZV_ANY_RANK,
        .ranks = 8,
        .store_port = 65535,
        .lead_port = 256,
        .check_port = 1,
        .spent = 2,
        .settings = { .min = 1,
                      .max = 4,
                      .node_unit = 2,
                      .max_restarts = 3,
                      .last_call_ms = 30000,
                      .join_ms = 600000,
                      .exit_barrier_ms = 300000,
                      .check = true,
                      .exclude_straggler = true },
        .claim = { .term = 5,
                   .round = 6,
                   .group_rank = 1,
                   .restarts = 2,
                   .running = true,
                   .world_id = UINT64_MAX,
                   .nodes = 2 },
        .deaths = { .at = &death, .n = 1, .more = 4 },
    };
    struct rdzv_join back;
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    rdzv_put(&out, &join);
    struct rdzv_frame_data frame = only(&out, RDZV_FRAME_JOIN);
    assert_int_equal(rdzv_get(&frame, arena, &back), 0);
    assert_int_equal(back.member, join.member);
    assert_string_equal(back.run_id, "run");
    assert_string_equal(back.node, "n1");
    assert_string_equal(back.addr, "::1");
    assert_int_equal(back.node_rank, RDZV_ANY_RANK);
    assert_int_equal(back.ranks, 8);
    assert_int_equal(back.store_port, 65535);
    assert_int_equal(back.lead_port, 256);
    assert_int_equal(back.check_port, 1);
    assert_int_equal(back.spent, 2);
    assert_int_equal(back.settings.max, 4);
    assert_int_equal(back.settings.exit_barrier_ms, 300000);
    assert_true(back.settings.check && !back.settings.check_bandwidth &&
                back.settings.exclude_straggler);
    assert_int_equal(back.claim.term, 5);
    assert_true(back.claim.running && !back.claim.done);
    assert_int_equal(back.claim.nodes, 2);
    assert_true(back.claim.world_id == UINT64_MAX);
    assert_int_equal(back.deaths.n, 1);
    assert_int_equal(back.deaths.more, 4);
    same_death(&back.deaths.at[0], &death);
    assert_true(back.deaths.at[0].of_peer && !back.deaths.at[0].stopped);
    assert_int_equal(back.deaths.at[0].wakeup, 9);
    const size_t older = frame.len - 10; /* a launcher that does not know these */
    for (size_t cut = 0; cut < frame.len; cut++) {
        struct rdzv_frame_data part = { .kind = frame.kind, .body = frame.body, .len = cut };
        assert_int_equal(rdzv_get(&part, arena, &back), cut == older ? 0 : -1);
        if (cut == older)
            assert_true(!back.deaths.at[0].of_peer && back.deaths.at[0].wakeup == 0);
    }
    assert_null(back.role);
    buf_clear(&out);
    join.role = "reader";
    rdzv_put(&out, &join);
    frame = only(&out, RDZV_FRAME_JOIN);
    assert_int_equal(rdzv_get(&frame, arena, &back), 0);
    assert_string_equal(back.role, "reader");
}

static void test_round_and_end(void **state)
{
    struct arena *arena = *state;
    struct rdzv_place places[] = {
        { .member = 1, .ranks = 2, .node = "n0", .addr = "10.0.0.1", .lead_port = 29500 },
        { .member = 2,
          .node_rank = 1,
          .ranks = 4,
          .first_rank = 2,
          .node = "n1",
          .addr = "10.0.0.2" }
    };
    struct rdzv_round round = { .term = 3,
                                .round = 9,
                                .group_rank = 1,
                                .restarts = 4,
                                .world = 6,
                                .nodes = 2,
                                .role_first = 0,
                                .role_world = 4,
                                .own = places[1],
                                .places = places,
                                .n_places = 2,
                                .store_addr = "10.0.0.1",
                                .store_port = 4242,
                                .cause = "first" };
    struct rdzv_round back;
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    rdzv_put(&out, &round);
    struct rdzv_frame_data frame = only(&out, RDZV_FRAME_ROUND);
    assert_int_equal(rdzv_get(&frame, arena, &back), 0);
    assert_int_equal(back.places[1].first_rank, 2);
    assert_int_equal(back.own.member, 2);
    assert_string_equal(back.places[1].addr, "10.0.0.2");
    assert_int_equal(back.places[0].lead_port, 29500);
    assert_int_equal(back.store_port, 4242);
    assert_int_equal(back.role_first, 0);
    assert_int_equal(back.role_world, 4);
    buf_clear(&out);
    round.role_first = 2; /* all have one role: not said */
    round.role_world = 6;
    rdzv_put(&out, &round);
    struct rdzv_frame_data one_role = only(&out, RDZV_FRAME_ROUND);
    assert_int_equal(rdzv_get(&one_role, arena, &back), 0);
    assert_int_equal(back.role_first, 2);
    assert_int_equal(back.role_world, 6);
    assert_true(one_role.len + 8 == frame.len);
    buf_clear(&out);
    round.group_rank = 2; /* nobody's */
    rdzv_put(&out, &round);
    frame = only(&out, RDZV_FRAME_ROUND);
    assert_int_equal(rdzv_get(&frame, arena, &back), -1);

    struct rdzv_victim victims[RDZV_MAX_DEATHS + 5];
    for (size_t i = 0; i < RDZV_MAX_DEATHS + 5; i++)
        victims[i] =
            (struct rdzv_victim){ .death = a_death(), .node = "n1", .group_rank = (uint32_t)i };
    struct rdzv_end over = { .term = 1,
                             .kind = RDZV_END_FAILED,
                             .text = "x",
                             .deaths = victims,
                             .n_deaths = RDZV_MAX_DEATHS + 5,
                             .undecided = true };
    struct rdzv_end told;
    buf_clear(&out);
    rdzv_put(&out, &over);
    frame = only(&out, RDZV_FRAME_END);
    assert_int_equal(rdzv_get(&frame, arena, &told), 0);
    assert_int_equal(told.n_deaths, RDZV_MAX_DEATHS); /* the first ones */
    assert_int_equal(told.deaths[RDZV_MAX_DEATHS - 1].group_rank, RDZV_MAX_DEATHS - 1);
    assert_true(told.undecided);
    same_death(&told.deaths[0].death, &victims[0].death);
}

static void test_long_texts(void **state)
{
    struct arena *arena = *state;
    char text[3 * RDZV_TEXT_MAX + 1];
    for (size_t i = 0; i + 2 < sizeof text; i += 3) /* euro signs: three bytes each */
        memcpy(text + i, "\xe2\x82\xac", 3);
    text[sizeof text - 1] = '\0';
    struct rdzv_stop stop = { .term = 1, .cause = text };
    struct rdzv_stop back;
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    rdzv_put(&out, &stop);
    struct rdzv_frame_data frame = only(&out, RDZV_FRAME_STOP);
    assert_int_equal(rdzv_get(&frame, arena, &back), 0);
    assert_int_equal(strlen(back.cause), RDZV_TEXT_MAX - RDZV_TEXT_MAX % 3);
    memset(text, 0xff, sizeof text - 1); /* no text at all */
    buf_clear(&out);
    rdzv_put(&out, &stop);
    frame = only(&out, RDZV_FRAME_STOP);
    assert_int_equal(rdzv_get(&frame, arena, &back), 0);
    assert_int_equal(strlen(back.cause), RDZV_TEXT_MAX);
}

static void test_small_ones(void **state)
{
    struct arena *arena = *state;
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    struct rdzv_leader_address moved = { .term = 4, .addr = "10.1.1.1", .port = 29400 };
    struct rdzv_leader_address moved_back;
    rdzv_put_as(&out, RDZV_FRAME_LEAD, &moved);
    struct rdzv_frame_data frame = only(&out, RDZV_FRAME_LEAD);
    assert_int_equal(rdzv_get(&frame, arena, &moved_back), 0);
    assert_int_equal(moved_back.port, 29400);
    struct rdzv_finding note = { .term = 5, .about = 77, .text = "n3 is a straggler" };
    struct rdzv_finding note_back;
    buf_clear(&out);
    rdzv_put(&out, &note);
    frame = only(&out, RDZV_FRAME_NOTE);
    assert_int_equal(rdzv_get(&frame, arena, &note_back), 0);
    assert_int_equal(note_back.term, 5);
    assert_int_equal(note_back.about, 77);
    assert_string_equal(note_back.text, "n3 is a straggler");
    struct rdzv_event event;
    buf_clear(&out);
    rdzv_put(&out, &(struct rdzv_event){ .type = "launch", .text = NULL });
    frame = only(&out, RDZV_FRAME_EVENT);
    assert_int_equal(rdzv_get(&frame, arena, &event), 0);
    assert_string_equal(event.type, "launch");
    assert_string_equal(event.text, "");
    buf_clear(&out);
    rdzv_put_as(&out, RDZV_FRAME_BEAT, NULL);
    frame = only(&out, RDZV_FRAME_BEAT);
    assert_int_equal(frame.len, 0);
    struct rdzv_leave leave = { .why = RDZV_LEAVES_FAILED, .text = "t" };
    struct rdzv_leave leave_back;
    for (int why = 0; why < 5; why++) {
        leave.why = (enum rdzv_leaving)why;
        buf_clear(&out);
        rdzv_put(&out, &leave);
        frame = only(&out, RDZV_FRAME_LEAVE);
        assert_int_equal(rdzv_get(&frame, arena, &leave_back), why == 1 || why == 2 ? 0 : -1);
    }
}

static void test_broken_frames(void **state)
{
    (void)state;
    struct rdzv_frame_data frame;
    size_t used;
    static const unsigned char agents[] = { 9, 0, 0, 0, 1 }; /* a kind of another protocol */
    static const unsigned char huge[] = { 0, 0, 0, 2, 64 };  /* 32 MiB */
    static const unsigned char tiny[] = { 8, 0, 0, 0, 64 };  /* shorter than its own head */
    static const unsigned char beyond[] = { 9, 0, 0, 0, RDZV_FRAME_N };
    assert_int_equal(rdzv_next(agents, sizeof agents, &frame, &used), -1);
    assert_int_equal(rdzv_next(huge, sizeof huge, &frame, &used), -1);
    assert_int_equal(rdzv_next(tiny, sizeof tiny, &frame, &used), -1);
    assert_int_equal(rdzv_next(beyond, sizeof beyond, &frame, &used), -1);
    assert_int_equal(rdzv_next("GET / HTTP/1.1", 14, &frame, &used), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),          cmocka_unit_test(test_round_and_end),
        cmocka_unit_test(test_long_texts),    cmocka_unit_test(test_small_ones),
        cmocka_unit_test(test_broken_frames),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
