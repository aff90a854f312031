/* Peers and their listeners over real sockets: frames in pieces, wrong tokens, strangers, nonsense,
 * clients of the c10d store on the same port. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launch/door.h"
#include "launch/peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PATIENCE_MS 120000u

struct end {
    struct peer *peer;
    int beats, ups, losses;
    char why[160];
    bool close_on_frame;
};
struct scene {
    uv_loop_t loop;
    uv_timer_t alarm;
    struct door *door;
    struct end near, far;
    int callers, strangers_of_c10d;
    bool good;
    size_t c10d_bytes;
};

static int on_frame(void *arg, struct peer *peer, const struct rdzv_frame_in *frame)
{
    struct end *end = arg;
    if (frame->kind != RDZV_FRAME_BEAT)
        return -1;
    end->beats++;
    if (end->close_on_frame) {
        peer_close(peer);
        end->peer = NULL;
    }
    return 0;
}

static void on_up(void *arg, struct peer *peer)
{
    (void)peer;
    ((struct end *)arg)->ups++;
}

static void on_lost(void *arg, struct peer *peer, const char *why)
{
    struct end *end = arg;
    assert_ptr_equal(peer, end->peer);
    end->losses++;
    end->peer = NULL;
    snprintf(end->why, sizeof end->why, "%s", why);
}

static struct peer_sink sink_of(struct end *end)
{
    return (struct peer_sink){ .frame = on_frame, .up = on_up, .lost = on_lost, .arg = end };
}

static void on_caller(void *arg, int fd, const void *extra, size_t len, bool token_is_good)
{
    struct scene *scene = arg;
    scene->callers++;
    scene->good = token_is_good;
    scene->far.peer = peer_adopt(&scene->loop, fd, extra, len, sink_of(&scene->far));
}

static void on_c10d(void *arg, int fd, const void *bytes, size_t len)
{
    struct scene *scene = arg;
    assert_int_equal(*(const char *)bytes, 0);
    scene->strangers_of_c10d++;
    scene->c10d_bytes = len;
    close(fd);
}

static void on_alarm(uv_timer_t *timer)
{
    (void)timer; /* wakes the loop so that the deadline is looked at */
}

/* Turns the loop until *value reaches want. */
static void wait_for(struct scene *scene, const int *value, int want)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (*value < want) {
        if (clock_mono_ms() > until)
            fail_msg("waited in vain for %d, have %d", want, *value);
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    }
}

static struct door *open_door(struct scene *scene, const char *token, struct door_place *place)
{
    char preface[RDZV_PREFACE_MAX + 1];
    struct err err;
    struct door_sink sink = { .caller = on_caller, .c10d = on_c10d, .arg = scene };
    assert_int_equal(door_preface(preface, token, &err), 0);
    return door_open(&scene->loop, place, preface, sink, &err);
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    struct door_place place = { .addr = "127.0.0.1" };
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uv_timer_init(&scene->loop, &scene->alarm);
    uv_timer_start(&scene->alarm, on_alarm, 100, 100);
    scene->door = open_door(scene, "secret", &place);
    assert_non_null(scene->door);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    peer_close(scene->near.peer);
    peer_close(scene->far.peer);
    door_close(scene->door);
    uv_close((uv_handle_t *)&scene->alarm, NULL);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    free(scene);
    return 0;
}

static void call(struct scene *scene, const char *token)
{
    char preface[RDZV_PREFACE_MAX + 1];
    struct err err;
    assert_int_equal(door_preface(preface, token, &err), 0);
    scene->near.peer = peer_connect(&scene->loop, "127.0.0.1", door_port(scene->door), preface,
                                    PATIENCE_MS, sink_of(&scene->near));
}

static void frames_go_both_ways(void **state)
{
    struct scene *scene = *state;
    call(scene, "secret");
    rdzv_put_as(peer_out(scene->near.peer), RDZV_FRAME_BEAT, NULL); /* before it is connected */
    wait_for(scene, &scene->far.beats, 1);
    assert_true(scene->good);
    assert_int_equal(scene->near.ups, 1);
    assert_string_equal(peer_local_addr(scene->near.peer), "127.0.0.1");
    assert_string_equal(peer_remote_addr(scene->far.peer), "127.0.0.1");
    for (int i = 0; i < 1000; i++)
        rdzv_put_as(peer_out(scene->far.peer), RDZV_FRAME_BEAT, NULL);
    peer_flush(scene->far.peer);
    wait_for(scene, &scene->near.beats, 1000);
    peer_close(TAKE(scene->near.peer));
    wait_for(scene, &scene->far.losses, 1);
    assert_int_equal(scene->near.losses, 0);
}

static void closing_inside_a_frame_is_fine(void **state)
{
    struct scene *scene = *state;
    call(scene, "secret");
    scene->far.close_on_frame = true;
    for (int i = 0; i < 3; i++)
        rdzv_put_as(peer_out(scene->near.peer), RDZV_FRAME_BEAT, NULL);
    wait_for(scene, &scene->near.losses, 1);
    assert_int_equal(scene->far.beats, 1);
    assert_int_equal(scene->far.losses, 0);
}

