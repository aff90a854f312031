/* Agents that outlive the server, on nodes that are numbers. They send facts late, twice and again
 * after a break, as the trial says, and note what they were told that is wrong. */
#include "ctl/test/faults/agents.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct agents *self(struct engine *e)
{
    return (struct agents *)(void *)e;
}

__attribute__((format(printf, 2, 3))) static void wrong(struct agents *w, const char *fmt, ...)
{
    va_list args;
    if (*w->wrong)
        return; /* the first is told */
    va_start(args, fmt);
    vsnprintf(w->wrong, sizeof w->wrong, fmt, args);
    va_end(args);
}

static const char *node_name(const struct agents *w, uint32_t node)
{
    return w->nodes[node].name;
}

static bool is_machine(const struct agents *w, size_t node)
{
    return node >= w->n_fixed;
}

static struct node_spec spec_of(const struct agents *w, uint32_t node)
{
    struct node_spec spec = w->nodes[node];
    spec.cpu_milli += w->state[node].grown ? 1000 : 0;
    spec.gpus += w->state[node].grown;
    return spec;
}

static bool same(struct generation a, struct generation b)
{
    return a.job == b.job && a.number == b.number;
}

static bool same_task(struct task_ref a, struct task_ref b)
{
    return a.role == b.role && a.index == b.index;
}

static uint32_t node_of(const struct agents *w, const char *name)
{
    for (uint32_t i = 0; i < w->n_nodes; i++)
        if (strcmp(w->nodes[i].name, name) == 0)
            return i;
    BUG("no node %s", name);
}

/* The newest of that generation and node. */
static struct sim_agent *find(const struct agents *w, struct generation g, uint32_t node)
{
    for (size_t i = w->at.n; i-- > 0;)
        if (w->at.at[i]->node == node && same(w->at.at[i]->generation, g))
            return w->at.at[i];
    return NULL;
}

/* ---- the truth ---- */

static uint64_t key_of(uint64_t job, struct task_ref ref, uint32_t attempt)
{
    return hash_u64(hash_u64(hash_u64(job) + ref.role) + ref.index) + attempt;
}

static struct truth *truth_of(const struct agents *w, uint64_t job, struct task_ref ref,
                              uint32_t attempt)
{
    uintptr_t at = (uintptr_t)map_get(w->begun, key_of(job, ref, attempt));
    return at ? &w->truths.at[at - 1] : NULL;
}

const struct truth *agents_truth(const struct agents *w, uint64_t job, struct task_ref ref,
                                 uint32_t attempt)
{
    return truth_of(w, job, ref, attempt);
}

static void note_end(struct agents *w, const struct sim_agent *a, const struct sim_task *t,
                     const struct ending *ending)
{
    struct truth *truth = truth_of(w, a->generation.job, t->ref, t->attempt);
    truth->ended = true;
    truth->by_death = !ending;
    truth->exited = ending && ending->exited;
    truth->code = ending ? ending->code : 0;
}

static void die(struct agents *w, struct sim_agent *a)
{
    a->dead = true;
    for (size_t i = 0; i < a->tasks.n; i++) {
        struct sim_task *t = &a->tasks.at[i];
        if (t->phase != SIM_ENDED)
            note_end(w, a, t, NULL);
        t->phase = SIM_ENDED;
    }
    for (size_t i = 0; i < a->facts.n; i++) {
        const struct engine_fact *fact = &a->facts.at[i].fact;
        if (fact->kind == FACT_ENDED || fact->kind == FACT_REFUSED)
            truth_of(w, a->generation.job, fact->task, fact->attempt)->late = true;
    }
    vec_clear(&a->facts); /* lost with it */
}

/* ---- what must not be, looked at when a task begins ---- */

struct load {
    uint64_t cpu_milli, memory, device[AGENT_DEVICES];
};

static void add_load(struct load *load, const struct sim_task *t)
{
    load->cpu_milli += t->cpu_milli;
    load->memory += t->memory;
    for (uint32_t i = 0; i < t->n_gpus; i++)
        load->device[t->gpus[i]] += t->gpu_milli / t->n_gpus;
}

static bool share_port(const struct sim_task *a, const struct sim_task *b)
{
    for (uint32_t i = 0; i < a->n_ports; i++)
        for (uint32_t k = 0; k < b->n_ports; k++)
            if (a->ports[i] == b->ports[k])
                return true;
    return false;
}

