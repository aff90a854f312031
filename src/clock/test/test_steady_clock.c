/* The steady clock over starts of servers and machines: it goes on by what the records say, and
 * never comes back to before their newest event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "clock/steady_clock.h"
#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>

#define START   1700000000000ll
#define HOUR_MS 3600000ll
#define DAY_MS  (24 * HOUR_MS)

struct fix {
    struct store *store;
    char dir[40];
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-clock-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    AUTO_FREE char *db = file_join(f->dir, "db");
    f->store = store_open(db, &err);
    assert_non_null(f->store);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    store_close(f->store);
    file_remove_tree(f->dir, NULL);
    free(f);
    return 0;
}

static struct clock_start resume(struct store *store, const char *boot, uint64_t wall_ms,
                                 uint64_t up_ms)
{
    struct clock_start out;
    struct err err;
    assert_int_equal(clock_resume(store, boot, wall_ms, up_ms, &out, &err), 0);
    return out;
}

static void the_clock_over_starts(void **state)
{
    struct store *store = ((struct fix *)*state)->store;
    int64_t base = 0;
    assert_false(clock_recorded(store, &base));
    struct clock_start c =
        resume(store, "a", START, 5000); /* the first: as the wall clock has it */
    assert_true(c.base_ms == START - 5000 && !c.rebooted);
    assert_true(clock_recorded(store, &base) && base == c.base_ms);
    c = resume(store, "a", START + DAY_MS, 8000); /* set meanwhile: no matter */
    assert_true(c.base_ms == START - 5000 && !c.rebooted);
    c = resume(store, "b", START + DAY_MS + HOUR_MS, 100); /* another boot, an hour later */
    assert_true(c.rebooted && c.away_ms == HOUR_MS);
    assert_true(c.base_ms + 100 == START + 3000 + HOUR_MS);
    c = resume(store, "c", START, 200); /* and by a clock that was set back: it stands, at least */
    assert_true(c.rebooted && c.away_ms == 0);
    assert_true(c.base_ms + 200 == START + 3000 + HOUR_MS);
}

/* The pair of both clocks in the records is up to a minute old. */
static void another_boot_is_never_before_an_event(void **state)
{
    struct store *store = ((struct fix *)*state)->store;
    struct event_row late = { .type = "x", .steady_ms = START + 40000 };
    struct err err;
    resume(store, "a", START, 5000);
    assert_int_equal(store_add_event(store, &late, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    struct clock_start c = resume(store, "b", START - DAY_MS, 100);
    assert_true(c.rebooted && c.away_ms == 0);
    assert_int_equal(c.base_ms + 100, START + 40000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_clock_over_starts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_boot_is_never_before_an_event, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("clock/steady_clock", tests, NULL, NULL);
}
