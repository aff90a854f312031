/* Members of answers that are printed in one way wherever they stand: dates, pairs, amounts of what
 * queues count. */
#include "api/view_rows.h"

#include "answer/cluster_views.h"
#include "base/mem.h"
#include "base/pairs.h"
#include "base/scan.h"
#include "job/state.h"

const char *view_job_word(unsigned state)
{
    return job_state_word((enum job_state)state);
}

void view_put_date(struct arena *arena, struct text_node *map, const char *name, uint64_t ms)
{
    char text[FMT_MAX];
    text_str(arena, map, name, fmt_time(text, ms));
    text_int(arena, map, arena_printf(arena, "%s_ms", name), (int64_t)ms);
}

void view_put_pairs(struct arena *arena, struct text_node *map, const char *name,
                    const void *member)
{
    const struct pairs *pairs = member;
    if (pairs->n)
        text_pairs(arena, text_map(arena, map, name), pairs);
}

void view_put_amounts(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    const struct vector *v = member;
    struct text_node *out = text_map(arena, map, name);
    text_int(arena, out, "cpu_milli", (int64_t)v->cpu_milli);
    text_int(arena, out, "memory", (int64_t)v->memory);
    text_int(arena, out, "gpu_milli", (int64_t)v->gpu_milli);
}

void view_put_guarantee(struct arena *arena, struct text_node *map, const char *name,
                        const void *member)
{
    const struct vector none = { 0 };
    if (vector_over(member, &none))
        view_put_amounts(arena, map, name, member);
}

void view_put_bounds(struct arena *arena, struct text_node *map, const char *name,
                     const void *member)
{
    static const char *const names[] = { "cpu_milli", "memory", "gpu_milli" };
    const struct vector *v = member;
    const uint64_t amounts[] = { v->cpu_milli, v->memory, v->gpu_milli };
    struct text_node *out = NULL;
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        if (amounts[i] == UINT64_MAX)
            continue;
        out = out ? out : text_map(arena, map, name);
        text_int(arena, out, names[i], (int64_t)amounts[i]);
    }
}
