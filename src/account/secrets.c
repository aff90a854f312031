/* Secrets as they are kept. Without a seal (a database in memory) the secret of a key stands as it
 * is; one that was sealed with another key cannot be read any more. */
#include "account/secrets.h"

#include "account/handle.h"

#include "base/mem.h"
#include "store/seal.h"

#include <sodium.h>
#include <string.h>

void secret_hash(char out[SECRET_TEXT], const char *text)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    sodium_bin2hex(out, SECRET_TEXT, hash, sizeof hash);
}

const char *secret_seal(const struct accounts *all, struct arena *arena, const char *text)
{
    const struct seal *seal = store_seal(all->config.store);
    AUTO_FREE char *sealed = seal ? seal_text(seal, text, strlen(text)) : NULL;
    return arena_strdup(arena, sealed ? sealed : text);
}

/* Keys were sealed before texts were, without a mark. */
const char *secret_open(const struct accounts *all, struct arena *arena, const char *sealed)
{
    const struct seal *seal = store_seal(all->config.store);
    bool marked = strncmp(sealed, SEALED_MARK, strlen(SEALED_MARK)) == 0;
    if (seal && !marked)
        sealed = arena_printf(arena, SEALED_MARK "%s", sealed);
    return seal_reveal(seal, arena, sealed);
}
