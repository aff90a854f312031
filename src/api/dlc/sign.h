/* What a signed request says of itself, and whether its signature is right: the two schemes of the
 * vendor's clients, over a request that knows no server. One file per scheme: roa.c
 * (`acs KEY:SIGNATURE`, HMAC-SHA1) and acs3.c (`ACS3-HMAC-SHA256 ...`). Pure; the primitives are
 * GnuTLS's and libsodium's. */
#ifndef API_DLC_SIGN_H
#define API_DLC_SIGN_H

#include "base/arena.h"
#include "base/pairs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct signed_request {
    const char *method;
    const char *path;     /* as on the wire, still encoded, without query and endpoint prefix */
    struct pairs query;   /* decoded, in wire order */
    struct pairs headers; /* names in any case; a repeated one is there twice */
    const char *body;
    size_t body_len;
};

enum sign_scheme { SIGN_NONE, SIGN_ROA, SIGN_ACS3, SIGN_BEARER };

/* What is wrong with it; value; Code of the answer; its HTTP status. */
#define SIGN_FAULTS(X)                                                                             \
    X(MISSING, "MissingAccessKeyId", 400)                                                          \
    X(INCOMPLETE, "IncompleteSignature", 400)                                                      \
    X(METHOD, "UnsupportedSignatureMethod", 400)                                                   \
    X(UNKNOWN_KEY, "InvalidAccessKeyId.NotFound", 404)                                             \
    X(INACTIVE_KEY, "InvalidAccessKeyId.Inactive", 403)                                            \
    X(MISMATCH, "SignatureDoesNotMatch", 400)                                                      \
    X(REPLAYED, "SignatureNonceUsed", 400)                                                         \
    X(TIME, "InvalidTimeStamp.Expired", 400)                                                       \
    X(TIME_FORMAT, "InvalidTimeStamp.Format", 400)                                                 \
    X(TOKEN_EXPIRED, "InvalidSecurityToken.Expired", 403)                                          \
    X(TOKEN, "InvalidSecurityToken.Malformed", 403)                                                \
    X(BAD_BEARER, "InvalidBearerToken", 401)
enum sign_fault {
    SIGN_OK,
#define SIGN_FAULT(id, code, status) SIGN_##id,
    SIGN_FAULTS(SIGN_FAULT)
#undef SIGN_FAULT
        SIGN_FAULT_N
};
const char *sign_fault_code(enum sign_fault);
unsigned sign_fault_status(enum sign_fault);

/* A request's own claim: nothing of it is proved before sign_verify(). Texts are in the arena or
 * the request's. */
struct sign_claim {
    enum sign_scheme scheme;
    const char *key_id, *signature;
    const char *signed_headers; /* ACS3 */
    const char *nonce;
    const char *security_token; /* NULL: a lasting key */
    const char *bearer;         /* SIGN_BEARER */
    uint64_t time_ms;
};
/* SIGN_OK, or what is missing or malformed; *why is then one sentence in the arena. */
enum sign_fault sign_read(struct arena *, const struct signed_request *, struct sign_claim *,
                          const char **why);
/* Is it the signature of that secret? Constant time over the signature. */
enum sign_fault sign_verify(struct arena *, const struct signed_request *,
                            const struct sign_claim *, const char *secret, const char **why);

/* The n-th header of that name, whatever the case of its letters; NULL. */
const char *sign_header(const struct signed_request *, const char *name, size_t n);

/* ---- the schemes, for sign.c and tests. The text that is signed, in the arena. ---- */

enum sign_fault roa_read(struct arena *, const struct signed_request *, const char *authorization,
                         struct sign_claim *, const char **why);
const char *roa_string_to_sign(struct arena *, const struct signed_request *);
enum sign_fault roa_verify(struct arena *, const struct signed_request *, const struct sign_claim *,
                           const char *secret, const char **why);

enum sign_fault acs3_read(struct arena *, const struct signed_request *, const char *authorization,
                          struct sign_claim *, const char **why);
const char *acs3_canonical(struct arena *, const struct signed_request *, const char *names);
enum sign_fault acs3_verify(struct arena *, const struct signed_request *,
                            const struct sign_claim *, const char *secret, const char **why);

/* The query's pairs in the order of their names, equal ones as they came; in the arena. */
const struct pair *sign_sorted(struct arena *, const struct pairs *);
/* "Sat, 21 Nov 2026 02:37:02 GMT", "2026-11-21T02:37:32Z"; exact, in milliseconds. */
bool sign_http_date(const char *text, uint64_t *ms);
bool sign_iso_date(const char *text, uint64_t *ms);

#endif
