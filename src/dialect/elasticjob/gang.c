/* Gangs: Koordinator's annotations on pod templates, or a PodGroup that a label names; and whether
 * the gang, the command and the number of tasks fit each other.
 *
 * Inputs: the templates, the PodGroups of the text, the roles as they will run. Effects:
 * job->gangs, the least of roles, problems in the report.
 *
 * Which number does what: the gang's minimum is how many tasks start together; the minimum of
 * --nnodes is how many are enough to train, so it is the least an elastic role goes on with. A gang
 * that starts fewer than that is believed: the least becomes the gang's. */
#include "dialect/elasticjob/gang.h"

#include "base/scan.h"
#include "dialect/elasticjob/command.h"
#include "dialect/elasticjob/names.h"
#include "text/json.h"

#define KOORD      EJ_GANG
#define POD_GROUP  EJ_POD_GROUP
#define GROUP_NAME POD_GROUP "/name"
#define GROUP_MIN  POD_GROUP "/min-available"

struct ganging {
    struct ej_reader *r;
    enum ej_type type;
    struct role *role;
    const struct ej_pod *pod;
    struct ej_place metadata, notes, labels;
};
struct gang_request { /* a template's gang */
    const char *name;
    uint32_t min;
    struct words with;  /* gangs of other jobs */
    struct ej_place at; /* of the minimum */
};

static const char *note(const struct ganging *g, const char *key)
{
    return pairs_get(&g->pod->metadata.annotations, key);
}

static struct ej_place note_at(const struct ganging *g, const char *key)
{
    return ej_in(g->r, g->notes, key);
}

/* ---- keys that say how, checked one by one ---- */

struct choice {
    const char *key;
    const char *words[4]; /* the first is what happens here */
    const char *hint;
};
static const struct choice choices[] = {
    { KOORD "mode",
      { "Strict", "NonStrict" },
      "members hold nothing while their gang waits, so there is nothing to keep" },
    { KOORD "match-policy",
      { "once-satisfied", "waiting-and-running", "only-waiting" },
      "a task that comes back keeps the place of its job" },
    { POD_GROUP "/match-policy",
      { "once-satisfied", "waiting-and-running", "only-waiting" },
      "a task that comes back keeps the place of its job" },
};

static void check_choice(const struct ganging *g, const struct choice *c)
{
    const char *value = note(g, c->key);
    if (!value || strcmp(value, c->words[0]) == 0)
        return;
    for (size_t i = 1; c->words[i]; i++)
        if (strcmp(value, c->words[i]) == 0) {
            report_hint(
                g->r->report,
                ej_warn(g->r, note_at(g, c->key), "is %s, handled as %s", value, c->words[0]), "%s",
                c->hint);
            return;
        }
    struct problem *p = ej_fail(g->r, note_at(g, c->key), "is \"%.40s\"", value);
    report_hint(g->r->report, p, "%s%s%s%s%s", c->words[0], ", ", c->words[1],
                c->words[2] ? ", " : "", c->words[2] ? c->words[2] : "");
}

static void warn_idle(const struct ganging *g)
{
    static const struct {
        const char *key, *why;
    } idle[] = {
        { KOORD "waiting-time", "no resources are held while a gang waits, so it may wait on" },
        { KOORD "timeout", "nobody reads it there either" },
        { KOORD "network-topology-index", "tasks are ordered by their index" },
        { "scheduling.koordinator.sh/network-topology-selector",
          "tasks of a job go to as few nodes as hold them" },
    };
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++)
        if (note(g, idle[i].key))
            report_hint(g->r->report, ej_warn(g->r, note_at(g, idle[i].key), "has no effect"), "%s",
                        idle[i].why);
}

/* A key of the family that nobody knows is a slip. */
static void check_keys(const struct ganging *g)
{
    static const char *const known[] = {
        KOORD "name",
        KOORD "min-available",
        KOORD "total-number",
        KOORD "mode",
        KOORD "waiting-time",
        KOORD "groups",
        KOORD "match-policy",
        KOORD "timeout",
        KOORD "network-topology-spec",
        KOORD "network-topology-index",
    };
    enum { KNOWN_N = sizeof known / sizeof known[0] };
    for (size_t i = 0; i < g->pod->metadata.annotations.n; i++) {
        const char *key = g->pod->metadata.annotations.at[i].name;
        bool found = strncmp(key, KOORD, sizeof KOORD - 1) != 0;
        for (size_t k = 0; k < KNOWN_N && !found; k++)
            found = strcmp(key, known[k]) == 0;
        if (found)
            continue;
        const char *near = scan_nearest(key, known, KNOWN_N);
        report_hint(g->r->report, ej_fail(g->r, note_at(g, key), "is no annotation of gangs"), "%s",
                    near ? near : known[1]);
    }
}

