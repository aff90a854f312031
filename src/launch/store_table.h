/* What one store holds, by key: a value, a queue of values, and who waits for the key. Keys are any
 * bytes. Whoever waits is a struct store_await; the table tells when nothing is missing any more.
 */
#ifndef LAUNCH_STORE_TABLE_H
#define LAUNCH_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_span {
    const char *at;
    size_t len;
};
struct store_waiter;
/* Embedded in whoever waits; zeroed is "waits for nothing". */
struct store_await {
    int64_t left; /* keys missing; told when it gets to 0, below that nothing is */
    size_t n;     /* places in queues of waiters */
    struct store_waiter *all;
};

struct store_slot;
struct store_table;
struct store_table *store_table_create(void (*ready)(struct store_await *));
void store_table_destroy(struct store_table *); /* NULL-safe; nobody may wait any more */
size_t store_table_bytes(const struct store_table *);
size_t store_table_keys(const struct store_table *); /* with a value */

/* What a new key of this length costs at most, without its value. */
size_t store_slot_cost(size_t key_len);
#define STORE_ITEM_COST 64u /* of a queued value or a waiter, without bytes */

struct store_slot *store_find(const struct store_table *, struct store_span key); /* or NULL */
struct store_slot *store_make(struct store_table *, struct store_span key);
/* After anything that may have left it empty: an empty slot is freed. */
void store_tidy(struct store_table *, struct store_slot *);
/* Every key with a value, in no order; start with NULL. No change in between. */
const struct store_slot *store_next(const struct store_table *, const struct store_slot *);

/* All take NULL for a key that is not there. */
bool store_has_value(const struct store_slot *);
size_t store_queued(const struct store_slot *);
struct store_span store_key(const struct store_slot *);
struct store_span store_value(const struct store_slot *); /* empty when there is none */

void store_put(struct store_table *, struct store_slot *, struct store_span value);
void store_append(struct store_table *, struct store_slot *, struct store_span value);
void store_drop(struct store_table *, struct store_slot *); /* the value */
void store_push(struct store_table *, struct store_slot *, struct store_span value);
struct store_span store_first(const struct store_slot *); /* of a queue that is not empty */
void store_pop(struct store_table *, struct store_slot *);

void store_wait(struct store_table *, struct store_slot *, struct store_await *);
void store_forget(struct store_table *, struct store_await *); /* all it waits for */
void store_wake(struct store_table *, struct store_slot *);
/* Until one of them has all it wants. */
void store_wake_one(struct store_table *, struct store_slot *);

#endif
