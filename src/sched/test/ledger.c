/* A second account of who holds what, written apart from the scheduler's own sources and sharing
 * nothing with them but the nouns. It finds places by trying every one. */
#include "sched/test/ledger.h"

#include <string.h>

static struct ledger_node *node_of(struct ledger *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->at[i].spec->name, name) == 0)
            return &l->at[i];
    return NULL;
}

static uint64_t licences(const struct role *r)
{
    return r->resources.custom.n ? r->resources.custom.at[0].milli : 0;
}

static uint64_t licences_of(const struct node_spec *s)
{
    return s->custom.n ? s->custom.at[0].milli : 0;
}

static bool port_held(const struct ledger *l, const char *host, uint32_t port)
{
    for (uint32_t i = 0; i < l->n_ports; i++)
        if (l->ports[i].port == port && strcmp(l->ports[i].host, host) == 0)
            return true;
    return false;
}

static bool amounts_fit(const struct ledger_node *n, const struct role *r)
{
    return n->cpu + r->resources.cpu_milli <= n->spec->cpu_milli &&
           n->memory + r->resources.memory <= n->spec->memory &&
           n->licence + licences(r) <= licences_of(n->spec);
}

static void amounts_add(struct ledger_node *n, const struct role *r, int sign)
{
    n->cpu += (uint64_t)sign * r->resources.cpu_milli;
    n->memory += (uint64_t)sign * r->resources.memory;
    n->licence += (uint64_t)sign * licences(r);
    n->tasks += (uint32_t)sign;
}

static uint32_t milli_each(const struct role *r)
{
    return r->resources.gpu_milli >= 1000 ? 1000 : (uint32_t)r->resources.gpu_milli;
}

static const char *take_ports(struct ledger *l, const char *host, const struct role *r,
                              const struct task_place *p)
{
    if (p->n_ports != r->n_ports)
        return "ports: labels missing";
    for (uint32_t i = 0; i < p->n_ports; i++) {
        if (p->ports[i].count != r->ports[i].count ||
            strcmp(p->ports[i].label, r->ports[i].label) != 0)
            return "ports: another label or count";
        for (uint32_t k = 0; k < p->ports[i].count; k++) {
            uint32_t port = p->ports[i].numbers[k];
            if (r->ports[i].first && !r->ports[i].prefer && port != r->ports[i].first + k)
                return "ports: not the number asked for";
            if (port_held(l, host, port))
                return "ports: held twice on a host";
            l->ports[l->n_ports].host = host;
            l->ports[l->n_ports++].port = port;
        }
    }
    return NULL;
}

const char *ledger_take(struct ledger *l, const struct job_spec *job, const struct task_place *p)
{
    const struct role *r = &job->roles[p->role];
    struct ledger_node *n = node_of(l, p->node);
    if (!n || !n->usable)
        return "a node that is not there";
    if (!amounts_fit(n, r))
        return "amounts: more than the node has";
    amounts_add(n, r, 1);
    if (p->n_gpus != (r->resources.gpu_milli + 999) / 1000)
        return "gpus: another number than asked for";
    for (uint32_t i = 0; i < p->n_gpus; i++) {
        if (p->gpus[i] >= n->spec->gpus)
            return "gpus: no such device";
        n->gpu[p->gpus[i]] += milli_each(r);
        if (n->gpu[p->gpus[i]] > 1000)
            return "gpus: over 1000 milli on a device";
    }
    if (p->gpu_share_milli != (milli_each(r) < 1000 ? milli_each(r) : 0))
        return "gpus: share";
    if (strcmp(p->address, n->spec->address) != 0)
        return "address";
    return take_ports(l, n->spec->host, r, p);
}

void ledger_give(struct ledger *l, const struct job_spec *job, const struct task_place *p)
{
    struct ledger_node *n = node_of(l, p->node);
    amounts_add(n, &job->roles[p->role], -1);
    for (uint32_t i = 0; i < p->n_gpus; i++)
        n->gpu[p->gpus[i]] -= milli_each(&job->roles[p->role]);
    for (uint32_t i = 0; i < p->n_ports; i++)
        for (uint32_t k = 0; k < p->ports[i].count; k++)
            for (uint32_t q = 0; q < l->n_ports; q++)
                if (l->ports[q].port == p->ports[i].numbers[k] &&
                    strcmp(l->ports[q].host, n->spec->host) == 0) {
                    l->ports[q] = l->ports[--l->n_ports];
                    break;
                }
}

static bool in(const struct words *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->at[i], name) == 0)
            return true;
    return false;
}

static bool labels_fit(const struct job_spec *job, const struct node_spec *s)
{
    for (size_t i = 0; i < job->placing.labels.n; i++) {
        const char *has = pairs_get(&s->labels, job->placing.labels.at[i].name);
        if (!has || strcmp(has, job->placing.labels.at[i].value) != 0)
            return false;
    }
    return true;
}

