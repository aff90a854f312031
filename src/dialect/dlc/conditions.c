/* The table of conditions: which field goes with which origin of the resources and which kind of
 * job, as the vendor's page words it. Pure. */
#include "dialect/dlc/conditions.h"

#include "base/mem.h"
#include "base/scan.h"
#include "dialect/dlc/create.h"
#include "dialect/dlc/instance_types.h"
#include "dialect/dlc/problems.h"
#include "dialect/dlc/types.h"

#include <string.h>

unsigned dlc_origin_of(const struct dlc_create *c)
{
    bool ecs = false, bid = false;
    for (size_t i = 0; i < c->n_specs; i++) {
        ecs |= c->specs[i].ecs_spec && *c->specs[i].ecs_spec;
        bid |= c->specs[i].use_spot || c->specs[i].spot.has_discount || c->specs[i].spot.price;
    }
    if (bid)
        return DLC_SPOT;
    return ecs && !(c->resource && *c->resource) ? DLC_PUBLIC : DLC_QUOTA;
}

/* ---- what is asked; each gives the path of what was found, NULL when it was not asked ---- */

typedef const char *asks(const struct dlc_create *, struct arena *);

static const char *priority(const struct dlc_create *c, struct arena *a)
{
    (void)a;
    return c->has_priority ? "Priority" : NULL;
}

static const char *nodes(const struct dlc_create *c, struct arena *a)
{
    for (size_t i = 0; i < c->n_specs; i++)
        if (c->specs[i].assign.enable)
            return arena_printf(a, "JobSpecs[%zu].AssignNodeSpec", i);
    return NULL;
}

static const char *idle(const struct dlc_create *c, struct arena *a)
{
    (void)a;
    const char *type = c->settings.oversold;
    return type && strcmp(type, "ForbiddenQuotaOverSold") != 0 ? "Settings.OversoldType" : NULL;
}

static const char *sanity(const struct dlc_create *c, struct arena *a)
{
    (void)a;
    return c->settings.sanity ? "Settings.EnableSanityCheck" : NULL;
}

static bool asks_gpu(const struct dlc_create *c, const struct dlc_spec *spec)
{
    uint64_t milli = 0;
    const struct entry *ecs = spec->ecs_spec ? dlc_ecs_find(c->catalogue, spec->ecs_spec) : NULL;
    bool asked = spec->resource.gpu && scan_milli(spec->resource.gpu, &milli) && milli > 0;
    return spec->pods > 0 && (asked || (ecs && ecs->gpu_milli > 0));
}

static const char *sanity_without_gpu(const struct dlc_create *c, struct arena *a)
{
    for (size_t i = 0; i < c->n_specs; i++)
        if (asks_gpu(c, &c->specs[i]))
            return NULL;
    return sanity(c, a);
}

static const char *affinity(const struct dlc_create *c, struct arena *a)
{
    (void)a;
    return c->settings.affinity ? "Settings.EnableCPUAffinity" : NULL;
}

static const char *network(const struct dlc_create *c, struct arena *a)
{
    (void)a;
    return c->vpc.vpc && *c->vpc.vpc ? "UserVpc" : NULL;
}

static const char *bid(const struct dlc_create *c, struct arena *a)
{
    for (size_t i = 0; i < c->n_specs; i++) {
        if (c->specs[i].spot.has_discount || c->specs[i].spot.price)
            return arena_printf(a, "JobSpecs[%zu].SpotSpec", i);
        if (c->specs[i].use_spot)
            return arena_printf(a, "JobSpecs[%zu].UseSpotInstance", i);
    }
    return NULL;
}

static const char *advanced(const struct dlc_create *c, struct arena *a)
{
    (void)a;
    return dlc_given(c->settings.advanced) ? "Settings.AdvancedSettings" : NULL;
}

static const char *random_ports(const struct dlc_create *c, struct arena *a)
{
    (void)a;
    const struct text_node *map = c->settings.advanced;
    return map && dlc_given(text_get(map, "customPortNumPerWorker"))
               ? "Settings.AdvancedSettings.customPortNumPerWorker"
               : NULL;
}

static const char *success(const struct dlc_create *c, struct arena *a)
{
    (void)a;
    return c->success && strcmp(c->success, "Partial") != 0 ? "SuccessPolicy" : NULL;
}

