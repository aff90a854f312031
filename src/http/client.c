/* Blocking calls through libcurl: one handle per client, so connections are kept. Streams hand out
 * each piece as it comes. */
#include "http/client.h"

#include "base/mem.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MAX ((size_t)1 << 30)
#define PIECE      ((size_t)16 << 10) /* of an upgraded connection, at once */

#define UNIX_URL "unix:"

struct http_client {
    CURL *curl;
    char *socket_path, *url, *token, *authority;
    uint64_t timeout_ms;
};

struct http_client *http_client_create(const struct http_client_config *config, struct err *err)
{
    struct http_client *c = mem_new(sizeof *c);
    c->curl = curl_easy_init();
    if (!c->curl) {
        free(c);
        err_set(err, ERR_SYSTEM, "libcurl does not start");
        return NULL;
    }
    const char *url = config->url, *socket = config->socket_path;
    if (url && strncmp(url, UNIX_URL, sizeof UNIX_URL - 1) == 0) {
        socket = url + sizeof UNIX_URL - 1;
        url = NULL;
    }
    c->socket_path = mem_strdup(socket);
    c->url = mem_strdup(url ? url : "http://muster");
    c->token = mem_strdup(config->token);
    c->authority = mem_strdup(config->authority);
    c->timeout_ms = config->timeout_ms;
    return c;
}

void http_client_destroy(struct http_client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->curl);
    free(c->socket_path);
    free(c->url);
    free(c->token);
    free(c->authority);
    free(c);
}

void http_escape(struct buf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;
        bool plain = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                     (ch >= '0' && ch <= '9') || strchr("-._~", ch);
        if (plain)
            buf_putc(out, (char)ch);
        else
            buf_addf(out, "%%%02X", ch);
    }
}

/* ---- one call ---- */

struct call {
    struct http_client *client;
    const struct http_ask *ask;
    struct http_response *response;
    bool ended; /* data() had enough */
};

static size_t on_data(char *piece, size_t size, size_t n, void *arg)
{
    struct call *call = arg;
    long status = 0;
    curl_easy_getinfo(call->client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (!call->ask->data || status >= 400) {
        buf_add(&call->response->body, piece, size * n);
        return call->response->body.overflow ? 0 : size * n;
    }
    call->ended = !call->ask->data(call->ask->arg, piece, size * n);
    return call->ended ? 0 : size * n;
}

static int curl_err(struct http_client *c, CURLcode rc, struct err *err)
{
    const char *where = c->socket_path ? c->socket_path : c->url;
    long number = 0;
    curl_easy_getinfo(c->curl, CURLINFO_OS_ERRNO, &number);
    if (rc == CURLE_COULDNT_CONNECT && c->socket_path && (number == EACCES || number == EPERM)) {
        err_set(err, ERR_DENIED, "the server at %s is not yours: you may not use its socket",
                where);
        return err_hint(err, "ask its owner for a token: --server URL, and MUSTER_TOKEN");
    }
    if (rc == CURLE_COULDNT_CONNECT || rc == CURLE_GOT_NOTHING || rc == CURLE_RECV_ERROR ||
        rc == CURLE_SEND_ERROR || rc == CURLE_PARTIAL_FILE || rc == CURLE_COULDNT_RESOLVE_HOST)
        err_set(err, ERR_UNAVAILABLE, "no server answers at %s (%s)", where,
                curl_easy_strerror(rc));
    else if (rc == CURLE_OPERATION_TIMEDOUT)
        err_set(err, ERR_TIMEOUT, "the server at %s did not answer in time", where);
    else
        err_set(err, ERR_SYSTEM, "talking to %s: %s", where, curl_easy_strerror(rc));
    err_remedy(err, REMEDY_SERVER_STATUS);
    return err_remedy(err, REMEDY_SERVER_START);
}

static struct curl_slist *header_list(const struct http_client *c, const struct pairs *headers)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    for (size_t i = 0; headers && i < headers->n; i++) {
        AUTO_FREE char *line = mem_printf("%s: %s", headers->at[i].name, headers->at[i].value);
        list = curl_slist_append(list, line);
    }
    if (c->token) {
        AUTO_FREE char *line = mem_printf("Authorization: Bearer %s", c->token);
        list = curl_slist_append(list, line);
    }
    return list;
}

static void set_target(CURL *curl, const struct http_client *c, const char *path)
{
    AUTO_FREE char *url = mem_printf("%s%s", c->url, path);
    const char *trusted = getenv("SSL_CERT_FILE"); /* as OpenSSL and Python have it */
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY,
                     ""); /* a muster server is never behind the user's web proxy */
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
    if (c->socket_path)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, c->socket_path);
    if (c->authority)
        curl_easy_setopt(curl, CURLOPT_CAINFO, c->authority);
    else if (trusted && *trusted)
        curl_easy_setopt(curl, CURLOPT_CAINFO, trusted);
}

static void set_body(struct http_client *c, const struct http_ask *ask)
{
    if (ask->body || strcmp(ask->method, "GET") != 0) {
        curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, ask->body ? ask->body : "");
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->len);
    }
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, ask->method);
}

