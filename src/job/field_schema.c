/* JSON Schema (draft 2020-12) of an object from its field table. The schema accepts what
 * field_decode accepts as far as a schema can say it; rules across fields stay with the decoder. */
#include "job/field.h"

#include "job/field_value.h"

static void schema_of(struct arena *, struct text_node *into, const struct field *);

static struct text_node *branch(struct arena *arena, struct text_node *list)
{
    return text_map(arena, list, NULL);
}

static void type_is(struct arena *arena, struct text_node *into, const char *type)
{
    text_str(arena, into, "type", type);
}

/* ---- scalars ---- */

static void schema_text(struct arena *arena, struct text_node *into, const struct field *f)
{
    struct text_node *types = text_list(arena, into, "type");
    text_str(arena, types, NULL, "string");
    text_str(arena, types, NULL, "number");
    text_str(arena, types, NULL, "boolean");
    if (f->min)
        text_int(arena, into, "minLength", (int64_t)f->min);
    if (f->max)
        text_int(arena, into, "maxLength", (int64_t)f->max);
    if (f->chars && f->chars->pattern)
        text_str(arena, into, "pattern", f->chars->pattern);
}

static void schema_number(struct arena *arena, struct text_node *into, const struct field *f)
{
    type_is(arena, into, "integer");
    if (f->type == FIELD_INT)
        return;
    text_int(arena, into, "minimum", (int64_t)f->min);
    if (f->max)
        text_int(arena, into, "maximum", (int64_t)f->max);
}

static void schema_milli(struct arena *arena, struct text_node *into, const struct field *f)
{
    struct text_node *any = text_list(arena, into, "anyOf");
    struct text_node *number = branch(arena, any);
    type_is(arena, number, "number");
    text_real(arena, number, "minimum", (double)f->min / 1000);
    if (f->max)
        text_real(arena, number, "maximum", (double)f->max / 1000);
    struct text_node *text = branch(arena, any);
    type_is(arena, text, "string");
    text_str(arena, text, "pattern", "^[0-9]+(\\.[0-9]{1,3}|m)?$");
}

static void number_or_pattern(struct arena *arena, struct text_node *into, const char *type,
                              const char *pattern)
{
    struct text_node *any = text_list(arena, into, "anyOf");
    struct text_node *number = branch(arena, any);
    type_is(arena, number, type);
    text_int(arena, number, "minimum", 0);
    struct text_node *text = branch(arena, any);
    type_is(arena, text, "string");
    text_str(arena, text, "pattern", pattern);
}

static void schema_size(struct arena *arena, struct text_node *into, const struct field *f)
{
    (void)f;
    number_or_pattern(arena, into, "integer", "^[0-9]+(\\.[0-9]+)?([kKMGTPE]i?)?B?$");
}

static void schema_duration(struct arena *arena, struct text_node *into, const struct field *f)
{
    number_or_pattern(arena, into, "number",
                      f->type == FIELD_DURATION ? "^([0-9.]+(ms|s|m|h|d)?)+$"
                                                : "^(none|([0-9.]+(ms|s|m|h|d)?)+)$");
}

static void schema_words_of(struct arena *arena, struct text_node *into, const struct field *f)
{
    struct text_node *words = text_list(arena, into, "enum");
    for (const struct field_word *w = f->words; w->word; w++)
        text_str(arena, words, NULL, w->word);
}

static void schema_count(struct arena *arena, struct text_node *into, const struct field *f)
{
    struct text_node *any = text_list(arena, into, "anyOf");
    struct text_node *number = branch(arena, any);
    type_is(arena, number, "integer");
    text_int(arena, number, "minimum", (int64_t)f->min);
    struct text_node *words = text_list(arena, branch(arena, any), "enum");
    if (f->counts & FIELD_NEVER)
        text_str(arena, words, NULL, "never");
    if (field_count_word(f))
        text_str(arena, words, NULL, field_count_word(f));
}

/* ---- many ---- */

static void text_item(struct arena *arena, struct text_node *into, const struct field *f)
{
    struct field item = { .type = FIELD_TEXT, .min = 1, .chars = f->chars };
    schema_text(arena, into, &item);
}

static void schema_words(struct arena *arena, struct text_node *into, const struct field *f)
{
    struct text_node *list = into;
    if (f->flags & FIELD_ONE) {
        struct text_node *any = text_list(arena, into, "anyOf");
        text_item(arena, branch(arena, any), f);
        list = branch(arena, any);
    }
    type_is(arena, list, "array");
    text_item(arena, text_map(arena, list, "items"), f);
    if (f->max)
        text_int(arena, list, "maxItems", (int64_t)f->max);
}

static void schema_names(struct arena *arena, struct text_node *into, const struct field *f)
{
    type_is(arena, into, "object");
    if (f->max)
        text_int(arena, into, "maxProperties", (int64_t)f->max);
    if (f->chars && f->chars->pattern)
        text_str(arena, text_map(arena, into, "propertyNames"), "pattern", f->chars->pattern);
}

static void schema_pairs(struct arena *arena, struct text_node *into, const struct field *f)
{
    static const struct field value = { .type = FIELD_TEXT };
    schema_names(arena, into, f);
    schema_text(arena, text_map(arena, into, "additionalProperties"), &value);
}

