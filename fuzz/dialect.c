/* One text through one dialect, as a server would take it: parse, read, mask, and for an accepted
 * job its canonical tree, its way back and its tasks' environments. */
#include "fuzz/dialect.h"

#include "base/arena.h"
#include "base/err.h"
#include "text/detect.h"

#include <string.h>

/* What is accepted in full size would only make the run slow. */
enum { TASKS_MAX = 64, PORTS_MAX = 256 };

static const struct site site = { .owner = "ada", .fs_uri = "file:///fs" };

/* ---- environments ---- */

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
        .role = position, .index = index, .attempt = 2, .node = "n1", .address = "127.0.0.1"
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

static struct job_place place_job(struct arena *arena, const struct job_spec *job)
{
    struct job_place place = { .id = 1, .number = 1, .generation = 1, .owner = "ada" };
    place.tasks = ARENA_ARRAY(arena, job_task_count(job), struct task_place);
    for (uint32_t r = 0; r < job->n_roles; r++)
        for (uint32_t i = 0; i < job->roles[r].replicas; i++)
            place.tasks[place.n++] = place_task(arena, &job->roles[r], r, i);
    return place;
}

static void check_environments(const struct fuzz_dialect *f, struct arena *arena,
                               const struct job_spec *job)
{
    const struct dialects all = { .conventions = &f->convention,
                                  .n_conventions = 1,
                                  .native = f->convention };
    const struct job_place place = place_job(arena, job);
    bool promised = !f->framework || strcmp(job->framework, f->framework) == 0;
    for (uint32_t flat = 0; flat < place.n; flat++) {
        const struct dialect_task task = {
            .job = job, .place = &place, .flat = flat, .site = &site
        };
        struct pairs env = { .n = 0 };
        dialect_env(&all, arena, &task, &env);
        if (promised && !pairs_get(&env, f->variable))
            BUG("a task without %s", f->variable);
    }
}

/* ---- the job in other words ---- */

static void check_tree(struct arena *arena, const struct job_spec *job)
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

static void check_written(const struct fuzz_dialect *f, struct arena *arena,
                          const struct job_spec *job)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *written = f->dialect->write(arena, job, &report);
    report_init(&report, arena);
    if (f->returns && f->returns(job) && !f->dialect->read(arena, written, &site, &report))
        BUG("a written text is refused: %s", report.at[0].what);
}

/* ---- the text ---- */

static void check_problems(const struct report *report, size_t size)
{
    for (size_t i = 0; i < report->n; i++)
        if ((size_t)report->at[i].place.offset + report->at[i].place.len > size)
            BUG("a problem behind the end of the text: %s", report->at[i].what);
}

static const struct text_node *parse(const struct dialect *dialect, struct arena *arena,
                                     const char *text, size_t len, struct report *report)
{
    size_t documents;
    if (dialect->script)
        return script_parse(arena, text, len, report);
    return dialect->documents ? text_parse_documents(arena, text, len, &documents, report)
                              : text_parse(arena, text, len, report);
}

static void look(const struct fuzz_dialect *f, struct arena *arena, const char *text, size_t len)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *root = parse(f->dialect, arena, text, len, &report);
    (void)f->dialect->detect(root);
    const struct job_spec *job = root ? f->dialect->read(arena, root, &site, &report) : NULL;
    check_problems(&report, len);
    if (job && !report_ok(&report))
        BUG("a job came with errors");
    if (!job && report_ok(&report))
        BUG("no job, and nobody says why");
    if (root)
        (void)dialect_mask(arena, f->dialect, root, text, len);
    if (!job)
        return;
    check_tree(arena, job);
    check_written(f, arena, job);
    if (small(job))
        check_environments(f, arena, job);
}

int fuzz_dialect(const struct fuzz_dialect *f, const uint8_t *data, size_t size)
{
    if (size > f->text_max)
        return 0;
    struct arena *arena = arena_create();
    look(f, arena, (const char *)data, size);
    arena_destroy(arena);
    return 0;
}
