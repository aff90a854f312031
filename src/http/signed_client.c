/* One handle, so that a connection serves call after call. What is hashed here is the body, as its
 * content: the signature over it is libcurl's. */
#include "http/signed_client.h"

#include "base/mem.h"

#include <curl/curl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CONNECT_MS 10000L
#define SLOW_BYTES 512L /* a second, for so long: it is given up */
#define SLOW_S     30L
#define HASH_TEXT  (2 * crypto_hash_sha256_BYTES + 1)

struct http_signed_client {
    CURL *curl;
    char *how; /* "aws:amz:REGION:SERVICE" */
    char *key, *secret, *token;
};

struct http_signed_client *http_signed_client_create(const struct http_signer *signer,
                                                     struct err *err)
{
    CURL *curl = curl_easy_init();
    if (!curl) {
        err_set(err, ERR_SYSTEM, "libcurl does not start");
        return NULL;
    }
    struct http_signed_client *s = mem_new(sizeof *s);
    *s = (struct http_signed_client){ .curl = curl,
                                      .how = mem_printf("aws:amz:%s:%s", signer->region,
                                                        signer->service),
                                      .key = mem_strdup(signer->key),
                                      .secret = mem_strdup(signer->secret),
                                      .token = mem_strdup(signer->token) };
    return s;
}

static void forget(char *secret)
{
    if (secret)
        sodium_memzero(secret, strlen(secret));
    free(secret);
}

void http_signed_client_destroy(struct http_signed_client *s)
{
    if (!s)
        return;
    curl_easy_cleanup(s->curl);
    free(s->how);
    free(s->key);
    forget(s->secret);
    forget(s->token);
    free(s);
}

static size_t on_data(char *piece, size_t size, size_t n, void *arg)
{
    struct http_signed_answer *answer = arg;
    buf_add(&answer->body, piece, size * n);
    return answer->body.overflow ? 0 : size * n;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
    struct http_signed_answer *answer = arg;
    const struct {
        const char *name;
        char *to;
        size_t room;
    } kept[] = {
        { .name = "etag:", .to = answer->etag, .room = sizeof answer->etag },
        { .name = "date:", .to = answer->date, .room = sizeof answer->date },
    };
    const size_t len = size * n;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        size_t at = strlen(kept[i].name);
        if (len <= at || strncasecmp(line, kept[i].name, at) != 0)
            continue;
        while (at < len && line[at] == ' ')
            at++;
        snprintf(kept[i].to, kept[i].room, "%.*s", (int)(len - at), line + at);
        kept[i].to[strcspn(kept[i].to, "\r\n")] = '\0';
    }
    return len;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    AUTO_FREE char *line = mem_printf("%s: %s", name, value);
    return curl_slist_append(list, line);
}

static struct curl_slist *make_headers(const struct http_signed_client *s,
                                       const struct http_signed_request *ask)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char text[HASH_TEXT];
    crypto_hash_sha256(hash, ask->body, ask->len);
    sodium_bin2hex(text, sizeof text, hash, sizeof hash);
    struct curl_slist *list = add_header(NULL, "x-amz-content-sha256", text);
    if (ask->body)
        list = add_header(list, "content-type", "application/octet-stream");
    if (s->token)
        list = add_header(list, "x-amz-security-token", s->token);
    for (size_t i = 0; ask->headers && i < ask->headers->n; i++)
        list = add_header(list, ask->headers->at[i].name, ask->headers->at[i].value);
    return list;
}

static void set_trust(CURL *curl)
{
    static const char *const names[] = { "AWS_CA_BUNDLE", "SSL_CERT_FILE" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *file = getenv(names[i]);
        if (!file || !*file)
            continue;
        curl_easy_setopt(curl, CURLOPT_CAINFO, file);
        return;
    }
}

/* A body is always a post's, whatever the method is called: then libcurl has all of it, and sends
 * it again by itself where a kept connection turns out to be closed. */
static void set_call(const struct http_signed_client *s, const struct http_signed_request *ask)
{
    CURL *curl = s->curl;
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, ask->url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, s->how);
    curl_easy_setopt(curl, CURLOPT_USERNAME, s->key);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, s->secret);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ask->limit_ms);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SLOW_S);
    if (ask->body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, ask->body);
    }
    if (strcmp(ask->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, ask->method);
    set_trust(curl);
}

/* What libcurl says of a call that has no whole answer. */
static const struct {
    CURLcode rc;
    enum err_code code;
    bool again;
} troubles[] = {
    { .rc = CURLE_OPERATION_TIMEDOUT, .code = ERR_TIMEOUT, .again = true },
    { .rc = CURLE_PEER_FAILED_VERIFICATION, .code = ERR_CANNOT },
    { .rc = CURLE_SSL_CACERT_BADFILE, .code = ERR_CANNOT },
    { .rc = CURLE_UNSUPPORTED_PROTOCOL, .code = ERR_CANNOT },
    { .rc = CURLE_URL_MALFORMAT, .code = ERR_CANNOT },
    { .rc = CURLE_WRITE_ERROR, .code = ERR_CANNOT },
};

static int say_trouble(CURLcode rc, struct http_signed_answer *answer, struct err *err)
{
    enum err_code code = ERR_UNAVAILABLE;
    answer->again = true;
    for (size_t i = 0; i < ARRAY_LEN(troubles); i++)
        if (troubles[i].rc == rc) {
            code = troubles[i].code;
            answer->again = troubles[i].again;
        }
    return err_set(err, code, "%s",
                   answer->body.overflow ? "the answer is longer than it may be"
                                         : curl_easy_strerror(rc));
}

int http_signed_client_call(struct http_signed_client *s, const struct http_signed_request *ask,
                            struct http_signed_answer *answer, struct err *err)
{
    long status = 0;
    curl_off_t length = -1;
    *answer = (struct http_signed_answer){ .body = BUF_INIT(ask->answer_max) };
    struct curl_slist *list = make_headers(s, ask);
    set_call(s, ask);
    curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(s->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(s->curl, CURLOPT_HEADERDATA, answer);
    CURLcode rc = curl_easy_perform(s->curl);
    curl_slist_free_all(list);
    curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(s->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    answer->status = (unsigned)status;
    time_t date = curl_getdate(answer->date, NULL);
    answer->date_s = date > 0 ? (uint64_t)date : 0;
    answer->length = length > 0 ? (uint64_t)length : 0;
    /* A refusal that came although the body was not taken whole is still the answer. */
    if (rc == CURLE_OK || (rc == CURLE_SEND_ERROR && status >= 400))
        return 0;
    say_trouble(rc, answer, err);
    buf_fini(&answer->body);
    return -1;
}
