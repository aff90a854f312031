/* Connections of nodes that want to join, by the hash of the token they came with and, once they
 * have asked, by a ticket. They are few and short: at most so many wait, the others come again. */
#include "link/joins.h"

#include "base/map.h"
#include "base/mem.h"
#include "conn/conn.h"
#include "wire/message.h"

#include <sodium.h>
#include <string.h>

#define WAIT_MOST  1024u
#define ASK_MS     1000u
#define SILENCE_MS 5000u

struct join_token {
    char *name;
    char hash_hex[65];
};
struct joiner {
    struct joins *all;
    struct joiner *prev, *next;
    char *name; /* of what it came with */
    struct conn *conn;
    uint64_t ticket; /* 0: it has not asked */
};
struct joins {
    struct link_hub *hub;
    struct joins_sink sink;
    struct arena *scratch;
    struct string_map *by_name, *by_hash; /* of struct join_token */
    struct joiner first;                  /* of a ring */
    size_t n;
    uint64_t tickets;
};

static void forget(struct joiner *j)
{
    j->prev->next = j->next;
    j->next->prev = j->prev;
    j->all->n--;
    free(j->name);
    free(j);
}

static void drop(struct joiner *j)
{
    conn_close(j->conn);
    forget(j);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    (void)conn;
    (void)why;
    forget(arg);
}

static int take_ask(struct joiner *j, const struct wire_frame *frame)
{
    struct wire_host_join join;
    if (wire_get(frame, j->all->scratch, &join) < 0 || join.version != WIRE_VERSION)
        return -1;
    if (!j->ticket) {
        conn_admit(j->conn);
        conn_keep_alive(j->conn, &(struct conn_keep_alive_terms){ .kind = WIRE_PING,
                                                                  .ask_ms = ASK_MS,
                                                                  .silence_ms = SILENCE_MS });
    }
    j->ticket = ++j->all->tickets;
    struct joins_ask ask = {
        .ticket = j->ticket, .name = j->name, .node = join.node, .allocation = join.allocation
    };
    crypto_hash_sha256(ask.own_hash, join.own, join.own_len);
    j->all->sink.ask(j->all->sink.arg, &ask);
    return 0;
}

static int on_frame(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct joiner *j = arg;
    struct joins *all = j->all;
    int rc = -1;
    if (frame->kind == WIRE_HOST_JOIN) {
        rc = take_ask(j, frame);
        arena_reset(all->scratch);
    } else if (frame->kind == WIRE_PING) {
        wire_put_plain(conn_out(conn), WIRE_PONG, frame->seq);
        conn_flush(conn);
        rc = 0;
    } else if (frame->kind == WIRE_PONG) {
        rc = 0;
    }
    return rc;
}

static void on_room(void *arg, struct conn *conn)
{
    (void)arg;
    (void)conn;
}

void joins_answer(struct joins *all, uint64_t ticket, const char *node, const char *reason)
{
    struct joiner *j = all->first.next;
    while (j != &all->first && j->ticket != ticket)
        j = j->next;
    if (j == &all->first)
        return;
    const struct wire_host_joined_answer said = { .node = node ? node : "", .reason = reason };
    wire_put(conn_out(j->conn), 0, &said);
    conn_flush(j->conn);
}

/* ---- who may ---- */

static void free_allowed(void *value)
{
    struct join_token *one = value;
    free(one->name);
    free(one);
}

void joins_allow(struct joins *all, const char *name, const unsigned char token_hash[32])
{
    struct join_token *one = mem_new(sizeof *one);
    joins_forbid(all, name);
    one->name = mem_strdup(name);
    sodium_bin2hex(one->hash_hex, sizeof one->hash_hex, token_hash, 32);
    string_map_set(all->by_name, name, one);
    string_map_set(all->by_hash, one->hash_hex, one);
}

void joins_forbid(struct joins *all, const char *name)
{
    struct join_token *one = string_map_remove(all->by_name, name);
    if (!one)
        return;
    for (struct joiner *j = all->first.next, *next; j != &all->first; j = next) {
        next = j->next;
        if (strcmp(j->name, name) == 0)
            drop(j);
    }
    string_map_remove(all->by_hash, one->hash_hex);
    free_allowed(one);
}

static bool knows(void *arg, const char *hash_hex)
{
    const struct joins *all = arg;
    return all->n < WAIT_MOST && string_map_get(all->by_hash, hash_hex);
}

static void adopt(void *arg, const char *hash_hex, struct conn *conn)
{
    struct joins *all = arg;
    const struct join_token *by = string_map_get(all->by_hash, hash_hex);
    struct joiner *j = mem_new(sizeof *j);
    *j = (struct joiner){ .all = all,
                          .prev = all->first.prev,
                          .next = &all->first,
                          .name = mem_strdup(by->name),
                          .conn = conn };
    j->prev->next = j->next->prev = j;
    all->n++;
    conn_set_events(conn, (struct conn_events){
                              .frame = on_frame, .room = on_room, .closed = on_closed, .arg = j });
}

struct joins *joins_create(struct link_hub *hub, struct joins_sink sink)
{
    struct joins *all = mem_new(sizeof *all);
    all->hub = hub;
    all->sink = sink;
    all->scratch = arena_create();
    all->by_name = string_map_create();
    all->by_hash = string_map_create();
    all->first.next = all->first.prev = &all->first;
    link_set_peers(hub, LINK_JOINERS,
                   (struct link_peers){ .knows = knows, .adopt = adopt, .arg = all });
    return all;
}

void joins_destroy(struct joins *all)
{
    if (!all)
        return;
    link_set_peers(all->hub, LINK_JOINERS, (struct link_peers){ .knows = NULL });
    for (struct joiner *j = all->first.next, *next; j != &all->first; j = next) {
        next = j->next;
        drop(j);
    }
    string_map_destroy(all->by_hash);
    string_map_destroy_with(all->by_name, free_allowed);
    arena_destroy(all->scratch);
    free(all);
}
