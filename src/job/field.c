/* Rows of field tables: finding them, giving every member its default, telling whether it still has
 * it, and the words that messages about them are made of. */
#include "job/field.h"

#include "job/field_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct field *field_find(const struct field *table, const char *name)
{
    for (const struct field *f = table; f->name; f++)
        if (!(f->flags & FIELD_REST) && strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* ---- defaults ---- */

static void init_one(const struct field *f, void *base)
{
    char *member = (char *)base + f->offset;
    switch (f->type) {
    case FIELD_TEXT:
    case FIELD_WORD: field_put_pointer(member, f->def_text); break;
    case FIELD_BOOL:
    case FIELD_ENUM:
    case FIELD_U32:
    case FIELD_U64:
    case FIELD_INT:
    case FIELD_MILLI:
    case FIELD_SIZE:
    case FIELD_DURATION:
    case FIELD_TIME:
    case FIELD_ID: field_put_number(f, base, f->def); break;
    case FIELD_COUNT: *(struct count *)(void *)member = field_default_count(f); break;
    case FIELD_OBJECT: field_init(f->table, member); break;
    case FIELD_CUSTOM:
        if (f->hooks->init)
            f->hooks->init(base);
        break;
    case FIELD_LIST:
    case FIELD_MAP:
        field_put_pointer(member, NULL);
        field_put_n(f, base, 0);
        break;
    default: memset(member, 0, f->size); break;
    }
    if (f->has_offset)
        *(bool *)((char *)base + f->has_offset) = false;
}

void field_init(const struct field *table, void *base)
{
    for (const struct field *f = table; f->name; f++)
        init_one(f, base);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool table_is_default(const struct field *table, const void *base)
{
    for (const struct field *f = table; f->name; f++)
        if ((f->flags & FIELD_ALWAYS) || !field_is_default(f, base))
            return false;
    return true;
}

static bool count_is_default(const struct field *f, const struct count *count)
{
    struct count def = field_default_count(f);
    return count->kind == COUNT_UNSET ||
           (count->kind == def.kind && (def.kind != COUNT_NUMBER || count->n == def.n));
}

bool field_is_default(const struct field *f, const void *base)
{
    const char *member = (const char *)base + f->offset;
    if (f->has_offset)
        return !*(const bool *)((const char *)base + f->has_offset);
    switch (f->type) {
    case FIELD_TEXT:
    case FIELD_WORD:
        return !field_get_pointer(member) || same_text(field_get_pointer(member), f->def_text);
    case FIELD_MAYBE_DURATION: return !((const struct opt_u64 *)(const void *)member)->has;
    case FIELD_COUNT: return count_is_default(f, (const struct count *)(const void *)member);
    case FIELD_WORDS: return ((const struct words *)(const void *)member)->n == 0;
    case FIELD_PAIRS: return ((const struct pairs *)(const void *)member)->n == 0;
    case FIELD_AMOUNTS: return ((const struct amounts *)(const void *)member)->n == 0;
    case FIELD_OBJECT: return table_is_default(f->table, member);
    case FIELD_LIST:
    case FIELD_MAP: return field_get_n(f, base) == 0;
    case FIELD_TREE: return field_get_pointer(member) == NULL;
    case FIELD_CUSTOM: return f->hooks->is_default && f->hooks->is_default(base);
    default: return field_get_number(f, base) == f->def;
    }
}

const char *field_count_word(const struct field *f)
{
    return f->counts & FIELD_FOR_EVER ? "always"
           : f->counts & FIELD_ALL    ? "all"
           : f->counts & FIELD_AT_END ? "at_end"
                                      : NULL;
}

struct count field_default_count(const struct field *f)
{
    if (!f->def_text)
        return (struct count){ .kind = COUNT_NUMBER, .n = (uint32_t)f->def };
    bool never = strcmp(f->def_text, "never") == 0;
    return (struct count){ .kind = never ? COUNT_NEVER : COUNT_ALWAYS };
}

/* ---- reading and writing members of any width ---- */

void field_put_pointer(void *member, const void *value)
{
    memcpy(member, &value, sizeof value);
}

const void *field_get_pointer(const void *member)
{
    const void *value;
    memcpy(&value, member, sizeof value);
    return value;
}

size_t field_get_n(const struct field *f, const void *base)
{
    return *(const size_t *)(const void *)((const char *)base + f->n_offset);
}

void field_put_n(const struct field *f, void *base, size_t n)
{
    *(size_t *)(void *)((char *)base + f->n_offset) = n;
}

uint64_t field_get_number(const struct field *f, const void *base)
{
    const void *member = (const char *)base + f->offset;
    uint32_t narrow;
    uint64_t wide;
    if (f->size == sizeof(bool))
        return *(const bool *)member;
    if (f->size == sizeof narrow) {
        memcpy(&narrow, member, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, member, sizeof wide);
    return wide;
}

void field_put_number(const struct field *f, void *base, uint64_t value)
{
    void *member = (char *)base + f->offset;
    uint32_t narrow = (uint32_t)value;
    if (f->size == sizeof(bool))
        *(bool *)member = value != 0;
    else if (f->size == sizeof narrow)
        memcpy(member, &narrow, sizeof narrow);
    else
        memcpy(member, &value, sizeof value);
}

/* ---- paths and messages ---- */

static size_t path_put(char *out, const struct field_position *at)
{
    if (!at)
        return 0;
    size_t len = path_put(out, at->up);
    int n;
    if (at->key)
        n = snprintf(out + len, FIELD_PATH_MAX - len, "%s%.80s", len > 0 && *at->key ? "." : "",
                     at->key);
    else
        n = snprintf(out + len, FIELD_PATH_MAX - len, "[%zu]", at->index);
    size_t room = FIELD_PATH_MAX - len - 1;
    return len + (n < 0 ? 0 : (size_t)n > room ? room : (size_t)n);
}

const char *field_path(char out[FIELD_PATH_MAX], const struct field_position *at)
{
    out[0] = '\0';
    path_put(out, at);
    return out;
}

/* "PATH TEXT", or "PATH VERB TEXT". */
__attribute__((format(printf, 4, 0))) static struct problem *add_problem(
    const struct field_context *in, const struct text_node *node, const char *verb, const char *fmt,
    va_list ap)
{
    char path[FIELD_PATH_MAX], text[512];
    vsnprintf(text, sizeof text, fmt, ap);
    field_path(path, in->at);
    struct problem *p = report_error(in->report, node->place, path, "%s %s%s",
                                     *path ? path : "the job", verb, text);
    if (*path)
        report_rest(in->report, p, text);
    return p;
}

struct problem *field_problem(const struct field_context *in, const struct text_node *node,
                              const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = add_problem(in, node, "", fmt, ap);
    va_end(ap);
    return p;
}

struct problem *field_bad_value(const struct field_context *in, const struct text_node *node,
                                const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct problem *p = add_problem(in, node, "is ", fmt, ap);
    va_end(ap);
    return p;
}

const char *field_wanted(const struct field *f)
{
    static const char *const wanted[FIELD_TYPE_N] = {
        [FIELD_TEXT] = "text",
        [FIELD_BOOL] = "true or false",
        [FIELD_U32] = "a whole number",
        [FIELD_U64] = "a whole number",
        [FIELD_INT] = "a whole number",
        [FIELD_MILLI] = "a number with at most three decimals",
        [FIELD_SIZE] = "a size such as 16Gi, 500M or a number of bytes",
        [FIELD_DURATION] = "a duration such as 90s, 15m, 2h or a number of seconds",
        [FIELD_MAYBE_DURATION] = "a duration such as 90s, 15m, 2h, or none",
        [FIELD_ENUM] = "a word",
        [FIELD_WORD] = "a word",
        [FIELD_WORDS] = "a list of texts",
        [FIELD_PAIRS] = "a map of texts",
        [FIELD_COUNT] = "a number or a word",
        [FIELD_AMOUNTS] = "a map of numbers",
        [FIELD_OBJECT] = "a map",
        [FIELD_LIST] = "a list",
        [FIELD_MAP] = "a map",
        [FIELD_TREE] = "anything",
        [FIELD_TIME] = "a time",
        [FIELD_ID] = "a job id",
        [FIELD_CUSTOM] = "something else",
    };
    if (f->type == FIELD_CUSTOM)
        return f->hooks->value;
    if (f->type == FIELD_WORDS && (f->flags & FIELD_ONE))
        return "text or a list of texts";
    return wanted[f->type];
}
