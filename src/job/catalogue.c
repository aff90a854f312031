/* Declared names as field tables: one table for each kind decodes, checks and encodes its
 * documents. The catalogue itself is an index over entries by kind and name; entries are in the
 * arena of whoever decoded them. */
#include "job/catalogue.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "job/field.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = ENTRY_NAME_MAX + 32, NEAR_MAX = 512 };

/* ---- kinds ---- */

static const struct {
    const char *word, *plural, *shown;
} kinds[] = {
#define ENTRY_KIND(value, word, plural, shown) { word, plural, shown },
    ENTRY_KINDS(ENTRY_KIND)
#undef ENTRY_KIND
};

const char *entry_word(enum entry_kind kind)
{
    return kinds[kind].word;
}

const char *entry_plural(enum entry_kind kind)
{
    return kinds[kind].plural;
}

const char *entry_shown(enum entry_kind kind)
{
    return kinds[kind].shown;
}

static bool same_kind(const char *kind, const char *word)
{
    for (;; kind++, word++) {
        while (*kind == '_')
            kind++;
        while (*word == '_' || *word == '-')
            word++;
        if (*kind != *word || !*kind)
            return *kind == *word;
    }
}

bool entry_kind_parse(const char *word, enum entry_kind *out)
{
    for (unsigned i = 0; i < ENTRY_KIND_N; i++) {
        if (!same_kind(kinds[i].word, word) && !same_kind(kinds[i].plural, word))
            continue;
        *out = (enum entry_kind)i;
        return true;
    }
    return false;
}

/* ---- fields ---- */

static bool name_ok(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == '/' || *p == 0x7f)
            return false;
    return true;
}
static const struct field_chars name_chars = { .ok = name_ok,
                                               .wanted = "no blanks, no /",
                                               .pattern = "^[^\\s/]+$" };
static const struct field_word kind_words[] = {
#define ENTRY_KIND(value, word, plural, shown) { word, ENTRY_##value },
    ENTRY_KINDS(ENTRY_KIND)
#undef ENTRY_KIND
        { "virtual-cluster", ENTRY_VIRTUAL_CLUSTER },
    { "instance-type", ENTRY_INSTANCE_TYPE },
    { "code-source", ENTRY_CODE_SOURCE },
    { NULL, 0 }
};

#define URI_MAX 4096
#define COMMON                                                                                     \
    FIELD(ENUM, "kind", struct entry, kind, .flags = FIELD_REQUIRED | FIELD_ALWAYS,                \
          .words = kind_words, .doc = "what is declared"),                                         \
        FIELD(TEXT, "name", struct entry, name, .flags = FIELD_REQUIRED, .min = 1,                 \
              .max = ENTRY_NAME_MAX, .chars = &name_chars, .doc = "what jobs call it"),            \
        FIELD(TEXT, "description", struct entry, description, .max = URI_MAX, .doc = "for people")

/* "reclaim: false" is what the struct calls keeps, so that a struct of zeros is a plain queue. */
static int reclaim_decode(const struct field_context *in, const struct text_node *node, void *base)
{
    bool reclaim = false;
    const struct field plain = { .type = FIELD_BOOL, .size = sizeof reclaim };
    int rc = field_value_decode(in, &plain, node, &reclaim);
    ((struct entry *)base)->keeps = rc == 0 && !reclaim;
    return rc;
}
static bool reclaim_default(const void *base)
{
    return !((const struct entry *)base)->keeps;
}
static void reclaim_encode(struct arena *arena, struct text_node *parent, const char *key,
                           const void *base)
{
    text_bool(arena, parent, key, !((const struct entry *)base)->keeps);
}
static void reclaim_schema(struct arena *arena, struct text_node *schema)
{
    text_str(arena, schema, "type", "boolean");
}
static const struct field_hooks reclaim_hooks = { .decode = reclaim_decode,
                                                  .is_default = reclaim_default,
                                                  .encode = reclaim_encode,
                                                  .schema = reclaim_schema,
                                                  .value = "true or false" };

