/* Rules between the fields of a CreateJob body.
 *
 * Inputs: a decoded body. Effects: problems in the report, nothing else.
 *
 * Caveats: where resources come from is told from the text alone (ResourceId, EcsSpec, a bid);
 * whether a quota is one of Lingjun nobody here knows, so those rows of conditions.c wait for a
 * caller that does. */
#include "dialect/dlc/check.h"

#include "base/scan.h"
#include "dialect/dlc/conditions.h"
#include "dialect/dlc/create.h"
#include "dialect/dlc/env.h"
#include "dialect/dlc/instance_types.h"
#include "dialect/dlc/problems.h"
#include "dialect/dlc/types.h"
#include "job/job_fields.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAMES_MAX = 64 };

static const char *spec_path(const struct report *r, size_t i, const char *field)
{
    return arena_printf(r->arena, "JobSpecs[%zu]%s%s", i, *field ? "." : "", field);
}

/* ---- kind of job, roles ---- */

static bool check_type(const struct dlc_create *c, struct report *r)
{
    const char *names[NAMES_MAX];
    size_t n = 0;
    if (!c->job_type)
        return false;
    if (c->type && c->type->framework)
        return true;
    if (c->type) {
        struct problem *p = dlc_error(c, r, "JobType", "is %s, which cannot run here: %s",
                                      c->type->name, c->type->reason);
        report_hint(r, p, "a PyTorchJob with one Worker that starts it");
        return false;
    }
    for (const struct dlc_type *t = dlc_type_list(); t->name; t++)
        names[n++] = t->name;
    const struct dlc_type *same = dlc_type_find(c->job_type, true);
    const char *near = same ? same->name : scan_nearest(c->job_type, names, n);
    struct problem *p =
        dlc_error(c, r, "JobType", "is \"%.40s\", and there is no such kind of job", c->job_type);
    report_hint(r, p, "%s",
                near ? near
                     : "PyTorchJob, TFJob, MPIJob, XGBoostJob, OneFlowJob, ElasticBatchJob, RayJob "
                       "or SlurmJob");
    dlc_fix(c, r, p, near);
    return false;
}

static void unknown_role(const struct dlc_create *c, size_t i, struct report *r)
{
    const char *names[DLC_ROLES_MAX], *type = c->specs[i].type;
    const char *path = spec_path(r, i, "Type");
    char list[200] = "";
    size_t n = 0;
    if (strcmp(type, "AIMaster") == 0) {
        struct problem *p = dlc_error(c, r, path, "is AIMaster, which no job brings itself");
        report_hint(r, p, "Settings.EnableErrorMonitoringInAIMaster: true");
        return;
    }
    for (const struct dlc_role_kind *k = c->type->roles; k->type; k++) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", n ? ", " : "", k->type);
        names[n++] = k->type;
    }
    struct problem *p =
        dlc_error(c, r, path, "is \"%.40s\", and a %s has no such role", type, c->type->name);
    const char *near = scan_nearest(type, names, n);
    report_hint(r, p, "%s", near ? near : list);
    dlc_fix(c, r, p, near);
}

static void check_roles(const struct dlc_create *c, struct report *r)
{
    uint64_t pods = 0;
    for (size_t i = 0; i < c->n_specs; i++) {
        const struct dlc_spec *spec = &c->specs[i];
        const struct dlc_role_kind *kind = NULL;
        pods += spec->pods;
        if (!spec->type)
            continue;
        kind = dlc_role_find(c->type, spec->type);
        if (!kind)
            unknown_role(c, i, r);
        else if ((kind->flags & DLC_ROLE_ONE) && spec->pods > 1)
            report_hint(r,
                        dlc_error(c, r, spec_path(r, i, "PodCount"),
                                  "is %u, and a job has at most one %s", spec->pods, spec->type),
                        "1");
        for (size_t k = 0; k < i; k++)
            if (c->specs[k].type && strcasecmp(c->specs[k].type, spec->type) == 0) {
                report_hint(r,
                            dlc_error(c, r, spec_path(r, i, "Type"), "is \"%s\", as %s is already",
                                      spec->type, spec_path(r, k, "Type")),
                            "a larger PodCount in the first, or another role");
                break;
            }
    }
    if (pods == 0 && dlc_node(c, "JobSpecs"))
        report_hint(r, dlc_error(c, r, "JobSpecs", "has no pods in all"),
                    "at least one role with PodCount 1");
    if (pods > JOB_MAX_TASKS)
        report_hint(r,
                    dlc_error(c, r, "JobSpecs", "has %llu pods in all, the most are %u",
                              (unsigned long long)pods, JOB_MAX_TASKS),
                    "fewer pods");
}

