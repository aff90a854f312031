/* One child at a time. In order: look at the target, copy the records, begin a chain with the copy;
 * then a segment whenever there is something and its time has come. Each server begins with a chain
 * of its own: what another program did to the records before it is in no pages.
 *
 * Pages are collected from the moment at which a copy or a segment was closed, so that what comes
 * next follows it without a gap. A new base beside a chain that goes on is closed together with a
 * segment of that chain: what comes later follows either. When pages are lost, because the target
 * was away for too long, a new base is the only way on. */
#include "ship/shipper.h"

#include "api/file_drop.h"
#include "backup/records_copy.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "ctl/ctl.h"
#include "ship/backup_file.h"
#include "ship/delivery_request.h"
#include "store/pages.h"

#include <inttypes.h>
#include <string.h>
#include <uv.h>

#define TICK_MS     1000u
#define EARLY_BYTES (16u << 20) /* of pages: a segment is closed at once */
#define LOOK_MS     60000u
#define SEGMENT_MS  600000u
#define BASE_MS     (6u * 3600 * 1000)
#define RETRY_MOST  6  /* times the interval between segments, at most */
#define RECOPY_MOST 32 /* the same before another copy of all records */
#define RECOPY_PART 24 /* of the time between bases, until one that failed is tried again */
#define FINISH_MS   5000u
#define GROWN       4 /* times as large as the base: segments are replaced by a new one */
#define GROWN_LEAST (256u << 20)

enum doing { IDLE, LOOKING, COPYING, SENDING_SEGMENT, SENDING_BASE, THINNING };

struct position { /* of the records */
    struct store_reach reach;
    uint64_t at_ms; /* clock_wall_ms() */
    bool known;
};
/* A file that waits to be sent, or is on its way. */
struct pending_file {
    int fd; /* -1: none */
    struct position ends;
    uint64_t since_ms; /* of the first commit in it */
};
struct shipper {
    struct shipper_config config;
    struct store_pages *pages;
    uv_timer_t tick, limit;
    uv_idle_t idle;
    enum doing doing;
    struct child *child;
    struct records_copy *copy;
    struct pending_file segment, base;
    bool thin;        /* old chains are to go */
    bool looked;      /* for the next base */
    bool base_failed; /* the last one did */
    bool finishing, timed_out;
    uint64_t chain, number; /* chain 0: none goes on */
    uint64_t next;          /* chain */
    uint64_t base_due_ms, base_bytes, segments_bytes;
    uint64_t tried_ms, failures;
    struct position shipped;
    struct err err; /* code: it fails now */
    unsigned open;  /* handles */
};

static void go_on(struct shipper *s);

/* ---- positions ---- */

static struct position position_now(const struct shipper *s)
{
    return (struct position){ .reach = store_reach_now(s->config.store),
                              .at_ms = clock_wall_ms(),
                              .known = true };
}

/* ---- what fails, and that it does not any more ---- */

static void fail(struct shipper *s, const struct err *err)
{
    if (!s->err.code || strcmp(s->err.what, err->what) != 0)
        log_warn("backup.failing", "to=%s why=\"%s\" hint=\"%s\"", s->config.place.where, err->what,
                 err->hint);
    s->err = *err;
    s->failures++;
}

static void succeed(struct shipper *s)
{
    if (s->err.code)
        log_info("backup.going_on", "to=%s failures=%" PRIu64, s->config.place.where, s->failures);
    s->err = (struct err){ 0 };
    s->failures = 0;
}

static void drop_parcel(struct shipper *s, struct pending_file *p)
{
    file_drop(s->config.loop, p->fd);
    *p = (struct pending_file){ .fd = -1 };
}

/* Only a whole copy goes on from here. */
static void lose_chain(struct shipper *s)
{
    s->chain = 0;
    drop_parcel(s, &s->segment);
    drop_parcel(s, &s->base);
}

/* ---- children ---- */

static const struct {
    const char *word;
    uint64_t limit_ms;
} errands[] = {
    [LOOKING] = { .word = "look", .limit_ms = LOOK_MS },
    [SENDING_SEGMENT] = { .word = "segment", .limit_ms = SEGMENT_MS },
    [SENDING_BASE] = { .word = "base", .limit_ms = BASE_MS },
    [THINNING] = { .word = "thin", .limit_ms = LOOK_MS },
};

