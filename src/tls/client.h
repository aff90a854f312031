/* The client's end of TLS, as a transport, for a small static program: mbedTLS, TLS 1.2. It trusts
 * one certificate, known by its SHA-256, and no authority. */
#ifndef TLS_CLIENT_H
#define TLS_CLIENT_H

#include "conn/transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLS_PIN = 32, TLS_SESSION_MAX = 4096 };

/* A server that is connected to again and again: whom to expect there, and the session to resume.
 */
struct tls_client;
/* pin: SHA-256 of the DER form of the server's certificate. */
struct tls_client *tls_client_create(const uint8_t pin[TLS_PIN]);
void tls_client_destroy(struct tls_client *); /* NULL-safe */
/* The session that the next connection resumes, for another process that connects to the same
 * server; as secret as what is sent over it. Bytes written; 0: there is none, or it is longer. */
size_t tls_client_save(const struct tls_client *, void *at, size_t size);
/* Takes such a session over; false: it is none, and the first connection is made without. */
bool tls_client_load(struct tls_client *, const void *at, size_t len);

/* Takes a connected socket over. client: a struct tls_client (conn_terms.over_arg), which lives as
 * long as it. Nothing is sent to a server with another certificate: start is BROKEN. */
struct transport *tls_client_transport(void *client, int fd);

#endif
