/* Which scheme a request is signed by, and what both share: headers, order, dates.
 *
 * Inputs: a request. Effects: none.
 *
 * Caveats: a header that matters to a signature may not be there twice: which of the two was
 * signed, and which is meant, would be two questions. */
#include "api/dlc/sign.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADERS_MAX 200u

static const struct {
    const char *code;
    unsigned status;
} faults[SIGN_FAULT_N] = {
#define SIGN_ROW(id, code_, status_) [SIGN_##id] = { .code = (code_), .status = (status_) },
    SIGN_FAULTS(SIGN_ROW)
#undef SIGN_ROW
};

const char *sign_fault_code(enum sign_fault fault)
{
    return faults[fault].code;
}

unsigned sign_fault_status(enum sign_fault fault)
{
    return faults[fault].status;
}

const char *sign_header(const struct signed_request *r, const char *name, size_t n)
{
    for (size_t i = 0; i < r->headers.n; i++)
        if (strcasecmp(r->headers.at[i].name, name) == 0 && n-- == 0)
            return r->headers.at[i].value;
    return NULL;
}

/* ---- order ---- */

static int by_name(const void *a, const void *b)
{
    const struct pair *const *x = a, *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);
    return order ? order : (*x > *y) - (*x < *y);
}

const struct pair *sign_sorted(struct arena *a, const struct pairs *pairs)
{
    const struct pair **order = ARENA_ARRAY(a, pairs->n + 1, const struct pair *);
    struct pair *out = ARENA_ARRAY(a, pairs->n + 1, struct pair);
    for (size_t i = 0; i < pairs->n; i++)
        order[i] = &pairs->at[i];
    qsort(order, pairs->n, sizeof(struct pair *), by_name);
    for (size_t i = 0; i < pairs->n; i++)
        out[i] = *order[i];
    return out;
}

/* ---- dates ---- */

static bool number(const char *text, int digits, int *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *out = *out * 10 + (text[i] - '0');
    }
    return true;
}

static bool clock_of(const char *text, struct tm *tm)
{
    return number(text, 2, &tm->tm_hour) && text[2] == ':' && number(text + 3, 2, &tm->tm_min) &&
           text[5] == ':' && number(text + 6, 2, &tm->tm_sec) && tm->tm_hour < 24 &&
           tm->tm_min < 60 && tm->tm_sec <= 60;
}

static bool date_of(struct tm *tm, uint64_t *ms)
{
    int month = tm->tm_mon, day = tm->tm_mday;
    tm->tm_year -= 1900;
    if (tm->tm_year < 70 || month < 0 || month > 11 || day < 1)
        return false;
    time_t seconds = timegm(tm); /* makes 31 April the first of May: no such day */
    if (tm->tm_mon != month || tm->tm_mday != day)
        return false;
    *ms = (uint64_t)seconds * 1000;
    return true;
}

bool sign_http_date(const char *text, uint64_t *ms)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    static const char days[] = "SunMonTueWedThuFriSat";
    struct tm tm = { 0 };
    char month[4], day[4];
    if (strlen(text) != 29 || memcmp(text + 3, ", ", 2) != 0 || text[7] != ' ' || text[11] != ' ' ||
        text[16] != ' ' || strcmp(text + 25, " GMT") != 0)
        return false;
    snprintf(day, sizeof day, "%.3s", text);
    snprintf(month, sizeof month, "%.3s", text + 8);
    const char *at = strstr(months, month), *weekday = strstr(days, day);
    if (!at || (at - months) % 3 || !weekday || (weekday - days) % 3)
        return false;
    tm.tm_mon = (int)(at - months) / 3;
    return number(text + 5, 2, &tm.tm_mday) && number(text + 12, 4, &tm.tm_year) &&
           clock_of(text + 17, &tm) && date_of(&tm, ms);
}

bool sign_iso_date(const char *text, uint64_t *ms)
{
    struct tm tm = { 0 };
    if (strlen(text) != 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
        text[19] != 'Z' || !number(text, 4, &tm.tm_year) || !number(text + 5, 2, &tm.tm_mon) ||
        !number(text + 8, 2, &tm.tm_mday))
        return false;
    tm.tm_mon -= 1;
    return clock_of(text + 11, &tm) && date_of(&tm, ms);
}

/* ---- the claim ---- */

static bool matters(const char *name)
{
    static const char *const names[] = { "authorization", "host",   "date",
                                         "content-type",  "accept", "content-md5" };
    if (strncasecmp(name, "x-acs-", 6) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static const char *twice(const struct signed_request *r)
{
    for (size_t i = 1; i < r->headers.n; i++) {
        const char *name = r->headers.at[i].name;
        size_t len = strlen(name);
        for (size_t k = 0; k < i; k++)
            if (strlen(r->headers.at[k].name) == len &&
                strcasecmp(r->headers.at[k].name, name) == 0 && matters(name))
                return name;
    }
    return NULL;
}

static enum sign_fault read_bearer(const struct signed_request *r, const char *authorization,
                                   struct sign_claim *claim, const char **why)
{
    claim->scheme = SIGN_BEARER;
    claim->bearer = sign_header(r, "x-acs-bearer-token", 0);
    if (!authorization)
        return SIGN_OK;
    *why = "one request has a signature and a bearer token";
    return SIGN_INCOMPLETE;
}

enum sign_fault sign_read(struct arena *a, const struct signed_request *r, struct sign_claim *claim,
                          const char **why)
{
    const char *authorization = sign_header(r, "authorization", 0);
    *claim = (struct sign_claim){ 0 };
    *why = "";
    if (r->headers.n > HEADERS_MAX) {
        *why = "it has more than 200 headers";
        return SIGN_INCOMPLETE;
    }
    const char *repeated = twice(r);
    if (repeated) {
        *why = arena_printf(a, "header %.60s is there twice", repeated);
        return SIGN_INCOMPLETE;
    }
    if (sign_header(r, "x-acs-bearer-token", 0))
        return read_bearer(r, authorization, claim, why);
    if (!authorization || !*authorization) {
        *why = "there is no authorization header; create a key: muster key create";
        return SIGN_MISSING;
    }
    claim->nonce = sign_header(r, "x-acs-signature-nonce", 0);
    claim->security_token = sign_header(r, "x-acs-security-token", 0);
    if (claim->security_token && !*claim->security_token)
        claim->security_token = NULL;
    if (strncmp(authorization, "acs ", 4) == 0)
        return roa_read(a, r, authorization, claim, why);
    if (strncmp(authorization, "ACS3-", 5) == 0)
        return acs3_read(a, r, authorization, claim, why);
    *why = "authorization is neither \"acs KEY:SIGNATURE\" nor \"ACS3-HMAC-SHA256 ...\"";
    return SIGN_INCOMPLETE;
}

enum sign_fault sign_verify(struct arena *a, const struct signed_request *r,
                            const struct sign_claim *claim, const char *secret, const char **why)
{
    *why = "";
    return claim->scheme == SIGN_ROA ? roa_verify(a, r, claim, secret, why)
                                     : acs3_verify(a, r, claim, secret, why);
}
