/* Certificates by GnuTLS. What Go's verifier wants (kubectl): an authority with CA:TRUE and the
 * right to sign, a server certificate with the name or address in subjectAltName and the purpose
 * serverAuth, beginning before now. */
#include "http/certificate.h"

#include "base/file.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#define PEM_MAX   (256u << 10)
#define YEARS_S   (10ll * 365 * 86400)
#define BEFORE_S  86400ll /* clocks differ */
#define NAMES_MAX 64

struct names { /* of this machine, as they stand in certificates */
    char *at[NAMES_MAX];
    size_t n;
};

struct certificate_pair { /* a certificate and its key */
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
};

static int failed(struct err *err, int rc, const char *doing)
{
    return err_set(err, ERR_SYSTEM, "%s: %s", doing, gnutls_strerror(rc));
}

/* ---- names ---- */

static void add_name(struct names *names, const char *text)
{
    if (!*text || strlen(text) > 200 || names->n == NAMES_MAX)
        return;
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], text) == 0)
            return;
    names->at[names->n++] = mem_strdup(text);
}

static void add_addresses(struct names *names)
{
    struct ifaddrs *all = NULL;
    char text[INET6_ADDRSTRLEN];
    if (getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *one = all; one; one = one->ifa_next) {
        const struct sockaddr *addr = one->ifa_addr;
        const void *bytes = NULL;
        if (addr && addr->sa_family == AF_INET)
            bytes = &((const struct sockaddr_in *)(const void *)addr)->sin_addr;
        if (bytes && inet_ntop(AF_INET, bytes, text, sizeof text))
            add_name(names, text);
    }
    freeifaddrs(all);
}

static void find_names(struct names *names, const char *host)
{
    char text[256] = "";
    add_name(names, "localhost");
    add_name(names, "127.0.0.1");
    add_name(names, "::1");
    if (host && strcmp(host, "0.0.0.0") != 0)
        add_name(names, host);
    if (gethostname(text, sizeof text - 1) == 0)
        add_name(names, text);
    add_addresses(names);
}

static void names_fini(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
}

/* ---- making ---- */

static void pair_fini(struct certificate_pair *p)
{
    if (p->crt)
        gnutls_x509_crt_deinit(p->crt);
    if (p->key)
        gnutls_x509_privkey_deinit(p->key);
    *p = (struct certificate_pair){ 0 };
}

static int begin(struct certificate_pair *p, const char *common_name)
{
    unsigned char serial[16];
    time_t now = time(NULL);
    int rc = gnutls_x509_crt_init(&p->crt);
    if (rc == 0)
        rc = gnutls_x509_privkey_init(&p->key);
    if (rc == 0)
        rc = gnutls_x509_privkey_generate(p->key, GNUTLS_PK_ECDSA,
                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    randombytes_buf(serial, sizeof serial);
    serial[0] &= 0x7f; /* positive */
    serial[0] |= 0x40;
    if (rc == 0)
        rc = gnutls_x509_crt_set_version(p->crt, 3);
    if (rc == 0)
        rc = gnutls_x509_crt_set_serial(p->crt, serial, sizeof serial);
    if (rc == 0)
        rc = gnutls_x509_crt_set_activation_time(p->crt, now - BEFORE_S);
    if (rc == 0)
        rc = gnutls_x509_crt_set_expiration_time(p->crt, now + YEARS_S);
    if (rc == 0)
        rc = gnutls_x509_crt_set_dn_by_oid(p->crt, GNUTLS_OID_X520_COMMON_NAME, 0, common_name,
                                           (unsigned)strlen(common_name));
    if (rc == 0)
        rc = gnutls_x509_crt_set_key(p->crt, p->key);
    return rc;
}

static int set_key_id(gnutls_x509_crt_t crt, gnutls_x509_crt_t authority)
{
    unsigned char id[64];
    size_t len = sizeof id;
    int rc = gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA1, id, &len);
    if (rc == 0)
        rc = gnutls_x509_crt_set_subject_key_id(crt, id, len);
    len = sizeof id;
    if (rc == 0)
        rc = gnutls_x509_crt_get_key_id(authority, GNUTLS_KEYID_USE_SHA1, id, &len);
    return rc ? rc : gnutls_x509_crt_set_authority_key_id(crt, id, len);
}

