/* Texts by which agents, tasks and programs of a job prove who they are: each is derived from the
 * server's key, so that nothing is stored and a restart of the server keeps them. A job's are void
 * as soon as it has ended or is in another generation. */
#ifndef SECRET_TOKEN_H
#define SECRET_TOKEN_H

#include "base/arena.h"
#include "base/pairs.h"
#include "job/ids.h"

#include <stdbool.h>

#define TOKEN_LEN 32

struct live_job;

/* Of this generation's agent on the node; of the life that it has there, when agents were lost. */
void token_derive(const unsigned char key[TOKEN_LEN], const struct live_job *, const char *node,
                  unsigned char out[TOKEN_LEN]);
void token_hash(const unsigned char token[TOKEN_LEN], unsigned char out[32]);

/* Of a job's programs: "mj.ID.GENERATION.HEX". */
#define TOKEN_TEXT (3 + JOB_ID_TEXT + 11 + 2 * TOKEN_LEN + 1)
void token_of_job(const unsigned char key[TOKEN_LEN], const struct live_job *,
                  char out[TOKEN_TEXT]);
bool token_is_of_job(const char *token); /* by its looks */
/* Job and generation that it names; what it names need not be there, nor the token be right. */
bool token_read(const char *token, struct generation *of);
/* What only tasks of this generation know: they tell each other by it, and the server. */
void token_put_own(const unsigned char key[TOKEN_LEN], const struct live_job *, struct arena *,
                   struct pairs *env);

#endif
