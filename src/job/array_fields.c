/* The array of a job: N, "A-B", "A-B:STEP", each with "%K" behind it as users of Slurm write it, or
 * a map that says the same. */
#include "job/job_fields.h"

#include "base/scan.h"
#include "job/job.h"

#include <string.h>

#define FORM                                                                                         \
    "so many copies: 100; or indices \"1-9\", \"1-9:2\", \"1-9%%3\" (3 at a time); or {count: 100, " \
    "at_once: 10}"

static const struct field map_fields[] = {
    FIELD(U32, "count", struct job_array, count, .flags = FIELD_REQUIRED, .min = 1,
          .max = JOB_ARRAY_MAX, .unit = "jobs", .doc = "members of the array"),
    FIELD(U32, "first", struct job_array, first, .max = JOB_ARRAY_INDEX_MAX,
          .doc = "index of the first member"),
    FIELD(U32, "step", struct job_array, step, .min = 1, .max = JOB_ARRAY_INDEX_MAX, .def = 1,
          .doc = "from one index to the next"),
    FIELD(U32, "at_once", struct job_array, at_once, .max = JOB_ARRAY_MAX, .unit = "members",
          .doc = "so many run at a time, lowest index first; 0: as many as find room"),
    FIELD_END,
};
static const struct field count_field =
    FIELD(U32, "count", struct job_array, count, .max = JOB_ARRAY_MAX, .unit = "jobs");

static struct job_array *array_of(void *base)
{
    return &((struct job_spec *)base)->array;
}

static void init(void *base)
{
    *array_of(base) = (struct job_array){ .step = 1 };
}

/* The number that begins *at, which goes on behind it. */
static bool number(const char **at, uint64_t min, uint64_t max, uint64_t *out)
{
    char digits[16];
    size_t n = strspn(*at, "0123456789");
    if (n == 0 || n >= sizeof digits)
        return false;
    memcpy(digits, *at, n);
    digits[n] = '\0';
    *at += n;
    return scan_u64(digits, min, max, out);
}

/* "1-9:2%3"; false: not of that form, or more than there may be. */
static bool read_range(const char *text, struct job_array *array)
{
    uint64_t first, last, step = 1, at_once = 0;
    if (!number(&text, 0, JOB_ARRAY_INDEX_MAX, &first))
        return false;
    last = first;
    if (*text == '-' && (text++, !number(&text, first, JOB_ARRAY_INDEX_MAX, &last)))
        return false;
    if (*text == ':' && (text++, !number(&text, 1, JOB_ARRAY_INDEX_MAX, &step)))
        return false;
    if (*text == '%' && (text++, !number(&text, 1, JOB_ARRAY_MAX, &at_once)))
        return false;
    uint64_t count = (last - first) / step + 1;
    if (*text || count > JOB_ARRAY_MAX)
        return false;
    *array = (struct job_array){ .count = (uint32_t)count,
                                 .first = (uint32_t)first,
                                 .step = (uint32_t)step,
                                 .at_once = (uint32_t)at_once };
    return true;
}

static int decode(const struct field_context *in, const struct text_node *node, void *base)
{
    struct job_array *array = array_of(base);
    char path[FIELD_PATH_MAX];
    if (node->kind == TEXT_MAP)
        return field_decode(in->arena, node, map_fields, array, field_path(path, in->at),
                            in->report);
    if (node->kind != TEXT_STR)
        return field_value_decode(in, &count_field, node, array);
    if (read_range(node->str, array))
        return 0;
    struct problem *p = field_bad_value(in, node, "no array of at most %u jobs", JOB_ARRAY_MAX);
    report_hint(in->report, p, FORM);
    return -1;
}

static bool is_default(const void *base)
{
    return ((const struct job_spec *)base)->array.count == 0;
}

static void encode(struct arena *arena, struct text_node *parent, const char *key, const void *base)
{
    const struct job_array *array = &((const struct job_spec *)base)->array;
    if (array->first == 0 && array->step == 1 && array->at_once == 0)
        text_int(arena, parent, key, array->count);
    else
        field_encode(arena, parent, key, map_fields, array);
}

static void schema(struct arena *arena, struct text_node *into)
{
    struct text_node *any = text_list(arena, into, "anyOf");
    struct text_node *count = text_map(arena, any, NULL);
    text_str(arena, count, "type", "integer");
    text_int(arena, count, "minimum", 0);
    text_int(arena, count, "maximum", JOB_ARRAY_MAX);
    struct text_node *range = text_map(arena, any, NULL);
    text_str(arena, range, "type", "string");
    text_str(arena, range, "pattern", "^[0-9]+(-[0-9]+)?(:[0-9]+)?(%[0-9]+)?$");
    text_copy(arena, any, NULL, field_schema(arena, map_fields));
}

const struct field_hooks array_hooks = {
    .init = init,
    .decode = decode,
    .is_default = is_default,
    .encode = encode,
    .schema = schema,
    .value = "number to 10000, `\"1-9:2%3\"`, or `{count: 100, first: 0, step: 1, at_once: 10}`",
};
