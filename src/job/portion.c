/* Amounts and percentages in text and back. A percentage is kept as one, in thousandths, and
 * becomes an amount only when the whole is known, rounded down. */
#include "job/portion.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

static bool percent_text(const struct text_node *node, struct arena *arena, const char **number)
{
    size_t n = node->kind == TEXT_STR ? strlen(node->str) : 0;
    if (n == 0 || node->str[n - 1] != '%')
        return false;
    while (n > 1 && node->str[n - 2] == ' ')
        n--;
    *number = arena_strndup(arena, node->str, n - 1);
    return true;
}

static int no_percent(const struct field_context *in, const struct text_node *node,
                      const char *shown)
{
    struct problem *p =
        field_bad_value(in, node, "%.40s, a percentage is from 0%% to 100%%", shown);
    report_hint(in->report, p, "40%%, or with at most three places: 12.5%%");
    return -1;
}

int portion_decode_percent(const struct field_context *in, const struct text_node *node,
                           struct portion *out)
{
    const char *number = NULL;
    uint64_t value;
    if (!percent_text(node, in->arena, &number)) {
        const struct field plain = {
            .type = FIELD_MILLI, .size = sizeof value, .max = PORTION_WHOLE, .unit = "percent"
        };
        if (field_value_decode(in, &plain, node, &value) != 0)
            return -1;
    } else if (!scan_milli(number, &value) || value > PORTION_WHOLE ||
               number[strlen(number) - 1] == 'm') {
        return no_percent(in, node, node->str);
    }
    *out = (struct portion){ .value = value, .percent = true, .given = true };
    return 0;
}

/* Of everything only a part can be said: amounts have no common unit. */
static int decode_all(const struct field_context *in, const struct text_node *node,
                      struct portion *out)
{
    const char *number;
    if (percent_text(node, in->arena, &number))
        return portion_decode_percent(in, node, out);
    struct problem *p = field_bad_value(in, node, "no percentage");
    report_hint(in->report, p, "40%%, or amounts by name: {gpu: 8}");
    return -1;
}

static int decode_amount(const struct field_context *in, const struct text_node *node,
                         struct portion *out, const struct field *plain)
{
    const char *number;
    uint64_t value;
    if (percent_text(node, in->arena, &number))
        return portion_decode_percent(in, node, out);
    if (field_value_decode(in, plain, node, &value) != 0)
        return -1;
    *out = (struct portion){ .value = value, .given = true };
    return 0;
}

static const struct field milli_amount = {
    .type = FIELD_MILLI, .size = sizeof(uint64_t), .max = 1000000000000, .unit = "or a percentage"
};
static const struct field size_amount = { .type = FIELD_SIZE,
                                          .size = sizeof(uint64_t),
                                          .unit = "or a percentage" };

static void encode(struct arena *arena, struct text_node *parent, const char *key,
                   const struct portion *portion, const struct field *plain)
{
    char text[FMT_MAX];
    struct field row[2] = { *plain, FIELD_END };
    if (portion->percent) {
        text_str(arena, parent, key, arena_printf(arena, "%s%%", fmt_milli(text, portion->value)));
        return;
    }
    row[0].name = key;
    row[0].flags = FIELD_ALWAYS;
    const struct text_node *map = field_encode(arena, NULL, NULL, row, &portion->value);
    text_copy(arena, parent, key, map->first);
}

static void schema(struct arena *arena, struct text_node *schema)
{
    struct text_node *any = text_list(arena, schema, "anyOf");
    struct text_node *number = text_map(arena, any, NULL), *text = text_map(arena, any, NULL);
    text_str(arena, number, "type", "number");
    text_int(arena, number, "minimum", 0);
    text_str(arena, text, "type", "string");
}

#define MEMBER(name, plain, decoder)                                                               \
    static int name##_decode(const struct field_context *in, const struct text_node *node,         \
                             void *base)                                                           \
    {                                                                                              \
        struct portions *all = base;                                                               \
        return decoder;                                                                            \
    }                                                                                              \
    static void name##_encode(struct arena *arena, struct text_node *parent, const char *key,      \
                              const void *base)                                                    \
    {                                                                                              \
        encode(arena, parent, key, &((const struct portions *)base)->name, &(plain));              \
    }                                                                                              \
    static const struct field_hooks name##_hooks = { .decode = name##_decode,                      \
                                                     .encode = name##_encode,                      \
                                                     .schema = schema,                             \
                                                     .value = "amount, or a percentage: 40%" }

MEMBER(all, milli_amount, decode_all(in, node, &all->all));
MEMBER(cpu, milli_amount, decode_amount(in, node, &all->cpu, &milli_amount));
MEMBER(memory, size_amount, decode_amount(in, node, &all->memory, &size_amount));
MEMBER(gpu, milli_amount, decode_amount(in, node, &all->gpu, &milli_amount));

#define ROW(name, text)                                                                            \
    FIELD(CUSTOM, #name, struct portions, name, .hooks = &name##_hooks,                            \
          .has_offset = offsetof(struct portions, name.given), .doc = text)
const struct field portions_fields[] = { ROW(all, "a percentage of every amount that is not named"),
                                         ROW(cpu, "cores"), ROW(memory, "64Gi"),
                                         ROW(gpu, "devices"), FIELD_END };

struct portion portion_or_all(const struct portion *portion, const struct portions *of)
{
    return portion->given ? *portion : of->all;
}

uint64_t portion_of(const struct portion *portion, uint64_t whole)
{
    if (!portion->percent)
        return portion->value;
    if (whole == UINT64_MAX)
        return whole;
    return (uint64_t)((wide)whole * portion->value / PORTION_WHOLE);
}
