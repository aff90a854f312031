/* Which signed requests were seen lately, so that none is taken twice, in bounded memory and in two
 * small files, so that a server that was started anew takes none twice either. */
#ifndef API_DLC_NONCES_H
#define API_DLC_NONCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NONCE_WINDOW_MS (15ull * 60 * 1000) /* how far a date may be off, both ways */

struct nonces;
struct nonces_place {
    const char *dir;  /* of the files */
    const char *boot; /* of the machine: what was written in another may not all be there */
    uint64_t now_ms;
};
/* Remembers at most 2 * max of them; beyond, the window for old dates gets shorter instead. place
 * NULL: in memory only. */
struct nonces *nonces_create(size_t max, const struct nonces_place *place);
void nonces_destroy(struct nonces *);
/* Is a request of that time still to be told from a repeated one? */
bool nonces_timely(const struct nonces *, uint64_t time_ms, uint64_t now_ms);
/* Remembers it (a request whose signature is right); false: it was there already. */
bool nonces_add(struct nonces *, const char *key_id, const char *nonce, uint64_t time_ms,
                uint64_t now_ms);

#endif
