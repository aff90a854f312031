/* The engine over a heap of what is due. A crew is what a generation has here: its tasks and the
 * nodes it holds. Every attempt gets a turn of its own, so that what was arranged for it is void
 * when it was stopped or lost meanwhile. */
#include "engine/sim/sim.h"

#include "base/map.h"
#include "base/mem.h"
#include "engine/sim/due.h"

enum phase { STARTING, RUNNING, OVER };

struct member {
    struct task_ref ref;
    uint32_t attempt, turn;
    uint32_t node; /* position in the crew's */
    enum phase phase;
    enum end_origin why; /* it was asked to end */
    bool stopping;
    uint64_t started_ms;
    struct sim_run run;
};
struct post { /* a node that the crew holds */
    uint32_t node;
    bool left; /* released, or lost */
};
struct task_set {
    struct generation generation;
    uint64_t grace_ms;
    size_t left; /* posts */
    VEC(struct member) members;
    VEC(struct post) posts;
};
struct node {
    char *name;
    bool down;
};
struct sim {
    struct engine base; /* first */
    struct sim_watch watch;
    uint64_t now;
    uint32_t turns;
    size_t alive;
    struct dues dues;
    struct map *crews;        /* by job */
    struct string_map *names; /* node names to positions + 1 */
    VEC(struct node) nodes;
};

static struct sim *of(const struct engine *e)
{
    return (struct sim *)(uintptr_t)e;
}

static uint32_t node_of(struct sim *sim, const char *name)
{
    uintptr_t at = (uintptr_t)string_map_get(sim->names, name);
    if (at)
        return (uint32_t)at - 1;
    vec_push(&sim->nodes, ((struct node){ .name = mem_strdup(name) }));
    string_map_set(sim->names, name, (void *)(uintptr_t)sim->nodes.n);
    return (uint32_t)sim->nodes.n - 1;
}

static void crew_free(void *freed)
{
    struct task_set *crew = freed;
    vec_fini(&crew->members);
    vec_fini(&crew->posts);
    free(crew);
}

static struct task_set *crew_of(const struct sim *sim, struct generation generation)
{
    struct task_set *crew = map_get(sim->crews, generation.job);
    return crew && crew->generation.number == generation.number ? crew : NULL;
}

static uint32_t post_of(struct task_set *crew, uint32_t node)
{
    for (size_t i = crew->posts.n; i-- > 0;)
        if (crew->posts.at[i].node == node && !crew->posts.at[i].left)
            return (uint32_t)i;
    vec_push(&crew->posts, ((struct post){ .node = node }));
    return (uint32_t)crew->posts.n - 1;
}

static struct member *member_of(struct task_set *crew, struct task_ref ref)
{
    for (size_t i = 0; i < crew->members.n; i++)
        if (crew->members.at[i].ref.role == ref.role && crew->members.at[i].ref.index == ref.index)
            return &crew->members.at[i];
    return NULL;
}

/* ---- facts ---- */

static void tell(struct sim *sim, const struct engine_fact *fact)
{
    if (sim->base.sink.fact)
        sim->base.sink.fact(sim->base.sink.arg, fact);
}

static struct engine_fact fact_of(const struct sim *sim, const struct task_set *crew,
                                  const struct member *member, enum engine_fact_kind kind)
{
    return (struct engine_fact){
        .kind = kind,
        .generation = crew->generation,
        .node = sim->nodes.at[crew->posts.at[member->node].node].name,
        .task = member->ref,
        .attempt = member->attempt,
        .at_ms = sim->now,
        .ending = { .tail = "" },
    };
}

static void member_over(struct sim *sim, struct member *member, const struct engine_fact *fact)
{
    member->phase = OVER;
    sim->alive--;
    if (sim->watch.over)
        sim->watch.over(sim->watch.arg, fact, &member->run, member->started_ms);
}

static void arrange(struct sim *sim, const struct task_set *crew, struct member *member,
                    enum due_what what, uint64_t at_ms)
{
    member->turn = ++sim->turns;
    due_add(&sim->dues, (struct due){ .at_ms = at_ms,
                                      .what = what,
                                      .at = (uint32_t)(member - crew->members.at),
                                      .turn = member->turn,
                                      .crew = crew->generation.job });
}

static void started(struct sim *sim, const struct task_set *crew, struct member *member)
{
    struct engine_fact fact = fact_of(sim, crew, member, FACT_STARTED);
    member->phase = RUNNING;
    member->started_ms = sim->now;
    fact.pid = 1;
    arrange(sim, crew, member, DUE_END, sim->now + member->run.run_ms);
    tell(sim, &fact);
}

static void ended(struct sim *sim, const struct task_set *crew, struct member *member)
{
    struct engine_fact fact = fact_of(sim, crew, member, FACT_ENDED);
    fact.ending.exited = !member->stopping;
    fact.ending.code = member->stopping ? 0 : member->run.code;
    fact.ending.signal = member->stopping ? 15 : 0;
    fact.ending.by = member->stopping ? member->why : BY_ITSELF;
    member_over(sim, member, &fact);
    tell(sim, &fact);
}

