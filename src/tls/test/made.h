/* A certificate that signs itself, made for a test: EC P-256, as the server makes its own. */
#ifndef TLS_TEST_MADE_H
#define TLS_TEST_MADE_H

#include "tls/client.h"

struct made {
    char chain[4096], key[4096]; /* PEM */
    uint8_t pin[TLS_PIN];
};
void make_certificate(struct made *);

#endif