static const char *kind(const struct dlc_create *c, struct arena *a)
{
    (void)c;
    (void)a;
    return "JobType";
}

static const char *config(const struct dlc_create *c, struct arena *a)
{
    for (size_t i = 0; i < c->n_specs; i++)
        if ((!c->resource || !*c->resource) &&
            (c->specs[i].resource.cpu || c->specs[i].resource.memory))
            return arena_printf(a, "JobSpecs[%zu].ResourceConfig", i);
    return NULL;
}

#define ANY_ORIGIN (DLC_PUBLIC | DLC_QUOTA | DLC_SPOT | DLC_LINGJUN)
#define NO_QUOTA   (DLC_PUBLIC | DLC_SPOT)

/* A row speaks when its field was asked for, the resources come from one of its origins, and the
 * kind of job is none of those it is fine for. */
static const struct {
    asks *asked;
    unsigned origins;
    const char *types; /* between blanks; NULL: fine for none */
    enum severity severity;
    const char *what, *hint;
} rows[] = {
    { priority, NO_QUOTA, NULL, SEVERITY_WARNING,
      "has no effect: only jobs of a quota (ResourceId) have a priority", "leave it out" },
    { nodes, NO_QUOTA, NULL, SEVERITY_ERROR,
      "needs a quota: nodes can be named only there (ResourceId)",
      "ResourceId and ResourceConfig" },
    { idle, NO_QUOTA, NULL, SEVERITY_ERROR,
      "needs a quota: idle capacity is capacity of a quota (ResourceId)",
      "ResourceId and ResourceConfig" },
    { sanity, NO_QUOTA, NULL, SEVERITY_ERROR, "needs a Lingjun quota (ResourceId)",
      "leave it out" },
    { sanity, ANY_ORIGIN, " PyTorchJob ", SEVERITY_ERROR, "is for a PyTorchJob", "leave it out" },
    { sanity_without_gpu, ANY_ORIGIN, NULL, SEVERITY_ERROR, "checks GPUs, and no role asks for one",
      "leave it out" },
    { affinity, NO_QUOTA | DLC_LINGJUN, NULL, SEVERITY_ERROR,
      "needs a quota of general computing (ResourceId)", "leave it out" },
    { network, DLC_QUOTA | DLC_LINGJUN, NULL, SEVERITY_WARNING,
      "is for public resources: a quota brings its own network", "leave it out" },
    { bid, ANY_ORIGIN, " PyTorchJob MPIJob ", SEVERITY_ERROR,
      "is for a PyTorchJob or an MPIJob: no other kind runs on spot capacity", "leave it out" },
    { advanced, ANY_ORIGIN, " PyTorchJob ", SEVERITY_WARNING,
      "has no effect: only a PyTorchJob has advanced settings", "leave it out" },
    { random_ports, DLC_LINGJUN, NULL, SEVERITY_ERROR, "is not offered by a Lingjun quota",
      "customPortList" },
    { success, ANY_ORIGIN, " TFJob ", SEVERITY_WARNING, "has no effect: it is for a TFJob",
      "leave it out" },
    { kind, DLC_LINGJUN, " TFJob PyTorchJob ElasticBatchJob MPIJob SlurmJob RayJob ",
      SEVERITY_ERROR, "is a kind of job that a Lingjun quota does not run",
      "TFJob, PyTorchJob, ElasticBatchJob, MPIJob, SlurmJob or RayJob" },
    { config, ANY_ORIGIN, NULL, SEVERITY_WARNING,
      "is for a quota, and ResourceId is empty: the default quota is used", "ResourceId" },
};

static bool fine_for(const char *types, const struct dlc_type *type, struct arena *a)
{
    return types && type && strstr(types, arena_printf(a, " %s ", type->name));
}

void dlc_conditions(const struct dlc_create *c, unsigned origin, struct report *r)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *path = rows[i].asked(c, r->arena);
        if (!path || !(origin & rows[i].origins) || fine_for(rows[i].types, c->type, r->arena))
            continue;
        struct problem *p = rows[i].severity == SEVERITY_ERROR
                                ? dlc_error(c, r, path, "%s", rows[i].what)
                                : dlc_warn(c, r, path, "%s", rows[i].what);
        report_hint(r, p, "%s", rows[i].hint);
    }
}
