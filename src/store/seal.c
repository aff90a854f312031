/* The key file, and texts in and out of the box: base64 of nonce and box behind the mark. A text
 * without the mark comes back as it was kept; one that cannot be opened comes back as NULL. */
#include "store/seal.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#define EXTRA ((size_t)(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES))
#define FORM  sodium_base64_VARIANT_ORIGINAL

_Static_assert(SEAL_KEY_LEN == crypto_secretbox_KEYBYTES, "the key of a secretbox");

struct seal {
    unsigned char key[SEAL_KEY_LEN];
};

/* ---- the key ---- */

static int make_key(const char *path, bool needed, unsigned char key[SEAL_KEY_LEN], struct err *err)
{
    if (needed) {
        err_set(err, ERR_CANNOT, "the records are sealed, and their key %s is not there", path);
        return err_hint(err, "put it back; or say where it is: --seal-key FILE (seal_key)");
    }
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *dir = slash && slash > path ? mem_strndup(path, (size_t)(slash - path)) : NULL;
    if (dir && file_mkdirs(dir, 0700, err) < 0)
        return -1;
    randombytes_buf(key, SEAL_KEY_LEN);
    return file_replace(path, key, SEAL_KEY_LEN, 0600, err);
}

int seal_read_key(const char *path, bool needed, unsigned char key[SEAL_KEY_LEN], struct err *err)
{
    AUTO_FREE char *data = NULL;
    struct stat st;
    size_t len = 0;
    if (sodium_init() < 0)
        return err_set(err, ERR_SYSTEM, "libsodium does not start");
    if (stat(path, &st) != 0)
        return errno == ENOENT ? make_key(path, needed, key, err) : err_sys(err, "%s", path);
    if (!S_ISREG(st.st_mode) || st.st_size != SEAL_KEY_LEN) {
        err_set(err, ERR_CANNOT, "the key %s has %lld bytes, not %d", path, (long long)st.st_size,
                SEAL_KEY_LEN);
        return err_hint(err, "put the right one back; without it what it sealed stays unreadable");
    }
    if (st.st_mode & 077) {
        err_set(err, ERR_DENIED, "others may use the key %s (mode %04o)", path,
                (unsigned)(st.st_mode & 07777));
        return err_hint(err, "chmod 600 %s", path);
    }
    if (file_read(path, SEAL_KEY_LEN, &data, &len, err) < 0)
        return -1;
    if (len != SEAL_KEY_LEN)
        return err_set(err, ERR_CANNOT, "the key %s changes while it is read", path);
    if (sodium_is_zero((unsigned char *)data, len)) { /* a disk that was full, or lost power */
        err_set(err, ERR_CANNOT, "the key %s is nothing but zeros", path);
        return err_hint(err, "put the right one back; without it what it sealed stays unreadable");
    }
    memcpy(key, data, SEAL_KEY_LEN);
    sodium_memzero(data, len);
    return 0;
}

struct seal *seal_open(const char *path, bool needed, struct err *err)
{
    struct seal *seal = mem_new(sizeof *seal);
    if (seal_read_key(path, needed, seal->key, err) == 0)
        return seal;
    seal_destroy(seal);
    return NULL;
}

void seal_destroy(struct seal *seal)
{
    if (seal)
        sodium_memzero(seal->key, sizeof seal->key);
    free(seal);
}

/* ---- texts ---- */

char *seal_text(const struct seal *seal, const void *text, size_t len)
{
    const size_t mark = sizeof SEALED_MARK - 1, all = EXTRA + len;
    const size_t room = sodium_base64_encoded_len(all, FORM);
    AUTO_FREE unsigned char *box = mem_new(all);
    char *out = mem_new(mark + room);
    randombytes_buf(box, crypto_secretbox_NONCEBYTES);
    crypto_secretbox_easy(box + crypto_secretbox_NONCEBYTES, text, len, box, seal->key);
    memcpy(out, SEALED_MARK, mark);
    sodium_bin2base64(out + mark, room, box, all, FORM);
    return out;
}

const char *seal_reveal(const struct seal *seal, struct arena *arena, const char *text)
{
    const size_t mark = sizeof SEALED_MARK - 1;
    if (!text || strncmp(text, SEALED_MARK, mark) != 0)
        return text;
    size_t size = strlen(text + mark), len = 0;
    AUTO_FREE unsigned char *box = mem_new(size + 1);
    if (!seal || sodium_base642bin(box, size, text + mark, size, NULL, &len, NULL, FORM) != 0 ||
        len < EXTRA)
        return NULL;
    char *out = arena_alloc(arena, len - EXTRA + 1);
    if (crypto_secretbox_open_easy((unsigned char *)out, box + crypto_secretbox_NONCEBYTES,
                                   len - crypto_secretbox_NONCEBYTES, box, seal->key) != 0)
        return NULL;
    out[len - EXTRA] = '\0';
    return out;
}
