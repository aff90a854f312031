/* Streams of srun that others have too: its stdin goes on to block, and what its tasks write is
 * whole on a stream that does not. And how far its input goes. */
#include "base/mem.h"
#include "step/input_window.h"
#include "step/srun_output.h"
#include "step/srun_stdin.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* fd stands in the place of that stream; returns what was there. */
static int put_in_place(int fd, int stream)
{
    int was = fcntl(stream, F_DUPFD_CLOEXEC, 10);
    assert_int_equal(dup2(fd, stream), stream);
    close(fd);
    return was;
}

static void put_back(int was, int stream)
{
    assert_int_equal(dup2(was, stream), stream);
    close(was);
}

struct given {
    char text[64];
    size_t len;
    bool ended;
};

static bool keep(void *arg, const struct step_data *data)
{
    struct given *given = arg;
    assert_true(given->len + data->len < sizeof given->text);
    memcpy(given->text + given->len, data->at, data->len);
    given->len += data->len;
    given->ended = data->len == 0;
    return true;
}

static void test_stdin_goes_on_to_block(void **state)
{
    struct given given = { .len = 0 };
    struct err err = { .code = ERR_NONE };
    uv_loop_t loop;
    int fds[2];
    (void)state;
    assert_int_equal(pipe(fds), 0);
    int was = put_in_place(fds[0], STDIN_FILENO);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct srun_stdin *in = srun_stdin_create(
        &loop, NULL, (struct srun_stdin_sink){ .give = keep, .arg = &given }, &err);
    assert_non_null(in);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK, 0);
    srun_stdin_go_on(in);
    assert_int_equal(uv_run(&loop, UV_RUN_NOWAIT), 1); /* nothing is there, and it waits */
    assert_int_equal(write(fds[1], "typed", 5), 5);
    close(fds[1]);
    while (!given.ended)
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_string_equal(given.text, "typed");
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK, 0);
    srun_stdin_destroy(in);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    put_back(was, STDIN_FILENO);
}

/* The other end of the pipe: 0 when so many bytes came before its end. */
static int count(int fd, size_t expected)
{
    char piece[1000];
    size_t n = 0;
    for (ssize_t got; (got = read(fd, piece, sizeof piece)) > 0;)
        n += (size_t)got;
    return n == expected ? 0 : 1;
}

static void test_a_stream_that_does_not_block(void **state)
{
    enum { PIECES = 64 };
    static char piece[STEP_PIECE];
    const struct srun_opts opts = { .argv = { .n = 0 } };
    const struct srun_writer writer = { .node = "n1" };
    struct err err;
    int fds[2], status = -1;
    (void)state;
    memset(piece, 'x', sizeof piece);
    piece[sizeof piece - 1] = '\n';
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]);
        _exit(count(fds[0], PIECES * sizeof piece));
    }
    close(fds[0]);
    (void)fcntl(fds[1], F_SETFL, O_NONBLOCK);
    int was = put_in_place(fds[1], STDOUT_FILENO);
    struct srun_output *out = srun_output_create(&opts, 0, 1, &err);
    const struct step_data data = { .stream = 1, .at = piece, .len = sizeof piece };
    for (int i = 0; i < PIECES; i++)
        srun_output_write(out, &writer, &data);
    srun_output_destroy(out);
    put_back(was, STDOUT_FILENO);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A node whose tasks read nothing, then half a window, then all. */
static void test_input_window(void **state)
{
    struct input_window window = { .sent = 0 };
    struct input_account account = { .came = 0 };
    (void)state;
    assert_false(input_window_has_room(&window)); /* the node has said nothing */
    assert_true(input_window_move(&window, input_account_end(&account, 0)));
    account.told = window.end;
    while (input_window_has_room(&window)) {
        window.sent += STEP_PIECE;
        account.came += STEP_PIECE;
        assert_false(input_account_is_news(&account, (size_t)account.came));
    }
    assert_int_equal(window.sent, INPUT_WINDOW);
    assert_false(input_window_move(&window, input_account_end(&account, INPUT_WINDOW)));
    assert_false(input_account_is_news(&account, INPUT_WINDOW / 2 + 1));
    assert_true(input_account_is_news(&account, INPUT_WINDOW / 2));
    assert_true(input_window_move(&window, input_account_end(&account, INPUT_WINDOW / 2)));
    assert_false(input_window_move(&window, INPUT_WINDOW)); /* it goes on, never back */
    assert_int_equal(window.end, INPUT_WINDOW / 2 * 3);
    assert_true(input_window_move(&window, 0)); /* a node that knows no end */
    window.sent = 1ull << 40;
    assert_true(input_window_has_room(&window));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stdin_goes_on_to_block),
        cmocka_unit_test(test_a_stream_that_does_not_block),
        cmocka_unit_test(test_input_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
