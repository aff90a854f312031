/* Bytes that come before it is their layer's turn, after it, and with somebody slow or gone at the
 * other end: all of them once and in order, and only what the name says counts. */
#include "node/fetch/stream.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/fetch/layer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define ALL (3u << 20)

struct scene {
    char dir[40];
    int in, out[2]; /* where we write; the pipe that we read from */
    struct image_blob blob;
    struct stream *stream;
    unsigned char *bytes, *got;
    size_t sent, n;
};

static void hash(const struct scene *scene, char hex[IMAGE_DIGEST_LEN + 1])
{
    AUTO_CLOSE int fd = memfd_create("bytes", MFD_CLOEXEC);
    assert_int_equal(file_write_all(fd, scene->bytes, ALL), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(layer_hash(fd, hex, NULL), 0);
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    int in[2];
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-stream.XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(pipe2(scene->out, O_CLOEXEC | O_NONBLOCK), 0);
    scene->in = in[1];
    scene->bytes = mem_new(ALL);
    scene->got = mem_new(ALL + 1);
    for (size_t i = 0; i < ALL; i++)
        scene->bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    scene->blob.size = ALL;
    hash(scene, scene->blob.digest);
    scene->stream = stream_create(&scene->blob, in[0], scene->dir);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    stream_destroy(scene->stream);
    if (scene->in >= 0)
        close(scene->in);
    if (scene->out[0] >= 0)
        close(scene->out[0]);
    close(scene->out[1]);
    assert_int_equal(rmdir(scene->dir), 0); /* nothing is left in it */
    free(scene->bytes);
    free(scene->got);
    free(scene);
    return 0;
}

/* As much as goes at once, up to `until`; its end comes with the last byte. */
static void send_some(struct scene *scene, size_t until)
{
    ssize_t n = scene->in < 0 || scene->sent == until
                    ? 0
                    : write(scene->in, scene->bytes + scene->sent, until - scene->sent);
    scene->sent += n > 0 ? (size_t)n : 0;
    if (scene->sent == ALL && scene->in >= 0) {
        close(scene->in);
        scene->in = -1;
    }
}

static void move(struct scene *scene)
{
    struct err err = { .what = "" };
    uint64_t moved;
    if (stream_move(scene->stream, &moved, &err) != 0)
        fail_msg("%s", err.what);
}

static void take_some(struct scene *scene)
{
    ssize_t n = read(scene->out[0], scene->got + scene->n, ALL + 1 - scene->n);
    scene->n += n > 0 ? (size_t)n : 0;
}

static void move_until(struct scene *scene, size_t until)
{
    while (stream_bytes(scene->stream) < until) {
        send_some(scene, until);
        move(scene);
    }
}

static void check_all(struct scene *scene)
{
    while (!stream_passed(scene->stream)) {
        send_some(scene, ALL);
        move(scene);
        take_some(scene);
    }
    take_some(scene);
    assert_int_equal(scene->n, ALL);
    assert_memory_equal(scene->got, scene->bytes, ALL);
    assert_int_equal(stream_check(scene->stream, NULL), 0);
}

static void bytes_pass_when_it_is_their_turn(void **state)
{
    struct scene *scene = *state;
    stream_lead(scene->stream, scene->out[1]);
    check_all(scene);
}

static void bytes_are_kept_before(void **state)
{
    struct scene *scene = *state;
    move_until(scene, ALL / 2 + 7);
    take_some(scene);
    assert_int_equal(scene->n, 0);
    assert_false(stream_passed(scene->stream));
    stream_lead(scene->stream, scene->out[1]);
    check_all(scene);
}

/* For others that ask what is still to come. */
static void what_is_kept_is_seen_in_its_directory(void **state)
{
    struct scene *scene = *state;
    unsigned long long there = 0;
    move_until(scene, ALL / 2);
    assert_int_equal(file_tree_size(scene->dir, ALL, &there, NULL), 0);
    assert_int_equal(there, ALL / 2);
    stream_lead(scene->stream, scene->out[1]);
    check_all(scene);
    assert_int_equal(file_tree_size(scene->dir, ALL, &there, NULL), 0);
    assert_int_equal(there, 0);
}

static void all_may_come_before(void **state)
{
    struct scene *scene = *state;
    move_until(scene, ALL);
    move(scene);
    assert_true(stream_ended(scene->stream));
    assert_false(stream_passed(scene->stream));
    stream_lead(scene->stream, scene->out[1]);
    check_all(scene);
}

/* No more is read than somebody slow takes. */
static void nothing_piles_up(void **state)
{
    struct scene *scene = *state;
    stream_lead(scene->stream, scene->out[1]);
    for (size_t i = 0; i < 200; i++) {
        send_some(scene, ALL);
        move(scene);
    }
    assert_true(stream_bytes(scene->stream) < ALL);
    assert_int_equal(stream_reads(scene->stream), -1);
    assert_int_equal(stream_writes(scene->stream), scene->out[1]);
    check_all(scene);
}

static void what_nobody_takes_is_hashed(void **state)
{
    struct scene *scene = *state;
    move_until(scene, 100000);
    stream_lead(scene->stream, scene->out[1]);
    move(scene);
    (void)signal(SIGPIPE, SIG_IGN);
    close(scene->out[0]);
    scene->out[0] = -1;
    send_some(scene, 200000);
    move(scene); /* it is gone; whoever it was says why */
    stream_lead(scene->stream, -1);
    while (!stream_passed(scene->stream)) {
        send_some(scene, ALL);
        move(scene);
    }
    assert_int_equal(stream_check(scene->stream, NULL), 0);
}

static void other_bytes_do_not_count(void **state)
{
    struct scene *scene = *state;
    struct err err;
    scene->bytes[ALL / 3] ^= 1;
    stream_lead(scene->stream, -1);
    while (!stream_passed(scene->stream)) {
        send_some(scene, ALL);
        move(scene);
    }
    assert_int_equal(stream_check(scene->stream, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
}

static void fewer_bytes_do_not_count(void **state)
{
    struct scene *scene = *state;
    struct err err;
    stream_lead(scene->stream, -1);
    move_until(scene, ALL - 1);
    close(scene->in);
    scene->in = -1;
    move(scene);
    assert_true(stream_passed(scene->stream));
    assert_int_equal(stream_check(scene->stream, &err), -1);
}

static void more_bytes_are_refused(void **state)
{
    struct scene *scene = *state;
    struct err err = { .code = ERR_NONE };
    uint64_t moved;
    stream_lead(scene->stream, -1);
    move_until(scene, ALL - 1);
    assert_int_equal(write(scene->in, "xy", 2), 2);
    assert_int_equal(stream_move(scene->stream, &moved, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
}

int main(void)
{
    alarm(600);
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(bytes_pass_when_it_is_their_turn),
        CASE(bytes_are_kept_before),
        CASE(what_is_kept_is_seen_in_its_directory),
        CASE(all_may_come_before),
        CASE(nothing_piles_up),
        CASE(what_nobody_takes_is_hashed),
        CASE(other_bytes_do_not_count),
        CASE(fewer_bytes_do_not_count),
        CASE(more_bytes_are_refused),
    };
#undef CASE
    return cmocka_run_group_tests_name("node/fetch/stream", tests, NULL, NULL);
}