static void check_after(const struct dlc_create *c, size_t i, struct report *r)
{
    for (size_t k = 0; k < c->specs[i].n_after; k++) {
        const struct dlc_dependency *after = &c->specs[i].after[k];
        const char *path = arena_printf(r->arena, "JobSpecs[%zu].StartupDependencies[%zu]", i, k);
        bool known = false;
        for (size_t s = 0; s < c->n_specs; s++)
            known |= s != i && after->type && c->specs[s].type &&
                     strcmp(c->specs[s].type, after->type) == 0;
        if (!known)
            report_hint(r, dlc_error(c, r, path, "names no other role of this job"),
                        "Type: a role of JobSpecs");
        if (after->phase && strcmp(after->phase, "Succeeded") == 0)
            report_hint(r,
                        dlc_error(c, r, path, "waits for an end: only a start can be waited for"),
                        "OnPhase: Running");
        if (after->min > 0)
            report_hint(
                r, dlc_warn(c, r, path, "has MinReplicas: all pods of the role are waited for"),
                "leave it out");
    }
}

/* ---- resources ---- */

bool dlc_memory(const char *text, uint64_t *bytes)
{
    size_t len = strlen(text);
    return len > 0 && text[len - 1] != 'B' && text[len - 1] != 'b' && scan_size(text, bytes);
}

static void check_amount(const struct dlc_create *c, size_t i, const char *field, const char *value,
                         bool whole, struct report *r)
{
    const char *path = arena_printf(r->arena, "JobSpecs[%zu].ResourceConfig.%s", i, field);
    uint64_t milli = 0;
    if (!value || !*value)
        return;
    bool good = scan_milli(value, &milli) && milli <= 1000000000;
    if (good && (!whole || milli % 1000 == 0))
        return;
    report_hint(r,
                dlc_error(c, r, path, "is \"%.40s\", not a number of %s", value,
                          whole ? "devices" : "cores"),
                whole ? "a whole number: 2" : "a number of cores: 4");
}

static void check_memory(const struct dlc_create *c, size_t i, const char *field, const char *value,
                         struct report *r)
{
    const char *path = arena_printf(r->arena, "JobSpecs[%zu].ResourceConfig.%s", i, field);
    uint64_t bytes = 0;
    if (!value || !*value)
        return;
    if (!dlc_memory(value, &bytes)) {
        size_t digits = strspn(value, "0123456789.");
        report_hint(r, dlc_error(c, r, path, "is \"%.40s\", not an amount of memory", value),
                    digits && digits < 20 ? "%.*sGi" : "4Gi", (int)digits, value);
    } else if (bytes > 0 && bytes < 1u << 20) {
        report_hint(
            r, dlc_error(c, r, path, "is \"%.40s\": %llu bytes", value, (unsigned long long)bytes),
            "%.20sGi, or another unit", value);
    }
}

static bool has_config(const struct dlc_spec *spec)
{
    const struct dlc_resource *q = &spec->resource;
    return q->cpu || q->gpu || q->memory || q->shared_memory || q->gpu_type;
}

