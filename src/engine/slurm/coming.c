/* Each is told again only when something of it has changed: what is told is news of a node, after
 * which jobs that wait are looked at. */
#include "engine/slurm/coming.h"

#include "base/mem.h"
#include "base/scan.h"

#include <stdio.h>
#include <string.h>

#define SLOTS_MOST PILOT_NODES_MAX

struct slot {
    bool there;
    char why[200];
    uint64_t cpus;
};
struct coming {
    struct coming_sink sink;
    VEC(struct slot) slots;
};

struct coming *coming_create(const struct coming_sink *sink)
{
    struct coming *all = mem_new(sizeof *all);
    all->sink = *sink;
    return all;
}

void coming_destroy(struct coming *all)
{
    vec_fini(&all->slots);
    free(all);
}

static void word_waiting(const struct pilot *p, char *out, size_t size)
{
    char when[FMT_MAX] = "";
    if (p->state == PILOT_RUNNING)
        snprintf(out, size, "pilot %s has it from Slurm, and it has not joined yet", p->name);
    else if (p->state == PILOT_SUBMITTING || !*p->reason)
        snprintf(out, size, "pilot %s is being submitted to Slurm", p->name);
    else if (p->start_ms)
        snprintf(out, size, "pilot %s waits in Slurm (%.60s), which expects it at %s", p->name,
                 p->reason, fmt_time_local(when, p->start_ms));
    else
        snprintf(out, size, "pilot %s waits in Slurm (%.60s)", p->name, p->reason);
}

static void expect(const struct coming *all, size_t i, const struct coming_node *what)
{
    char name[32];
    struct coming_node node = *what;
    snprintf(name, sizeof name, "slurm-%zu", i + 1);
    node.name = name;
    all->sink.expect(all->sink.arg, &node);
}

bool coming_set(struct coming *all, size_t place, const struct pilot *p,
                const struct slurm_shape *shape)
{
    char why[200];
    if (place >= SLOTS_MOST)
        return false;
    while (all->slots.n <= place)
        *vec_add(&all->slots) = (struct slot){ .there = false };
    struct slot *slot = &all->slots.at[place];
    word_waiting(p, why, sizeof why);
    uint64_t cpus = p->ask.cpus && p->ask.cpus < shape->cpus ? p->ask.cpus : shape->cpus;
    if (slot->there && slot->cpus == cpus && strcmp(slot->why, why) == 0)
        return true;
    *slot = (struct slot){ .there = true, .cpus = cpus };
    snprintf(slot->why, sizeof slot->why, "%s", why);
    expect(all, place,
           &(struct coming_node){ .cpus = cpus,
                                  .memory = shape->memory / shape->cpus * cpus,
                                  .gpus = p->ask.gpus,
                                  .why = why });
    return true;
}

void coming_clear(struct coming *all, size_t from)
{
    for (size_t i = from; i < all->slots.n; i++) {
        if (all->slots.at[i].there)
            expect(all, i, &(struct coming_node){ .why = NULL });
        all->slots.at[i].there = false;
    }
}

void coming_find(struct coming *all)
{
    for (size_t i = 0; i < SLOTS_MOST; i++) {
        char name[32];
        snprintf(name, sizeof name, "slurm-%zu", i + 1);
        if (!all->sink.taken(all->sink.arg, name))
            break;
        *vec_add(&all->slots) = (struct slot){ .there = true };
    }
}
