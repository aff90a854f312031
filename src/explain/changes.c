/* What would start a waiting job now.
 *
 * Each change is made as its command would make it: the assignments on the job's own tree, decoded
 * anew; the job in its place is withdrawn, the changed one comes last of its rank. One pass asks
 * for all of them (sched/probe.h). The few that are shown are then read again from the text that
 * was submitted, as their command will be, and asked about once more. */
#include "explain/parts.h"

#include "explain/variant.h"
#include "job/gpu_model.h"
#include "queue/queues.h"
#include "sched/probe.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRIES          64u /* variants that are placed */
#define CANDIDATES_MAX 48u
#define SHOWN          5u
#define SETS_MAX       8u /* assignments of one change */
#define QUEUES         12u
#define TYPES          8u

/* How much of a change each is (a thousandth of the job that is given up is one more). */
static const uint32_t sizes[CHANGE_N] = {
    [CHANGE_RUN_TIME] = 100, [CHANGE_PRIORITY] = 150, [CHANGE_TOPOLOGY] = 200,
    [CHANGE_LABELS] = 220,   [CHANGE_NODES] = 230,    [CHANGE_APART] = 240,
    [CHANGE_QUEUE] = 260,    [CHANGE_GPU_TYPE] = 280, [CHANGE_REPLICAS] = 300,
    [CHANGE_MIN] = 300,      [CHANGE_GANG] = 310,     [CHANGE_CPU] = 350,
    [CHANGE_MEMORY] = 350,   [CHANGE_GPU] = 360,
};
static const char *const words[CHANGE_N] = {
#define CHANGE_WORD(id, word) [CHANGE_##id] = (word),
    CHANGES(CHANGE_WORD)
#undef CHANGE_WORD
};

const char *way_word(enum change_kind kind)
{
    return words[kind];
}

struct change_candidate {
    struct change_search *ways;
    enum change_kind kind;
    const struct role *role; /* REPLICAS .. GPU */
    const char *value;       /* QUEUE, GPU_TYPE */
    uint32_t at, n;          /* GANG: which; variants */
    uint64_t unit;           /* CPU, MEMORY: of a variant */
};
struct change_search {
    struct explain *e;
    struct text_node *tree;              /* of the job */
    struct sched_snapshot others, known; /* known: for the usage of all users that come up */
    struct unfits unfits;
    struct change_candidate candidates[CANDIDATES_MAX];
    struct probe probes[CANDIDATES_MAX];
    size_t n;
};

/* What people write. */
static const char *const run_times[] = { "1m",  "2m",  "5m", "10m", "15m", "20m", "30m", "45m",
                                         "1h",  "90m", "2h", "3h",  "4h",  "6h",  "8h",  "12h",
                                         "18h", "1d",  "2d", "3d",  "7d",  "14d" };

/* ---- a change as assignments ---- */

struct sets {
    const char *at[SETS_MAX];
    size_t n;
    const char *what; /* in short */
};

static void add_set(struct sets *s, const char *text)
{
    if (s->n < SETS_MAX)
        s->at[s->n++] = text;
}

static const char *amount_of(const struct change_candidate *k, uint32_t variant)
{
    char text[FMT_MAX];
    uint64_t amount = k->unit * variant;
    return arena_strdup(k->ways->e->arena, k->kind == CHANGE_MEMORY ? fmt_size(text, amount)
                                                                    : fmt_milli(text, amount));
}

/* Of a role: by its short name when there is no other. */
static void set_of_role(struct sets *s, const struct change_candidate *k, const char *field,
                        const char *value)
{
    struct arena *arena = k->ways->e->arena;
    bool only = k->ways->e->spec->n_roles == 1;
    add_set(s, arena_printf(arena, "roles.%s.%s=%s", k->role->name, field, value));
    const char *word = words[k->kind];
    s->what = only ? arena_printf(arena, "%s=%s", word, value)
                   : arena_printf(arena, "%s.%s=%s", k->role->name, word, value);
}

static void sets_of_type(struct sets *s, const struct change_candidate *k)
{
    const struct job_spec *spec = k->ways->e->spec;
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].resources.gpu_types.n)
            add_set(s, arena_printf(k->ways->e->arena, "roles.%s.resources.gpu_type=%s",
                                    spec->roles[i].name, k->value));
    s->what = arena_printf(k->ways->e->arena, "gpu_type=%s", k->value);
}

