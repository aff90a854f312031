/* Runs on this machine that the records do not know, found when a server starts: after damaged
 * records, or a backup of before. They are left alone and named; but those of jobs that the records
 * do know, as they were before, are ended. */
#ifndef INVENTORY_STRANGERS_H
#define INVENTORY_STRANGERS_H

#include "base/arena.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live;
struct store;

struct strangers_config {
    struct engine *engine; /* says whether something lives in a directory, and ends it */
    struct store *store;
    const struct live *live;
    const char *runs_dir; /* RUNS/NUMBER/gGENERATION/NODE; NULL: nothing is looked for */
};
struct strangers;
/* Looks once, when live jobs are loaded and before anything is started. */
struct strangers *strangers_find(const struct strangers_config *);
void strangers_destroy(struct strangers *); /* NULL-safe */
/* Does one live in the directory of that job number? NULL: nobody has looked. */
bool strangers_in(const struct strangers *, uint64_t number);
/* [{number, job, node, pid, dir}] of those that live still, under that key of the map; nothing when
 * there is none. */
void strangers_put(const struct strangers *, struct arena *, struct text_node *map,
                   const char *key);

#endif
