#include "ctl/packing.h"

#include "base/mem.h"
#include "ctl/core.h"
#include "ctl/notes.h"
#include "sched/mix.h"
#include "sched/potential.h"
#include "text/json.h"

#include <string.h>

#define ROW_KIND "mix"

struct packing {
    struct mix *mix;
    struct potential *potential;
    uint64_t version; /* that the row has */
};

/* Shapes name types of devices by position: what was learnt of other ones says nothing. */
static const char *types_of(const struct ctl *ctl, struct arena *arena)
{
    const char *last = "", *all = "";
    for (uint32_t i = 0; i < cluster_count(ctl->cluster); i++) {
        const char *type = cluster_node(ctl->cluster, i).spec->gpu_type;
        if (type && strcmp(type, last) != 0)
            all = arena_printf(arena, "%s%s,", all, type);
        last = type ? type : last;
    }
    return all;
}

/* ---- the row ---- */

static void put_counts(struct arena *arena, struct text_node *map, const char *key,
                       const struct mix_count *at, size_t n)
{
    struct text_node *list = text_list(arena, map, key);
    for (size_t i = 0; i < n; i++) {
        const struct shape *s = &at[i].shape;
        const uint64_t numbers[] = { s->cpu_milli, s->memory, s->types,
                                     s->devices,   s->share,  at[i].count };
        struct text_node *one = text_list(arena, list, NULL);
        for (size_t k = 0; k < ARRAY_LEN(numbers); k++)
            text_int(arena, one, NULL, (int64_t)numbers[k]);
    }
}

static void save(struct ctl *ctl, struct packing *p)
{
    struct arena *arena = ctl->scratch;
    const struct mix_numbers numbers = mix_numbers(p->mix);
    struct text_node *map = text_map(arena, NULL, NULL);
    text_str(arena, map, "types", types_of(ctl, arena));
    text_int(arena, map, "since_fade", numbers.since_fade);
    put_counts(arena, map, "counts", numbers.counts, numbers.n_counts);
    put_counts(arena, map, "basis", numbers.basis, numbers.n_basis);
    const struct object_row row = {
        .kind = ROW_KIND, .project = "", .name = ROW_KIND, .spec = notes_print(arena, map)
    };
    store_put_object(ctl->config.store, &row, NULL);
    p->version = mix_version(p->mix);
}

static uint64_t number_at(const struct text_node **n)
{
    const struct text_node *node = *n;
    if (!node || node->kind != TEXT_INT || node->integer < 0)
        return 0;
    *n = node->next;
    return (uint64_t)node->integer;
}

static struct mix_count *read_counts(struct arena *arena, const struct text_node *map,
                                     const char *key, size_t *n)
{
    const struct text_node *list = text_get(map, key);
    struct mix_count *all = ARENA_ARRAY(arena, list ? list->count : 0, struct mix_count);
    *n = 0;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const struct text_node *at = one->kind == TEXT_LIST ? one->first : NULL;
        struct mix_count *c = &all[(*n)++];
        c->shape.cpu_milli = number_at(&at);
        c->shape.memory = number_at(&at);
        c->shape.types = number_at(&at);
        c->shape.devices = (uint32_t)number_at(&at);
        c->shape.share = (uint32_t)number_at(&at);
        c->count = number_at(&at);
    }
    return all;
}

/* A row that makes no sense, or is of other devices, is left for the next one to replace. */
static void load(struct ctl *ctl, struct packing *p)
{
    struct arena *arena = arena_create();
    struct object_row row = { .kind = ROW_KIND, .project = "", .name = ROW_KIND };
    struct report report;
    struct err err = { 0 };
    report_init(&report, arena);
    struct text_node *map = NULL;
    if (store_get_object(ctl->config.store, arena, &row, &err) == 1)
        map = json_parse(arena, row.spec, strlen(row.spec), 0, &report);
    const struct text_node *types = map ? text_get(map, "types") : NULL;
    const struct text_node *fade = map ? text_get(map, "since_fade") : NULL;
    if (types && types->kind == TEXT_STR && strcmp(types->str, types_of(ctl, arena)) == 0) {
        struct mix_numbers numbers = { .since_fade = (uint32_t)number_at(&fade) };
        numbers.counts = read_counts(arena, map, "counts", &numbers.n_counts);
        numbers.basis = read_counts(arena, map, "basis", &numbers.n_basis);
        mix_load(p->mix, &numbers, &err);
    }
    arena_destroy(arena);
}

/* ---- learning ---- */

struct packing *packing_create(struct ctl *ctl)
{
    struct packing *p = mem_new(sizeof *p);
    p->mix = mix_create();
    p->potential = potential_create();
    load(ctl, p);
    p->version = mix_version(p->mix);
    potential_learn(p->potential, p->mix);
    cluster_set_potential(ctl->cluster, p->potential);
    return p;
}

void packing_destroy(struct packing *p)
{
    if (!p)
        return;
    potential_destroy(p->potential);
    mix_destroy(p->mix);
    free(p);
}

void packing_learn(struct ctl *ctl, const struct job_spec *spec)
{
    struct packing *p = ctl->packing;
    struct shape shape;
    for (uint32_t i = 0; i < spec->n_roles; i++)
        if (cluster_shape(ctl->cluster, spec, i, &shape))
            mix_add(p->mix, &shape, spec->roles[i].replicas);
    if (mix_version(p->mix) == p->version)
        return;
    potential_learn(p->potential, p->mix);
    save(ctl, p);
}

void packing_keep(struct ctl *ctl)
{
    save(ctl, ctl->packing);
}
