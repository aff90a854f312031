/* Fuzz target: any text through the reader of OpenPAI's protocol version 2. A job that is accepted
 * must survive its canonical tree, give every task an environment, and be writable as a document
 * that is accepted again. */
#include "base/arena.h"
#include "base/err.h"
#include "dialect/openpai/openpai.h"
#include "text/detect.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted in full size would only make the run slow. */
enum { TASKS_MAX = 64, PORTS_MAX = 256, TEXT_BYTES = 1 << 16 };

static const struct site site = { .owner = "ada", .fs_uri = "file:///fs" };

static bool small(const struct job_spec *job)
{
    uint64_t ports = 0;
    for (size_t r = 0; r < job->n_roles; r++)
        for (size_t p = 0; p < job->roles[r].n_ports; p++)
            ports += (uint64_t)job->roles[r].ports[p].count * job->roles[r].replicas;
    return job_task_count(job) <= TASKS_MAX && ports <= PORTS_MAX;
}

static struct task_place place_task(struct arena *arena, const struct role *role, uint32_t position,
                                    uint32_t index)
{
    struct task_place task = {
        .role = position, .index = index, .attempt = 1, .node = "n1", .address = "127.0.0.1"
    };
    task.n_ports = (uint32_t)role->n_ports;
    task.ports = ARENA_ARRAY(arena, role->n_ports, struct placed_port);
    for (size_t p = 0; p < role->n_ports; p++)
        task.ports[p] = (struct placed_port){
            .label = role->ports[p].label,
            .count = role->ports[p].count,
            .numbers = ARENA_ARRAY(arena, role->ports[p].count, uint32_t),
        };
    return task;
}

static void environments(struct arena *arena, const struct job_spec *job)
{
    struct job_place place = { .id = 1, .number = 1, .generation = 1, .owner = "ada" };
    place.tasks = ARENA_ARRAY(arena, job_task_count(job), struct task_place);
    for (uint32_t r = 0; r < job->n_roles; r++)
        for (uint32_t i = 0; i < job->roles[r].replicas; i++)
            place.tasks[place.n++] = place_task(arena, &job->roles[r], r, i);
    for (uint32_t flat = 0; flat < place.n; flat++) {
        struct pairs env = { .n = 0 };
        openpai_v2_convention.env(arena, job, &place, flat, &site, &env);
        if (!pairs_get(&env, "PAI_JOB_NAME"))
            BUG("a task without PAI_JOB_NAME");
    }
}

/* Templates of what was replaced look like templates again: such a job is written with a warning.
 */
static bool templates(const struct job_spec *job)
{
    for (size_t r = 0; r < job->n_roles; r++)
        if (strstr(job->roles[r].run, "<%"))
            return true;
    return false;
}

static void again(struct arena *arena, const struct job_spec *job)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *tree = job_encode(arena, job);
    const struct job_spec *same = job_decode(arena, tree, &report);
    if (!same)
        BUG("the canonical tree of an accepted job is refused: %s", report.at[0].what);
    if (!text_equal(tree, job_encode(arena, same)))
        BUG("the canonical tree of a job does not say all of it");
    report_init(&report, arena);
    const struct text_node *written = openpai_v2.write(arena, job, &report);
    report_init(&report, arena);
    if (!templates(job) && !openpai_v2.read(arena, written, &site, &report))
        BUG("a written document is refused: %s", report.at[0].what);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_BYTES)
        return 0;
    struct arena *arena = arena_create();
    struct report report;
    report_init(&report, arena);
    const struct text_node *root = text_parse(arena, (const char *)data, size, &report);
    (void)openpai_v2.detect(root);
    const struct job_spec *job = root ? openpai_v2.read(arena, root, &site, &report) : NULL;
    if (!job && root && report_ok(&report))
        BUG("no job, and nobody says why");
    if (root)
        (void)dialect_mask(arena, &openpai_v2, root, arena_strndup(arena, (const char *)data, size),
                           size);
    if (job && !report_ok(&report))
        BUG("a job came with errors");
    if (job) {
        again(arena, job);
        if (small(job))
            environments(arena, job);
    }
    arena_destroy(arena);
    return 0;
}
