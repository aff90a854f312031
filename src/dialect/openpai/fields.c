/* The fields of a v1 configuration as tables, and the decoder they drive.
 *
 * Role: text tree -> struct v1_job. Types, conversions (numbers written as text are numbers),
 * bounds, defaults, allowed characters, required and unknown keys come from the rows below and
 * nowhere else. Rules between fields: check.c.
 *
 * Inputs: the parsed tree. Effects: problems in the report, each with its place; records in the
 * arena.
 *
 * Caveats: a wrong field keeps its default and is marked in v1_at.bad, so that the rules between
 * fields stay silent about it. */
#include "dialect/openpai/v1.h"

#include "base/mem.h"
#include "base/scan.h"

#include <math.h>
#include <stddef.h>

enum { TEXT_BYTES = 131071 }; /* what one argument of a program may have */

enum v1_type { V1_TEXT, V1_INT, V1_COUNT, V1_LIST, V1_MAP };
enum v1_flags {
    V1_REQUIRED = 1,
    V1_MAY_BE_EMPTY = 2, /* "" is the same as left out */
    V1_NULL_DEFAULT = 4, /* V1_COUNT: null when left out */
    V1_TILDE = 8,        /* name characters are letters, digits, '.', '_', '~' */
    V1_DASH = 16,        /* and '-' */
    V1_OLD_DASH = 32,    /* '-' in the earliest releases: a warning */
};

struct v1_field {
    const char *key;
    enum v1_type type;
    unsigned flags;
    size_t offset;
    int64_t min, max, def;        /* V1_INT, V1_COUNT; V1_TEXT: most bytes, 0: TEXT_BYTES */
    const char *about;            /* in hints: "MB for one task" */
    const char *example;          /* in hints: "\"image\": \"ubuntu:22.04\"" */
    const struct v1_field *items; /* V1_LIST */
    size_t item_size;
};

#define TEXT_FIELD(T, member, name_, ...)                                                          \
    {                                                                                              \
        .key = (name_), .type = V1_TEXT, .offset = offsetof(T, member), __VA_ARGS__                \
    }
#define INT_FIELD(T, member, name_, ...)                                                           \
    {                                                                                              \
        .key = (name_), .type = V1_INT, .offset = offsetof(T, member), __VA_ARGS__                 \
    }
#define COUNT_FIELD(T, member, name_, ...)                                                         \
    {                                                                                              \
        .key = (name_), .type = V1_COUNT, .offset = offsetof(T, member), __VA_ARGS__               \
    }

static const struct v1_field port_fields[] = {
    TEXT_FIELD(struct v1_port, label, "label", .flags = V1_REQUIRED | V1_TILDE, .max = JOB_NAME_MAX,
               .example = "\"label\": \"web\""),
    INT_FIELD(struct v1_port, begin_at, "beginAt", .max = 65535,
              .about = "the first port; 0: any free one"),
    INT_FIELD(struct v1_port, number, "portNumber", .def = 1, .min = 1, .max = 10000,
              .about = "ports of this label"),
    { .key = NULL },
};

static const struct v1_field role_fields[] = {
    TEXT_FIELD(struct v1_role, name, "name", .flags = V1_REQUIRED | V1_TILDE | V1_OLD_DASH,
               .max = JOB_NAME_MAX, .example = "\"name\": \"worker\""),
    INT_FIELD(struct v1_role, tasks, "taskNumber", .def = 1, .min = 1, .max = JOB_MAX_TASKS,
              .about = "tasks of this role"),
    INT_FIELD(struct v1_role, cpu, "cpuNumber", .def = 1, .min = 1, .max = 1000000,
              .about = "CPUs for one task"),
    INT_FIELD(struct v1_role, memory_mb, "memoryMB", .def = 100, .min = 100, .max = 1 << 30,
              .about = "MB for one task"),
    INT_FIELD(struct v1_role, shm_mb, "shmMB", .def = V1_SHM_MB, .min = 0, .max = 1 << 30,
              .about = "MB of shared memory for one task"),
    INT_FIELD(struct v1_role, gpu, "gpuNumber", .max = 1000, .about = "GPUs for one task"),
    { .key = "portList",
      .type = V1_LIST,
      .offset = offsetof(struct v1_role, ports),
      .items = port_fields,
      .item_size = sizeof(struct v1_port),
      .example = "[{\"label\": \"web\", \"beginAt\": 0, \"portNumber\": 1}]" },
    TEXT_FIELD(struct v1_role, command, "command", .flags = V1_REQUIRED,
               .example = "\"command\": \"python train.py\""),
    COUNT_FIELD(struct v1_role, min_failed, "minFailedTaskCount", .def = 1, .min = 1,
                .max = JOB_MAX_TASKS, .about = "failed tasks that fail the job; null: never"),
    COUNT_FIELD(struct v1_role, min_succeeded, "minSucceededTaskCount", .flags = V1_NULL_DEFAULT,
                .min = 1, .max = JOB_MAX_TASKS,
                .about = "succeeded tasks that end the job; null: all of them"),
    { .key = NULL },
};

