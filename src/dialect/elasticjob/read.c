/* An ElasticJob becomes a canonical job.
 *
 * Inputs: the parsed tree. Effects: problems in the report; the job in the arena.
 *
 * Caveats: what has no canonical field but is needed again by the convention (strategy, whether
 * fatal codes are retried, the annotations that tasks are told) is kept in job->extra.elasticjob.
 * The choices, with their reasons, are in doc/dialect-elasticjob.md. */
#include "dialect/elasticjob/read.h"

#include "base/scan.h"
#include "dialect/elasticjob/annotations.h"
#include "dialect/elasticjob/documents.h"
#include "dialect/elasticjob/extra.h"
#include "dialect/elasticjob/gang.h"
#include "dialect/elasticjob/names.h"
#include "dialect/elasticjob/pod.h"
#include "job/check.h"

enum { RESTARTS = 3, RESTARTS_MAX = 5, PLATFORM_RETRIES = 100 };
enum { PRIORITY_HIGH = 8, PRIORITY_LOW = 2 };
enum { PORT_TASK = 3333, PORT_SERVER = 2222 };

/* ---- strategies ---- */

static const struct {
    const char *word;
    enum ej_strategy strategy;
    const char *written; /* the accepted spelling, when this one is refused there */
} strategies[] = {
    { "AllreduceStrategy", EJ_ALLREDUCE, NULL },
    { "ParameterServerStrategy", EJ_PARAMETER_SERVER, NULL },
    { "CustomStrategy", EJ_CUSTOM, NULL },
    { "Local", EJ_LOCAL, NULL },
    { "AllReduceStrategy", EJ_ALLREDUCE, "AllreduceStrategy" },
    { "ring-allreduce", EJ_ALLREDUCE, "AllreduceStrategy" },
    { "parameter_server", EJ_PARAMETER_SERVER, "ParameterServerStrategy" },
};
enum { STRATEGIES_N = sizeof strategies / sizeof strategies[0], SPELT_N = 4 };

static bool read_strategy(struct ej_reader *r)
{
    struct ej_place at = ej_in(r, ej_in(r, r->root, "spec"), "distributionStrategy");
    const char *word = r->spec->strategy, *names[SPELT_N];
    r->strategy = EJ_PARAMETER_SERVER;
    if (!word || !*word)
        return true;
    for (size_t i = 0; i < STRATEGIES_N; i++) {
        if (strcmp(strategies[i].word, word) != 0)
            continue;
        r->strategy = strategies[i].strategy;
        if (strategies[i].written)
            report_hint(r->report, ej_warn(r, at, "is %s, a spelling that DLRover refuses", word),
                        "%s", strategies[i].written);
        if (r->strategy == EJ_CUSTOM)
            report_hint(r->report, ej_warn(r, at, "is CustomStrategy"),
                        "it cannot be started there; here its roles run side by side");
        return true;
    }
    for (size_t i = 0; i < SPELT_N; i++)
        names[i] = strategies[i].word;
    const char *near = scan_nearest(word, names, SPELT_N);
    struct problem *p = ej_fail(r, at, "is \"%.60s\", no strategy", word);
    report_hint(r->report, p, "%s", near ? near : "AllreduceStrategy or ParameterServerStrategy");
    if (near && at.node && at.node->place.len == strlen(word))
        p->fix = near;
    return false;
}

static const char *strategy_word(enum ej_strategy strategy)
{
    size_t i = 0;
    while (strategies[i].strategy != strategy)
        i++;
    return strategies[i].word;
}

static void read_optimize(const struct ej_reader *r)
{
    static const char *const silent[] = { "single-job", "manual", "mannual", "manunal" };
    struct ej_place at = ej_in(r, ej_in(r, r->root, "spec"), "optimizeMode");
    const char *word = r->spec->optimize;
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++)
        if (!word || !*word || strcmp(word, silent[i]) == 0)
            return;
    struct problem *p = ej_warn(r, at, "is %.40s, which has no effect", word);
    report_hint(r->report, p, "%s",
                strcmp(word, "cluster") == 0 ? "there is no Brain here, nothing is resized"
                                             : "single-job, cluster or manual; nothing is resized "
                                               "here");
}

/* ---- how many ---- */

