/* Addresses: with an endpoint ENDPOINT/BUCKET/KEY, as every store takes it; at AWS the bucket is a
 * part of the host's name, but for a bucket with a dot in its name, which no certificate is for.
 * Refusals are known by their code:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
 */
#include "ship/s3.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"
#include "ship/s3_credentials.h"
#include "ship/s3_xml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ANSWER_MAX   ((size_t)4 << 20)
#define CALL_MS      300000u
#define TRIES        5u
#define FIRST_MS     250u   /* before the second try; twice as long before each other one */
#define AGAIN_MS     20000u /* after so long since the first try there is no other */
#define SKEW_LEAST_S 60     /* by the date of the answer, which may be that of a proxy */
#define BUCKET_MAX   63
#define REGION_MAX   63
#define PREFIX_MAX   512
#define ENDPOINT_MAX 255

struct s3 {
    struct arena *arena;
    struct http_signed_client *http;
    const char *where;  /* s3://BUCKET/PREFIX at HOST, for people */
    const char *base;   /* URL of the bucket, without a slash behind it */
    const char *prefix; /* "" or "PREFIX/", encoded for a path */
    const char *query_prefix;
    const char *region, *bucket;
};

/* ---- places ---- */

/* In the order in which they count. */
static const char *first_of(const char *said, const char *const *names, size_t n)
{
    if (said && *said)
        return said;
    for (size_t i = 0; i < n; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return value;
    }
    return "";
}

const char *s3_endpoint(const struct target_place *place)
{
    static const char *const names[] = { "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL" };
    return first_of(place->endpoint, names, ARRAY_LEN(names));
}

const char *s3_region(const struct target_place *place)
{
    static const char *const names[] = { "AWS_REGION", "AWS_DEFAULT_REGION" };
    const char *region = first_of(place->region, names, ARRAY_LEN(names));
    return *region ? region : "us-east-1";
}

static bool consists_of(const char *text, const char *chars, size_t max)
{
    size_t n = strlen(text);
    return n > 0 && n <= max && strspn(text, chars) == n;
}

#define LETTERS  "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"

static bool is_endpoint(const char *url)
{
    const char *host = strncmp(url, "https://", 8) == 0  ? url + 8
                       : strncmp(url, "http://", 7) == 0 ? url + 7
                                                         : "";
    return *host != '/' && consists_of(host, LETTERS CAPITALS DIGITS ".-_:[]/~", ENDPOINT_MAX);
}