static const struct v1_field job_fields[] = {
    TEXT_FIELD(struct v1_job, name, "jobName", .flags = V1_REQUIRED | V1_TILDE | V1_DASH,
               .max = JOB_NAME_MAX, .example = "\"jobName\": \"digits\""),
    TEXT_FIELD(struct v1_job, image, "image", .flags = V1_REQUIRED,
               .example = "\"image\": \"pytorch/pytorch:2.1.0\""),
    TEXT_FIELD(struct v1_job, auth_file, "authFile", .flags = V1_MAY_BE_EMPTY),
    TEXT_FIELD(struct v1_job, data_dir, "dataDir", .flags = V1_MAY_BE_EMPTY),
    TEXT_FIELD(struct v1_job, output_dir, "outputDir", .flags = V1_MAY_BE_EMPTY),
    TEXT_FIELD(struct v1_job, code_dir, "codeDir", .flags = V1_MAY_BE_EMPTY),
    TEXT_FIELD(struct v1_job, queue, "virtualCluster", .flags = V1_MAY_BE_EMPTY,
               .max = JOB_NAME_MAX),
    { .key = "taskRoles",
      .type = V1_LIST,
      .flags = V1_REQUIRED,
      .offset = offsetof(struct v1_job, roles),
      .items = role_fields,
      .item_size = sizeof(struct v1_role),
      .example = "[{\"name\": \"worker\", \"taskNumber\": 1, \"command\": \"python train.py\"}]" },
    TEXT_FIELD(struct v1_job, gpu_type, "gpuType", .flags = V1_MAY_BE_EMPTY),
    INT_FIELD(struct v1_job, retry, "retryCount", .min = -2, .max = 1000000,
              .about = "0: none, -1: as long as it may help, -2: for ever"),
    { .key = "jobEnvs",
      .type = V1_MAP,
      .offset = offsetof(struct v1_job, envs),
      .example = "{\"BATCH\": 32}" },
    { .key = "extras", .type = V1_MAP, .offset = offsetof(struct v1_job, extras), .example = "{}" },
    INT_FIELD(struct v1_job, kill_all, "killAllOnCompletedTaskNumber", .min = INT32_MIN,
              .max = INT32_MAX),
    { .key = NULL },
};

enum { FIELDS_MAX = 16 };
_Static_assert(ARRAY_LEN(job_fields) <= FIELDS_MAX && ARRAY_LEN(role_fields) <= FIELDS_MAX &&
                   ARRAY_LEN(port_fields) <= FIELDS_MAX,
               "known_keys() has room for every table");

struct decoder {
    struct arena *arena;
    struct report *report;
};

static void decode_record(struct decoder *, const struct v1_field *, const struct text_node *,
                          const char *path, struct v1_position *);

/* ---- words for messages ---- */

const char *v1_shown(struct arena *arena, const struct text_node *node)
{
    enum { SHOWN_MAX = 60 };
    if (node->kind == TEXT_STR) {
        bool cut = strlen(node->str) > SHOWN_MAX;
        return arena_printf(arena, "\"%.*s%s\"", SHOWN_MAX, node->str, cut ? "..." : "");
    }
    if (node->kind == TEXT_NULL)
        return "null";
    if (node->str && node->kind != TEXT_LIST && node->kind != TEXT_MAP)
        return node->str;
    return text_kind_word(node->kind);
}

const char *v1_path(struct arena *arena, const struct v1_position *at, const char *key)
{
    return at->path[0] ? arena_printf(arena, "%s.%s", at->path, key) : key;
}

