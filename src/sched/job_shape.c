/* The shape of a job: 63 bits over everything in it that placing looks at. What is new to placing
 * has to come in here too, else jobs stand in one line that are not alike. */
#include "sched/job_shape.h"

#include "base/hash.h"
#include "job/job.h"

static uint64_t mix_words(uint64_t h, const struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        h = hash_add_text(h, w->at[i]);
    return hash_add(h, w->n);
}

static uint64_t mix_role(uint64_t h, const struct role *r)
{
    h = hash_add_text(h, r->name);
    h = hash_add(hash_add(hash_add(h, r->replicas), r->min), r->per_group);
    h = hash_add(hash_add(h, r->resources.cpu_milli), r->resources.memory);
    h = hash_add(hash_add(h, r->resources.disk), r->resources.gpu_milli);
    h = mix_words(h, &r->resources.gpu_types);
    for (size_t i = 0; i < r->resources.custom.n; i++)
        h = hash_add(hash_add_text(h, r->resources.custom.at[i].name),
                     r->resources.custom.at[i].milli);
    for (size_t i = 0; i < r->n_ports; i++)
        h = hash_add(hash_add(h, r->ports[i].count), r->ports[i].first);
    return hash_add(h, r->n_ports);
}

static uint64_t mix_placing(uint64_t h, const struct placing *p)
{
    for (size_t i = 0; i < p->n_together; i++)
        h = mix_words(h, &p->together[i].roles);
    h = mix_words(mix_words(mix_words(h, &p->nodes), &p->avoid), &p->spread);
    h = mix_words(mix_words(h, &p->pack), &p->apart);
    h = hash_add(hash_add_text(h, p->within), p->within_required);
    for (size_t i = 0; i < p->labels.n; i++)
        h = hash_add_text(hash_add_text(h, p->labels.at[i].name), p->labels.at[i].value);
    if (p->engine)
        h = hash_add_text(h, p->engine);
    if (p->own)
        h = hash_add(h, p->own);
    h = hash_add(hash_add_text(h, p->within), p->within_required);
    return hash_add(h, p->n_together);
}

uint64_t job_shape(const struct job_spec *job)
{
    uint64_t h = hash_add(HASH_BEGIN, job->n_roles);
    for (size_t i = 0; i < job->n_roles; i++)
        h = mix_role(h, &job->roles[i]);
    for (size_t i = 0; i < job->n_gangs; i++)
        h = hash_add(mix_words(h, &job->gangs[i].roles), job->gangs[i].min);
    h = hash_add(hash_add(h, job->limits.run_time_ms.has ? job->limits.run_time_ms.value : 0),
                 job->capacity);
    h = hash_add(hash_add(h, job->preemptible), job->spot_bid_milli);
    return mix_placing(h, &job->placing) & INT64_MAX;
}
