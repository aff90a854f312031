/* Which role of a job is which type of an ElasticJob, before write.c writes it.
 *
 * Rules, in this order: a role of a type's name is that type; without a worker, the largest role
 * that the job's end waits for is it; roles whose tasks are the same as the worker's are more of
 * it; of the others, servers (whose end nobody waits for) become ps, single tasks chief or
 * evaluator. What is left then keeps its name, and is missed when the job is read again. */
#include "dialect/elasticjob/shape.h"

#include "dialect/elasticjob/extra.h"
#include "dialect/elasticjob/types.h"
#include "dialect/roles.h"

#include <strings.h>

struct role_types {
    struct arena *arena;
    const struct job_spec *job;
    struct report *report;
    enum ej_type *types; /* of job->roles; EJ_TYPE_N: none */
    bool taken[EJ_TYPE_N + 1];
};

static void give(struct role_types *s, size_t role, enum ej_type type)
{
    s->types[role] = type;
    s->taken[type] = true;
}

static void give_by_name(struct role_types *s, int (*differ)(const char *, const char *))
{
    for (size_t i = 0; i < s->job->n_roles; i++)
        for (enum ej_type type = 0; type < EJ_TYPE_MASTER; type++)
            if (!s->taken[type] && s->types[i] == EJ_TYPE_N &&
                differ(s->job->roles[i].name, ej_type_word(type)) == 0)
                give(s, i, type);
}

static bool serves(const struct role *role)
{
    return role->done.succeeded.kind == COUNT_NEVER;
}

/* Of the roles without a type, or of all. SIZE_MAX: none. */
static size_t find_workers(const struct role_types *s, bool all)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->job->n_roles; i++) {
        const struct role *role = &s->job->roles[i];
        if (!all && s->types[i] != EJ_TYPE_N)
            continue;
        const struct role *other = best == SIZE_MAX ? NULL : &s->job->roles[best];
        if (!other || (serves(other) && !serves(role)) ||
            (serves(other) == serves(role) && role->replicas > other->replicas))
            best = i;
    }
    return best;
}

static void give_workers(struct role_types *s)
{
    if (s->taken[EJ_WORKER] || (s->taken[EJ_CHIEF] && ej_extra_flag(s->job, "chiefIsWorker")))
        return;
    size_t at = find_workers(s, false);
    if (at == SIZE_MAX)
        at = find_workers(s, true); /* every ElasticJob has workers */
    if (at == SIZE_MAX)
        return;
    s->taken[s->types[at]] = false;
    give(s, at, EJ_WORKER);
}

static void give_others(struct role_types *s)
{
    size_t worker = 0;
    while (worker < s->job->n_roles && s->types[worker] != EJ_WORKER)
        worker++;
    for (size_t i = 0; i < s->job->n_roles; i++) {
        const struct role *role = &s->job->roles[i];
        if (s->types[i] != EJ_TYPE_N)
            continue;
        if (worker < s->job->n_roles && dialect_same_tasks(role, &s->job->roles[worker]))
            s->types[i] = EJ_WORKER;
        else if (serves(role) && !s->taken[EJ_PS])
            give(s, i, EJ_PS);
        else if (role->replicas == 1 && !s->taken[EJ_CHIEF])
            give(s, i, EJ_CHIEF);
        else if (role->replicas == 1 && !s->taken[EJ_EVALUATOR])
            give(s, i, EJ_EVALUATOR);
        else if (!s->taken[EJ_PS])
            give(s, i, EJ_PS);
    }
}

/* ---- the roles that come of it ---- */

static void note_name(const struct role_types *s, const struct role *role, const char *name)
{
    const char *path = arena_printf(s->arena, "roles.%s", role->name);
    if (strcmp(role->name, name) != 0)
        report_note(s->report, path, "%s is written as %s", path, name);
}

static void join(const struct role_types *s, struct role *into, const struct role *role)
{
    const char *path = arena_printf(s->arena, "roles.%s", role->name);
    into->min += role->min;
    into->replicas += role->replicas;
    if (into->n_ports == 0) {
        into->ports = role->ports;
        into->n_ports = role->n_ports;
    }
    report_note(s->report, path, "%s and the other workers are one type: %u tasks", path,
                into->replicas);
}

static struct job_spec *with_types(const struct role_types *s)
{
    const struct job_spec *job = s->job;
    struct role *roles = ARENA_ARRAY(s->arena, job->n_roles + 1, struct role), *worker = NULL;
    struct role_name *names = ARENA_ARRAY(s->arena, job->n_roles + 1, struct role_name);
    struct role_names all = { .at = names };
    size_t n = 0;
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct role *role = &job->roles[i];
        const char *name = s->types[i] == EJ_TYPE_N ? role->name : ej_type_word(s->types[i]);
        names[all.n++] = (struct role_name){ role->name, name };
        if (s->types[i] == EJ_WORKER && worker) {
            join(s, worker, role);
            continue;
        }
        roles[n] = *role;
        roles[n].name = name;
        worker = s->types[i] == EJ_WORKER ? &roles[n] : worker;
        note_name(s, role, name);
        n++;
    }
    return dialect_with_roles(s->arena, job, roles, n, &all);
}

/* ParameterServerStrategy without a chief makes the first of the workers it. */
static struct job_spec *with_chief(const struct role_types *s, struct job_spec *job)
{
    const char *strategy = ej_extra_text(job, "strategy"), *worker = ej_type_word(EJ_WORKER);
    bool servers = strategy ? strcmp(strategy, "ParameterServerStrategy") == 0
                            : s->taken[EJ_PS] || s->taken[EJ_EVALUATOR];
    if (!servers || s->taken[EJ_CHIEF] || !s->taken[EJ_WORKER])
        return job;
    struct job_spec *out = dialect_split_role(s->arena, job, worker, ej_type_word(EJ_CHIEF));
    struct text_node *extra =
        job->extra ? text_copy(s->arena, NULL, NULL, job->extra) : text_map(s->arena, NULL, NULL);
    struct text_node *ours = text_get(extra, EJ_EXTRA);
    text_bool(s->arena, ours ? ours : text_map(s->arena, extra, EJ_EXTRA), "chiefIsWorker", true);
    out->extra = extra;
    report_note(s->report, "roles.worker",
                "roles.worker: the first of them is the chief, as ParameterServerStrategy has it");
    return out;
}

struct job_spec *ej_shape(struct arena *arena, const struct job_spec *job, struct report *report)
{
    struct role_types s = { .arena = arena, .job = job, .report = report };
    s.types = ARENA_ARRAY(arena, job->n_roles + 1, enum ej_type);
    for (size_t i = 0; i < job->n_roles; i++)
        s.types[i] = EJ_TYPE_N;
    give_by_name(&s, strcmp);
    give_by_name(&s, strcasecmp);
    give_workers(&s);
    give_others(&s);
    return with_chief(&s, with_types(&s));
}
