/* On whose nodes a job is to run, by what it says, by the server's setting and by its account. */
#ifndef SUBMISSION_ENGINE_CHOICE_H
#define SUBMISSION_ENGINE_CHOICE_H

#include "base/arena.h"
#include "base/err.h"

struct account;
struct candidate_server;
struct job_spec;

/* A job that names no engine gets the server's standard one, where that runs jobs of its account
 * (NULL: the server's own). Of one that has nodes asked for, a queue that is none here is the name
 * of a partition there. */
void engine_choose(const struct candidate_server *, struct arena *, const struct account *,
                   struct job_spec *);
/* After it: those of other accounts run on this machine, or in allocations of their own. -1: not
 * on what it names. */
int engine_check_account(const struct candidate_server *, const struct account *, struct job_spec *,
                         struct err *);

#endif
