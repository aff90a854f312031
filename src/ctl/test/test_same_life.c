/* The same life twice, once without a break and once with a server that dies again and again: the
 * same jobs get the same places at the same times, are promised the same and give way to the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "answer/jobs.h"
#include "base/buf.h"
#include "base/dice.h"
#include "base/mem.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LIVES 2u
#define NODES 4u
#define TICKS 130u /* seconds */
#define JOBS  90u
#define BEGIN UINT64_C(1700000000000)

struct begun { /* an attempt, and when its task was first asked what to do */
    uint64_t job, at_ms;
    char role;
    uint32_t index, attempt;
};
struct life {
    struct world world;
    struct buf told; /* what was decided, in the order of jobs and attempts */
    VEC(struct begun) begun;
    uint64_t jobs[JOBS], seen /* of the events */;
    uint32_t lasts[JOBS]; /* seconds */
    size_t n;
};

static size_t position(const struct life *l, uint64_t job)
{
    size_t at = 0;
    while (at < l->n && l->jobs[at] != job)
        at++;
    return at;
}

/* ---- tasks that last ---- */

static struct life *playing(struct life *set)
{
    static struct life *now;
    now = set ? set : now;
    return now;
}

static int runs_its_time(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    struct life *l = playing(NULL);
    size_t i = 0, at = position(l, job);
    while (i < l->begun.n && (l->begun.at[i].job != job || l->begun.at[i].role != *role ||
                              l->begun.at[i].index != index || l->begun.at[i].attempt != attempt))
        i++;
    if (i == l->begun.n)
        vec_push(&l->begun, ((struct begun){ .job = job,
                                             .at_ms = l->world.now,
                                             .role = *role,
                                             .index = index,
                                             .attempt = attempt }));
    uint64_t lasts = at < l->n ? UINT64_C(1000) * l->lasts[at] : 1000;
    if (l->world.now < l->begun.at[i].at_ms + lasts)
        return FAKE_RUNS;
    return (job + index + attempt) % 11 == 0; /* some end badly, and are tried again */
}

/* ---- who comes ---- */

static void ignore(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    if (answer->err)
        fail_msg("%s %s", answer->err->what,
                 answer->report && answer->report->n ? answer->report->at[0].what : "");
}

static void declare(struct world *w)
{
    static const char text[] = "kind: quota\nname: a\nguaranteed: {gpu: 8}\n---\n"
                               "kind: quota\nname: b\nguaranteed: {gpu: 25%}\n"
                               "user: {gpu: 6}\nstrategy: balance\n---\n"
                               "kind: quota\nname: c\nparent: a\nstrategy: intelligent\n";
    struct declaration ask = { .owner = "root", .text = text, .len = sizeof text - 1 };
    ctl_declare(w->ctl, &ask, ignore, NULL);
    ctl_turn(w->ctl);
}

static void arrive(struct life *l, struct dice *dice)
{
    static const char *const queues[] = { "a", "b", "c", "default" };
    static const char *const owners[] = { "ada", "bob", "eve" };
    static const char *const gpus[] = { "0", "0.25", "0.47", "0.5", "1", "1", "2", "4" };
    static const char *const capacities[] = { "guaranteed", "guaranteed", "any", "idle" };
    char text[700], limits[64] = "";
    uint32_t tasks = dice_below(dice, 3) ? 1 : 1 + dice_below(dice, 6);
    if (dice_below(dice, 3))
        snprintf(limits, sizeof limits, ",\"limits\":{\"run_time\":\"%us\"}",
                 2 + dice_below(dice, 30));
    snprintf(
        text, sizeof text,
        "{\"name\":\"j%zu\",\"priority\":%u,\"preemptible\":%s,\"capacity\":\"%s\",\"retry\":{"
        "\"unknown\":2,\"platform\":\"always\"}%s,\"roles\":{\"w\":{\"run\":\"x\",\"replicas\":"
        "{\"min\":%u,\"max\":%u},\"resources\":{\"cpu\":%u,\"gpu\":%s}}}}",
        l->n, 1 + dice_below(dice, 9), dice_below(dice, 2) ? "true" : "false",
        capacities[dice_below(dice, ARRAY_LEN(capacities))], limits,
        dice_below(dice, 4) ? tasks : 1 + dice_below(dice, tasks), tasks, 1 + dice_below(dice, 4),
        gpus[dice_below(dice, ARRAY_LEN(gpus))]);
    const struct submission ask = { .owner = owners[dice_below(dice, ARRAY_LEN(owners))],
                                    .text = text,
                                    .len = strlen(text),
                                    .queue = queues[dice_below(dice, ARRAY_LEN(queues))] };
    uint32_t lasts = 1 + dice_below(dice, 20);
    if (world_submit_as(&l->world, &ask)) {
        l->lasts[l->n] = lasts;
        l->jobs[l->n++] = l->world.job;
    }
}

/* ---- what was decided ---- */