/* OpenPAI's percentages are another way to write the two; they come back in muster's words. */
static int capacity_decode(const struct field_context *in, const struct text_node *node, void *base)
{
    return portion_decode_percent(in, node, &((struct entry *)base)->guaranteed.all);
}
static int most_capacity_decode(const struct field_context *in, const struct text_node *node,
                                void *base)
{
    return portion_decode_percent(in, node, &((struct entry *)base)->maximum.all);
}
static bool never_written(const void *base)
{
    (void)base;
    return true;
}
static const struct field_hooks capacity_hooks = { .decode = capacity_decode,
                                                   .is_default = never_written,
                                                   .value = "percentage" };
static const struct field_hooks most_capacity_hooks = { .decode = most_capacity_decode,
                                                        .is_default = never_written,
                                                        .value = "percentage" };

/* The words of sched/quota.h, which lies above; a test of ctl compares them. */
static const struct field_word strategy_words[] = {
    { "backfill", 0 }, { "fifo", 0 },        { "round_robin", 0 }, { "round-robin", 0 },
    { "balance", 0 },  { "intelligent", 0 }, { NULL, 0 },
};

#define OWNER                                                                                      \
    FIELD(TEXT, "owner", struct entry, owner, .max = ENTRY_NAME_MAX,                               \
          .doc = "who else than the server's user may change it")
static const struct field plain_fields[] = { COMMON, FIELD_END };
static const struct field workspace_fields[] = {
    COMMON,
    FIELD(TEXT, "queue", struct entry, queue, .max = ENTRY_NAME_MAX,
          .doc = "where its jobs go that name no queue"),
    FIELD_END
};
#define QUEUE                                                                                      \
    COMMON,                                                                                        \
        FIELD(TEXT, "parent", struct entry, parent, .min = 1, .max = ENTRY_NAME_MAX,               \
              .doc = "the queue that it is part of; the cluster when left out"),                   \
        FIELD(OBJECT, "guaranteed", struct entry, guaranteed, .table = portions_fields,            \
              .brief = "all", .doc = "what it is sure of, lent to others while it is not used"),   \
        FIELD(AMOUNTS, "cells", struct entry, cells, .max = 16,                                    \
              .doc = "the same in whole nodes, racks ...: {node: 4}"),                             \
        FIELD(OBJECT, "maximum", struct entry, maximum, .table = portions_fields, .brief = "all",  \
              .doc = "the most that its jobs hold at a time"),                                     \
        FIELD(OBJECT, "user", struct entry, user, .table = portions_fields, .brief = "all",        \
              .doc = "the most that the jobs of one user hold at a time"),                         \
        FIELD(WORD, "strategy", struct entry, strategy, .words = strategy_words,                   \
              .doc = "how it goes through its jobs; backfill when left out"),                      \
        FIELD(U32, "weight", struct entry, weight, .min = 1, .max = 1000000,                       \
              .doc = "among its siblings, of what is lent; 1 when left out"),                      \
        FIELD_SAME(CUSTOM, "reclaim", .hooks = &reclaim_hooks,                                     \
                   .doc = "takes back what others borrowed of it by ending their jobs; true when " \
                          "left out"),                                                             \
        FIELD(MILLI, "user_cpu", struct entry, user_cpu_milli,                                     \
              .doc = "the most cores that jobs of one user have at a time"),                       \
        FIELD(MILLI, "user_gpu", struct entry, user_gpu_milli,                                     \
              .doc = "the most devices of one user")