static void check_ecs(const struct dlc_create *c, size_t i, struct report *r)
{
    const struct dlc_spec *spec = &c->specs[i];
    const char *path = spec_path(r, i, "EcsSpec"), *names[NAMES_MAX];
    size_t n = 0;
    const struct entry *all = dlc_ecs_list(&n);
    for (size_t k = 0; k < n && k < NAMES_MAX; k++)
        names[k] = all[k].name;
    if (has_config(spec))
        report_hint(r, dlc_error(c, r, path, "is there beside ResourceConfig"),
                    "EcsSpec for public resources, ResourceConfig for a quota");
    else if (c->resource && *c->resource)
        report_hint(
            r, dlc_error(c, r, path, "is there with a ResourceId: a quota has no instance types"),
            "ResourceConfig, or no ResourceId");
    if (dlc_ecs_find(c->catalogue, spec->ecs_spec))
        return;
    const char *near = catalogue_near(c->catalogue, ENTRY_INSTANCE_TYPE, spec->ecs_spec);
    if (!near)
        near = scan_nearest(spec->ecs_spec, names, n < NAMES_MAX ? n : NAMES_MAX);
    struct problem *p =
        dlc_error(c, r, path, "is \"%.60s\", which is no instance type known here", spec->ecs_spec);
    report_hint(r, p, "%s",
                near ? near : "ecs.g6.xlarge (4 cores, 16 GiB), ResourceConfig for any other size");
    dlc_fix(c, r, p, near);
}

static void check_resources(const struct dlc_create *c, struct report *r)
{
    for (size_t i = 0; i < c->n_specs; i++) {
        const struct dlc_spec *spec = &c->specs[i];
        const struct dlc_resource *q = &spec->resource;
        if (spec->pods == 0)
            continue;
        if (spec->ecs_spec && *spec->ecs_spec)
            check_ecs(c, i, r);
        else if (!has_config(spec) && !dlc_given(dlc_node(c, spec_path(r, i, "ResourceConfig"))))
            report_hint(r, dlc_error(c, r, spec_path(r, i, ""), "says no resources"),
                        "EcsSpec with a type such as ecs.g6.xlarge, or ResourceConfig");
        check_amount(c, i, "CPU", q->cpu, false, r);
        check_amount(c, i, "GPU", q->gpu, true, r);
        check_memory(c, i, "Memory", q->memory, r);
        check_memory(c, i, "SharedMemory", q->shared_memory, r);
        uint64_t memory = 0, shm = 0;
        if (q->memory && q->shared_memory && dlc_memory(q->memory, &memory) &&
            dlc_memory(q->shared_memory, &shm) && shm > memory && memory >= 1u << 20)
            report_hint(
                r,
                dlc_error(c, r,
                          arena_printf(r->arena, "JobSpecs[%zu].ResourceConfig.SharedMemory", i),
                          "is %s, more than the Memory of %s", q->shared_memory, q->memory),
                "%s or less: it is part of the memory", q->memory);
    }
}

/* ---- bids, nodes ---- */

static void check_spot(const struct dlc_create *c, size_t i, struct report *r)
{
    const struct dlc_bid *spot = &c->specs[i].spot;
    const char *path = arena_printf(r->arena, "JobSpecs[%zu].SpotSpec.SpotDiscountLimit", i);
    char shown[FMT_MAX];
    if (spot->has_discount && (spot->discount_milli < 100 || spot->discount_milli > 900 ||
                               spot->discount_milli % 100 != 0))
        report_hint(r,
                    dlc_error(c, r, path, "is %s, not 0.1 to 0.9 in steps of 0.1",
                              fmt_milli(shown, spot->discount_milli)),
                    "0.5: at most half the list price");
    else if (spot->strategy && !spot->has_discount && !spot->price)
        report_hint(r, dlc_error(c, r, spec_path(r, i, "SpotSpec"), "says no bid"),
                    "SpotDiscountLimit: 0.1 to 0.9");
    for (size_t k = 0; k < i; k++)
        if (c->specs[k].spot.discount_milli != spot->discount_milli) {
            report_hint(
                r,
                dlc_error(c, r, path, "differs from that of JobSpecs[%zu]: a job has one bid", k),
                "the same in every role");
            return;
        }
}

