/* A request as a client may send it: method, path, query and headers, one a line. Whatever is
 * claimed is read without a fault, what is refused has a reason, and a claim that is whole can be
 * checked against a secret. */
#include "api/dlc/sign.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* "name: value" until an empty line, then the body. */
static void add(struct pairs *pairs, struct arena *a, char *line, char split)
{
    char *at = strchr(line, split);
    struct pair *wider = ARENA_ARRAY(a, pairs->n + 1, struct pair);
    if (!at)
        return;
    *at = '\0';
    if (pairs->n)
        memcpy(wider, pairs->at, pairs->n * sizeof *wider);
    wider[pairs->n++] = (struct pair){ line, at + 1 + strspn(at + 1, " ") };
    pairs->at = wider;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4096 || sodium_init() < 0)
        return 0;
    struct arena *a = arena_create();
    struct signed_request r = { .method = "GET", .path = "/api/v1/jobs", .body = "" };
    char *text = arena_strndup(a, (const char *)data, size), *line = text;
    for (char *end; *line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (*line == '/')
            r.path = line;
        else if (*line == '?')
            add(&r.query, a, line + 1, '=');
        else
            add(&r.headers, a, line, ':');
    }
    r.body = line;
    r.body_len = strlen(line);
    struct sign_claim claim;
    const char *why;
    enum sign_fault fault = sign_read(a, &r, &claim, &why);
    if (fault && !*why)
        abort();
    if (fault && (!sign_fault_code(fault) || sign_fault_status(fault) < 400))
        abort();
    if (!fault && claim.scheme != SIGN_BEARER) {
        if (!claim.key_id || !claim.signature || !claim.nonce)
            abort();
        fault = sign_verify(a, &r, &claim, "secret", &why);
        if (fault != SIGN_OK && fault != SIGN_MISMATCH)
            abort();
    }
    uint64_t ms;
    sign_http_date(text, &ms);
    sign_iso_date(text, &ms);
    arena_destroy(a);
    return 0;
}
