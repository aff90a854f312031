/* Random small clusters and jobs. After every plan: nothing held twice, nothing beyond capacity,
 * gangs whole, one entry a job, and every "does not fit" checked by trying everything. The seed of
 * a failure is printed. */
#include "sched/plan.h"

#include "base/dice.h"
#include "base/mem.h"
#include "sched/test/ledger.h"
#include "sched/test/world.h"
#include "sched/wait_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WORLDS  400u
#define TURNS   12u
#define RUNNING 16u
#define WAITING 5u

struct running {
    const struct job_spec *job;
    struct plan_entry entry;
};
struct game {
    uint64_t seed;
    struct dice dice;
    struct world world;
    struct ledger ledger;
    struct running running[RUNNING];
    uint32_t n_running;
};

static void random_node(struct game *g, uint32_t i)
{
    static const char *const names[] = { "n0", "n1", "n2", "n3" };
    static const char *const zones[] = { "a", "b" };
    struct arena *a = g->world.arena;
    struct node_spec *s = ARENA_NEW(a, struct node_spec);
    s->name = names[i];
    s->address = arena_printf(a, "127.0.1.%u", i + 1);
    s->host = dice_below(&g->dice, 2) ? "box" : names[i];
    s->cpu_milli = 1000 * dice_below(&g->dice, 9);
    s->memory = GI * dice_below(&g->dice, 9);
    s->gpus = dice_below(&g->dice, LEDGER_GPUS + 1);
    pairs_set(&s->labels, a, "zone", zones[dice_below(&g->dice, 2)]);
    if (dice_below(&g->dice, 2)) {
        s->custom = (struct amounts){ .at = ARENA_NEW(a, struct amount), .n = 1 };
        s->custom.at[0] =
            (struct amount){ .name = "licence", .milli = 1000 * dice_below(&g->dice, 4) };
    }
    cluster_put(g->world.cluster, s);
    g->ledger.at[g->ledger.n++] = (struct ledger_node){ .spec = s, .usable = true };
}

static void random_ports(struct game *g, struct role *r)
{
    static const char *const labels[] = { "a", "b" };
    r->n_ports = dice_below(&g->dice, 3);
    r->ports = ARENA_ARRAY(g->world.arena, 2, struct port_request);
    for (size_t i = 0; i < r->n_ports; i++) {
        r->ports[i] =
            (struct port_request){ .label = labels[i], .count = 1 + dice_below(&g->dice, 2) };
        if (dice_below(&g->dice, 5) == 0)
            r->ports[i].first = 15000 + 10 * (uint32_t)i + dice_below(&g->dice, 3);
    }
}

static void random_role(struct game *g, struct role *r, uint32_t i, uint32_t most)
{
    static const char *const names[] = { "x", "y", "z" };
    static const uint32_t gpus[] = { 0, 0, 0, 300, 400, 500, 700, 1000, 1000, 2000 };
    *r = (struct role){ .name = names[i], .replicas = 1 + dice_below(&g->dice, most) };
    r->min = dice_below(&g->dice, 4) ? r->replicas : 1 + dice_below(&g->dice, r->replicas);
    r->resources.cpu_milli = dice_below(&g->dice, 3) ? 500 * dice_below(&g->dice, 8) : 0;
    r->resources.memory = dice_below(&g->dice, 2) ? GI * dice_below(&g->dice, 4) : 0;
    r->resources.gpu_milli = gpus[dice_below(&g->dice, ARRAY_LEN(gpus))];
    if (dice_below(&g->dice, 5) == 0) {
        r->resources.custom =
            (struct amounts){ .at = ARENA_NEW(g->world.arena, struct amount), .n = 1 };
        r->resources.custom.at[0] =
            (struct amount){ .name = "licence", .milli = 500 * (1 + dice_below(&g->dice, 3)) };
    }
    if (dice_below(&g->dice, 2))
        random_ports(g, r);
}

static struct job_spec *random_job(struct game *g)
{
    struct role roles[3] = { 0 };
    uint32_t n = 1 + dice_below(&g->dice, 3);
    for (uint32_t i = 0; i < n; i++)
        random_role(g, &roles[i], i, n == 1 ? 4 : 2);
    struct job_spec *job = world_job(g->world.arena, roles, n);
    const char **one = ARENA_NEW(g->world.arena, const char *);
    *one = "x";
    if (dice_below(&g->dice, 6) == 0)
        job->placing.apart = (struct words){ .at = one, .n = 1 };
    if (dice_below(&g->dice, 6) == 0)
        job->placing.spread = (struct words){ .at = one, .n = 1 };
    if (dice_below(&g->dice, 6) == 0)
        pairs_set(&job->placing.labels, g->world.arena, "zone", "a");
    if (dice_below(&g->dice, 4) == 0) {
        job->placing.within = dice_below(&g->dice, 3) ? "zone" : "node";
        job->placing.within_required = dice_below(&g->dice, 3) != 0;
    }
    return job;
}