static void leave(struct sim *sim, struct task_set *crew, uint32_t post)
{
    crew->posts.at[post].left = true;
    if (++crew->left < crew->posts.n)
        return;
    map_remove(sim->crews, crew->generation.job);
    crew_free(crew);
}

static void released(struct sim *sim, struct task_set *crew, uint32_t post)
{
    struct engine_fact fact = { .kind = FACT_RELEASED,
                                .generation = crew->generation,
                                .node = sim->nodes.at[crew->posts.at[post].node].name,
                                .at_ms = sim->now,
                                .ending = { .tail = "" } };
    leave(sim, crew, post);
    tell(sim, &fact);
}

static void lost(struct sim *sim, struct task_set *crew, uint32_t post, const char *reason)
{
    struct engine_fact gone = { .kind = FACT_AGENT_GONE,
                                .generation = crew->generation,
                                .node = sim->nodes.at[crew->posts.at[post].node].name,
                                .at_ms = sim->now,
                                .reason = reason,
                                .ending = { .lost = true, .tail = "" } };
    for (size_t i = 0; i < crew->members.n; i++) {
        struct member *member = &crew->members.at[i];
        if (member->node != post || member->phase == OVER)
            continue;
        gone.task = member->ref;
        gone.attempt = member->attempt;
        member_over(sim, member, &gone);
    }
    leave(sim, crew, post);
    tell(sim, &gone);
}

/* ---- nodes ---- */

static int by_job(const void *a, const void *b)
{
    const struct task_set *x = *(struct task_set *const *)a, *y = *(struct task_set *const *)b;
    return (x->generation.job > y->generation.job) - (x->generation.job < y->generation.job);
}

static void node_fact(struct sim *sim, uint32_t at, bool up)
{
    struct node *node = &sim->nodes.at[at];
    struct engine_fact fact = { .kind = up ? FACT_NODE_UP : FACT_NODE_DOWN,
                                .node = node->name,
                                .at_ms = sim->now,
                                .reason = up ? "" : "lost",
                                .ending = { .tail = "" } };
    VEC(struct task_set *) hit = { 0 };
    size_t cursor = 0;
    uint64_t job;
    void *crew;
    node->down = !up;
    tell(sim, &fact);
    while (!up && map_next(sim->crews, &cursor, &job, &crew))
        vec_push(&hit, (struct task_set *)crew);
    if (hit.n)
        qsort(hit.at, hit.n, sizeof *hit.at, by_job);
    for (size_t i = 0; i < hit.n; i++)
        for (uint32_t post = 0; post < hit.at[i]->posts.n; post++)
            if (hit.at[i]->posts.at[post].node == at && !hit.at[i]->posts.at[post].left) {
                lost(sim, hit.at[i], post, "its node was lost");
                break; /* at most one it holds; the crew may be gone now */
            }
    vec_fini(&hit);
}

void sim_node(struct engine *e, const char *node, bool up)
{
    struct sim *sim = of(e);
    due_add(
        &sim->dues,
        (struct due){ .at_ms = sim->now, .what = DUE_NODE, .at = up, .crew = node_of(sim, node) });
}

/* ---- the clock ---- */

static void happen(struct sim *sim, const struct due *due)
{
    if (due->what == DUE_NODE) {
        node_fact(sim, (uint32_t)due->crew, due->at != 0);
        return;
    }
    struct task_set *crew = map_get(sim->crews, due->crew);
    if (!crew)
        return;
    if (due->what == DUE_RELEASE) {
        if (due->turn == crew->generation.number && !crew->posts.at[due->at].left)
            released(sim, crew, due->at);
        return;
    }
    struct member *member = due->at < crew->members.n ? &crew->members.at[due->at] : NULL;
    if (!member || member->turn != due->turn || member->phase == OVER)
        return;
    if (due->what == DUE_START)
        started(sim, crew, member);
    else
        ended(sim, crew, member);
}

uint64_t sim_next(const struct engine *e)
{
    const struct due *first = due_first(&of(e)->dues);
    return first ? first->at_ms : UINT64_MAX;
}

void sim_advance(struct engine *e, uint64_t now_ms)
{
    struct sim *sim = of(e);
    for (const struct due *first; (first = due_first(&sim->dues)) && first->at_ms <= now_ms;) {
        struct due due = due_take(&sim->dues);
        sim->now = due.at_ms > sim->now ? due.at_ms : sim->now;
        happen(sim, &due);
    }
    sim->now = now_ms > sim->now ? now_ms : sim->now;
}

size_t sim_alive(const struct engine *e)
{
    return of(e)->alive;
}

/* ---- calls from the core ---- */