static void check_assign(const struct dlc_create *c, size_t i, struct report *r)
{
    const struct dlc_assign *assign = &c->specs[i].assign, *last = &c->specs[i ? i - 1 : 0].assign;
    const char *path = spec_path(r, i, "AssignNodeSpec");
    const char *mine = assign->enable && assign->names ? assign->names : "";
    const char *other = last->enable && last->names ? last->names : "";
    if (assign->enable && !*mine && !assign->anti)
        report_hint(r, dlc_error(c, r, path, "is enabled and names no node"), "NodeNames: a,b");
    if (!assign->enable && assign->names && *assign->names)
        report_hint(r, dlc_warn(c, r, path, "names nodes and is not enabled: they are not used"),
                    "EnableAssignNode: true");
    if (i > 0 && strcmp(mine, other) != 0)
        report_hint(r,
                    dlc_error(c, r, path,
                              "differs from that of JobSpecs[%zu]: a job has one list of nodes",
                              i - 1),
                    "the same nodes in every role");
}

/* ---- data, code ---- */

static void check_mount(const struct dlc_create *c, size_t i, struct report *r)
{
    const struct dlc_source *s = &c->sources[i];
    const char *path = arena_printf(r->arena, "DataSources[%zu].MountPath", i);
    if (!s->at || !*s->at) {
        if (s->uri && *s->uri)
            report_hint(r, dlc_error(c, r, path, "is missing: a Uri has no mount path of its own"),
                        "/mnt/data");
        return;
    }
    if (s->at[0] != '/' || strstr(s->at, "/../"))
        report_hint(r, dlc_error(c, r, path, "is \"%.80s\", not an absolute path", s->at),
                    "/mnt/data");
    for (size_t k = 0; k < i; k++)
        if (c->sources[k].at && strcmp(c->sources[k].at, s->at) == 0)
            report_hint(
                r,
                dlc_error(c, r, path, "is \"%.80s\", where DataSources[%zu] is mounted", s->at, k),
                "another path for each");
}

