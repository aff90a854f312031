/* Who the server is to agents on other machines: a certificate and key of its own in the state
 * directory, made once and kept. Agents know the certificate by its SHA-256, so it is neither that
 * of the HTTP port, which changes with the machine's names and in the end expires, nor one of an
 * administrator, which is renewed: what runs goes on to find its server. */
#ifndef TLS_IDENTITY_H
#define TLS_IDENTITY_H

#include "base/err.h"
#include "tls/server.h"

enum { TLS_PIN_HEX = 65 };

#define TLS_IDENTITY_CERTIFICATE "agents.pem"
#define TLS_IDENTITY_KEY         "agents.key"

struct tls_identity {
    struct tls_server_config config; /* PEM texts malloc'ed; the ticket key is made from the key */
    char pin[TLS_PIN_HEX];           /* SHA-256 of the certificate's DER form, hex */
};
/* Reads the two files of dir, or makes them where both are missing (the key with mode 0600). */
int tls_identity_open(const char *dir, struct tls_identity *, struct err *err);
void tls_identity_fini(struct tls_identity *);

#endif
