/* Rules of roles: each by itself (program, replicas, resources, ports, environment), and all
 * together (names, ports that meet, roles that wait for each other in a circle). Effects: problems
 * in the report. */
#include "job/checker.h"

#include "job/place.h"

#include <string.h>

/* ---- a role ---- */

static void check_program(const struct checker *c, const struct role *role)
{
    int ways = (role->run != NULL) + (role->argv.n > 0) + (role->python != NULL);
    if (ways == 0)
        check_fail(c, check_role_path(role, "").text, "run: python train.py",
                   "says nothing to run");
    else if (ways > 1)
        check_fail(c, check_role_path(role, role->run ? "run" : "argv").text,
                   "one of run, argv and python", "is not the only thing the role runs");
}

static void check_input(const struct checker *c, const struct role *role)
{
    if (role->tty && !role->open_stdin)
        check_fail(c, check_role_path(role, "tty").text, "stdin: true beside it",
                   "asks for a terminal without a stdin to type into");
}

static void check_replicas(const struct checker *c, const struct role *role)
{
    struct check_path path = check_role_path(role, "replicas");
    if (role->replicas == 0)
        check_fail(c, path.text, "1 or more", "is 0, the least is 1");
    else if (role->min == 0 || role->min > role->replicas)
        check_fail(c, path.text, "min no larger than max", "has min %u and max %u", role->min,
                   role->replicas);
    struct check_path spares = check_role_path(role, "spares");
    if (role->spares && (!job_launcher_set(&role->launcher) || role->python))
        check_fail(c, spares.text, "a launcher, for a command: launcher: {max_restarts: 3}",
                   "takes the place of a lost task in a round of launchers, and this role has %s",
                   role->python ? "a Python entry point" : "no settings of any");
    if (role->per_group && role->replicas % role->per_group)
        check_fail(c, check_role_path(role, "per_group").text, "a divisor of replicas",
                   "is %u, and %u replicas are not divisible by it", role->per_group,
                   role->replicas);
    if (role->done.failed.kind == COUNT_NUMBER && role->done.failed.n > role->replicas)
        check_warn(c, check_role_path(role, "done.failed").text, "never",
                   "is %u and the role has %u task%s: it never decides", role->done.failed.n,
                   role->replicas, role->replicas == 1 ? "" : "s");
    if (role->done.succeeded.kind == COUNT_NUMBER && role->done.succeeded.n > role->replicas)
        check_warn(c, check_role_path(role, "done.succeeded").text, "all",
                   "is %u and the role has %u task%s: it never decides", role->done.succeeded.n,
                   role->replicas, role->replicas == 1 ? "" : "s");
}

static void check_resources(const struct checker *c, const struct role *role)
{
    const struct resources *r = &role->resources;
    if (r->gpu_milli > 1000 && r->gpu_milli % 1000 != 0)
        check_fail(
            c, check_role_path(role, "resources.gpu").text, "a whole number, or a share below 1",
            "is %llu.%03llu: more than one device is given whole",
            (unsigned long long)(r->gpu_milli / 1000), (unsigned long long)(r->gpu_milli % 1000));
    if (r->gpu_types.n > 0 && r->gpu_milli == 0)
        check_fail(c, check_role_path(role, "resources.gpu_type").text, "gpu: 1",
                   "names a type, and the role asks for no gpu");
    for (size_t i = 0; i < r->custom.n; i++) {
        const char *name = r->custom.at[i].name;
        const char *near = field_near(field_find(role_fields, "resources")->table, name);
        if (near || !resource_chars.ok(name))
            check_fail(c, check_path("roles.%.80s.resources.%.80s", role->name, name).text,
                       near ? near : resource_chars.wanted, "is no name of a custom resource");
        for (size_t k = 0; k < i; k++)
            if (strcmp(name, r->custom.at[k].name) == 0)
                check_fail(c, check_path("roles.%.80s.resources.%.80s", role->name, name).text,
                           "each name once", "is there twice");
    }
}

static bool ranges_meet(const struct port_request *a, const struct port_request *b)
{
    return a->first && b->first && a->first < b->first + b->count && b->first < a->first + a->count;
}