struct place v1_place(const struct v1_position *at, const char *key)
{
    const struct text_node *node = text_get(at->node, key);
    return node ? node->place : at->node->place;
}

bool v1_sound(const struct v1_position *at, const char *key)
{
    for (size_t i = 0; at->fields[i].key; i++)
        if (strcmp(at->fields[i].key, key) == 0)
            return (at->bad >> i & 1u) == 0;
    return true;
}

static const char *wanted(const struct v1_field *f, struct arena *arena)
{
    const char *about = f->about ? arena_printf(arena, " (%s)", f->about) : "";
    switch (f->type) {
    case V1_INT:
        return arena_printf(arena, "a whole number, %lld or more%s", (long long)f->min, about);
    case V1_COUNT:
        return arena_printf(arena, "null or a whole number, %lld or more%s", (long long)f->min,
                            about);
    case V1_LIST: return arena_printf(arena, "a list: %s", f->example);
    case V1_MAP: return arena_printf(arena, "an object: %s", f->example);
    case V1_TEXT: break;
    }
    return f->example ? f->example : "a text in quotes";
}

/* ---- scalars; each returns true when the value was stored ---- */

static bool wrong_type(struct decoder *d, const struct v1_field *f, const struct text_node *node,
                       const char *path)
{
    static const char *const kinds[] = { [V1_TEXT] = "a text",
                                         [V1_INT] = "a whole number",
                                         [V1_COUNT] = "a whole number or null",
                                         [V1_LIST] = "a list",
                                         [V1_MAP] = "an object" };
    struct problem *p = report_error(d->report, node->place, path, "%s is %s, not %s", path,
                                     v1_shown(d->arena, node), kinds[f->type]);
    report_hint(d->report, p, "%s", wanted(f, d->arena));
    return false;
}

static bool name_char(unsigned flags, char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
        return true;
    return c == '.' || c == '_' || c == '~' || (c == '-' && (flags & (V1_DASH | V1_OLD_DASH)));
}

static void warn_dash(struct decoder *d, const struct text_node *node, const char *path)
{
    char *other = arena_strdup(d->arena, node->str);
    for (char *c = other; *c; c++)
        *c = *c == '-' ? '_' : *c;
    struct problem *p =
        report_warn(d->report, node->place, path, "%s is %s: releases from 0.5 on take no - there",
                    path, v1_shown(d->arena, node));
    report_hint(d->report, p, "%s", other);
    if (node->place.len == strlen(other))
        p->fix = other;
    else if (node->place.len == strlen(other) + 2)
        p->fix = arena_printf(d->arena, "\"%s\"", other);
}

static bool check_name(struct decoder *d, const struct v1_field *f, const struct text_node *node,
                       const char *path)
{
    struct problem *p = NULL;
    size_t n = 0;
    while (node->str[n] && name_char(f->flags, node->str[n]))
        n++;
    if (node->str[n])
        p = report_error(d->report, node->place, path,
                         "%s is %s, which has a character that is not allowed", path,
                         v1_shown(d->arena, node));
    else if (strstr(node->str, "..") || strcmp(node->str, ".") == 0)
        p = report_error(d->report, node->place, path, "%s is %s, which reads as a directory", path,
                         v1_shown(d->arena, node));
    else if (node->str[0] == '-')
        p = report_error(d->report, node->place, path, "%s is %s, which reads as an option", path,
                         v1_shown(d->arena, node));
    if (!p && (f->flags & V1_OLD_DASH) && strchr(node->str, '-'))
        warn_dash(d, node, path);
    if (!p)
        return true;
    report_hint(d->report, p, "letters, digits and . _ ~%s, at most %u of them, without ..",
                f->flags & V1_DASH ? " -" : "", JOB_NAME_MAX);
    return false;
}

static bool decode_text(struct decoder *d, const struct v1_field *f, const struct text_node *node,
                        const char *path, const char **out)
{
    if (node->kind != TEXT_STR)
        return wrong_type(d, f, node, path);
    if (!node->str[0] && !(f->flags & V1_MAY_BE_EMPTY)) {
        struct problem *p = report_error(d->report, node->place, path, "%s is empty", path);
        report_hint(d->report, p, "%s", wanted(f, d->arena));
        return false;
    }
    size_t most = f->max ? (size_t)f->max : TEXT_BYTES;
    if (strlen(node->str) > most) {
        struct problem *p =
            report_error(d->report, node->place, path, "%s has %zu bytes, the most is %zu", path,
                         strlen(node->str), most);
        report_hint(d->report, p, "a shorter text");
        return false;
    }
    if ((f->flags & V1_TILDE) && !check_name(d, f, node, path))
        return false;
    *out = node->str;
    return true;
}