/* Tasks of a type; 0: it has no role. */
static uint32_t tasks_of(const struct ej_reader *r, enum ej_type type)
{
    const struct ej_replica *replica = &r->spec->types[type];
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    struct ej_place own = ej_in(r, types, ej_type_word(type)), at = ej_in(r, own, "replicas");
    struct problem *p;
    if (replica->replicas > 0)
        return replica->replicas;
    if (r->strategy == EJ_PARAMETER_SERVER && replica->auto_scale) {
        p = ej_warn(r, at, "%s: there the optimiser chooses, here it is 1",
                    replica->has_replicas ? "is 0" : "is not given");
        report_hint(r->report, p, "replicas: 1");
        return 1;
    }
    if (type == EJ_WORKER) {
        p = ej_fail(r, at, "%s: nothing would run",
                    replica->has_replicas ? "is 0" : "is not given");
        report_hint(r->report, p, "replicas: 1 or more");
        return 0;
    }
    report_hint(r->report, ej_warn(r, own, "has no replicas, there is no such role"),
                "replicas: 1 or more");
    return 0;
}

static void warn_auto_scale(const struct ej_reader *r, enum ej_type type)
{
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    struct ej_place at = ej_in(r, ej_in(r, types, ej_type_word(type)), "autoScale");
    if (at.node && r->spec->types[type].auto_scale)
        report_hint(r->report, ej_warn(r, at, "is true, and nothing is resized here"),
                    "false; replicas and resources say what there is");
}

/* ---- completion ---- */

static const struct count never = { .kind = COUNT_NEVER };

static struct count count_of(uint32_t n)
{
    return (struct count){ .kind = n ? COUNT_NUMBER : COUNT_NEVER, .n = n };
}

/* DLRover's critical nodes: chief, evaluator and the first worker; their failure fails the job,
 * their success is its success. Servers run until they are ended; without them nobody trains, so
 * their failure counts as well. */
static void set_done(const struct ej_reader *r, enum ej_type type, struct role *role)
{
    const char *critical = r->spec->types[type].critical;
    bool said = critical && *critical;
    bool chief_is_worker = !r->spec->has[EJ_CHIEF];
    if (r->strategy == EJ_PARAMETER_SERVER && type == EJ_PS)
        role->done.succeeded = never;
    if (r->strategy == EJ_PARAMETER_SERVER && type == EJ_WORKER && !said && chief_is_worker &&
        strcmp(role->name, "worker") == 0) {
        role->done.failed = never;
        role->done.succeeded = never;
    }
    if (said && strcmp(critical, "none") == 0)
        role->done.failed = never;
    else if (said)
        role->done.failed = count_of(1);
}

static void warn_critical(const struct ej_reader *r, enum ej_type type)
{
    const char *critical = r->spec->types[type].critical;
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    if (critical && strchr(critical, ':'))
        report_hint(r->report,
                    ej_warn(r, ej_in(r, ej_in(r, types, ej_type_word(type)), "criticalNodes"),
                            "is %.40s: tasks of a role are not told apart", critical),
                    "all: the failure of any of them fails the job");
}

/* ---- roles ---- */

static void add_port(const struct ej_reader *r, enum ej_type type, struct role *role)
{
    if (r->strategy != EJ_PARAMETER_SERVER)
        return;
    role->ports = ARENA_ARRAY(r->arena, 1, struct port_request);
    role->ports[0] = (struct port_request){ .label = EJ_PORT,
                                            .count = 1,
                                            .first = type == EJ_PS ? PORT_SERVER : PORT_TASK,
                                            .prefer = true };
    role->n_ports = 1;
}

static void keep_pairs(const struct ej_reader *r, struct text_node *into, const char *key,
                       const struct pairs *pairs)
{
    struct text_node *map = text_map(r->arena, NULL, NULL);
    for (size_t i = 0; i < pairs->n; i++)
        if (strncmp(pairs->at[i].name, EJ_GANG, strlen(EJ_GANG)) != 0) /* `gang` says these */
            text_str(r->arena, map, pairs->at[i].name, pairs->at[i].value);
    if (map->count)
        text_copy(r->arena, into, key, map);
}

/* What the pods of a role carry besides what is said elsewhere: the template's own metadata. */
static void keep_metadata(const struct ej_reader *r, enum ej_type type, const char *role)
{
    const struct ej_metadata *metadata = &r->spec->types[type].pod.metadata;
    struct text_node *kept = text_get(r->extra, EJ_PODS), *own = text_map(r->arena, NULL, NULL);
    keep_pairs(r, own, "labels", &metadata->labels);
    keep_pairs(r, own, "annotations", &metadata->annotations);
    if (own->count)
        text_copy(r->arena, kept ? kept : text_map(r->arena, r->extra, EJ_PODS), role, own);
}