static void start(struct shipper *s, enum doing doing, const struct pending_file *parcel,
                  child_done *done)
{
    struct err err = { 0 };
    const bool base = parcel == &s->base;
    const struct delivery_request request = { .what = errands[doing].word,
                                              .chain = base ? s->next : s->chain,
                                              .number = base ? 0 : s->number + 1,
                                              .ends = parcel ? &parcel->ends.reach : NULL,
                                              .input = parcel ? parcel->fd : -1,
                                              .limit_ms = errands[doing].limit_ms };
    s->tried_ms = clock_mono_ms();
    s->child = delivery_request_start(&s->config, &request, done, s, &err);
    if (s->child)
        s->doing = doing;
    else
        fail(s, &err);
}

/* What it said; NULL: it failed, which has been said. */
static const struct text_node *read_answer(struct shipper *s, struct arena *a,
                                           const struct child_end *end)
{
    struct err err = { 0 };
    bool anew;
    s->doing = IDLE;
    s->child = NULL;
    const struct text_node *root = delivery_request_answer(&s->config, a, end, &anew, &err);
    if (root)
        return root;
    fail(s, &err);
    if (anew)
        lose_chain(s);
    return NULL;
}

static void on_looked(void *arg, const struct child_end *end)
{
    struct shipper *s = arg;
    struct arena *a = arena_create();
    const struct text_node *root = read_answer(s, a, end);
    const struct text_node *newest = text_get(root, "newest"),
                           *records = text_get(newest, "records");
    if (root) {
        s->looked = true;
        s->next = text_number(root, "next");
        s->failures = s->base_failed ? s->failures : 0;
    }
    if (records && !s->shipped.known)
        s->shipped = (struct position){ .reach.event = text_number(records, "event"),
                                        .reach.number = text_number(records, "number"),
                                        .at_ms = text_number(newest, "made_ms"),
                                        .known = true };
    arena_destroy(a);
    go_on(s);
}

static void on_segment(void *arg, const struct child_end *end)
{
    struct shipper *s = arg;
    struct arena *a = arena_create();
    const struct text_node *root = read_answer(s, a, end);
    if (root) {
        succeed(s);
        s->number++;
        s->segments_bytes += text_number(root, "bytes");
        s->shipped = s->segment.ends;
        drop_parcel(s, &s->segment);
    }
    arena_destroy(a);
    go_on(s);
}

static bool has_more_to_go(const struct text_node *answer)
{
    const struct text_node *more = text_get(answer, "more");
    return more && more->boolean;
}

static void on_base(void *arg, const struct child_end *end)
{
    struct shipper *s = arg;
    struct arena *a = arena_create();
    const struct text_node *root = read_answer(s, a, end);
    const uint64_t wait_ms = root ? s->config.base_ms : s->config.base_ms / RECOPY_PART;
    s->base_failed = root == NULL;
    s->base_due_ms = s->config.base_ms == UINT64_MAX ? UINT64_MAX : clock_mono_ms() + wait_ms;
    s->segments_bytes = 0;
    if (root) {
        succeed(s);
        s->chain = s->next;
        s->number = 0;
        s->base_bytes = text_number(root, "bytes");
        s->shipped = s->base.ends;
        s->thin = has_more_to_go(root);
        log_info("backup.base", "to=%s chain=%" PRIu64 " bytes=%" PRIu64 " event=%" PRIu64,
                 s->config.place.where, s->chain, s->base_bytes, s->shipped.reach.event);
    }
    drop_parcel(s, &s->base);
    arena_destroy(a);
    go_on(s);
}

/* What is left of it goes on between what is sent; what failed waits for the next base. */
static void on_thinned(void *arg, const struct child_end *end)
{
    struct shipper *s = arg;
    struct arena *a = arena_create();
    const struct text_node *root = read_answer(s, a, end);
    if (root)
        succeed(s);
    s->thin = has_more_to_go(root);
    arena_destroy(a);
    go_on(s);
}

/* ---- closing ---- */

