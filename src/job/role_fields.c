/* Field tables of a role: how many tasks, what they run, what each of them needs, when the role is
 * done. */
#include "job/job_fields.h"

#include "job/job.h"

/* ---- replicas: n, or {min, max} ---- */

static const struct field elastic_fields[] = {
    FIELD(U32, "min", struct role, min, .flags = FIELD_REQUIRED, .min = 1, .max = JOB_MAX_TASKS,
          .unit = "tasks", .doc = "fewest tasks the role works with"),
    FIELD(U32, "max", struct role, replicas, .flags = FIELD_REQUIRED, .min = 1,
          .max = JOB_MAX_TASKS, .unit = "tasks", .doc = "most tasks it makes use of"),
    FIELD_END,
};
static const struct field fixed_field =
    FIELD(U32, "replicas", struct role, replicas, .min = 1, .max = JOB_MAX_TASKS, .unit = "tasks");

static void replicas_init(void *base)
{
    struct role *role = base;
    role->replicas = role->min = 1;
}

static int replicas_decode(const struct field_context *in, const struct text_node *node, void *base)
{
    struct role *role = base;
    char path[FIELD_PATH_MAX];
    if (node->kind == TEXT_MAP)
        return field_decode(in->arena, node, elastic_fields, role, field_path(path, in->at),
                            in->report);
    if (field_value_decode(in, &fixed_field, node, role) != 0)
        return -1;
    role->min = role->replicas;
    return 0;
}

static bool replicas_default(const void *base)
{
    const struct role *role = base;
    return role->replicas - role->spares == 1 && role->min == 1;
}

static void replicas_encode(struct arena *arena, struct text_node *parent, const char *key,
                            const void *base)
{
    struct role said = *(const struct role *)base;
    said.replicas -= said.spares;
    if (said.min == said.replicas)
        text_int(arena, parent, key, said.replicas);
    else
        field_encode(arena, parent, key, elastic_fields, &said);
}

static void replicas_schema(struct arena *arena, struct text_node *schema)
{
    struct text_node *any = text_list(arena, schema, "anyOf");
    struct text_node *number = text_map(arena, any, NULL);
    text_str(arena, number, "type", "integer");
    text_int(arena, number, "minimum", 1);
    text_int(arena, number, "maximum", JOB_MAX_TASKS);
    text_copy(arena, any, NULL, field_schema(arena, elastic_fields));
}

static const struct field_hooks replicas_hooks = {
    .init = replicas_init,
    .decode = replicas_decode,
    .is_default = replicas_default,
    .encode = replicas_encode,
    .schema = replicas_schema,
    .value = "number 1 to 65536, or `{min: 3, max: 8}`",
};

/* ---- spares: tasks beside those; read after them ---- */

#define SPARES_MOST 1024
static const struct field spares_field =
    FIELD(U32, "spares", struct role, spares, .max = SPARES_MOST, .unit = "tasks");

static int spares_decode(const struct field_context *in, const struct text_node *node, void *base)
{
    struct role *role = base;
    if (field_value_decode(in, &spares_field, node, role) != 0)
        return -1;
    role->replicas += role->spares;
    return 0;
}

static bool spares_default(const void *base)
{
    return ((const struct role *)base)->spares == 0;
}

static void spares_encode(struct arena *arena, struct text_node *parent, const char *key,
                          const void *base)
{
    text_int(arena, parent, key, ((const struct role *)base)->spares);
}

static void spares_schema(struct arena *arena, struct text_node *schema)
{
    text_str(arena, schema, "type", "integer");
    text_int(arena, schema, "minimum", 0);
    text_int(arena, schema, "maximum", SPARES_MOST);
}

static const struct field_hooks spares_hooks = {
    .decode = spares_decode,
    .is_default = spares_default,
    .encode = spares_encode,
    .schema = spares_schema,
    .value = "number 0 to 1024",
};

/* ---- parts of a role ---- */

static const struct field port_fields[] = {
    FIELD(U32, "count", struct port_request, count, .min = 1, .max = 65535, .def = 1,
          .unit = "ports for one task", .doc = "ports under this label, for each task"),
    FIELD(U32, "first", struct port_request, first, .max = 65535,
          .doc = "first of a fixed range, the same for every task; 0: any free ports"),
    FIELD(BOOL, "prefer", struct port_request, prefer,
          .doc = "the range is only preferred: a task whose host has it taken gets free ports"),
    FIELD_END,
};

static const struct field resource_fields[] = {
    FIELD(MILLI, "cpu", struct resources, cpu_milli, .max = 1000000000,
          .unit = "cores for one task", .doc = "cores, and no more of them; 0: not said"),
    FIELD(SIZE, "memory", struct resources, memory,
          .doc = "memory, and no more of it; 0: not said"),
    FIELD(SIZE, "shm", struct resources, shm,
          .doc = "size of a /dev/shm of its own; 0: the machine's"),
    FIELD(SIZE, "disk", struct resources, disk, .doc = "space in the working directory"),
    FIELD(MILLI, "gpu", struct resources, gpu_milli, .max = 1000000, .unit = "devices for one task",
          .doc = "devices: a whole number, or below 1 a share of one device"),
    FIELD(WORDS, "gpu_type", struct resources, gpu_types, .flags = FIELD_ONE, .max = 64,
          .doc = "any of these models: `H100`, `a100`, `A100-SXM4-80GB`, or a product name"),
    FIELD(AMOUNTS, "custom", struct resources, custom, .flags = FIELD_REST,
          .chars = &resource_chars,
          .doc = "any other name asks for so much of a custom resource of the node (licences and "
                 "the like)"),
    FIELD_END,
};

