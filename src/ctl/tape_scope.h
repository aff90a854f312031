/* The core's side of a tape (internal to ctl/): each input is told on entry and done when its scope
 * ends; meanwhile the clock stands still, so that a replay reads the same times. */
#ifndef CTL_TAPE_SCOPE_H
#define CTL_TAPE_SCOPE_H

#include "ctl/input.h"

struct tape_scope {
    struct ctl *ctl; /* NULL: there is no tape */
    bool idle;       /* nothing came of it */
};
/* An input that comes inside another one's scope shares its time. */
struct tape_scope tape_scope_begin(struct ctl *, struct ctl_input);
void tape_scope_end(struct tape_scope *);
#define AUTO_TAPE_SCOPE __attribute__((cleanup(tape_scope_end), unused))

bool taped_replays(const struct ctl *);
/* The answer of the world outside, which was rc; in a replay what was recorded. Both have to ask
 * the same questions in the same order. */
int taped_outside(struct ctl *, enum ctl_outside_call, int rc, struct err *err);
/* The same of a right, inside an input; questions of users are not on the tape. */
int taped_right(struct ctl *, int rc, struct err *err);
/* Nothing is left to do before the next plan: in a replay this is when inputs come that in truth
 * were given by who got an answer. false: there is none. */
bool taped_answered(struct ctl *);

struct live_job;
struct sentence;
struct text_node;
/* An event of the job, whose reason says why. */
void taped_event(struct ctl *, const struct live_job *, const char *what,
                 const struct text_node *body);
void taped_wait(struct ctl *, const struct live_job *, const struct sentence *);
void taped_promise(struct ctl *, const struct live_job *, uint64_t at_ms);

#endif