static struct text_node *as_json(const struct ganging *g, const char *key)
{
    struct report own;
    const char *text = note(g, key);
    report_init(&own, g->r->arena);
    return text ? json_parse(g->r->arena, text, strlen(text), 0, &own) : NULL;
}

/* Gangs of several jobs that start together. */
static void read_groups(const struct ganging *g, struct gang_request *request)
{
    const char *own = arena_printf(g->r->arena, "%s/%s", g->r->job->project, request->name);
    struct ej_place at = note_at(g, KOORD "groups");
    if (!note(g, KOORD "groups"))
        return;
    const struct text_node *list = as_json(g, KOORD "groups");
    bool texts = list && list->kind == TEXT_LIST;
    for (const struct text_node *item = texts ? list->first : NULL; item; item = item->next)
        texts &= item->kind == TEXT_STR && strchr(item->str, '/') != NULL;
    if (!texts) {
        report_hint(g->r->report, ej_fail(g->r, at, "is no list of gangs"), "[\"%s\"]", own);
        return;
    }
    request->with.at = ARENA_ARRAY(g->r->arena, list->count, const char *);
    for (const struct text_node *item = list->first; item; item = item->next)
        if (strcmp(item->str, own) != 0)
            request->with.at[request->with.n++] = item->str;
}

/* The lowest layer that must hold all, or the first that should. */
static void read_topology(const struct ganging *g)
{
    struct ej_place at = note_at(g, KOORD "network-topology-spec");
    struct placing *placing = &g->r->job->placing;
    const struct text_node *rules =
        text_get(as_json(g, KOORD "network-topology-spec"), "gatherStrategy");
    if (!note(g, KOORD "network-topology-spec"))
        return;
    if (!rules || rules->kind != TEXT_LIST || !rules->first) {
        report_hint(
            g->r->report, ej_fail(g->r, at, "has no gatherStrategy"),
            "{\"gatherStrategy\": [{\"layer\": \"rack\", \"strategy\": \"PreferGather\"}]}");
        return;
    }
    for (const struct text_node *rule = rules->first; rule; rule = rule->next) {
        const struct text_node *layer = text_get(rule, "layer"), *how = text_get(rule, "strategy");
        bool must = how && how->str && strcmp(how->str, "MustGather") == 0;
        if (layer && layer->kind == TEXT_STR && *layer->str &&
            (must || !placing->within_required)) {
            placing->within = layer->str;
            placing->within_required = must;
        }
        if (text_get(rule, "podCountMultiple"))
            report_hint(g->r->report,
                        ej_warn(g->r, at, "has podCountMultiple, which has no effect"),
                        "tasks of a job go to as few nodes as hold them");
    }
}

/* ---- the request ---- */

static bool count(const struct ganging *g, struct ej_place at, const char *text, uint32_t *out)
{
    uint64_t n;
    if (scan_u64(text, 1, JOB_MAX_TASKS, &n)) {
        *out = (uint32_t)n;
        return true;
    }
    struct problem *p = ej_fail(g->r, at, "is \"%.40s\", not a number of tasks", text);
    report_hint(g->r->report, p, "1 to %u", g->role->replicas);
    return false;
}

static bool from_pod_group(const struct ganging *g, const char *name, struct gang_request *request)
{
    struct ej_place at = ej_in(g->r, g->labels, POD_GROUP);
    for (size_t i = 0; i < g->r->n_groups; i++) {
        struct ej_pod_group *group = &g->r->groups[i];
        const char *project = group->metadata.namespace ? group->metadata.namespace : "default";
        if (strcmp(group->metadata.name, name) != 0 || strcmp(project, g->r->job->project) != 0)
            continue;
        struct ej_place root = { .node = group->node, .place = group->node->place, .path = "" };
        group->used = true;
        *request =
            (struct gang_request){ .name = name,
                                   .min = group->min,
                                   .at = ej_in(g->r, ej_in(g->r, root, "spec"), "minMember") };
        return true;
    }
    struct problem *p = ej_fail(g->r, at, "is %.60s, and no PodGroup of %.60s has that name here",
                                name, g->r->job->project);
    report_hint(g->r->report, p, "put the PodGroup into the same text, behind a line ---");
    return false;
}

