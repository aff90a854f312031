/* The root field table of the canonical job, with its smallest parts: the version of the format,
 * and the jobs that a job waits for. Larger parts have files of their own. */
#include "job/job_fields.h"

#include "job/spec.h"

static const struct field_word capacity_words[] = {
    { "guaranteed", CAPACITY_GUARANTEED }, { "any", CAPACITY_ANY }, { "idle", CAPACITY_IDLE }, { 0 }
};
static const struct field_word server_words[] = { { "own-job", SERVER_OWN_JOB },
                                                  { "submit", SERVER_SUBMIT },
                                                  { 0 } };
static const struct field_word runtime_words[] = { { "server", RUNTIME_SERVER },
                                                   { "auto", RUNTIME_AUTO },
                                                   { "host", RUNTIME_HOST },
                                                   { "bwrap", RUNTIME_BWRAP },
                                                   { "podman", RUNTIME_PODMAN },
                                                   { "docker", RUNTIME_DOCKER },
                                                   { 0 } };
static const struct field_word ended_words[] = {
    { "well", 0 }, { "badly", 1 }, { "any", 2 }, { 0 }
};
static const struct field_word match_words[] = {
    { "all", 0 }, { "index", 1 }, { "every", 2 }, { 0 }
};
static const struct field_word framework_words[] = {
    { "none", 0 }, { "pytorch", 1 }, { "tensorflow", 2 }, { "mpi", 3 },          { "xgboost", 4 },
    { "ray", 5 },  { "oneflow", 6 }, { "slurm", 7 },      { "elasticbatch", 8 }, { 0 }
};

/* ---- muster: the version of the format ---- */

static int version_decode(const struct field_context *in, const struct text_node *node, void *base)
{
    (void)base;
    if (node->kind == TEXT_INT && node->integer == 1)
        return 0;
    struct problem *p = field_bad_value(in, node, "not a version this muster reads");
    report_hint(in->report, p, "1");
    return -1;
}

static void version_encode(struct arena *arena, struct text_node *parent, const char *key,
                           const void *base)
{
    (void)base;
    text_int(arena, parent, key, 1);
}

static void version_schema(struct arena *arena, struct text_node *schema)
{
    text_int(arena, schema, "const", 1);
}

static const struct field_hooks version_hooks = {
    .decode = version_decode,
    .encode = version_encode,
    .schema = version_schema,
    .value = "1",
};

/* ---- after: a job by number or name ---- */

static int after_decode(const struct field_context *in, const struct text_node *node, void *base)
{
    struct job_dependency *after = base;
    if (node->kind == TEXT_INT && node->integer > 0) {
        after->job = (uint64_t)node->integer;
        return 0;
    }
    if (node->kind == TEXT_STR && job_name_chars.ok(node->str) && *node->str) {
        after->job_name = arena_strdup(in->arena, node->str);
        return 0;
    }
    struct problem *p = field_bad_value(in, node, "neither the number nor the name of a job");
    report_hint(in->report, p, "the number or name that lists of jobs show");
    return -1;
}

static bool after_default(const void *base)
{
    const struct job_dependency *after = base;
    return after->job == 0 && !after->job_name;
}

static void after_encode(struct arena *arena, struct text_node *parent, const char *key,
                         const void *base)
{
    const struct job_dependency *after = base;
    if (after->job_name)
        text_str(arena, parent, key, after->job_name);
    else
        text_int(arena, parent, key, (int64_t)after->job);
}

static void after_schema(struct arena *arena, struct text_node *schema)
{
    struct text_node *types = text_list(arena, schema, "type");
    text_str(arena, types, NULL, "integer");
    text_str(arena, types, NULL, "string");
}

static void after_init(void *base)
{
    struct job_dependency *after = base;
    after->job = 0;
    after->job_name = NULL;
}

static const struct field_hooks after_hooks = {
    .init = after_init,
    .decode = after_decode,
    .is_default = after_default,
    .encode = after_encode,
    .schema = after_schema,
    .value = "number or name of a job",
};

static const struct field after_fields[] = {
    FIELD_SAME(CUSTOM, "job", .hooks = &after_hooks,
               .doc = "the job to wait for; left out with `match: every`: this one's name"),
    FIELD(WORD, "ended", struct job_dependency, ended, .words = ended_words, .def_text = "well",
          .doc = "how it must have ended"),
    FIELD(WORD, "match", struct job_dependency, match, .words = match_words, .def_text = "all",
          .doc = "of an array: `all` waits for all of its members; `index`: each member of this "
                 "array waits for the one of its own index. `every`: all of your jobs of that name "
                 "that have not ended when this one is submitted, none included"),
    FIELD_END,
};

enum { GANGS_WITH_MAX = 64 };
static const struct field gang_fields[] = {
    FIELD(TEXT, "name", struct gang, name, .min = 1, .max = JOB_NAME_MAX,
          .doc = "name of the gang in its project"),
    FIELD(WORDS, "roles", struct gang, roles, .flags = FIELD_REQUIRED | FIELD_ONE,
          .max = JOB_MAX_ROLES, .chars = &name_chars, .doc = "roles of the gang"),
    FIELD(U32, "min", struct gang, min, .max = JOB_MAX_TASKS, .unit = "tasks",
          .doc = "tasks that must be able to start together; 0: the least of every role"),
    FIELD(WORDS, "with", struct gang, with, .flags = FIELD_ONE, .max = GANGS_WITH_MAX,
          .doc =
              "gangs of other jobs, PROJECT/NAME: all of them start together or none; each names "
              "the others"),
    FIELD_END,
};

