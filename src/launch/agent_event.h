/* An event of the job, told through the agent's socket by a launcher that has no connection to it:
 * one that needs nobody else. */
#ifndef LAUNCH_AGENT_EVENT_H
#define LAUNCH_AGENT_EVENT_H

#include <stdbool.h>

/* Of the attempt with that cookie. Waits for nothing. false: the agent does not take it now. */
bool agent_event(const char *socket, const char *cookie, const char *type, const char *text);

#endif
