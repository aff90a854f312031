/* The nineteen requests: the function that does each.
 * Semantics are those of torch's libuv server (2.13), seen from outside, with four differences on
 * purpose, each where that server leaves a client hanging or with half an effect:
 * - a COMPARE_SET that stores nothing wakes nobody;
 * - in a WAIT for several names a queue that is not empty is not waited for, and one push counts
 *   once for each who waits;
 * - MULTI_SET is all or nothing;
 * - what does not begin with the magic is closed.
 * A connection has one wait at a time; a second one started before the first has ended takes its
 * place in counting (as there). */
#include "launch/store_ops.h"

#include "base/log.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAGIC 0x3C85F7CEu

/* ---- reading ---- */

struct cursor {
    const char *at;
};

static uint64_t number_at(const char *at)
{
    uint64_t n;
    memcpy(&n, at, sizeof n);
    return n;
}

static uint64_t take_number(struct cursor *c)
{
    uint64_t n = number_at(c->at);
    c->at += sizeof n;
    return n;
}

static struct store_span take(struct cursor *c)
{
    size_t len = (size_t)take_number(c);
    struct store_span span = { c->at, len };
    c->at += len;
    return span;
}

/* ---- answering ---- */

static void put_number(struct store_conn *conn, uint64_t n)
{
    store_conn_put(conn, &n, sizeof n);
}

static void put_span(struct store_conn *conn, struct store_span span)
{
    put_number(conn, span.len);
    store_conn_put(conn, span.at, span.len);
}

static void put_byte(struct store_conn *conn, char byte)
{
    store_conn_put(conn, &byte, 1);
}

/* Room for so many more bytes in the store? If not, the connection ends: the protocol has no word
 * for "full". */
static bool fits(struct store_conn *conn, size_t bytes)
{
    if (bytes <= store_room(conn->core))
        return true;
    log_warn("store.full", "bytes=%zu limit=%zu", bytes, conn->core->limits.total_bytes);
    store_conn_doom(conn, "the store is full");
    return false;
}

static bool fits_pair(struct store_conn *conn, struct store_span key, size_t value_len)
{
    return fits(conn, store_slot_cost(key.len) + value_len);
}

/* ---- operations ---- */

static void do_validate(struct store_conn *conn, struct cursor *c)
{
    uint32_t magic;
    memcpy(&magic, c->at, sizeof magic);
    if (conn->greeted || magic != MAGIC)
        store_conn_doom(conn, "wrong magic");
    else
        store_conn_greeted(conn);
}

static void set(struct store_conn *conn, struct store_span key, struct store_span value)
{
    struct store_table *table = conn->core->table;
    struct store_slot *slot = store_make(table, key);
    store_put(table, slot, value);
    store_wake(table, slot);
}

static void do_set(struct store_conn *conn, struct cursor *c)
{
    struct store_span key = take(c), value = take(c);
    if (fits_pair(conn, key, value.len))
        set(conn, key, value);
}

static bool same(struct store_span a, struct store_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static void do_compare_set(struct store_conn *conn, struct cursor *c)
{
    struct store_span key = take(c), expected = take(c), desired = take(c);
    const struct store_slot *slot = store_find(conn->core->table, key);
    if (store_has_value(slot) && !same(store_value(slot), expected)) {
        put_span(conn, store_value(slot));
    } else if (!store_has_value(slot) && expected.len > 0) {
        put_span(conn, expected);
    } else if (fits_pair(conn, key, desired.len)) {
        set(conn, key, desired);
        put_span(conn, desired);
    }
}

static void do_get(struct store_conn *conn, struct cursor *c)
{
    put_span(conn, store_value(store_find(conn->core->table, take(c))));
}

/* Decimal text with whatever behind it, as C's strtoll reads it. */
static bool read_decimal(struct store_span text, int64_t *out)
{
    size_t i = 0, digits = 0;
    bool minus = false;
    int64_t n = 0;
    while (i < text.len && isspace((unsigned char)text.at[i]))
        i++;
    if (i < text.len && (text.at[i] == '-' || text.at[i] == '+'))
        minus = text.at[i++] == '-';
    for (; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++, digits++) {
        int digit = text.at[i] - '0';
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, minus ? -digit : digit, &n))
            return false;
    }
    *out = n;
    return digits > 0;
}

/* Adds to the number under the key (none: 0) and keeps it as text. NULL: no number, or no room. */
static struct store_slot *count(struct store_conn *conn, struct store_span key, int64_t delta,
                                int64_t *now)
{
    struct store_table *table = conn->core->table;
    const struct store_slot *old = store_find(table, key);
    int64_t n = 0;
    char text[24];
    if (store_has_value(old) && !read_decimal(store_value(old), &n)) {
        store_conn_doom(conn, "adding to what is no number");
        return NULL;
    }
    if (!fits_pair(conn, key, sizeof text))
        return NULL;
    (void)__builtin_add_overflow(n, delta, &n); /* wraps */
    int len = snprintf(text, sizeof text, "%lld", (long long)n);
    struct store_slot *slot = store_make(table, key);
    store_put(table, slot, (struct store_span){ text, (size_t)len });
    *now = n;
    return slot;
}

static void do_add(struct store_conn *conn, struct cursor *c)
{
    struct store_span key = take(c);
    int64_t now, delta = (int64_t)take_number(c);
    struct store_slot *slot = count(conn, key, delta, &now);
    if (!slot)
        return;
    store_wake(conn->core->table, slot);
    put_number(conn, (uint64_t)now);
}

static bool present(const struct store_conn *conn, struct store_span key)
{
    const struct store_slot *slot = store_find(conn->core->table, key);
    return store_has_value(slot) || store_queued(slot) > 0;
}

