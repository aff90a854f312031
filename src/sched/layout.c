/* Descriptions of nodes, and where each node's slots lie in the flat arrays of a cluster.
 *
 * A form is immutable and counted; putting a node makes a new one. Slots are only ever added: a
 * node that comes back smaller keeps its old ones, so that what is taken can still be given back.
 */
#include "sched/layout.h"

#include "base/mem.h"
#include "sched/kinds.h"
#include "sched/node_class.h"
#include "sched/topology.h"

#include <string.h>

#define FORM_TEXTS 256u

struct layout *layout_create(void)
{
    struct layout *l = mem_new(sizeof *l);
    l->refs = 1;
    l->nodes = string_map_create();
    l->hosts = string_map_create();
    return l;
}

static void form_unshare(struct form *f)
{
    if (f && --f->refs == 0)
        arena_destroy(f->arena);
}

static void unsettle(struct layout *l)
{
    kinds_destroy(l->kinds);
    topology_destroy(l->topology);
    if (l->empty)
        node_classes_destroy(l->empty);
    l->kinds = NULL;
    l->topology = NULL;
    l->empty = NULL;
}

void layout_settle(struct layout *l)
{
    if (!l->topology)
        l->topology = topology_create(forms_of(l), &l->levels);
    if (!l->kinds)
        l->kinds = kinds_create(forms_of(l), &l->levels);
}

static void set_levels(struct layout *l, const struct words *levels)
{
    for (size_t i = 0; i < l->levels.n; i++)
        free((char *)(uintptr_t)l->levels.at[i]);
    free(l->levels.at);
    l->levels = (struct words){ .n = levels->n };
    if (levels->n)
        l->levels.at = mem_new(sizeof(char *) * levels->n);
    for (size_t i = 0; i < levels->n; i++)
        l->levels.at[i] = mem_strdup(levels->at[i]);
}

void layout_set_levels(struct layout *l, const struct words *levels)
{
    set_levels(l, levels);
    unsettle(l);
}

static void copy_names(struct string_map *to, const struct string_map *from)
{
    size_t cursor = 0;
    const char *name;
    void *value;
    while (string_map_next(from, &cursor, &name, &value))
        string_map_set(to, name, value);
}

struct layout *layout_copy(const struct layout *from)
{
    struct layout *l = layout_create();
    l->n = l->cap = from->n;
    l->n_hosts = from->n_hosts;
    l->n_gpu = from->n_gpu;
    l->n_custom = from->n_custom;
    l->forms = mem_new(sizeof(struct form *) * (from->n ? from->n : 1));
    for (uint32_t i = 0; i < from->n; i++) {
        l->forms[i] = from->forms[i];
        l->forms[i]->refs++;
    }
    copy_names(l->nodes, from->nodes);
    copy_names(l->hosts, from->hosts);
    set_levels(l, &from->levels);
    return l;
}

void layout_unshare(struct layout *l)
{
    if (!l || --l->refs > 0)
        return;
    for (uint32_t i = 0; i < l->n; i++)
        form_unshare(l->forms[i]);
    free(l->forms);
    string_map_destroy(l->nodes);
    string_map_destroy(l->hosts);
    unsettle(l);
    set_levels(l, &(struct words){ 0 });
    free(l);
}

uint32_t layout_find(const struct layout *l, const char *name)
{
    uintptr_t found = (uintptr_t)string_map_get(l->nodes, name);
    return found ? (uint32_t)(found - 1) : UINT32_MAX;
}

static uint32_t host_position(struct layout *l, const char *host)
{
    uintptr_t found = (uintptr_t)string_map_get(l->hosts, host);
    if (found)
        return (uint32_t)(found - 1);
    string_map_set(l->hosts, host, (void *)((uintptr_t)l->n_hosts + 1));
    return l->n_hosts++;
}

static const char *text_or(const char *s, const char *otherwise)
{
    return s && *s ? s : otherwise;
}

/* Slots for the new names, and for the old ones that are gone with nothing in them. */
static struct amounts merge_custom(struct arena *a, const struct amounts *now,
                                   const struct amounts *before)
{
    struct amounts all = { .at = ARENA_ARRAY(a, now->n + before->n, struct amount) };
    for (size_t i = 0; i < before->n; i++)
        all.at[all.n++] = (struct amount){ .name = arena_strdup(a, before->at[i].name) };
    for (size_t i = 0; i < now->n; i++) {
        size_t k = 0;
        while (k < all.n && strcmp(all.at[k].name, now->at[i].name) != 0)
            k++;
        if (k == all.n)
            all.at[all.n++].name = arena_strdup(a, now->at[i].name);
        all.at[k].milli = now->at[i].milli;
    }
    return all;
}

static struct form *form_create(const struct node_spec *spec, const struct amounts *before)
{
    struct arena *a = arena_create_of(FORM_TEXTS);
    struct form *f = ARENA_NEW(a, struct form);
    f->refs = 1;
    f->arena = a;
    f->spec = *spec;
    f->spec.name = arena_strdup(a, spec->name);
    f->spec.address = arena_strdup(a, text_or(spec->address, "127.0.0.1"));
    f->spec.host = arena_strdup(a, text_or(spec->host, spec->name));
    f->spec.gpu_type = arena_strdup(a, text_or(spec->gpu_type, ""));
    f->spec.engine = spec->engine ? arena_strdup(a, spec->engine) : NULL;
    f->spec.labels = (struct pairs){ 0 };
    for (size_t i = 0; i < spec->labels.n; i++)
        pairs_set(&f->spec.labels, a, spec->labels.at[i].name, spec->labels.at[i].value);
    f->spec.custom = merge_custom(a, &spec->custom, &(struct amounts){ 0 });
    f->custom = merge_custom(a, &spec->custom, before);
    return f;
}

static void place_slots(struct layout *l, struct form *f, const struct form *before)
{
    f->gpu_slots = f->spec.gpus;
    if (before && before->gpu_slots >= f->spec.gpus) {
        f->gpu_slots = before->gpu_slots;
        f->gpu_at = before->gpu_at;
    } else {
        f->gpu_at = l->n_gpu;
        l->n_gpu += f->gpu_slots;
    }
    if (before && before->custom.n == f->custom.n) {
        f->custom_at = before->custom_at;
    } else {
        f->custom_at = l->n_custom;
        l->n_custom += f->custom.n;
    }
}

uint32_t layout_put(struct layout *l, const struct node_spec *spec)
{
    uint32_t at = layout_find(l, spec->name);
    struct form *before = at == UINT32_MAX ? NULL : l->forms[at];
    struct form *f = form_create(spec, before ? &before->custom : &(struct amounts){ 0 });
    place_slots(l, f, before);
    if (before) {
        f->host = before->host;
        form_unshare(before);
    } else {
        f->host = host_position(l, f->spec.host);
        if (l->n == l->cap) {
            l->cap = l->cap ? l->cap * 2 : 8;
            l->forms = mem_resize(l->forms, sizeof(struct form *) * l->cap);
        }
        at = l->n++;
        string_map_set(l->nodes, f->spec.name, (void *)((uintptr_t)at + 1));
    }
    l->forms[at] = f;
    unsettle(l);
    return at;
}
