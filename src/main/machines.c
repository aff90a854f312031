/* The engine of machines beside that of the server's own nodes: what the records have of machines
 * is told to it when the server starts, and what becomes of them afterwards by whoever was asked.
 */
#include "main/machines.h"

#include "base/log.h"
#include "ctl/node_work.h"
#include "engine/machines/machines.h"
#include "engine/pair/pair.h"
#include "inventory/known_machines.h"

#include <string.h>

struct engine *machines_beside(struct engine *local, const struct machines_config *config,
                               struct engine **machines)
{
    *machines = machines_create(config);
    return pair_create(
        &(struct pair_config){ .first = local, .other = *machines, .other_has = machines_have });
}

static void add(void *arg, const struct machine *m)
{
    struct machine_entry one = { .node = m->name, .address = m->address, .labels = m->labels };
    memcpy(one.token_hash, m->token_hash, sizeof one.token_hash);
    machines_add(arg, &one);
}

int machines_load(struct engine *machines, struct ctl *ctl, struct err *err)
{
    struct arena *arena = arena_create();
    struct machine_list list;
    int rc = known_machines_list(ctl_machines(ctl), arena, &list, err);
    for (size_t i = 0; rc == 0 && i < list.n; i++)
        add(machines, &list.at[i]);
    arena_destroy(arena);
    return rc;
}

static void on_remove(void *arg, const char *name)
{
    machines_remove(arg, name);
}

static void on_fence(void *arg, const char *name)
{
    machines_fence(arg, name);
}

static bool on_reach(void *arg, const char *name)
{
    return machines_reach(arg, name);
}

static void on_ids(void *arg, const char *name, const char **machine, const char **boot)
{
    machines_ids(arg, name, machine, boot);
}

struct api_machines machines_served(struct engine *machines)
{
    return (struct api_machines){ .add = add,
                                  .remove = on_remove,
                                  .fence = on_fence,
                                  .reach = on_reach,
                                  .ids = on_ids,
                                  .arg = machines };
}
