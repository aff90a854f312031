/* mbedTLS is given the socket's own calls and the kernel's random bytes. A write that would block
 * has to be repeated with the same length, so that length is kept. The session is kept when the
 * handshake is done, with the certificate that was shown in it: a short handshake shows none. */
#include "tls/client.h"

#include "base/err.h"
#include "base/mem.h"
#include "tls/gcm.h"

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/sha256.h>
#include <mbedtls/ssl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

struct tls_client {
    mbedtls_ssl_config config;
    uint8_t pin[TLS_PIN];
    mbedtls_ssl_session kept;
    bool has_kept;
};

struct session {
    struct transport transport;
    struct tls_client *client;
    mbedtls_ssl_context tls;
    size_t sealed; /* bytes in a record that the socket has not taken whole; 0: none */
};

static int random_bytes(void *arg, unsigned char *out, size_t len)
{
    (void)arg;
    for (ssize_t n; len > 0; out += n, len -= (size_t)n)
        if ((n = getrandom(out, len, 0)) < 0) {
            if (errno != EINTR)
                return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
            n = 0;
        }
    return 0;
}

static int on_send(void *arg, const unsigned char *at, size_t len)
{
    const struct session *s = arg;
    ssize_t n = send(s->transport.fd, at, len, MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? MBEDTLS_ERR_SSL_WANT_WRITE
                                                 : MBEDTLS_ERR_SSL_CONN_EOF;
    return (int)n;
}

static int on_receive(void *arg, unsigned char *at, size_t size)
{
    const struct session *s = arg;
    ssize_t n = recv(s->transport.fd, at, size, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? MBEDTLS_ERR_SSL_WANT_READ
                                                 : MBEDTLS_ERR_SSL_CONN_EOF;
    return (int)n;
}

static enum transport_state broken(struct session *s, const char *why)
{
    s->transport.why = why;
    return TRANSPORT_BROKEN;
}

static enum transport_state state_of(struct session *s, int rc)
{
    switch (rc) {
    case MBEDTLS_ERR_SSL_WANT_READ: return TRANSPORT_WAIT_IN;
    case MBEDTLS_ERR_SSL_WANT_WRITE: return TRANSPORT_WAIT_OUT;
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY: return TRANSPORT_END;
    case 0:
    case MBEDTLS_ERR_SSL_CONN_EOF: return broken(s, "the connection was cut off");
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE: return broken(s, "the other end refused it");
    default: return rc > 0 ? TRANSPORT_READY : broken(s, "what came was not understood");
    }
}

static bool shows_the_pin(const struct session *s)
{
    const mbedtls_x509_crt *shown = mbedtls_ssl_get_peer_cert(&s->tls);
    uint8_t sum[TLS_PIN], differ = 0;
    if (!shown || mbedtls_sha256_ret(shown->raw.p, shown->raw.len, sum, 0) != 0)
        return false;
    for (size_t i = 0; i < TLS_PIN; i++)
        differ |= sum[i] ^ s->client->pin[i];
    return differ == 0;
}

static void forget(struct tls_client *client)
{
    mbedtls_ssl_session_free(&client->kept);
    mbedtls_ssl_session_init(&client->kept);
    client->has_kept = false;
}

static enum transport_state start(struct transport *t)
{
    struct session *s = (struct session *)t;
    int rc = mbedtls_ssl_handshake(&s->tls);
    if (rc == MBEDTLS_ERR_SSL_WANT_READ || rc == MBEDTLS_ERR_SSL_WANT_WRITE)
        return state_of(s, rc);
    forget(s->client); /* a session is resumed once at most, or not at all any more */
    if (rc != 0)
        return state_of(s, rc);
    if (!shows_the_pin(s))
        return broken(s, "the server shows another certificate than the one expected");
    s->client->has_kept = mbedtls_ssl_get_session(&s->tls, &s->client->kept) == 0;
    return TRANSPORT_READY;
}

static enum transport_state read_some(struct transport *t, void *at, size_t size, size_t *n)
{
    struct session *s = (struct session *)t;
    int rc = mbedtls_ssl_read(&s->tls, at, size);
    *n = rc > 0 ? (size_t)rc : 0;
    return state_of(s, rc);
}

static enum transport_state write_some(struct transport *t, const void *at, size_t len, size_t *n)
{
    struct session *s = (struct session *)t;
    int rc = mbedtls_ssl_write(&s->tls, at, s->sealed ? s->sealed : len);
    *n = rc > 0 ? (size_t)rc : 0;
    if (rc == MBEDTLS_ERR_SSL_WANT_WRITE || rc == MBEDTLS_ERR_SSL_WANT_READ)
        s->sealed = s->sealed ? s->sealed : len;
    else
        s->sealed = 0;
    return state_of(s, rc);
}

static enum transport_state finish(struct transport *t)
{
    struct session *s = (struct session *)t;
    int rc = mbedtls_ssl_close_notify(&s->tls);
    return rc == 0 ? TRANSPORT_READY : state_of(s, rc);
}

static void close_session(struct transport *t)
{
    struct session *s = (struct session *)t;
    mbedtls_ssl_free(&s->tls);
    close(t->fd);
    free(s);
}

struct tls_client *tls_client_create(const uint8_t pin[TLS_PIN])
{
    struct tls_client *client = mem_new(sizeof *client);
    memcpy(client->pin, pin, TLS_PIN);
    mbedtls_ssl_session_init(&client->kept);
    mbedtls_ssl_config_init(&client->config);
    if (mbedtls_ssl_config_defaults(&client->config, MBEDTLS_SSL_IS_CLIENT,
                                    MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT) != 0)
        BUG("mbedTLS does not start");
    mbedtls_ssl_conf_min_version(&client->config, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3); /* TLS 1.2 */
    mbedtls_ssl_conf_ciphersuites(&client->config, gcm_suites());
    mbedtls_ssl_conf_rng(&client->config, random_bytes, NULL);
    /* No authority vouches for it: the pin does, before anything is sent. */
    mbedtls_ssl_conf_authmode(&client->config, MBEDTLS_SSL_VERIFY_NONE);
    mbedtls_ssl_conf_session_tickets(&client->config, MBEDTLS_SSL_SESSION_TICKETS_ENABLED);
    return client;
}

void tls_client_destroy(struct tls_client *client)
{
    if (!client)
        return;
    mbedtls_ssl_session_free(&client->kept);
    mbedtls_ssl_config_free(&client->config);
    free(client);
}

size_t tls_client_save(const struct tls_client *client, void *at, size_t size)
{
    size_t len = 0;
    if (!client->has_kept || mbedtls_ssl_session_save(&client->kept, at, size, &len) != 0)
        return 0;
    return len;
}

bool tls_client_load(struct tls_client *client, const void *at, size_t len)
{
    forget(client);
    client->has_kept = mbedtls_ssl_session_load(&client->kept, at, len) == 0;
    if (!client->has_kept)
        forget(client);
    return client->has_kept;
}

struct transport *tls_client_transport(void *arg, int fd)
{
    struct tls_client *client = arg;
    static const struct transport_calls calls = { .start = start,
                                                  .read = read_some,
                                                  .write = write_some,
                                                  .finish = finish,
                                                  .close = close_session };
    struct session *s = mem_new(sizeof *s);
    s->transport = (struct transport){ .calls = &calls, .fd = fd };
    s->client = client;
    mbedtls_ssl_init(&s->tls);
    if (mbedtls_ssl_setup(&s->tls, &client->config) != 0)
        BUG("mbedTLS makes no session");
    mbedtls_ssl_set_bio(&s->tls, s, on_send, on_receive, NULL);
    if (client->has_kept && mbedtls_ssl_set_session(&s->tls, &client->kept) != 0)
        forget(client);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return &s->transport;
}
