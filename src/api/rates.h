/* How much each of many may take in a time: by name, in bounded memory. Pure, the caller says when
 * it is. */
#ifndef API_RATES_H
#define API_RATES_H

#include <stddef.h>
#include <stdint.h>

struct rate {
    uint64_t n, ms; /* n of something in ms milliseconds; n 0: as much as one likes */
    uint64_t burst; /* so many at once after a rest */
};
struct rates;

struct rates *rates_create(struct rate);
void rates_destroy(struct rates *); /* NULL-safe */
/* Milliseconds until that one may take something; 0: now. */
uint64_t rates_wait(const struct rates *, const char *name, uint64_t now_ms);
/* It has taken so many, also more than it might: then it waits the longer, a minute at most. */
void rates_take(struct rates *, const char *name, uint64_t now_ms, uint64_t n);
size_t rates_count(const struct rates *);

#define RATES_MAX 4096u /* names; then the one that took least, or longest ago, is forgotten */

#endif
