/* The keeper: the smallest process, parent of an agent, heir of everything that loses its parent
 * below it. */
#ifndef NODE_KEEPER_H
#define NODE_KEEPER_H

/* Runs to the end of the agent and of everything below it. Returns the exit status: 0 the agent
 * left by order, 1 it died, 2 it could not be started. In the forked agent it returns the agent's
 * status. */
int keeper_run(const char *dir);

/* In place of a keeper that was killed: ends what its tasks left behind in their cgroups and
 * removes groups and mount points. Returns the exit status: 0 nothing is left. */
int keeper_clean(const char *dir);

#endif