static void schema_amounts(struct arena *arena, struct text_node *into, const struct field *f)
{
    static const struct field value = { .type = FIELD_MILLI };
    schema_names(arena, into, f);
    schema_milli(arena, text_map(arena, into, "additionalProperties"), &value);
}

/* ---- structs ---- */

static void schema_table(struct arena *arena, struct text_node *into, const struct field *table)
{
    type_is(arena, into, "object");
    struct text_node *properties = text_map(arena, into, "properties");
    const struct field *rest = NULL;
    bool required = false;
    for (const struct field *f = table; f->name; f++) {
        required |= (f->flags & FIELD_REQUIRED) != 0;
        if (f->flags & FIELD_REST)
            rest = f;
        else
            schema_of(arena, text_map(arena, properties, f->name), f);
    }
    struct text_node *names = required ? text_list(arena, into, "required") : NULL;
    for (const struct field *f = table; f->name; f++)
        if (f->flags & FIELD_REQUIRED)
            text_str(arena, names, NULL, f->name);
    if (!rest) {
        text_bool(arena, into, "additionalProperties", false);
        return;
    }
    static const struct field value = { .type = FIELD_MILLI };
    struct text_node *others = text_map(arena, into, "additionalProperties");
    text_str(arena, others, "description", rest->doc);
    schema_milli(arena, others, &value);
}

/* The struct, or what stands for it in brief. */
static void schema_struct(struct arena *arena, struct text_node *into, const struct field *f)
{
    if (!f->brief) {
        schema_table(arena, into, f->table);
        return;
    }
    struct text_node *any = text_list(arena, into, "anyOf");
    schema_of(arena, branch(arena, any), field_find(f->table, f->brief));
    schema_table(arena, branch(arena, any), f->table);
}

static void schema_list(struct arena *arena, struct text_node *into, const struct field *f)
{
    type_is(arena, into, "array");
    schema_struct(arena, text_map(arena, into, "items"), f);
    if (f->max)
        text_int(arena, into, "maxItems", (int64_t)f->max);
}

static void schema_map(struct arena *arena, struct text_node *into, const struct field *f)
{
    schema_names(arena, into, f);
    schema_struct(arena, text_map(arena, into, "additionalProperties"), f);
}

static void schema_custom(struct arena *arena, struct text_node *into, const struct field *f)
{
    if (f->hooks->schema)
        f->hooks->schema(arena, into);
}

static void schema_bool(struct arena *arena, struct text_node *into, const struct field *f)
{
    (void)f;
    type_is(arena, into, "boolean");
}

static void schema_stamp(struct arena *arena, struct text_node *into, const struct field *f)
{
    struct text_node *types = text_list(arena, into, "type");
    text_str(arena, types, NULL, "string");
    text_str(arena, types, NULL, "null");
    if (f->type == FIELD_TIME)
        text_str(arena, into, "format", "date-time");
    else
        text_str(arena, into, "pattern", "^[0-9a-z]{13}$");
}

static void schema_default(struct arena *arena, struct text_node *into, const struct field *f)
{
    if (f->type == FIELD_U32 && f->def)
        text_int(arena, into, "default", (int64_t)f->def);
    else if ((f->type == FIELD_TEXT || f->type == FIELD_WORD || f->type == FIELD_COUNT) &&
             f->def_text)
        text_str(arena, into, "default", f->def_text);
    else if (f->type == FIELD_COUNT)
        text_int(arena, into, "default", (int64_t)f->def);
}

static void schema_of(struct arena *arena, struct text_node *into, const struct field *f)
{
    typedef void writer(struct arena *, struct text_node *, const struct field *);
    static writer *const writers[FIELD_TYPE_N] = {
        [FIELD_TEXT] = schema_text,
        [FIELD_BOOL] = schema_bool,
        [FIELD_U32] = schema_number,
        [FIELD_U64] = schema_number,
        [FIELD_INT] = schema_number,
        [FIELD_MILLI] = schema_milli,
        [FIELD_SIZE] = schema_size,
        [FIELD_DURATION] = schema_duration,
        [FIELD_MAYBE_DURATION] = schema_duration,
        [FIELD_ENUM] = schema_words_of,
        [FIELD_WORD] = schema_words_of,
        [FIELD_WORDS] = schema_words,
        [FIELD_PAIRS] = schema_pairs,
        [FIELD_COUNT] = schema_count,
        [FIELD_AMOUNTS] = schema_amounts,
        [FIELD_OBJECT] = schema_struct,
        [FIELD_LIST] = schema_list,
        [FIELD_MAP] = schema_map,
        [FIELD_TIME] = schema_stamp,
        [FIELD_ID] = schema_stamp,
        [FIELD_CUSTOM] = schema_custom,
    };
    if (f->doc)
        text_str(arena, into, "description", f->doc);
    if (writers[f->type]) /* a free tree: anything goes */
        writers[f->type](arena, into, f);
    schema_default(arena, into, f);
}

struct text_node *field_schema(struct arena *arena, const struct field *table)
{
    struct text_node *schema = text_map(arena, NULL, NULL);
    schema_table(arena, schema, table);
    return schema;
}
