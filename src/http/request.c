/* One request: collected until complete (body bounded, a larger one drained and refused), handed to
 * the handler once, then suspended until the answer is there. Streams keep a bounded buffer and
 * suspend the connection while it is empty, so nothing spins. */
#include "http/request.h"

#include "base/mem.h"
#include "base/pieces.h"
#include "http/exchange.h"
#include "http/visits.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#ifndef SO_PEERPIDFD /* Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

/* Repeated names are kept, so pairs_set does not fit. */
static void add_pair(struct arena *a, struct pairs *to, const char *name, const char *value)
{
    if (to->n == to->cap) {
        struct pair *wider = ARENA_ARRAY(a, to->cap ? to->cap * 2 : 8, struct pair);
        if (to->n)
            memcpy(wider, to->at, to->n * sizeof *wider);
        to->at = wider;
        to->cap = to->cap ? to->cap * 2 : 8;
    }
    to->at[to->n++] = (struct pair){ .name = arena_strdup(a, name),
                                     .value = arena_strdup(a, value ? value : "") };
}

void http_add_header(struct http_request *r, const char *name, const char *value)
{
    pairs_set(&r->headers, r->arena, name, value);
}

const char *http_method(const struct http_request *r)
{
    return r->method;
}

const char *http_path(const struct http_request *r)
{
    return r->path;
}

const char *http_query(const struct http_request *r, const char *name, size_t k)
{
    for (size_t i = 0; i < r->query.n; i++)
        if (strcmp(r->query.at[i].name, name) == 0 && k-- == 0)
            return r->query.at[i].value;
    return NULL;
}

const char *http_target(const struct http_request *r)
{
    return r->target;
}

bool http_query_at(const struct http_request *r, size_t i, const char **name, const char **value)
{
    if (i >= r->query.n)
        return false;
    *name = r->query.at[i].name;
    *value = r->query.at[i].value;
    return true;
}

const char *http_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

const char *http_body(const struct http_request *r, size_t *len)
{
    *len = r->body.len;
    return buf_str(&r->body);
}

static enum MHD_Result add_asked_cb(void *cls, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct http_request *r = cls;
    (void)kind;
    add_pair(r->arena, &r->asked, name, value);
    return MHD_YES;
}

static const struct pairs *asked(const struct http_request *r)
{
    struct http_request *own = (struct http_request *)(uintptr_t)r; /* what is made once */
    if (!r->asked.n)
        MHD_get_connection_values(r->connection, MHD_HEADER_KIND, add_asked_cb, own);
    return &r->asked;
}

bool http_header_at(const struct http_request *r, size_t i, const char **name, const char **value)
{
    const struct pairs *all = asked(r);
    if (i >= all->n)
        return false;
    *name = all->at[i].name;
    *value = all->at[i].value;
    return true;
}

const char *http_header_value(const struct http_request *r, const char *name, size_t k)
{
    const struct pairs *all = asked(r);
    for (size_t i = 0; i < all->n; i++)
        if (strcasecmp(all->at[i].name, name) == 0 && k-- == 0)
            return all->at[i].value;
    return NULL;
}

static bool http_over_unix(const struct http_request *r)
{
    return r->listener->kind == LISTEN_UNIX || r->listener->kind == LISTEN_PUBLIC;
}

bool http_over_tls(const struct http_request *r)
{
    return r->listener->kind == LISTEN_TLS;
}

static int socket_of(const struct http_request *r)
{
    return MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static bool credentials(const struct http_request *r, struct ucred *peer)
{
    socklen_t len = sizeof *peer;
    return http_over_unix(r) && getsockopt(socket_of(r), SOL_SOCKET, SO_PEERCRED, peer, &len) == 0;
}

bool http_peer_uid(const struct http_request *r, uint32_t *uid)
{
    struct ucred peer;
    if (!credentials(r, &peer))
        return false;
    *uid = peer.uid;
    return true;
}

const char *http_peer(const struct http_request *r, char out[HTTP_PEER_MAX])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *at = info ? info->client_addr : NULL;
    struct ucred peer;
    const void *address = NULL;
    *out = '\0';
    if (credentials(r, &peer)) {
        snprintf(out, HTTP_PEER_MAX, "uid %u pid %d", (unsigned)peer.uid, (int)peer.pid);
        return out;
    }
    if (at && at->sa_family == AF_INET)
        address = &((const struct sockaddr_in *)(const void *)at)->sin_addr;
    else if (at && at->sa_family == AF_INET6)
        address = &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
    if (address && !inet_ntop(at->sa_family, address, out, HTTP_PEER_MAX))
        *out = '\0';
    return out;
}

