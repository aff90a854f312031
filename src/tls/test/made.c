/* GnuTLS does all of it; a step that fails is a bug of the test. mbedTLS reads no certificate whose
 * subject is empty. */
#include "tls/test/made.h"

#include "base/err.h"

#include <gnutls/x509.h>
#include <time.h>

static void must(int rc)
{
    if (rc < 0)
        BUG("a certificate: %s", gnutls_strerror(rc));
}

void make_certificate(struct made *made)
{
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
    size_t chain = sizeof made->chain, private = sizeof made->key, pin = sizeof made->pin;
    must(gnutls_x509_crt_init(&crt));
    must(gnutls_x509_privkey_init(&key));
    must(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                      GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    must(gnutls_x509_crt_set_version(crt, 3));
    must(gnutls_x509_crt_set_serial(crt, "1", 1));
    must(gnutls_x509_crt_set_dn(crt, "CN=server", NULL));
    must(gnutls_x509_crt_set_key(crt, key));
    must(gnutls_x509_crt_set_activation_time(crt, 0));
    must(gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 86400));
    must(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0));
    must(gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_PEM, made->chain, &chain));
    must(gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_PEM, made->key, &private));
    must(gnutls_x509_crt_get_fingerprint(crt, GNUTLS_DIG_SHA256, made->pin, &pin));
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}
