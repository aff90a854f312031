/* Domains from labels.
 *
 * A domain is told by the values of all levels down to its own, so that what is decided is well
 * defined even where a rack carries one name in two zones; that this is so is an error all the
 * same, because nobody numbers racks like that on purpose. */
#include "sched/topology.h"

#include "base/map.h"

#include <inttypes.h>
#include <string.h>

static const char *label(struct forms forms, uint32_t node, const struct level *level)
{
    return pairs_get(&forms.at[node]->spec.labels, level->name);
}

static void list_nodes(struct arena *arena, struct level *level, uint32_t n)
{
    uint32_t *end = ARENA_ARRAY(arena, level->n + 1, uint32_t), at = 0;
    level->nodes = ARENA_ARRAY(arena, n, uint32_t);
    for (uint32_t d = 0; d < level->n; d++) {
        level->domains[d].at = end[d] = at;
        at += level->domains[d].n;
    }
    for (uint32_t i = 0; i < n; i++)
        if (level->of[i] != DOMAIN_NONE)
            level->nodes[end[level->of[i]]++] = i;
}

static void make_level(struct topology *t, struct level *level, struct forms forms)
{
    const struct level *wider = level > t->levels ? level - 1 : NULL;
    struct string_map *known = string_map_create();
    struct arena *keys = arena_create();
    level->of = ARENA_ARRAY(t->arena, forms.n, uint32_t);
    level->domains = ARENA_ARRAY(t->arena, forms.n, struct domain);
    for (uint32_t i = 0; i < forms.n; i++) {
        const char *value = label(forms, i, level);
        level->of[i] = DOMAIN_NONE;
        if (!value || !*value)
            continue;
        uint32_t outer = wider ? wider->of[i] : DOMAIN_NONE;
        const char *key = arena_printf(keys, "%" PRIu32 " %s", outer, value);
        uintptr_t found = (uintptr_t)string_map_get(known, key);
        if (!found) {
            level->domains[level->n] =
                (struct domain){ .name = arena_strdup(t->arena, value), .outer = outer };
            found = ++level->n;
            string_map_set(known, key, (void *)found);
        }
        level->of[i] = (uint32_t)(found - 1);
        level->domains[found - 1].n++;
    }
    list_nodes(t->arena, level, forms.n);
    arena_destroy(keys);
    string_map_destroy(known);
}

static void make_nodes(struct topology *t, struct level *level, struct forms forms)
{
    level->name = "node";
    level->n = forms.n;
    level->of = ARENA_ARRAY(t->arena, forms.n, uint32_t);
    level->domains = ARENA_ARRAY(t->arena, forms.n, struct domain);
    for (uint32_t i = 0; i < forms.n; i++) {
        level->of[i] = i;
        level->domains[i] = (struct domain){ .name = arena_strdup(t->arena, forms.at[i]->spec.name),
                                             .outer = t->n ? level[-1].of[i] : DOMAIN_NONE,
                                             .n = 1 };
    }
    list_nodes(t->arena, level, forms.n);
}

struct topology *topology_create(struct forms forms, const struct words *levels)
{
    struct arena *arena = arena_create();
    struct topology *t = ARENA_NEW(arena, struct topology);
    t->arena = arena;
    t->n = (uint32_t)levels->n;
    t->levels = ARENA_ARRAY(arena, levels->n + 1, struct level);
    for (uint32_t i = 0; i < t->n; i++) {
        t->levels[i].name = arena_strdup(arena, levels->at[i]);
        make_level(t, &t->levels[i], forms);
    }
    make_nodes(t, &t->levels[t->n], forms);
    return t;
}

void topology_destroy(struct topology *t)
{
    if (t)
        arena_destroy(t->arena);
}

static const char *first_node(struct forms forms, const struct level *level, uint32_t domain)
{
    return forms.at[level->nodes[level->domains[domain].at]]->spec.name;
}

static int check_level(const struct level *level, const struct level *wider, struct forms forms,
                       struct err *err)
{
    struct string_map *seen = string_map_create();
    int rc = 0;
    for (uint32_t d = 0; d < level->n && rc == 0; d++) {
        const char *name = level->domains[d].name;
        uintptr_t other = (uintptr_t)string_map_get(seen, name);
        string_map_set(seen, name, (void *)((uintptr_t)d + 1));
        if (!other)
            continue;
        uint32_t a = level->domains[other - 1].outer, b = level->domains[d].outer;
        err_set(err, ERR_INPUT, "%s %s is in %s %s (node %s) and in %s %s (node %s)", level->name,
                name, wider->name, a == DOMAIN_NONE ? "?" : wider->domains[a].name,
                first_node(forms, level, (uint32_t)(other - 1)), wider->name,
                b == DOMAIN_NONE ? "?" : wider->domains[b].name, first_node(forms, level, d));
        rc = err_hint(err, "mend the labels of one of them, or give the %s another name",
                      level->name);
    }
    string_map_destroy(seen);
    return rc;
}

int topology_check(const struct topology *t, struct forms forms, struct err *err)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (strcmp(t->levels[i].name, "node") == 0)
            return err_set(err, ERR_INPUT, "topology level \"node\" is always there, and last");
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(t->levels[i].name, t->levels[k].name) == 0)
                return err_set(err, ERR_INPUT, "topology level \"%s\" is named twice",
                               t->levels[i].name);
        if (i > 0 && check_level(&t->levels[i], &t->levels[i - 1], forms, err) < 0)
            return -1;
    }
    return 0;
}

uint32_t topology_level(const struct topology *t, const char *name)
{
    uint32_t i = 0;
    while (i < t->n && strcmp(t->levels[i].name, name) != 0)
        i++;
    return i < t->n || strcmp(name, "node") == 0 ? i : DOMAIN_NONE;
}
