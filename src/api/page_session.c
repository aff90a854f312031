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

void page_sessions_destroy(struct page_sessions *all)
{
    for (size_t i = 0; all && i < SESSIONS; i++)
        session_clear(&all->at[i]);
    free(all);
}

static void make_secret(char out[PAGE_SECRET], unsigned char hash[32])
{
    unsigned char raw[32];
    randombytes_buf(raw, sizeof raw);
    sodium_bin2hex(out, PAGE_SECRET, raw, sizeof raw);
    sodium_memzero(raw, sizeof raw);
    crypto_hash_sha256(hash, (const unsigned char *)out, strlen(out));
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

void page_session_offer(struct page_sessions *all, const char *owner, const char *token,
                        char key[PAGE_SECRET])
{
    struct page_session *s = choose_slot(all, owner);
    session_clear(s);
    make_secret(key, s->hash);
    s->owner = mem_strdup(owner);
    s->token = token ? mem_strdup(token) : NULL;
    s->order = ++all->last;
    s->link = true;
}

/* Every slot is looked at, so that the time does not tell which one it is. */
static size_t find_secret(const struct page_sessions *all, const char *secret)
{
    unsigned char hash[32];
    size_t found = SESSIONS;
    crypto_hash_sha256(hash, (const unsigned char *)secret, strlen(secret));
    for (size_t i = 0; i < SESSIONS; i++)
        if (sodium_memcmp(hash, all->at[i].hash, sizeof hash) == 0 && all->at[i].owner)
            found = i;
    return found;
}

bool page_session_open(struct page_sessions *all, const char *key, const char *host,
                       char cookie[PAGE_SECRET])
{
    size_t at = find_secret(all, key);
    if (at == SESSIONS || !all->at[at].link || !host)
        return false;
    struct page_session *s = &all->at[at];
    make_secret(cookie, s->hash);
    s->host = mem_strdup(host);
    s->link = false;
    s->opened = true;
    return true;
}

const struct page_session *page_session_find(const struct page_sessions *all, const char *cookie,
                                             const char *host)
{
    size_t at = find_secret(all, cookie);
    const struct page_session *s = at < SESSIONS ? &all->at[at] : NULL;
    return s && s->opened && host && strcmp(s->host, host) == 0 ? s : NULL;
}
