/* A loop over poll(). Each layer on its way has a stream; the lowest of them leads and has an
 * unpacker, the others are kept. What is wrong is told by the first cause, which is not the first
 * to be seen: a layer that broke off, or came with other bytes than its name says, is no tar
 * either, so a layer that cannot be unpacked is read to its end before that counts. */
#include "node/fetch/arrival.h"

#include "base/clock.h"
#include "base/mem.h"
#include "node/fetch/layer_record.h"
#include "node/fetch/stream.h"
#include "node/fetch/unpacker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#define AT_ONCE 4u /* layers on their way */
#define TICK_MS 250

struct part {
    struct proxy_pipe pipe; /* fd: of the stream */
    struct stream *stream;  /* NULL: it is kept */
    bool checked;           /* skopeo told its end, and all is as its name says */
};
struct arrival {
    const struct arrival_ask *ask;
    struct layer_limits *limits;
    struct arrival_sink sink;
    struct part at[AT_ONCE];  /* layer i at i % AT_ONCE */
    size_t done, told, asked; /* layers: unpacked, whose end skopeo told, that were asked for */
    bool asks_end;            /* of layer `told` */
    struct unpacker unpacker; /* of layer `done` */
    bool begun;               /* layer `done` leads */
    struct err unlike;        /* why layer `done` was not unpacked; code ERR_NONE: nothing */
    uint64_t before;          /* bytes of the layers that are done */
    uint64_t moved_ms, ticked_ms;
};

static struct part *lead(struct arrival *a)
{
    return &a->at[a->done % AT_ONCE];
}

static const struct image_blob *layer_at(const struct arrival *a, size_t i)
{
    return &a->ask->layers->manifest->layers[i];
}

/* skopeo answers in turn, so the end of a layer is asked for only when nothing else is. */
static int ask_more(struct arrival *a, struct err *err)
{
    if (a->asks_end)
        return 0;
    while (a->asked < a->ask->layers->manifest->n_layers && a->asked - a->done < AT_ONCE) {
        struct part *one = &a->at[a->asked % AT_ONCE];
        const struct image_blob *blob = layer_at(a, a->asked);
        *one = (struct part){ .checked = a->ask->kept[a->asked] };
        if (one->checked) {
            a->asked++;
            continue;
        }
        if (proxy_blob(a->ask->proxy, blob, &one->pipe, err) != 0)
            return -1;
        one->stream = stream_create(blob, one->pipe.fd, a->ask->dir);
        a->asked++;
        a->moved_ms = clock_mono_ms();
    }
    while (a->told < a->asked && a->ask->kept[a->told])
        a->told++;
    a->asks_end = a->told < a->asked;
    return a->asks_end ? proxy_finish(a->ask->proxy, &a->at[a->told % AT_ONCE].pipe, err) : 0;
}

static int begin_lead(struct arrival *a, struct err *err)
{
    if (a->begun)
        return 0;
    AUTO_FREE char *record = layers_place(a->ask->layers, a->done);
    const struct layer layer = { .fd = -1,
                                 .packing = layer_at(a, a->done)->packing,
                                 .diff = a->ask->layers->diffs->at[a->done],
                                 .owners = a->ask->owners,
                                 .record = record,
                                 .kept = a->ask->kept[a->done] };
    a->sink.unpacks(a->sink.arg, a->done + 1);
    if (unpacker_start(&a->unpacker, &layer, a->ask->root, a->limits, err) != 0)
        return -1;
    if (lead(a)->stream)
        stream_lead(lead(a)->stream, a->unpacker.to);
    a->begun = true;
    return 0;
}

/* ---- the end of a layer ---- */

/* Its registry did not break off. */
static int hear_end(struct arrival *a, struct err *err)
{
    if (proxy_finished(a->ask->proxy, err) != 0)
        return -1;
    a->asks_end = false;
    a->told++;
    return 0;
}

/* What came is what its name says. */
static int check(struct arrival *a, size_t i, struct err *err)
{
    struct part *one = &a->at[i % AT_ONCE];
    if (one->checked || i >= a->told || !stream_ended(one->stream))
        return 0;
    one->checked = true;
    return stream_check(one->stream, err);
}

static int end_unpacker(struct arrival *a, struct err *err)
{
    struct err why = { .code = ERR_NONE };
    const char *kept = a->ask->kept[a->done];
    if (!kept)
        stream_lead(lead(a)->stream, -1);
    if (unpacker_end(&a->unpacker, a->limits, &why) == 0)
        return 0;
    if (kept && why.code != ERR_TOO_LARGE && why.code != ERR_FULL) {
        layer_record_spoil(kept); /* the next time it comes from the registry */
        why.code = ERR_UNAVAILABLE;
    }
    if (why.code == ERR_INPUT) {
        a->unlike = why;
        return 0;
    }
    if (err)
        *err = why;
    return -1;
}

