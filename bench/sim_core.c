/* Opens what a server opens, less HTTP and processes. */
#include "sim_core.h"

#include "base/clock.h"
#include "base/mem.h"
#include "main/wire.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t now(void *arg)
{
    const struct sim_core *core = arg;
    return core->now_ms ? core->now_ms : clock_wall_ms();
}

static uint64_t mono(void *core)
{
    (void)core;
    return clock_mono_us();
}

static struct node_spec *make_nodes(struct arena *arena, size_t n)
{
    struct node_spec *nodes = ARENA_ARRAY(arena, n, struct node_spec);
    for (size_t i = 0; i < n; i++) {
        const char *name = arena_printf(arena, "n%zu", i + 1);
        nodes[i] = (struct node_spec){ .name = name,
                                       .host = name,
                                       .address = "127.0.0.1",
                                       .cpu_milli = 96000,
                                       .memory = 768ull << 30,
                                       .gpus = 8,
                                       .gpu_type = "A100" };
    }
    return nodes;
}

bool sim_core_open(struct sim_core *core, const char *dir, size_t n, const struct sim_watch *watch,
                   uint64_t now_ms)
{
    static const struct words no_queues = { 0 };
    struct err err = { 0 };
    *core = (struct sim_core){ .arena = arena_create(), .now_ms = now_ms };
    const char *at = arena_strdup(core->arena, dir);
    core->engine = sim_create(watch, now(core));
    core->store = store_open(arena_printf(core->arena, "%s/db", dir), &err);
    struct ctl_config config = { .store = core->store,
                                 .engine = core->engine,
                                 .dialects = wire_dialects(),
                                 .state_dir = at,
                                 .runs_dir = at,
                                 .fs_uri = "file:///nowhere",
                                 .queues = &no_queues,
                                 .nodes = make_nodes(core->arena, n),
                                 .n_nodes = n,
                                 .mono = mono,
                                 .now = now,
                                 .now_arg = core };
    core->ctl = core->store ? ctl_create(&config, &err) : NULL;
    if (core->ctl && !ctl_recover(core->ctl, &err))
        return true;
    fprintf(stderr, "%s\n", err.what);
    sim_core_close(core);
    return false;
}

void sim_core_close(struct sim_core *core)
{
    if (core->ctl)
        ctl_destroy(core->ctl);
    core->engine->ops->destroy(core->engine);
    if (core->store)
        store_close(core->store);
    arena_destroy(core->arena);
}

static void on_answer(void *arg, const struct ctl_answer *answer)
{
    struct sim_core *core = arg;
    core->answered++;
    core->failed += answer->err != NULL;
    if (answer->err)
        fprintf(stderr, "%s\n", answer->err->what);
}

void sim_core_submit(struct sim_core *core, const char *owner, const char *from, const char *text)
{
    const struct submission ask = {
        .owner = owner, .from = from, .text = text, .len = strlen(text)
    };
    core->asked++;
    ctl_submit(core->ctl, &ask, on_answer, core);
}

void sim_core_command(struct sim_core *core, const char *owner, uint64_t job, enum ctl_verb verb)
{
    core->asked++;
    ctl_command(core->ctl, owner, job, verb, on_answer, core);
}

void sim_core_declare(struct sim_core *core, const char *text)
{
    const struct declaration ask = { .owner = "root", .text = text, .len = strlen(text) };
    core->asked++;
    ctl_declare(core->ctl, &ask, on_answer, core);
}

double sim_core_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
