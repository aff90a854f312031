/* Over TCP thousands of agents come back to a server that was restarted, so they wait longer there,
 * each for another time. The session of the last connection is resumed as long as the pin stays the
 * same. Why a server is not reached is logged when the reason changes. */
#include "node/route.h"

#include "base/dice.h"
#include "base/log.h"
#include "base/mem.h"
#include "tls/client.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define OUT_MAX        (64u << 20)
#define HANDSHAKE_MS   15000u
#define TCP_SILENCE_MS 10000u
#define WAIT_NEAR_MS   5u /* the first after "at once" */
#define WAIT_NEAR_MOST 250u
#define WAIT_FAR_MS    50u
#define WAIT_FAR_MOST  2000u

static const struct conn_keep_alive_terms beat = { .kind = WIRE_PING,
                                                   .ask_ms = 1000,
                                                   .silence_ms = TCP_SILENCE_MS };

struct route {
    char socket[sizeof((struct conf *)NULL)->socket];
    struct conf_place places[CONF_PLACES_MAX];
    size_t n_places, next;
    struct tls_client *tls; /* NULL: not over TCP */
    char pin[sizeof((struct conf *)NULL)->pin];
    unsigned char *session; /* of another process, until there is a pin; NULL: none */
    size_t session_len;
    char why[128]; /* logged last */
    uint64_t wait_ms;
    struct dice dice;
};

struct route *route_create(void)
{
    struct route *route = mem_new(sizeof *route);
    if (getrandom(&route->dice, sizeof route->dice, GRND_NONBLOCK) < 0)
        route->dice.state = (uint64_t)getpid();
    return route;
}

/* It is as secret as what is sent over it. */
static void forget_session(struct route *route)
{
    if (route->session)
        explicit_bzero(route->session, route->session_len);
    free(TAKE(route->session));
}

void route_destroy(struct route *route)
{
    if (!route)
        return;
    tls_client_destroy(route->tls);
    forget_session(route);
    free(route);
}

size_t route_save_session(const struct route *route, void *at, size_t size)
{
    return route->tls ? tls_client_save(route->tls, at, size) : 0;
}

void route_load_session(struct route *route, const void *at, size_t len)
{
    forget_session(route);
    route->session = mem_new(len + 1);
    route->session_len = len;
    memcpy(route->session, at, len);
}

static uint8_t digit(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void set_pin(struct route *route, const char *hex)
{
    uint8_t pin[TLS_PIN];
    if (strcmp(route->pin, hex) == 0)
        return;
    for (size_t i = 0; i < TLS_PIN; i++)
        pin[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    tls_client_destroy(route->tls);
    route->tls = tls_client_create(pin);
    if (route->session)
        (void)tls_client_load(route->tls, route->session, route->session_len);
    forget_session(route);
    memcpy(route->pin, hex, sizeof route->pin);
}

void route_set(struct route *route, const struct conf *conf)
{
    memcpy(route->socket, conf->socket, sizeof route->socket);
    if (route->n_places != conf->n_places ||
        memcmp(route->places, conf->places, sizeof route->places) != 0)
        route->next = 0;
    memcpy(route->places, conf->places, sizeof route->places);
    route->n_places = conf->n_places;
    if (route->n_places)
        set_pin(route, conf->pin);
}

struct conn *route_connect(struct route *route, uv_loop_t *loop, struct conn_events events)
{
    struct conn_terms terms = { .kinds = CONN_AGENT_KINDS, .out_max = OUT_MAX, .room = ROUTE_ROOM };
    struct conn_target target = { .path = route->socket };
    if (route->n_places) {
        const struct conf_place *place = &route->places[route->next];
        target = (struct conn_target){ .addr = place->addr, .port = place->port };
        terms.handshake_ms = HANDSHAKE_MS;
        terms.tcp_silence_ms = TCP_SILENCE_MS;
        terms.over = tls_client_transport;
        terms.over_arg = route->tls;
    }
    return conn_connect(loop, &target, &terms, events);
}

void route_agreed(struct route *route, struct conn *conn)
{
    if (!route->n_places)
        return;
    conn_admit(conn);
    conn_keep_alive(conn, &beat);
    route->why[0] = '\0';
}

static void log_reason(struct route *route, const char *why)
{
    const struct conf_place *place = &route->places[route->next];
    char now[sizeof route->why];
    snprintf(now, sizeof now, "%s", why);
    if (strcmp(route->why, now) == 0)
        return;
    memcpy(route->why, now, sizeof now);
    log_warn("server.unreachable", "address=%s port=%u reason=\"%s\"", place->addr, place->port,
             why);
}

uint64_t route_lost(struct route *route, bool good, const char *why)
{
    const bool far = route->n_places > 0;
    const uint64_t first = far ? WAIT_FAR_MS : WAIT_NEAR_MS;
    const uint64_t most = far ? WAIT_FAR_MOST : WAIT_NEAR_MOST;
    if (far) {
        log_reason(route, why);
        if (!good)
            route->next = (route->next + 1) % route->n_places;
    }
    uint64_t wait = good ? 0 : route->wait_ms;
    route->wait_ms = wait == 0 ? first : wait * 2 < most ? wait * 2 : most;
    return far ? wait / 2 + dice_roll(&route->dice) % (wait / 2 + WAIT_FAR_MS) : wait;
}