static void look_at_load(struct agents *w, uint32_t node, const struct load *load)
{
    const struct node_spec spec = spec_of(w, node);
    if (load->cpu_milli > spec.cpu_milli || load->memory > spec.memory)
        wrong(w, "node %s: tasks have more than it has", spec.name);
    for (uint32_t i = 0; i < AGENT_DEVICES; i++)
        if (load->device[i] > (i < spec.gpus ? 1000u : 0u))
            wrong(w, "node %s: device %u is given %llu thousandths", spec.name, i,
                  (unsigned long long)load->device[i]);
}

static void look_at_start(struct agents *w, const struct sim_agent *a, const struct sim_task *t)
{
    struct load load = { 0 };
    for (size_t i = 0; i < w->at.n; i++) {
        const struct sim_agent *other = w->at.at[i];
        for (size_t k = 0; !other->dead && k < other->tasks.n; k++) {
            const struct sim_task *o = &other->tasks.at[k];
            if (o->phase == SIM_ENDED)
                continue;
            if (other->node == a->node)
                add_load(&load, o);
            if (o == t)
                continue;
            if (other->generation.job == a->generation.job && same_task(o->ref, t->ref))
                wrong(w, "double start: job %llx task %u/%u attempt %u runs on %s while %u begins",
                      (unsigned long long)a->generation.job, t->ref.role, t->ref.index, o->attempt,
                      node_name(w, other->node), t->attempt);
            if (strcmp(w->nodes[other->node].host, w->nodes[a->node].host) == 0 && share_port(o, t))
                wrong(w, "a port of host %s is given to two tasks", w->nodes[a->node].host);
        }
    }
    look_at_load(w, a->node, &load);
}

/* ---- programs ---- */

static enum program draw_program(const struct agents *w, uint64_t key)
{
    static const enum program badly[] = { EXITS_BADLY, EXITS_BADLY, EXITS_BY_FAULT, RUNS,  RUNS,
                                          TAKES_AGENT, PORT_TAKEN,  NOT_STARTED,    KILLED };
    struct dice dice = { .state = w->seed ^ key };
    if (dice_below(&dice, 100) < w->bad)
        return badly[dice_below(&dice, (uint32_t)ARRAY_LEN(badly))];
    return dice_below(&dice, 8) ? EXITS_WELL : UNSEEN;
}

/* ---- facts ---- */

static void say(struct agents *w, struct sim_agent *a, struct engine_fact fact)
{
    fact.generation = a->generation;
    fact.node = node_name(w, a->node);
    fact.seq = ++a->seq;
    fact.at_ms = w->now_ms;
    vec_push(&a->facts, ((struct sim_fact){ .fact = fact }));
}

static void end(struct agents *w, struct sim_agent *a, struct sim_task *t, struct ending ending)
{
    ending.tail = "";
    t->phase = SIM_ENDED;
    note_end(w, a, t, &ending);
    say(w, a,
        (struct engine_fact){ .kind = FACT_ENDED,
                              .task = t->ref,
                              .attempt = t->attempt,
                              .ending = ending,
                              .wakeup = dice_below(w->dice, 3) });
}

static void refuse(struct agents *w, struct sim_agent *a, struct sim_task *t, enum end_origin by)
{
    struct ending ending = { .by = by, .tail = "" };
    t->phase = SIM_ENDED;
    note_end(w, a, t, &ending);
    say(w, a,
        (struct engine_fact){ .kind = FACT_REFUSED,
                              .task = t->ref,
                              .attempt = t->attempt,
                              .ending = ending,
                              .remark = "cannot start" });
}

static struct ending ending_of(const struct sim_task *t)
{
    switch (t->program) {
    case EXITS_BADLY: return (struct ending){ .exited = true, .code = 1, .by = BY_ITSELF };
    case EXITS_BY_FAULT: return (struct ending){ .exited = true, .code = 7, .by = BY_ITSELF };
    case KILLED: return (struct ending){ .signal = 9, .by = BY_STRANGER };
    default: return (struct ending){ .exited = true, .by = BY_ITSELF };
    }
}