struct rolling { /* roles on their way into the job */
    struct ej_reader *r;
    enum ej_type types[EJ_TYPE_N];
};

static void add_role(struct rolling *roll, enum ej_type type, const char *name, uint32_t tasks)
{
    struct ej_reader *r = roll->r;
    struct role *role = &r->job->roles[r->job->n_roles];
    role_init(role);
    role->name = name;
    role->replicas = role->min = tasks;
    ej_pod_role(r, type, role);
    set_done(r, type, role);
    add_port(r, type, role);
    keep_metadata(r, type, name);
    roll->types[r->job->n_roles++] = type;
}

static bool wrong_type(const struct ej_reader *r, enum ej_type type)
{
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    struct ej_place at = ej_in(r, types, ej_type_word(type));
    if (!r->spec->types[type].has_pod) {
        struct problem *p = ej_fail(r, at, "has no template");
        report_hint(r->report, p, "template: {spec: {containers: [...]}}");
        return true;
    }
    if (type == EJ_WORKER || r->strategy == EJ_PARAMETER_SERVER || r->strategy == EJ_CUSTOM)
        return false;
    struct problem *p = ej_fail(r, at, "is not possible with %s", strategy_word(r->strategy));
    report_hint(r->report, p, "worker only, or distributionStrategy: ParameterServerStrategy");
    return true;
}

static void read_type(struct rolling *roll, enum ej_type type)
{
    struct ej_reader *r = roll->r;
    if (!r->spec->has[type] || wrong_type(r, type))
        return;
    uint32_t tasks = tasks_of(r, type);
    warn_auto_scale(r, type);
    warn_critical(r, type);
    if (tasks == 0)
        return;
    bool makes_chief =
        type == EJ_WORKER && r->strategy == EJ_PARAMETER_SERVER && !r->spec->has[EJ_CHIEF];
    if (makes_chief) {
        add_role(roll, type, ej_type_word(EJ_CHIEF), 1);
        text_bool(r->arena, r->extra, "chiefIsWorker", true);
        if (--tasks == 0)
            return;
        /* The same template again: its problems are said already. */
        struct report *said = r->report, quiet;
        report_init(&quiet, r->arena);
        r->report = &quiet;
        add_role(roll, type, ej_type_word(type), tasks);
        r->report = said;
        return;
    }
    add_role(roll, type, ej_type_word(type), tasks);
}

static void read_master(const struct ej_reader *r)
{
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    if (r->spec->has[EJ_TYPE_MASTER])
        report_hint(r->report, ej_warn(r, ej_in(r, types, EJ_MASTER), "runs nothing"),
                    "the server itself is the master of its jobs");
}

/* ---- retry and priority ---- */

static void read_retry(const struct ej_reader *r)
{
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    uint32_t most = 0;
    bool any = false, differ = false;
    for (enum ej_type type = 0; type < EJ_TYPE_MASTER; type++) {
        const struct ej_replica *replica = &r->spec->types[type];
        uint32_t count = replica->has_restart_count ? replica->restart_count : RESTARTS;
        if (!r->spec->has[type])
            continue;
        if (count > RESTARTS_MAX) {
            struct ej_place own = ej_in(r, types, ej_type_word(type));
            report_hint(r->report,
                        ej_warn(r, ej_in(r, own, "restartCount"), "is %u, and %d is the most",
                                count, RESTARTS_MAX),
                        "%d", RESTARTS_MAX);
            count = RESTARTS_MAX;
        }
        differ |= any && count != most;
        most = count > most ? count : most;
        any = true;
    }
    if (differ)
        report_hint(r->report, ej_warn(r, types, "have different restartCount"),
                    "%u, the largest, holds for every task", most);
    struct retry *retry = &r->job->retry;
    retry->scope = RETRY_SCOPE_TASK;
    retry->platform = count_of(PLATFORM_RETRIES);
    retry->unknown = count_of(most);
    retry->user = never;
}

