/* Quantities as Kubernetes writes them: "500m", "8Gi", "1e3", "0.5", "100M". */
#ifndef TEXT_QUANTITY_H
#define TEXT_QUANTITY_H

#include <stdint.h>

enum quantity {
    QUANTITY_OK,
    QUANTITY_NONE,     /* no quantity: "4GiB", "4 Gi", "8gi" */
    QUANTITY_NEGATIVE, /* "-1" */
    QUANTITY_LARGE     /* more than 2^63 - 1 units */
};

/* s in units of 1/scale (scale 1: bytes or pieces, 1000: thousandths), rounded up as Kubernetes
 * does. The grammar is Kubernetes': digits with a point, then one of n u m k M G T P E, Ki .. Ei,
 * or a decimal exponent. The whole token or nothing; *out is written only when it is QUANTITY_OK.
 */
enum quantity quantity_scan(const char *s, uint32_t scale, uint64_t *out);

#endif