static const char *begin(struct agents *w, struct sim_agent *a, struct sim_task *t)
{
    if (t->ending) {
        end(w, a, t, (struct ending){ .by = t->why, .cause = CAUSE_UNSTARTED });
        return "ended before it started";
    }
    if (!w->quiet && t->program == PORT_TAKEN) {
        refuse(w, a, t, BY_CONFLICT);
        return "found a port taken";
    }
    if (!w->quiet && t->program == NOT_STARTED) {
        refuse(w, a, t, BY_PLATFORM);
        return "could not be started";
    }
    if (t->program == UNSEEN) {
        end(w, a, t, ending_of(t));
        return "came and went";
    }
    t->phase = SIM_RUNNING;
    say(w, a,
        (struct engine_fact){
            .kind = FACT_STARTED, .task = t->ref, .attempt = t->attempt, .pid = 77 });
    return "started";
}

static const char *go_on(struct agents *w, struct sim_agent *a, struct sim_task *t)
{
    struct ending ending = ending_of(t);
    bool by_itself = !t->ending || (t->program != RUNS && dice_below(w->dice, 4) == 0);
    by_itself = t->died ? t->itself : by_itself;
    if (by_itself && t->program == RUNS && !w->quiet)
        return NULL;
    if (by_itself && t->lasts > 0 && !t->died) {
        t->lasts--;
        return "works";
    }
    if (by_itself && t->program == TAKES_AGENT && !w->quiet) {
        die(w, a);
        return "took its agent along";
    }
    if (!by_itself)
        ending = (struct ending){ .signal = 15, .by = t->why };
    if (!t->died && dice_below(w->dice, 3) == 0) {
        t->died = true;
        t->itself = by_itself;
        ending.tail = "";
        say(w, a,
            (struct engine_fact){ .kind = FACT_DIED,
                                  .task = t->ref,
                                  .attempt = t->attempt,
                                  .ending = ending,
                                  .wakeup = 1 });
        return "died";
    }
    end(w, a, t, ending);
    return "ended";
}

/* ---- agents ---- */

static const char *act(struct agents *w, struct sim_agent *a)
{
    if (!a->joined) {
        a->joined = true;
        say(w, a, (struct engine_fact){ .kind = FACT_AGENT_JOINED });
        return "joined";
    }
    uint32_t n = (uint32_t)a->tasks.n, first = n ? dice_below(w->dice, n) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct sim_task *t = &a->tasks.at[(first + i) % n];
        if (t->phase == SIM_ENDED)
            continue;
        const char *did = t->phase == SIM_STARTING ? begin(w, a, t) : go_on(w, a, t);
        if (did)
            return did;
    }
    for (uint32_t i = 0; i < n; i++)
        if (a->tasks.at[i].phase != SIM_ENDED)
            return NULL;
    if (!a->releasing || a->released)
        return NULL;
    a->released = true;
    say(w, a, (struct engine_fact){ .kind = FACT_RELEASED });
    return "released its node";
}

/* Those that nobody will hear of again. */
static void drop_gone(struct agents *w)
{
    for (size_t i = w->at.n; i-- > 0;) {
        struct sim_agent *a = w->at.at[i];
        bool gone = a->dead && (a->told || !a->known);
        bool over = !a->dead && a->released && a->facts.n == 0;
        if (!gone && !over)
            continue;
        vec_fini(&a->tasks);
        vec_fini(&a->facts);
        free(a);
        vec_remove(&w->at, i);
    }
}

static const char *name(struct agents *w, const struct sim_agent *a, const char *what)
{
    snprintf(w->said, sizeof w->said, "%llx/%u on %s: %s", (unsigned long long)a->generation.job,
             a->generation.number, node_name(w, a->node), what);
    return w->said;
}

const char *agents_act(struct agents *w)
{
    drop_gone(w);
    uint32_t n = (uint32_t)w->at.n, first = n ? dice_below(w->dice, n) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct sim_agent *a = w->at.at[(first + i) % n];
        const char *did = a->dead ? NULL : act(w, a);
        if (did)
            return name(w, a, did);
    }
    return NULL;
}

static const char *fact_word(const struct engine_fact *fact)
{
#define FACT_WORD(id) [FACT_##id] = #id,
    static const char *const words[FACT_N] = { ENGINE_FACTS(FACT_WORD) };
#undef FACT_WORD
    return words[fact->kind];
}

static void tell(struct agents *w, const struct engine_fact *fact)
{
    w->facts++;
    w->base.sink.fact(w->base.sink.arg, fact);
}

