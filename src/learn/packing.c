/* The scheduler's mix as rows: a large one with the mix some time ago, a small one with what
 * arrived since, so that most turns write little. It also makes the potential follow the mix. */
#include "learn/packing.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sched/cluster.h"
#include "sched/kinds.h"
#include "sched/mix.h"
#include "sched/potential.h"
#include "store/store.h"
#include "text/json.h"

#include <string.h>

#define ROW_KIND "mix"
#define ROW_LAST "last"
#define ROW_MAX  (8u << 20)
#define LAST_MAX                                                                                   \
    64u /* arrivals in the small row; the large one has up to MIX_SHAPES shapes twice */

/* In two rows: the mix some time ago, and what arrived since. */
struct packing {
    struct store *store;
    struct cluster *cluster;
    struct mix *mix;
    struct potential *potential;
    uint64_t version;           /* that the potential follows */
    VEC(struct mix_count) last; /* arrivals that the large row lacks, in their order */
    bool dirty, whole;          /* something to write; the large row, too */
};

/* Shapes name types of devices by position: what was learnt of other ones says nothing. */
static const char *types_of(const struct packing *p, struct arena *arena)
{
    AUTO_BUF struct buf all = BUF_INIT(1 << 16);
    const struct kinds *kinds = cluster_kinds(p->cluster);
    for (uint32_t i = 0; i < kinds->n_types; i++)
        buf_addf(&all, "%s,", kinds->types[i]);
    return arena_strdup(arena, buf_str(&all));
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

static struct text_node *new_row(const struct packing *p, struct arena *arena)
{
    struct text_node *map = text_map(arena, NULL, NULL);
    text_str(arena, map, "types", types_of(p, arena));
    return map;
}

static void put_row(const struct packing *p, const char *name, const struct text_node *map)
{
    AUTO_BUF struct buf text = BUF_INIT(ROW_MAX);
    json_print(map, 0, &text);
    const struct object_row row = {
        .kind = ROW_KIND, .project = "", .name = name, .spec = buf_str(&text)
    };
    store_put_object(p->store, &row, NULL);
}

static void save_all(struct packing *p, struct arena *arena)
{
    const struct mix_numbers numbers = mix_numbers(p->mix);
    struct text_node *map = new_row(p, arena);
    text_int(arena, map, "since_fade", numbers.since_fade);
    put_counts(arena, map, "counts", numbers.counts, numbers.n_counts);
    put_counts(arena, map, "basis", numbers.basis, numbers.n_basis);
    put_row(p, ROW_KIND, map);
    vec_clear(&p->last);
}

void packing_record(struct packing *p)
{
    if (!p->dirty || !store_keeps_details(p->store)) /* nothing is ever loaded again */
        return;
    struct arena *arena = arena_create();
    if (p->whole || p->last.n > LAST_MAX)
        save_all(p, arena);
    struct text_node *map = new_row(p, arena);
    put_counts(arena, map, ROW_LAST, p->last.at, p->last.n);
    put_row(p, ROW_LAST, map);
    p->dirty = p->whole = false;
    arena_destroy(arena);
}

void packing_undone(struct packing *p)
{
    p->dirty = p->whole = true;
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

/* NULL when it makes no sense or is of other devices: the next one replaces it. */
static const struct text_node *get_row(const struct packing *p, struct arena *arena,
                                       const char *name)
{
    struct object_row row = { .kind = ROW_KIND, .project = "", .name = name };
    struct report report;
    struct err err;
    report_init(&report, arena);
    struct text_node *map = NULL;
    if (store_get_object(p->store, arena, &row, &err) == 1)
        map = json_parse(arena, row.spec, strlen(row.spec), 0, &report);
    const struct text_node *types = map ? text_get(map, "types") : NULL;
    bool same = types && types->kind == TEXT_STR && strcmp(types->str, types_of(p, arena)) == 0;
    return same ? map : NULL;
}

static void load(struct packing *p)
{
    struct arena *arena = arena_create();
    const struct text_node *map = get_row(p, arena, ROW_KIND);
    const struct text_node *since = get_row(p, arena, ROW_LAST);
    struct err err;
    size_t n = 0;
    if (map) {
        const struct text_node *fade = text_get(map, "since_fade");
        struct mix_numbers numbers = { .since_fade = (uint32_t)number_at(&fade) };
        numbers.counts = read_counts(arena, map, "counts", &numbers.n_counts);
        numbers.basis = read_counts(arena, map, "basis", &numbers.n_basis);
        mix_load(p->mix, &numbers, &err);
    }
    const struct mix_count *last = since ? read_counts(arena, since, ROW_LAST, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        mix_add(p->mix, &last[i].shape, (uint32_t)last[i].count);
        vec_push(&p->last, last[i]);
    }
    arena_destroy(arena);
}

/* ---- learning ---- */

struct packing *packing_create(struct store *store, struct cluster *cluster)
{
    struct packing *p = mem_new(sizeof *p);
    p->store = store;
    p->cluster = cluster;
    p->mix = mix_create();
    p->potential = potential_create();
    load(p);
    p->version = mix_version(p->mix);
    potential_learn(p->potential, p->mix);
    cluster_set_potential(cluster, p->potential);
    return p;
}

void packing_destroy(struct packing *p)
{
    if (!p)
        return;
    potential_destroy(p->potential);
    mix_destroy(p->mix);
    vec_fini(&p->last);
    free(p);
}

void packing_learn(struct packing *p, const struct job_spec *spec)
{
    struct mix_count one = { .count = 0 };
    for (uint32_t i = 0; i < spec->n_roles; i++) {
        if (!cluster_shape(p->cluster, spec, i, &one.shape))
            continue;
        one.count = spec->roles[i].replicas;
        mix_add(p->mix, &one.shape, spec->roles[i].replicas);
        vec_push(&p->last, one);
        p->dirty = true;
    }
    if (mix_version(p->mix) == p->version)
        return;
    potential_learn(p->potential, p->mix);
    p->version = mix_version(p->mix);
}