/* A whole number, also written 2.0 or "2". Numbers beyond int64 become its ends: no bound reaches
 * that far. */
static bool whole_number(const struct text_node *node, int64_t *out)
{
    double real = node->real;
    if (node->kind == TEXT_INT) {
        *out = node->integer;
        return true;
    }
    if (node->kind == TEXT_STR && scan_i64(node->str, INT64_MIN, INT64_MAX, out))
        return true;
    if (node->kind != TEXT_REAL && !(node->kind == TEXT_STR && scan_real(node->str, &real)))
        return false;
    if (real != floor(real))
        return false;
    if (fabs(real) < 9e18)
        *out = (int64_t)real;
    else
        *out = real > 0 ? INT64_MAX : INT64_MIN;
    return true;
}

static bool decode_int(struct decoder *d, const struct v1_field *f, const struct text_node *node,
                       const char *path, int64_t *out)
{
    int64_t n;
    if (!whole_number(node, &n))
        return wrong_type(d, f, node, path);
    if (n >= f->min && n <= f->max) {
        *out = n;
        return true;
    }
    bool low = n < f->min;
    long long bound = low ? f->min : f->max;
    struct problem *p = report_error(d->report, node->place, path, "%s is %s, the %s is %lld", path,
                                     v1_shown(d->arena, node), low ? "least" : "most", bound);
    report_hint(d->report, p, "%lld or %s%s%s%s", bound, low ? "more" : "less",
                f->about ? " (" : "", f->about ? f->about : "", f->about ? ")" : "");
    return false;
}

static bool decode_count(struct decoder *d, const struct v1_field *f, const struct text_node *node,
                         const char *path, struct v1_count *out)
{
    int64_t n = 0;
    if (node->kind != TEXT_NULL && !decode_int(d, f, node, path, &n))
        return false;
    *out = (struct v1_count){ .null = node->kind == TEXT_NULL, .n = n };
    return true;
}

/* ---- lists and records ---- */

static bool decode_list(struct decoder *d, const struct v1_field *f, const struct text_node *node,
                        const char *path, struct v1_list *out)
{
    if (node->kind != TEXT_LIST)
        return wrong_type(d, f, node, path);
    if (node->count == 0 && (f->flags & V1_REQUIRED)) {
        struct problem *p = report_error(d->report, node->place, path, "%s is empty", path);
        report_hint(d->report, p, "at least one: %s", f->example);
        return false;
    }
    char *items = arena_array(d->arena, node->count, f->item_size);
    size_t n = 0;
    bool good = true;
    for (const struct text_node *at = node->first; at; at = at->next, n++) {
        const char *item_path = arena_printf(d->arena, "%s[%zu]", path, n);
        struct v1_position *record = (void *)(items + n * f->item_size);
        if (at->kind == TEXT_MAP) {
            decode_record(d, f->items, at, item_path, record);
            continue;
        }
        struct problem *p = report_error(d->report, at->place, item_path, "%s is %s, not an object",
                                         item_path, v1_shown(d->arena, at));
        report_hint(d->report, p, "%s", f->example);
        good = false;
    }
    *out = (struct v1_list){ .at = items, .n = good ? n : 0 };
    return good;
}

static bool decode_field(struct decoder *d, const struct v1_field *f, const struct text_node *node,
                         const char *path, struct v1_position *record)
{
    char *into = (char *)record + f->offset;
    switch (f->type) {
    case V1_TEXT: return decode_text(d, f, node, path, (const char **)(void *)into);
    case V1_INT: return decode_int(d, f, node, path, (int64_t *)(void *)into);
    case V1_COUNT: return decode_count(d, f, node, path, (struct v1_count *)(void *)into);
    case V1_LIST: return decode_list(d, f, node, path, (struct v1_list *)(void *)into);
    case V1_MAP:
        if (node->kind != TEXT_MAP)
            return wrong_type(d, f, node, path);
        *(const struct text_node **)(void *)into = node;
        return true;
    }
    return false;
}

