/* Strict decoding of a text tree into a struct by its field table. Everything is checked and all
 * problems are reported with their places; the struct is filled as far as values are right. Texts
 * are copied into the arena. */
#include "job/field.h"

#include "job/field_value.h"

#include <string.h>

enum { AMOUNTS_MAX = 64, ARGUMENT_MAX = 131071 /* the kernel's bound for one argument */ };

typedef int decoder(const struct field_context *, const struct field *, const struct text_node *,
                    void *base);
static int decode_table(const struct field_context *, const struct field *table,
                        const struct text_node *, void *base);
static int decode_rows(const struct field_context *, const struct field *table,
                       const struct text_node *, void *base);

/* ---- many ---- */

static int too_many(const struct field_context *in, const struct field *f,
                    const struct text_node *node)
{
    if (f->max == 0 || node->count <= f->max)
        return 0;
    struct problem *p = field_problem(in, node, "has %zu entries, the most are %llu", node->count,
                                      (unsigned long long)f->max);
    report_hint(in->report, p, "%llu or fewer", (unsigned long long)f->max);
    return -1;
}

/* One element's own row: the list's rules for characters, the default bounds of a text. */
static int decode_item(const struct field_context *in, const struct field *f,
                       const struct text_node *node, const char **into)
{
    bool args = f->flags & FIELD_ARGS;
    struct field item = { .type = FIELD_TEXT,
                          .min = !args,
                          .max = args ? ARGUMENT_MAX : 0,
                          .chars = f->chars,
                          .doc = "text" };
    return field_decode_text(in, &item, node, into);
}

static int decode_words(const struct field_context *in, const struct field *f,
                        const struct text_node *node, void *base)
{
    struct words words = { .n = 0 };
    int rc = 0;
    if (node->kind == TEXT_LIST) {
        if (too_many(in, f, node) != 0)
            return -1;
        words.at = ARENA_ARRAY(in->arena, node->count, const char *);
        for (const struct text_node *item = node->first; item; item = item->next) {
            struct field_position at = { .up = in->at, .index = words.n };
            struct field_context inner = { .arena = in->arena, .report = in->report, .at = &at };
            rc |= decode_item(&inner, f, item, &words.at[words.n++]);
        }
    } else if ((f->flags & FIELD_ONE) && node->kind != TEXT_MAP) {
        words.at = ARENA_ARRAY(in->arena, 1, const char *);
        rc = decode_item(in, f, node, &words.at[words.n++]);
    } else {
        return field_wrong_kind(in, f, node);
    }
    if (rc == 0)
        *(struct words *)(void *)((char *)base + f->offset) = words;
    return rc;
}

static int decode_pairs(const struct field_context *in, const struct field *f,
                        const struct text_node *node, void *base)
{
    const struct field value = { .type = FIELD_TEXT, .max = 131072, .doc = "text" };
    struct pairs pairs = { .n = 0 };
    int rc = 0;
    if (node->kind != TEXT_MAP)
        return field_wrong_kind(in, f, node);
    if (too_many(in, f, node) != 0)
        return -1;
    for (const struct text_node *item = node->first; item; item = item->next) {
        struct field_position at = { .up = in->at, .key = item->key };
        struct field_context inner = { .arena = in->arena, .report = in->report, .at = &at };
        const char *text = "";
        if (f->chars && !f->chars->ok(item->key)) {
            struct problem *p =
                report_error(in->report, item->key_place, "", "\"%.*s\" is no name here",
                             FIELD_SHOWN_MAX, item->key);
            report_hint(in->report, p, "%s", f->chars->wanted);
            rc = -1;
        }
        if (item->kind != TEXT_NULL)
            rc |= field_decode_text(&inner, &value, item, &text);
        pairs_set(&pairs, in->arena, item->key, text);
    }
    if (rc == 0)
        *(struct pairs *)(void *)((char *)base + f->offset) = pairs;
    return rc;
}

