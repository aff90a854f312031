/* Slots by name, found by a keyed hash (ranks choose the keys). One slot per name holds value,
 * queue and waiters together, so that a SET finds those it wakes with the same look-up. Slots are
 * freed when they hold nothing, values give back memory when they get much smaller, the index of
 * slots shrinks. Every allocation is counted; the bound is kept by the callers, who ask before they
 * store. */
#include "launch/store_table.h"

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/mem.h"

#include <string.h>

#define SLOTS_LEAST 16u
#define VALUE_SLACK 64u /* not worth giving back */

struct item { /* of a queue */
    struct item *next;
    size_t len;
    char bytes[];
};

struct store_waiter {
    struct store_slot *slot;
    struct store_await *await;
    struct store_waiter *next, *prev;             /* at the slot, oldest first */
    struct store_waiter *await_next, *await_prev; /* of the one who waits */
};

struct store_slot {
    char *value;
    size_t len, cap;
    struct item *queue, *queue_last;
    size_t queued;
    struct store_waiter *waiters, *waiters_last;
    bool has_value;
    uint32_t key_len, at; /* its position */
    char key[];
};

struct store_table {
    struct hash_seed seed;
    struct store_slot **slots; /* the last takes the place of one that goes */
    uint32_t n_slots, cap;
    struct hash_index by_key;
    size_t n_keys, bytes;
    void (*ready)(struct store_await *);
};

_Static_assert(sizeof(struct item) <= STORE_ITEM_COST, "a queued value costs more than said");
_Static_assert(sizeof(struct store_waiter) <= STORE_ITEM_COST, "a waiter costs more than said");

struct store_table *store_table_create(void (*ready)(struct store_await *))
{
    struct store_table *table = mem_new(sizeof *table);
    table->seed = hash_seed_random();
    table->cap = SLOTS_LEAST;
    table->slots = mem_new(SLOTS_LEAST * sizeof(struct store_slot *));
    table->ready = ready;
    return table;
}

static void free_queue(struct store_slot *slot)
{
    while (slot->queue) {
        struct item *next = slot->queue->next;
        free(slot->queue);
        slot->queue = next;
    }
}

void store_table_destroy(struct store_table *table)
{
    if (!table)
        return;
    for (uint32_t i = 0; i < table->n_slots; i++) {
        free_queue(table->slots[i]);
        free(table->slots[i]->value);
        free(table->slots[i]);
    }
    free(table->slots);
    hash_index_fini(&table->by_key);
    free(table);
}

size_t store_table_bytes(const struct store_table *table)
{
    return table->bytes;
}

size_t store_table_keys(const struct store_table *table)
{
    return table->n_keys;
}

/* ---- slots ---- */

static size_t slot_size(size_t key_len)
{
    return sizeof(struct store_slot) + key_len;
}

size_t store_slot_cost(size_t key_len)
{
    return slot_size(key_len) + 2 * (sizeof(struct store_slot *) + HASH_INDEX_COST);
}

static void resize(struct store_table *table, uint32_t cap)
{
    table->slots = mem_resize((void *)table->slots, cap * sizeof(struct store_slot *));
    table->cap = cap;
    hash_index_shrink(&table->by_key, table->n_slots);
}

static struct store_slot *look_up(const struct store_table *table, struct store_span key,
                                  uint64_t hash)
{
    for (uint32_t at = hash_index_first(&table->by_key, hash); at != HASH_INDEX_NONE;
         at = hash_index_next(&table->by_key, at)) {
        struct store_slot *slot = table->slots[at];
        if (slot->key_len == key.len && memcmp(slot->key, key.at, key.len) == 0)
            return slot;
    }
    return NULL;
}

struct store_slot *store_find(const struct store_table *table, struct store_span key)
{
    return look_up(table, key, hash_bytes(table->seed, key.at, key.len));
}

struct store_slot *store_make(struct store_table *table, struct store_span key)
{
    uint64_t hash = hash_bytes(table->seed, key.at, key.len);
    struct store_slot *slot = look_up(table, key, hash);
    if (slot)
        return slot;
    if (table->n_slots == table->cap)
        resize(table, table->cap * 2);
    slot = mem_new(slot_size(key.len));
    slot->key_len = (uint32_t)key.len;
    memcpy(slot->key, key.at, key.len);
    slot->at = table->n_slots++;
    table->slots[slot->at] = slot;
    hash_index_add(&table->by_key, slot->at, hash);
    table->bytes += slot_size(key.len);
    return slot;
}

void store_tidy(struct store_table *table, struct store_slot *slot)
{
    if (!slot || slot->has_value || slot->queue || slot->waiters)
        return;
    struct store_slot *last = table->slots[--table->n_slots];
    hash_index_remove(&table->by_key, slot->at);
    if (last != slot) {
        uint64_t hash = hash_bytes(table->seed, last->key, last->key_len);
        hash_index_remove(&table->by_key, last->at);
        hash_index_add(&table->by_key, slot->at, hash);
        table->slots[last->at = slot->at] = last;
    }
    table->bytes -= slot_size(slot->key_len);
    free(slot);
    if (table->cap > SLOTS_LEAST && table->n_slots < table->cap / 8)
        resize(table, table->cap / 2);
}

