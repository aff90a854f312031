/* SHA-256 (FIPS 180-4), for muster-node, which has no library for it. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_LEN 32u
#define SHA256_HEX 65u /* and the end */

struct sha256 {
    uint32_t state[8];
    uint64_t n; /* bytes so far */
    unsigned char block[64];
};
void sha256_init(struct sha256 *);
void sha256_add(struct sha256 *, const void *data, size_t n);
void sha256_end(struct sha256 *, char hex[SHA256_HEX]);
/* Of all that fd gives from its begin. 0, or -1 and errno. */
int sha256_of(int fd, char hex[SHA256_HEX]);

#endif
