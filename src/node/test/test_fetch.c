/* Code that is fetched in pieces: in order and a few at a time, over a connection that breaks, once
 * for several agents of a node, and within the limit of the directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "node/fetch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PATIENCE_MS 120000u
#define SIZE        (5u * FETCH_PIECE + 1000)
#define HASH        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

struct agent {
    struct fetch *fetch;
    struct wire_code_request wants[64]; /* that were not answered */
    size_t n_wants, most;
    int asked, done;
    bool good;
    char why[256];
};
struct scene {
    uv_loop_t loop;
    char dir[40];
    char *path, *content;
    struct agent one, two;
};

static void on_ask(void *arg, const struct wire_code_request *want)
{
    struct agent *agent = arg;
    assert_true(agent->n_wants < 64);
    assert_string_equal(want->hash, HASH);
    agent->wants[agent->n_wants++] = *want;
    agent->most = agent->n_wants > agent->most ? agent->n_wants : agent->most;
    agent->asked++;
}

static void on_done(void *arg, const struct err *problem)
{
    struct agent *agent = arg;
    agent->done++;
    agent->good = !problem;
    if (problem)
        snprintf(agent->why, sizeof agent->why, "%s", problem->what);
    fetch_destroy(TAKE(agent->fetch));
}

static void start(struct scene *scene, struct agent *agent, uint64_t limit)
{
    agent->fetch = fetch_start(&scene->loop, scene->path, limit,
                               (struct fetch_sink){ .ask = on_ask, .done = on_done, .arg = agent });
}

static void turn(struct scene *scene)
{
    (void)uv_run(&scene->loop, UV_RUN_NOWAIT);
}

static void wait_for(struct scene *scene, const int *count, int least)
{
    uint64_t until = clock_mono_ms() + PATIENCE_MS;
    while (*count < least && clock_mono_ms() < until)
        (void)uv_run(&scene->loop, UV_RUN_ONCE);
    assert_true(*count >= least);
}

/* Answers the oldest question; cut: with so many bytes less. */
static void answer(struct scene *scene, struct agent *agent, size_t cut)
{
    struct wire_code_request want = agent->wants[0];
    memmove(agent->wants, agent->wants + 1, --agent->n_wants * sizeof want);
    size_t left = want.offset < SIZE ? SIZE - want.offset : 0;
    struct wire_piece piece = { .offset = want.offset,
                                .size = SIZE,
                                .at = scene->content + want.offset,
                                .len = (want.len < left ? want.len : left) - cut };
    fetch_piece(agent->fetch, &piece);
}

static void has_it_all(struct scene *scene)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    assert_int_equal(file_read(scene->path, SIZE + 1, &text, &len, NULL), 0);
    assert_int_equal(len, SIZE);
    assert_memory_equal(text, scene->content, SIZE);
}

