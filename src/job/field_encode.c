/* A struct as a text tree by its field table: members that have their defaults are left out, so
 * that what is printed is what somebody chose. Decoding the result gives the same struct. */
#include "job/field.h"

#include "base/scan.h"
#include "job/field_value.h"
#include "job/ids.h"

#include <string.h>

typedef void encoder(struct arena *, struct text_node *parent, const char *key,
                     const struct field *, const void *base);
static void encode_value(struct arena *, struct text_node *parent, const char *key,
                         const struct field *, const void *base);

static const void *member_of(const struct field *f, const void *base)
{
    return (const char *)base + f->offset;
}

/* ---- scalars ---- */

static void encode_text(struct arena *arena, struct text_node *parent, const char *key,
                        const struct field *f, const void *base)
{
    const char *value = field_get_pointer(member_of(f, base));
    if (value)
        text_str(arena, parent, key, value);
    else
        text_null(arena, parent, key);
}

static void encode_bool(struct arena *arena, struct text_node *parent, const char *key,
                        const struct field *f, const void *base)
{
    text_bool(arena, parent, key, field_get_number(f, base) != 0);
}

static void encode_number(struct arena *arena, struct text_node *parent, const char *key,
                          const struct field *f, const void *base)
{
    uint64_t value = field_get_number(f, base);
    if (f->type == FIELD_INT)
        text_int(arena, parent, key, (int32_t)(uint32_t)value);
    else
        text_int(arena, parent, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void put_milli(struct arena *arena, struct text_node *parent, const char *key,
                      uint64_t milli)
{
    if (milli % 1000 == 0)
        text_int(arena, parent, key, (int64_t)(milli / 1000));
    else
        text_real(arena, parent, key, (double)milli / 1000);
}

static void encode_milli(struct arena *arena, struct text_node *parent, const char *key,
                         const struct field *f, const void *base)
{
    put_milli(arena, parent, key, field_get_number(f, base));
}

/* With a unit where that says it exactly. */
static void encode_size(struct arena *arena, struct text_node *parent, const char *key,
                        const struct field *f, const void *base)
{
    char text[FMT_MAX];
    uint64_t value = field_get_number(f, base), back = 0;
    fmt_size(text, value);
    bool unit = strspn(text, "0123456789") != strlen(text);
    if (unit && scan_size(text, &back) && back == value)
        text_str(arena, parent, key, text);
    else
        text_int(arena, parent, key, (int64_t)value);
}

static void put_duration(struct arena *arena, struct text_node *parent, const char *key,
                         uint64_t ms)
{
    char text[FMT_MAX];
    uint64_t back = 0;
    if (ms == 0)
        text_int(arena, parent, key, 0);
    else if (scan_duration(fmt_duration(text, ms), &back) && back == ms)
        text_str(arena, parent, key, text);
    else
        text_str(arena, parent, key, arena_printf(arena, "%llums", (unsigned long long)ms));
}

static void encode_duration(struct arena *arena, struct text_node *parent, const char *key,
                            const struct field *f, const void *base)
{
    put_duration(arena, parent, key, field_get_number(f, base));
}

static void encode_maybe_duration(struct arena *arena, struct text_node *parent, const char *key,
                                  const struct field *f, const void *base)
{
    const struct opt_u64 *value = member_of(f, base);
    if (value->has)
        put_duration(arena, parent, key, value->value);
    else
        text_str(arena, parent, key, "none");
}

static void encode_enum(struct arena *arena, struct text_node *parent, const char *key,
                        const struct field *f, const void *base)
{
    uint64_t value = field_get_number(f, base);
    for (const struct field_word *w = f->words; w->word; w++) {
        if (w->value == value) {
            text_str(arena, parent, key, w->word);
            return;
        }
    }
    BUG("%s has no word for %llu", f->name, (unsigned long long)value);
}

static void encode_count(struct arena *arena, struct text_node *parent, const char *key,
                         const struct field *f, const void *base)
{
    struct count count = *(const struct count *)member_of(f, base);
    if (count.kind == COUNT_UNSET)
        count = field_default_count(f);
    if (count.kind == COUNT_NUMBER)
        text_int(arena, parent, key, count.n);
    else if (count.kind == COUNT_NEVER)
        text_str(arena, parent, key, "never");
    else
        text_str(arena, parent, key, field_count_word(f));
}

static void encode_time(struct arena *arena, struct text_node *parent, const char *key,
                        const struct field *f, const void *base)
{
    char text[FMT_MAX];
    uint64_t value = field_get_number(f, base);
    if (value)
        text_str(arena, parent, key, fmt_time(text, value));
    else
        text_null(arena, parent, key);
}

static void encode_id(struct arena *arena, struct text_node *parent, const char *key,
                      const struct field *f, const void *base)
{
    char text[JOB_ID_TEXT];
    uint64_t value = field_get_number(f, base);
    if (value)
        text_str(arena, parent, key, job_id_format(text, value));
    else
        text_null(arena, parent, key);
}

/* ---- many ---- */

static void encode_words(struct arena *arena, struct text_node *parent, const char *key,
                         const struct field *f, const void *base)
{
    const struct words *words = member_of(f, base);
    if ((f->flags & FIELD_ONE) && words->n == 1) {
        text_str(arena, parent, key, words->at[0]);
        return;
    }
    struct text_node *list = text_list(arena, parent, key);
    for (size_t i = 0; i < words->n; i++)
        text_str(arena, list, NULL, words->at[i]);
}

static void encode_pairs(struct arena *arena, struct text_node *parent, const char *key,
                         const struct field *f, const void *base)
{
    text_pairs(arena, text_map(arena, parent, key), member_of(f, base));
}

/* The rest of an object: beside its other members; a name that would be taken for a misspelt one
 * needs no care, since decoding refused it and job_check does. */
static void encode_amounts(struct arena *arena, struct text_node *parent, const char *key,
                           const struct field *f, const void *base)
{
    const struct amounts *amounts = member_of(f, base);
    struct text_node *map = f->flags & FIELD_REST ? parent : text_map(arena, parent, key);
    for (size_t i = 0; i < amounts->n; i++)
        put_milli(arena, map, amounts->at[i].name, amounts->at[i].milli);
}

/* ---- structs ---- */

static bool brief_is_enough(const struct field *f, const void *base)
{
    if (!f->brief)
        return false;
    const struct field *brief = field_find(f->table, f->brief);
    if (brief->type == FIELD_CUSTOM && field_is_default(brief, base)) /* nothing to write */
        return false;
    for (const struct field *m = f->table; m->name; m++)
        if (strcmp(m->name, f->brief) != 0 && !field_is_default(m, base))
            return false;
    return true;
}

static void encode_struct(struct arena *arena, struct text_node *parent, const char *key,
                          const struct field *f, const void *base)
{
    if (brief_is_enough(f, base))
        encode_value(arena, parent, key, field_find(f->table, f->brief), base);
    else
        field_encode(arena, parent, key, f->table, base);
}

static void encode_object(struct arena *arena, struct text_node *parent, const char *key,
                          const struct field *f, const void *base)
{
    encode_struct(arena, parent, key, f, member_of(f, base));
}

static void encode_list(struct arena *arena, struct text_node *parent, const char *key,
                        const struct field *f, const void *base)
{
    const char *elements = field_get_pointer(member_of(f, base));
    struct text_node *list = text_list(arena, parent, key);
    for (size_t i = 0; i < field_get_n(f, base); i++)
        encode_struct(arena, list, NULL, f, elements + i * f->element);
}

static void encode_map(struct arena *arena, struct text_node *parent, const char *key,
                       const struct field *f, const void *base)
{
    const char *elements = field_get_pointer(member_of(f, base));
    struct text_node *map = text_map(arena, parent, key);
    for (size_t i = 0; i < field_get_n(f, base); i++) {
        const char *element = elements + i * f->element;
        encode_struct(arena, map, field_get_pointer(element + f->key_offset), f, element);
    }
}

static void encode_tree(struct arena *arena, struct text_node *parent, const char *key,
                        const struct field *f, const void *base)
{
    const struct text_node *node = field_get_pointer(member_of(f, base));
    if (node)
        text_copy(arena, parent, key, node);
    else
        text_null(arena, parent, key);
}

static void encode_custom(struct arena *arena, struct text_node *parent, const char *key,
                          const struct field *f, const void *base)
{
    f->hooks->encode(arena, parent, key, base);
}

static void encode_value(struct arena *arena, struct text_node *parent, const char *key,
                         const struct field *f, const void *base)
{
    static encoder *const encoders[FIELD_TYPE_N] = {
        [FIELD_TEXT] = encode_text,
        [FIELD_BOOL] = encode_bool,
        [FIELD_U32] = encode_number,
        [FIELD_U64] = encode_number,
        [FIELD_INT] = encode_number,
        [FIELD_MILLI] = encode_milli,
        [FIELD_SIZE] = encode_size,
        [FIELD_DURATION] = encode_duration,
        [FIELD_MAYBE_DURATION] = encode_maybe_duration,
        [FIELD_ENUM] = encode_enum,
        [FIELD_WORD] = encode_text,
        [FIELD_WORDS] = encode_words,
        [FIELD_PAIRS] = encode_pairs,
        [FIELD_COUNT] = encode_count,
        [FIELD_AMOUNTS] = encode_amounts,
        [FIELD_OBJECT] = encode_object,
        [FIELD_LIST] = encode_list,
        [FIELD_MAP] = encode_map,
        [FIELD_TREE] = encode_tree,
        [FIELD_TIME] = encode_time,
        [FIELD_ID] = encode_id,
        [FIELD_CUSTOM] = encode_custom,
    };
    encoders[f->type](arena, parent, key, f, base);
}

struct text_node *field_encode(struct arena *arena, struct text_node *parent, const char *key,
                               const struct field *table, const void *base)
{
    struct text_node *map = text_map(arena, parent, key);
    for (const struct field *f = table; f->name; f++)
        if ((f->flags & (FIELD_ALWAYS | FIELD_REQUIRED)) || !field_is_default(f, base))
            encode_value(arena, map, f->name, f, base);
    return map;
}