static int amount_add(const struct field_context *in, const struct field *f,
                      const struct text_node *item, struct amounts *amounts)
{
    struct field_position at = { .up = in->at, .key = item->key };
    struct field_context inner = { .arena = in->arena, .report = in->report, .at = &at };
    struct field value = { .type = FIELD_MILLI,
                           .offset = offsetof(struct amount, milli),
                           .size = sizeof(uint64_t),
                           .unit = f->unit };
    struct amount amount = { .name = arena_strdup(in->arena, item->key) };
    if (amounts->n >= AMOUNTS_MAX) {
        report_hint(in->report, field_problem(in, item, "has more than %d names", AMOUNTS_MAX),
                    "%d names or fewer", AMOUNTS_MAX);
        return -1;
    }
    if (field_check_chars(&inner, f, item, item->key) != 0 ||
        field_decode_milli(&inner, &value, item, &amount) != 0)
        return -1;
    struct amount *at_new = ARENA_ARRAY(in->arena, amounts->n + 1, struct amount);
    if (amounts->n > 0)
        memcpy(at_new, amounts->at, amounts->n * sizeof *at_new);
    at_new[amounts->n++] = amount;
    amounts->at = at_new;
    return 0;
}

static int decode_amounts(const struct field_context *in, const struct field *f,
                          const struct text_node *node, void *base)
{
    struct amounts *amounts = (struct amounts *)(void *)((char *)base + f->offset);
    int rc = 0;
    if (node->kind != TEXT_MAP)
        return field_wrong_kind(in, f, node);
    if (too_many(in, f, node) != 0)
        return -1;
    for (const struct text_node *item = node->first; item; item = item->next)
        rc |= amount_add(in, f, item, amounts);
    return rc;
}

/* ---- structs ---- */

static int decode_brief(const struct field_context *in, const struct field *f,
                        const struct text_node *node, void *struct_base)
{
    if (f->flags & FIELD_OPEN)
        return decode_rows(in, f->table, node, struct_base);
    if (node->kind == TEXT_MAP || !f->brief)
        return decode_table(in, f->table, node, struct_base);
    return field_value_decode(in, field_find(f->table, f->brief), node, struct_base);
}

static int decode_object(const struct field_context *in, const struct field *f,
                         const struct text_node *node, void *base)
{
    return decode_brief(in, f, node, (char *)base + f->offset);
}

static void element_begin(const struct field *f, const struct text_node *item, char *element)
{
    field_init(f->table, element);
    if (f->place_offset)
        *(struct place *)(void *)(element + f->place_offset) = item->place;
}

static int decode_list(const struct field_context *in, const struct field *f,
                       const struct text_node *node, void *base)
{
    int rc = 0;
    if (node->kind != TEXT_LIST)
        return field_wrong_kind(in, f, node);
    if (too_many(in, f, node) != 0)
        return -1;
    char *elements = arena_array(in->arena, node->count, f->element);
    size_t n = 0;
    for (const struct text_node *item = node->first; item; item = item->next, n++) {
        struct field_position at = { .up = in->at, .index = n };
        struct field_context inner = { .arena = in->arena, .report = in->report, .at = &at };
        element_begin(f, item, elements + n * f->element);
        rc |= decode_brief(&inner, f, item, elements + n * f->element);
    }
    field_put_pointer((char *)base + f->offset, elements);
    field_put_n(f, base, n);
    return rc;
}

static int decode_map(const struct field_context *in, const struct field *f,
                      const struct text_node *node, void *base)
{
    int rc = 0;
    if (node->kind != TEXT_MAP)
        return field_wrong_kind(in, f, node);
    if (too_many(in, f, node) != 0)
        return -1;
    char *elements = arena_array(in->arena, node->count, f->element);
    size_t n = 0;
    for (const struct text_node *item = node->first; item; item = item->next, n++) {
        struct field_position at = { .up = in->at, .key = item->key };
        struct field_context inner = { .arena = in->arena, .report = in->report, .at = &at };
        char *element = elements + n * f->element;
        struct text_node key = { .kind = TEXT_STR, .place = item->key_place };
        element_begin(f, item, element);
        field_put_pointer(element + f->key_offset, arena_strdup(in->arena, item->key));
        rc |= field_check_chars(&inner, f, &key, item->key);
        if (item->kind != TEXT_NULL)
            rc |= decode_brief(&inner, f, item, element);
    }
    field_put_pointer((char *)base + f->offset, elements);
    field_put_n(f, base, n);
    return rc;
}

