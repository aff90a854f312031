/* The newer scheme: `authorization: ACS3-HMAC-SHA256
 * Credential=KEY,SignedHeaders=a;b,Signature=HEX`.
 *
 * Inputs: a request. Effects: none.
 *
 * The client says which headers it signed; those that decide what a request means must be among
 * them, and no x-acs- header may be left out. The body is signed by its hash.
 * Source: the published SDK packages and requests captured from them. */
#include "api/dlc/sign.h"

#include "base/buf.h"
#include "base/mem.h"

#include <gnutls/crypto.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ALGORITHM     "ACS3-HMAC-SHA256"
#define TEXT_SIZE_MAX ((size_t)4 << 20)
#define HASH_SIZE     32
#define HEX_SIZE      (2 * HASH_SIZE + 1)

/* ---- the authorization header ---- */

/* The value of `name=` in a comma list, in the arena; NULL. */
static const char *part(struct arena *a, const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " ");
        if (strncmp(at, name, len) == 0 && at[len] == '=')
            return arena_strndup(a, at + len + 1, strcspn(at + len + 1, ","));
    }
    return NULL;
}

/* Is the lower-case name one of "a;b;c"? */
static bool listed(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = names; *at; at += strcspn(at, ";"), at += *at == ';')
        if (strncasecmp(at, name, len) == 0 && (at[len] == ';' || !at[len]))
            return true;
    return false;
}

static bool all_listed(struct arena *a, const struct signed_request *r, const char *names,
                       const char **why)
{
    static const char *const must[] = { "host",         "x-acs-date",    "x-acs-signature-nonce",
                                        "x-acs-action", "x-acs-version", "x-acs-content-sha256" };
    for (size_t i = 0; i < ARRAY_LEN(must); i++)
        if (!listed(names, must[i]) || !sign_header(r, must[i], 0)) {
            *why = arena_printf(a, "%s is not among the signed headers", must[i]);
            return false;
        }
    for (size_t i = 0; i < r->headers.n; i++) {
        const char *name = r->headers.at[i].name;
        if (strncasecmp(name, "x-acs-", 6) == 0 && !listed(names, name)) {
            *why = arena_printf(a, "%.60s is not among the signed headers", name);
            return false;
        }
    }
    return true;
}

enum sign_fault acs3_read(struct arena *a, const struct signed_request *r,
                          const char *authorization, struct sign_claim *claim, const char **why)
{
    size_t len = strcspn(authorization, " ");
    claim->scheme = SIGN_ACS3;
    if (len != strlen(ALGORITHM) || strncmp(authorization, ALGORITHM, len) != 0) {
        *why = arena_printf(a, "signatures of kind %.*s are not checked here; %s and acs are",
                            (int)(len < 40 ? len : 40), authorization, ALGORITHM);
        return SIGN_METHOD;
    }
    claim->key_id = part(a, authorization + len, "Credential");
    claim->signed_headers = part(a, authorization + len, "SignedHeaders");
    claim->signature = part(a, authorization + len, "Signature");
    if (!claim->key_id || !*claim->key_id || !claim->signed_headers || !claim->signature) {
        *why =
            "authorization is not \"" ALGORITHM " Credential=KEY,SignedHeaders=a;b,Signature=HEX\"";
        return SIGN_INCOMPLETE;
    }
    if (sign_header(r, "x-acs-signature-method", 0) &&
        strcmp(sign_header(r, "x-acs-signature-method", 0), "HMAC-SHA1") == 0) {
        *why = "one request speaks of two ways of signing: ACS3, and HMAC-SHA1";
        return SIGN_INCOMPLETE;
    }
    if (!all_listed(a, r, claim->signed_headers, why))
        return SIGN_INCOMPLETE;
    if (!*claim->nonce) {
        *why = "x-acs-signature-nonce is empty";
        return SIGN_INCOMPLETE;
    }
    if (!sign_iso_date(sign_header(r, "x-acs-date", 0), &claim->time_ms)) {
        *why = "x-acs-date is no date like \"2026-11-21T02:37:32Z\"";
        return SIGN_TIME_FORMAT;
    }
    return SIGN_OK;
}