static struct sets sets_of(const struct change_candidate *k, uint32_t variant)
{
    struct arena *arena = k->ways->e->arena;
    const struct role *role = k->role;
    struct sets s = { .n = 0 };
    switch (k->kind) {
    case CHANGE_RUN_TIME:
        add_set(&s, arena_printf(arena, "limits.run_time=%s", run_times[variant - 1]));
        s.what = arena_printf(arena, "run_time=%s", run_times[variant - 1]);
        break;
    case CHANGE_PRIORITY: add_set(&s, arena_printf(arena, "priority=%u", 10 - variant)); break;
    case CHANGE_TOPOLOGY: add_set(&s, "place.topology={}"), s.what = "topology=none"; break;
    case CHANGE_LABELS: add_set(&s, "place.labels={}"), s.what = "labels=none"; break;
    case CHANGE_NODES: add_set(&s, "place.nodes=[]"), s.what = "nodes=none"; break;
    case CHANGE_APART: add_set(&s, "place.apart=[]"), s.what = "apart=none"; break;
    case CHANGE_QUEUE: add_set(&s, arena_printf(arena, "queue=%s", k->value)); break;
    case CHANGE_GPU_TYPE: sets_of_type(&s, k); break;
    case CHANGE_REPLICAS:
        set_of_role(&s, k, "replicas",
                    arena_printf(arena, "%u", variant * (role->per_group ? role->per_group : 1)));
        break;
    case CHANGE_MIN:
        set_of_role(&s, k, "replicas",
                    arena_printf(arena, "{min: %u, max: %u}", variant, role->replicas));
        s.what = arena_printf(arena, "%s.min=%u", role->name, variant);
        break;
    case CHANGE_GANG: add_set(&s, arena_printf(arena, "gang[%u].min=%u", k->at, variant)); break;
    case CHANGE_CPU: set_of_role(&s, k, "resources.cpu", amount_of(k, variant)); break;
    case CHANGE_MEMORY: set_of_role(&s, k, "resources.memory", amount_of(k, variant)); break;
    default: set_of_role(&s, k, "resources.gpu", amount_of(k, variant)); break;
    }
    s.what = s.what ? s.what : s.at[0];
    return s;
}

static const struct job_spec *make(void *arg, uint32_t variant)
{
    const struct change_candidate *k = arg;
    struct arena *arena = k->ways->e->arena;
    const struct sets sets = sets_of(k, variant);
    struct text_node *tree = text_copy(arena, NULL, NULL, k->ways->tree);
    struct report report;
    struct err err;
    report_init(&report, arena);
    for (size_t i = 0; i < sets.n; i++)
        if (job_tree_set(arena, tree, sets.at[i], &err))
            return NULL;
    const struct job_spec *spec = job_decode(arena, tree, &report);
    return spec && report_ok(&report) ? spec : NULL;
}

/* ---- which changes come into question ---- */

static void add_candidate(struct change_search *w, struct change_candidate candidate)
{
    if (w->n == CANDIDATES_MAX || candidate.n == 0)
        return;
    candidate.ways = w;
    w->candidates[w->n] = candidate;
    struct probe *p = &w->probes[w->n];
    *p = (struct probe){
        .as = w->e->as, .n = candidate.n, .make = make, .arg = &w->candidates[w->n]
    };
    p->as.id = w->e->next_id;
    p->as.promised_ms = 0;
    p->as.claims = false;
    if (candidate.kind == CHANGE_QUEUE) {
        const struct queues *queues = w->e->queues;
        uint64_t now = ctl_now(w->e->ctl);
        p->as.queue = queues_position(queues, candidate.value);
        p->as.user = question_user(w->e->ctl, p->as.queue, w->e->owner);
        variant_add(w->e->arena, &w->known, &p->as, queues, now);
    }
    w->n++;
}

static bool is_short(const struct change_search *w, const char *resource)
{
    const struct wait_reason *r = &w->e->when.reason;
    switch (r->why) {
    case WAIT_RESOURCE:
    case WAIT_NODES_DOWN:
    case WAIT_EVICTING:
        for (size_t i = 0; i < w->unfits.n; i++) /* the reason names the first of them */
            if (w->unfits.at[i].kind == UNFIT_RESOURCE &&
                strcmp(w->unfits.at[i].name, resource) == 0)
                return true;
        return r->resource && strcmp(r->resource, resource) == 0;
    case WAIT_TOPOLOGY:
    case WAIT_QUOTA:
    case WAIT_USER: return r->resource && strcmp(r->resource, resource) == 0;
    default: return false;
    }
}

/* One task less at a time; of an elastic role the least that it starts with. */
static void add_replicas(struct change_search *w, const struct role *role)
{
    uint32_t group = role->per_group ? role->per_group : 1;
    if (role->min < role->replicas)
        add_candidate(w, (struct change_candidate){
                             .kind = CHANGE_MIN, .role = role, .n = role->min - !!role->min });
    else
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_REPLICAS,
                                                    .role = role,
                                                    .n = (role->replicas - 1) / group });
}