static int decode_tree(const struct field_context *in, const struct field *f,
                       const struct text_node *node, void *base)
{
    field_put_pointer((char *)base + f->offset, text_copy(in->arena, NULL, NULL, node));
    return 0;
}

static int decode_custom(const struct field_context *in, const struct field *f,
                         const struct text_node *node, void *base)
{
    struct field_context own = *in;
    own.row = f;
    return f->hooks->decode(&own, node, base);
}

int field_value_decode(const struct field_context *in, const struct field *f,
                       const struct text_node *node, void *base)
{
    static decoder *const decoders[FIELD_TYPE_N] = {
        [FIELD_TEXT] = field_decode_text,
        [FIELD_BOOL] = field_decode_bool,
        [FIELD_U32] = field_decode_number,
        [FIELD_U64] = field_decode_number,
        [FIELD_INT] = field_decode_int,
        [FIELD_MILLI] = field_decode_milli,
        [FIELD_SIZE] = field_decode_size,
        [FIELD_DURATION] = field_decode_duration,
        [FIELD_MAYBE_DURATION] = field_decode_maybe_duration,
        [FIELD_ENUM] = field_decode_word,
        [FIELD_WORD] = field_decode_word,
        [FIELD_WORDS] = decode_words,
        [FIELD_PAIRS] = decode_pairs,
        [FIELD_COUNT] = field_decode_count,
        [FIELD_AMOUNTS] = decode_amounts,
        [FIELD_OBJECT] = decode_object,
        [FIELD_LIST] = decode_list,
        [FIELD_MAP] = decode_map,
        [FIELD_TREE] = decode_tree,
        [FIELD_CUSTOM] = decode_custom,
    };
    decoder *decode = decoders[f->type];
    if (!decode)
        return field_wrong_kind(in, f, node);
    if (decode(in, f, node, base) != 0)
        return -1;
    if (f->has_offset)
        *(bool *)((char *)base + f->has_offset) = true;
    return 0;
}

/* Members that no row names: into the row that takes the rest unless a misspelt name is more
 * likely, else problems. */
static int decode_others(const struct field_context *in, const struct field *table,
                         const struct text_node *node, void *base)
{
    const struct field *rest = table;
    int rc = 0;
    while (rest->name && !(rest->flags & FIELD_REST))
        rest++;
    for (const struct text_node *item = node->first; item; item = item->next) {
        if (field_find(table, item->key) || in->report->errors >= REPORT_MAX)
            continue;
        const char *near = field_near(table, item->key);
        if (rest->name && !near) {
            rc |=
                amount_add(in, rest, item, (struct amounts *)(void *)((char *)base + rest->offset));
            continue;
        }
        field_unknown_near(in, item, near, near && !text_get(node, near));
        rc = -1;
    }
    return rc;
}

static int decode_rows(const struct field_context *in, const struct field *table,
                       const struct text_node *node, void *base)
{
    int rc = 0;
    if (node->kind != TEXT_MAP) {
        struct problem *p = field_bad_value(in, node, "%s, not a map", field_show(node).text);
        report_hint(in->report, p, "a map");
        return -1;
    }
    for (const struct field *f = table; f->name; f++) {
        const struct text_node *member = f->flags & FIELD_REST ? NULL : text_get(node, f->name);
        struct field_position at = { .up = in->at, .key = f->name };
        struct field_context inner = { .arena = in->arena, .report = in->report, .at = &at };
        if (member && member->kind != TEXT_NULL) {
            rc |= field_value_decode(&inner, f, member, base);
        } else if (f->flags & FIELD_REQUIRED) {
            struct problem *p = field_bad_value(&inner, node, "missing");
            report_hint(in->report, p, "%s: %s", f->name, f->doc);
            rc = -1;
        }
    }
    return rc;
}

static int decode_table(const struct field_context *in, const struct field *table,
                        const struct text_node *node, void *base)
{
    int rc = decode_rows(in, table, node, base);
    return node->kind == TEXT_MAP ? decode_others(in, table, node, base) | rc : rc;
}

int field_decode(struct arena *arena, const struct text_node *node, const struct field *table,
                 void *into, const char *path, struct report *report)
{
    struct field_position root = { .key = path };
    struct field_context in = { .arena = arena, .report = report, .at = *path ? &root : NULL };
    return decode_table(&in, table, node, into);
}