/* What was committed since the last one, as a segment. Where it cannot be had the chain ends. */
static void close_segment(struct shipper *s)
{
    struct err err = { 0 };
    const struct store_pages_state state = store_pages_state(s->pages);
    if (!state.lost && !state.bytes)
        return;
    s->segment.since_ms = state.since_ms;
    s->segment.ends = position_now(s);
    s->segment.fd = state.lost ? -1 : store_pages_take(s->pages, &err);
    if (s->segment.fd < 0)
        lose_chain(s);
}

static void end_copy(struct shipper *s)
{
    uv_idle_stop(&s->idle);
    records_copy_end(TAKE(s->copy));
    s->doing = IDLE;
}

static void on_copied(struct shipper *s)
{
    struct err err;
    if (s->chain)
        close_segment(s);
    store_pages_reset(s->pages);
    s->base.ends = position_now(s);
    s->base.fd = records_copy_open(s->copy, &err);
    if (s->base.fd < 0)
        fail(s, &err);
    end_copy(s);
    go_on(s);
}

static void on_idle(uv_idle_t *idle)
{
    struct shipper *s = idle->data;
    struct err err;
    int rc = records_copy_step(s->copy, &err);
    if (rc > 0)
        on_copied(s);
    if (rc >= 0)
        return;
    fail(s, &err);
    end_copy(s);
}

static void begin_copy(struct shipper *s)
{
    struct err err;
    s->tried_ms = clock_mono_ms();
    s->looked = false;
    s->copy = ctl_copy_records(s->config.ctl, true, &err);
    if (!s->copy) {
        fail(s, &err);
        return;
    }
    s->doing = COPYING;
    uv_idle_start(&s->idle, on_idle);
}

/* ---- what is next ---- */

static bool wants_base(const struct shipper *s, uint64_t now)
{
    uint64_t grown = s->base_bytes * GROWN < GROWN_LEAST ? GROWN_LEAST : s->base_bytes * GROWN;
    return !s->finishing && (!s->chain || now >= s->base_due_ms || s->segments_bytes > grown);
}

/* Not at once again after a failure, and a copy of all records less often than the rest. */
static bool may_try(const struct shipper *s, uint64_t now)
{
    uint64_t most = !s->chain && s->looked ? RECOPY_MOST : RETRY_MOST;
    uint64_t times = s->failures < RETRY_MOST ? 1ull << s->failures : RECOPY_MOST;
    return !s->failures || s->finishing ||
           now - s->tried_ms >= s->config.every_ms * (times > most ? most : times);
}

static bool is_due(const struct shipper *s, const struct store_pages_state *state, uint64_t now)
{
    return state->bytes && (s->finishing || now - state->since_ms >= s->config.every_ms ||
                            state->bytes >= EARLY_BYTES);
}

static void go_on(struct shipper *s)
{
    const uint64_t now = clock_mono_ms();
    const struct store_pages_state state = store_pages_state(s->pages);
    if (s->doing != IDLE || !may_try(s, now))
        return;
    if (state.lost && s->chain && s->segment.fd < 0 && s->base.fd < 0) {
        log_warn("backup.lost",
                 "to=%s note=\"too much was committed meanwhile: a new base follows\"",
                 s->config.place.where);
        lose_chain(s);
    }
    if (s->chain && s->segment.fd < 0 && s->base.fd < 0 && is_due(s, &state, now))
        close_segment(s);
    if (s->chain && s->segment.fd >= 0)
        start(s, SENDING_SEGMENT, &s->segment, on_segment);
    else if (s->base.fd >= 0)
        start(s, SENDING_BASE, &s->base, on_base);
    else if (wants_base(s, now) && !s->looked)
        start(s, LOOKING, NULL, on_looked);
    else if (wants_base(s, now))
        begin_copy(s);
    else if (s->thin && s->chain && !s->finishing)
        start(s, THINNING, NULL, on_thinned);
}

static void on_tick(uv_timer_t *timer)
{
    go_on(timer->data);
}

/* ---- the whole ---- */