/* libcurl and stores make another path of one with such parts. */
static bool has_odd_part(const char *prefix)
{
    for (const char *at = prefix; *at;) {
        size_t n = strcspn(at, "/");
        if (n == 0 || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
            return true;
        at += n + (at[n] == '/');
    }
    return false;
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

int s3_check_place(const struct target_place *place, struct err *err)
{
    const char *bucket = place->where + sizeof TARGET_STORE - 1;
    const size_t n = strcspn(bucket, "/");
    AUTO_FREE char *name = mem_strndup(bucket, n);
    const char *prefix = bucket[n] ? bucket + n + 1 : "";
    const char *endpoint = s3_endpoint(place), *region = s3_region(place);
    if (!consists_of(name, LETTERS CAPITALS DIGITS ".-_", BUCKET_MAX) || strstr(name, "..")) {
        err_set(err, ERR_INPUT, "%.120s: \"%.64s\" is no name of a bucket", place->where, name);
        return err_hint(err, "write s3://BUCKET/PREFIX");
    }
    if (strlen(prefix) > PREFIX_MAX || has_odd_part(prefix) || has_control(prefix)) {
        err_set(err, ERR_INPUT, "%.160s: that prefix cannot be used", place->where);
        return err_hint(err, "at most %d bytes, and no part that is empty, \".\" or \"..\"",
                        PREFIX_MAX);
    }
    if (*endpoint && strchr(endpoint, '@')) {
        err_set(err, ERR_INPUT, "the endpoint of the store holds a name or password");
        return err_hint(err, "they belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                             "~/.aws/credentials");
    }
    if (*endpoint && !is_endpoint(endpoint)) {
        err_set(err, ERR_INPUT, "\"%.120s\" is no endpoint of a store", endpoint);
        return err_hint(err, "write https://HOST or https://HOST:PORT");
    }
    if (!consists_of(region, LETTERS DIGITS "-", REGION_MAX)) {
        err_set(err, ERR_INPUT, "\"%.64s\" is no region of a store", region);
        return err_hint(err, "as us-east-1; most stores of one's own take that");
    }
    return 0;
}

static const char *without_slash(struct arena *a, const char *text)
{
    size_t n = strlen(text);
    while (n && text[n - 1] == '/')
        n--;
    return arena_strndup(a, text, n);
}

/* slash: what a "/" becomes. */
static const char *encode(struct arena *a, const char *text, const char *slash)
{
    AUTO_BUF struct buf out = BUF_INIT((size_t)4 * PREFIX_MAX);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "/");
        AUTO_FREE char *part = mem_strndup(at, n);
        http_escape(&out, part);
        at += n;
        if (*at == '/') {
            buf_puts(&out, slash);
            at++;
        }
    }
    return arena_strdup(a, buf_str(&out));
}

static const char *base_url(struct s3 *s, const char *bucket, const char *endpoint)
{
    const char *china = strncmp(s->region, "cn-", 3) == 0 ? ".cn" : "";
    if (*endpoint)
        return arena_printf(s->arena, "%s/%s", endpoint, bucket);
    return strchr(bucket, '.') ? arena_printf(s->arena, "https://s3.%s.amazonaws.com%s/%s",
                                              s->region, china, bucket)
                               : arena_printf(s->arena, "https://%s.s3.%s.amazonaws.com%s", bucket,
                                              s->region, china);
}

struct s3 *s3_open(const struct target_place *place, struct err *err)
{
    struct s3_credentials have;
    if (s3_check_place(place, err) < 0)
        return NULL;
    struct s3 *s = mem_new(sizeof *s);
    s->arena = arena_create();
    const char *where = without_slash(s->arena, place->where);
    const char *bucket = where + sizeof TARGET_STORE - 1;
    const size_t n = strcspn(bucket, "/");
    const char *prefix = bucket[n] ? bucket + n + 1 : "";
    const char *endpoint = without_slash(s->arena, s3_endpoint(place));
    s->region = arena_strdup(s->arena, s3_region(place));
    s->bucket = arena_strndup(s->arena, bucket, n);
    s->base = base_url(s, s->bucket, endpoint);
    s->where = *endpoint ? arena_printf(s->arena, "%s at %s", where, endpoint) : where;
    s->prefix = *prefix ? arena_printf(s->arena, "%s/", encode(s->arena, prefix, "/")) : "";
    s->query_prefix =
        *prefix ? arena_printf(s->arena, "%s%%2F", encode(s->arena, prefix, "%2F")) : "";
    if (s3_find_credentials(s->arena, &have, err) == 0) {
        const struct http_signer signer = { .region = s->region,
                                            .service = "s3",
                                            .key = have.key,
                                            .secret = have.secret,
                                            .token = have.token };
        s->http = http_signed_client_create(&signer, err);
    }
    if (s->http)
        return s;
    s3_close(s);
    return NULL;
}

void s3_close(struct s3 *s)
{
    if (!s)
        return;
    http_signed_client_destroy(s->http);
    arena_destroy(s->arena);
    free(s);
}

const char *s3_prefix_encoded(const struct s3 *s)
{
    return s->query_prefix;
}

/* ---- refusals ---- */

/* The code of a refusal, what it means, and what to do; again: it may go through another time. */
static const struct refusal {
    const char *code;
    enum err_code err;
    bool again;
    const char *what, *hint;
} refusals[] = {
    { "NoSuchKey", ERR_NOT_FOUND, .what = "it is not there" },
    { "NoSuchUpload", ERR_NOT_FOUND, .what = "that upload is not there" },
    { "NoSuchBucket", ERR_UNAVAILABLE, .what = "there is no such bucket",
      .hint = "make it, or name another one: s3://BUCKET/PREFIX" },
    { "AccessDenied", ERR_DENIED, .what = "the key may not do that",
      .hint = "it has to list, get, put and delete objects there" },
    { "AllAccessDisabled", ERR_DENIED, .what = "access is disabled" },
    { "InvalidAccessKeyId", ERR_UNAUTHENTICATED, .what = "the store does not know the access key",
      .hint = "look at AWS_ACCESS_KEY_ID, or ~/.aws/credentials and AWS_PROFILE" },
    { "SignatureDoesNotMatch", ERR_UNAUTHENTICATED, .what = "the secret key is wrong",
      .hint = "look at AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials and AWS_PROFILE" },
    { "ExpiredToken", ERR_UNAUTHENTICATED, .what = "the session token is too old",
      .hint = "get a new one: AWS_SESSION_TOKEN" },
    { "InvalidToken", ERR_UNAUTHENTICATED, .what = "the session token is wrong",
      .hint = "look at AWS_SESSION_TOKEN; a key of its own needs none" },
    { "RequestTimeTooSkewed", ERR_UNAVAILABLE, .what = "its clock and this machine's differ",
      .hint = "set this machine's clock, or the store's" },
    { "AuthorizationHeaderMalformed", ERR_UNAVAILABLE, .what = "the region is wrong",
      .hint = "backup_region says which it is" },
    { "PermanentRedirect", ERR_UNAVAILABLE, .what = "the bucket is in another region",
      .hint = "backup_region says which it is" },
    { "IllegalLocationConstraintException", ERR_UNAVAILABLE, .what = "the region is wrong",
      .hint = "backup_region says which it is" },
    { "PreconditionFailed", ERR_CONFLICT, .what = "something else is there" },
    { "ConditionalRequestConflict", ERR_CONFLICT, .what = "something else is written there" },
    { "QuotaExceeded", ERR_FULL, .what = "the store is full",
      .hint = "make room, or raise the quota" },
    { "XMinioStorageFull", ERR_FULL, .what = "the store is full", .hint = "make room there" },
    { "NotImplemented", ERR_CANNOT, .what = "the store cannot do that" },
    { "SlowDown", ERR_UNAVAILABLE, .again = true, .what = "the store is too busy" },
    { "XAmzContentSHA256Mismatch", ERR_UNAVAILABLE, .again = true,
      .what = "what came there is not what was sent" },
    { "RequestTimeout", ERR_TIMEOUT, .again = true, .what = "it took too long to come there" },
};

/* Of an answer without a code, as that of HEAD, or of what stands before the store. */
static const struct {
    unsigned status;
    const char *code;
} by_status[] = {
    { 301, "PermanentRedirect" },
    { 307, "PermanentRedirect" },
    { 403, "AccessDenied" },
    { 404, "NoSuchKey" },
    { 409, "ConditionalRequestConflict" },
    { 412, "PreconditionFailed" },
    { 429, "SlowDown" },
    { 501, "NotImplemented" },
};

static const struct refusal *find_refusal(const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
        if (strcmp(refusals[i].code, code) == 0)
            return &refusals[i];
    return NULL;
}

static const struct refusal *refusal_of(const struct http_signed_answer *answer, const char *code)
{
    const struct refusal *found = find_refusal(code);
    for (size_t i = 0; !found && i < ARRAY_LEN(by_status); i++)
        if (by_status[i].status == answer->status)
            found = find_refusal(by_status[i].code);
    return found;
}

static struct xml_span body_of(const struct http_signed_answer *answer)
{
    return (struct xml_span){ .at = buf_str(&answer->body), .len = answer->body.len };
}

static void hint_clock(const struct http_signed_answer *answer, struct err *err)
{
    int64_t ours = (int64_t)(clock_wall_ms() / 1000), theirs = (int64_t)answer->date_s;
    int64_t apart = ours > theirs ? ours - theirs : theirs - ours;
    if (theirs && apart >= SKEW_LEAST_S)
        err_hint(err, "this machine's clock is %" PRIi64 " s %s: set it, or the store's", apart,
                 ours > theirs ? "ahead" : "behind");
}

/* again: another try may do. */
static int refuse(const struct s3 *s, const struct s3_ask *ask,
                  const struct http_signed_answer *answer, bool *again, struct err *err)
{
    char code[64], text[160], region[REGION_MAX + 1];
    xml_text(body_of(answer), "Code", code, sizeof code);
    xml_text(body_of(answer), "Message", text, sizeof text);
    const struct refusal *r = refusal_of(answer, code);
    const char *colon = ask->name ? ": " : "", *name = ask->name ? ask->name : "";
    *again = r ? r->again : answer->status >= 500;
    if (!r)
        return err_set(err, ERR_UNAVAILABLE, "%.150s: %s%sthe store answers %u%s%s", s->where, name,
                       colon, answer->status, *code ? " " : "", *code ? code : text);
    err_set(err, r->err, "%.150s: %s%s%s (%u%s%s)", s->where, name, colon, r->what, answer->status,
            *code ? " " : "", code);
    if (r->hint)
        err_hint(err, "%s", r->hint);
    if (strcmp(r->code, "RequestTimeTooSkewed") == 0)
        hint_clock(answer, err);
    if (xml_text(body_of(answer), "Region", region, sizeof region) && r->hint)
        err_hint(err, "set backup_region to %s", region);
    return -1;
}

/* ---- calls ---- */

static void wait_ms(uint64_t ms)
{
    struct timespec left = { .tv_sec = (time_t)(ms / 1000),
                             .tv_nsec = (long)(ms % 1000) * 1000000 };
    while (nanosleep(&left, &left) != 0) {}
}

static int call_once(const struct s3 *s, const struct s3_ask *ask, const char *url,
                     struct http_signed_answer *answer, struct err *err)
{
    const struct http_signed_request call = { .method = ask->method,
                                              .url = url,
                                              .headers = ask->headers,
                                              .body = ask->body,
                                              .len = ask->len,
                                              .answer_max =
                                                  ask->answer_max ? ask->answer_max : ANSWER_MAX,
                                              .limit_ms = CALL_MS };
    if (http_signed_client_call(s->http, &call, answer, err) < 0) {
        err_in(err, "%.150s", s->where);
        return err_hint(err, "%s",
                        err->code == ERR_CANNOT
                            ? "AWS_CA_BUNDLE names the authorities that are trusted"
                            : "see that it runs, and that this machine reaches it");
    }
    if (answer->status / 100 == 2)
        return 0;
    refuse(s, ask, answer, &answer->again, err);
    buf_fini(&answer->body);
    return -1;
}

int s3_call(struct s3 *s, const struct s3_ask *ask, struct http_signed_answer *answer,
            struct err *err)
{
    const uint64_t begun = clock_mono_ms();
    AUTO_FREE char *url =
        mem_printf("%s/%s%s%s%s", s->base, ask->name ? s->prefix : "", ask->name ? ask->name : "",
                   ask->query ? "?" : "", ask->query ? ask->query : "");
    uint64_t pause_ms = FIRST_MS;
    for (unsigned tries = 1;; tries++, pause_ms *= 2) {
        if (call_once(s, ask, url, answer, err) == 0)
            return 0;
        if (!answer->again || tries == TRIES || clock_mono_ms() - begun > AGAIN_MS)
            return -1;
        wait_ms(pause_ms);
    }
}

int s3_check_answer(struct s3 *s, const struct s3_ask *ask, const struct http_signed_answer *answer,
                    struct err *err)
{
    struct xml_span rest = body_of(answer), inside;
    bool again;
    if (!xml_next(&rest, "Error", &inside))
        return 0;
    return refuse(s, ask, answer, &again, err);
}
