/* A real agent and clients at its tasks' stdin: typing, a terminal of the task's own, and input
 * that nobody reads, which is bounded. */
#include "node/attach.h"

#include "base/mem.h"
#include "node/test/player.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void release(struct player *player)
{
    player_plain(player, WIRE_RELEASE, 0);
    assert_int_equal(player_keeper_status(player), 0);
    player_finish(player);
}

static void join_task(struct player *player, const struct wire_attach *attach)
{
    AUTO_BUF struct buf out = BUF_INIT(1000);
    wire_put(&out, 0, attach);
    player_send(player, &out);
}

static void type_text(struct player *player, uint32_t channel, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(1000);
    wire_put_data(&out, WIRE_STDIN, channel, text, strlen(text));
    player_send(player, &out);
}

static struct wire_reached_report reached(struct player *player)
{
    struct wire_reached_report got = { .channel = 0 };
    struct wire_frame frame = player_frame(player, WIRE_REACHED);
    assert_int_equal(wire_get(&frame, NULL, &got), 0);
    return got;
}

/* What comes on the channel, until it ends with that text. */
static char *shown(struct player *player, const char *until)
{
    AUTO_BUF struct buf all = BUF_INIT(1u << 16);
    while (!strstr(buf_str(&all), until)) {
        struct wire_frame frame = player_frame(player, WIRE_STDOUT);
        struct wire_data data;
        assert_int_equal(wire_get(&frame, NULL, &data), 0);
        buf_add(&all, data.at, data.len);
    }
    return arena_strdup(player->arena, buf_str(&all));
}

/* A connection breaks in between: nothing that was typed comes twice, nothing shown is missing. */
static void a_client_types_into_a_task(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    struct launch_task *task = player_task(
        player, "worker", 0, "read a; echo got $a; read b; echo also $b; read c || exit 5");
    task->open_stdin = true;
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    struct wire_attach attach = { .channel = 1, .attempt = 1, .session = 7 };
    join_task(player, &attach);
    assert_true(reached(player).input == 0);
    type_text(player, 1, "one\n");
    struct wire_reached_report at = reached(player);
    while (at.output == 0)
        at = reached(player);
    assert_true(at.input == 4);
    assert_string_equal(shown(player, "one"), "got one\n");
    player_hang_up(player);
    player_accept(player, 1);
    attach = (struct wire_attach){ .channel = 2, .attempt = 1, .session = 7, .offset = at.output };
    join_task(player, &attach);
    assert_true(reached(player).input == 4);
    type_text(player, 2, "two\n");
    assert_string_equal(shown(player, "two"), "also two\n");
    type_text(player, 2, "");
    struct wire_frame frame = player_frame(player, WIRE_EXIT);
    struct wire_exit end;
    assert_int_equal(wire_get(&frame, NULL, &end), 0);
    assert_true(end.channel == 2 && end.code == 5);
    release(player);
}

static void a_terminal_is_the_tasks_own(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    struct launch_task *task =
        player_task(player, "worker", 0, "read a; test -t 1 && stty size; exec sleep 1000");
    task->open_stdin = task->tty = true;
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    join_task(player, &(struct wire_attach){
                          .channel = 1, .attempt = 1, .session = 7, .rows = 33, .cols = 99 });
    type_text(player, 1, "go\n");
    assert_string_equal(shown(player, "33 99\r\n"), "go\r\n33 99\r\n");
    player_stop(player, &(struct wire_stop){ .all = true, .now = true, .why = BY_USER });
    (void)player_frame(player, WIRE_EXIT);
    release(player);
}

/* A task that never reads holds up its own client alone, and one that sends more than it may is
 * sent away. Another comes in all the same. */
static void input_that_nobody_reads_is_bounded(void **state)
{
    (void)state;
    struct player *player = player_start();
    AUTO_BUF struct buf out = BUF_INIT(4u << 20);
    struct wire_exit end;
    static char piece[16384];
    memset(piece, 'x', sizeof piece);
    player_accept(player, 0);
    struct launch_task *task = player_task(player, "worker", 0, "exec sleep 1000");
    task->open_stdin = true;
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    join_task(player, &(struct wire_attach){ .channel = 1, .attempt = 1, .session = 1 });
    for (size_t sent = 0; sent < 4 * (size_t)ATTACH_WINDOW; sent += sizeof piece)
        wire_put_data(&out, WIRE_STDIN, 1, piece, sizeof piece);
    player_send(player, &out);
    struct wire_frame frame = player_frame(player, WIRE_EXIT);
    assert_int_equal(wire_get(&frame, NULL, &end), 0);
    assert_true(end.channel == 1 && end.code == 127);
    join_task(player, &(struct wire_attach){ .channel = 2, .attempt = 1, .session = 2 });
    assert_true(reached(player).channel == 2);
    join_task(player, &(struct wire_attach){ .channel = 3, .attempt = 9, .session = 3 });
    frame = player_frame(player, WIRE_EXIT);
    assert_int_equal(wire_get(&frame, NULL, &end), 0);
    assert_true(end.channel == 3 && end.code == 127);
    player_stop(player, &(struct wire_stop){ .all = true, .now = true, .why = BY_USER });
    release(player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_types_into_a_task),
        cmocka_unit_test(a_terminal_is_the_tasks_own),
        cmocka_unit_test(input_that_nobody_reads_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
