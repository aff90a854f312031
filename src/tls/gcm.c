/* mbedTLS 2.28 multiplies block by block: 200 MB a second, which held up logs and code of machines;
 * nettle, which is under GnuTLS too, does several at once with the processor's instructions. Its
 * header lets a program bring the module of its own; a static program does so by defining all of
 * it before the library is searched. TLS seals whole records, so what works piece by piece is
 * refused, and so is every cipher but AES with 128 and 256 bits. */
#include "tls/gcm.h"

#include "base/mem.h"

#include <mbedtls/gcm.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/ssl_ciphersuites.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#define TAG 16u

struct sealer {
    const struct nettle_aead *how;
    alignas(16) unsigned char context[]; /* of how->context_size */
};

const int *gcm_suites(void)
{
    static const int suites[] = { MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                                  MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                                  MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                                  MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                                  MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                                  MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
                                  0 };
    return suites;
}

/* mbedTLS's struct has room for a pointer alone. */
static struct sealer *sealer_of(const mbedtls_gcm_context *ctx)
{
    return ctx->cipher_ctx.cipher_ctx;
}

void mbedtls_gcm_init(mbedtls_gcm_context *ctx)
{
    memset(ctx, 0, sizeof *ctx);
}

void mbedtls_gcm_free(mbedtls_gcm_context *ctx)
{
    struct sealer *sealer = ctx ? sealer_of(ctx) : NULL;
    if (!sealer)
        return;
    mbedtls_platform_zeroize(sealer->context, sealer->how->context_size);
    free(sealer);
    ctx->cipher_ctx.cipher_ctx = NULL;
}

int mbedtls_gcm_setkey(mbedtls_gcm_context *ctx, mbedtls_cipher_id_t cipher,
                       const unsigned char *key, unsigned int keybits)
{
    const struct nettle_aead *how = keybits == 128   ? &nettle_gcm_aes128
                                    : keybits == 256 ? &nettle_gcm_aes256
                                                     : NULL;
    if (!how || cipher != MBEDTLS_CIPHER_ID_AES)
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    mbedtls_gcm_free(ctx);
    struct sealer *sealer = mem_new(sizeof *sealer + how->context_size);
    sealer->how = how;
    how->set_encrypt_key(sealer->context, key);
    ctx->cipher_ctx.cipher_ctx = sealer;
    return 0;
}

/* false: not as TLS has them. */
static bool begin(struct sealer *sealer, const unsigned char *iv, size_t iv_len,
                  const unsigned char *add, size_t add_len)
{
    if (!sealer || iv_len != sealer->how->nonce_size)
        return false;
    sealer->how->set_nonce(sealer->context, iv);
    sealer->how->update(sealer->context, add_len, add);
    return true;
}

int mbedtls_gcm_crypt_and_tag(mbedtls_gcm_context *ctx, int mode, size_t length,
                              const unsigned char *iv, size_t iv_len, const unsigned char *add,
                              size_t add_len, const unsigned char *input, unsigned char *output,
                              size_t tag_len, unsigned char *tag)
{
    struct sealer *sealer = sealer_of(ctx);
    if (mode != MBEDTLS_GCM_ENCRYPT || tag_len > TAG || !begin(sealer, iv, iv_len, add, add_len))
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    sealer->how->encrypt(sealer->context, length, output, input);
    sealer->how->digest(sealer->context, tag_len, tag);
    return 0;
}

int mbedtls_gcm_auth_decrypt(mbedtls_gcm_context *ctx, size_t length, const unsigned char *iv,
                             size_t iv_len, const unsigned char *add, size_t add_len,
                             const unsigned char *tag, size_t tag_len, const unsigned char *input,
                             unsigned char *output)
{
    struct sealer *sealer = sealer_of(ctx);
    unsigned char own[TAG];
    if (tag_len != TAG || !begin(sealer, iv, iv_len, add, add_len))
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    sealer->how->decrypt(sealer->context, length, output, input);
    sealer->how->digest(sealer->context, sizeof own, own);
    if (memeql_sec(own, tag, sizeof own))
        return 0;
    mbedtls_platform_zeroize(output, length);
    return MBEDTLS_ERR_GCM_AUTH_FAILED;
}

/* ---- piece by piece: nobody does ---- */

int mbedtls_gcm_starts(mbedtls_gcm_context *ctx, int mode, const unsigned char *iv, size_t iv_len,
                       const unsigned char *add, size_t add_len)
{
    (void)ctx, (void)mode, (void)iv, (void)iv_len, (void)add, (void)add_len;
    return MBEDTLS_ERR_GCM_BAD_INPUT;
}

int mbedtls_gcm_update(mbedtls_gcm_context *ctx, size_t length, const unsigned char *input,
                       unsigned char *output)
{
    (void)ctx, (void)length, (void)input, (void)output;
    return MBEDTLS_ERR_GCM_BAD_INPUT;
}

int mbedtls_gcm_finish(mbedtls_gcm_context *ctx, unsigned char *tag, size_t tag_len)
{
    (void)ctx, (void)tag, (void)tag_len;
    return MBEDTLS_ERR_GCM_BAD_INPUT;
}