static const struct field quota_fields[] = { QUEUE, FIELD_END };
static const struct field cluster_fields[] = {
    QUEUE,
    FIELD_SAME(CUSTOM, "capacity", .hooks = &capacity_hooks,
               .doc = "`guaranteed` as OpenPAI writes it: 40"),
    FIELD_SAME(CUSTOM, "maxCapacity", .hooks = &most_capacity_hooks,
               .doc = "`maximum` as OpenPAI writes it: 60"),
    FIELD_END
};
static const struct field type_fields[] = {
    COMMON,
    FIELD(MILLI, "cpu", struct entry, cpu_milli, .flags = FIELD_REQUIRED, .min = 1, .doc = "cores"),
    FIELD(SIZE, "memory", struct entry, memory, .flags = FIELD_REQUIRED, .min = 1, .doc = "16Gi"),
    FIELD(MILLI, "gpu", struct entry, gpu_milli, .doc = "devices"),
    FIELD(TEXT, "gpu_type", struct entry, gpu_type, .max = 100, .doc = "their model"),
    FIELD_END
};
static const struct field data_fields[] = {
    COMMON,
    FIELD(TEXT, "uri", struct entry, uri, .flags = FIELD_REQUIRED, .min = 1, .max = URI_MAX,
          .doc = "where it is: a directory of this machine, or what a root of the server serves"),
    FIELD(TEXT, "path", struct entry, path, .max = URI_MAX, .doc = "where tasks find it"),
    OWNER,
    FIELD(BOOL, "read_only", struct entry, read_only, .doc = "tasks cannot write there"),
    FIELD_END
};
static const struct field code_fields[] = {
    COMMON,
    FIELD(TEXT, "uri", struct entry, uri, .flags = FIELD_REQUIRED, .min = 1, .max = URI_MAX,
          .doc = "the directory with the code, as it lies there"),
    FIELD(TEXT, "at", struct entry, at, .min = 1, .max = 255,
          .doc = "the branch, tag or commit it has to be at"),
    FIELD(TEXT, "path", struct entry, path, .max = URI_MAX, .doc = "where tasks find it"),
    OWNER,
    FIELD_END
};
static const struct field image_fields[] = {
    COMMON,
    FIELD(TEXT, "uri", struct entry, uri, .flags = FIELD_REQUIRED, .min = 1, .max = URI_MAX,
          .doc = "its address in a registry"),
    FIELD(PAIRS, "labels", struct entry, labels, .doc = "what it is good for"), OWNER, FIELD_END
};

static const struct field *fields_of(enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_WORKSPACE: return workspace_fields;
    case ENTRY_QUOTA: return quota_fields;
    case ENTRY_VIRTUAL_CLUSTER: return cluster_fields;
    case ENTRY_INSTANCE_TYPE: return type_fields;
    case ENTRY_DATASET: return data_fields;
    case ENTRY_CODE_SOURCE: return code_fields;
    case ENTRY_IMAGE: return image_fields;
    default: return plain_fields;
    }
}

/* ---- text ---- */

static bool is_entry(const struct text_node *node, enum entry_kind *kind)
{
    const struct text_node *word = text_get(node, "kind");
    return word && word->kind == TEXT_STR && !text_get(node, "apiVersion") && !node->pairs &&
           entry_kind_parse(word->str, kind);
}

bool entries_detect(const struct text_node *root)
{
    enum entry_kind kind;
    if (!root || root->kind != TEXT_LIST)
        return root && is_entry(root, &kind);
    for (const struct text_node *node = root->first; node; node = node->next)
        if (!is_entry(node, &kind))
            return false;
    return root->count > 0;
}

/* Two fields that say the same. */
static const struct {
    const char *one, *other;
} twins[] = {
    { "capacity", "guaranteed" }, { "capacity", "cells" },    { "cells", "guaranteed" },
    { "maxCapacity", "maximum" }, { "user_cpu", "user.cpu" }, { "user_gpu", "user.gpu" }
};

static const struct text_node *member_at(const struct text_node *node, const char *path)
{
    char key[32];
    size_t n = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)n, path);
    const struct text_node *member = text_get(node, key);
    return member && path[n] ? text_get(member, path + n + 1) : member;
}

static int refuse_twins(const struct text_node *node, struct report *report)
{
    size_t errors = report->errors;
    for (size_t i = 0; i < ARRAY_LEN(twins); i++) {
        const struct text_node *one = member_at(node, twins[i].one);
        if (!one || !member_at(node, twins[i].other))
            continue;
        struct problem *p = report_error(report, one->place, twins[i].one, "%s and %s say the same",
                                         twins[i].one, twins[i].other);
        report_hint(report, p, "one of them");
    }
    return report->errors > errors ? -1 : 0;
}

