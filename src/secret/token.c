/* Everything that is derived names its job, its generation and who it is for, in a form that no
 * other has: no node's name begins with a slash. */
#include "secret/token.h"

#include "base/scan.h"
#include "live/live.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define MARK "mj."

void token_derive(const unsigned char key[TOKEN_LEN], const struct live_job *job, const char *node,
                  unsigned char out[TOKEN_LEN])
{
    char text[340];
    const char *life = pairs_get(&job->notes.lives, node); /* none: it is the first there */
    int n = snprintf(text, sizeof text, "%llu/%u/%s%s%s", (unsigned long long)job->row.id,
                     job->row.generation, node, life ? "/" : "", life ? life : "");
    size_t len = n > 0 && (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    crypto_generichash(out, TOKEN_LEN, (const unsigned char *)text, len, key, TOKEN_LEN);
}

void token_hash(const unsigned char token[TOKEN_LEN], unsigned char out[32])
{
    crypto_hash_sha256(out, token, TOKEN_LEN);
}

void token_of_job(const unsigned char key[TOKEN_LEN], const struct live_job *job,
                  char out[TOKEN_TEXT])
{
    unsigned char raw[TOKEN_LEN];
    char id[JOB_ID_TEXT], hex[2 * TOKEN_LEN + 1];
    token_derive(key, job, "/token", raw);
    sodium_bin2hex(hex, sizeof hex, raw, sizeof raw);
    snprintf(out, TOKEN_TEXT, MARK "%s.%u.%s", job_id_format(id, job->row.id), job->row.generation,
             hex);
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(hex, sizeof hex);
}

bool token_is_of_job(const char *token)
{
    return strncmp(token, MARK, sizeof MARK - 1) == 0;
}

bool token_read(const char *token, struct generation *of)
{
    char id[JOB_ID_TEXT], number[11];
    uint64_t generation;
    if (strlen(token) >= TOKEN_TEXT ||
        sscanf(token, MARK "%13[0-9a-z].%10[0-9].", id, number) != 2 ||
        !scan_u64(number, 1, UINT32_MAX, &generation))
        return false;
    of->number = (uint32_t)generation;
    return job_id_parse(id, &of->job);
}

void token_put_own(const unsigned char key[TOKEN_LEN], const struct live_job *job,
                   struct arena *arena, struct pairs *env)
{
    unsigned char raw[TOKEN_LEN];
    char hex[2 * TOKEN_LEN + 1], token[TOKEN_TEXT];
    token_derive(key, job, "/job", raw);
    sodium_bin2hex(hex, sizeof hex, raw, sizeof raw);
    pairs_set(env, arena, "MUSTER_JOB_SECRET", hex);
    token_of_job(key, job, token);
    pairs_set(env, arena, "MUSTER_JOB_TOKEN", token);
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(hex, sizeof hex);
    sodium_memzero(token, sizeof token);
}