/* PodGroup before light labels before annotations, as Koordinator looks. */
static bool request_of(const struct ganging *g, struct gang_request *request)
{
    const struct pairs *labels = &g->pod->metadata.labels;
    const char *group = pairs_get(labels, POD_GROUP), *light = pairs_get(labels, GROUP_NAME);
    const char *light_min = pairs_get(labels, GROUP_MIN), *name = note(g, KOORD "name");
    const char *min = light_min ? light_min : note(g, KOORD "min-available");
    struct ej_place at =
        light_min ? ej_in(g->r, g->labels, GROUP_MIN) : note_at(g, KOORD "min-available");
    if (group)
        return from_pod_group(g, group, request);
    name = light ? light : name;
    if (!name && !min)
        return false;
    if (!name || !*name || !min) {
        struct problem *p = ej_fail(g->r, g->notes.node ? g->notes : g->metadata, "has %s",
                                    min ? "min-available of a gang without a name"
                                        : "a gang without min-available");
        report_hint(g->r->report, p, "%s: %s", min ? KOORD "name" : KOORD "min-available",
                    min ? g->r->job->name : arena_printf(g->r->arena, "%u", g->role->replicas));
        return false;
    }
    *request = (struct gang_request){ .name = name, .at = at };
    return count(g, at, min, &request->min);
}

static void check_total(const struct ganging *g, const struct gang_request *request)
{
    const char *text = note(g, KOORD "total-number");
    uint32_t total;
    if (text && count(g, note_at(g, KOORD "total-number"), text, &total) && total < request->min)
        report_hint(g->r->report,
                    ej_warn(g->r, note_at(g, KOORD "total-number"),
                            "is less than the minimum of %u", request->min),
                    "%u", g->role->replicas);
}

/* ---- gang, command and tasks together ---- */

static uint32_t whole_units(uint32_t n, uint32_t unit)
{
    return unit > 1 ? n / unit * unit : n;
}

static void compare_unit(const struct ganging *g, struct ej_place at, uint32_t starts,
                         const struct ej_nnodes *nnodes)
{
    uint32_t left = whole_units(starts, nnodes->unit);
    struct problem *p;
    if (left == starts)
        return;
    if (left == 0 || left < nnodes->min)
        p = ej_warn(g->r, at,
                    "starts with %u: in units of %u they are %u, fewer than the %u of "
                    "--nnodes",
                    starts, nnodes->unit, left, nnodes->min ? nnodes->min : 1);
    else
        p = ej_warn(g->r, at, "starts with %u: in units of %u only %u of them train", starts,
                    nnodes->unit, left);
    report_hint(g->r->report, p, "a multiple of --node-unit, %u",
                left + nnodes->unit <= g->role->replicas ? left + nnodes->unit : left);
}

static void compare(const struct ganging *g, const struct gang_request *request,
                    const struct ej_nnodes *nnodes)
{
    struct ej_place command =
        ej_in(g->r, ej_in(g->r, ej_template(g->r, g->type), "spec"), "containers");
    uint32_t starts = request ? request->min : nnodes->min ? nnodes->min : g->role->replicas;
    struct ej_place at = request ? request->at : command;
    if (nnodes->min > g->role->replicas)
        report_hint(g->r->report,
                    ej_warn(g->r, command, "wait for %u nodes (--nnodes), and there are %u",
                            nnodes->min, g->role->replicas),
                    "--nnodes=%u, or replicas: %u", g->role->replicas, nnodes->min);
    else if (request && nnodes->min && request->min > nnodes->min)
        report_hint(g->r->report,
                    ej_warn(g->r, at,
                            "is %u, and %u are enough for --nnodes: the job waits for "
                            "more than it needs",
                            request->min, nnodes->min),
                    "%u; after a loss it goes on with %u", nnodes->min, nnodes->min);
    else if (request && request->min < nnodes->min)
        report_hint(g->r->report,
                    ej_warn(g->r, at, "is %u, and --nnodes needs %u: %u start and cannot train",
                            request->min, nnodes->min, request->min),
                    "%u", nnodes->min);
    if (nnodes->unit > 1)
        compare_unit(g, at, starts, nnodes);
}

/* ---- into the job ---- */

static struct gang *gang_named(struct job_spec *job, const char *name)
{
    for (size_t i = 0; i < job->n_gangs; i++)
        if (strcmp(job->gangs[i].name, name) == 0)
            return &job->gangs[i];
    return NULL;
}