static int refuse_parts(const struct text_node *node, const struct entry *entry,
                        struct report *report)
{
    for (size_t i = 0; i < entry->cells.n; i++) {
        if (entry->cells.at[i].milli % 1000 == 0)
            continue;
        const struct text_node *cell = text_get(text_get(node, "cells"), entry->cells.at[i].name);
        struct problem *p = report_error(report, cell ? cell->place : node->place, "cells",
                                         "cells of %.60s: only whole ones can be guaranteed",
                                         entry->cells.at[i].name);
        report_hint(report, p, "a whole number");
        return -1;
    }
    return 0;
}

static int decode_as(struct arena *arena, const struct text_node *node, struct entry *out,
                     struct report *report)
{
    const struct field *fields = fields_of(out->kind);
    field_init(fields, out);
    if (field_decode(arena, node, fields, out, "", report))
        return -1;
    if (out->path && out->path[0] != '/') {
        struct problem *p =
            report_error(report, text_get(node, "path")->place, "path", "is no absolute path");
        report_hint(report, p, "/%s", out->path);
        return -1;
    }
    if (out->strategy && strcmp(out->strategy, "round-robin") == 0)
        out->strategy = "round_robin";
    if (fields != quota_fields && fields != cluster_fields)
        return 0;
    return refuse_twins(node, report) || refuse_parts(node, out, report) ? -1 : 0;
}

static int decode_one(struct arena *arena, const struct text_node *node, struct entry *out,
                      struct report *report)
{
    enum entry_kind kind;
    if (!is_entry(node, &kind)) {
        struct problem *p = report_error(report, node->place, "", "declares nothing");
        report_hint(report, p, "kind: dataset");
        return -1;
    }
    *out = (struct entry){ .kind = kind };
    return decode_as(arena, node, out, report);
}

static void refuse_twice(const struct text_node *node, const struct entry *at, size_t n,
                         struct report *report)
{
    for (size_t i = 0; i < n; i++)
        if (at[i].kind == at[n].kind && strcmp(at[i].name, at[n].name) == 0)
            report_error(report, node->place, "name", "%s \"%.100s\" is declared twice",
                         entry_shown(at[n].kind), at[n].name);
}

int entries_decode(struct arena *arena, const struct text_node *root, struct entry **out, size_t *n,
                   struct report *report)
{
    bool list = root->kind == TEXT_LIST;
    size_t errors = report->errors;
    *out = ARENA_ARRAY(arena, list ? root->count : 1, struct entry);
    *n = 0;
    for (const struct text_node *node = list ? root->first : root; node;
         node = list ? node->next : NULL) {
        if (decode_one(arena, node, &(*out)[*n], report))
            continue;
        refuse_twice(node, *out, *n, report);
        (*n)++;
    }
    return report->errors > errors ? -1 : 0;
}

int entries_decode_queues(struct arena *arena, const struct text_node *list, struct entry **out,
                          size_t *n, struct report *report)
{
    size_t errors = report->errors;
    *out = ARENA_ARRAY(arena, list->count, struct entry);
    *n = 0;
    for (const struct text_node *node = list->first; node; node = node->next) {
        struct text_node *map = text_map(arena, NULL, NULL);
        if (node->kind == TEXT_MAP)
            map = text_copy(arena, NULL, NULL, node);
        else
            text_copy(arena, map, "name", node);
        map->place = node->place;
        if (!text_get(map, "kind"))
            text_str(arena, map, "kind", entry_word(ENTRY_QUOTA));
        if (decode_one(arena, map, &(*out)[*n], report))
            continue;
        enum entry_kind kind = (*out)[*n].kind;
        if (kind != ENTRY_QUOTA && kind != ENTRY_VIRTUAL_CLUSTER) {
            struct problem *p =
                report_error(report, node->place, "kind", "%s \"%.100s\" is no queue",
                             entry_shown(kind), (*out)[*n].name);
            report_hint(report, p, "kind: quota, or leave it out");
            continue;
        }
        refuse_twice(node, *out, *n, report);
        (*n)++;
    }
    return report->errors > errors ? -1 : 0;
}