const struct store_slot *store_next(const struct store_table *table, const struct store_slot *slot)
{
    for (uint32_t at = slot ? slot->at + 1 : 0; at < table->n_slots; at++)
        if (table->slots[at]->has_value)
            return table->slots[at];
    return NULL;
}

bool store_has_value(const struct store_slot *slot)
{
    return slot && slot->has_value;
}

size_t store_queued(const struct store_slot *slot)
{
    return slot ? slot->queued : 0;
}

struct store_span store_key(const struct store_slot *slot)
{
    return (struct store_span){ slot->key, slot->key_len };
}

struct store_span store_value(const struct store_slot *slot)
{
    return slot ? (struct store_span){ slot->value, slot->len } : (struct store_span){ "", 0 };
}

/* ---- values ---- */

static void set_capacity(struct store_table *table, struct store_slot *slot, size_t cap)
{
    if (cap == 0) {
        free(slot->value);
        slot->value = NULL;
    } else {
        slot->value = mem_resize(slot->value, cap);
    }
    table->bytes = table->bytes - slot->cap + cap;
    slot->cap = cap;
}

static void mark(struct store_table *table, struct store_slot *slot)
{
    table->n_keys += !slot->has_value;
    slot->has_value = true;
}

void store_put(struct store_table *table, struct store_slot *slot, struct store_span value)
{
    if (value.len > slot->cap || slot->cap - value.len > value.len + VALUE_SLACK)
        set_capacity(table, slot, value.len);
    if (value.len > 0)
        memcpy(slot->value, value.at, value.len);
    slot->len = value.len;
    mark(table, slot);
}

void store_append(struct store_table *table, struct store_slot *slot, struct store_span value)
{
    size_t need = slot->len + value.len;
    if (need > slot->cap)
        set_capacity(table, slot, need < 2 * slot->cap ? need + need / 4 : need);
    if (value.len > 0)
        memcpy(slot->value + slot->len, value.at, value.len);
    slot->len = need;
    mark(table, slot);
}

void store_drop(struct store_table *table, struct store_slot *slot)
{
    table->n_keys -= slot->has_value;
    slot->has_value = false;
    set_capacity(table, slot, 0);
    slot->len = 0;
}

/* ---- queues ---- */

void store_push(struct store_table *table, struct store_slot *slot, struct store_span value)
{
    struct item *item = mem_new(sizeof *item + value.len);
    item->len = value.len;
    memcpy(item->bytes, value.at, value.len);
    if (slot->queue)
        slot->queue_last->next = item;
    else
        slot->queue = item;
    slot->queue_last = item;
    slot->queued++;
    table->bytes += sizeof *item + value.len;
}

struct store_span store_first(const struct store_slot *slot)
{
    return (struct store_span){ slot->queue->bytes, slot->queue->len };
}

void store_pop(struct store_table *table, struct store_slot *slot)
{
    struct item *item = slot->queue;
    slot->queue = item->next;
    slot->queued--;
    table->bytes -= sizeof *item + item->len;
    free(item);
}

/* ---- waiters ---- */

void store_wait(struct store_table *table, struct store_slot *slot, struct store_await *await)
{
    struct store_waiter *waiter = mem_new(sizeof *waiter);
    waiter->slot = slot;
    waiter->await = await;
    waiter->prev = slot->waiters_last;
    if (waiter->prev)
        waiter->prev->next = waiter;
    else
        slot->waiters = waiter;
    slot->waiters_last = waiter;
    waiter->await_next = await->all;
    if (await->all)
        await->all->await_prev = waiter;
    await->all = waiter;
    await->n++;
    table->bytes += sizeof *waiter;
}

static void remove_waiter(struct store_table *table, struct store_waiter *waiter)
{
    struct store_slot *slot = waiter->slot;
    struct store_await *await = waiter->await;
    if (waiter->prev)
        waiter->prev->next = waiter->next;
    else
        slot->waiters = waiter->next;
    if (waiter->next)
        waiter->next->prev = waiter->prev;
    else
        slot->waiters_last = waiter->prev;
    if (waiter->await_prev)
        waiter->await_prev->await_next = waiter->await_next;
    else
        await->all = waiter->await_next;
    if (waiter->await_next)
        waiter->await_next->await_prev = waiter->await_prev;
    await->n--;
    table->bytes -= sizeof *waiter;
    free(waiter);
}

void store_forget(struct store_table *table, struct store_await *await)
{
    while (await->all) {
        struct store_slot *slot = await->all->slot;
        remove_waiter(table, await->all);
        store_tidy(table, slot);
    }
    await->left = 0;
}

/* true: it has all it wants. */
static bool wake_first(struct store_table *table, struct store_slot *slot)
{
    struct store_await *await = slot->waiters->await;
    remove_waiter(table, slot->waiters);
    if (--await->left != 0)
        return false;
    table->ready(await);
    return true;
}

void store_wake(struct store_table *table, struct store_slot *slot)
{
    while (slot->waiters)
        (void)wake_first(table, slot);
}

void store_wake_one(struct store_table *table, struct store_slot *slot)
{
    while (slot->waiters && !wake_first(table, slot))
        continue;
}
