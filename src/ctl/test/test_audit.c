/* The audit record as the core writes it: whose doing is an entry, what stands beside it, refusals
 * that are counted, entries that are too old. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/core.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS    86400000ull
#define MINUTE_MS 60000ull

static int set_up(void **state)
{
    struct world *w = mem_new(sizeof *w);
    world_init(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    world_fini(*state);
    free(*state);
    return 0;
}

/* Oldest first: "user|role|known|from|action|object|outcome" a line. */
static const char *entries(struct world *w, struct buf *out)
{
    struct arena *arena = arena_create();
    const struct audit_ask ask = { .ascending = true, .limit = 1000 };
    struct err err;
    struct audit_view view;
    assert_int_equal(list_audit(w->ctl->accounts, arena, &ask, &view, &err), 0);
    assert_int_equal(view.next, 0);
    buf_clear(out);
    for (const struct audit_row *e = view.at; e < view.at + view.n; e++)
        buf_addf(out, "%s|%s|%s|%s|%s|%s|%s\n", e->user, e->role, e->known, e->from, e->action,
                 e->object, e->outcome);
    arena_destroy(arena);
    return buf_str(out);
}

static void others_jobs_and_no_own_ones(void **state)
{
    struct world *w = *state;
    AUTO_BUF struct buf said = BUF_INIT(1u << 20);
    uint64_t job = world_submit(w, "{\"name\": \"j\", \"roles\": {\"w\": {\"run\": \"x\"}}}");
    assert_int_not_equal(job, 0);
    audit_called_by(w->ctl->accounts, &(struct audit_caller){ "ada", "socket", "uid 7 pid 8" });
    world_command_as(w, "ada", job, CTL_SUSPEND);
    assert_string_equal(entries(w, &said), "");
    /* Who calls is another: nothing of them is said of bob. */
    world_command_as(w, "bob", job, CTL_RESUME);
    assert_string_equal(entries(w, &said), "bob|user|||job.resume|job 1 of ada|not_found\n");
    audit_called_by(w->ctl->accounts,
                    &(struct audit_caller){ w->ctl->admin, "token x", "192.0.2.7" });
    world_command_as(w, w->ctl->admin, job, CTL_STOP_NOW);
    AUTO_FREE char *last =
        mem_printf("%s|admin|token x|192.0.2.7|job.stop|job 1 of ada|ok\n", w->ctl->admin);
    assert_non_null(strstr(entries(w, &said), last));
}

static void a_limit_says_where_to_go_on(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct audit_ask ask = { .limit = 2 };
    struct audit_view view;
    struct err err;
    for (size_t i = 0; i < 3; i++)
        audit_add(w->ctl->accounts,
                  &(struct audit_entry){ .user = "ada", .action = i == 1 ? "b" : "a" });
    ctl_turn(w->ctl);
    assert_int_equal(list_audit(w->ctl->accounts, arena, &ask, &view, &err), 0);
    assert_int_equal(view.n, 2); /* newest first */
    assert_int_equal(view.at[0].seq, view.head.seq);
    assert_int_equal(view.next, view.at[1].seq);
    assert_int_equal(view.floor.seq, 0);
    ask = (struct audit_ask){ .limit = 2, .action = "a", .before = view.next };
    assert_int_equal(list_audit(w->ctl->accounts, arena, &ask, &view, &err), 0);
    assert_int_equal(view.n, 1);
    assert_string_equal(view.at[0].action, "a");
    assert_int_equal(view.next, 0);
    arena_destroy(arena);
}

static void refuse(struct world *w, bool claimed)
{
    struct err err = { 0 };
    err_set(&err, claimed ? ERR_UNAUTHENTICATED : ERR_DENIED, "no");
    audit_add(
        w->ctl->accounts,
        &(struct audit_entry){
            .user = "eve", .claimed = claimed, .action = "try", .object = "x", .refused = &err });
}

static size_t lines(const char *text, const char *with)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, with)); at += strlen(with))
        n++;
    return n;
}

static void refusals_are_bounded(void **state)
{
    struct world *w = *state;
    AUTO_BUF struct buf said = BUF_INIT(1u << 20);
    w->now += MINUTE_MS - w->now % MINUTE_MS;
    for (int i = 0; i < 25; i++)
        refuse(w, true);
    refuse(w, false); /* what strangers do does not hide it */
    assert_int_equal(lines(entries(w, &said), "|try|"), 11);
    w->now += MINUTE_MS;
    refuse(w, true);
    assert_non_null(strstr(entries(w, &said),
                           "|audit.more|15 more of strangers in a minute|denied\n"
                           "eve||||try|x|unauthenticated\n"));
    w->now += MINUTE_MS;
    refuse(w, true);
    assert_int_equal(lines(entries(w, &said), "audit.more"), 1);
    /* What is done is an entry, however much was refused. */
    for (int i = 0; i < 25; i++)
        audit(w->ctl->accounts, "ada", "do", "y", NULL);
    assert_int_equal(lines(entries(w, &said), "|do|"), 25);
    ctl_turn(w->ctl);
}

static void old_ones_go(void **state)
{
    struct world *w = *state;
    AUTO_BUF struct buf said = BUF_INIT(1u << 20);
    audit(w->ctl->accounts, "ada", "do", "old", NULL);
    ctl_turn(w->ctl);
    w->now += 399 * DAY_MS;
    ctl_tick(w->ctl);
    audit(w->ctl->accounts, "ada", "do", "new", NULL);
    ctl_turn(w->ctl);
    assert_int_equal(lines(entries(w, &said), "|old|"), 1);
    w->now += 2 * DAY_MS;
    ctl_tick(w->ctl);
    assert_int_equal(lines(entries(w, &said), "|old|"), 0);
    assert_int_equal(lines(entries(w, &said), "|new|"), 1);
    assert_int_equal(lines(entries(w, &said), "audit.cut|1:"), 1);
    world_crash(w);
    assert_int_equal(lines(entries(w, &said), "audit.cut|1:"), 1);
}

static void settings_that_changed(void **state)
{
    struct world *w = *state;
    AUTO_BUF struct buf said = BUF_INIT(1u << 20);
    struct arena *arena = arena_create();
    struct pairs settings = { 0 };
    pairs_set(&settings, arena, "keep", "30d");
    pairs_set(&settings, arena, "listen", "none");
    ctl_audit_start(w->ctl, "1", &settings);
    assert_string_equal(entries(w, &said), "||server||server.started|1|ok\n");
    world_crash(w);
    pairs_set(&settings, arena, "keep", "7d");
    ctl_audit_start(w->ctl, "1", &settings);
    ctl_audit_end(w->ctl, "SIGTERM");
    assert_string_equal(entries(w, &said), "||server||server.started|1|ok\n"
                                           "||server||server.started|1|ok\n"
                                           "||server||setting.changed|keep: 7d|ok\n"
                                           "||server||server.ended|SIGTERM|ok\n");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(others_jobs_and_no_own_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_limit_says_where_to_go_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_ones_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(settings_that_changed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
