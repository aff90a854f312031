/* Three lines of text: the node's nonce; srun's nonce and its proof; the node's proof. A proof is
 * an HMAC-SHA256 of the secret over who says it and both nonces, so it serves once and for one
 * side.
 *
 * Caveats: what follows is neither encrypted nor signed. It keeps strangers of the network from
 * starting programs, not those who can change what others send. */
#include "step/handshake.h"

#include "base/err.h"

#include <mbedtls/md.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define HELLO   "MUSTER-STEP/1 "
#define PROOF   "PROOF "
#define PROOF_N 64 /* digits */
enum { LINE_MAX_BYTES = 160, NONCE_BYTES = 16, HASH_BYTES = 32 };

static void hex(char *out, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void make_nonce(char out[HANDSHAKE_NONCE])
{
    unsigned char random[NONCE_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        BUG("no random numbers");
    hex(out, random, sizeof random);
}

/* Of the node when node, over the nonces in the order node, srun. */
static void make_proof(const struct handshake *g, bool node, char out[PROOF_N + 1])
{
    char text[8 + 2 * HANDSHAKE_NONCE];
    unsigned char hash[HASH_BYTES];
    int n = snprintf(text, sizeof text, "%s %s %s", node ? "node" : "srun",
                     g->node ? g->ours : g->theirs, g->node ? g->theirs : g->ours);
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    if (mbedtls_md_hmac(sha256, (const unsigned char *)g->secret, strlen(g->secret),
                        (const unsigned char *)text, (size_t)n, hash) != 0)
        BUG("no HMAC");
    hex(out, hash, sizeof hash);
}

/* All digits are looked at whatever the first difference is. */
static bool good_proof(const struct handshake *g, bool node, const char *said)
{
    char wanted[PROOF_N + 1];
    unsigned char differs = 0;
    make_proof(g, node, wanted);
    for (size_t i = 0; i < PROOF_N; i++)
        differs |= (unsigned char)(wanted[i] ^ said[i]);
    return differs == 0;
}

static bool is_hex(const char *at, size_t n)
{
    return strspn(at, "0123456789abcdef") >= n;
}

static void say_proof(const struct handshake *g, struct buf *out)
{
    char proof[PROOF_N + 1];
    make_proof(g, g->node, proof);
    if (g->node)
        buf_addf(out, PROOF "%s\n", proof);
    else
        buf_addf(out, PROOF "%s %s\n", proof, g->ours);
}

void handshake_init(struct handshake *g, const char *secret, bool node, struct buf *out)
{
    *g = (struct handshake){ .secret = secret, .node = node };
    make_nonce(g->ours);
    if (node)
        buf_addf(out, HELLO "%s\n", g->ours);
}

/* A whole line without its end. 1: it is the last that has to come. */
static int take_line(struct handshake *g, const char *line, size_t n, struct buf *out)
{
    const size_t hello = sizeof HELLO - 1, proof = sizeof PROOF - 1, nonce = HANDSHAKE_NONCE - 1;
    if (g->node) { /* PROOF ... nonce */
        if (n != proof + PROOF_N + 1 + nonce || memcmp(line, PROOF, proof) != 0 ||
            line[proof + PROOF_N] != ' ' || !is_hex(line + proof + PROOF_N + 1, nonce))
            return -1;
        memcpy(g->theirs, line + proof + PROOF_N + 1, nonce);
        if (!good_proof(g, false, line + proof))
            return -1;
        say_proof(g, out);
        return 1;
    }
    if (!g->challenged) {
        if (n != hello + nonce || memcmp(line, HELLO, hello) != 0 || !is_hex(line + hello, nonce))
            return -1;
        memcpy(g->theirs, line + hello, nonce);
        g->challenged = true;
        say_proof(g, out);
        return 0;
    }
    if (n != proof + PROOF_N || memcmp(line, PROOF, proof) != 0)
        return -1;
    return good_proof(g, true, line + proof) ? 1 : -1;
}

int handshake_take(struct handshake *g, const char *at, size_t len, size_t *used, struct buf *out)
{
    *used = 0;
    for (;;) {
        char line[LINE_MAX_BYTES + 1];
        size_t left = len - *used;
        const char *end = memchr(at + *used, '\n', left < LINE_MAX_BYTES ? left : LINE_MAX_BYTES);
        if (!end)
            return left < LINE_MAX_BYTES ? 0 : -1;
        size_t n = (size_t)(end - (at + *used));
        memcpy(line, at + *used, n);
        line[n] = '\0';
        *used += n + 1;
        int rc = take_line(g, line, n, out);
        if (rc != 0)
            return rc;
    }
}