struct text_node *entry_encode(struct arena *arena, struct text_node *parent,
                               const struct entry *entry)
{
    return field_encode(arena, parent, NULL, fields_of(entry->kind), entry);
}

/* ---- what a server knows ---- */

struct catalogue {
    struct arena *arena;
    struct string_map *by_name; /* "kind/name" -> struct entry */
};

struct catalogue *catalogue_create(void)
{
    struct catalogue *c = mem_new(sizeof *c);
    c->arena = arena_create();
    c->by_name = string_map_create();
    return c;
}

void catalogue_destroy(struct catalogue *c)
{
    if (!c)
        return;
    string_map_destroy(c->by_name);
    arena_destroy(c->arena);
    free(c);
}

static void key_of(char out[KEY_MAX], enum entry_kind kind, const char *name)
{
    snprintf(out, KEY_MAX, "%s/%.*s", entry_word(kind), ENTRY_NAME_MAX, name);
}

static const char *kept(struct catalogue *c, const char *text)
{
    return text ? arena_strdup(c->arena, text) : NULL;
}

void catalogue_put(struct catalogue *c, const struct entry *entry)
{
    char key[KEY_MAX];
    struct entry *own = ARENA_ARRAY(c->arena, 1, struct entry);
    *own = *entry;
    own->name = kept(c, entry->name);
    own->description = kept(c, entry->description);
    own->owner = kept(c, entry->owner);
    own->gpu_type = kept(c, entry->gpu_type);
    own->uri = kept(c, entry->uri);
    own->path = kept(c, entry->path);
    own->at = kept(c, entry->at);
    own->queue = kept(c, entry->queue);
    own->parent = kept(c, entry->parent);
    own->strategy = kept(c, entry->strategy);
    own->cells.at = ARENA_ARRAY(c->arena, entry->cells.n, struct amount);
    for (size_t i = 0; i < entry->cells.n; i++)
        own->cells.at[i] = (struct amount){ .name = kept(c, entry->cells.at[i].name),
                                            .milli = entry->cells.at[i].milli };
    own->labels = (struct pairs){ .at = NULL };
    for (size_t i = 0; i < entry->labels.n; i++)
        pairs_set(&own->labels, c->arena, entry->labels.at[i].name, entry->labels.at[i].value);
    key_of(key, own->kind, own->name);
    string_map_set(c->by_name, key, own);
}

struct catalogue *catalogue_copy(const struct catalogue *c)
{
    struct catalogue *other = catalogue_create();
    size_t cursor = 0;
    const char *key;
    void *value;
    while (string_map_next(c->by_name, &cursor, &key, &value))
        catalogue_put(other, value);
    return other;
}

const struct entry *catalogue_find(const struct catalogue *c, enum entry_kind kind,
                                   const char *name)
{
    char key[KEY_MAX];
    if (!c || strlen(name) > ENTRY_NAME_MAX)
        return NULL;
    key_of(key, kind, name);
    return string_map_get(c->by_name, key);
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;
    return strcmp(x->name, y->name);
}

const struct entry **catalogue_list(const struct catalogue *c, struct arena *arena,
                                    enum entry_kind kind, size_t *n)
{
    size_t cursor = 0;
    const char *key;
    void *value;
    const struct entry **at =
        ARENA_ARRAY(arena, c ? string_map_count(c->by_name) : 0, const struct entry *);
    *n = 0;
    while (c && string_map_next(c->by_name, &cursor, &key, &value)) {
        const struct entry *entry = value;
        if (entry->kind == kind)
            at[(*n)++] = entry;
    }
    if (*n)
        qsort(at, *n, sizeof(struct entry *), by_name);
    return at;
}

const char *catalogue_near(const struct catalogue *c, enum entry_kind kind, const char *name)
{
    const char *names[NEAR_MAX], *near = NULL;
    struct arena *arena = arena_create();
    size_t n;
    const struct entry **at = catalogue_list(c, arena, kind, &n);
    for (size_t i = 0; i < n && i < NEAR_MAX; i++)
        names[i] = at[i]->name;
    near = scan_nearest(name, names, n < NEAR_MAX ? n : NEAR_MAX);
    arena_destroy(arena);
    return near;
}