static int sign(struct certificate_pair *p, const struct certificate_pair *by)
{
    int rc = set_key_id(p->crt, by->crt);
    return rc ? rc : gnutls_x509_crt_sign2(p->crt, by->crt, by->key, GNUTLS_DIG_SHA256, 0);
}

static int make_authority(struct certificate_pair *p)
{
    int rc = begin(p, "muster authority of this server");
    if (rc == 0)
        rc = gnutls_x509_crt_set_basic_constraints(p->crt, 1, 0);
    if (rc == 0)
        rc = gnutls_x509_crt_set_key_usage(p->crt, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
    return rc ? rc : sign(p, p);
}

static int set_name(gnutls_x509_crt_t crt, const char *name)
{
    unsigned char address[16];
    if (inet_pton(AF_INET, name, address) == 1)
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, 4,
                                                    GNUTLS_FSAN_APPEND);
    if (inet_pton(AF_INET6, name, address) == 1)
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, 16,
                                                    GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name,
                                                (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

static int make_server(struct certificate_pair *p, const struct certificate_pair *by,
                       const struct names *names)
{
    int rc = begin(p, "muster");
    if (rc == 0)
        rc = gnutls_x509_crt_set_basic_constraints(p->crt, 0, -1);
    if (rc == 0)
        rc = gnutls_x509_crt_set_key_usage(p->crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (rc == 0)
        rc = gnutls_x509_crt_set_key_purpose_oid(p->crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
    for (size_t i = 0; rc == 0 && i < names->n; i++)
        rc = set_name(p->crt, names->at[i]);
    return rc ? rc : sign(p, by);
}

/* ---- files ---- */

static int write_pem(const char *dir, const char *name, gnutls_datum_t *pem, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, name);
    size_t len = strlen(name);
    bool key = len > 4 && strcmp(name + len - 4, ".key") == 0;
    int rc = file_replace(path, pem->data, pem->size, key ? 0600 : 0644, err);
    gnutls_memset(pem->data, 0, pem->size);
    gnutls_free(pem->data);
    return rc;
}

static int write_pair(const char *dir, const char *crt_name, const char *key_name,
                      const struct certificate_pair *p, struct err *err)
{
    gnutls_datum_t pem;
    int rc = gnutls_x509_privkey_export2_pkcs8(p->key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
                                               &pem);
    if (rc)
        return failed(err, rc, "the certificate's key");
    if (write_pem(dir, key_name, &pem, err) < 0)
        return -1;
    if ((rc = gnutls_x509_crt_export2(p->crt, GNUTLS_X509_FMT_PEM, &pem)) != 0)
        return failed(err, rc, "the certificate");
    return write_pem(dir, crt_name, &pem, err);
}

/* 0, or -1: one of the files is missing or no PEM. */
static int read_pair(const char *dir, const char *crt_name, const char *key_name,
                     struct certificate_pair *p)
{
    AUTO_FREE char *crt_path = file_join(dir, crt_name), *key_path = file_join(dir, key_name);
    AUTO_FREE char *crt = NULL, *key = NULL;
    size_t crt_len, key_len;
    *p = (struct certificate_pair){ 0 };
    if (file_read(crt_path, PEM_MAX, &crt, &crt_len, NULL) < 0 ||
        file_read(key_path, PEM_MAX, &key, &key_len, NULL) < 0)
        return -1;
    gnutls_datum_t crt_pem = { (unsigned char *)crt, (unsigned)crt_len };
    gnutls_datum_t key_pem = { (unsigned char *)key, (unsigned)key_len };
    if (gnutls_x509_crt_init(&p->crt) == 0 && gnutls_x509_privkey_init(&p->key) == 0 &&
        gnutls_x509_crt_import(p->crt, &crt_pem, GNUTLS_X509_FMT_PEM) == 0 &&
        gnutls_x509_privkey_import(p->key, &key_pem, GNUTLS_X509_FMT_PEM) == 0)
        return 0;
    pair_fini(p);
    return -1;
}

static bool lasts(gnutls_x509_crt_t crt)
{
    return gnutls_x509_crt_get_expiration_time(crt) > time(NULL) + 30 * BEFORE_S;
}

static bool signed_by(gnutls_x509_crt_t crt, gnutls_x509_crt_t authority)
{
    return gnutls_x509_crt_check_issuer(crt, authority) == 1;
}

static bool covers(gnutls_x509_crt_t crt, const struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        if (!gnutls_x509_crt_check_hostname(crt, names->at[i]))
            return false;
    return true;
}

static int open_authority(const char *dir, struct certificate_pair *p, struct err *err)
{
    if (read_pair(dir, "tls-ca.pem", "tls-ca.key", p) == 0 && lasts(p->crt))
        return 0;
    pair_fini(p);
    int rc = make_authority(p);
    return rc ? failed(err, rc, "making the authority of certificates")
              : write_pair(dir, "tls-ca.pem", "tls-ca.key", p, err);
}

static int open_server(const char *dir, const struct certificate_pair *by,
                       const struct names *names, struct err *err)
{
    struct certificate_pair p;
    bool good = read_pair(dir, "tls.pem", "tls.key", &p) == 0 && lasts(p.crt) &&
                signed_by(p.crt, by->crt) && covers(p.crt, names);
    int rc = 0;
    if (!good) {
        pair_fini(&p);
        int made = make_server(&p, by, names);
        rc = made ? failed(err, made, "making the certificate")
                  : write_pair(dir, "tls.pem", "tls.key", &p, err);
    }
    pair_fini(&p);
    return rc;
}

static int read_text(const char *dir, const char *name, char **text, struct err *err)
{
    AUTO_FREE char *path = file_join(dir, name);
    size_t len;
    return file_read(path, PEM_MAX, text, &len, err);
}

int certificate_open(const char *dir, const char *host, struct certificate *c, struct err *err)
{
    struct names names = { .n = 0 };
    struct certificate_pair authority = { 0 };
    AUTO_FREE char *own = NULL;
    *c = (struct certificate){ 0 };
    find_names(&names, host);
    int rc = open_authority(dir, &authority, err);
    if (rc == 0)
        rc = open_server(dir, &authority, &names, err);
    if (rc == 0)
        rc = read_text(dir, "tls.pem", &own, err);
    if (rc == 0)
        rc = read_text(dir, "tls-ca.pem", &c->authority, err);
    if (rc == 0)
        rc = read_text(dir, "tls.key", &c->key, err);
    if (rc == 0)
        c->chain = mem_printf("%s%s", own, c->authority);
    else
        certificate_fini(c);
    pair_fini(&authority);
    names_fini(&names);
    return rc;
}

int certificate_read(const char *chain, const char *key, struct certificate *c, struct err *err)
{
    size_t len;
    *c = (struct certificate){ 0 };
    if (file_read(chain, PEM_MAX, &c->chain, &len, err) < 0 ||
        file_read(key, PEM_MAX, &c->key, &len, err) < 0) {
        certificate_fini(c);
        return -1;
    }
    c->authority = mem_strdup(c->chain);
    return 0;
}

void certificate_fini(struct certificate *c)
{
    if (c->key)
        sodium_memzero(c->key, strlen(c->key));
    free(c->chain);
    free(c->key);
    free(c->authority);
    *c = (struct certificate){ 0 };
}