static void random_state(struct game *g)
{
    for (uint32_t i = 0; i < g->ledger.n; i++) {
        bool up = dice_below(&g->dice, 8) != 0, drained = dice_below(&g->dice, 8) == 0;
        cluster_set_up(g->world.cluster, i, up);
        cluster_set_drained(g->world.cluster, i, drained);
        g->ledger.at[i].usable = up && !drained;
    }
}

static void check_books(struct game *g)
{
    for (uint32_t i = 0; i < g->ledger.n; i++) {
        const struct ledger_node *n = &g->ledger.at[i];
        struct node_view v = cluster_node(g->world.cluster, i);
        uint64_t gpu = 0;
        for (uint32_t k = 0; k < LEDGER_GPUS; k++)
            gpu += n->gpu[k];
        if (v.cpu_used != n->cpu || v.memory_used != n->memory || v.gpu_used_milli != gpu ||
            v.tasks != n->tasks)
            fail_msg("seed %llu: the books of %s differ", (unsigned long long)g->seed,
                     v.spec->name);
    }
}

static void end_one(struct game *g, uint32_t i)
{
    struct running *r = &g->running[i];
    world_give(g->world.cluster, r->job, &r->entry);
    for (uint32_t k = 0; k < r->entry.n_tasks; k++)
        ledger_give(&g->ledger, r->job, &r->entry.tasks[k]);
    *r = g->running[--g->n_running];
}

static void begin_one(struct game *g, const struct job_spec *job, const struct plan_entry *e)
{
    const char *wrong = ledger_judge(&g->ledger, job, e);
    for (uint32_t k = 0; k < e->n_tasks && !wrong; k++)
        wrong = ledger_take(&g->ledger, job, &e->tasks[k]);
    if (wrong || !world_take(g->world.cluster, job, e))
        fail_msg("seed %llu: %s: %s", (unsigned long long)g->seed, wrong ? wrong : "not taken",
                 world_show(g->world.arena, job, e));
    g->running[g->n_running++] = (struct running){ .job = job, .entry = *e };
    while (g->n_running == RUNNING)
        end_one(g, dice_below(&g->dice, RUNNING));
}

/* A reason is right when trying everything finds nothing; "would fit if" when it then does. */
static void check_reason(struct game *g, const struct job_spec *job, const struct wait_reason *r)
{
    bool could = ledger_could_place(&g->ledger, job), right = !could;
    struct ledger back = g->ledger;
    for (uint32_t i = 0; i < back.n; i++)
        back.at[i].usable = true;
    bool could_back = ledger_could_place(&back, job);
    if (r->why == WAIT_NODES_DOWN || (r->why != WAIT_LABELS && could_back))
        right = right && could_back && r->why == WAIT_NODES_DOWN;
    if (!right || !r->says || !r->resource || (r->why == WAIT_RESOURCE && !r->short_by))
        fail_msg("seed %llu: not right (fits %d, with all nodes %d): %s",
                 (unsigned long long)g->seed, could, could_back, wait_text(g->world.arena, r));
}

static void one_turn(struct game *g)
{
    struct sched_job jobs[WAITING];
    uint32_t seen[WAITING] = { 0 };
    for (uint32_t i = 0; i < WAITING; i++)
        jobs[i] = (struct sched_job){ .id = i, .spec = random_job(g) };
    struct sched_snapshot s = { .cluster = g->world.cluster, .jobs = jobs, .n_jobs = WAITING };
    struct plan_entry first = sched_try(g->world.cluster, &jobs[0], 1000, g->world.arena);
    if (first.kind == PLAN_WAIT)
        check_reason(g, jobs[0].spec, &first.reason);
    struct plan p = sched_plan(&s, 1000, g->world.arena);
    while (p.n && p.at[p.n - 1].kind == PLAN_RESERVE)
        p.n--;
    assert_int_equal(p.n, WAITING);
    assert_int_equal(p.at[p.n - 1].kind == PLAN_ADMIT ? PLAN_ADMIT : PLAN_WAIT, p.at[p.n - 1].kind);
    for (size_t i = 0; i < p.n; i++) {
        seen[p.at[i].job]++;
        if (i)
            assert_true(p.at[i - 1].kind == PLAN_ADMIT || p.at[i].kind == PLAN_WAIT);
    }
    for (uint32_t i = 0; i < WAITING; i++)
        assert_int_equal(seen[i], 1);
    for (size_t i = 0; i < p.n && p.at[i].kind == PLAN_ADMIT; i++)
        begin_one(g, jobs[p.at[i].job].spec, &p.at[i]);
    check_books(g);
    /* Room only shrank while the plan was made, so who waits does not fit afterwards either. */
    for (size_t i = 0; i < p.n && g->n_running < RUNNING - WAITING; i++)
        if (p.at[i].kind == PLAN_WAIT && ledger_could_place(&g->ledger, jobs[p.at[i].job].spec))
            fail_msg("seed %llu: job %llu fits and waits: %s", (unsigned long long)g->seed,
                     (unsigned long long)p.at[i].job, wait_text(g->world.arena, &p.at[i].reason));
}