/* ---- the text ---- */

static void add_encoded(struct buf *out, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool plain = (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') ||
                     (*c >= '0' && *c <= '9') || strchr("-_.~", *c);
        if (plain) {
            buf_putc(out, (char)*c);
        } else {
            buf_putc(out, '%');
            buf_putc(out, hex[*c >> 4]);
            buf_putc(out, hex[*c & 15]);
        }
    }
}

static void add_trimmed(struct buf *out, const char *value)
{
    value += strspn(value, " \t");
    size_t len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    buf_add(out, value, len);
}

static void add_headers(struct arena *a, const struct signed_request *r, const char *names,
                        struct buf *out)
{
    for (const char *at = names; *at; at += strcspn(at, ";"), at += *at == ';') {
        const char *name = arena_strndup(a, at, strcspn(at, ";"));
        const char *value = sign_header(r, name, 0);
        buf_puts(out, name);
        buf_putc(out, ':');
        add_trimmed(out, value ? value : "");
        buf_putc(out, '\n');
    }
}

const char *acs3_canonical(struct arena *a, const struct signed_request *r, const char *names)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_SIZE_MAX);
    const struct pair *sorted = sign_sorted(a, &r->query);
    const char *hash = sign_header(r, "x-acs-content-sha256", 0);
    buf_puts(&out, r->method);
    buf_putc(&out, '\n');
    buf_puts(&out, r->path);
    buf_putc(&out, '\n');
    for (size_t i = 0; i < r->query.n; i++) {
        buf_puts(&out, i ? "&" : "");
        buf_puts(&out, sorted[i].name);
        buf_putc(&out, '=');
        add_encoded(&out, sorted[i].value);
    }
    buf_putc(&out, '\n');
    add_headers(a, r, names, &out);
    buf_putc(&out, '\n');
    buf_puts(&out, names);
    buf_putc(&out, '\n');
    buf_puts(&out, hash ? hash : "");
    return out.overflow ? NULL : arena_strndup(a, buf_str(&out), out.len);
}

static void hex_hash(char out[HEX_SIZE], const char *text, size_t len)
{
    unsigned char hash[HASH_SIZE] = { 0 };
    gnutls_hash_fast(GNUTLS_DIG_SHA256, text, len, hash);
    sodium_bin2hex(out, HEX_SIZE, hash, sizeof hash);
}

enum sign_fault acs3_verify(struct arena *a, const struct signed_request *r,
                            const struct sign_claim *claim, const char *secret, const char **why)
{
    const char *canonical = acs3_canonical(a, r, claim->signed_headers);
    const char *said = sign_header(r, "x-acs-content-sha256", 0);
    char hash[HEX_SIZE], wanted[HEX_SIZE], text[sizeof ALGORITHM + HEX_SIZE];
    unsigned char mac[HASH_SIZE];
    hex_hash(hash, r->body ? r->body : "", r->body_len);
    if (!canonical || !said || strcasecmp(hash, said) != 0) {
        *why = "x-acs-content-sha256 is not the hash of the body";
        return SIGN_MISMATCH;
    }
    hex_hash(hash, canonical, strlen(canonical));
    snprintf(text, sizeof text, ALGORITHM "\n%s", hash);
    if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret, strlen(secret), text, strlen(text), mac) < 0) {
        *why = "no signature can be made of this request";
        return SIGN_MISMATCH;
    }
    sodium_bin2hex(wanted, sizeof wanted, mac, sizeof mac);
    if (strlen(claim->signature) == HEX_SIZE - 1 &&
        sodium_memcmp(claim->signature, wanted, HEX_SIZE - 1) == 0)
        return SIGN_OK;
    *why = arena_printf(a, "the signature is another; signed here: %.1000s", canonical);
    return SIGN_MISMATCH;
}