bool http_peer_process(const struct http_request *r, struct http_process *out)
{
    struct ucred peer;
    socklen_t len = sizeof out->fd;
    if (!credentials(r, &peer))
        return false;
    *out = (struct http_process){ .pid = (uint32_t)peer.pid, .uid = peer.uid, .fd = -1 };
    if (getsockopt(socket_of(r), SOL_SOCKET, SO_PEERPIDFD, &out->fd, &len) != 0)
        out->fd = -1;
    return true;
}

static struct connection *connection_of(const struct http_request *r)
{
    return MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

uint64_t *http_kept(const struct http_request *r)
{
    return connection_of(r)->kept;
}

void http_known(struct http_request *r, const char *user)
{
    visit_known(connection_of(r)->visit, user);
}

bool http_may_last(const struct http_request *r)
{
    return !visit_crowded(connection_of(r)->visit) &&
           visits_may_last(r->server->visits, socket_of(r));
}

void http_set_arg(struct http_request *r, void *arg, void (*gone)(void *arg))
{
    r->arg = arg;
    r->gone = gone;
}

/* ---- answering ---- */

void request_wake(struct http_request *r)
{
    if (r->suspended) {
        r->suspended = false;
        MHD_resume_connection(r->connection);
        server_kick(r->server);
    }
}

static void ready(struct http_request *r, unsigned status, const char *type,
                  struct MHD_Response *response)
{
    if (type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    for (size_t i = 0; i < r->headers.n; i++)
        MHD_add_response_header(response, r->headers.at[i].name, r->headers.at[i].value);
    r->status = status;
    r->response = response;
    r->answer = ANSWER_READY;
    request_wake(r);
}

static void answer(struct http_request *r, unsigned status, const char *type,
                   struct MHD_Response *response)
{
    if (r->answer != ANSWER_NONE)
        BUG("a request is answered twice: %s", r->target);
    ready(r, status, type, response);
}

void http_answer(struct http_request *r, unsigned status, const char *type, const void *data,
                 size_t len)
{
    answer(r, status, type,
           MHD_create_response_from_buffer(len, (void *)data, MHD_RESPMEM_MUST_COPY));
}

void http_answer_own(struct http_request *r, unsigned status, const char *type, char *data,
                     size_t len)
{
    answer(r, status, type, MHD_create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE));
}

static ssize_t pieces_read_cb(void *cls, uint64_t pos, char *out, size_t max)
{
    (void)pos; /* it is read once, from the front */
    size_t n = pieces_take(cls, out, max);
    return n ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void pieces_free_cb(void *cls)
{
    pieces_destroy(cls);
}

void http_answer_pieces(struct http_request *r, unsigned status, const char *type,
                        struct pieces *pieces)
{
    answer(r, status, type,
           MHD_create_response_from_callback(pieces_len(pieces), 32 << 10, pieces_read_cb, pieces,
                                             pieces_free_cb));
}

static void problem(struct http_request *r, unsigned status, const char *word, const char *detail)
{
    AUTO_FREE char *text =
        mem_printf("{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"code\":\"%s\","
                   "\"detail\":\"%s\"}\n",
                   word, status, word, detail);
    http_answer(r, status, "application/problem+json", text, strlen(text));
}

/* ---- streams ---- */

static ssize_t stream_read_cb(void *cls, uint64_t pos, char *out, size_t max)
{
    struct http_request *r = cls;
    (void)pos;
    if (r->out.len == 0) {
        if (r->ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (!r->suspended) {
            r->suspended = true;
            MHD_suspend_connection(r->connection);
        }
        return 0;
    }
    size_t n = r->out.len < max ? r->out.len : max;
    memcpy(out, r->out.data, n);
    buf_drop(&r->out, n);
    if (r->was_full && r->out.len < r->out_max / 2) {
        r->was_full = false;
        if (r->drained_cb && !r->ended)
            r->drained_cb(r->arg);
    }
    return (ssize_t)n;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void unwatch(struct http_request *r)
{
    if (!r->watch)
        return;
    uv_poll_stop(r->watch);
    uv_close((uv_handle_t *)r->watch, free_handle);
    r->watch = NULL;
}

/* The client left: the daemon learns it by trying to write the rest. */
static void on_disconnect(uv_poll_t *watch, int status, int events)
{
    struct http_request *r = watch->data;
    (void)status;
    (void)events;
    unwatch(r);
    r->ended = true;
    request_wake(r);
}

void http_stream_begin(struct http_request *r, unsigned status, const char *type, size_t max,
                       void (*drained)(void *arg))
{
    r->streaming = true;
    r->out_max = max;
    r->drained_cb = drained;
    buf_init(&r->out, SIZE_MAX / 2);
    r->watch = mem_new(sizeof *r->watch);
    if (uv_poll_init(r->server->config.loop, r->watch, socket_of(r)) == 0) {
        r->watch->data = r;
        uv_poll_start(r->watch, UV_DISCONNECT, on_disconnect);
    } else {
        free(TAKE(r->watch));
    }
    http_add_header(r, "Cache-Control", "no-store");
    ready(r, status, type,
          MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32 << 10, stream_read_cb, r, NULL));
}

size_t http_stream_room(const struct http_request *r)
{
    return r->ended || r->out.len >= r->out_max ? 0 : r->out_max - r->out.len;
}

void http_stream_write(struct http_request *r, const void *data, size_t len)
{
    if (r->ended)
        return;
    buf_add(&r->out, data, len);
    r->was_full = r->out.len >= r->out_max;
    request_wake(r);
}

void http_stream_end(struct http_request *r)
{
    r->ended = true;
    request_wake(r);
}

/* ---- upgrade ---- */

/* The daemon keeps its own descriptor until told to close it; ours is a duplicate. */
static void upgraded_cb(void *cls, struct MHD_Connection *connection, void *slot, const char *extra,
                        size_t len, MHD_socket sock, struct MHD_UpgradeResponseHandle *handle)
{
    (void)cls;
    (void)connection;
    struct http_request *r = slot;
    struct http_server *server = r->server;
    int fd = dup(sock);
    if (fd >= 0)
        r->taken(r->taken_arg, fd, extra, len);
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
    server_kick(server); /* it lets go of its own at its next run */
}

void http_upgrade(struct http_request *r, const char *protocol,
                  void (*taken)(void *arg, int fd, const void *extra, size_t len), void *arg)
{
    r->taken = taken;
    r->taken_arg = arg;
    r->protocol = protocol;
    http_add_header(r, MHD_HTTP_HEADER_UPGRADE, protocol);
    ready(r, MHD_HTTP_SWITCHING_PROTOCOLS, NULL, MHD_create_response_for_upgrade(upgraded_cb, r));
}

/* ---- collecting ---- */

static enum MHD_Result add_query_cb(void *cls, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct http_request *r = cls;
    (void)kind;
    add_pair(r->arena, &r->query, name, value);
    return MHD_YES;
}

/* At the request line, before the target is decoded in place. What is made here is the slot of the
 * other callbacks, and request_completed_cb frees it however little of the request comes. */
void *request_target_cb(void *cls, const char *target, struct MHD_Connection *connection)
{
    struct listener *l = cls;
    struct http_request *r = mem_new(sizeof *r);
    r->server = l->server;
    r->listener = l;
    r->connection = connection;
    r->arena = arena_create();
    r->target = arena_strdup(r->arena, target);
    r->bad_target = strstr(target, "%00") != NULL;
    buf_init(&r->body, l->server->config.max_body);
    r->next = r->server->requests;
    if (r->next)
        r->next->prev = r;
    r->server->requests = r;
    return r;
}

struct head { /* what of the headers says where the request ends, and for whom it is */
    unsigned lengths, encodings, hosts;
    bool chunked, odd_name;
};

static enum MHD_Result look_cb(void *cls, enum MHD_ValueKind kind, const char *name,
                               const char *value)
{
    struct head *head = cls;
    (void)kind;
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
        head->lengths++;
    else if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0)
        head->hosts++;
    else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        head->encodings++;
        head->chunked = value && strcasecmp(value, "chunked") == 0;
    }
    head->odd_name |= strpbrk(name, " \t") != NULL;
    return MHD_YES;
}

/* A request that two programs on its way could end at different places, or take for another
 * host's, is nobody's (RFC 9112, 3.2, 5.1 and 6.3). NULL: it is none. */
static const char *find_fault(struct http_request *r, const char *version)
{
    struct head head = { 0 };
    bool old = strcasecmp(version, MHD_HTTP_VERSION_1_0) == 0;
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, look_cb, &head);
    if (head.lengths > 1)
        return "the request has several Content-Length headers";
    if (head.lengths && head.encodings)
        return "the request has Content-Length and Transfer-Encoding";
    if (head.encodings > 1 || (head.encodings && (!head.chunked || old)))
        return "the Transfer-Encoding is not chunked, once and in HTTP/1.1";
    if (head.hosts > 1 || (!head.hosts && !old))
        return head.hosts ? "the request has several Host headers" : "the request has no Host";
    if (head.odd_name)
        return "the name of a header holds a blank";
    return NULL;
}

