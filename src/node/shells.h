/* Interactive commands inside a task's view, each on a channel of the uplink. */
#ifndef NODE_SHELLS_H
#define NODE_SHELLS_H

#include "node/stage.h"
#include "node/uplink.h"
#include "wire/message.h"

struct shells;
struct shells *shells_create(uv_loop_t *, struct uplink *);
void shells_destroy(struct shells *); /* NULL-safe; ends them all */

/* stage NULL: there is no such task, which the channel's EXIT says. Only valid during the call. */
void shells_open(struct shells *, const struct wire_exec *, const struct stage *);
void shells_input(struct shells *, const struct wire_data *);
void shells_reached(struct shells *, const struct wire_reached_report *); /* of the server */
void shells_resize(struct shells *, const struct wire_resize *);
void shells_end(struct shells *, uint32_t channel); /* its client is gone */
void shells_go_on(struct shells *);                 /* the uplink has room again */
void shells_end_all(struct shells *); /* the connection is lost: nobody is there any more */

#endif
