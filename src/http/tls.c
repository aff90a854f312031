/* One line per client: its socket on one side, one end of a socketpair on the other, whose far end
 * a daemon of plain HTTP has from the end of the handshake on. An upgraded connection is then that
 * far end, whoever has it, as it is without TLS: closing it ends the client's, and a client that
 * leaves is an end to be read. (libmicrohttpd's own TLS hands over another pipe than the client's,
 * does not say there that the client left, and moves four bytes at a time: 0.9.75.)
 *
 * Effects: three descriptors and three handles of the loop for each. A side is only read while the
 * other takes what it is sent. */
#include "http/tls.h"

#include "base/mem.h"
#include "http/visits.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define RECORD     16384 /* the most that one holds */
#define FULL       ((size_t)64 << 10)
#define OUT_MAX    (FULL + RECORD)
#define ROUNDS     8 /* then others have their turn */

struct tls {
    struct incoming to;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priorities;
    struct line *lines;
    unsigned waiting, open; /* lines in their handshake; lines in memory, and 1 until destroyed */
};
struct side {
    uv_poll_t poll;
    int fd;
    struct buf out; /* to be sent there */
    bool over;      /* nothing more comes from there */
    bool deaf;      /* it takes nothing any more */
};
struct line {
    struct line *next, **at; /* at NULL: it is being freed */
    struct tls *tls;
    gnutls_session_t session;
    struct peer peer;
    struct side client, daemon;
    struct visit *visit;
    uv_timer_t timer; /* for taking the last bytes */
    bool open;        /* the handshake is done */
    bool sealed;      /* a record was made that the socket has not taken whole */
    bool left;        /* the daemon was told that the client has left */
    unsigned handles;
};

/* ---- the end ---- */

static void free_tls_at_last(struct tls *tls)
{
    if (--tls->open > 0)
        return;
    gnutls_certificate_free_credentials(tls->credentials);
    gnutls_priority_deinit(tls->priorities);
    free(tls);
}

static void on_closed(uv_handle_t *handle)
{
    struct line *l = handle->data;
    struct tls *tls = l->tls;
    if (--l->handles > 0)
        return;
    gnutls_deinit(l->session);
    buf_fini(&l->client.out);
    buf_fini(&l->daemon.out);
    free(l);
    free_tls_at_last(tls);
}

static void end_side(struct side *side)
{
    if (side->fd < 0)
        return;
    uv_close((uv_handle_t *)&side->poll, on_closed);
    close(side->fd);
}

static void hang_up(struct line *l)
{
    if (!l->at)
        return;
    *l->at = l->next;
    if (l->next)
        l->next->at = l->at;
    l->at = NULL;
    l->tls->waiting -= !l->open;
    end_side(&l->client);
    end_side(&l->daemon);
    uv_close((uv_handle_t *)&l->timer, on_closed);
    visit_end(TAKE(l->visit));
}

static void on_late(uv_timer_t *timer)
{
    hang_up(timer->data);
}

/* ---- moving bytes ---- */

static bool again(ssize_t rc)
{
    return rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED;
}

/* false: nothing came. */
static bool open_some(struct line *l)
{
    char piece[RECORD];
    if (l->client.over || l->daemon.out.len >= FULL)
        return false;
    ssize_t n = gnutls_record_recv(l->session, piece, sizeof piece);
    if (n > 0 && !l->daemon.deaf)
        buf_add(&l->daemon.out, piece, (size_t)n);
    if (n <= 0)
        l->client.over = !again(n); /* also who wants to shake hands anew */
    return n > 0;
}

static bool seal_some(struct line *l)
{
    struct side *to = &l->client;
    size_t len = to->out.len < RECORD ? to->out.len : RECORD;
    if (!len || to->deaf)
        return false;
    ssize_t n = l->sealed ? gnutls_record_send(l->session, NULL, 0)
                          : gnutls_record_send(l->session, to->out.data, len);
    l->sealed = again(n);
    to->deaf = n < 0 && !l->sealed;
    buf_drop(&to->out, to->deaf ? to->out.len : n > 0 ? (size_t)n : 0);
    return n > 0;
}

static bool hear_daemon(struct line *l)
{
    char piece[RECORD];
    if (l->daemon.over || l->client.out.len >= FULL)
        return false;
    ssize_t n = recv(l->daemon.fd, piece, sizeof piece, 0);
    if (n > 0 && !l->client.deaf)
        buf_add(&l->client.out, piece, (size_t)n);
    l->daemon.over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    return n > 0;
}

static bool tell_daemon(struct line *l)
{
    struct side *to = &l->daemon;
    if (!to->out.len || to->deaf)
        return false;
    ssize_t n = send(to->fd, to->out.data, to->out.len, MSG_NOSIGNAL);
    to->deaf = n < 0 && errno != EAGAIN && errno != EINTR;
    buf_drop(&to->out, to->deaf ? to->out.len : n > 0 ? (size_t)n : 0);
    return n > 0;
}

static void on_ready(uv_poll_t *poll, int status, int events);

static void want(struct side *side, bool read)
{
    int events = (read ? UV_READABLE : 0) | (side->out.len ? UV_WRITABLE : 0);
    if (events)
        uv_poll_start(&side->poll, events, on_ready);
    else
        uv_poll_stop(&side->poll);
}

/* The daemon, or who took the connection over, has closed: the client gets the rest, within a time.
 */
