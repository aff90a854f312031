/* Putting nodes into kinds.
 *
 * Two nodes are of one kind when they have the same type and number of devices, the same names of
 * custom amounts, the same labels, and are open to the same jobs. Labels that tell single nodes or
 * racks apart would make every node a kind of its own, so they are left out; who asks for one of
 * those has to look at nodes. */
#include "sched/kinds.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "job/gpu.h"

#include <string.h>
#include <strings.h>

#define TEXT_MAX 65536u
#define SEEN     ((void *)1)

/* Names of labels with too many values; and the levels of the topology, which is looked at apart.
 */
static struct string_map *fine_labels(struct forms forms, const struct words *levels)
{
    struct string_map *values = string_map_create(), *counts = string_map_create(),
                      *fine = string_map_create();
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < levels->n; i++)
        string_map_set(fine, levels->at[i], SEEN);
    for (uint32_t i = 0; i < forms.n; i++) {
        const struct pairs *labels = &forms.at[i]->spec.labels;
        for (size_t k = 0; k < labels->n; k++) {
            const char *name = labels->at[k].name;
            if (string_map_get(fine, name))
                continue;
            buf_clear(&text);
            buf_addf(&text, "%s\n%s", name, labels->at[k].value);
            if (string_map_get(values, buf_str(&text)))
                continue;
            string_map_set(values, buf_str(&text), SEEN);
            uintptr_t count = (uintptr_t)string_map_get(counts, name) + 1;
            string_map_set(counts, name, (void *)count);
            if (count > KINDS_VALUES)
                string_map_set(fine, name, SEEN);
        }
    }
    string_map_destroy(values);
    string_map_destroy(counts);
    return fine;
}

static int by_name(const void *a, const void *b)
{
    const struct pair *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void describe(const struct kinds *kinds, const struct form *f, struct buf *out)
{
    const struct pairs *labels = &f->spec.labels;
    AUTO_FREE const struct pair **sorted = mem_new((labels->n + 1) * sizeof(struct pair *));
    size_t n = 0;
    for (size_t i = 0; i < labels->n; i++)
        if (kinds_tell(kinds, labels->at[i].name))
            sorted[n++] = &labels->at[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    buf_clear(out);
    buf_addf(out, "%u %llu %llu %s\n", f->spec.gpus, (unsigned long long)f->spec.lasts_ms,
             (unsigned long long)f->spec.for_job, f->spec.gpu_type);
    for (size_t i = 0; i < f->custom.n; i++)
        buf_addf(out, "%s\n", f->custom.at[i].name);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s=%s\n", sorted[i]->name, sorted[i]->value);
}

uint32_t kinds_type(const struct kinds *kinds, const char *name)
{
    for (uint32_t i = 0; i < kinds->n_types; i++)
        if (strcasecmp(kinds->types[i], name) == 0)
            return i;
    return UINT32_MAX;
}

static uint32_t add_type(struct kinds *kinds, const char *name)
{
    uint32_t at = kinds_type(kinds, name);
    if (at != UINT32_MAX)
        return at;
    if (kinds->n_types == KINDS_TYPES)
        return KINDS_TYPES - 1;
    kinds->types[kinds->n_types] = name;
    return kinds->n_types++;
}

static bool has_models(const struct gpu_report *report)
{
    const char *first = NULL;
    for (size_t i = 0; report && i < report->n; i++) {
        if (!report->at[i].offered)
            continue;
        if (first && strcmp(first, report->at[i].model) != 0)
            return true;
        first = report->at[i].model;
    }
    return false;
}

struct kinds *kinds_create(struct forms forms, const struct words *levels)
{
    struct kinds *kinds = mem_new(sizeof *kinds);
    struct string_map *known = string_map_create();
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    kinds->of = mem_new((forms.n + 1) * sizeof *kinds->of);
    kinds->type = mem_new((forms.n + 1) * sizeof *kinds->type);
    kinds->types = mem_new(KINDS_TYPES * sizeof *kinds->types);
    kinds->fine = fine_labels(forms, levels);
    for (uint32_t i = 0; i < forms.n; i++) {
        kinds->mixed = kinds->mixed || has_models(forms.at[i]->spec.report);
        describe(kinds, forms.at[i], &text);
        uintptr_t kind = (uintptr_t)string_map_get(known, buf_str(&text));
        if (!kind) {
            kinds->type[kinds->n] = add_type(kinds, forms.at[i]->spec.gpu_type);
            kind = ++kinds->n;
            string_map_set(known, buf_str(&text), (void *)kind);
        }
        kinds->of[i] = (uint32_t)(kind - 1);
    }
    string_map_destroy(known);
    return kinds;
}

void kinds_destroy(struct kinds *kinds)
{
    if (!kinds)
        return;
    string_map_destroy(kinds->fine);
    free(kinds->of);
    free(kinds->type);
    free(kinds->types);
    free(kinds);
}

bool kinds_tell(const struct kinds *kinds, const char *label)
{
    return !string_map_get(kinds->fine, label);
}
