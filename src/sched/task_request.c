/* Reading a role as a demand: whole devices or a share, dynamic or static ports, and the
 * constraints that no room can cure. */
#include "sched/task_request.h"

#include "job/gpu.h"
#include "job/gpu_model.h"

#include <string.h>

void task_request_init(struct task_request *w, const struct job_spec *job, uint32_t role)
{
    const struct role *r = &job->roles[role];
    uint64_t gpu = r->resources.gpu_milli;
    *w = (struct task_request){ .job = job, .role = r, .at = role };
    if (gpu >= 1000)
        w->devices = gpu / 1000 >= TASK_REQUEST_DEVICES_MAX ? TASK_REQUEST_DEVICES_MAX
                                                            : (uint32_t)((gpu + 999) / 1000);
    else
        w->share = (uint32_t)gpu;
    for (size_t i = 0; i < r->n_ports; i++) {
        if (r->ports[i].first)
            w->has_static_ports = true;
        else
            w->dynamic_ports += r->ports[i].count;
    }
}

bool task_request_is_nothing(const struct task_request *w)
{
    const struct resources *r = &w->role->resources;
    if (r->cpu_milli || r->memory || r->disk || r->gpu_milli)
        return false;
    for (size_t i = 0; i < r->custom.n; i++)
        if (r->custom.at[i].milli)
            return false;
    return true;
}

static bool named(const struct words *names, const char *name)
{
    return names->n == 0 || words_have(names, name);
}

static bool typed(const struct words *types, const char *type)
{
    for (size_t i = 0; i < types->n; i++)
        if (gpu_model_is(type, types->at[i]))
            return true;
    return types->n == 0;
}

bool task_request_takes_device(const struct task_request *w, const struct form *f, uint32_t device)
{
    const struct gpu_device *known = gpu_in_slot(f->spec.report, device);
    return !known || typed(&w->role->resources.gpu_types, known->model);
}

/* Prices go by device type, so they are the same for all nodes of a kind. */
static bool outbid(const struct task_request *w, const struct form *f)
{
    return w->job->spot_bid_milli && w->job->spot_bid_milli < f->spec.price_milli;
}

/* A job without a limit ends with the allocation, if it does not end before; where that is about to
 * end none starts. */
static bool outlasts(const struct task_request *w, const struct form *f)
{
    const uint64_t lasts = f->spec.lasts_ms;
    const bool has = w->job->limits.run_time_ms.has;
    return lasts == NODE_ENDS || (lasts && has && w->job->limits.run_time_ms.value > lasts);
}

enum node_refusal task_request_refusal(const struct task_request *w, const struct form *f)
{
    const struct placing *placing = &w->job->placing;
    if (!named(&placing->nodes, f->spec.name) || words_have(&placing->avoid, f->spec.name))
        return NODE_REFUSAL_NAME;
    if (placing->own != f->spec.for_job)
        return NODE_REFUSAL_OWNER;
    if (placing->engine && strcmp(placing->engine, node_engine(&f->spec)) != 0)
        return NODE_REFUSAL_ENGINE;
    for (size_t i = 0; i < placing->labels.n; i++) {
        const char *has = pairs_get(&f->spec.labels, placing->labels.at[i].name);
        if (!has || strcmp(has, placing->labels.at[i].value) != 0)
            return NODE_REFUSAL_LABEL;
    }
    if (!typed(&w->role->resources.gpu_types, f->spec.gpu_type))
        return NODE_REFUSAL_TYPE;
    if (outbid(w, f))
        return NODE_REFUSAL_PRICE;
    return outlasts(w, f) ? NODE_REFUSAL_TIME : NODE_REFUSAL_NONE;
}

bool task_request_fits_kind(const struct task_request *w, const struct kinds *kinds,
                            const struct form *f)
{
    const struct pairs *labels = &w->job->placing.labels;
    for (size_t i = 0; i < labels->n; i++) {
        const char *has = pairs_get(&f->spec.labels, labels->at[i].name);
        if (kinds_tell(kinds, labels->at[i].name) &&
            (!has || strcmp(has, labels->at[i].value) != 0))
            return false;
    }
    return w->job->placing.own == f->spec.for_job &&
           typed(&w->role->resources.gpu_types, f->spec.gpu_type) && !outbid(w, f) &&
           !outlasts(w, f);
}

bool task_request_is_of_kind(const struct task_request *w, const struct kinds *kinds)
{
    const struct placing *placing = &w->job->placing;
    for (size_t i = 0; i < placing->labels.n; i++)
        if (!kinds_tell(kinds, placing->labels.at[i].name))
            return false;
    return !placing->nodes.n && !placing->avoid.n && !placing->engine;
}

struct shape task_request_price_shape(const struct task_request *w, const struct kinds *kinds,
                                      uint32_t tasks)
{
    const struct resources *r = &w->role->resources;
    struct shape s = { .cpu_milli = r->cpu_milli * tasks,
                       .memory = r->memory * tasks,
                       .devices = w->devices * tasks,
                       .share = w->share };
    for (size_t i = 0; i < r->gpu_types.n; i++) {
        for (uint32_t type = 0; type < kinds->n_types; type++)
            if (gpu_model_is(kinds->types[type], r->gpu_types.at[i]))
                s.types |= UINT64_C(1) << type;
    }
    return s;
}
