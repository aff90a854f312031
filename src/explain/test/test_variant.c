/* Variants of a snapshot: the copy lacks one job, also one of several alike, and what it was copied
 * from is as before. */
#include "explain/variant.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t alike[] = { 11, 12 };
static const struct sched_job jobs[] = {
    { .id = 10, .alike = alike, .n_alike = 2, .promised_ms = 7, .claims = true },
    { .id = 20 },
};

/* "10+11+12 20" */
static const char *shown(struct arena *arena, const struct sched_snapshot *s)
{
    const char *text = "";
    for (size_t i = 0; i < s->n_jobs; i++) {
        text =
            arena_printf(arena, "%s%s%llu", text, i ? " " : "", (unsigned long long)s->jobs[i].id);
        for (size_t k = 0; k < s->jobs[i].n_alike; k++)
            text = arena_printf(arena, "%s+%llu", text, (unsigned long long)s->jobs[i].alike[k]);
    }
    return text;
}

static void one_job_is_left_out(void **state)
{
    (void)state;
    static const struct {
        uint64_t job;
        const char *left;
    } rows[] = { { 10, "11+12 20" },
                 { 11, "10+12 20" },
                 { 12, "10+11 20" },
                 { 20, "10+11+12" },
                 { 30, "10+11+12 20" } };
    struct arena *arena = arena_create();
    const struct sched_snapshot whole = { .jobs = jobs, .n_jobs = 2 };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sched_snapshot copy = whole;
        variant_drop(arena, &copy, rows[i].job);
        assert_string_equal(shown(arena, &copy), rows[i].left);
        assert_string_equal(shown(arena, &whole), "10+11+12 20");
    }
    struct sched_snapshot copy = whole;
    variant_drop(arena, &copy, 10); /* what it was promised is not the next one's */
    assert_true(!copy.jobs[0].promised_ms && !copy.jobs[0].claims);
    variant_drop(arena, &copy, 11);
    variant_drop(arena, &copy, 12);
    variant_drop(arena, &copy, 20);
    assert_int_equal(copy.n_jobs, 0);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_job_is_left_out) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
