/* Errors as values: owned by the caller, fixed size, nothing to free. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/bug.h"
#include "base/remedy.h"

#include <stddef.h>
#include <stdint.h>

/* name, word in JSON, HTTP status, exit code of the command line */
#define ERR_CODES(X)                                                                               \
    X(INPUT, "invalid", 400, 2) /* the text or the flags are wrong */                              \
    X(UNAUTHENTICATED, "unauthenticated", 401, 5)                                                  \
    X(DENIED, "denied", 403, 5)                                                                    \
    X(NOT_FOUND, "not_found", 404, 2)                                                              \
    X(METHOD, "method_not_allowed", 405, 2)                                                        \
    X(CONFLICT, "conflict", 409, 2)                                                                \
    X(TOO_LARGE, "too_large", 413, 2) /* over a bound; the bound is in the message */              \
    X(CANNOT, "cannot", 422, 2)       /* understood, and this server cannot do it */               \
    X(BUSY, "busy", 429, 4)                                                                        \
    X(SYSTEM, "system", 500, 1)           /* a system call failed in an unexpected way */          \
    X(UNAVAILABLE, "unavailable", 503, 4) /* no server, or not now */                              \
    X(TIMEOUT, "timeout", 504, 4)                                                                  \
    X(FULL, "storage_full", 507, 1) /* the store took nothing of it */

enum err_code {
    ERR_NONE,
#define ERR_ENUM(id, word, http, status) ERR_##id,
    ERR_CODES(ERR_ENUM)
#undef ERR_ENUM
        ERR_N
};

struct err {
    enum err_code code;
    char what[256];           /* what is wrong, with the value and the place */
    uint16_t subject;         /* bytes of what in front of the cause: "PATH: "; 0: it has no such */
    char hint[200];           /* what to do; "" when there is nothing to say */
    struct remedies remedies; /* what to type; the only place for command lines of muster */
};

/* Sets code and text, forgets hint and remedies. Returns -1, so that `return err_set(...)` reads
 * well. err may be NULL. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* ERR_SYSTEM with errno's text appended ("...: No such file or directory"). ENOSPC and EDQUOT
 * become ERR_FULL. */
int err_sys(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* So many bytes of what say what it is wrong with; err_cause() is the rest. Returns -1. */
int err_subject(struct err *err, size_t len);
const char *err_cause(const struct err *err);
/* Puts context in front: "loading /etc/x: " + what. */
int err_in(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One more command to type; _of: with its arguments, apart by newlines. Returns -1. */
int err_remedy(struct err *err, enum remedy_id);
int err_remedy_of(struct err *err, enum remedy_id, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

const char *err_word(enum err_code code);      /* "not_found" */
int err_http_status(enum err_code code);       /* 404 */
int err_exit_status(enum err_code code);       /* 2 */
enum err_code err_from_word(const char *word); /* ERR_SYSTEM when unknown */

#endif
