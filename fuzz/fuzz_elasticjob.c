/* Fuzz target: any text through the ElasticJob reader. A job that is accepted must survive its
 * canonical tree and give every task an environment, in which $(NAME) is replaced. */
#include "base/arena.h"
#include "base/err.h"
#include "dialect/elasticjob/elasticjob.h"
#include "text/detect.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted in full size would only make the run slow. */
enum { TASKS_MAX = 64, TEXT_BYTES = 1 << 16 };

static const struct site site = { .owner = "ada", .fs_uri = "file:///fs" };
static const struct convention *const conventions[] = { &elasticjob_convention };
static const struct dialects all = { .conventions = conventions,
                                     .n_conventions = 1,
                                     .native = &elasticjob_convention };

static struct task_place place_task(struct arena *arena, const struct role *role, uint32_t position,
                                    uint32_t index)
{
    struct task_place task = {
        .role = position, .index = index, .attempt = 2, .node = "n1", .address = "127.0.0.1"
    };
    task.n_ports = (uint32_t)role->n_ports;
    task.ports = ARENA_ARRAY(arena, role->n_ports, struct placed_port);
    for (size_t p = 0; p < role->n_ports; p++)
        task.ports[p] =
            (struct placed_port){ .label = role->ports[p].label,
                                  .count = role->ports[p].count,
                                  .numbers = ARENA_ARRAY(arena, role->ports[p].count, uint32_t) };
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
        const struct dialect_task task = {
            .job = job, .place = &place, .flat = flat, .site = &site
        };
        struct pairs env = { .n = 0 };
        dialect_env(&all, arena, &task, &env);
        if (!pairs_get(&env, "POD_NAME"))
            BUG("a task without POD_NAME");
    }
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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_BYTES)
        return 0;
    struct arena *arena = arena_create();
    struct report report;
    size_t documents;
    report_init(&report, arena);
    const struct text_node *root =
        text_parse_documents(arena, (const char *)data, size, &documents, &report);
    (void)elasticjob_dialect.detect(root);
    const struct job_spec *job = root ? elasticjob_dialect.read(arena, root, &site, &report) : NULL;
    if (job && !report_ok(&report))
        BUG("a job came with errors");
    if (!job && root && report_ok(&report))
        BUG("no job, and nobody says why");
    if (root)
        (void)dialect_mask(arena, &elasticjob_dialect, root,
                           arena_strndup(arena, (const char *)data, size), size);
    if (job) {
        again(arena, job);
        if (job_task_count(job) <= TASKS_MAX)
            environments(arena, job);
    }
    arena_destroy(arena);
    return 0;
}
