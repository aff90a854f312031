/* Tokens of jobs: "mj.ID.GENERATION.HEX", the last part derived from the server's key as those of
 * agents are. They are void as soon as the job has ended or is in another generation. */
#include "ctl/job_token.h"

#include "account/accounts.h"
#include "base/scan.h"
#include "ctl/job_identity.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define MARK "mj."

void job_token_make(const struct ctl *ctl, const struct live_job *job, char out[JOB_TOKEN_TEXT])
{
    unsigned char raw[TOKEN_LEN];
    char id[JOB_ID_TEXT], hex[2 * TOKEN_LEN + 1];
    launch_token(ctl, job, "/token", raw); /* no node has such a name */
    sodium_bin2hex(hex, sizeof hex, raw, sizeof raw);
    snprintf(out, JOB_TOKEN_TEXT, MARK "%s.%u.%s", job_id_format(id, job->row.id),
             job->row.generation, hex);
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(hex, sizeof hex);
}

struct live_job *job_token_lives(const struct ctl *ctl, struct generation of)
{
    struct live_job *job = live_find(ctl->live, of.job);
    bool lives = job && job_state_holds(job->row.state) && job->row.generation == of.number;
    return lives ? job : NULL;
}

/* Job and generation that it names; what it names need not be there. */
static bool read_token(const char *token, struct generation *of)
{
    char id[JOB_ID_TEXT], number[11];
    uint64_t generation;
    if (strlen(token) >= JOB_TOKEN_TEXT ||
        sscanf(token, MARK "%13[0-9a-z].%10[0-9].", id, number) != 2 ||
        !scan_u64(number, 1, UINT32_MAX, &generation))
        return false;
    of->number = (uint32_t)generation;
    return job_id_parse(id, &of->job);
}

bool ctl_is_job_token(const char *token)
{
    return strncmp(token, MARK, sizeof MARK - 1) == 0;
}

int ctl_find_process(struct ctl *ctl, uint32_t pid, struct generation *of)
{
    struct engine *engine = ctl->config.engine;
    return engine->ops->find_process ? engine->ops->find_process(engine, pid, of) : 0;
}

int ctl_identity_of_job(struct ctl *ctl, struct arena *arena, struct generation of,
                        struct identity *who, struct err *err)
{
    const struct live_job *job = job_token_lives(ctl, of);
    if (!job) {
        err_set(err, ERR_UNAUTHENTICATED, "the job of this program has ended or was started anew");
        return -1;
    }
    identify_by_name(ctl->accounts, arena, job->row.owner, who);
    who->of = of;
    who->of_number = job->row.number;
    who->submits = job->spec && job->spec->server == SERVER_SUBMIT && !who->disabled &&
                   who->role > ROLE_READER;
    who->disabled = false; /* their jobs go on */
    if (who->role > ROLE_USER)
        who->role = ROLE_USER;
    return 0;
}

int ctl_identity_job_token(struct ctl *ctl, struct arena *arena, const char *token,
                           struct identity *who, struct err *err)
{
    char right[JOB_TOKEN_TEXT];
    struct generation of;
    const struct live_job *job = read_token(token, &of) ? job_token_lives(ctl, of) : NULL;
    if (job)
        job_token_make(ctl, job, right);
    if (!job || strlen(token) != strlen(right) || sodium_memcmp(token, right, strlen(right)) != 0) {
        err_set(err, ERR_UNAUTHENTICATED, "this token is of no job that runs");
        return err_hint(err, "it ends with its job, or when that starts anew as a whole");
    }
    sodium_memzero(right, sizeof right);
    return ctl_identity_of_job(ctl, arena, of, who, err);
}