static void join(const struct ganging *g, const struct gang_request *request)
{
    struct job_spec *job = g->r->job;
    struct gang *gang = gang_named(job, request->name);
    if (!gang) {
        gang = &job->gangs[job->n_gangs++];
        *gang = (struct gang){ .name = request->name, .min = request->min, .with = request->with };
        gang->roles.at = ARENA_ARRAY(g->r->arena, job->n_roles, const char *);
    } else if (gang->min != request->min) {
        struct problem *p = ej_warn(g->r, request->at, "is %u, and %s begins the gang with %u",
                                    request->min, gang->roles.at[0], gang->min);
        report_hint(g->r->report, p, "%u: the first one holds, as there", gang->min);
    }
    gang->roles.at[gang->roles.n++] = g->role->name;
}

/* starts: tasks that start together; enough: what the command can train with, 0: not known. */
static void set_least(const struct ganging *g, uint32_t starts, uint32_t enough)
{
    struct role *role = g->role;
    const char *critical = g->r->spec->types[g->type].critical;
    bool known = enough > 0 && enough <= role->replicas;
    role->min = known && enough < starts ? enough : starts;
    role->min = role->min < role->replicas ? role->min : role->replicas;
    if (known && !(critical && *critical)) /* too many are lost when fewer than enough are left */
        role->done.failed =
            (struct count){ .kind = COUNT_NUMBER, .n = role->replicas - enough + 1 };
}

static void one_role(const struct ganging *g)
{
    struct gang_request request;
    struct ej_nnodes nnodes = ej_nnodes(g->role, g->role->replicas);
    check_keys(g);
    bool wished = request_of(g, &request);
    if (wished) {
        for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
            check_choice(g, &choices[i]);
        warn_idle(g);
        read_groups(g, &request);
        check_total(g, &request);
        read_topology(g);
        join(g, &request);
    }
    if (g->r->strategy == EJ_PARAMETER_SERVER)
        return;
    if (!wished || request.min <= g->role->replicas)
        compare(g, wished ? &request : NULL, &nnodes);
    set_least(g, wished ? request.min : g->role->replicas, nnodes.min);
}

/* Each gang's minimum against the tasks of its roles; where it was wished is where it is said. */
static void check_sums(struct ej_reader *r, const enum ej_type *types)
{
    for (size_t i = 0; i < r->job->n_gangs; i++) {
        const struct gang *gang = &r->job->gangs[i];
        uint32_t tasks = 0;
        for (size_t k = 0; k < gang->roles.n; k++)
            tasks += job_role(r->job, gang->roles.at[k], NULL)->replicas;
        if (gang->min <= tasks)
            continue;
        uint32_t position = 0;
        job_role(r->job, gang->roles.at[0], &position);
        struct ej_place at =
            ej_in(r, ej_in(r, ej_template(r, types[position]), "metadata"), "annotations");
        struct ej_place min = ej_in(r, at, KOORD "min-available");
        struct problem *p = ej_fail(r, min.node ? min : at,
                                    "is %u, and the gang has %u task%s: it would never start",
                                    gang->min, tasks, tasks == 1 ? "" : "s");
        report_hint(r->report, p, "%u or less, or more replicas", tasks);
    }
}

static void unused_groups(const struct ej_reader *r)
{
    for (size_t i = 0; i < r->n_groups; i++) {
        const struct ej_pod_group *group = &r->groups[i];
        if (group->used)
            continue;
        struct problem *p = report_warn(r->report, group->node->place, "kind",
                                        "PodGroup \"%.60s\" has no effect: no template has the "
                                        "label " POD_GROUP " with its name",
                                        group->metadata.name);
        report_hint(r->report, p, "labels: {" POD_GROUP ": %.60s}", group->metadata.name);
    }
}

static void quietly(const struct ganging *g)
{
    struct report *said = g->r->report, quiet;
    report_init(&quiet, g->r->arena);
    g->r->report = &quiet;
    one_role(g);
    g->r->report = said;
}

void ej_gangs(struct ej_reader *r, const enum ej_type *types)
{
    r->job->gangs = ARENA_ARRAY(r->arena, r->job->n_roles, struct gang);
    for (size_t i = 0; i < r->job->n_roles; i++) {
        struct role *role = &r->job->roles[i];
        struct ganging g = { .r = r, .type = types[i], .role = role };
        g.pod = &r->spec->types[g.type].pod;
        g.metadata = ej_in(r, ej_template(r, g.type), "metadata");
        g.notes = ej_in(r, g.metadata, "annotations");
        g.labels = ej_in(r, g.metadata, "labels");
        bool derived = strcmp(role->name, ej_type_word(g.type)) != 0;
        if (derived && job_role(r->job, ej_type_word(g.type), NULL))
            quietly(&g); /* the worker that is the chief: the others say it */
        else
            one_role(&g);
    }
    check_sums(r, types);
    unused_groups(r);
}
