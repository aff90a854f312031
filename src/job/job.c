/* The canonical job as a whole: making one with its defaults, reading it from and writing it to the
 * native tree. The members' own rules are in the field tables, rules across members in check.c. */
#include "job/job.h"

#include "base/arena.h"
#include "base/mem.h"
#include "job/check.h"
#include "job/job_fields.h"

#include <string.h>

/* ---- classes of ends ---- */

const char *end_class_word(enum end_class class)
{
#define CLASS_WORD(id, word) [END_##id] = (word),
    static const char *const words[END_CLASS_N] = { "none", END_CLASSES(CLASS_WORD) };
#undef CLASS_WORD
    return class < END_CLASS_N ? words[class] : words[0];
}

/* ---- entry points ---- */

struct words job_entry(struct arena *arena, const struct role *role)
{
    const char *words[] = { job_launcher_set(&role->launcher) ? "torchrun" : "python", "-m",
                            "muster.worker", role->python };
    struct words argv = { .at = ARENA_ARRAY(arena, ARRAY_LEN(words), const char *),
                          .n = ARRAY_LEN(words) };
    memcpy(argv.at, words, sizeof words);
    return argv;
}

/* ---- making, reading, writing ---- */

struct job_spec *job_new(struct arena *arena)
{
    struct job_spec *job = ARENA_NEW(arena, struct job_spec);
    field_init(job_fields, job);
    return job;
}

void role_init(struct role *role)
{
    memset(role, 0, sizeof *role);
    field_init(role_fields, role);
}

/* One role may be written at the top level: its members are split off into a map of their own.
 * Members that belong to neither are reported here, where names of both are known. */
struct job_parts {
    struct text_node job, role;
};

static void member_add(struct arena *arena, struct text_node *map, const struct text_node *member)
{
    struct text_node *copy = ARENA_NEW(arena, struct text_node);
    *copy = *member;
    copy->next = NULL;
    if (map->last)
        map->last->next = copy;
    else
        map->first = copy;
    map->last = copy;
    map->count++;
}

static struct job_parts split(struct arena *arena, const struct text_node *root,
                              struct report *report)
{
    struct field_context in = { .arena = arena, .report = report };
    struct job_parts halves = { .job = *root, .role = *root };
    halves.job.first = halves.job.last = halves.role.first = halves.role.last = NULL;
    halves.job.count = halves.role.count = 0;
    for (const struct text_node *member = root->first; member; member = member->next) {
        if (field_find(job_fields, member->key))
            member_add(arena, &halves.job, member);
        else if (field_find(role_fields, member->key))
            member_add(arena, &halves.role, member);
        else if (report->errors < REPORT_MAX)
            field_unknown(&in, root, member, job_fields, role_fields);
    }
    return halves;
}

static void implied_role(struct arena *arena, struct job_spec *job, const struct text_node *members,
                         struct report *report)
{
    if (members->count == 0)
        return;
    if (job->n_roles > 0) {
        const struct text_node *first = members->first;
        struct problem *p =
            report_error(report, first->key_place, first->key,
                         "%s is a field of a role, and the job has roles", first->key);
        report_hint(report, p, "move it into a role: roles.%s.%s", job->roles[0].name, first->key);
        return;
    }
    job->roles = ARENA_NEW(arena, struct role);
    job->n_roles = 1;
    role_init(job->roles);
    job->roles->name = JOB_IMPLIED_ROLE;
    job->roles->place = members->first->place;
    field_decode(arena, members, role_fields, job->roles, "", report);
}

struct job_spec *job_decode(struct arena *arena, const struct text_node *root,
                            struct report *report)
{
    size_t errors = report->errors;
    if (root->kind != TEXT_MAP) {
        struct problem *p = report_error(report, root->place, "", "a job is a map, this is %s",
                                         text_kind_word(root->kind));
        report_hint(report, p, "name: hello");
        return NULL;
    }
    struct job_spec *job = job_new(arena);
    struct job_parts halves = split(arena, root, report);
    field_decode(arena, &halves.job, job_fields, job, "", report);
    implied_role(arena, job, &halves.role, report);
    if (report->errors == errors)
        job_check_at(job, root, report);
    return report_ok(report) ? job : NULL;
}

struct job_spec *job_decode_some(struct arena *arena, const struct text_node *members)
{
    struct report report;
    struct job_spec *job = job_new(arena);
    report_init(&report, arena);
    field_decode(arena, members, job_fields, job, "", &report);
    return job;
}

struct text_node *job_encode(struct arena *arena, const struct job_spec *job)
{
    return field_encode(arena, NULL, NULL, job_fields, job);
}

bool job_launcher_set(const struct launcher *launcher)
{
    return launcher->has_ranks_per_node || launcher->has_max_restarts || launcher->has_node_unit ||
           launcher->node_check;
}