static const struct field done_fields[] = {
    FIELD(COUNT, "failed", struct done, failed, .counts = FIELD_NEVER | FIELD_AT_END, .min = 1,
          .def = 1, .unit = "tasks",
          .doc =
              "so many failed tasks of the role fail the job; `at_end`: one does, once all tasks "
              "have ended; `never` turns the rule off"),
    FIELD(COUNT, "succeeded", struct done, succeeded, .counts = FIELD_ALL | FIELD_NEVER, .min = 1,
          .def_text = "all", .unit = "tasks",
          .doc = "so many succeeded tasks of the role make the job a success; `all`: when all "
                 "tasks of the job have ended; `never`: the end does not wait for this role (a "
                 "parameter server), what still runs of it is stopped"),
    FIELD_END,
};

static const struct field launcher_fields[] = {
    FIELD(U32, "ranks_per_node", struct launcher, ranks_per_node,
          .has_offset = offsetof(struct launcher, has_ranks_per_node), .min = 1, .max = 1024,
          .doc = "processes the launcher starts in one task; left out: one per device (1 without)"),
    FIELD(U32, "max_restarts", struct launcher, max_restarts,
          .has_offset = offsetof(struct launcher, has_max_restarts), .max = 1000000,
          .doc = "failures of its ranks that each task may have: a new round, no new attempt"),
    FIELD(U32, "node_unit", struct launcher, node_unit,
          .has_offset = offsetof(struct launcher, has_node_unit), .min = 1, .max = JOB_MAX_TASKS,
          .doc = "the number of tasks in a round is a multiple of this"),
    FIELD(BOOL, "node_check", struct launcher, node_check,
          .doc = "check nodes pairwise before training"),
    FIELD_END,
};

const struct field role_fields[] = {
    FIELD_SAME(CUSTOM, "replicas", .hooks = &replicas_hooks,
               .doc = "tasks of this role; with a range the job starts from the least and takes "
                      "more as room appears"),
    FIELD_SAME(CUSTOM, "spares", .hooks = &spares_hooks,
               .doc = "tasks beside those that wait, placed as soon as there is room: with a "
                      "launcher one of them takes the place of a task whose node is lost, in the "
                      "next round; the role is done when as many as replicas have ended well"),
    FIELD(
        U32, "per_group", struct role, per_group, .max = JOB_MAX_TASKS,
        .doc =
            "tasks of this role that share a node, in order of their index; with `place.together` "
            "their share of one unit; 0: no groups"),
    FIELD(BOOL, "driver", struct role, driver, .doc = "the role that drives the others"),
    FIELD(WORDS, "after", struct role, after, .flags = FIELD_ONE | FIELD_REFUSED,
          .max = JOB_MAX_ROLES, .doc = "roles that must run before this one starts"),
    FIELD(TEXT, "run", struct role, run, .flags = FIELD_LONG, .min = 1, .max = 131071,
          .doc = "shell text, run by bash; one of run, argv and python is needed"),
    FIELD(WORDS, "argv", struct role, argv, .flags = FIELD_ARGS, .max = 4096,
          .doc = "a program with its arguments, without a shell"),
    FIELD(TEXT, "python", struct role, python, .min = 1, .max = 65536,
          .doc =
              "a Python entry point: `module.function`, `module.Class` (its `run()` is called) or "
              "`script.py` with arguments; run by `python -m muster.worker`, with `launcher` under "
              "muster's launcher"),
    FIELD(OBJECT, "launcher", struct role, launcher, .table = launcher_fields,
          .doc = "settings of the elastic launcher in each task: with any of them `torchrun` and "
                 "`dlrover-run` in the command are muster's own, the tasks of the role form one "
                 "world, and these values are what the launcher takes where its command line says "
                 "nothing (`PET_*`; the role's own env wins)"),
    FIELD(TEXT, "image", struct role, image, .min = 1, .doc = "container image"),
    FIELD(OBJECT, "resources", struct role, resources, .table = resource_fields,
          .doc = "what each task needs"),
    FIELD(PAIRS, "env", struct role, env, .flags = FIELD_SECRET, .max = 4096, .chars = &env_chars,
          .doc = "environment variables; they win over those of conventions"),
    FIELD_MANY(LIST, "secrets", struct role, secrets.at, secrets.n, .table = secret_fields,
               .brief = "name", .place_offset = offsetof(struct job_secret, place),
               .max = SECRET_LIST_MAX, .doc = "secrets that its tasks get, by name"),
    FIELD_MANY(MAP, "ports", struct role, ports, n_ports, .table = port_fields, .brief = "count",
               .key_offset = offsetof(struct port_request, label), .max = 64, .chars = &name_chars,
               .doc = "ports by label, reserved for each task on its host"),
    FIELD(OBJECT, "done", struct role, done, .table = done_fields,
          .doc = "when this role decides the end of the job"),
    FIELD(ENUM, "restart", struct role, restart_scope, .words = scope_words,
          .has_offset = offsetof(struct role, has_restart_scope),
          .doc = "what a retry of one of its tasks starts anew; left out: as retry.scope says"),
    FIELD(BOOL, "stdin", struct role, open_stdin,
          .doc =
              "its tasks keep an open stdin, into which `muster attach` types; without it a task "
              "that reads finds the end at once"),
    FIELD(BOOL, "tty", struct role, tty,
          .doc = "with `stdin`: stdin, stdout and stderr are a terminal of the task's own"),
    FIELD(TEXT, "run_as", struct role, run_as, .flags = FIELD_REFUSED, .min = 1,
          .doc = "user the tasks run as"),
    FIELD_END,
};
