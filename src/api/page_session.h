/* Who looks at the page: one-time links and the sessions they open, each of one user, good at the
 * address where its link was opened, and for a time. A session has two secrets: the cookie, which a
 * browser sends to every port of a host, also to another's server, and the page's own, which only
 * scripts of that address can read and must send. They are kept hashed; nothing outlives the
 * server. */
#ifndef API_PAGE_SESSION_H
#define API_PAGE_SESSION_H

#include "ctl/account.h"

#define PAGE_SECRET 65 /* 64 hexadecimal digits and NUL */

#define PAGE_LINK_MS 3600000ull            /* a link that nobody opened */
#define PAGE_IDLE_MS (12ull * 3600000)     /* a session that nothing was asked with */
#define PAGE_LIFE_MS (7ull * 24 * 3600000) /* any session */

struct page_session {
    char *owner, *token; /* token: id of the one the link was asked with, NULL: none */
    char *host;          /* the Host of the browser, from the opening on */
    unsigned char hash[32], script[32]; /* of key or cookie; of the page's own secret */
    uint64_t order;
    uint64_t offered_ms, opened_ms, used_ms; /* 0: not yet */
    struct identity who; /* as it was when the link was asked for; texts are those above */
};
struct page_secrets {
    char cookie[PAGE_SECRET], script[PAGE_SECRET];
};
struct page_sessions;

struct page_sessions *page_sessions_create(void);
void page_sessions_destroy(struct page_sessions *);
/* A new link's key. Of one user and in all only so many are kept, the oldest go. */
void page_session_offer(struct page_sessions *, const struct identity *, uint64_t now_ms,
                        char key[PAGE_SECRET]);
/* Trades the key for a session; false: it was used, is too old, or was never given out. */
bool page_session_open(struct page_sessions *, const char *key, const char *host, uint64_t now_ms,
                       struct page_secrets *);
/* Whose cookie it is; NULL: nobody's (any more), at this host. It counts as used. */
const struct page_session *page_session_find(struct page_sessions *, const char *cookie,
                                             const char *host, uint64_t now_ms);
/* Does it come from a script of the page? secret NULL: it does not. */
bool page_session_scripted(const struct page_session *, const char *secret);

#endif
