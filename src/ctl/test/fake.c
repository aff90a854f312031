/* The engine for tests: agents in memory that outlive the core. A task goes one step at a time,
 * facts are kept until they are acknowledged, and the script decides how a task ends. */
#include "ctl/test/fake.h"

#include "base/file.h"
#include "base/mem.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static struct fake *self(struct engine *e)
{
    return (struct fake *)(void *)e;
}

static struct fake_agent *find(struct fake *f, struct generation g, const char *node)
{
    for (size_t i = 0; i < f->agents.n; i++) {
        struct fake_agent *a = f->agents.at[i];
        if (!a->dead && a->generation.job == g.job && a->generation.number == g.number &&
            strcmp(a->node, node) == 0)
            return a;
    }
    return NULL;
}

static void say(struct fake *f, struct fake_agent *a, struct engine_fact fact)
{
    fact.generation = a->generation;
    fact.node = a->node;
    fact.seq = ++a->seq;
    fact.at_ms = f->now;
    vec_push(&a->facts, ((struct fake_fact){ .fact = fact }));
}

static int start(struct engine *e, const struct launch *launch, struct err *err)
{
    struct fake *f = self(e);
    f->starts++;
    if (launch->n_hosts) {
        f->hosts = launch->n_hosts;
        f->host_launches++;
        f->host_texts += !launch->hosts_text || launch->hosts_text != f->hosts_text;
        f->hosts_text = launch->hosts_text;
    }
    if (f->refuse > 0) {
        f->refuse--;
        return err_set(err, ERR_UNAVAILABLE, "no room on %s", launch->node);
    }
    struct fake_agent *a = find(f, launch->generation, launch->node);
    if (!a) {
        a = mem_new(sizeof *a);
        a->generation = launch->generation;
        snprintf(a->node, sizeof a->node, "%s", launch->node);
        crypto_hash_sha256(a->token_hash, launch->token, sizeof launch->token);
        file_mkdirs(launch->dir, 0700, err);
        vec_push(&f->agents, a);
    }
    if (launch->seq <= a->launch_seq)
        return 0;
    a->launch_seq = launch->seq;
    for (size_t i = 0; i < launch->n_tasks; i++) {
        const struct launch_task *t = &launch->tasks[i];
        struct fake_task *task = vec_add(&a->tasks);
        task->ref = t->ref;
        task->attempt = t->attempt;
        snprintf(task->role, sizeof task->role, "%s", t->role);
        uint64_t key = launch->generation.job * 1000003u + t->ref.role * 100003u +
                       t->ref.index * 1009u + t->attempt;
        for (size_t k = 0; k < f->started.n; k++)
            f->doubled += f->started.at[k] == key;
        vec_push(&f->started, key);
    }
    return 0;
}

static int stop(struct engine *e, struct generation g, const struct task_ref *ref,
                enum stop_how how, enum end_origin why, struct err *err)
{
    struct fake *f = self(e);
    (void)how;
    (void)err;
    f->stops += !ref;
    f->stops_one += ref != NULL;
    for (size_t i = 0; i < f->agents.n; i++) {
        struct fake_agent *a = f->agents.at[i];
        if (a->generation.job != g.job || a->generation.number != g.number)
            continue;
        a->releasing |= !ref;
        for (size_t k = 0; k < a->tasks.n; k++) {
            struct fake_task *t = &a->tasks.at[k];
            if (ref && (t->ref.role != ref->role || t->ref.index != ref->index))
                continue;
            t->ending = true;
            t->why = why;
        }
    }
    return 0;
}

static void ack(struct engine *e, struct generation g, const char *node, uint64_t seq)
{
    struct fake *f = self(e);
    struct fake_agent *a = find(f, g, node);
    f->acks++;
    while (a && a->facts.n && a->facts.at[0].fact.seq <= seq)
        vec_remove(&a->facts, 0);
}

