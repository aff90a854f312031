/* The live state of a core as text in stable order: jobs, tasks, attempts, agents, nodes, shares.
 * Two cores that have decided the same have the same. */
#ifndef ANSWER_STATE_TEXT_H
#define ANSWER_STATE_TEXT_H

struct buf;
struct ctl;

void answer_state_text(struct ctl *, struct buf *out);
#define STATE_HASH_TEXT 33
/* Of that text. Hex. */
const char *answer_state_hash(struct ctl *, char out[STATE_HASH_TEXT]);

#endif
