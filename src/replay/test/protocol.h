/* doc/protocol.md from the tables of all messages. */
#ifndef REPLAY_TEST_PROTOCOL_H
#define REPLAY_TEST_PROTOCOL_H

#include "base/buf.h"

#include <stdbool.h>

void protocol_page(struct buf *);
/* For a fuzzer: the shortest frame of each kind. "wire", "rdzv" or "recording"; false: another. */
bool protocol_dictionary(struct buf *, const char *target);

#endif
