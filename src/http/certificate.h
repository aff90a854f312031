/* A certificate for this machine by an authority of its own, in files: what a server shows when its
 * administrator gave it none. */
#ifndef HTTP_CERTIFICATE_H
#define HTTP_CERTIFICATE_H

#include "base/err.h"

struct certificate { /* PEM, malloc'ed */
    char *chain;     /* the server's, then its authority's */
    char *key;
    char *authority; /* what clients trust */
};
/* Reads tls-ca.pem, tls-ca.key, tls.pem and tls.key in dir; makes what is missing (keys mode 0600):
 * EC P-256, ten years. The server's own is made anew when it has expired or lacks a name or address
 * that this machine has now; the authority stays, so clients go on. host: an address more that it
 * listens on, or NULL. */
int certificate_open(const char *dir, const char *host, struct certificate *, struct err *err);
/* Those of the administrator. The authority is the chain itself. */
int certificate_read(const char *chain, const char *key, struct certificate *, struct err *err);
void certificate_fini(struct certificate *);

#endif
