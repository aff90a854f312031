/* The old scheme of the vendor's clients: `authorization: acs KEY:base64(HMAC-SHA1)`.
 *
 * Inputs: a request. Effects: none.
 *
 * The text that is signed has the method, four headers, every x-acs- header and the path with the
 * decoded query. Not the body, unless there is a Content-MD5; nor the host. A decoded value may
 * hold `&` and `=`, so the text is made and compared, never taken apart.
 * Source: the published SDK packages and requests captured from them. */
#include "api/dlc/sign.h"

#include "base/buf.h"
#include "base/mem.h"

#include <gnutls/crypto.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#define TEXT_SIZE_MAX ((size_t)4 << 20)
#define SHA1_SIZE     20
#define MD5_SIZE      16
#define BASE64_SIZE   29 /* of SHA1_SIZE bytes, with NUL */

static const char *header_text(const struct signed_request *r, const char *name)
{
    const char *value = sign_header(r, name, 0);
    return value ? value : "";
}

static void add_headers(struct arena *a, const struct signed_request *r, struct buf *out)
{
    struct pairs ours = { 0 };
    for (size_t i = 0; i < r->headers.n; i++) {
        const struct pair *h = &r->headers.at[i];
        if (strncasecmp(h->name, "x-acs-", 6) != 0)
            continue;
        char *name = arena_strdup(a, h->name);
        for (char *c = name; *c; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        pairs_set(&ours, a, name, h->value);
    }
    const struct pair *sorted = sign_sorted(a, &ours);
    for (size_t i = 0; i < ours.n; i++) {
        buf_puts(out, sorted[i].name);
        buf_putc(out, ':');
        buf_puts(out, sorted[i].value);
        buf_putc(out, '\n');
    }
}

static void add_resource(struct arena *a, const struct signed_request *r, struct buf *out)
{
    const struct pair *sorted = sign_sorted(a, &r->query);
    buf_puts(out, r->path);
    for (size_t i = 0; i < r->query.n; i++) {
        buf_putc(out, i ? '&' : '?');
        buf_puts(out, sorted[i].name);
        if (!sorted[i].value[0])
            continue;
        buf_putc(out, '=');
        buf_puts(out, sorted[i].value);
    }
}

const char *roa_string_to_sign(struct arena *a, const struct signed_request *r)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_SIZE_MAX);
    buf_puts(&out, r->method);
    buf_putc(&out, '\n');
    static const char *const first[] = { "accept", "content-md5", "content-type", "date" };
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        buf_puts(&out, header_text(r, first[i]));
        buf_putc(&out, '\n');
    }
    add_headers(a, r, &out);
    add_resource(a, r, &out);
    return out.overflow ? NULL : arena_strndup(a, buf_str(&out), out.len);
}

enum sign_fault roa_read(struct arena *a, const struct signed_request *r, const char *authorization,
                         struct sign_claim *claim, const char **why)
{
    const char *key = authorization + 4, *colon = strrchr(key, ':');
    const char *method = sign_header(r, "x-acs-signature-method", 0);
    const char *date = sign_header(r, "date", 0), *other = sign_header(r, "x-acs-date", 0);
    claim->scheme = SIGN_ROA;
    if (!colon || colon == key || !colon[1]) {
        *why = "authorization is not \"acs KEY:SIGNATURE\"";
        return SIGN_INCOMPLETE;
    }
    if (sign_header(r, "x-acs-content-sha256", 0)) {
        *why = "one request speaks of two ways of signing: acs, and x-acs-content-sha256 of ACS3";
        return SIGN_INCOMPLETE;
    }
    if (method && strcmp(method, "HMAC-SHA1") != 0) {
        *why = arena_printf(a, "x-acs-signature-method is \"%.40s\", not HMAC-SHA1", method);
        return SIGN_METHOD;
    }
    claim->key_id = arena_strndup(a, key, (size_t)(colon - key));
    claim->signature = colon + 1;
    if (!claim->nonce || !*claim->nonce) {
        *why = "there is no x-acs-signature-nonce";
        return SIGN_INCOMPLETE;
    }
    if (date ? !sign_http_date(date, &claim->time_ms)
             : !other || !sign_iso_date(other, &claim->time_ms)) {
        *why = "the date is no date like \"Sat, 21 Nov 2026 02:37:02 GMT\"";
        return SIGN_TIME_FORMAT;
    }
    return SIGN_OK;
}

/* Where a client sends the hash of its body, the body is what was signed. */
static bool body_fits(const struct signed_request *r)
{
    const char *md5 = sign_header(r, "content-md5", 0);
    unsigned char hash[MD5_SIZE];
    char text[BASE64_SIZE];
    if (!md5 || !*md5)
        return true;
    if (gnutls_hash_fast(GNUTLS_DIG_MD5, r->body, r->body_len, hash) < 0)
        return false;
    sodium_bin2base64(text, sizeof text, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
    return strcmp(text, md5) == 0;
}

enum sign_fault roa_verify(struct arena *a, const struct signed_request *r,
                           const struct sign_claim *claim, const char *secret, const char **why)
{
    const char *text = roa_string_to_sign(a, r);
    unsigned char mac[SHA1_SIZE];
    char wanted[BASE64_SIZE];
    if (!text ||
        gnutls_hmac_fast(GNUTLS_MAC_SHA1, secret, strlen(secret), text, strlen(text), mac) < 0) {
        *why = "no signature can be made of this request";
        return SIGN_MISMATCH;
    }
    sodium_bin2base64(wanted, sizeof wanted, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
    if (strlen(claim->signature) == strlen(wanted) &&
        sodium_memcmp(claim->signature, wanted, strlen(wanted)) == 0 && body_fits(r))
        return SIGN_OK;
    *why = arena_printf(a, "the signature is another; signed here: %.1000s", text);
    return SIGN_MISMATCH;
}
