/* Walks the frames of a WAL. Each has the salt of its WAL and a sum over its own first bytes, its
 * page, and the sum before it. SQLite reads until the first frame that does not fit, which is right
 * for a write that was torn, and hides damage to what was committed: here the rest is looked at
 * too. Frames of an earlier WAL in the same file have another salt.
 *
 * A commit that failed (no space) may leave whole frames behind the end; they are of one
 * transaction, so one commit behind a damaged frame says nothing, and two in one chain do. */
#include "store/wal.h"

#include "base/mem.h"

#include <string.h>

#define MAGIC       0x377f0682u /* the lowest bit: sums are of big-endian words */
#define PAGE_MAX    65536u
#define PAGE_LEAST  512u
#define SUM_OF_HEAD 24 /* bytes of the header that its sum is made over */
#define SUM_OF_HERE 8  /* the same of a frame's */

struct sum {
    uint32_t a, b;
};

static uint32_t big(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t little(const unsigned char *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static struct sum add_words(struct sum s, uint32_t first, uint32_t second)
{
    s.a += first + s.b;
    s.b += second + s.a;
    return s;
}

static struct sum add_bytes(struct sum s, bool is_big, const unsigned char *at, size_t n)
{
    const unsigned char *end = at + n;
    for (; is_big && at < end; at += 8)
        s = add_words(s, big(at), big(at + 4));
    for (; at < end; at += 8)
        s = add_words(s, little(at), little(at + 4));
    return s;
}

static struct sum read_sum(const unsigned char *at)
{
    return (struct sum){ big(at), big(at + 4) };
}

static bool same(struct sum x, struct sum y)
{
    return x.a == y.a && x.b == y.b;
}

uint32_t wal_frames_most(void)
{
    return 2000;
}

void wal_place_of(const unsigned char header[WAL_FRAME_HEADER], uint32_t frames,
                  struct wal_place *out)
{
    out->frames = frames;
    memcpy(out->salt, header + 8, WAL_SALT);
    memcpy(out->sum, header + 8 + WAL_SALT, WAL_SUM);
}

struct walk {
    struct wal_bytes from;
    bool is_big;
    unsigned char *frame; /* header and page */
    size_t size;
    struct sum sum;   /* of the frame before, as it says */
    unsigned commits; /* behind a damaged frame, in one chain */
    bool damaged;     /* one was met */
};

/* Does the frame follow the one before it? Then its sum counts from now on; else what it says does.
 */
static bool follows(struct walk *w, const unsigned char salt[WAL_SALT])
{
    struct sum sum = add_bytes(w->sum, w->is_big, w->frame, SUM_OF_HERE);
    sum = add_bytes(sum, w->is_big, w->frame + WAL_FRAME_HEADER, w->size - WAL_FRAME_HEADER);
    w->sum = read_sum(w->frame + 8 + WAL_SALT);
    return memcmp(w->frame + 8, salt, WAL_SALT) == 0 && big(w->frame) != 0 && same(sum, w->sum);
}

static void look_at_frame(struct walk *w, const struct wal_place *asked, struct wal_report *out)
{
    bool fits = follows(w, out->whole.salt);
    bool commits = big(w->frame + 4) != 0;
    uint32_t n = out->in_file;
    w->damaged |= !fits;
    if (!w->damaged && commits)
        wal_place_of(w->frame, n, &out->whole);
    if (!w->damaged && asked && asked->frames == n &&
        memcmp(asked->salt, out->whole.salt, WAL_SALT) == 0 &&
        memcmp(asked->sum, w->frame + 8 + WAL_SALT, WAL_SUM) == 0)
        out->holds = true;
    if (w->damaged)
        w->commits = fits ? w->commits + commits : 0;
    out->broken |= w->commits >= 2;
}

static bool read_header(struct walk *w, struct wal_report *out)
{
    unsigned char head[WAL_HEADER];
    if (!w->from.read(w->from.arg, head, sizeof head, 0))
        return false;
    uint32_t page = big(head + 8);
    w->is_big = big(head) & 1;
    w->sum = add_bytes((struct sum){ 0, 0 }, w->is_big, head, SUM_OF_HEAD);
    if ((big(head) & ~1u) != MAGIC || page < PAGE_LEAST || page > PAGE_MAX || page & (page - 1) ||
        !same(w->sum, read_sum(head + SUM_OF_HEAD)))
        return false;
    memcpy(out->whole.salt, head + WAL_SALT_AT, WAL_SALT);
    out->page_size = page;
    return true;
}

void wal_look(struct wal_bytes from, const struct wal_place *asked, struct wal_report *out)
{
    struct walk w = { .from = from };
    *out = (struct wal_report){ .there = false };
    if (!read_header(&w, out))
        return;
    w.size = WAL_FRAME_HEADER + out->page_size;
    AUTO_FREE unsigned char *frame = mem_resize(NULL, w.size);
    w.frame = frame;
    out->there = true;
    while (from.read(from.arg, frame, w.size, WAL_HEADER + (uint64_t)out->in_file * w.size)) {
        out->in_file++;
        look_at_frame(&w, asked, out);
    }
}