static const char *send_one(struct agents *w, struct sim_agent *a)
{
    if (a->dead && a->known && !a->told) {
        a->told = true;
        tell(w, &(struct engine_fact){ .kind = FACT_AGENT_GONE,
                                       .generation = a->generation,
                                       .node = node_name(w, a->node),
                                       .reason = "its agent was killed" });
        return name(w, a, "gone");
    }
    if (!a->dead && a->cut && a->heard && !a->silent) {
        a->silent = true;
        tell(w, &(struct engine_fact){ .kind = FACT_AGENT_SILENT,
                                       .generation = a->generation,
                                       .node = node_name(w, a->node),
                                       .quiet_ms = dice_below(w->dice, 10000) });
        return name(w, a, "is silent");
    }
    if (!a->dead && !a->cut && a->comes_again) {
        a->comes_again = false;
        a->heard = true;
        a->since_ms = 0;
        tell(w, &(struct engine_fact){ .kind = FACT_AGENT_JOINED,
                                       .generation = a->generation,
                                       .node = node_name(w, a->node),
                                       .launch_seq = a->launch_seq });
        return name(w, a, "joins again");
    }
    for (size_t i = 0; !a->dead && !a->cut && i < a->facts.n; i++) {
        if (a->facts.at[i].sent)
            continue;
        a->facts.at[i].sent = a->heard = true;
        const struct engine_fact fact = a->facts.at[i].fact;
        tell(w, &fact);
        return name(w, a, fact_word(&fact));
    }
    return NULL;
}

const char *agents_send(struct agents *w)
{
    if (w->news.n) {
        struct engine_fact fact = w->news.at[0];
        uint32_t node = node_of(w, fact.node);
        const struct node_spec spec = spec_of(w, node);
        vec_remove(&w->news, 0);
        fact.spec = fact.kind == FACT_NODE_UP && is_machine(w, node) ? &spec : NULL;
        tell(w, &fact);
        snprintf(w->said, sizeof w->said, "%s %s", fact.node, fact_word(&fact));
        return w->said;
    }
    drop_gone(w);
    uint32_t n = (uint32_t)w->at.n, first = n ? dice_below(w->dice, n) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *sent = send_one(w, w->at.at[(first + i) % n]);
        if (sent)
            return sent;
    }
    return NULL;
}

const char *agents_kill(struct agents *w)
{
    struct sim_agent *a = w->at.n ? w->at.at[dice_below(w->dice, (uint32_t)w->at.n)] : NULL;
    if (!a || a->dead)
        return NULL;
    die(w, a);
    return name(w, a, "dies");
}

/* What was sent and not acknowledged is sent again. */
static void set_cut(struct sim_agent *a, bool cut)
{
    a->comes_again |= a->cut && !cut && a->heard;
    a->silent = a->silent && cut;
    a->cut = cut;
    for (size_t i = 0; i < a->facts.n; i++)
        a->facts.at[i].sent = false;
}

void agents_cut(struct agents *w)
{
    struct sim_agent *a = w->at.n ? w->at.at[dice_below(w->dice, (uint32_t)w->at.n)] : NULL;
    if (a)
        set_cut(a, !a->cut);
}

/* What an engine says of a machine is as it is now: what it has not said yet it never says. */
static void node_news(struct agents *w, size_t node)
{
    const struct sim_node *state = &w->state[node];
    const struct engine_fact fact = { .kind = state->gone   ? FACT_NODE_GONE
                                              : state->down ? FACT_NODE_DOWN
                                                            : FACT_NODE_UP,
                                      .node = node_name(w, (uint32_t)node),
                                      .reason = "" };
    for (size_t i = w->news.n; is_machine(w, node) && i-- > 0;)
        if (strcmp(w->news.at[i].node, fact.node) == 0)
            vec_remove(&w->news, i);
    vec_push(&w->news, fact);
}

static void cut_all(struct agents *w, size_t node, bool cut)
{
    for (size_t i = 0; i < w->at.n; i++)
        if (w->at.at[i]->node == node && w->at.at[i]->cut != cut)
            set_cut(w->at.at[i], cut);
}

static void die_all(struct agents *w, size_t node)
{
    for (size_t i = 0; i < w->at.n; i++)
        if (w->at.at[i]->node == node && !w->at.at[i]->dead)
            die(w, w->at.at[i]);
}

