/* The events of torchrun 2.13 as its `console` handler writes them: a line of JSON on stderr for
 * each rendezvous, each start and end of a rank, and the end of the launcher. */
#ifndef LAUNCH_TORCH_EVENTS_H
#define LAUNCH_TORCH_EVENTS_H

#include "job/rendezvous.h"
#include "launch/settings.h"

struct torch_events;
/* NULL, which all others take, where --event-log-handler is not console. say: a whole line. */
struct torch_events *torch_events_create(const struct settings *,
                                         void (*say)(void *arg, const char *line, size_t len),
                                         void *arg);
void torch_events_destroy(struct torch_events *);
void torch_events_join(struct torch_events *); /* a rendezvous begins, or goes on */
/* The ranks of the round are started; pids of all of this node. */
void torch_events_round(struct torch_events *, const struct rdzv_round *, const uint32_t *pids,
                        uint32_t own_restarts);
/* The end of the job, with the deaths of this node in its last round. */
void torch_events_end(struct torch_events *, bool failed, const struct rdzv_deaths *);
void torch_events_signal(struct torch_events *, const char *error); /* ... on a signal */

#endif
