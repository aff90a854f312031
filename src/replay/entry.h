/* Bodies of a recording's frames: inputs, refusals, decisions and the header. What is read is
 * checked to its last byte; texts are in arena or point into the frame. */
#ifndef REPLAY_ENTRY_H
#define REPLAY_ENTRY_H

#include "ctl/tape.h"
#include "documents/documents.h"
#include "replay/segment.h"
#include "sched/cluster.h"
#include "store/seal.h"
#include "wire/codec.h"

struct recording_header {
    const char *version; /* of muster */
    bool started;        /* a server began here; else it went on */
    uint64_t at_ms, mono_us, created_ms;
    uint64_t first; /* number of its first input */
    uint64_t meetings;
    const char *hash; /* of the state; "": it began */
    const char *admin, *state_dir, *runs_dir;
    uint32_t caps;
    struct pairs settings; /* key, text */
    struct pairs trees;    /* key, JSON: what the file says more than a text */
    struct node_spec *nodes;
    uint32_t n_nodes;
    uint32_t *marks; /* ctl_port_marks */
};
struct recorded_refusal {
    enum ctl_outside_call what;
    uint32_t ordinal; /* of all questions that the input asked, from 1 */
    struct err err;
};

extern const struct codec_message entry_inputs[INPUT_N]; /* by enum ctl_input_kind */
extern const struct codec_message entry_others[3];       /* header, refusal, decision */

void entry_put_header(struct buf *, const struct recording_header *);
/* With a seal what a submission says of variables is sealed: its text, its values, its settings. */
void entry_put_input(struct buf *, const struct ctl_input *, const struct seal *);
void entry_put_refusal(struct buf *, const struct recorded_refusal *);
void entry_put_decision(struct buf *, const struct ctl_decision *);

/* false: the body is not exactly that. */
bool entry_get_header(const struct frame *, struct arena *, struct recording_header *);
bool entry_get_input(const struct frame *, struct arena *, const struct seal *, struct ctl_input *);
bool entry_get_refusal(const struct frame *, struct arena *, struct recorded_refusal *);
bool entry_get_decision(const struct frame *, struct arena *, struct ctl_decision *);

#endif
