/* One bucket of a store that speaks S3, and a prefix in it: signed calls that are tried again where
 * that can help, and refusals in words that say where and what to do. */
#ifndef SHIP_S3_H
#define SHIP_S3_H

#include "base/err.h"
#include "base/pairs.h"
#include "http/signed_client.h"
#include "ship/target_place.h"

struct s3;
/* ERR_INPUT: that is no bucket, endpoint or region. */
int s3_check_place(const struct target_place *, struct err *);
/* As they are said, else as the environment has them. */
const char *s3_region(const struct target_place *);
const char *s3_endpoint(const struct target_place *); /* "": AWS itself */
/* Nothing is called yet. ERR_INPUT, ERR_UNAUTHENTICATED: there are no credentials. */
struct s3 *s3_open(const struct target_place *, struct err *);
void s3_close(struct s3 *); /* NULL-safe */
/* Of its keys: "" or "PREFIX/", percent-encoded for a query. */
const char *s3_prefix_encoded(const struct s3 *);

struct s3_ask {
    const char *method;
    const char *name;            /* of an object, behind the prefix; NULL: the bucket */
    const char *query;           /* as http/signed_client.h wants it; NULL: none */
    const struct pairs *headers; /* or NULL */
    const void *body;            /* or NULL */
    size_t len, answer_max;      /* answer_max 0: what a list or a refusal needs */
};
/* 0: the store did it (2xx); the caller ends answer->body then. ERR_NOT_FOUND: there is no such
 * object, or upload; ERR_CONFLICT: a condition of the headers does not hold; ERR_CANNOT: the store
 * does not know how; ERR_DENIED, ERR_UNAUTHENTICATED; ERR_UNAVAILABLE, ERR_TIMEOUT: not now, and it
 * was tried several times. */
int s3_call(struct s3 *, const struct s3_ask *, struct http_signed_answer *, struct err *);
/* The same for an answer of 2xx that holds a refusal, as some have. */
int s3_check_answer(struct s3 *, const struct s3_ask *, const struct http_signed_answer *,
                    struct err *);

#endif