static int recover(struct engine *e, const struct engine_agent *known, size_t n, struct err *err)
{
    struct fake *f = self(e);
    (void)err;
    for (size_t i = 0; i < f->agents.n; i++) {
        struct fake_agent *a = f->agents.at[i];
        bool expected = false;
        for (size_t k = 0; k < n; k++)
            expected |= a->generation.job == known[k].generation.job &&
                        a->generation.number == known[k].generation.number &&
                        strcmp(a->node, known[k].node) == 0 &&
                        memcmp(a->token_hash, known[k].token_hash, 32) == 0;
        a->dead |= !expected;
    }
    for (size_t k = 0; k < n; k++) {
        if (find(f, known[k].generation, known[k].node))
            continue;
        struct engine_fact gone = { .kind = FACT_AGENT_GONE,
                                    .generation = known[k].generation,
                                    .node = known[k].node,
                                    .reason = "found dead" };
        f->base.sink.fact(f->base.sink.arg, &gone);
    }
    return 0;
}

static int exec(struct engine *e, const struct engine_exec *x, struct err *err)
{
    (void)e;
    (void)x;
    (void)err;
    return 0;
}

struct fake_line *fake_line(struct fake *f, const char *node, uint32_t channel)
{
    for (size_t i = 0; i < f->lines.n; i++)
        if (f->lines.at[i].channel == channel && strcmp(f->lines.at[i].node, node) == 0)
            return &f->lines.at[i];
    return NULL;
}

void fake_lines_clear(struct fake *f)
{
    for (size_t i = 0; i < f->lines.n; i++)
        buf_fini(&f->lines.at[i].bytes);
    vec_clear(&f->lines);
}

static void tell_launcher(struct engine *e, struct generation g, const char *node, uint32_t channel,
                          const void *bytes, size_t len)
{
    struct fake *f = self(e);
    struct fake_line *line = fake_line(f, node, channel);
    (void)g;
    if (!line) {
        line = vec_add(&f->lines);
        snprintf(line->node, sizeof line->node, "%s", node);
        line->channel = channel;
        buf_init(&line->bytes, 16u << 20);
    }
    line->closed |= !bytes;
    if (bytes)
        buf_add(&line->bytes, bytes, len);
}

static unsigned caps(const struct engine *e)
{
    const struct fake *f = (const struct fake *)(const void *)e;
    return ENGINE_EXEC | ENGINE_HOSTS | ENGINE_MOUNTS | f->more_caps;
}

static void destroy(struct engine *e)
{
    (void)e;
}

void fake_init(struct fake *f, fake_script *script, void *arg)
{
    *f = (struct fake){ .script = script, .arg = arg };
    f->ops = (struct engine_ops){ .name = "fake",
                                  .start = start,
                                  .stop = stop,
                                  .ack = ack,
                                  .recover = recover,
                                  .exec = exec,
                                  .tell_launcher = tell_launcher,
                                  .caps = caps,
                                  .destroy = destroy };
    f->base.ops = &f->ops;
}

static void agent_free(struct fake_agent *a)
{
    vec_fini(&a->tasks);
    vec_fini(&a->facts);
    free(a);
}

void fake_fini(struct fake *f)
{
    for (size_t i = 0; i < f->agents.n; i++)
        agent_free(f->agents.at[i]);
    vec_fini(&f->agents);
    vec_fini(&f->started);
    fake_lines_clear(f);
    vec_fini(&f->lines);
}

void fake_cut(struct fake *f)
{
    for (size_t i = 0; i < f->agents.n; i++) {
        f->agents.at[i]->comes_again = true;
        for (size_t k = 0; k < f->agents.at[i]->facts.n; k++)
            f->agents.at[i]->facts.at[k].sent = false;
    }
}

static void end(struct fake *f, struct fake_agent *a, struct fake_task *t, struct ending ending)
{
    t->phase = FAKE_ENDED;
    say(f, a,
        (struct engine_fact){
            .kind = FACT_ENDED, .task = t->ref, .attempt = t->attempt, .ending = ending });
}