static void begin(struct sim *sim, struct task_set *crew, const struct launch *launch,
                  const struct launch_task *task, uint32_t post)
{
    /* Within a first launch each task is there once; later ones may carry its next attempt. */
    struct member *member = launch->seq > 1 ? member_of(crew, task->ref) : NULL;
    if (member && (member->phase != OVER || member->attempt >= task->attempt))
        return;
    if (!member)
        member = vec_add(&crew->members);
    *member = (struct member){ .ref = task->ref, .attempt = task->attempt, .node = post };
    if (sim->watch.run)
        member->run = sim->watch.run(sim->watch.arg, launch, task);
    sim->alive++;
    arrange(sim, crew, member, DUE_START, sim->now + member->run.start_ms);
}

static int start(struct engine *e, const struct launch *launch, struct err *err)
{
    struct sim *sim = of(e);
    uint32_t node = node_of(sim, launch->node);
    if (sim->nodes.at[node].down)
        return err_set(err, ERR_UNAVAILABLE, "%s is lost", launch->node);
    struct task_set *crew = map_get(sim->crews, launch->generation.job);
    if (crew && crew->generation.number != launch->generation.number)
        return err_set(err, ERR_CONFLICT, "an earlier generation is still there");
    if (!crew) {
        crew = mem_new(sizeof *crew);
        crew->generation = launch->generation;
        crew->grace_ms = launch->grace_ms;
        map_set(sim->crews, launch->generation.job, crew);
    }
    uint32_t post = post_of(crew, node);
    for (size_t i = 0; i < launch->n_tasks; i++)
        begin(sim, crew, launch, &launch->tasks[i], post);
    return 0;
}

static uint64_t end_member(struct sim *sim, struct task_set *crew, struct member *member,
                           enum stop_how how, enum end_origin why)
{
    uint64_t lives = member->run.stop_ms < crew->grace_ms ? member->run.stop_ms : crew->grace_ms;
    if (how == STOP_NOW || member->phase == STARTING)
        lives = 0;
    if (member->phase == OVER)
        return 0;
    if (!member->stopping || how == STOP_NOW) {
        member->why = member->stopping ? member->why : why;
        member->stopping = true;
        arrange(sim, crew, member, DUE_END, sim->now + lives);
    }
    return lives;
}

static int stop(struct engine *e, struct generation generation, const struct task_ref *task,
                enum stop_how how, enum end_origin why, struct err *err)
{
    struct sim *sim = of(e);
    struct task_set *crew = crew_of(sim, generation);
    (void)err;
    if (!crew)
        return 0;
    if (task) {
        struct member *member = member_of(crew, *task);
        if (member)
            end_member(sim, crew, member, how, why);
        return 0;
    }
    uint64_t last = 0;
    for (size_t i = 0; i < crew->members.n; i++) {
        uint64_t lives = end_member(sim, crew, &crew->members.at[i], how, why);
        last = lives > last ? lives : last;
    }
    for (uint32_t post = 0; post < crew->posts.n; post++)
        if (!crew->posts.at[post].left)
            due_add(&sim->dues, (struct due){ .at_ms = sim->now + last,
                                              .what = DUE_RELEASE,
                                              .at = post,
                                              .turn = generation.number,
                                              .crew = generation.job });
    return 0;
}

static void ack(struct engine *e, struct generation generation, const char *node, uint64_t seq)
{
    (void)e, (void)generation, (void)node, (void)seq; /* its facts have no numbers */
}

/* Nothing of it outlives its process. */
static int recover(struct engine *e, const struct engine_agent *known, size_t n, struct err *err)
{
    (void)e, (void)known, (void)n, (void)err;
    return 0;
}

static unsigned caps(const struct engine *e)
{
    (void)e;
    return ENGINE_NUMBERS | ENGINE_CONTAINERS | ENGINE_MOUNTS | ENGINE_HOSTS | ENGINE_CPU_LIMIT |
           ENGINE_MEMORY_LIMIT;
}

static void destroy(struct engine *e)
{
    struct sim *sim = of(e);
    map_destroy_with(sim->crews, crew_free);
    string_map_destroy(sim->names);
    for (size_t i = 0; i < sim->nodes.n; i++)
        free(sim->nodes.at[i].name);
    vec_fini(&sim->nodes);
    dues_fini(&sim->dues);
    free(sim);
}

struct engine *sim_create(const struct sim_watch *watch, uint64_t now_ms)
{
    static const struct engine_ops ops = { .name = "sim",
                                           .start = start,
                                           .stop = stop,
                                           .ack = ack,
                                           .recover = recover,
                                           .caps = caps,
                                           .destroy = destroy };
    struct sim *sim = mem_new(sizeof *sim);
    sim->base.ops = &ops;
    sim->watch = *watch;
    sim->now = now_ms;
    sim->crews = map_create();
    sim->names = string_map_create();
    return &sim->base;
}
