/* Who holds how many connections: strangers make room for each other, known users for other users,
 * and what descriptors are left decides what is let in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/incoming.h"
#include "http/visits.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum { ROOM = 500, STRANGERS = ROOM / 25, KNOWN = ROOM / 10 * 4 };

struct fix {
    uv_loop_t loop;
    struct visits *visits;
    int first;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    uv_loop_init(&f->loop);
    f->first = dup(uv_backend_fd(&f->loop));
    close(f->first);
    f->visits = visits_create(&(struct visits_config){
        .loop = &f->loop, .stranger_timeout_s = 10, .first = f->first, .bound = f->first + ROOM });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    visits_destroy(f->visits);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    free(f);
    return 0;
}

struct guest {
    struct visit *visit;
    int fd, far;
    bool full;
};

static struct guest come(struct fix *f, bool local, const char *from)
{
    struct peer peer = { .len = sizeof(struct sockaddr_in) };
    struct sockaddr_in *at = (void *)&peer.at;
    struct guest g = { 0 };
    int ends[2];
    at->sin_family = AF_INET;
    inet_pton(AF_INET, from, &at->sin_addr);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    g.far = ends[1];
    g.fd = ends[0];
    g.visit = visit_begin(f->visits, g.fd, local, &peer, &g.full);
    return g;
}

static bool was_sent_away(const struct guest *g)
{
    char none;
    return recv(g->far, &none, 1, MSG_PEEK) == 0;
}

static void go(struct guest *g)
{
    visit_end(g->visit);
    if (g->visit)
        close(g->fd);
    close(g->far);
}

static void test_strangers_make_room(void **state)
{
    struct fix *f = *state;
    struct guest crowd[STRANGERS + 5];
    struct guest other = come(f, false, "10.0.0.1");
    for (size_t i = 0; i < ARRAY_LEN(crowd); i++)
        crowd[i] = come(f, false, "10.0.0.2");
    assert_false(was_sent_away(&other)); /* of those who have most, not who came first */
    for (size_t i = 0; i < ARRAY_LEN(crowd); i++)
        assert_int_equal(was_sent_away(&crowd[i]), i < 6);
    struct guest next = come(f, false, "10.0.0.3");
    assert_false(was_sent_away(&next));
    assert_false(was_sent_away(&other));
    assert_true(was_sent_away(&crowd[6]));
    for (size_t i = 0; i < ARRAY_LEN(crowd); i++)
        go(&crowd[i]);
    go(&other);
    go(&next);
}

static void test_known_ones_are_no_strangers(void **state)
{
    struct fix *f = *state;
    struct guest crowd[STRANGERS + 5];
    struct guest known = come(f, false, "10.0.0.2");
    visit_known(known.visit, "ann");
    for (size_t i = 0; i < ARRAY_LEN(crowd); i++)
        crowd[i] = come(f, false, "10.0.0.2");
    assert_false(was_sent_away(&known));
    assert_false(visit_crowded(known.visit));
    for (size_t i = 0; i < ARRAY_LEN(crowd); i++)
        go(&crowd[i]);
    go(&known);
}

static void test_one_user_leaves_room(void **state)
{
    struct fix *f = *state;
    struct guest *crowd = mem_new(KNOWN * sizeof *crowd);
    size_t n = 0, crowded = 0;
    for (; n < KNOWN && crowded == 0; n++) {
        crowd[n] = come(f, false, "10.0.0.2");
        visit_known(crowd[n].visit, "ann");
        crowded += visit_crowded(crowd[n].visit);
    }
    assert_int_equal(n, KNOWN / 4 * 3 + 1); /* three times what is left */
    struct guest other = come(f, false, "10.0.0.2");
    visit_known(other.visit, "ben");
    assert_false(visit_crowded(other.visit));
    go(&other);
    for (size_t i = 0; i < n; i++)
        go(&crowd[i]);
    struct guest again = come(f, false, "10.0.0.2");
    visit_known(again.visit, "ann");
    assert_false(visit_crowded(again.visit));
    go(&again);
    free(crowd);
}

/* Over TLS a visit has three descriptors and ends when both who have it are done with it. */
static void test_a_visit_over_tls(void **state)
{
    struct fix *f = *state;
    struct guest g = come(f, false, "10.0.0.2");
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    visit_pass(g.visit, ends[1]);
    assert_ptr_equal(visit_share(f->visits, ends[1]), g.visit);
    visit_known(g.visit, "ann");
    visit_end(g.visit);
    assert_ptr_equal(visit_share(f->visits, g.fd), g.visit);
    visit_end(g.visit);
    assert_null(visit_share(f->visits, g.fd));
    assert_null(visit_share(f->visits, ends[1]));
    close(ends[0]);
    close(ends[1]);
    g.visit = NULL;
    close(g.fd);
    go(&g);
}

/* The number of a descriptor tells how many are in use. */
static void test_marks(void **state)
{
    struct fix *f = *state;
    struct visits *v = f->visits;
    struct guest low = come(f, false, "10.0.0.1");
    assert_false(low.full);
    assert_true(visits_may_last(v, low.fd));
    go(&low);
    int taken[ROOM], n = 0;
    for (int fd = -1; fd < f->first + ROOM / 10 * 9; taken[n++] = fd)
        fd = dup(uv_backend_fd(&f->loop));
    assert_false(visits_may_last(v, taken[n - 1]));
    struct guest late = come(f, false, "10.0.0.1"), local = come(f, true, "10.0.0.1");
    assert_non_null(late.visit);
    assert_true(late.full);
    assert_false(visit_crowded(local.visit));
    for (int fd = -1; fd < f->first + ROOM / 20 * 19 + 1; taken[n++] = fd)
        fd = dup(uv_backend_fd(&f->loop));
    struct guest none = come(f, false, "10.0.0.1"), agent = come(f, true, "10.0.0.1");
    assert_null(none.visit);
    assert_true(visit_crowded(agent.visit)); /* only agents go on */
    go(&late);
    go(&local);
    go(&none);
    go(&agent);
    while (n-- > 0)
        close(taken[n]);
}

static void test_nobody(void **state)
{
    (void)state;
    visit_end(NULL);
    visit_heard(NULL);
    visit_served(NULL);
    visit_known(NULL, "ann");
    assert_false(visit_crowded(NULL));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_strangers_make_room),
        TEST(test_known_ones_are_no_strangers),
        TEST(test_one_user_leaves_room),
        TEST(test_a_visit_over_tls),
        TEST(test_marks),
        TEST(test_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
