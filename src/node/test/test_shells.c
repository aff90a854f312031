/* Commands by exec at a real agent: what they see of their task, and that neither their output nor
 * their input is more than the other side takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/test/player.h"

#include <string.h>

static void release(struct player *player)
{
    player_plain(player, WIRE_RELEASE, 0);
    assert_int_equal(player_keeper_status(player), 0);
    player_finish(player);
}

/* All output of a channel up to its EXIT. */
static struct wire_exit gather(struct player *player, enum wire_kind kind, struct buf *out)
{
    for (;;) {
        struct wire_frame frame = player_frame(player, kind);
        struct wire_data data;
        struct wire_exit end;
        if (kind == WIRE_EXIT) {
            assert_int_equal(wire_get(&frame, NULL, &end), 0);
            return end;
        }
        assert_int_equal(wire_get(&frame, NULL, &data), 0);
        buf_add(out, data.at, data.len);
        if (strstr(buf_str(out), "END"))
            kind = WIRE_EXIT;
    }
}

static void send_exec(struct player *player, uint32_t channel, const char *text, bool tty)
{
    AUTO_BUF struct buf frames = BUF_INIT(10000);
    const char *argv[] = { "sh", "-c", text };
    wire_put(&frames, 0,
             &(struct wire_exec){ .channel = channel,
                                  .attempt = 1,
                                  .argv = { .at = argv, .n = 3 },
                                  .tty = tty,
                                  .rows = 40,
                                  .cols = 100 });
    player_send(player, &frames);
}

static void commands_inside_the_view(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    struct launch_task *task = player_task(player, "worker", 0, "exec sleep 1000");
    pairs_set(&task->env, player->arena, "GREETING", "hello");
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);

    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    AUTO_BUF struct buf frames = BUF_INIT(10000);
    send_exec(player, 7, "read line; echo $GREETING $line; basename $PWD; echo END; exit 5", false);
    wire_put_data(&frames, WIRE_STDIN, 7, "from afar\n", 10);
    player_send(player, &frames);
    struct wire_exit end = gather(player, WIRE_STDOUT, &out);
    assert_true(end.channel == 7 && end.code == 5);
    assert_string_equal(buf_str(&out), "hello from afar\nworker.0\nEND\n");

    buf_clear(&out);
    send_exec(player, 8, "tty -s && stty size; echo END", true);
    end = gather(player, WIRE_STDOUT, &out);
    assert_int_equal(end.code, 0);
    assert_string_equal(buf_str(&out), "40 100\r\nEND\r\n");

    buf_clear(&frames);
    wire_put(&frames, 0, &(struct wire_exec){ .channel = 9, .task = { .index = 77 } });
    player_send(player, &frames);
    struct wire_frame frame = player_frame(player, WIRE_STDERR);
    assert_int_equal(wire_get(&frame, NULL, &(struct wire_data){ .len = 0 }), 0);
    assert_non_null(memmem(frame.body, frame.len, "this task does not run here", 27));
    end = gather(player, WIRE_EXIT, &out);
    assert_true(end.channel == 9 && end.code == 127);

    buf_clear(&frames); /* a client that goes away takes its command along */
    send_exec(player, 10,
              arena_printf(player->arena, "echo $$ > %s/shell; sleep 1000", player->dir), false);
    pid_t shell = player_read_pid(player, "shell");
    size_t mark = wire_begin(&frames, WIRE_EXIT, 0);
    wire_put_u32(&frames, 10);
    wire_end(&frames, mark);
    player_send(player, &frames);
    assert_true(player_gone(shell));
    release(player);
}

static void a_held_failure_can_be_entered(void **state)
{
    (void)state;
    struct player *player = player_start();
    player_accept(player, 0);
    struct launch_task *task = player_task(player, "worker", 0, "echo state > left; exit 1");
    task->hold_failed = true;
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    player_fact(player, WIRE_FACT_ENDED, NULL);
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    send_exec(player, 1, "cat left; echo END", false);
    struct wire_exit end = gather(player, WIRE_STDOUT, &out);
    assert_int_equal(end.code, 0);
    assert_string_equal(buf_str(&out), "state\nEND\n");
    release(player);
}