/* Events of jobs since the last look that say what the scheduler did. */
static void tell_events(struct life *l)
{
    static const char *const decided[] = { "allocated", "closing", "requeued", "succeeded",
                                           "failed" };
    struct arena *arena = arena_create();
    struct event_row *at;
    size_t n = 0;
    struct event_range range = { .after = l->seen, .limit = 10000 };
    store_events(l->world.store, arena, &range, &at, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        l->seen = at[i].seq;
        for (size_t k = 0; k < ARRAY_LEN(decided); k++)
            if (!at[i].has_task && strcmp(at[i].type, decided[k]) == 0)
                buf_addf(&l->told, "j%zu %s at %" PRIu64 " %s\n", position(l, at[i].job),
                         decided[k], at[i].at_ms - BEGIN, at[i].body ? at[i].body : "");
    }
    arena_destroy(arena);
}

/* Promises go when the job starts, and so they are looked at all the time. */
static void tell_promises(struct life *l)
{
    struct arena *arena = arena_create();
    for (size_t i = 0; i < l->n; i++) {
        const struct job_ask ask = { .job = l->jobs[i], .owner = "ada" };
        struct job_view view;
        if (answer_job_view(l->world.ctl, arena, &ask, &view, NULL) == 0 && view.promised_ms)
            buf_addf(&l->told, "j%zu promised %" PRIu64 "\n", i, view.promised_ms - BEGIN);
    }
    arena_destroy(arena);
}

/* No ports: a restarted server looks for free ones from another number on, and a promise may be in
 * the way of one number and not of the other. */
static void tell_places(struct life *l, size_t at)
{
    struct arena *arena = arena_create();
    struct attempt_row *rows;
    size_t n = 0;
    store_attempts(l->world.store, arena, l->jobs[at], &rows, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        buf_addf(&l->told, "j%zu %u/%u.%u at %" PRIu64 " on %s %s\n", at, rows[i].ref.role,
                 rows[i].ref.index, rows[i].attempt, rows[i].placed_ms - BEGIN, rows[i].node,
                 rows[i].place);
    }
    arena_destroy(arena);
}

static struct life *live(uint64_t seed, uint32_t deaths)
{
    struct life *l = mem_new(sizeof *l);
    struct node_spec nodes[NODES];
    /* Two, so that dying does not change what comes. */
    struct dice dice = { seed }, fate = { seed };
    buf_init(&l->told, 16u << 20);
    playing(l);
    world_init(&l->world);
    l->world.by_attempt = runs_its_time;
    for (uint32_t i = 0; i < NODES; i++) {
        static const char *const names[] = { "n1", "n2", "n3", "n4" };
        nodes[i] = l->world.nodes[0];
        nodes[i].name = names[i];
        nodes[i].cpu_milli = 32000;
        nodes[i].gpus = 4;
    }
    l->world.nodes = nodes;
    l->world.n_nodes = NODES;
    world_crash(&l->world);
    declare(&l->world);
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        for (uint32_t i = dice_below(&dice, 3); i > 0 && l->n < JOBS; i--)
            arrive(l, &dice);
        if (deaths && dice_below(&fate, deaths) == 0) {
            for (uint32_t i = 0 * dice_below(&fate, 4); i > 0; i--)
                world_step(&l->world);
            world_crash(&l->world);
        }
        world_run(&l->world);
        tell_events(l);
        if (tick % 4 == 0)
            tell_promises(l);
        world_pass(&l->world, 1000); /* tasks end at whole seconds */
    }
    for (size_t i = 0; i < l->n; i++)
        tell_places(l, i);
    assert_int_equal(l->world.fake.doubled, 0);
    return l;
}

static void die(struct life *l)
{
    world_fini(&l->world);
    vec_fini(&l->begun);
    buf_fini(&l->told);
    free(l);
}

/* The first line in which they differ. */
static void same(const struct life *a, const struct life *b, uint64_t seed)
{
    const char *x = buf_str(&a->told), *y = buf_str(&b->told), *line = x, *other = y;
    for (; *x && *x == *y; x++, y++)
        if (*x == '\n') {
            line = x + 1;
            other = y + 1;
        }
    if (*x != *y)
        fail_msg("seed %" PRIu64 ":\n%.*s\n%.*s", seed, (int)strcspn(line, "\n"), line,
                 (int)strcspn(other, "\n"), other);
}

static void a_restart_decides_the_same(void **state)
{
    const char *given = getenv("SEED"), *most = getenv("MUSTER_LIVES");
    (void)state;
    for (uint64_t i = 0, n = most ? strtoull(most, NULL, 10) : LIVES; i < n; i++) {
        uint64_t seed = given ? strtoull(given, NULL, 10) : i * 7919 + 1;
        struct life *one = live(seed, 0), *other = live(seed, 6);
        print_message("seed %" PRIu64 ": %zu jobs, %zu attempts\n", seed, one->n, one->begun.n);
        same(one, other, seed);
        die(one);
        die(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_restart_decides_the_same) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
