/* Calls to a service that wants requests signed with AWS Signature Version 4, one at a time,
 * through libcurl, which signs. libcurl 7.88 signs path, query and headers as they are given: the
 * path has to be percent-encoded as http_escape() does it, the query also sorted by name and with a
 * "=" behind every name, and no header may be empty. Over https the authorities in the file
 * $AWS_CA_BUNDLE, else $SSL_CERT_FILE, are trusted, without both the system's; the environment's
 * web proxies are used.
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
#ifndef HTTP_SIGNED_CLIENT_H
#define HTTP_SIGNED_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/pairs.h"

#include <stdbool.h>
#include <stdint.h>

struct http_signer {
    const char *region, *service;
    const char *key, *secret, *token; /* token: of a session, or NULL */
};
struct http_signed_client;
/* Keeps its connection. The texts are copied. NULL: libcurl does not start. */
struct http_signed_client *http_signed_client_create(const struct http_signer *, struct err *);
void http_signed_client_destroy(struct http_signed_client *); /* NULL-safe */

struct http_signed_request {
    const char *method, *url;    /* whole, encoded as above */
    const struct pairs *headers; /* signed too; or NULL */
    const void *body;            /* its hash is signed; NULL: none */
    size_t len, answer_max;
    uint64_t limit_ms;
};
struct http_signed_answer {
    unsigned status;
    struct buf body; /* caller: buf_fini */
    uint64_t length; /* that the answer says its body has, also of HEAD */
    uint64_t date_s; /* since 1970, by the other side's clock; 0: it does not say */
    char etag[160], date[64];
    bool again; /* of -1: the same call may go through another time */
};
/* 0 whenever an answer came whole, whatever its status. ERR_UNAVAILABLE: nobody answers, or not to
 * the end; ERR_TIMEOUT; ERR_CANNOT: its certificate is not good. */
int http_signed_client_call(struct http_signed_client *, const struct http_signed_request *,
                            struct http_signed_answer *, struct err *);

#endif
