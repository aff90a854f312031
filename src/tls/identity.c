/* EC P-256 by GnuTLS, signed by itself, without an end: who pins it asks for no date. mbedTLS reads
 * no certificate with an empty subject. The key of session tickets is made from the private key, so
 * a server that starts again resumes what the one before it began. */
#include "tls/identity.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <string.h>
#include <unistd.h>

#define PEM_MAX  65536u
#define TICKETS  "muster: session tickets of agents, 1"
#define PIN_SIZE 32

static int failed(struct err *err, int rc, const char *doing)
{
    return err_set(err, ERR_SYSTEM, "%s: %s", doing, gnutls_strerror(rc));
}

static int sign(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
    unsigned char serial[16];
    int rc = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] &= 0x7f; /* not negative */
    if (rc >= 0)
        rc = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_version(crt, 3);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_dn(crt, "CN=muster agents", NULL);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_key(crt, key);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_activation_time(crt, 0);
    if (rc >= 0)
        rc = gnutls_x509_crt_set_expiration_time(crt,
                                                 (time_t)GNUTLS_X509_NO_WELL_DEFINED_EXPIRATION);
    if (rc >= 0)
        rc = gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
    return rc;
}

static int write_pem(const char *path, gnutls_datum_t *pem, struct err *err)
{
    int rc = file_replace(path, pem->data, pem->size, 0600, err);
    gnutls_memset(pem->data, 0, pem->size);
    gnutls_free(pem->data);
    return rc;
}

/* The key first: a certificate without it is told apart from nothing at all. */
static int make(const char *crt_path, const char *key_path, struct err *err)
{
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
    gnutls_datum_t chain = { .data = NULL }, secret = { .data = NULL };
    if (gnutls_x509_crt_init(&crt) < 0 || gnutls_x509_privkey_init(&key) < 0)
        BUG("GnuTLS does not start");
    int rc = sign(crt, key);
    if (rc >= 0)
        rc = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &chain);
    if (rc >= 0)
        rc = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &secret);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
    if (rc < 0) {
        gnutls_free(chain.data);
        return failed(err, rc, "making a certificate for agents");
    }
    rc = write_pem(key_path, &secret, err);
    if (rc < 0) {
        gnutls_free(chain.data);
        return rc;
    }
    return write_pem(crt_path, &chain, err);
}

static int read_pin(struct tls_identity *identity, struct err *err)
{
    gnutls_datum_t pem = { (unsigned char *)(uintptr_t)identity->config.chain,
                           (unsigned)strlen(identity->config.chain) };
    gnutls_x509_crt_t crt;
    unsigned char sum[PIN_SIZE];
    size_t size = sizeof sum;
    if (gnutls_x509_crt_init(&crt) < 0)
        BUG("GnuTLS does not start");
    int rc = gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM);
    if (rc >= 0)
        rc = gnutls_x509_crt_get_fingerprint(crt, GNUTLS_DIG_SHA256, sum, &size);
    gnutls_x509_crt_deinit(crt);
    if (rc < 0)
        return failed(err, rc, TLS_IDENTITY_CERTIFICATE);
    for (size_t i = 0; i < sizeof sum; i++) {
        identity->pin[2 * i] = "0123456789abcdef"[sum[i] >> 4];
        identity->pin[2 * i + 1] = "0123456789abcdef"[sum[i] & 15];
    }
    return 0;
}

static int read_both(const char *crt_path, const char *key_path, struct tls_identity *identity,
                     struct err *err)
{
    char *chain = NULL, *key = NULL;
    size_t len;
    if (file_read(crt_path, PEM_MAX, &chain, &len, err) < 0)
        return -1;
    identity->config.chain = chain;
    if (file_read(key_path, PEM_MAX, &key, &len, err) < 0)
        return -1;
    identity->config.key = key;
    if (read_pin(identity, err) < 0)
        return -1;
    int rc = gnutls_hmac_fast(GNUTLS_MAC_SHA512, key, len, TICKETS, sizeof TICKETS - 1,
                              identity->config.ticket_key);
    return rc < 0 ? failed(err, rc, "making the key of session tickets") : 0;
}

int tls_identity_open(const char *dir, struct tls_identity *out, struct err *err)
{
    AUTO_FREE char *crt_path = file_join(dir, TLS_IDENTITY_CERTIFICATE);
    AUTO_FREE char *key_path = file_join(dir, TLS_IDENTITY_KEY);
    struct tls_identity identity = { .pin = "" };
    bool crt = access(crt_path, F_OK) == 0, key = access(key_path, F_OK) == 0;
    if (crt && !key) {
        err_set(err, ERR_CANNOT, "%s is there without %s", crt_path, TLS_IDENTITY_KEY);
        return err_hint(err, "put the key back; or remove the certificate: then agents of other "
                             "machines that run do not find this server any more");
    }
    if (!crt && make(crt_path, key_path, err) < 0)
        return -1;
    if (read_both(crt_path, key_path, &identity, err) < 0) {
        tls_identity_fini(&identity);
        return -1;
    }
    *out = identity;
    return 0;
}

void tls_identity_fini(struct tls_identity *identity)
{
    char *key = (char *)(uintptr_t)identity->config.key;
    if (key)
        gnutls_memset(key, 0, strlen(key));
    free(key);
    free((char *)(uintptr_t)identity->config.chain);
    gnutls_memset(&identity->config, 0, sizeof identity->config);
}
