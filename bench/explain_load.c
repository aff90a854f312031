/* What explaining one waiting job costs on NODES nodes of 8 gpus that RUNNING jobs fill, with
 * WAITING others that all ask for something else:
 *
 *   plan      one pass of the scheduler over all that, as the server makes it
 *   explain   an explanation with everything that would start the job now: the first in its
 *             queue, one in the middle, the last
 *   what_if   the same job with one change
 *
 *   explain_load [NODES RUNNING WAITING]     prints one JSON document, milliseconds of
 *                                             processor time
 */
#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/pass.h"
#include "ctl/test/world.h"
#include "explain/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMES 15

static struct node_spec *make_nodes(struct arena *arena, uint32_t n)
{
    struct node_spec *nodes = ARENA_ARRAY(arena, n, struct node_spec);
    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = (struct node_spec){ .name = arena_printf(arena, "n%u", i),
                                       .address = "127.0.0.1",
                                       .gpus = 8,
                                       .cpu_milli = 96000,
                                       .memory = UINT64_C(1) << 40 };
        nodes[i].host = nodes[i].name;
        nodes[i].gpu_type = i % 2 ? "A100" : "H100";
    }
    return nodes;
}

static uint64_t submit(struct world *w, struct arena *arena, const char *name, uint32_t tasks,
                       uint32_t gpu, uint32_t minutes)
{
    const char *text = arena_printf(
        arena,
        "{\"name\":\"%s\",\"limits\":{\"run_time\":\"%um\"},\"roles\":{\"w\":{\"run\":\"x\","
        "\"replicas\":%u,\"resources\":{\"gpu\":%u,\"cpu\":%u}}}}",
        name, minutes, tasks, gpu, 1 + minutes % 7);
    struct submission ask = { .owner = "ada", .text = text, .len = strlen(text) };
    ask.from = NULL;
    return world_submit_as(w, &ask);
}

static uint64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* not what else runs on the machine */
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static double median(double *at)
{
    for (size_t i = 1; i < TIMES; i++)
        for (size_t k = i; k > 0 && at[k] < at[k - 1]; k--) {
            double t = at[k];
            at[k] = at[k - 1];
            at[k - 1] = t;
        }
    return at[TIMES / 2];
}

static double explain(struct world *w, uint64_t job, const char *change)
{
    double took[TIMES];
    for (size_t i = 0; i < TIMES; i++) {
        struct err err;
        struct arena *arena = arena_create();
        struct explain_ask ask = { .arena = arena, .owner = "ada", .job = job };
        if (change)
            ask.changes = (struct words){ .at = &change, .n = 1 };
        uint64_t began = cpu_us();
        struct explain_view view;
        int rc = explain_job(w->ctl, &ask, &view, &err);
        took[i] = (double)(cpu_us() - began) / 1000;
        if (rc)
            BUG("%s", err.what);
        if (i == 0 && !change)
            fprintf(stderr, "%s: %zu ways\n", view.name, view.ways.n);
        arena_destroy(arena);
    }
    return median(took);
}

static double plan(struct world *w)
{
    double took[TIMES];
    for (size_t i = 0; i < TIMES; i++) {
        struct arena *arena = arena_create();
        struct sched_snapshot s;
        uint64_t began = cpu_us();
        pass_ask(w->ctl, arena, &s);
        sched_plan(&s, core_now(w->ctl), arena);
        took[i] = (double)(cpu_us() - began) / 1000;
        arena_destroy(arena);
    }
    return median(took);
}

int main(int argc, char **argv)
{
    uint32_t nodes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    uint32_t running = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 400;
    uint32_t waiting = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1000;
    if (running == 0 || running > nodes - nodes / 50) {
        fprintf(stderr, "explain_load: NODES RUNNING WAITING, with 1 to 0.98 NODES running jobs\n");
        return 2;
    }
    struct arena *arena = arena_create();
    struct world w;
    mem_hold(64 << 20);
    world_init(&w);
    w.nodes = make_nodes(arena, nodes);
    w.n_nodes = nodes;
    w.code_all = FAKE_RUNS;
    world_crash(&w);
    uint32_t each = (nodes - nodes / 50) / running;
    for (uint32_t i = 0; i < running; i++)
        submit(&w, arena, "fill", each, 8, 60 + i);
    uint32_t free = nodes - each * running;
    uint64_t first = submit(&w, arena, "first", free + 50, 8, 600), middle = 0, last = 0;
    for (uint32_t i = 0; i < waiting; i++) {
        uint64_t id = submit(&w, arena, "other", free + 1 + i % (nodes - free), 8, 700 + i % 300);
        middle = i == waiting / 2 ? id : middle;
        last = id;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("{\"nodes\": %u, \"running\": %u, \"waiting\": %u, \"free_nodes\": %u,\n", nodes,
           running, waiting, free);
    printf(" \"plan_ms\": %.2f,\n", plan(&w));
    printf(" \"explain_first_ms\": %.2f,\n", explain(&w, first, NULL));
    printf(" \"explain_middle_ms\": %.2f,\n", explain(&w, middle, NULL));
    printf(" \"explain_last_ms\": %.2f,\n", explain(&w, last, NULL));
    printf(" \"what_if_ms\": %.2f}\n", explain(&w, first, "replicas=2"));
    world_fini(&w);
    arena_destroy(arena);
    return 0;
}