#define CORE  1000u
#define GIB   (UINT64_C(1) << 30)
#define MIB64 (UINT64_C(1) << 26)

static void add_requests(struct change_search *w, const struct role *role)
{
    const struct resources *r = &role->resources;
    uint64_t cpu = r->cpu_milli > CORE ? CORE : 100, memory = r->memory > GIB ? GIB : MIB64;
    if (is_short(w, "cpu") && r->cpu_milli)
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_CPU,
                                                    .role = role,
                                                    .unit = cpu,
                                                    .n = (uint32_t)((r->cpu_milli - 1) / cpu) });
    if (is_short(w, "memory") && r->memory)
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_MEMORY,
                                                    .role = role,
                                                    .unit = memory,
                                                    .n = (uint32_t)((r->memory - 1) / memory) });
    if (is_short(w, "gpu") && r->gpu_milli > 1000)
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_GPU,
                                                    .role = role,
                                                    .unit = 1000,
                                                    .n = (uint32_t)((r->gpu_milli - 1) / 1000) });
}

static bool asks_for_type(const struct job_spec *spec, const char *type)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        for (size_t k = 0; k < spec->roles[i].resources.gpu_types.n; k++)
            if (!type || gpu_model_is(type, spec->roles[i].resources.gpu_types.at[k]))
                return true;
    return false;
}

static void add_types(struct change_search *w)
{
    const struct cluster *c = w->e->snapshot.cluster;
    const char *seen[TYPES];
    size_t n = 0;
    if (!asks_for_type(w->e->spec, NULL))
        return;
    for (uint32_t i = 0; i < cluster_count(c) && n < TYPES; i++) {
        const char *type = cluster_node(c, i).spec->gpu_type;
        size_t k = 0;
        while (type && k < n && strcasecmp(seen[k], type) != 0)
            k++;
        if (!type || !*type || k < n)
            continue;
        seen[n++] = type;
        if (!asks_for_type(w->e->spec, type))
            add_candidate(
                w, (struct change_candidate){ .kind = CHANGE_GPU_TYPE, .value = type, .n = 1 });
    }
}

static void add_queues(struct change_search *w)
{
    const struct sched_snapshot *s = &w->e->snapshot;
    uint32_t added = 0;
    for (uint32_t i = 0; i < s->n_queues && added < QUEUES; i++)
        if (i != w->e->as.queue && ++added)
            add_candidate(w, (struct change_candidate){
                                 .kind = CHANGE_QUEUE, .value = s->queues[i].name, .n = 1 });
}

static void add_run_time(struct change_search *w)
{
    const struct opt_u64 *limit = &w->e->spec->limits.run_time_ms;
    uint32_t n = 0;
    uint64_t ms = 0;
    while (n < ARRAY_LEN(run_times) && scan_duration(run_times[n], &ms) &&
           (!limit->has || ms < limit->value))
        n++;
    if (w->e->when.reason.why == WAIT_RESERVED)
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_RUN_TIME, .n = n });
}

static void add_knobs(struct change_search *w)
{
    const struct job_spec *spec = w->e->spec;
    const struct placing *p = &spec->placing;
    const struct wait_report *when = &w->e->when;
    add_run_time(w);
    if (spec->priority < 9 && when->ahead + when->ahead_elsewhere > 0)
        add_candidate(
            w, (struct change_candidate){ .kind = CHANGE_PRIORITY, .n = 9 - spec->priority });
    if (p->within)
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_TOPOLOGY, .n = 1 });
    if (p->labels.n)
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_LABELS, .n = 1 });
    if (p->nodes.n)
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_NODES, .n = 1 });
    if (p->apart.n)
        add_candidate(w, (struct change_candidate){ .kind = CHANGE_APART, .n = 1 });
    add_queues(w);
    add_types(w);
    for (uint32_t i = 0; i < spec->n_gangs; i++)
        if (spec->gangs[i].min > 1)
            add_candidate(w, (struct change_candidate){
                                 .kind = CHANGE_GANG, .at = i, .n = spec->gangs[i].min - 1 });
    for (size_t i = 0; i < spec->n_roles; i++) {
        add_replicas(w, &spec->roles[i]);
        add_requests(w, &spec->roles[i]);
    }
}

/* ---- what is shown ---- */

struct found_change {
    const struct change_candidate *candidate;
    uint32_t variant, size;
    struct sets sets;
    const struct job_spec *spec;
};

static int smallest_first(const void *a, const void *b)
{
    const struct found_change *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->candidate < y->candidate ? -1 : 1;
}

