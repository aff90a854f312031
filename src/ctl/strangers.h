/* Runs on this machine that the records do not know, found when a server starts: after damaged
 * records, or a backup of before. They are left alone and named; but those of jobs that the records
 * do know, as they were before, are ended. */
#ifndef CTL_STRANGERS_H
#define CTL_STRANGERS_H

#include "base/arena.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct strangers;
void strangers_find(struct ctl *);
void strangers_destroy(struct strangers *); /* NULL-safe */
/* Does one live in the directory of that job number? */
bool strangers_in(const struct ctl *, uint64_t number);
/* [{number, job, node, pid, dir}] under that key of the map; nothing when there is none. */
void ctl_strangers_put(struct ctl *, struct arena *, struct text_node *map, const char *key);

#endif