static void set_defaults(const struct v1_field *fields, struct v1_position *record)
{
    for (const struct v1_field *f = fields; f->key; f++) {
        char *into = (char *)record + f->offset;
        if (f->type == V1_INT)
            *(int64_t *)(void *)into = f->def;
        else if (f->type == V1_COUNT)
            *(struct v1_count *)(void *)into = (struct v1_count){
                .null = f->flags & V1_NULL_DEFAULT,
                .n = f->def,
            };
        else if (f->type == V1_TEXT)
            *(const char **)(void *)into = "";
    }
}

static const struct v1_field *field_of(const struct v1_field *fields, const char *key)
{
    for (const struct v1_field *f = fields; f->key; f++)
        if (strcmp(f->key, key) == 0)
            return f;
    return NULL;
}

/* The known field that an unknown key stands for, or NULL. */
static const char *meant(const struct v1_field *fields, const char *key)
{
    const char *known[FIELDS_MAX];
    size_t n = 0;
    for (const struct v1_field *f = fields; f->key; f++)
        known[n++] = f->key;
    return scan_nearest(key, known, n);
}

static void unknown_key(struct decoder *d, const struct v1_position *record,
                        const struct text_node *node)
{
    const char *path = v1_path(d->arena, record, node->key);
    const char *near = meant(record->fields, node->key);
    struct problem *p =
        report_error(d->report, node->key_place, path, "unknown field \"%s\"", node->key);
    if (!near) {
        report_hint(d->report, p, "leave it out, or put it under extras");
        return;
    }
    report_hint(d->report, p, "\"%s\"?", near);
    if (text_get(record->node, near)) /* renaming would double the key */
        return;
    bool quoted = node->key_place.len == strlen(node->key) + 2;
    p->fix = quoted ? arena_printf(d->arena, "\"%s\"", near) : near;
}

/* The field is there under a name with a typing error: that is reported, not that it is missing. */
static bool misspelt(const struct v1_position *record, const char *key)
{
    for (const struct text_node *node = record->node->first; node; node = node->next) {
        if (field_of(record->fields, node->key))
            continue;
        const char *near = meant(record->fields, node->key);
        if (near && strcmp(near, key) == 0)
            return true;
    }
    return false;
}

static void missing_fields(struct decoder *d, struct v1_position *record)
{
    for (size_t i = 0; record->fields[i].key; i++) {
        const struct v1_field *f = &record->fields[i];
        if (!(f->flags & V1_REQUIRED) || text_get(record->node, f->key))
            continue;
        record->bad |= 1u << i;
        if (misspelt(record, f->key))
            continue;
        const char *path = v1_path(d->arena, record, f->key);
        struct problem *p =
            report_error(d->report, record->node->place, path, "%s is missing", path);
        if (f->type == V1_LIST)
            report_hint(d->report, p, "\"%s\": %s", f->key, f->example);
        else
            report_hint(d->report, p, "%s", wanted(f, d->arena));
    }
}

static void decode_record(struct decoder *d, const struct v1_field *fields,
                          const struct text_node *map, const char *path, struct v1_position *record)
{
    *record = (struct v1_position){ .node = map, .path = path, .fields = fields };
    set_defaults(fields, record);
    missing_fields(d, record);
    for (const struct text_node *node = map->first; node; node = node->next) {
        const struct v1_field *f = field_of(fields, node->key);
        if (!f)
            unknown_key(d, record, node);
        else if (!decode_field(d, f, node, v1_path(d->arena, record, node->key), record))
            record->bad |= 1u << (f - fields);
    }
}

struct v1_job *v1_decode(struct arena *arena, const struct text_node *root, const struct site *site,
                         struct report *report)
{
    struct decoder d = { .arena = arena, .report = report };
    struct v1_job *job = ARENA_NEW(arena, struct v1_job);
    if (!root || root->kind != TEXT_MAP) {
        struct problem *p = report_error(report, root ? root->place : (struct place){ 0 }, "",
                                         "the document is %s, not an object",
                                         root ? v1_shown(arena, root) : "empty");
        report_hint(report, p, "{\"jobName\": ..., \"image\": ..., \"taskRoles\": [...]}");
        return job;
    }
    decode_record(&d, job_fields, root, "", &job->at);
    v1_check(job, site, report);
    return job;
}