static void a_wrong_token_is_seen(void **state)
{
    struct scene *scene = *state;
    call(scene, "guess");
    wait_for(scene, &scene->callers, 1);
    assert_false(scene->good);
    peer_close(TAKE(scene->near.peer));
    wait_for(scene, &scene->far.losses, 1);
    call(scene, NULL);
    wait_for(scene, &scene->callers, 2);
    assert_false(scene->good);
}

/* A blocking client's socket, connected to the door. */
static int stranger(struct scene *scene)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(door_port(scene->door)) };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void a_preface_comes_in_pieces(void **state)
{
    struct scene *scene = *state;
    static const char said[] = RDZV_PREFACE "secret\n";
    int fd = stranger(scene);
    for (size_t i = 0; i < sizeof said - 1; i++) {
        assert_int_equal(write(fd, said + i, 1), 1);
        (void)uv_run(&scene->loop, UV_RUN_NOWAIT);
    }
    wait_for(scene, &scene->callers, 1);
    assert_true(scene->good);
    close(fd);
    wait_for(scene, &scene->far.losses, 1);
}

static void strangers_are_sent_away(void **state)
{
    struct scene *scene = *state;
    char answer;
    int fd = stranger(scene);
    assert_int_equal(write(fd, "GET / HTTP/1.1\r\n", 16), 16);
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (recv(fd, &answer, 1, MSG_DONTWAIT) != 0) { /* -1: nothing yet, or a reset */
        assert_true(clock_mono_ms() < until);
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    }
    close(fd);
    assert_int_equal(scene->callers, 0);
}

static void store_clients_are_told_apart(void **state)
{
    struct scene *scene = *state;
    int fd = stranger(scene);
    assert_int_equal(write(fd, "\0\xce\xf7\x85\x3c", 5), 5);
    wait_for(scene, &scene->strangers_of_c10d, 1);
    assert_int_equal(scene->c10d_bytes, 5);
    assert_int_equal(scene->callers, 0);
    close(fd);
}

static void nonsense_ends_a_connection(void **state)
{
    struct scene *scene = *state;
    static const char said[] = RDZV_PREFACE "secret\n\xff\xff\xff\xff\xff\xff\xff\xff";
    int fd = stranger(scene);
    assert_int_equal(write(fd, said, sizeof said - 1), sizeof said - 1);
    wait_for(scene, &scene->far.losses, 1);
    assert_non_null(strstr(scene->far.why, "no launcher"));
    close(fd);
}

static void a_closed_port_is_told_from_the_loop(void **state)
{
    struct scene *scene = *state;
    uint16_t port = door_port(scene->door);
    door_close(TAKE(scene->door));
    scene->near.peer =
        peer_connect(&scene->loop, "127.0.0.1", port, "", PATIENCE_MS, sink_of(&scene->near));
    assert_int_equal(scene->near.losses, 0);
    wait_for(scene, &scene->near.losses, 1);
    assert_string_equal(scene->near.why, "Connection refused");
    scene->near.peer =
        peer_connect(&scene->loop, "not-an-address", port, "", PATIENCE_MS, sink_of(&scene->near));
    wait_for(scene, &scene->near.losses, 2);
    assert_string_equal(scene->near.why, "not a numeric address");
}

static void doors_say_why_they_do_not_open(void **state)
{
    struct scene *scene = *state;
    struct door_place taken = { .addr = "127.0.0.1", .port = door_port(scene->door) };
    struct door_place foreign = { .addr = "192.0.2.1" };
    struct door_place named = { .addr = "n1.cluster" };
    char preface[RDZV_PREFACE_MAX + 1];
    struct err err;
    assert_null(open_door(scene, NULL, &taken));
    assert_true(taken.taken && !taken.foreign);
    assert_null(open_door(scene, NULL, &foreign));
    assert_true(foreign.foreign && !foreign.taken);
    assert_null(open_door(scene, NULL, &named));
    assert_int_equal(door_preface(preface, "two words", &err), -1);
    assert_int_equal(door_preface(preface, "", &err), -1);
}

static void the_agents_socket_hears_the_cookie(void **state)
{
    struct scene *scene = *state;
    char dir[] = "/tmp/muster-peer-XXXXXX", said[32] = "";
    assert_non_null(mkdtemp(dir));
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    snprintf(at.sun_path, sizeof at.sun_path, "%s/s", dir);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    scene->near.peer =
        peer_connect_unix(&scene->loop, at.sun_path, "cookie", sink_of(&scene->near));
    wait_for(scene, &scene->near.ups, 1);
    int fd = accept(listener, NULL, NULL);
    assert_int_equal(recv(fd, said, 7, MSG_WAITALL), 7);
    assert_string_equal(said, "cookie\n");
    close(fd);
    wait_for(scene, &scene->near.losses, 1);
    close(listener);
    (void)unlink(at.sun_path);
    (void)rmdir(dir);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(frames_go_both_ways),
        TEST(closing_inside_a_frame_is_fine),
        TEST(a_wrong_token_is_seen),
        TEST(a_preface_comes_in_pieces),
        TEST(strangers_are_sent_away),
        TEST(store_clients_are_told_apart),
        TEST(nonsense_ends_a_connection),
        TEST(a_closed_port_is_told_from_the_loop),
        TEST(doors_say_why_they_do_not_open),
        TEST(the_agents_socket_hears_the_cookie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