/* Where a job has to be in one domain: is b in that of a? */
static bool shares_domain(const struct ledger *l, const struct job_spec *job,
                          const struct node_spec *a, const struct node_spec *b)
{
    if (!job->placing.within || !job->placing.within_required)
        return true;
    if (strcmp(job->placing.within, "node") == 0)
        return a == b;
    return l->has_zones &&
           strcmp(pairs_get(&a->labels, "zone"), pairs_get(&b->labels, "zone")) == 0;
}

static uint32_t least(const struct role *r)
{
    return r->min && r->min < r->replicas ? r->min : r->replicas;
}

const char *ledger_judge(const struct ledger *l, const struct job_spec *job,
                         const struct plan_entry *e)
{
    uint32_t count[8] = { 0 };
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const struct task_place *p = &e->tasks[i];
        const struct role *r = &job->roles[p->role];
        const struct ledger_node *n = node_of((struct ledger *)(uintptr_t)l, p->node);
        if (i && (p->role < p[-1].role || (p->role == p[-1].role && p->index <= p[-1].index)))
            return "not in flat order";
        if (p->index != count[p->role]++)
            return "indexes with a hole";
        if (!n || !labels_fit(job, n->spec))
            return "a node without the labels";
        if (!shares_domain(l, job, node_of((struct ledger *)(uintptr_t)l, e->tasks[0].node)->spec,
                           n->spec))
            return "not in one domain";
        for (uint32_t k = 0; k < i; k++)
            if (in(&job->placing.apart, r->name) && e->tasks[k].role == p->role &&
                strcmp(e->tasks[k].node, p->node) == 0)
                return "not apart";
    }
    for (size_t i = 0; i < job->n_roles; i++)
        if (count[i] < least(&job->roles[i]) || count[i] > job->roles[i].replicas)
            return "part of a gang";
    return NULL;
}

/* ---- everything is tried ---- */

static bool ports_free(const struct ledger *l, const char *host, const struct role *r)
{
    for (size_t i = 0; i < r->n_ports; i++)
        for (uint32_t k = 0; r->ports[i].first && k < r->ports[i].count; k++)
            if (port_held(l, host, r->ports[i].first + k))
                return false;
    return true;
}

struct attempt {
    const struct job_spec *job;
    uint32_t role, index;
    const struct node_spec *first;  /* node that got a task first */
    uint32_t used[8][LEDGER_NODES]; /* tasks of a role on a node */
};

static bool try_role(struct ledger l, struct attempt a);

static bool try_node(const struct ledger *from, const struct attempt *a, uint32_t node,
                     uint32_t device)
{
    struct ledger l = *from;
    struct attempt next = *a;
    struct ledger_node *n = &l.at[node];
    const struct role *r = &a->job->roles[a->role];
    uint32_t whole = (uint32_t)(r->resources.gpu_milli / 1000);
    if (!amounts_fit(n, r) || !ports_free(&l, n->spec->host, r))
        return false;
    amounts_add(n, r, 1);
    for (uint32_t i = 0; i < n->spec->gpus && whole; i++)
        if (n->gpu[i] == 0) {
            n->gpu[i] = 1000;
            whole--;
        }
    if (whole)
        return false;
    if (milli_each(r) % 1000) {
        if (device >= n->spec->gpus || n->gpu[device] + milli_each(r) > 1000)
            return false;
        n->gpu[device] += milli_each(r);
    }
    for (size_t i = 0; i < r->n_ports; i++)
        for (uint32_t k = 0; r->ports[i].first && k < r->ports[i].count; k++) {
            l.ports[l.n_ports].host = n->spec->host;
            l.ports[l.n_ports++].port = r->ports[i].first + k;
        }
    next.first = next.first ? next.first : n->spec;
    next.used[a->role][node]++;
    next.index++;
    return try_role(l, next);
}

static bool allowed(const struct ledger *l, const struct attempt *a, uint32_t node)
{
    const char *role = a->job->roles[a->role].name;
    if (!l->at[node].usable || !labels_fit(a->job, l->at[node].spec))
        return false;
    if (!shares_domain(l, a->job, a->first ? a->first : l->at[node].spec, l->at[node].spec))
        return false;
    return !in(&a->job->placing.apart, role) || a->used[a->role][node] == 0;
}

static bool try_role(struct ledger l, struct attempt a)
{
    while (a.role < a.job->n_roles && a.index == least(&a.job->roles[a.role])) {
        a.role++;
        a.index = 0;
    }
    if (a.role == a.job->n_roles)
        return true;
    bool shares = milli_each(&a.job->roles[a.role]) % 1000 != 0;
    for (uint32_t i = 0; i < l.n; i++)
        for (uint32_t d = 0; allowed(&l, &a, i) && d < (shares ? LEDGER_GPUS : 1); d++)
            if (try_node(&l, &a, i, d))
                return true;
    return false;
}

bool ledger_could_place(const struct ledger *l, const struct job_spec *job)
{
    return try_role(*l, (struct attempt){ .job = job });
}