/* One that shrinks while tasks have it would have less than they have: none does. */
static const char *turn_machine(struct agents *w, size_t node)
{
    struct sim_node *state = &w->state[node];
    if (state->gone || state->down) {
        *state = (struct sim_node){ .grown = state->grown };
        cut_all(w, node, false);
        return "is there";
    }
    uint32_t drawn = dice_below(w->dice, 4);
    if (drawn == 0) {
        state->gone = true;
        die_all(w, node);
        tell(w, &(struct engine_fact){
                    .kind = FACT_NODE_GONE, .node = node_name(w, (uint32_t)node), .reason = "" });
        return "leaves";
    }
    if (drawn == 1) {
        state->grown = true;
        return "has grown";
    }
    state->down = true;
    cut_all(w, node, true);
    return "is silent";
}

const char *agents_node(struct agents *w, size_t node)
{
    const char *did;
    if (is_machine(w, node)) {
        did = turn_machine(w, node);
    } else {
        w->state[node].down = !w->state[node].down;
        if (w->state[node].down)
            die_all(w, node);
        did = w->state[node].down ? "is down" : "is up";
    }
    node_news(w, node);
    return did;
}

static const char *turn_silent(struct agents *w, size_t node)
{
    struct sim_node *state = &w->state[node];
    if (state->gone)
        return turn_machine(w, node);
    state->down = !state->down;
    cut_all(w, node, state->down);
    return state->down ? "is silent" : "is there";
}

static size_t draw_machine(const struct agents *w)
{
    size_t first = w->at.n ? dice_below(w->dice, (uint32_t)w->at.n) : 0;
    for (size_t i = 0; i < w->at.n; i++) {
        const struct sim_agent *a = w->at.at[(first + i) % w->at.n];
        if (!a->dead && !a->released && is_machine(w, a->node))
            return a->node;
    }
    return w->n_fixed + dice_below(w->dice, (uint32_t)(w->n_nodes - w->n_fixed));
}

const char *agents_silence(struct agents *w)
{
    size_t node = draw_machine(w);
    const char *did = turn_silent(w, node);
    bool all = dice_below(w->dice, 4) == 0;
    node_news(w, node);
    for (size_t i = w->n_fixed; all && i < w->n_nodes; i++)
        if (w->state[i].down != w->state[node].down && !w->state[i].gone) {
            turn_silent(w, i);
            node_news(w, i);
        }
    snprintf(w->said, sizeof w->said, "%s %s", node_name(w, (uint32_t)node), did);
    return w->said;
}

void agents_heal(struct agents *w)
{
    w->quiet = true;
    w->refuse = 0;
    for (size_t i = 0; i < w->n_nodes; i++)
        if (w->state[i].down || w->state[i].gone)
            agents_node(w, i);
    for (size_t i = 0; i < w->at.n; i++)
        if (w->at.at[i]->cut)
            set_cut(w->at.at[i], false);
}

bool agents_idle(const struct agents *w)
{
    for (size_t i = 0; i < w->at.n; i++) {
        const struct sim_agent *a = w->at.at[i];
        if (a->dead ? a->known && !a->told : !a->released || a->facts.n > 0)
            return false;
    }
    return true;
}

size_t agents_alive(const struct agents *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->at.n; i++)
        n += !w->at.at[i]->dead && !w->at.at[i]->released;
    return n;
}

bool agents_runs(const struct agents *w, uint64_t job)
{
    for (size_t i = 0; i < w->at.n; i++) {
        const struct sim_agent *a = w->at.at[i];
        if (a->generation.job == job && !a->dead && !a->released)
            return true;
    }
    return false;
}

/* ---- calls of the core ---- */

static void keep_token(struct agents *w, const struct launch *launch)
{
    const struct pairs *env = &launch->tasks[0].env;
    if (w->tokens.n && same(w->tokens.at[w->tokens.n - 1].generation, launch->generation))
        return;
    for (size_t i = 0; i < env->n; i++)
        if (strcmp(env->at[i].name, "MUSTER_JOB_TOKEN") == 0) {
            struct token *token = vec_add(&w->tokens);
            token->generation = launch->generation;
            snprintf(token->text, sizeof token->text, "%s", env->at[i].value);
        }
}