static uint32_t size_of(const struct change_candidate *k, uint32_t variant)
{
    switch (k->kind) {
    case CHANGE_REPLICAS:
    case CHANGE_MIN:
    case CHANGE_GANG:
    case CHANGE_CPU:
    case CHANGE_MEMORY:
    case CHANGE_GPU: return sizes[k->kind] + 1000 * (k->n + 1 - variant) / (k->n + 1);
    default: return sizes[k->kind];
    }
}

static const struct job_spec *make_found(void *arg, uint32_t variant)
{
    (void)variant;
    return ((struct found_change *)arg)->spec;
}

/* As the command would read it. */
static bool read_again(struct change_search *w, struct found_change *f)
{
    struct explain *e = w->e;
    struct submission ask = { .owner = e->owner, .like = e->job };
    struct report report;
    struct err err;
    if (!e->job) { /* the text is gone by now, and is what was decoded */
        f->spec = make((void *)(uintptr_t)f->candidate, f->variant);
        return f->spec != NULL;
    }
    ask.sets = (struct words){ .at = f->sets.at, .n = f->sets.n };
    report_init(&report, e->arena);
    f->spec = ctl_preview(e->ctl, e->arena, &ask, &report, &err);
    return f->spec != NULL;
}

static struct change_view way_of(const struct change_search *w, const struct found_change *f,
                                 const struct probe *p)
{
    struct arena *arena = w->e->arena;
    const char **sets = ARENA_ARRAY(arena, f->sets.n, const char *);
    struct change_view way = { .kind = f->candidate->kind,
                               .set = f->sets.what,
                               .sets = { .at = sets, .n = f->sets.n },
                               .places = explain_places(arena, p->spec, p->places, p->n_places) };
    memcpy(sets, f->sets.at, f->sets.n * sizeof *sets);
    for (uint32_t i = 0; i < p->n_places; i++)
        way.gpu_milli += p->spec->roles[p->places[i].role].resources.gpu_milli;
    return way;
}

/* Those of the smallest that hold when they are read as their commands will be. */
static struct change_list show(struct change_search *w, struct found_change *found, size_t n)
{
    struct change_list list = { .at = ARENA_ARRAY(w->e->arena, SHOWN, struct change_view) };
    struct probe *again = ARENA_ARRAY(w->e->arena, SHOWN, struct probe);
    uint32_t tries = SHOWN;
    size_t kept = 0;
    for (size_t i = 0; i < n && kept < SHOWN; i++)
        if (read_again(w, &found[i]))
            found[kept++] = found[i];
    for (size_t i = 0; i < kept; i++) {
        const struct probe *first = &w->probes[found[i].candidate - w->candidates];
        again[i] = (struct probe){ .as = first->as, .n = 1, .make = make_found, .arg = &found[i] };
    }
    sched_probe(&w->others, ctl_now(w->e->ctl), w->e->arena, again, kept, &tries);
    for (size_t i = 0; i < kept; i++)
        if (again[i].best)
            list.at[list.n++] = way_of(w, &found[i], &again[i]);
    return list;
}

static struct change_list resuming(struct explain *e)
{
    struct change_view *way = ARENA_NEW(e->arena, struct change_view);
    *way = (struct change_view){ .kind = CHANGE_RESUME, .at_once = e->when.starts };
    return (struct change_list){ .at = way, .n = 1 };
}

struct change_list changes_find(struct explain *e)
{
    struct change_search w = { .e = e, .others = e->snapshot };
    struct found_change found[CANDIDATES_MAX];
    size_t n = 0;
    uint32_t tries = TRIES;
    if (e->suspended)
        return resuming(e);
    w.unfits = explain_unfits(e);
    if (e->when.starts || !e->when.has_turn || e->as.bundle)
        return (struct change_list){ .n = 0 };
    w.tree = job_encode(e->arena, e->spec);
    variant_drop(e->arena, &w.others, e->job);
    w.known = w.others;
    variant_add(e->arena, &w.known, &e->as, e->queues, ctl_now(e->ctl));
    add_knobs(&w);
    w.others.users = w.known.users;
    w.others.n_users = w.known.n_users;
    sched_probe(&w.others, ctl_now(e->ctl), e->arena, w.probes, w.n, &tries);
    for (size_t i = 0; i < w.n; i++) {
        if (!w.probes[i].best)
            continue;
        struct found_change *f = &found[n++];
        *f = (struct found_change){ .candidate = &w.candidates[i], .variant = w.probes[i].best };
        f->size = size_of(f->candidate, f->variant);
        f->sets = sets_of(f->candidate, f->variant);
    }
    qsort(found, n, sizeof *found, smallest_first);
    return show(&w, found, n);
}