/* All of the head is there. */
static void begin(struct http_request *r, const char *path, const char *method, const char *version)
{
    r->method = arena_strdup(r->arena, method);
    r->path = arena_strdup(r->arena, path);
    r->bad_head = find_fault(r, version);
    MHD_get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND, add_query_cb, r);
}

static enum MHD_Result give_answer(struct http_request *r)
{
    struct visit *visit = connection_of(r)->visit;
    r->answer = ANSWER_QUEUED;
    if (visit_crowded(visit) && !r->protocol) /* another one of its holder takes its place */
        MHD_add_response_header(r->response, MHD_HTTP_HEADER_CONNECTION, "close");
    visit_served(visit);
    enum MHD_Result rc = MHD_queue_response(r->connection, r->status, r->response);
    MHD_destroy_response(r->response);
    r->response = NULL;
    return rc;
}

static void take_body(struct http_request *r, const char *data, size_t size)
{
    if (!r->too_large && r->body.len + size <= r->body.max) {
        buf_add(&r->body, data, size);
        return;
    }
    r->too_large = true;
    r->drained += size;
    buf_clear(&r->body);
}

/* One over a Unix socket is told so at the limits of its user; what keeps jobs going is let pass.
 */
static bool is_one_too_many(struct http_request *r)
{
    const struct http_config *c = &r->server->config;
    if (!http_over_unix(r))
        return r->server->connections > c->max_connections;
    return visit_crowded(connection_of(r)->visit) && !(c->spared && c->spared(c->arg, r));
}