static int set_up(void **state)
{
    struct scene *scene = mem_new(sizeof *scene);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    snprintf(scene->dir, sizeof scene->dir, "/tmp/muster-fetch-XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    scene->path = mem_printf("%s/cache/" HASH, scene->dir);
    scene->content = mem_new(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        scene->content[i] = (char)(i * 7 + (i >> 12));
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    fetch_destroy(scene->one.fetch);
    fetch_destroy(scene->two.fetch);
    (void)uv_run(&scene->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
    assert_int_equal(file_remove_tree(scene->dir, NULL), 0);
    free(scene->path);
    free(scene->content);
    free(scene);
    return 0;
}

static void pieces_are_asked_for_a_few_at_a_time(void **state)
{
    struct scene *scene = *state;
    struct agent *one = &scene->one;
    start(scene, one, SIZE);
    wait_for(scene, &one->asked, 1);
    assert_int_equal(one->n_wants, 1); /* the first says the size */
    while (!one->done)
        answer(scene, one, 0);
    assert_true(one->good);
    assert_int_equal(one->most, FETCH_AT_ONCE);
    assert_int_equal(one->asked, 6);
    has_it_all(scene);
    start(scene, one, SIZE); /* it is there now */
    wait_for(scene, &one->done, 2);
    assert_int_equal(one->asked, 6);
}

static void what_a_connection_lost_is_asked_for_again(void **state)
{
    struct scene *scene = *state;
    struct agent *one = &scene->one;
    start(scene, one, SIZE);
    wait_for(scene, &one->asked, 1);
    one->n_wants = 0; /* the first question was lost */
    fetch_again(one->fetch);
    assert_int_equal(one->n_wants, 1);
    answer(scene, one, 0);
    answer(scene, one, 0);
    struct wire_code_request late = one->wants[1];
    one->n_wants = 0;
    fetch_again(one->fetch);
    assert_true(one->wants[0].offset == (uint64_t)2 * FETCH_PIECE);
    struct wire_piece out_of_order = {
        .offset = late.offset, .size = SIZE, .at = scene->content + late.offset, .len = FETCH_PIECE
    };
    fetch_piece(one->fetch, &out_of_order); /* is not written where it does not belong */
    answer(scene, one, 10);                 /* a short one */
    while (!one->done)
        answer(scene, one, 0);
    assert_true(one->good);
    has_it_all(scene);
}

static void what_the_server_has_not_is_said(void **state)
{
    struct scene *scene = *state;
    start(scene, &scene->one, SIZE);
    wait_for(scene, &scene->one.asked, 1);
    fetch_piece(scene->one.fetch, &(struct wire_piece){ .size = 0 });
    assert_true(scene->one.done == 1 && !scene->one.good);
    assert_non_null(strstr(scene->one.why, "no code sha256:001122334455... for this job"));
}

static void one_of_a_node_fetches_it_for_all(void **state)
{
    struct scene *scene = *state;
    start(scene, &scene->one, SIZE);
    wait_for(scene, &scene->one.asked, 1);
    start(scene, &scene->two, SIZE);
    turn(scene);
    while (!scene->one.done)
        answer(scene, &scene->one, 0);
    wait_for(scene, &scene->two.done, 1);
    assert_true(scene->two.good);
    assert_int_equal(scene->two.asked, 0);
}

/* Its own file may have grown by then: the next one begins at the front. */
static void the_next_one_goes_on_when_the_first_ends(void **state)
{
    struct scene *scene = *state;
    start(scene, &scene->one, SIZE);
    wait_for(scene, &scene->one.asked, 1);
    answer(scene, &scene->one, 0);
    start(scene, &scene->two, SIZE);
    turn(scene);
    fetch_destroy(TAKE(scene->one.fetch));
    wait_for(scene, &scene->two.asked, 1);
    while (!scene->two.done)
        answer(scene, &scene->two, 0);
    assert_true(scene->two.good);
    has_it_all(scene);
}

static void put_file(struct scene *scene, char digit, time_t ago, char path[128])
{
    struct timespec times[2] = { { .tv_sec = time(NULL) - ago }, { .tv_sec = time(NULL) - ago } };
    char name[65];
    memset(name, digit, 64);
    name[64] = '\0';
    snprintf(path, 128, "%s/cache/%s", scene->dir, name);
    assert_int_equal(file_replace(path, scene->content, 1000, 0600, NULL), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void the_oldest_go_beyond_the_limit(void **state)
{
    struct scene *scene = *state;
    char oldest[128], older[128], old[128], now[128];
    AUTO_FREE char *cache = mem_printf("%s/cache", scene->dir);
    assert_int_equal(file_mkdirs(cache, 0700, NULL), 0);
    put_file(scene, 'a', 7200, older);
    put_file(scene, 'b', 9000, oldest);
    put_file(scene, 'c', 3600, old);
    put_file(scene, 'd', 1, now);
    start(scene, &scene->one, SIZE + 2500);
    wait_for(scene, &scene->one.asked, 1);
    while (!scene->one.done)
        answer(scene, &scene->one, 0);
    assert_int_not_equal(access(oldest, F_OK), 0);
    assert_int_not_equal(access(older, F_OK), 0);
    assert_int_equal(access(old, F_OK), 0);
    assert_int_equal(access(now, F_OK), 0);
    assert_int_equal(unlink(scene->path), 0);
    start(scene, &scene->one, 1); /* less than one: what was used a moment ago stays */
    wait_for(scene, &scene->one.asked, 7);
    while (scene->one.done < 2)
        answer(scene, &scene->one, 0);
    assert_int_not_equal(access(old, F_OK), 0);
    assert_int_equal(access(now, F_OK), 0);
    has_it_all(scene);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(pieces_are_asked_for_a_few_at_a_time),     T(what_a_connection_lost_is_asked_for_again),
        T(what_the_server_has_not_is_said),          T(one_of_a_node_fetches_it_for_all),
        T(the_next_one_goes_on_when_the_first_ends), T(the_oldest_go_beyond_the_limit),
    };
    return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
