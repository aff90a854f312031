/* GnuTLS waits for the socket by E_AGAIN; which way it waits it says itself. What it has sealed and
 * the socket did not take whole it keeps: the next write sends that, and takes no new bytes. */
#include "tls/server.h"

#include "base/mem.h"

#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <unistd.h>

/* The server's order counts, because it has one thread for all of them, and ChaCha20 costs it three
 * times as much (bench/tls_load). */
#define PRIORITIES                                                                                 \
    "NONE:+VERS-TLS1.2:+ECDHE-ECDSA:+ECDHE-RSA:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"       \
    ":+AEAD:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:+COMP-NULL:+CTYPE-X509"                \
    ":+SIGN-ECDSA-SHA256:+SIGN-ECDSA-SHA384:+SIGN-RSA-SHA256:%SERVER_PRECEDENCE"
#define TICKET_S (7 * 86400) /* for how long a session may be resumed */
#define RECORD   16384u

struct tls_server {
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priorities;
    uint8_t ticket_key[TLS_TICKET_KEY];
};

struct session {
    struct transport transport;
    gnutls_session_t tls;
    bool sealed; /* a record was made that the socket has not taken whole */
};

static enum transport_state state_of(struct session *s, ssize_t rc)
{
    if (rc >= 0)
        return TRANSPORT_READY;
    if (rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED)
        return gnutls_record_get_direction(s->tls) ? TRANSPORT_WAIT_OUT : TRANSPORT_WAIT_IN;
    s->transport.why = gnutls_strerror((int)rc);
    return TRANSPORT_BROKEN;
}

static enum transport_state start(struct transport *t)
{
    struct session *s = (struct session *)t;
    int rc;
    do /* warnings of the other end stop nothing */
        rc = gnutls_handshake(s->tls);
    while (rc < 0 && rc != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(rc));
    if (rc < 0 && rc != GNUTLS_E_AGAIN)
        gnutls_alert_send_appropriate(s->tls, rc);
    return state_of(s, rc);
}

static enum transport_state read_some(struct transport *t, void *at, size_t size, size_t *n)
{
    struct session *s = (struct session *)t;
    ssize_t rc = gnutls_record_recv(s->tls, at, size);
    *n = rc > 0 ? (size_t)rc : 0;
    return rc == 0 ? TRANSPORT_END : state_of(s, rc);
}

static enum transport_state write_some(struct transport *t, const void *at, size_t len, size_t *n)
{
    struct session *s = (struct session *)t;
    ssize_t rc = s->sealed ? gnutls_record_send(s->tls, NULL, 0)
                           : gnutls_record_send(s->tls, at, len < RECORD ? len : RECORD);
    s->sealed = rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED;
    *n = rc > 0 ? (size_t)rc : 0;
    return state_of(s, rc);
}

static enum transport_state finish(struct transport *t)
{
    struct session *s = (struct session *)t;
    return state_of(s, gnutls_bye(s->tls, GNUTLS_SHUT_WR));
}

static void close_session(struct transport *t)
{
    struct session *s = (struct session *)t;
    gnutls_deinit(s->tls);
    close(t->fd);
    free(s);
}

static gnutls_datum_t datum(const char *text)
{
    return (gnutls_datum_t){ (unsigned char *)(uintptr_t)text, (unsigned)strlen(text) };
}

struct tls_server *tls_server_create(const struct tls_server_config *config, struct err *err)
{
    gnutls_datum_t chain = datum(config->chain), key = datum(config->key);
    struct tls_server *server = mem_new(sizeof *server);
    memcpy(server->ticket_key, config->ticket_key, sizeof server->ticket_key);
    if (gnutls_priority_init(&server->priorities, PRIORITIES, NULL) < 0 ||
        gnutls_certificate_allocate_credentials(&server->credentials) < 0)
        BUG("GnuTLS does not start");
    int rc =
        gnutls_certificate_set_x509_key_mem(server->credentials, &chain, &key, GNUTLS_X509_FMT_PEM);
    if (rc >= 0)
        return server;
    err_set(err, ERR_INPUT, "the certificate and its key: %s", gnutls_strerror(rc));
    tls_server_destroy(server);
    return NULL;
}

void tls_server_destroy(struct tls_server *server)
{
    if (!server)
        return;
    gnutls_certificate_free_credentials(server->credentials);
    gnutls_priority_deinit(server->priorities);
    gnutls_memset(server->ticket_key, 0, sizeof server->ticket_key);
    free(server);
}

struct transport *tls_server_transport(void *arg, int fd)
{
    struct tls_server *server = arg;
    static const struct transport_calls calls = { .start = start,
                                                  .read = read_some,
                                                  .write = write_some,
                                                  .finish = finish,
                                                  .close = close_session };
    struct session *s = mem_new(sizeof *s);
    s->transport = (struct transport){ .calls = &calls, .fd = fd };
    const gnutls_datum_t ticket = { server->ticket_key, sizeof server->ticket_key };
    if (gnutls_init(&s->tls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0 ||
        gnutls_priority_set(s->tls, server->priorities) < 0 ||
        gnutls_credentials_set(s->tls, GNUTLS_CRD_CERTIFICATE, server->credentials) < 0 ||
        gnutls_session_ticket_enable_server(s->tls, &ticket) < 0)
        BUG("GnuTLS makes no session");
    gnutls_db_set_cache_expiration(s->tls, TICKET_S);
    gnutls_certificate_server_set_request(s->tls, GNUTLS_CERT_IGNORE);
    gnutls_handshake_set_timeout(s->tls, 0); /* the connection has a deadline of its own */
    gnutls_transport_set_int(s->tls, fd);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return &s->transport;
}

bool tls_server_resumed(const struct transport *t)
{
    return gnutls_session_is_resumed(((const struct session *)t)->tls) != 0;
}
