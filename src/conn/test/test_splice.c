/* Two connections as one: bytes pass both ways, a side that does not take them holds the other up,
 * and the end of one is the end of the other, after the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "conn/splice.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM     ((size_t)64 << 10)
#define MUCH     ((size_t)16 << 20)
#define PIECE    8192u
#define TURNS    100000
#define BUFFERED (ROOM + 16 * 16384 + ((size_t)4 << 20)) /* with what two sockets hold */

struct scene {
    uv_loop_t loop;
    struct splice *splice;
    int left, right; /* the far ends */
    int ends;
};

static void on_ended(void *arg)
{
    struct scene *scene = arg;
    scene->splice = NULL;
    scene->ends++;
}

static struct conn *connect_pair(struct scene *scene, int *far)
{
    static const struct conn_terms terms = { .out_max = MUCH, .room = ROOM };
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    *far = fds[1];
    return conn_create(&scene->loop, fds[0], &terms, (struct conn_events){ 0 });
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    struct conn *a = connect_pair(scene, &scene->left), *b = connect_pair(scene, &scene->right);
    scene->splice = splice_create(a, b, (struct splice_sink){ .ended = on_ended, .arg = scene });
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    splice_destroy(scene->splice);
    if (scene->left >= 0)
        close(scene->left);
    if (scene->right >= 0)
        close(scene->right);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    free(scene);
    return 0;
}

static void turn(struct scene *scene)
{
    (void)uv_run(&scene->loop, UV_RUN_NOWAIT);
}

/* Until something comes; 0: the end. */
static size_t hear(struct scene *scene, int fd, char *at, size_t size)
{
    for (int i = 0; i < TURNS; i++) {
        ssize_t n = recv(fd, at, size, 0);
        if (n >= 0)
            return (size_t)n;
        assert_int_equal(errno, EAGAIN);
        turn(scene);
    }
    fail_msg("nothing came");
    return 0;
}

static void bytes_pass_both_ways(void **state)
{
    struct scene *scene = *state;
    char text[16];
    assert_int_equal(send(scene->left, "to right", 8, 0), 8);
    assert_int_equal(hear(scene, scene->right, text, sizeof text), 8);
    assert_memory_equal(text, "to right", 8);
    assert_int_equal(send(scene->right, "to left", 7, 0), 7);
    assert_int_equal(hear(scene, scene->left, text, sizeof text), 7);
    assert_memory_equal(text, "to left", 7);
    assert_int_equal(scene->ends, 0);
}

/* As much as is taken while nobody reads at the other side. */
static size_t push(struct scene *scene, int fd)
{
    static const char piece[PIECE] = { 'x' };
    size_t sent = 0;
    for (int idle = 0; idle < 64 && sent < MUCH;) {
        ssize_t n = send(fd, piece, sizeof piece, 0);
        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        turn(scene);
    }
    return sent;
}

static void who_does_not_read_holds_up(void **state)
{
    struct scene *scene = *state;
    static char piece[1 << 16];
    size_t sent = push(scene, scene->left), got = 0;
    assert_in_range(sent, ROOM, BUFFERED);
    while (got < sent)
        got += hear(scene, scene->right, piece, sizeof piece);
    assert_int_equal(got, sent);
    assert_int_equal(send(scene->left, "on", 2, 0), 2);
    assert_int_equal(hear(scene, scene->right, piece, sizeof piece), 2);
}

static void the_rest_comes_before_the_end(void **state)
{
    struct scene *scene = *state;
    static char piece[1 << 16];
    size_t sent = push(scene, scene->left), got = 0, n;
    close(scene->left);
    scene->left = -1;
    while ((n = hear(scene, scene->right, piece, sizeof piece)) > 0)
        got += n;
    assert_int_equal(got, sent);
    close(scene->right);
    scene->right = -1;
    for (int i = 0; i < TURNS && scene->ends == 0; i++)
        turn(scene);
    assert_int_equal(scene->ends, 1);
}

static void destroying_ends_both(void **state)
{
    struct scene *scene = *state;
    char text[4];
    splice_destroy(TAKE(scene->splice));
    assert_int_equal(hear(scene, scene->left, text, sizeof text), 0);
    assert_int_equal(hear(scene, scene->right, text, sizeof text), 0);
    assert_int_equal(scene->ends, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_pass_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_read_holds_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_rest_comes_before_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(destroying_ends_both, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("splice", tests, NULL, NULL);
}
