/* Facts on their way to the server: numbered from 1, kept until acknowledged, sent again after
 * every reconnect. */
#ifndef NODE_OUTBOX_H
#define NODE_OUTBOX_H

#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outbox;
struct outbox *outbox_create(void);
void outbox_destroy(struct outbox *); /* NULL-safe */

void outbox_reserve(struct outbox *,
                    size_t n); /* memory for n more facts, taken before they are needed */
uint64_t outbox_add(struct outbox *, const struct wire_fact *); /* its sequence number */
void outbox_ack(struct outbox *, uint64_t seq);                 /* facts up to seq are committed */
uint64_t outbox_first(const struct outbox *); /* the oldest it still has, or the next to come */
bool outbox_is_empty(const struct outbox *);
/* Appends the frames of all facts after seq. */
void outbox_write(const struct outbox *, uint64_t after, struct buf *out);

#endif