static uint32_t priority_of(const struct ej_reader *r, enum ej_type type)
{
    struct ej_place types = ej_in(r, ej_in(r, r->root, "spec"), "replicaSpecs");
    struct ej_place at = ej_in(r, ej_in(r, types, ej_type_word(type)), "priority");
    const char *word = r->spec->types[type].priority;
    double share;
    if (!word || !*word)
        return 0;
    if (strcmp(word, "high") == 0)
        return PRIORITY_HIGH;
    if (strcmp(word, "low") == 0)
        return PRIORITY_LOW;
    if (scan_real(word, &share) && share > 0 && share <= 1)
        report_hint(r->report, ej_warn(r, at, "is %.20s, a share, which has no effect", word),
                    "high or low, for the whole job");
    else
        report_hint(r->report, ej_fail(r, at, "is \"%.40s\"", word),
                    "high, low, or a share of the replicas: 0.5");
    return 0;
}

static void read_priority(const struct ej_reader *r)
{
    uint32_t highest = 0;
    for (enum ej_type type = 0; type < EJ_TYPE_MASTER; type++) {
        uint32_t own = r->spec->has[type] ? priority_of(r, type) : 0;
        highest = own > highest ? own : highest;
    }
    if (highest)
        r->job->priority = highest;
}

/* ---- the job ---- */

static void read_suspend(const struct ej_reader *r)
{
    struct ej_place at = ej_in(r, ej_in(r, r->root, "spec"), "suspended");
    r->job->suspend = r->spec->suspend || (r->spec->suspended && !r->spec->has_suspend);
    if (r->spec->has_suspended)
        report_hint(r->report, ej_warn(r, at, "is in no definition of ElasticJobs"), "suspend");
}

static void read_extra(struct ej_reader *r)
{
    struct text_node *root = text_map(r->arena, NULL, NULL);
    r->extra = text_map(r->arena, root, EJ_EXTRA);
    r->job->extra = root;
    text_str(r->arena, r->extra, "strategy", strategy_word(r->strategy));
    const char *policy = r->spec->types[EJ_WORKER].pod.restart_policy;
    if (r->strategy == EJ_ALLREDUCE || (policy && strcmp(policy, "Always") == 0))
        text_bool(r->arena, r->extra, "relaunchAlways", true);
}

static void read_identity(const struct ej_reader *r)
{
    struct job_spec *job = r->job;
    job->name = r->spec->metadata.name;
    job->project = r->spec->metadata.namespace ? r->spec->metadata.namespace : "default";
    job->labels = r->spec->metadata.labels;
    job->conventions.at = ARENA_ARRAY(r->arena, 1, const char *);
    job->conventions.at[job->conventions.n++] = EJ_CONVENTION;
}

/* What the fields by themselves say; also looked at when some of them are wrong, so that all
 * problems are said at once. */
static bool read_fields(struct ej_reader *r)
{
    bool known = read_strategy(r);
    read_optimize(r);
    read_suspend(r);
    read_extra(r);
    read_master(r);
    read_retry(r);
    read_priority(r);
    ej_annotations(r);
    return known;
}

static struct job_spec *read_roles(struct ej_reader *r)
{
    static const enum ej_type order[EJ_ROLES_N] = { EJ_PS, EJ_CHIEF, EJ_WORKER, EJ_EVALUATOR };
    struct rolling roll = { .r = r };
    r->job->roles = ARENA_ARRAY(r->arena, EJ_TYPE_N, struct role);
    for (size_t i = 0; i < EJ_ROLES_N; i++)
        read_type(&roll, order[i]);
    if (r->job->n_roles > 0)
        ej_gangs(r, roll.types);
    if (report_ok(r->report))
        job_check(r->job, r->report);
    return report_ok(r->report) ? r->job : NULL;
}

struct job_spec *ej_read(struct arena *arena, const struct text_node *root, const struct site *site,
                         struct report *report)
{
    struct ej_reader r = { .arena = arena, .report = report, .site = site };
    if (!root) {
        report_error(report, (struct place){ 0 }, "", "the document is empty");
        return NULL;
    }
    const struct text_node *doc = ej_documents(&r, root);
    if (!doc)
        return NULL;
    r.spec = ARENA_NEW(arena, struct ej_spec);
    r.root = (struct ej_place){ .node = doc, .place = doc->place, .path = "" };
    field_init(ej_job_fields, r.spec);
    for (enum ej_type type = 0; type < EJ_TYPE_N; type++)
        r.spec->types[type].auto_scale = true;
    r.job = job_new(arena);
    bool sound = field_decode(arena, doc, ej_job_fields, r.spec, "", report) == 0;
    read_identity(&r);
    bool known = read_fields(&r);
    return sound && known ? read_roles(&r) : NULL;
}
