/* AES-GCM of the client against GnuTLS's: the same bytes for the same input, back again, and
 * nothing of what was changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tls/gcm.h"

#include "base/mem.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <mbedtls/cipher.h>
#include <mbedtls/gcm.h>
#include <string.h>

enum { LONGEST = 16384, TAG = 16, ADD = 13, NONCE = 12 };

static const unsigned bits[] = { 128, 256 };
static const size_t lengths[] = { 0, 1, 15, 16, 17, 63, 64, 65, 4095, LONGEST };

struct scene {
    mbedtls_cipher_context_t ours;
    gnutls_aead_cipher_hd_t theirs;
    unsigned char nonce[NONCE], add[ADD], text[LONGEST], sealed[LONGEST + TAG],
        again[LONGEST + TAG];
};

static void fill(unsigned char *at, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        at[i] = (unsigned char)(seed = seed * 1103515245u + 12345u, seed >> 16);
}

static struct scene *begin(unsigned key_bits)
{
    struct scene *scene = mem_new(sizeof *scene);
    unsigned char key[32];
    fill(key, sizeof key, key_bits);
    fill(scene->nonce, NONCE, 2);
    fill(scene->add, ADD, 3);
    fill(scene->text, LONGEST, 4);
    mbedtls_cipher_init(&scene->ours);
    assert_int_equal(mbedtls_cipher_setup(
                         &scene->ours, mbedtls_cipher_info_from_values(
                                           MBEDTLS_CIPHER_ID_AES, (int)key_bits, MBEDTLS_MODE_GCM)),
                     0);
    assert_int_equal(mbedtls_cipher_setkey(&scene->ours, key, (int)key_bits, MBEDTLS_ENCRYPT), 0);
    const gnutls_datum_t datum = { key, key_bits / 8 };
    assert_int_equal(gnutls_aead_cipher_init(&scene->theirs,
                                             key_bits == 128 ? GNUTLS_CIPHER_AES_128_GCM
                                                             : GNUTLS_CIPHER_AES_256_GCM,
                                             &datum),
                     0);
    return scene;
}

static void end(struct scene *scene)
{
    gnutls_aead_cipher_deinit(scene->theirs);
    mbedtls_cipher_free(&scene->ours);
    free(scene);
}

static int open_sealed(struct scene *scene, size_t len, size_t *n)
{
    return mbedtls_cipher_auth_decrypt_ext(&scene->ours, scene->nonce, NONCE, scene->add, ADD,
                                           scene->sealed, len + TAG, scene->again, LONGEST, n, TAG);
}

static void seals_as_gnutls_does(void **state)
{
    (void)state;
    for (size_t b = 0; b < 2; b++) {
        struct scene *scene = begin(bits[b]);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            size_t n, m = sizeof scene->again, len = lengths[i];
            assert_int_equal(mbedtls_cipher_auth_encrypt_ext(
                                 &scene->ours, scene->nonce, NONCE, scene->add, ADD, scene->text,
                                 len, scene->sealed, sizeof scene->sealed, &n, TAG),
                             0);
            assert_int_equal(gnutls_aead_cipher_encrypt(scene->theirs, scene->nonce, NONCE,
                                                        scene->add, ADD, TAG, scene->text, len,
                                                        scene->again, &m),
                             0);
            assert_int_equal(n, len + TAG);
            assert_int_equal(m, n);
            assert_memory_equal(scene->sealed, scene->again, n);
            assert_int_equal(open_sealed(scene, len, &n), 0);
            assert_int_equal(n, len);
            assert_memory_equal(scene->again, scene->text, len);
        }
        end(scene);
    }
}

static void nothing_is_given_of_what_was_changed(void **state)
{
    (void)state;
    static const size_t places[] = { 0, 99, 100, 100 + TAG - 1 }; /* in the text, in the tag */
    for (size_t b = 0; b < 2; b++) {
        struct scene *scene = begin(bits[b]);
        size_t n;
        assert_int_equal(mbedtls_cipher_auth_encrypt_ext(
                             &scene->ours, scene->nonce, NONCE, scene->add, ADD, scene->text, 100,
                             scene->sealed, sizeof scene->sealed, &n, TAG),
                         0);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            static const unsigned char nothing[100];
            scene->sealed[places[i]] ^= 1;
            memset(scene->again, 1, sizeof scene->again);
            assert_int_equal(open_sealed(scene, 100, &n), MBEDTLS_ERR_CIPHER_AUTH_FAILED);
            assert_memory_equal(scene->again, nothing, sizeof nothing);
            scene->sealed[places[i]] ^= 1;
        }
        scene->add[0] ^= 1;
        assert_int_equal(open_sealed(scene, 100, &n), MBEDTLS_ERR_CIPHER_AUTH_FAILED);
        scene->add[0] ^= 1;
        assert_int_equal(open_sealed(scene, 100, &n), 0);
        end(scene);
    }
}

/* Also that these are the functions, and not the library's. */
static void what_tls_does_not_do_is_refused(void **state)
{
    (void)state;
    mbedtls_gcm_context context;
    unsigned char key[32] = { 1 }, tag[TAG];
    assert_int_not_equal(gcm_suites()[0], 0);
    mbedtls_gcm_init(&context);
    assert_int_equal(mbedtls_gcm_setkey(&context, MBEDTLS_CIPHER_ID_CAMELLIA, key, 128),
                     MBEDTLS_ERR_GCM_BAD_INPUT);
    assert_int_equal(mbedtls_gcm_setkey(&context, MBEDTLS_CIPHER_ID_AES, key, 192),
                     MBEDTLS_ERR_GCM_BAD_INPUT);
    assert_int_equal(mbedtls_gcm_crypt_and_tag(&context, MBEDTLS_GCM_ENCRYPT, 0, key, NONCE, key, 0,
                                               key, key, TAG, tag),
                     MBEDTLS_ERR_GCM_BAD_INPUT); /* it has no key */
    assert_int_equal(mbedtls_gcm_setkey(&context, MBEDTLS_CIPHER_ID_AES, key, 128), 0);
    assert_int_equal(mbedtls_gcm_crypt_and_tag(&context, MBEDTLS_GCM_ENCRYPT, 0, key, NONCE - 1,
                                               key, 0, key, key, TAG, tag),
                     MBEDTLS_ERR_GCM_BAD_INPUT);
    assert_int_equal(mbedtls_gcm_starts(&context, MBEDTLS_GCM_ENCRYPT, key, NONCE, key, 0),
                     MBEDTLS_ERR_GCM_BAD_INPUT);
    assert_int_equal(mbedtls_gcm_update(&context, 1, key, key), MBEDTLS_ERR_GCM_BAD_INPUT);
    assert_int_equal(mbedtls_gcm_finish(&context, tag, TAG), MBEDTLS_ERR_GCM_BAD_INPUT);
    mbedtls_gcm_free(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seals_as_gnutls_does),
        cmocka_unit_test(nothing_is_given_of_what_was_changed),
        cmocka_unit_test(what_tls_does_not_do_is_refused),
    };
    return cmocka_run_group_tests_name("gcm", tests, NULL, NULL);
}