static void finish(struct line *l)
{
    if (!l->client.out.len || l->client.deaf) {
        gnutls_bye(l->session, GNUTLS_SHUT_WR);
        hang_up(l);
    } else if (!uv_is_active((uv_handle_t *)&l->timer)) {
        uv_timer_start(&l->timer, on_late, l->tls->to.idle_timeout_s * 1000ull, 0);
    }
}

static void move(struct line *l)
{
    bool more = true;
    for (int i = 0; more && (i < ROUNDS || gnutls_record_check_pending(l->session)); i++) {
        more = open_some(l);
        if (tell_daemon(l)) {
            l->tls->to.run(l->tls->to.arg, LISTEN_TLS); /* most answer at once */
            more = true;
        }
        more = hear_daemon(l) || more;
        more = seal_some(l) || more;
    }
    if (l->client.over && !l->daemon.out.len && !l->left) {
        shutdown(l->daemon.fd, SHUT_WR);
        l->left = true;
    }
    if (l->daemon.over)
        finish(l);
    if (!l->at)
        return;
    want(&l->client, !l->client.over && l->daemon.out.len < FULL);
    want(&l->daemon, !l->daemon.over && l->client.out.len < FULL);
}

/* ---- the beginning ---- */

static void begin_side(struct line *l, struct side *side, int fd)
{
    side->out = BUF_INIT(OUT_MAX);
    side->fd = fd;
    if (uv_poll_init(l->tls->to.loop, &side->poll, fd) != 0)
        BUG("a socket cannot be polled");
    side->poll.data = l;
    l->handles++;
}

/* The daemon gets to know of it. */
static void introduce(struct line *l)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
        hang_up(l);
        return;
    }
    l->open = true;
    l->tls->waiting--;
    begin_side(l, &l->daemon, ends[0]);
    visit_pass(l->visit, ends[1]);
    l->tls->to.add(l->tls->to.arg, LISTEN_TLS, ends[1], &l->peer);
    move(l);
}

static void shake_hands(struct line *l)
{
    int rc = gnutls_handshake(l->session);
    if (rc == GNUTLS_E_SUCCESS) {
        introduce(l);
    } else if (gnutls_error_is_fatal(rc)) {
        gnutls_alert_send_appropriate(l->session, rc);
        hang_up(l);
    } else {
        bool write = gnutls_record_get_direction(l->session);
        uv_poll_start(&l->client.poll, write ? UV_WRITABLE : UV_READABLE, on_ready);
    }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct line *l = poll->data;
    (void)status; /* reading says more */
    (void)events;
    if (l->open)
        move(l);
    else
        shake_hands(l);
}

static int new_session(struct tls *tls, int fd, gnutls_session_t *session)
{
    if (gnutls_init(session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
        return -1;
    gnutls_priority_set(*session, tls->priorities);
    gnutls_credentials_set(*session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
    gnutls_certificate_server_set_request(*session, GNUTLS_CERT_IGNORE);
    gnutls_transport_set_int(*session, fd);
    return 0;
}

void tls_add(struct tls *tls, int fd, const struct peer *peer)
{
    gnutls_session_t session;
    int on = 1;
    if (new_session(tls, fd, &session) < 0) {
        tls->to.drop(tls->to.arg, fd);
        return;
    }
    struct line *l = mem_new(sizeof *l);
    *l = (struct line){ .tls = tls,
                        .session = session,
                        .peer = *peer,
                        .visit = visit_share(tls->to.visits, fd),
                        .daemon.fd = -1,
                        .next = tls->lines,
                        .at = &tls->lines };
    if (l->next)
        l->next->at = &l->next;
    tls->lines = l;
    tls->open++;
    tls->waiting++;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    begin_side(l, &l->client, fd);
    uv_timer_init(tls->to.loop, &l->timer);
    l->timer.data = l;
    l->handles++;
    shake_hands(l);
}

unsigned tls_waiting(const struct tls *tls)
{
    return tls ? tls->waiting : 0;
}

/* ---- life ---- */

struct tls *tls_create(const struct incoming *to, const struct http_certificate *certificate,
                       struct err *err)
{
    gnutls_datum_t chain = { (unsigned char *)(uintptr_t)certificate->chain,
                             (unsigned)strlen(certificate->chain) };
    gnutls_datum_t key = { (unsigned char *)(uintptr_t)certificate->key,
                           (unsigned)strlen(certificate->key) };
    struct tls *tls = mem_new(sizeof *tls);
    tls->to = *to;
    tls->open = 1;
    if (gnutls_priority_init(&tls->priorities, PRIORITIES, NULL) < 0 ||
        gnutls_certificate_allocate_credentials(&tls->credentials) < 0)
        BUG("GnuTLS does not start");
    int rc =
        gnutls_certificate_set_x509_key_mem(tls->credentials, &chain, &key, GNUTLS_X509_FMT_PEM);
    if (rc >= 0)
        return tls;
    err_set(err, ERR_INPUT, "the certificate and its key: %s", gnutls_strerror(rc));
    free_tls_at_last(tls);
    return NULL;
}

void tls_destroy(struct tls *tls)
{
    if (!tls)
        return;
    for (struct line *l = tls->lines, *next; l; l = next) {
        next = l->next;
        if (l->open)
            move(l);
        hang_up(l);
    }
    free_tls_at_last(tls);
}