struct shipper *shipper_create(const struct shipper_config *config)
{
    struct shipper *s = mem_new(sizeof *s);
    *s = (struct shipper){ .config = *config,
                           .pages = config->pages,
                           .segment.fd = -1,
                           .base.fd = -1,
                           .base_due_ms = UINT64_MAX,
                           .open = 3 };
    s->tick.data = s->limit.data = s->idle.data = s;
    uint64_t often = config->every_ms < TICK_MS ? config->every_ms : TICK_MS;
    uv_timer_init(config->loop, &s->tick);
    uv_timer_init(config->loop, &s->limit);
    uv_idle_init(config->loop, &s->idle);
    uv_timer_start(&s->tick, on_tick, 0, often);
    return s;
}

/* Since when is the oldest commit not there? 0: all is there. */
static uint64_t lacking_ms(const struct shipper *s, const struct store_pages_state *state)
{
    const uint64_t now = clock_mono_ms(), wall = clock_wall_ms();
    uint64_t since = s->segment.fd >= 0 ? s->segment.since_ms : state->since_ms;
    if (s->chain || s->base.fd >= 0)
        return since ? now - since : 0;
    return wall > s->shipped.at_ms ? wall - s->shipped.at_ms : 0;
}

static const char *state_word(const struct shipper *s)
{
    if (s->err.code)
        return "failing";
    if (s->doing == COPYING || s->doing == SENDING_BASE)
        return "copying";
    return s->chain ? "following" : "looking";
}

void shipper_put(const struct shipper *s, struct arena *a, struct text_node *parent,
                 const char *key)
{
    if (!s)
        return;
    const struct store_pages_state state = store_pages_state(s->pages);
    const uint64_t event = store_reach_now(s->config.store).event, there = s->shipped.reach.event;
    struct text_node *map = text_map(a, parent, key);
    text_str(a, map, "to", s->config.place.where);
    if (*s->config.place.endpoint)
        text_str(a, map, "endpoint", s->config.place.endpoint);
    text_str(a, map, "state", state_word(s));
    if (s->chain) {
        text_int(a, map, "chain", (int64_t)s->chain);
        text_int(a, map, "segment", (int64_t)s->number);
    }
    if (s->shipped.known) {
        struct text_node *shipped = text_map(a, map, "shipped");
        text_int(a, shipped, "event", (int64_t)there);
        text_int(a, shipped, "number", (int64_t)s->shipped.reach.number);
        text_int(a, shipped, "at_ms", (int64_t)s->shipped.at_ms);
        struct text_node *lacks = text_map(a, map, "lacks");
        text_int(a, lacks, "events", event > there ? (int64_t)(event - there) : 0);
        text_int(a, lacks, "seconds", (int64_t)(lacking_ms(s, &state) + 999) / 1000);
    }
    if (s->err.code) {
        text_str(a, map, "error", s->err.what);
        text_str(a, map, "hint", s->err.hint);
    }
}

/* ---- the end ---- */

static void on_limit(uv_timer_t *timer)
{
    struct shipper *s = timer->data;
    s->timed_out = true;
}

static bool has_more(const struct shipper *s)
{
    return s->chain && (s->segment.fd >= 0 || s->base.fd >= 0 || store_pages_state(s->pages).bytes);
}

void shipper_finish(struct shipper *s)
{
    const uint64_t failures = s->failures;
    s->finishing = true;
    if (s->doing == COPYING)
        end_copy(s);
    uv_update_time(s->config.loop);
    uv_timer_start(&s->limit, on_limit, FINISH_MS, 0);
    for (go_on(s); has_more(s) && !s->timed_out && s->failures == failures;)
        uv_run(s->config.loop, UV_RUN_ONCE);
    if (has_more(s))
        log_warn("backup.unfinished", "to=%s note=\"what was committed last is not there\"",
                 s->config.place.where);
}

static void on_closed(uv_handle_t *handle)
{
    struct shipper *s = handle->data;
    if (--s->open == 0)
        free(s);
}

void shipper_destroy(struct shipper *s)
{
    if (!s)
        return;
    child_drop(s->child);
    if (s->copy)
        records_copy_end(TAKE(s->copy));
    lose_chain(s);
    store_pages_end(s->pages);
    uv_close((uv_handle_t *)&s->tick, on_closed);
    uv_close((uv_handle_t *)&s->limit, on_closed);
    uv_close((uv_handle_t *)&s->idle, on_closed);
}