static void hand_over(struct http_request *r)
{
    const struct http_config *c = &r->server->config;
    struct err err = { 0 };
    r->handed = true;
    if (r->bad_head)
        err_set(&err, ERR_INPUT, "%s", r->bad_head);
    else if (r->bad_target)
        err_set(&err, ERR_INPUT, "the path or query holds %%00");
    else if (r->too_large)
        err_set(&err, ERR_TOO_LARGE, "the request's body is larger than %zu bytes", c->max_body);
    else if (is_one_too_many(r))
        err_set(&err, ERR_UNAVAILABLE, "too many connections; try again");
    if (!err.code)
        c->handle(c->arg, r);
    else if (c->refused)
        c->refused(c->arg, r, &err);
    else
        problem(r, (unsigned)err_http_status(err.code), err_word(err.code), err.what);
}

enum MHD_Result request_access_cb(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **slot)
{
    struct http_request *r = *slot;
    (void)cls;
    if (!r->path) {
        begin(r, url, method, version);
        if (!r->bad_head)
            return MHD_YES;
        /* Answered before the body: what follows the head is not read, the connection ends. */
        http_add_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
        hand_over(r);
        return give_answer(r);
    }
    if (*size > 0) {
        visit_heard(connection_of(r)->visit);
        take_body(r, data, *size);
        *size = 0;
        return r->drained > DRAIN_MAX ? MHD_NO : MHD_YES;
    }
    if (!r->handed)
        hand_over(r);
    if (r->answer == ANSWER_READY)
        return give_answer(r);
    if (r->answer == ANSWER_NONE && r->server->closing)
        return MHD_NO;
    if (r->answer == ANSWER_NONE && !r->suspended) {
        r->suspended = true;
        MHD_suspend_connection(connection);
    }
    return MHD_YES;
}

void request_completed_cb(void *cls, struct MHD_Connection *connection, void **slot,
                          enum MHD_RequestTerminationCode code)
{
    struct http_request *r = *slot;
    (void)cls;
    (void)connection;
    if (!r)
        return;
    *slot = NULL;
    *(r->prev ? &r->prev->next : &r->server->requests) = r->next;
    if (r->next)
        r->next->prev = r->prev;
    unwatch(r);
    if (r->gone && (code != MHD_REQUEST_TERMINATED_COMPLETED_OK || r->streaming))
        r->gone(r->arg);
    if (r->response)
        MHD_destroy_response(r->response);
    buf_fini(&r->body);
    buf_fini(&r->out);
    arena_destroy(r->arena);
    free(r);
}
