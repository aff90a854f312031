/* Who a program of a job is: whoever has the token (secret/token.h) of a generation that lives, or
 * was seen to be a process of it. */
#include "access/job_identity.h"

#include "account/accounts.h"
#include "engine/engine.h"
#include "live/live.h"
#include "secret/token.h"

#include <sodium.h>
#include <string.h>

struct live_job *find_generation(const struct job_access *access, struct generation of)
{
    struct live_job *job = live_find(access->live, of.job);
    bool lives = job && job_state_holds(job->row.state) && job->row.generation == of.number;
    return lives ? job : NULL;
}

int find_job_of_process(const struct job_access *access, uint32_t pid, struct generation *of)
{
    struct engine *engine = access->engine;
    return engine->ops->find_process ? engine->ops->find_process(engine, pid, of) : 0;
}

int identify_by_job(const struct job_access *access, struct arena *arena, struct generation of,
                    struct identity *who, struct err *err)
{
    const struct live_job *job = find_generation(access, of);
    if (!job) {
        err_set(err, ERR_UNAUTHENTICATED, "the job of this program has ended or was started anew");
        return -1;
    }
    identify_by_name(access->accounts, arena, job->row.owner, who);
    who->of = of;
    who->of_number = job->row.number;
    who->submits = job->spec && job->spec->server == SERVER_SUBMIT && !who->disabled &&
                   who->role > ROLE_READER;
    who->disabled = false; /* their jobs go on */
    if (who->role > ROLE_USER)
        who->role = ROLE_USER;
    return 0;
}

int identify_by_job_token(const struct job_access *access, struct arena *arena, const char *token,
                          struct identity *who, struct err *err)
{
    char right[TOKEN_TEXT];
    struct generation of;
    const struct live_job *job = token_read(token, &of) ? find_generation(access, of) : NULL;
    if (job)
        token_of_job(access->key, job, right);
    if (!job || strlen(token) != strlen(right) || sodium_memcmp(token, right, strlen(right)) != 0) {
        err_set(err, ERR_UNAUTHENTICATED, "this token is of no job that runs");
        return err_hint(err, "it ends with its job, or when that starts anew as a whole");
    }
    sodium_memzero(right, sizeof right);
    return identify_by_job(access, arena, of, who, err);
}