/* One task of a running job loses its place and asks for another. */
static void retry_one(struct game *g, uint32_t i)
{
    struct running *r = &g->running[i];
    uint32_t at = dice_below(&g->dice, r->entry.n_tasks);
    struct task_place lost = r->entry.tasks[at];
    struct task_ref ref = { .role = (uint16_t)lost.role, .index = lost.index };
    cluster_give(g->world.cluster, r->job, &lost);
    ledger_give(&g->ledger, r->job, &lost);
    r->entry.tasks[at] = r->entry.tasks[--r->entry.n_tasks]; /* the others are what is held */
    struct sched_more more = { .id = 9,
                               .spec = r->job,
                               .tasks = &ref,
                               .n = 1,
                               .held = r->entry.tasks,
                               .n_held = r->entry.n_tasks };
    struct sched_snapshot s = { .cluster = g->world.cluster, .more = &more, .n_more = 1 };
    struct plan p = sched_plan(&s, 1000, g->world.arena);
    assert_int_equal(p.n, 1);
    r->entry.tasks[r->entry.n_tasks] = r->entry.tasks[at];
    if (p.at[0].kind == PLAN_MORE) {
        r->entry.tasks[at] = p.at[0].tasks[0];
        r->entry.n_tasks++;
        const char *wrong = ledger_take(&g->ledger, r->job, &r->entry.tasks[at]);
        if (!wrong)
            wrong = ledger_judge(&g->ledger, r->job, &r->entry);
        if (wrong || !cluster_take(g->world.cluster, r->job, &r->entry.tasks[at]))
            fail_msg("seed %llu: again: %s", (unsigned long long)g->seed, wrong);
    } else {
        assert_int_equal(p.at[0].kind, PLAN_WAIT);
        for (uint32_t k = at; k < r->entry.n_tasks; k++)
            r->entry.tasks[k] = r->entry.tasks[k + 1];
        end_one(g, i);
    }
    check_books(g);
}

static void check_possible(struct game *g)
{
    struct wait_reason reason = { 0 };
    const struct job_spec *job = random_job(g);
    struct ledger empty = { .n = g->ledger.n, .has_zones = g->ledger.has_zones };
    for (uint32_t i = 0; i < empty.n; i++)
        empty.at[i] = (struct ledger_node){ .spec = g->ledger.at[i].spec, .usable = true };
    bool possible = sched_possible(g->world.cluster, job, g->world.arena, &reason) == 0;
    if (possible != ledger_could_place(&empty, job))
        fail_msg("seed %llu: possible %d: %s", (unsigned long long)g->seed, possible,
                 wait_text(g->world.arena, &reason));
}

static void play(uint64_t seed)
{
    struct game g = { .seed = seed, .dice = { .state = seed }, .world = world_create(NULL, 0) };
    uint32_t n = 1 + dice_below(&g.dice, 3);
    for (uint32_t i = 0; i < n; i++)
        random_node(&g, i);
    if (dice_below(&g.dice, 4)) {
        const char *zone = "zone";
        const struct words levels = { .at = &zone, .n = 1 };
        assert_int_equal(cluster_set_levels(g.world.cluster, &levels, NULL), 0);
        g.ledger.has_zones = true;
    }
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        random_state(&g);
        one_turn(&g);
        check_possible(&g);
        if (g.n_running)
            retry_one(&g, dice_below(&g.dice, g.n_running));
        while (g.n_running && (dice_below(&g.dice, 3) == 0 || g.n_running > RUNNING - WAITING - 1))
            end_one(&g, dice_below(&g.dice, g.n_running));
    }
    while (g.n_running)
        end_one(&g, 0);
    check_books(&g);
    assert_int_equal(g.ledger.n_ports, 0);
    world_destroy(&g.world);
}

static void test_games(void **state)
{
    (void)state;
    const char *only = getenv("SEED");
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        play(only ? strtoull(only, NULL, 10) : seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_games) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