static void add_task(struct agents *w, struct sim_agent *a, const struct launch_task *from)
{
    uint64_t key = key_of(a->generation.job, from->ref, from->attempt);
    struct dice dice = { .state = w->seed + key };
    struct sim_task *t = vec_add(&a->tasks);
    *t = (struct sim_task){ .ref = from->ref,
                            .attempt = from->attempt,
                            .program = draw_program(w, key),
                            .lasts = dice_below(&dice, 6),
                            .cpu_milli = from->cpu_milli,
                            .memory = from->memory,
                            .gpu_milli = from->gpu_milli };
    for (uint32_t i = 0; i < from->n_gpus && i < AGENT_DEVICES; i++)
        t->gpus[t->n_gpus++] = from->gpus[i] < AGENT_DEVICES ? from->gpus[i] : 0;
    for (uint32_t i = 0; i < from->n_ports && i < AGENT_PORTS; i++)
        t->ports[t->n_ports++] = from->ports[i];
    if (map_get(w->begun, key))
        wrong(w, "double start: attempt %u of task %u/%u of job %llx begins again", from->attempt,
              from->ref.role, from->ref.index, (unsigned long long)a->generation.job);
    vec_push(&w->truths,
             ((struct truth){
                 .generation = a->generation, .ref = from->ref, .attempt = from->attempt }));
    map_set(w->begun, key, (void *)(uintptr_t)w->truths.n);
    look_at_start(w, a, t);
}

static struct sim_agent *make_agent(struct agents *w, const struct launch *launch, uint32_t node)
{
    struct sim_agent *a = mem_new(sizeof *a);
    a->generation = launch->generation;
    a->node = node;
    a->known = true;
    crypto_hash_sha256(a->token_hash, launch->token, sizeof launch->token);
    vec_push(&w->at, a);
    return a;
}

static void say_start(const struct agents *w, const struct launch *launch, const char *whom)
{
    if (w->trace)
        printf("       start %llx/%u on %s launch %u: %s\n",
               (unsigned long long)launch->generation.job, launch->generation.number, launch->node,
               launch->seq, whom);
}

static int start(struct engine *e, const struct launch *launch, struct err *err)
{
    struct agents *w = self(e);
    uint32_t node = node_of(w, launch->node);
    if (crash_point(w->crash))
        return 0;
    w->starts++;
    struct sim_agent *a = find(w, launch->generation, node);
    if (a)
        a->asked = true;
    if (w->state[node].down || w->state[node].gone || w->refuse > 0) {
        w->refuse -= w->refuse > 0;
        say_start(w, launch, "refused");
        return err_set(err, ERR_UNAVAILABLE, "no room on %s", launch->node);
    }
    if (file_mkdirs(launch->dir, 0700, err))
        return -1;
    if (crash_point(w->crash))
        return 0; /* a directory, and nobody in it */
    if (a && a->dead && (a->told || !a->known))
        a = NULL;
    say_start(w, launch, !a ? "a new agent" : a->dead ? "a dead agent" : "an agent");
    if (a && a->dead)
        return 0; /* its death is on its way to the server */
    if (!a)
        a = make_agent(w, launch, node);
    if (a->releasing)
        wrong(w, "a launch for an agent of %s that is to release its node", launch->node);
    if (launch->seq > a->launch_seq) {
        a->launch_seq = launch->seq;
        keep_token(w, launch);
        for (size_t i = 0; i < launch->n_tasks; i++)
            add_task(w, a, &launch->tasks[i]);
    }
    crash_point(w->crash);
    return 0;
}

static int stop(struct engine *e, struct generation g, const struct task_ref *ref,
                enum stop_how how, enum end_origin why, struct err *err)
{
    struct agents *w = self(e);
    (void)how;
    (void)err;
    if (crash_point(w->crash))
        return 0;
    w->stops++;
    for (size_t i = 0; i < w->at.n; i++) {
        struct sim_agent *a = w->at.at[i];
        if (!same(a->generation, g) || a->dead)
            continue;
        a->releasing |= !ref;
        for (size_t k = 0; k < a->tasks.n; k++) {
            struct sim_task *t = &a->tasks.at[k];
            if (t->phase == SIM_ENDED || t->ending || (ref && !same_task(t->ref, *ref)))
                continue;
            t->ending = true;
            t->why = why;
        }
    }
    crash_point(w->crash);
    return 0;
}

static void ack(struct engine *e, struct generation g, const char *node, uint64_t seq)
{
    struct agents *w = self(e);
    struct sim_agent *a = find(w, g, node_of(w, node));
    if (crash_point(w->crash) || !a || a->dead || a->cut)
        return;
    w->acks++;
    a->acked = seq > a->acked ? seq : a->acked;
    while (a->facts.n && a->facts.at[0].fact.seq <= seq)
        vec_remove(&a->facts, 0);
}