static void check_source(const struct dlc_create *c, size_t i, struct report *r)
{
    const struct dlc_source *s = &c->sources[i];
    const char *path = arena_printf(r->arena, "DataSources[%zu]", i);
    bool id = s->id && *s->id, uri = s->uri && *s->uri;
    if (id == uri)
        report_hint(r,
                    dlc_error(c, r, path,
                              id ? "has DataSourceId and Uri" : "has neither DataSourceId nor Uri"),
                    "one of them");
    if (uri && *s->uri != '/' && !strstr(s->uri, "://"))
        report_hint(r,
                    dlc_error(c, r, arena_printf(r->arena, "%s.Uri", path),
                              "is \"%.80s\", which has no scheme", s->uri),
                    "oss://bucket.endpoint/path, nas://id.region/path or file:///path");
    if (id &&
        s->id[strspn(s->id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")])
        report_hint(r,
                    dlc_error(c, r, arena_printf(r->arena, "%s.DataSourceId", path),
                              "is \"%.60s\", which is no id", s->id),
                    "d-..., or Uri for a path");
    if (s->version && !id)
        report_hint(r,
                    dlc_error(c, r, arena_printf(r->arena, "%s.DataSourceVersion", path),
                              "is there without a DataSourceId"),
                    "leave it out");
}

static void check_code(const struct dlc_create *c, struct report *r)
{
    const struct dlc_code *code = &c->code;
    bool id = code->id && *code->id;
    if (!id && (code->branch || code->commit || code->at))
        report_hint(r, dlc_error(c, r, "CodeSource", "has no CodeSourceId"),
                    "CodeSourceId: code-...");
    if (code->at && *code->at && code->at[0] != '/')
        report_hint(
            r,
            dlc_error(c, r, "CodeSource.MountPath", "is \"%.80s\", not an absolute path", code->at),
            "/root/code/");
}

/* ---- environment ---- */

static void check_env_name(const struct dlc_create *c, const char *path, const char *name,
                           struct report *r)
{
    if (!c->type || !dlc_env_reserved(c->type, name))
        return;
    report_hint(r,
                dlc_warn(c, r, path, "is set by the system for a %s: this value is not used",
                         c->type->name),
                "another name");
}

static void check_envs(const struct dlc_create *c, struct report *r)
{
    for (size_t i = 0; i < c->envs.n; i++)
        check_env_name(c, arena_printf(r->arena, "Envs.%s", c->envs.at[i].name), c->envs.at[i].name,
                       r);
    for (size_t i = 0; i < c->n_custom_envs; i++) {
        const char *key = c->custom_envs[i].key ? c->custom_envs[i].key : "?";
        const char *path = arena_printf(r->arena, "CustomEnvs[%zu].Key", i);
        if (!env_chars.ok(key))
            report_hint(r, dlc_error(c, r, path, "is \"%.40s\", no name of a variable", key), "%s",
                        env_chars.wanted);
        if (pairs_get(&c->envs, key))
            report_hint(r, dlc_error(c, r, path, "is \"%.40s\", which Envs has too", key),
                        "one of them");
        check_env_name(c, path, key, r);
    }
    if (c->envs.n + c->n_custom_envs > DLC_ENVS_MAX)
        report_hint(r,
                    dlc_error(c, r, "CustomEnvs", "and Envs have %zu names, the most are %u",
                              c->envs.n + c->n_custom_envs, DLC_ENVS_MAX),
                    "a file that UserCommand reads");
}

/* ---- name ---- */

static void check_name(const struct dlc_create *c, struct report *r)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    if (c->name && c->name[strspn(c->name, allowed)])
        report_hint(r,
                    dlc_warn(c, r, "DisplayName",
                             "is \"%.80s\": DLC takes letters, digits, _ . - only", c->name),
                    "another name, if the job is to run there too");
}

/* ---- success ---- */

static bool has_role(const struct dlc_create *c, const char *type)
{
    for (size_t i = 0; i < c->n_specs; i++)
        if (c->specs[i].type && strcmp(c->specs[i].type, type) == 0 && c->specs[i].pods > 0)
            return true;
    return false;
}

static void check_success(const struct dlc_create *c, struct report *r)
{
    bool considered = false;
    for (size_t i = 0; i < c->n_specs; i++)
        considered |= c->specs[i].considered && c->specs[i].pods > 0;
    if (!c->success)
        return;
    if (strcmp(c->success, "Partial") == 0 && !considered)
        report_hint(r, dlc_error(c, r, "SuccessPolicy", "is Partial, and no role is considered"),
                    "ConsiderInSuccessPolicy: true in a role");
    if (strcmp(c->success, "ChiefWorker") == 0 && strcmp(c->type->name, "TFJob") == 0 &&
        !has_role(c, "Chief") && !has_role(c, "Master"))
        report_hint(r,
                    dlc_warn(c, r, "SuccessPolicy",
                             "is ChiefWorker, and there is no Chief: the first Worker "
                             "that ends well ends the job"),
                    "a role Chief");
}

void dlc_check(const struct dlc_create *c, struct report *r)
{
    check_name(c, r);
    for (size_t i = 0; i < c->n_sources; i++) {
        check_source(c, i, r);
        check_mount(c, i, r);
    }
    check_code(c, r);
    check_envs(c, r);
    check_resources(c, r);
    for (size_t i = 0; i < c->n_specs; i++) {
        check_spot(c, i, r);
        check_assign(c, i, r);
        check_after(c, i, r);
    }
    if (!check_type(c, r))
        return;
    check_roles(c, r);
    check_success(c, r);
    dlc_conditions(c, dlc_origin_of(c), r);
}
