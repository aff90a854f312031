/* Who looks at the page: one-time links and the cookies they give, each of one user and good at the
 * address where its link was opened. Secrets are kept hashed; nothing outlives the server. */
#ifndef API_PAGE_SESSION_H
#define API_PAGE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_SECRET 65 /* 64 hexadecimal digits and NUL */

struct page_session {
    char *owner, *token; /* token: id of the one the link was asked with, NULL: none */
    char *host;          /* the Host of the browser, from the opening on */
    unsigned char hash[32];
    uint64_t order;
    bool link, opened;
};
struct page_sessions;

struct page_sessions *page_sessions_create(void);
void page_sessions_destroy(struct page_sessions *);
/* A new link's key. Of one user and in all only so many are kept, the oldest go. */
void page_session_offer(struct page_sessions *, const char *owner, const char *token,
                        char key[PAGE_SECRET]);
/* Trades the key for a cookie; false: it was used, or never given out. */
bool page_session_open(struct page_sessions *, const char *key, const char *host,
                       char cookie[PAGE_SECRET]);
/* Whose cookie it is; NULL: nobody's, at this host. */
const struct page_session *page_session_find(const struct page_sessions *, const char *cookie,
                                             const char *host);

#endif
