/* Decoding of single values by their rows: texts, numbers, sizes, times, words. Each checks kind,
 * characters and bounds, and reports what was found with what to write; the member is written only
 * when all is well. */
#include "job/field_value.h"

#include "base/scan.h"
#include "job/field.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_DEFAULT_MAX = 4096 };

/* ---- scalars ---- */

int field_check_chars(const struct field_context *in, const struct field *f,
                      const struct text_node *node, const char *value)
{
    if (!f->chars || f->chars->ok(value))
        return 0;
    struct problem *p = field_bad_value(in, node, "\"%.*s\", wanted are %s", FIELD_SHOWN_MAX, value,
                                        f->chars->wanted);
    report_hint(in->report, p, "%s", f->chars->wanted);
    return -1;
}

/* Any scalar as written; NULL when it is none. */
static const char *scalar_text(struct arena *arena, const struct text_node *node)
{
    if (node->kind == TEXT_LIST || node->kind == TEXT_MAP || node->kind == TEXT_NULL)
        return NULL;
    return node->str ? arena_strdup(arena, node->str) : arena_strdup(arena, field_show(node).text);
}

int field_decode_text(const struct field_context *in, const struct field *f,
                      const struct text_node *node, void *base)
{
    const char *value = scalar_text(in->arena, node);
    if (!value)
        return field_wrong_kind(in, f, node);
    size_t len = strlen(value), max = f->max ? f->max : TEXT_DEFAULT_MAX;
    if (len < f->min) {
        struct problem *p = field_bad_value(in, node, len == 0 ? "empty" : "too short");
        report_hint(in->report, p, "%s", f->doc);
        return -1;
    }
    if (len > max) {
        struct problem *p = field_problem(in, node, "has %zu bytes, the most are %zu", len, max);
        report_hint(in->report, p, "%zu bytes or fewer", max);
        return -1;
    }
    if (field_check_chars(in, f, node, value) != 0)
        return -1;
    field_put_pointer((char *)base + f->offset, value);
    return 0;
}

int field_decode_bool(const struct field_context *in, const struct field *f,
                      const struct text_node *node, void *base)
{
    if (node->kind != TEXT_BOOL)
        return field_wrong_kind(in, f, node);
    field_put_number(f, base, node->boolean);
    return 0;
}

int field_decode_number(const struct field_context *in, const struct field *f,
                        const struct text_node *node, void *base)
{
    uint64_t value, most = f->max ? f->max : f->size == sizeof(uint32_t) ? UINT32_MAX : INT64_MAX;
    if (node->kind == TEXT_STR && scan_u64(node->str, f->min, most, &value))
        return field_quoted_number(in, node);
    if (node->kind != TEXT_INT)
        return field_wrong_kind(in, f, node);
    char bound[FMT_MAX];
    if (node->integer < 0 || (uint64_t)node->integer < f->min) {
        snprintf(bound, sizeof bound, "%llu", (unsigned long long)f->min);
        return field_out_of_bounds(in, f, node, bound, NULL);
    }
    if ((uint64_t)node->integer > most) {
        snprintf(bound, sizeof bound, "%llu", (unsigned long long)most);
        return field_out_of_bounds(in, f, node, NULL, bound);
    }
    field_put_number(f, base, (uint64_t)node->integer);
    return 0;
}

int field_decode_int(const struct field_context *in, const struct field *f,
                     const struct text_node *node, void *base)
{
    if (node->kind != TEXT_INT || node->integer < INT32_MIN || node->integer > INT32_MAX)
        return field_wrong_kind(in, f, node);
    field_put_number(f, base, (uint64_t)node->integer);
    return 0;
}

/* A decimal of at most three places, times 1000. */
static bool to_milli(const struct text_node *node, uint64_t *milli)
{
    const double most = 9e15;
    if (node->kind == TEXT_STR)
        return scan_milli(node->str, milli);
    double value = node->kind == TEXT_INT ? (double)node->integer : node->real;
    if ((node->kind != TEXT_INT && node->kind != TEXT_REAL) || !(value >= 0 && value < most / 1000))
        return false;
    double scaled = round(value * 1000);
    if (fabs(value * 1000 - scaled) > 1e-4)
        return false;
    *milli = (uint64_t)scaled;
    return true;
}

int field_decode_milli(const struct field_context *in, const struct field *f,
                       const struct text_node *node, void *base)
{
    uint64_t value;
    char bound[FMT_MAX];
    if ((node->kind == TEXT_INT && node->integer < 0) ||
        (node->kind == TEXT_REAL && node->real < 0))
        return field_out_of_bounds(in, f, node, fmt_milli(bound, f->min), NULL);
    if (!to_milli(node, &value))
        return field_wrong_kind(in, f, node);
    if (value < f->min)
        return field_out_of_bounds(in, f, node, fmt_milli(bound, f->min), NULL);
    if (f->max && value > f->max)
        return field_out_of_bounds(in, f, node, NULL, fmt_milli(bound, f->max));
    field_put_number(f, base, value);
    return 0;
}