static bool is_known(const struct agents *w, const struct sim_agent *a,
                     const struct engine_agent *known)
{
    return same(a->generation, known->generation) &&
           strcmp(node_name(w, a->node), known->node) == 0;
}

/* What the server does not know is ended; what is known and is not there is reported as gone. */
static void meet_known(struct agents *w, const struct engine_agent *known)
{
    struct sim_agent *a = find(w, known->generation, node_of(w, known->node));
    if (!a || a->released) {
        struct sim_agent *gone = a ? a : mem_new(sizeof *gone);
        if (a && a->facts.n > 0) { /* it still has to say so */
            a->known = true;
            return;
        }
        gone->generation = known->generation;
        gone->node = node_of(w, known->node);
        gone->dead = gone->known = true;
        if (!a)
            vec_push(&w->at, gone);
        return;
    }
    a->known = true;
    if (!a->dead && memcmp(a->token_hash, known->token_hash, sizeof a->token_hash) != 0)
        wrong(w, "the agent of generation %u on %s is known by another token",
              known->generation.number, known->node);
    if (!a->dead && known->last_seq < a->acked)
        wrong(w, "facts up to %llu of an agent were acknowledged, the records have %llu",
              (unsigned long long)a->acked, (unsigned long long)known->last_seq);
}

static int recover(struct engine *e, const struct engine_agent *known, size_t n, struct err *err)
{
    struct agents *w = self(e);
    (void)err;
    if (crash_point(w->crash))
        return 0;
    if (w->recovered)
        w->recovered(w->arg);
    for (size_t i = 0; i < w->at.n; i++)
        w->at.at[i]->known = w->at.at[i]->told = false;
    for (size_t k = 0; k < n; k++)
        meet_known(w, &known[k]);
    for (size_t i = 0; i < w->at.n; i++) {
        struct sim_agent *a = w->at.at[i];
        bool wanted = false;
        for (size_t k = 0; k < n; k++)
            wanted |= is_known(w, a, &known[k]);
        if (!wanted && !a->dead && !a->released)
            die(w, a); /* nobody's */
    }
    vec_clear(&w->news);
    for (size_t i = 0; i < w->n_nodes; i++)
        if (w->state[i].down || is_machine(w, i))
            node_news(w, i);
    return 0;
}

static int exec(struct engine *e, const struct engine_exec *x, struct err *err)
{
    (void)e;
    (void)x;
    (void)err;
    return 0;
}

static unsigned caps(const struct engine *e)
{
    (void)e;
    return ENGINE_EXEC | ENGINE_HOSTS | ENGINE_MOUNTS;
}

static void destroy(struct engine *e)
{
    (void)e;
}

void agents_init(struct agents *w, struct crash *crash, struct dice *dice)
{
    *w = (struct agents){ .crash = crash, .dice = dice, .begun = map_create() };
    w->ops = (struct engine_ops){ .name = "simulated",
                                  .start = start,
                                  .stop = stop,
                                  .ack = ack,
                                  .recover = recover,
                                  .exec = exec,
                                  .caps = caps,
                                  .destroy = destroy };
    w->base.ops = &w->ops;
}

void agents_fini(struct agents *w)
{
    for (size_t i = 0; i < w->at.n; i++) {
        vec_fini(&w->at.at[i]->tasks);
        vec_fini(&w->at.at[i]->facts);
        free(w->at.at[i]);
    }
    vec_fini(&w->at);
    vec_fini(&w->news);
    vec_fini(&w->truths);
    vec_fini(&w->tokens);
    map_destroy(w->begun);
}

void agents_lost_server(struct agents *w)
{
    vec_clear(&w->news);
    for (size_t i = 0; i < w->at.n; i++) {
        w->at.at[i]->told = w->at.at[i]->heard = w->at.at[i]->silent = false;
        w->at.at[i]->comes_again = w->at.at[i]->joined;
        w->at.at[i]->old = true;
        w->at.at[i]->asked = false;
        w->at.at[i]->since_ms = 0;
        for (size_t k = 0; k < w->at.at[i]->facts.n; k++)
            w->at.at[i]->facts.at[k].sent = false;
    }
}