static void check_ports(const struct checker *c, const struct role *role)
{
    uint64_t count = 0;
    if (role->n_ports > PORT_MAX_LABELS)
        check_fail(c, check_role_path(role, "ports").text, "fewer labels with more ports each",
                   "has %zu labels, the most are %d", role->n_ports, PORT_MAX_LABELS);
    for (size_t i = 0; i < role->n_ports && i < PORT_MAX_LABELS; i++) {
        const struct port_request *want = &role->ports[i];
        struct check_path path = check_path("roles.%.80s.ports.%.80s", role->name, want->label);
        count += want->count;
        if (want->count == 0)
            check_fail(c, path.text, "1 or more", "has count 0, the least is 1");
        if (want->first && (uint64_t)want->first + want->count - 1 > 65535)
            check_fail(c, path.text, "a range that ends at 65535 or before",
                       "goes from %u to %llu, the most is 65535", want->first,
                       (unsigned long long)want->first + want->count - 1);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(want->label, role->ports[k].label) == 0)
                check_fail(c, path.text, "each label once", "is there twice");
            else if (ranges_meet(want, &role->ports[k]))
                check_fail(c, path.text, "ranges that do not meet", "has ports that \"%s\" has too",
                           role->ports[k].label);
        }
    }
    if (count > 65535)
        check_fail(c, check_role_path(role, "ports").text, "65535 or fewer in all",
                   "asks for %llu ports for one task, the most are 65535",
                   (unsigned long long)count);
}

static void check_env(const struct checker *c, const struct role *role)
{
    for (size_t i = 0; i < role->env.n; i++) {
        const struct pair *pair = &role->env.at[i];
        size_t len = strlen(pair->name) + strlen(pair->value) + 2;
        if (len > 131072) /* the kernel's bound for one string of an environment */
            check_fail(c, check_role_path(role, "env").text, "put long values into a file",
                       "has %.40s with %zu bytes, the most are 131072", pair->name, len);
    }
}

static void check_role(const struct checker *c, size_t position)
{
    const struct role *role = &c->job->roles[position];
    for (size_t i = 0; i < position; i++)
        if (strcmp(role->name, c->job->roles[i].name) == 0)
            check_fail(c, check_role_path(role, "").text, "another name", "is there twice");
    if (!name_chars.ok(role->name))
        check_fail(c, check_role_path(role, "").text, name_chars.wanted, "is no name of a role");
    check_replicas(c, role);
    check_program(c, role);
    check_input(c, role);
    check_resources(c, role);
    check_ports(c, role);
    check_env(c, role);
    check_role_names(c, &role->after, check_role_path(role, "after").text);
}

/* ---- all roles ---- */

/* Every role that waits for no unfinished one is taken off; what is left waits in a circle. */
static void check_circles(const struct checker *c)
{
    bool done[JOB_MAX_ROLES] = { false };
    const struct job_spec *job = c->job;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < job->n_roles; i++) {
            bool ready = !done[i];
            for (size_t k = 0; ready && k < job->roles[i].after.n; k++) {
                uint32_t other = 0;
                if (job_role(job, job->roles[i].after.at[k], &other))
                    ready = done[other];
            }
            done[i] |= ready;
            moved |= ready;
        }
    }
    for (size_t i = 0; i < job->n_roles; i++) {
        if (done[i])
            continue;
        check_fail(c, check_role_path(&job->roles[i], "after").text,
                   "roles that do not wait for this one", "waits for a role that waits for it");
        return;
    }
}

void check_roles(const struct checker *c)
{
    uint64_t tasks = 0;
    if (c->job->n_roles == 0) {
        check_fail(c, "", "run: python train.py", "the job has no roles: nothing to run");
        return;
    }
    if (c->job->n_roles > JOB_MAX_ROLES) {
        check_fail(c, "roles", "fewer roles with more tasks each",
                   "has %zu entries, the most are %u", c->job->n_roles, JOB_MAX_ROLES);
        return;
    }
    for (size_t i = 0; i < c->job->n_roles; i++) {
        check_role(c, i);
        tasks += c->job->roles[i].replicas;
    }
    if (tasks > JOB_MAX_TASKS)
        check_fail(c, "roles", "65536 tasks or fewer in all roles",
                   "have %llu tasks, the most are %u", (unsigned long long)tasks, JOB_MAX_TASKS);
    check_circles(c);
}