int field_decode_size(const struct field_context *in, const struct field *f,
                      const struct text_node *node, void *base)
{
    uint64_t value = 0;
    char bound[FMT_MAX];
    if (node->kind == TEXT_INT && node->integer >= 0)
        value = (uint64_t)node->integer;
    else if (node->kind == TEXT_INT)
        return field_out_of_bounds(in, f, node, fmt_size(bound, f->min), NULL);
    else if (node->kind != TEXT_STR || !scan_size(node->str, &value) || value > INT64_MAX)
        return field_wrong_kind(in, f, node);
    if (value < f->min)
        return field_out_of_bounds(in, f, node, fmt_size(bound, f->min), NULL);
    if (f->max && value > f->max)
        return field_out_of_bounds(in, f, node, NULL, fmt_size(bound, f->max));
    field_put_number(f, base, value);
    return 0;
}

/* ---- times ---- */

static const double SECONDS_MOST = 1e12;

static bool to_ms(const struct text_node *node, uint64_t *ms)
{
    if (node->kind == TEXT_STR)
        return scan_duration(node->str, ms);
    double seconds = node->kind == TEXT_INT ? (double)node->integer : node->real;
    if ((node->kind != TEXT_INT && node->kind != TEXT_REAL) ||
        !(seconds >= 0 && seconds <= SECONDS_MOST))
        return false;
    *ms = (uint64_t)llround(seconds * 1000);
    return true;
}

int field_decode_duration(const struct field_context *in, const struct field *f,
                          const struct text_node *node, void *base)
{
    uint64_t value;
    char bound[FMT_MAX];
    if (!to_ms(node, &value) || value > (uint64_t)SECONDS_MOST * 1000)
        return field_wrong_kind(in, f, node);
    if (value < f->min)
        return field_out_of_bounds(in, f, node, fmt_duration(bound, f->min), NULL);
    if (f->max && value > f->max)
        return field_out_of_bounds(in, f, node, NULL, fmt_duration(bound, f->max));
    if (f->type == FIELD_DURATION)
        field_put_number(f, base, value);
    else
        *(struct opt_u64 *)(void *)((char *)base + f->offset) =
            (struct opt_u64){ .has = true, .value = value };
    return 0;
}

int field_decode_maybe_duration(const struct field_context *in, const struct field *f,
                                const struct text_node *node, void *base)
{
    if (node->kind != TEXT_STR || strcmp(node->str, "none") != 0)
        return field_decode_duration(in, f, node, base);
    *(struct opt_u64 *)(void *)((char *)base + f->offset) = (struct opt_u64){ .has = false };
    return 0;
}

/* ---- words ---- */

int field_decode_word(const struct field_context *in, const struct field *f,
                      const struct text_node *node, void *base)
{
    const char *names[FIELD_WORDS_MAX];
    size_t n = 0;
    const char *value = node->kind == TEXT_STR || node->kind == TEXT_BOOL ? node->str : NULL;
    for (const struct field_word *w = f->words; w->word && n < FIELD_WORDS_MAX; w++) {
        names[n++] = w->word;
        if (!value || strcmp(w->word, value) != 0)
            continue;
        if (f->type == FIELD_ENUM)
            field_put_number(f, base, w->value);
        else
            field_put_pointer((char *)base + f->offset, w->word);
        return 0;
    }
    return field_wrong_word(in, node, names, n);
}

int field_decode_count(const struct field_context *in, const struct field *f,
                       const struct text_node *node, void *base)
{
    struct count *count = (struct count *)(void *)((char *)base + f->offset);
    const char *names[3];
    size_t n = 0;
    if (node->kind == TEXT_INT && node->integer == 0 && (f->counts & FIELD_NEVER) && f->min == 0) {
        *count = (struct count){ .kind = COUNT_NEVER };
        return 0;
    }
    if (node->kind == TEXT_INT) {
        struct field number = { .type = FIELD_U32,
                                .offset = offsetof(struct count, n),
                                .size = sizeof(uint32_t),
                                .min = f->min,
                                .max = f->max,
                                .unit = f->unit };
        struct count read = { .kind = COUNT_NUMBER };
        if (field_decode_number(in, &number, node, &read) != 0)
            return -1;
        *count = read;
        return 0;
    }
    names[n++] = "a number";
    if (f->counts & FIELD_NEVER)
        names[n++] = "never";
    if (field_count_word(f))
        names[n++] = field_count_word(f);
    for (size_t i = 1; i < n && node->kind == TEXT_STR; i++) {
        if (strcmp(node->str, names[i]) == 0) {
            count->kind = strcmp(names[i], "never") == 0 ? COUNT_NEVER : COUNT_ALWAYS;
            count->n = 0;
            return 0;
        }
    }
    return field_wrong_word(in, node, names, n);
}