static void do_check(struct store_conn *conn, struct cursor *c)
{
    uint64_t n = take_number(c);
    bool all = true;
    for (uint64_t i = 0; i < n && all; i++)
        all = present(conn, take(c));
    put_byte(conn, all ? 0 : 1);
}

/* Reserves n places for a connection that will wait; a real client has one wait at a time. */
static bool may_wait(struct store_conn *conn, size_t n, size_t bytes)
{
    if (n > 2 * conn->core->limits.keys_per_call - conn->await.n) {
        store_conn_doom(conn, "too many waits");
        return false;
    }
    return fits(conn, bytes);
}

static void do_wait(struct store_conn *conn, struct cursor *c)
{
    struct store_table *table = conn->core->table;
    uint64_t n = take_number(c);
    struct cursor again = *c;
    size_t missing = 0, bytes = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct store_span key = take(c);
        if (present(conn, key))
            continue;
        missing++;
        bytes += store_slot_cost(key.len) + STORE_ITEM_COST;
    }
    if (missing == 0) {
        store_conn_put(conn, STORE_WAKE, 1);
        return;
    }
    if (!may_wait(conn, missing, bytes))
        return;
    conn->await.left = (int64_t)missing;
    for (uint64_t i = 0; i < n; i++) {
        struct store_span key = take(&again);
        if (!present(conn, key))
            store_wait(table, store_make(table, key), &conn->await);
    }
}

static void do_barrier(struct store_conn *conn, struct cursor *c)
{
    struct store_table *table = conn->core->table;
    struct store_span key = take(c);
    int64_t arrived, world = (int64_t)take_number(c);
    if (!may_wait(conn, 1, STORE_ITEM_COST))
        return;
    struct store_slot *slot = count(conn, key, 1, &arrived);
    if (!slot)
        return;
    if (arrived < world) {
        conn->await.left = 1;
        store_wait(table, slot, &conn->await);
        return;
    }
    store_wake(table, slot);
    store_conn_put(conn, STORE_WAKE, 1);
}

static void do_num_keys(struct store_conn *conn, struct cursor *c)
{
    (void)c;
    put_number(conn, store_table_keys(conn->core->table));
}

static void do_delete(struct store_conn *conn, struct cursor *c)
{
    struct store_table *table = conn->core->table;
    struct store_slot *slot = store_find(table, take(c));
    bool had = store_has_value(slot);
    if (had) {
        store_drop(table, slot);
        store_tidy(table, slot);
    }
    put_number(conn, had);
}

static void do_append(struct store_conn *conn, struct cursor *c)
{
    struct store_table *table = conn->core->table;
    struct store_span key = take(c), value = take(c);
    size_t had = store_value(store_find(table, key)).len;
    /* Growing holds a quarter more than is asked for. */
    if (!fits_pair(conn, key, value.len + (had + value.len) / 4))
        return;
    struct store_slot *slot = store_make(table, key);
    store_append(table, slot, value);
    store_wake(table, slot);
}

static void do_multi_get(struct store_conn *conn, struct cursor *c)
{
    uint64_t n = take_number(c);
    for (uint64_t i = 0; i < n && !conn->doomed; i++)
        put_span(conn, store_value(store_find(conn->core->table, take(c))));
}

static void do_multi_set(struct store_conn *conn, struct cursor *c)
{
    uint64_t n = take_number(c);
    struct cursor again = *c;
    size_t bytes = 0;
    for (uint64_t i = 0; i < n; i++) {
        bytes += store_slot_cost(take(c).len);
        bytes += take(c).len;
    }
    if (!fits(conn, bytes))
        return;
    for (uint64_t i = 0; i < n; i++) {
        struct store_span key = take(&again);
        set(conn, key, take(&again));
    }
}

static void do_cancel_wait(struct store_conn *conn, struct cursor *c)
{
    (void)c;
    store_forget(conn->core->table, &conn->await);
    put_byte(conn, 1);
}

static void do_ping(struct store_conn *conn, struct cursor *c)
{
    store_conn_put(conn, c->at, sizeof(uint32_t));
}

static void do_queue_push(struct store_conn *conn, struct cursor *c)
{
    struct store_table *table = conn->core->table;
    struct store_span key = take(c), value = take(c);
    if (!fits_pair(conn, key, value.len + STORE_ITEM_COST))
        return;
    struct store_slot *slot = store_make(table, key);
    store_push(table, slot, value);
    store_wake_one(table, slot);
}

static void do_queue_pop(struct store_conn *conn, struct cursor *c)
{
    struct store_table *table = conn->core->table;
    struct store_slot *slot = store_find(table, take(c));
    size_t queued = store_queued(slot);
    put_number(conn, queued);
    if (queued == 0)
        return;
    put_span(conn, store_first(slot));
    store_pop(table, slot);
    store_tidy(table, slot);
}

static void do_queue_len(struct store_conn *conn, struct cursor *c)
{
    put_number(conn, store_queued(store_find(conn->core->table, take(c))));
}

static void do_list_keys(struct store_conn *conn, struct cursor *c)
{
    const struct store_table *table = conn->core->table;
    const struct store_slot *slot = NULL;
    (void)c;
    put_number(conn, store_table_keys(table));
    while (!conn->doomed && (slot = store_next(table, slot)) != NULL)
        put_span(conn, store_key(slot));
}

static void (*const requests[])(struct store_conn *, struct cursor *) = {
#define REQUEST(name, shape) do_##name,
    STORE_REQUESTS(REQUEST)
#undef REQUEST
};

void store_do(struct store_conn *conn, const char *bytes)
{
    requests[(unsigned char)bytes[0]](conn, &(struct cursor){ bytes + 1 });
}
