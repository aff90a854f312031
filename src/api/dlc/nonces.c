/* Two sets of keyed hashes, an older and a newer one. When the newer is full, or everything in the
 * older is out of the window, the older is forgotten and the sets change places. Forgetting raises
 * the floor: dates up to those that were forgotten are refused, so nothing passes twice, however
 * many requests there are. */
#include "api/dlc/nonces.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define FIRST_SIZE 1024u

struct set {
    uint64_t *at; /* 0: empty; open addressing */
    size_t n, size;
    uint64_t newest_ms; /* greatest date in it */
    uint64_t since_ms;  /* when its first came */
};
struct nonces {
    struct hash_seed seed;
    struct set now, before;
    size_t max;
    uint64_t floor_ms;
};

struct nonces *nonces_create(size_t max)
{
    struct nonces *n = mem_new(sizeof *n);
    n->seed = hash_seed_random();
    n->max = max;
    return n;
}

void nonces_destroy(struct nonces *n)
{
    if (!n)
        return;
    free(n->now.at);
    free(n->before.at);
    free(n);
}

static size_t slot(const struct set *s, uint64_t hash)
{
    size_t i = (size_t)hash & (s->size - 1);
    while (s->at[i] && s->at[i] != hash)
        i = (i + 1) & (s->size - 1);
    return i;
}

static bool has(const struct set *s, uint64_t hash)
{
    return s->size && s->at[slot(s, hash)] == hash;
}

static void put(struct set *s, uint64_t hash)
{
    if (s->n * 2 >= s->size) {
        struct set wider = *s;
        wider.size = s->size ? s->size * 2 : FIRST_SIZE;
        wider.at = mem_new(wider.size * sizeof *wider.at);
        for (size_t i = 0; i < s->size; i++)
            if (s->at[i])
                wider.at[slot(&wider, s->at[i])] = s->at[i];
        free(s->at);
        *s = wider;
    }
    s->at[slot(s, hash)] = hash;
    s->n++;
}

static void turn(struct nonces *n)
{
    if (n->before.newest_ms > n->floor_ms)
        n->floor_ms = n->before.newest_ms;
    free(n->before.at);
    n->before = n->now;
    n->now = (struct set){ 0 };
}

bool nonces_timely(const struct nonces *n, uint64_t time_ms, uint64_t now_ms)
{
    uint64_t off = time_ms > now_ms ? time_ms - now_ms : now_ms - time_ms;
    return off <= NONCE_WINDOW_MS && time_ms > n->floor_ms;
}

bool nonces_add(struct nonces *n, const char *key_id, const char *nonce, uint64_t time_ms,
                uint64_t now_ms)
{
    AUTO_FREE char *text = mem_printf("%s\n%s", key_id, nonce);
    uint64_t hash = hash_bytes(n->seed, text, strlen(text));
    hash += !hash;
    if (has(&n->now, hash) || has(&n->before, hash))
        return false;
    /* A date may lie a window ahead, and is then good for two. */
    if (n->now.n >= n->max || (n->now.n && now_ms > n->now.since_ms + 2 * NONCE_WINDOW_MS))
        turn(n);
    if (!n->now.n)
        n->now.since_ms = now_ms;
    if (time_ms > n->now.newest_ms)
        n->now.newest_ms = time_ms;
    put(&n->now, hash);
    return true;
}
