/* Clients at running tasks, each on a channel of the uplink: what they send goes into the task's
 * stdin, what the task writes is read again from its log. Several may be at one task: each sees its
 * output, and the input of each is passed on in the order in which it comes. */
#ifndef NODE_ATTACH_H
#define NODE_ATTACH_H

#include "node/task_set.h"
#include "node/uplink.h"
#include "wire/message.h"

struct attach;
struct attach *attach_create(const struct task_set *, struct uplink *);
void attach_destroy(struct attach *); /* NULL-safe; the tasks keep their stdin */

void attach_open(struct attach *, const struct wire_attach *);
void attach_input(struct attach *,
                  const struct wire_data *); /* of a channel that is none: nothing */
void attach_resize(struct attach *, const struct wire_resize *);
void attach_leave(struct attach *, uint32_t channel); /* its client is gone, it may come again */
void attach_lost(struct attach *);                    /* and all of them */
/* A log has grown, a task has ended, or the uplink has room again. */
void attach_go_on(struct attach *);

#endif