#define SMALL_WINDOW (64u << 10)

static void send_windowed(struct player *player, uint32_t channel, const char *text)
{
    AUTO_BUF struct buf frames = BUF_INIT(10000);
    const char *argv[] = { "sh", "-c", text };
    wire_put(&frames, 0,
             &(struct wire_exec){ .channel = channel,
                                  .attempt = 1,
                                  .argv = { .at = argv, .n = 3 },
                                  .window = SMALL_WINDOW });
    player_send(player, &frames);
}

/* It stays in the command's pipe: a client may be slow for as long as it likes. */
static void output_waits_for_who_takes_it(void **state)
{
    (void)state;
    struct player *player = player_start();
    AUTO_BUF struct buf frames = BUF_INIT(10000);
    uint64_t came = 0, taken = 0;
    bool asked = false;
    player_accept(player, 0);
    player_task(player, "worker", 0, "exec sleep 1000");
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    send_windowed(player, 7, "head -c 2000000 /dev/zero");
    for (struct wire_frame frame; (frame = player_next(player)).kind != WIRE_EXIT;) {
        came += frame.kind == WIRE_STDOUT ? frame.len - 4 : 0;
        if (!asked && came >= taken + SMALL_WINDOW)
            player_plain(player, WIRE_PING, 0);
        asked = came >= taken + SMALL_WINDOW;
        if (frame.kind != WIRE_PONG)
            continue;
        /* A piece more, and what is in the pipe at the end. */
        assert_in_range(came, taken + SMALL_WINDOW, taken + 3 * SMALL_WINDOW);
        taken = came;
        asked = false;
        buf_clear(&frames);
        wire_put(&frames, 0, &(struct wire_reached_report){ .channel = 7, .output = taken });
        player_send(player, &frames);
    }
    assert_int_equal(came, 2000000);
    release(player);
}

static uint64_t input_taken(struct player *player)
{
    struct wire_frame frame = player_frame(player, WIRE_REACHED);
    struct wire_reached_report reached;
    assert_int_equal(wire_get(&frame, NULL, &reached), 0);
    return reached.input;
}

static void input_is_told_when_it_is_taken(void **state)
{
    (void)state;
    struct player *player = player_start();
    AUTO_BUF struct buf frames = BUF_INIT(1u << 20);
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    static const char bytes[200000];
    uint64_t taken = 0;
    player_accept(player, 0);
    player_task(player, "worker", 0, "exec sleep 1000");
    player_launch(player);
    player_fact(player, WIRE_FACT_STARTED, NULL);
    AUTO_FREE char *go = mem_printf("%s/go", player->dir);
    send_windowed(
        player, 7,
        arena_printf(player->arena, "until test -e %s; do sleep 0.02; done; wc -c; echo END", go));
    wire_put_data(&frames, WIRE_STDIN, 7, bytes, sizeof bytes);
    player_send(player, &frames);
    while (taken < SMALL_WINDOW / 2)
        taken = input_taken(player);
    assert_in_range(taken, 1, sizeof bytes / 2); /* what its pipe holds */
    assert_int_equal(file_replace(go, "", 0, 0600, NULL), 0);
    while (taken + SMALL_WINDOW / 4 <= sizeof bytes)
        taken = input_taken(player);
    buf_clear(&frames);
    wire_put_data(&frames, WIRE_STDIN, 7, NULL, 0);
    player_send(player, &frames);
    assert_int_equal(gather(player, WIRE_STDOUT, &out).code, 0);
    assert_string_equal(buf_str(&out), "200000\nEND\n");
    release(player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_inside_the_view),
        cmocka_unit_test(a_held_failure_can_be_entered),
        cmocka_unit_test(output_waits_for_who_takes_it),
        cmocka_unit_test(input_is_told_when_it_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
