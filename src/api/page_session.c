/* A table of fixed size: opening the page again and again cannot fill the memory, nor end what
 * others look at. */
#include "api/page_session.h"

#include "base/mem.h"

#include <sodium.h>
#include <string.h>

#define SESSIONS 256u
#define OF_ONE   8u

struct page_sessions {
    struct page_session at[SESSIONS];
    uint64_t last;
};

struct page_sessions *page_sessions_create(void)
{
    return mem_new(sizeof(struct page_sessions));
}

static void session_clear(struct page_session *s)
{
    free(s->owner);
    free(s->token);
    free(s->host);
    *s = (struct page_session){ .order = 0 };
}

/* The clock may be set back. */
static uint64_t age_ms(uint64_t then_ms, uint64_t now_ms)
{
    return now_ms > then_ms ? now_ms - then_ms : 0;
}

static bool is_over(const struct page_session *s, uint64_t now_ms)
{
    if (!s->opened_ms)
        return age_ms(s->offered_ms, now_ms) >= PAGE_LINK_MS;
    return age_ms(s->opened_ms, now_ms) >= PAGE_LIFE_MS ||
           age_ms(s->used_ms, now_ms) >= PAGE_IDLE_MS;
}

void page_sessions_destroy(struct page_sessions *all)
{
    for (size_t i = 0; all && i < SESSIONS; i++)
        session_clear(&all->at[i]);
    free(all);
}

static void hash_secret(unsigned char hash[32], const char *secret)
{
    crypto_hash_sha256(hash, (const unsigned char *)secret, strlen(secret));
}

static void make_secret(char out[PAGE_SECRET], unsigned char hash[32])
{
    unsigned char raw[32];
    randombytes_buf(raw, sizeof raw);
    sodium_bin2hex(out, PAGE_SECRET, raw, sizeof raw);
    sodium_memzero(raw, sizeof raw);
    hash_secret(hash, out);
}

/* A free slot, the user's own oldest when they have enough, else the oldest of all. */
static struct page_session *choose_slot(struct page_sessions *all, const char *owner)
{
    struct page_session *oldest = &all->at[0], *own = NULL;
    size_t n = 0;
    for (size_t i = 0; i < SESSIONS; i++) {
        struct page_session *s = &all->at[i];
        if (s->order < oldest->order)
            oldest = s;
        if (!s->owner || strcmp(s->owner, owner) != 0)
            continue;
        n++;
        if (!own || s->order < own->order)
            own = s;
    }
    return n >= OF_ONE ? own : oldest;
}

void page_session_offer(struct page_sessions *all, const struct identity *who, uint64_t now_ms,
                        char key[PAGE_SECRET])
{
    struct page_session *s = choose_slot(all, who->name);
    session_clear(s);
    make_secret(key, s->hash);
    s->owner = mem_strdup(who->name);
    s->token = who->token ? mem_strdup(who->token) : NULL;
    s->order = ++all->last;
    s->offered_ms = now_ms;
    s->who = (struct identity){ .name = s->owner,
                                .token = s->token,
                                .since_ms = who->since_ms,
                                .listed = who->listed,
                                .expires_ms = who->expires_ms };
}

/* Every slot is looked at, so that the time does not tell which one it is. */
static struct page_session *session_with(struct page_sessions *all, const char *secret,
                                         const char *host, uint64_t now_ms)
{
    unsigned char hash[32];
    struct page_session *found = NULL;
    hash_secret(hash, secret);
    for (size_t i = 0; i < SESSIONS; i++)
        if (sodium_memcmp(hash, all->at[i].hash, sizeof hash) == 0 && all->at[i].owner)
            found = &all->at[i];
    if (found && is_over(found, now_ms)) {
        session_clear(found);
        found = NULL;
    }
    return host ? found : NULL;
}

bool page_session_open(struct page_sessions *all, const char *key, const char *host,
                       uint64_t now_ms, struct page_secrets *out)
{
    struct page_session *s = session_with(all, key, host, now_ms);
    if (!s || s->opened_ms)
        return false;
    make_secret(out->cookie, s->hash);
    make_secret(out->script, s->script);
    s->host = mem_strdup(host);
    s->opened_ms = s->used_ms = now_ms;
    if (!s->who.expires_ms || s->who.expires_ms > now_ms + PAGE_LIFE_MS)
        s->who.expires_ms = now_ms + PAGE_LIFE_MS;
    return true;
}

const struct page_session *page_session_find(struct page_sessions *all, const char *cookie,
                                             const char *host, uint64_t now_ms)
{
    struct page_session *s = session_with(all, cookie, host, now_ms);
    if (!s || !s->opened_ms || strcmp(s->host, host) != 0)
        return NULL;
    s->used_ms = now_ms;
    return s;
}

bool page_session_scripted(const struct page_session *s, const char *secret)
{
    unsigned char hash[32];
    hash_secret(hash, secret ? secret : "");
    return secret && sodium_memcmp(hash, s->script, sizeof hash) == 0;
}
