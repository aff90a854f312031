/* AES-GCM for mbedTLS by nettle: the functions of mbedtls/gcm.h are defined in gcm.c, and a program
 * that asks for the suites has them instead of the library's own, which are ten times as slow. */
#ifndef TLS_GCM_H
#define TLS_GCM_H

/* What may be agreed on with them, for mbedtls_ssl_conf_ciphersuites(): as the server prefers. */
const int *gcm_suites(void);

#endif
