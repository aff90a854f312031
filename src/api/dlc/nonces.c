/* Two sets of keyed hashes, an older and a newer one. When the newer is full, or everything in the
 * older is out of the window, the older is forgotten and the sets change places. Forgetting raises
 * the floor: dates up to those that were forgotten are refused, so nothing passes twice, however
 * many requests there are.
 *
 * Each set has a file, a head and then its hashes with their dates in the order they came; a set
 * that begins replaces the file of the one that was forgotten. What is written outlives the server
 * without being synced, and may be lost with the machine: after another boot, dates from before the
 * start are refused instead. */
#include "api/dlc/nonces.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/log.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BOOT_SIZE 40u
#define FILE_MARK "nonces1"

struct head { /* of a file; in this machine's byte order */
    char mark[sizeof FILE_MARK];
    char boot[BOOT_SIZE];
    struct hash_seed seed;
    uint64_t since_ms, floor_ms;
};
struct used_nonce {
    uint64_t hash, time_ms;
};

struct set {
    struct hash_index hashes; /* in the order they came */
    uint32_t n;
    uint64_t newest_ms; /* greatest date in it */
    uint64_t since_ms;  /* when its first came */
    unsigned file;      /* which of the two is its own */
};
struct nonces {
    struct hash_seed seed;
    struct set now, before;
    size_t max;
    uint64_t floor_ms;
    char *files[2]; /* NULL: in memory only */
    char boot[BOOT_SIZE];
    int fd; /* of the newer set's file, -1: none */
};

static bool has(const struct set *s, uint64_t hash)
{
    return hash_index_first(&s->hashes, hash) != HASH_INDEX_NONE;
}

static void put(struct set *s, uint64_t hash)
{
    hash_index_add(&s->hashes, s->n++, hash);
}

/* ---- the files ---- */

static void record_failed(const struct nonces *n, unsigned file)
{
    log_error("dlc.nonces",
              "file=\"%s\" note=\"signed requests are not remembered beyond this server's life\"",
              n->files[file]);
}

static void begin_file(struct nonces *n)
{
    struct set *s = &n->now;
    struct head head = {
        .mark = FILE_MARK, .seed = n->seed, .since_ms = s->since_ms, .floor_ms = n->floor_ms
    };
    struct err err;
    if (!n->files[s->file])
        return;
    snprintf(head.boot, sizeof head.boot, "%s", n->boot);
    if (file_replace(n->files[s->file], &head, sizeof head, 0600, &err) == 0)
        n->fd = open(n->files[s->file], O_WRONLY | O_APPEND | O_CLOEXEC);
    if (n->fd < 0)
        record_failed(n, s->file);
}

static void end_file(struct nonces *n)
{
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

static void record(struct nonces *n, uint64_t hash, uint64_t time_ms)
{
    const struct used_nonce seen = { hash, time_ms };
    if (n->fd < 0 || file_write_all(n->fd, &seen, sizeof seen) == 0)
        return;
    record_failed(n, n->now.file);
    end_file(n);
}

/* false: there is no such file, or it is none of ours. */
static bool load(struct nonces *n, unsigned file, struct set *s, struct head *head)
{
    AUTO_FREE char *data = NULL;
    size_t len = 0, most = sizeof *head + n->max * sizeof(struct used_nonce);
    struct err err;
    if (file_read(n->files[file], most, &data, &len, &err) < 0 || len < sizeof *head)
        return false;
    memcpy(head, data, sizeof *head);
    if (memcmp(head->mark, FILE_MARK, sizeof head->mark) != 0)
        return false;
    *s = (struct set){ .since_ms = head->since_ms, .file = file };
    struct used_nonce seen;
    for (size_t at = sizeof *head; at + sizeof seen <= len; at += sizeof seen) {
        memcpy(&seen, data + at, sizeof seen);
        if (seen.hash)
            put(s, seen.hash);
        s->newest_ms = seen.time_ms > s->newest_ms ? seen.time_ms : s->newest_ms;
    }
    return true;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The newer of both goes on in its file; a half record at its end is cut off. */
static void load_both(struct nonces *n, const struct nonces_place *place)
{
    struct set sets[2] = { { .n = 0 } };
    struct head heads[2] = { { .since_ms = 0 } };
    bool there[2] = { load(n, 0, &sets[0], &heads[0]), load(n, 1, &sets[1], &heads[1]) };
    unsigned newer = there[1] && (!there[0] || heads[1].since_ms > heads[0].since_ms);
    if (!there[newer])
        return;
    n->seed = heads[newer].seed;
    n->now = sets[newer];
    n->before = sets[!newer];
    n->before.file = !newer;
    n->floor_ms = later(heads[0].floor_ms, heads[1].floor_ms);
    if (strncmp(heads[newer].boot, place->boot, BOOT_SIZE - 1) != 0)
        n->floor_ms = later(later(n->floor_ms, n->now.newest_ms), place->now_ms / 1000 * 1000 - 1);
    off_t size = (off_t)(sizeof(struct head) + n->now.n * sizeof(struct used_nonce));
    n->fd = open(n->files[newer], O_WRONLY | O_APPEND | O_CLOEXEC);
    if (n->fd >= 0 && ftruncate(n->fd, size) < 0)
        end_file(n);
    if (n->fd < 0)
        record_failed(n, newer);
}

/* ---- life ---- */

struct nonces *nonces_create(size_t max, const struct nonces_place *place)
{
    struct nonces *n = mem_new(sizeof *n);
    n->seed = hash_seed_random();
    n->max = max;
    n->fd = -1;
    n->before.file = 1;
    if (!place)
        return n;
    n->files[0] = mem_printf("%s/dlc-nonces.0", place->dir);
    n->files[1] = mem_printf("%s/dlc-nonces.1", place->dir);
    snprintf(n->boot, sizeof n->boot, "%s", place->boot);
    load_both(n, place);
    return n;
}

void nonces_destroy(struct nonces *n)
{
    if (!n)
        return;
    end_file(n);
    free(n->files[0]);
    free(n->files[1]);
    hash_index_fini(&n->now.hashes);
    hash_index_fini(&n->before.hashes);
    free(n);
}

static void turn(struct nonces *n)
{
    if (n->before.newest_ms > n->floor_ms)
        n->floor_ms = n->before.newest_ms;
    unsigned file = n->before.file;
    hash_index_fini(&n->before.hashes);
    n->before = n->now;
    n->now = (struct set){ .file = file };
    end_file(n);
}

bool nonces_timely(const struct nonces *n, uint64_t time_ms, uint64_t now_ms)
{
    uint64_t off = time_ms > now_ms ? time_ms - now_ms : now_ms - time_ms;
    return off <= NONCE_WINDOW_MS && time_ms > n->floor_ms;
}

bool nonces_add(struct nonces *n, const char *key_id, const char *nonce, uint64_t time_ms,
                uint64_t now_ms)
{
    AUTO_FREE char *text = mem_printf("%s\n%s", key_id, nonce);
    uint64_t hash = hash_bytes(n->seed, text, strlen(text));
    hash += !hash; /* 0 in a file is what was never written */
    if (has(&n->now, hash) || has(&n->before, hash))
        return false;
    /* A date may lie a window ahead, and is then good for two. */
    if (n->now.n >= n->max || (n->now.n && now_ms > n->now.since_ms + 2 * NONCE_WINDOW_MS))
        turn(n);
    if (!n->now.n) {
        n->now.since_ms = now_ms;
        begin_file(n);
    }
    if (time_ms > n->now.newest_ms)
        n->now.newest_ms = time_ms;
    put(&n->now, hash);
    record(n, hash, time_ms);
    return true;
}