int http_call(struct http_client *c, const struct http_ask *ask, struct http_response *response,
              struct err *err)
{
    struct call call = { .client = c, .ask = ask, .response = response };
    struct curl_slist *list = header_list(c, ask->headers);
    char *type = NULL;
    long status = 0;
    *response = (struct http_response){ .body = BUF_INIT(ANSWER_MAX) };
    set_target(c->curl, c, ask->path);
    set_body(c, ask);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &call);
    if (!ask->data)
        curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)c->timeout_ms);
    CURLcode rc = curl_easy_perform(c->curl);
    curl_slist_free_all(list);
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    response->status = (unsigned)status;
    if (curl_easy_getinfo(c->curl, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK && type)
        snprintf(response->type, sizeof response->type, "%s", type);
    if (rc == CURLE_OK || (call.ended && rc == CURLE_WRITE_ERROR))
        return 0;
    /* An answer that came although the body was not taken whole (a refusal) is still the answer. */
    if ((rc == CURLE_SEND_ERROR || rc == CURLE_RECV_ERROR) && status >= 400)
        return 0;
    buf_fini(&response->body);
    return curl_err(c, rc, err);
}

/* ---- upgrade ---- */

static int send_all(CURL *curl, int fd, const char *text, size_t len)
{
    while (len > 0) {
        size_t n = 0;
        CURLcode rc = curl_easy_send(curl, text, len, &n);
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        if (rc == CURLE_AGAIN)
            poll(&p, 1, 10000);
        else if (rc != CURLE_OK)
            return -1;
        text += n;
        len -= n;
    }
    return 0;
}

/* The head of the answer, up to and with the blank line; what follows goes to extra. */
static int read_head(CURL *curl, int fd, struct buf *head, struct buf *extra)
{
    while (head->len < (32u << 10)) {
        char piece[4096];
        size_t n = 0;
        CURLcode rc = curl_easy_recv(curl, piece, sizeof piece, &n);
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (rc == CURLE_AGAIN && poll(&p, 1, 30000) <= 0)
            return -1;
        if (rc == CURLE_AGAIN)
            continue;
        if (rc != CURLE_OK || n == 0)
            return -1;
        buf_add(head, piece, n);
        char *end = strstr(buf_str(head), "\r\n\r\n");
        if (end) {
            size_t done = (size_t)(end - head->data) + 4;
            buf_add(extra, head->data + done, head->len - done);
            end[2] = '\0';
            return 0;
        }
    }
    return -1;
}

struct http_duplex {
    CURL *curl;
    curl_socket_t socket;
    size_t asked; /* bytes of a write that is to be asked for again, 0: none */
};

static int upgrade(struct http_duplex *d, struct http_client *c, const char *request,
                   struct buf *extra, struct err *err)
{
    AUTO_BUF struct buf head = BUF_INIT(64 << 10);
    set_target(d->curl, c, "");
    curl_easy_setopt(d->curl, CURLOPT_CONNECT_ONLY, 1L);
    CURLcode rc = curl_easy_perform(d->curl);
    if (rc != CURLE_OK)
        return curl_err(c, rc, err);
    curl_easy_getinfo(d->curl, CURLINFO_ACTIVESOCKET, &d->socket);
    if (send_all(d->curl, d->socket, request, strlen(request)) < 0 ||
        read_head(d->curl, d->socket, &head, extra) < 0)
        return err_set(err, ERR_UNAVAILABLE, "the server closed the connection");
    if (strncmp(head.data, "HTTP/1.1 101", 12) != 0) {
        head.data[strcspn(head.data, "\r\n")] = '\0';
        return err_set(err, ERR_CANNOT, "the server answered \"%s\"", head.data);
    }
    return 0;
}

/* A handle of its own, which keeps the connection: only libcurl knows what TLS made of it. */
struct http_duplex *http_client_upgrade(struct http_client *c, const char *path,
                                        const char *protocol, struct buf *extra, struct err *err)
{
    AUTO_BUF struct buf request = BUF_INIT(64 << 10);
    buf_addf(&request, "GET %s HTTP/1.1\r\nHost: muster\r\nConnection: Upgrade\r\nUpgrade: %s\r\n",
             path, protocol);
    if (c->token)
        buf_addf(&request, "Authorization: Bearer %s\r\n", c->token);
    buf_puts(&request, "\r\n");
    struct http_duplex *d = mem_new(sizeof *d);
    d->curl = curl_easy_init();
    if (!d->curl)
        err_set(err, ERR_SYSTEM, "libcurl does not start");
    else if (upgrade(d, c, buf_str(&request), extra, err) == 0)
        return d;
    http_duplex_close(d);
    return NULL;
}

int http_duplex_fd(const struct http_duplex *d)
{
    return d->socket;
}

static ssize_t counted(CURLcode rc, size_t n)
{
    if (rc == CURLE_OK)
        return (ssize_t)n;
    errno = rc == CURLE_AGAIN ? EAGAIN : EIO;
    return -1;
}

ssize_t http_duplex_read(struct http_duplex *d, void *out, size_t size)
{
    size_t n = 0;
    CURLcode rc = curl_easy_recv(d->curl, out, size, &n);
    return counted(rc, n);
}

/* TLS may have sealed what it could not send: it wants to be asked for the same bytes again. */
ssize_t http_duplex_write(struct http_duplex *d, const void *data, size_t len)
{
    size_t n = 0, ask = d->asked ? d->asked : len < PIECE ? len : PIECE;
    CURLcode rc = curl_easy_send(d->curl, data, ask, &n);
    d->asked = rc == CURLE_AGAIN ? ask : 0;
    return counted(rc, n);
}

void http_duplex_close(struct http_duplex *d)
{
    if (!d)
        return;
    curl_easy_cleanup(d->curl);
    free(d);
}