/* ---- the job ---- */

const struct field job_fields[] = {
    FIELD_SAME(CUSTOM, "muster", .flags = FIELD_ALWAYS, .hooks = &version_hooks,
               .doc = "version of this format; may be left out"),
    FIELD(TEXT, "name", struct job_spec, name, .flags = FIELD_REQUIRED, .min = 1,
          .max = JOB_NAME_MAX, .chars = &job_name_chars,
          .doc = "name of the job; several jobs may have the same"),
    FIELD(TEXT, "project", struct job_spec, project, .min = 1, .max = JOB_NAME_MAX,
          .doc = "workspace or namespace"),
    FIELD(TEXT, "description", struct job_spec, description, .max = 65536, .doc = "for people"),
    FIELD(PAIRS, "labels", struct job_spec, labels, .max = 256, .doc = "free labels"),
    FIELD(TEXT, "queue", struct job_spec, queue, .min = 1, .max = JOB_NAME_MAX,
          .doc = "queue; left out: the server's default queue"),
    FIELD(U32, "priority", struct job_spec, priority, .min = 1, .max = 9, .def = 5,
          .doc = "9 comes first"),
    FIELD(BOOL, "suspend", struct job_spec, suspend, .doc = "hold the job until `muster resume`"),
    FIELD_MANY(LIST, "after", struct job_spec, after, n_after, .table = after_fields,
               .brief = "job", .max = JOB_AFTER_MAX, .doc = "jobs that must have ended first"),
    FIELD_SAME(CUSTOM, "array", .hooks = &array_hooks,
               .doc = "many jobs of one submission, each with an index of its own "
                      "(`MUSTER_ARRAY_INDEX`), else alike; 0: just one job"),
    FIELD(ENUM, "capacity", struct job_spec, capacity, .words = capacity_words,
          .doc = "which share of the cluster it may use"),
    FIELD(BOOL, "preemptible", struct job_spec, preemptible,
          .doc = "may be ended for a more important job"),
    FIELD(MILLI, "spot_bid", struct job_spec, spot_bid_milli,
          .doc = "highest price for spare capacity, as a share of the list price; 0: none"),
    FIELD_MANY(LIST, "gang", struct job_spec, gangs, n_gangs, .table = gang_fields,
               .max = JOB_MAX_ROLES,
               .doc = "what starts together; left out: all roles with their least tasks"),
    FIELD(OBJECT, "limits", struct job_spec, limits, .table = limits_fields,
          .doc = "times the job may take"),
    FIELD(OBJECT, "retry", struct job_spec, retry, .table = retry_fields,
          .doc = "what follows an end, per class of end"),
    FIELD_MANY(
        MAP, "roles", struct job_spec, roles, n_roles, .table = role_fields,
        .key_offset = offsetof(struct role, name), .place_offset = offsetof(struct role, place),
        .max = JOB_MAX_ROLES, .chars = &name_chars,
        .doc = "groups of equal tasks by name; a role's fields may stand at the top level "
               "instead when there is only one, which is then called `" JOB_IMPLIED_ROLE "`"),
    FIELD(OBJECT, "place", struct job_spec, placing, .table = placing_fields,
          .doc = "where tasks run"),
    FIELD(OBJECT, "inputs", struct job_spec, inputs, .table = inputs_fields,
          .doc = "program, data and packages"),
    FIELD(TEXT, "output", struct job_spec, output, .min = 1,
          .doc =
              "directory for results (path or file: URI), made before the first task; here and in "
              "`inputs.code.dir`, `$PAI_DEFAULT_FS_URI` stands for the server's setting "
              "`fs_uri`, `$PAI_USER_NAME` for the submitter"),
    FIELD(WORD, "framework", struct job_spec, framework, .words = framework_words,
          .doc = "what the tasks are made with"),
    FIELD(OBJECT, "health", struct job_spec, health, .table = health_fields,
          .doc = "checks and faults"),
    FIELD(
        ENUM, "runtime", struct job_spec, runtime, .words = runtime_words,
        .doc =
            "how tasks that name an image are run: `bwrap` in the image, in namespaces of "
            "their own; `podman` and `docker` in it, in a container that podman or Docker's daemon "
            "makes; `auto` in the image by the first runtime that works; `host` on the host, "
            "without the image; `server` as its setting `runtime` says"),
    FIELD(
        ENUM, "server", struct job_spec, server, .words = server_words,
        .doc =
            "what its programs may ask of the server; `own-job`: the board of this job, its "
            "state and logs, enter, restart, fail and stop; `submit`: also submit, watch and stop "
            "jobs of its owner"),
    FIELD(TREE, "config", struct job_spec, config, .doc = "handed to the program as it is"),
    FIELD(WORDS, "notify", struct job_spec, notify, .flags = FIELD_ONE, .max = 64,
          .doc = "addresses told when the job ends; `failed=` or `succeeded=` in front narrows it"),
    FIELD(WORDS, "conventions", struct job_spec, conventions, .flags = FIELD_ONE, .max = 16,
          .chars = &name_chars,
          .doc = "environments the tasks get, in this order (`pytorch`, `openpai-v1`); `torchrun` "
                 "and `dlrover`: the command of that name is muster's own launcher"),
    FIELD(TREE, "extra", struct job_spec, extra,
          .doc = "values of a foreign format that its conventions need back"),
    FIELD_END,
};