static int end_lead(struct arrival *a, struct err *err)
{
    struct part *one = lead(a);
    if (a->unpacker.pid > 0 || !one->checked)
        return 0;
    if (a->unlike.code != ERR_NONE) {
        if (err)
            *err = a->unlike;
        return -1;
    }
    a->before += one->stream ? stream_bytes(one->stream) : 0;
    stream_destroy(TAKE(one->stream));
    a->begun = false;
    a->done++;
    return 0;
}

/* ---- the loop ---- */

static uint64_t bytes_of(const struct arrival *a)
{
    uint64_t sum = a->before;
    for (size_t i = a->done; i < a->asked; i++)
        sum += a->ask->kept[i] ? 0 : stream_bytes(a->at[i % AT_ONCE].stream);
    return sum;
}

static size_t list(const struct arrival *a, struct pollfd *fds, bool *listens)
{
    size_t n = 0;
    *listens = false;
    for (size_t i = a->done; i < a->asked; i++) {
        const struct stream *s = a->at[i % AT_ONCE].stream;
        int reads = s ? stream_reads(s) : -1, writes = s ? stream_writes(s) : -1;
        /* One that is all here is open until skopeo has said that it is whole. */
        *listens = *listens || (reads >= 0 && stream_bytes(s) < layer_at(a, i)->size);
        fds[n++] = (struct pollfd){ .fd = reads, .events = POLLIN };
        fds[n++] = (struct pollfd){ .fd = writes, .events = POLLOUT };
    }
    fds[n++] = (struct pollfd){ .fd = a->unpacker.told, .events = POLLIN };
    fds[n++] =
        (struct pollfd){ .fd = a->asks_end ? proxy_socket(a->ask->proxy) : -1, .events = POLLIN };
    return n;
}

static int move_all(struct arrival *a, struct err *err)
{
    for (size_t i = a->done; i < a->asked; i++) {
        struct part *one = &a->at[i % AT_ONCE];
        uint64_t moved;
        if (!one->stream)
            continue;
        if (stream_move(one->stream, &moved, err) != 0 || check(a, i, err) != 0)
            return -1;
        if (moved > 0)
            a->moved_ms = clock_mono_ms();
    }
    return 0;
}

static int watch(struct arrival *a, struct err *err)
{
    struct pollfd fds[2 * AT_ONCE + 2];
    bool listens;
    size_t n = list(a, fds, &listens);
    if (poll(fds, n, TICK_MS) < 0 && errno != EINTR)
        return err_sys(err, "waiting for layers of the image");
    if ((fds[n - 1].revents && hear_end(a, err) != 0) || move_all(a, err) != 0)
        return -1;
    if (a->unpacker.to >= 0 && (!lead(a)->stream || stream_passed(lead(a)->stream))) {
        close(a->unpacker.to);
        a->unpacker.to = -1;
    }
    if (a->unpacker.told >= 0 && fds[n - 2].revents && end_unpacker(a, err) != 0)
        return -1;
    uint64_t now = clock_mono_ms();
    if (!listens)
        a->moved_ms = now; /* the disk is slow, not the registry */
    if (now - a->ticked_ms >= TICK_MS) {
        if (a->sink.came(a->sink.arg, bytes_of(a), err) < 0)
            return -1;
        a->ticked_ms = clock_mono_ms();
        a->moved_ms += a->ticked_ms - now; /* it may have waited for others */
        now = a->ticked_ms;
    }
    return now - a->moved_ms > REGISTRY_STALL_MS ? registry_stalled(a->ask->registry, err) : 0;
}

static int take_all(struct arrival *a, struct err *err)
{
    while (a->done < a->ask->layers->manifest->n_layers)
        if (ask_more(a, err) != 0 || begin_lead(a, err) != 0 || watch(a, err) != 0 ||
            end_lead(a, err) != 0)
            return -1;
    return a->sink.came(a->sink.arg, a->before, err);
}

int arrival_take(const struct arrival_ask *ask, struct layer_limits *limits,
                 struct arrival_sink sink, struct err *err)
{
    struct arrival a = { .ask = ask,
                         .limits = limits,
                         .sink = sink,
                         .unpacker = { .to = -1, .told = -1 },
                         .moved_ms = clock_mono_ms() };
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int rc = take_all(&a, err);
    unpacker_kill(&a.unpacker);
    for (size_t i = a.done; i < a.asked; i++)
        stream_destroy(a.at[i % AT_ONCE].stream);
    (void)signal(SIGPIPE, before);
    return rc;
}