/* One step of one task; false: it waits. */
static bool task_step(struct fake *f, struct fake_agent *a, struct fake_task *t)
{
    int code = f->script(f->arg, a->generation.job, t->role, t->ref.index, t->attempt);
    if (t->phase == FAKE_STARTING && code == FAKE_CONFLICT) {
        t->phase = FAKE_ENDED;
        say(f, a,
            (struct engine_fact){ .kind = FACT_REFUSED,
                                  .task = t->ref,
                                  .attempt = t->attempt,
                                  .ending.by = BY_CONFLICT,
                                  .remark = "a port is taken" });
    } else if (t->phase == FAKE_STARTING) {
        t->phase = FAKE_RUNNING;
        say(f, a,
            (struct engine_fact){
                .kind = FACT_STARTED, .task = t->ref, .attempt = t->attempt, .pid = 77 });
    } else if (t->phase == FAKE_RUNNING && t->ending) {
        end(f, a, t, (struct ending){ .signal = 15, .by = t->why });
    } else if (t->phase == FAKE_RUNNING && code == FAKE_DIES) {
        a->dead = true;
        struct engine_fact gone = { .kind = FACT_AGENT_GONE,
                                    .generation = a->generation,
                                    .node = a->node,
                                    .reason = "its agent was killed" };
        f->base.sink.fact(f->base.sink.arg, &gone);
    } else if (t->phase == FAKE_RUNNING && code >= 0) {
        end(f, a, t,
            (struct ending){ .exited = true, .code = code, .by = BY_ITSELF, .tail = "last words" });
    } else {
        return false;
    }
    return true;
}

static bool agent_step(struct fake *f, struct fake_agent *a)
{
    bool all = true;
    if (!a->joined) {
        a->joined = true;
        say(f, a, (struct engine_fact){ .kind = FACT_AGENT_JOINED });
        return true;
    }
    for (size_t i = 0; i < a->tasks.n; i++) {
        if (a->tasks.at[i].phase != FAKE_ENDED && task_step(f, a, &a->tasks.at[i]))
            return true;
        all = all && a->tasks.at[i].phase == FAKE_ENDED;
    }
    if (a->releasing && !a->released && all) {
        a->released = true;
        say(f, a, (struct engine_fact){ .kind = FACT_RELEASED });
        return true;
    }
    return false;
}

/* Facts of a dead agent that were not sent are lost with it. */
static bool send_all(struct fake *f, struct fake_agent *a)
{
    bool any = a->comes_again;
    struct engine_fact joined = { .kind = FACT_AGENT_JOINED,
                                  .generation = a->generation,
                                  .node = a->node,
                                  .launch_seq = a->launch_seq };
    if (a->comes_again)
        f->base.sink.fact(f->base.sink.arg, &joined);
    a->comes_again = false;
    for (size_t i = 0; i < a->facts.n; i++) {
        if (a->facts.at[i].sent)
            continue;
        a->facts.at[i].sent = any = true;
        struct engine_fact fact = a->facts.at[i].fact;
        f->base.sink.fact(f->base.sink.arg, &fact);
        if (f->twice)
            f->base.sink.fact(f->base.sink.arg, &fact);
    }
    return any;
}

bool fake_step(struct fake *f)
{
    bool any = false;
    for (size_t i = 0; i < f->agents.n; i++) {
        struct fake_agent *a = f->agents.at[i];
        if (a->dead)
            continue;
        any |= agent_step(f, a);
        if (!a->dead)
            any |= send_all(f, a);
        if (a->released && a->facts.n == 0)
            a->dead = true;
    }
    return any;
}

void fake_kill_agent(struct fake *f, size_t i)
{
    struct fake_agent *a = f->agents.at[i];
    if (a->dead)
        return;
    a->dead = true;
    struct engine_fact gone = { .kind = FACT_AGENT_GONE,
                                .generation = a->generation,
                                .node = a->node,
                                .reason = "its agent was killed" };
    f->base.sink.fact(f->base.sink.arg, &gone);
}

size_t fake_alive(const struct fake *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->agents.n; i++)
        n += !f->agents.at[i]->dead;
    return n;
}

size_t fake_running(const struct fake *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->agents.n; i++)
        for (size_t k = 0; !f->agents.at[i]->dead && k < f->agents.at[i]->tasks.n; k++)
            n += f->agents.at[i]->tasks.at[k].phase == FAKE_RUNNING;
    return n;
}
