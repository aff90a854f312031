/* A row of `object` has, of this boot of the machine, what core_now() differs from CLOCK_BOOTTIME,
 * and a pair of both clocks that were read together, from which a start after the next boot goes
 * on. */
#include "ctl/clock.h"

#include "account/rights.h"
#include "ctl/core.h"
#include "ctl/tape.h"
#include "ctl/tape_scope.h"

#include "base/mem.h"
#include "base/report.h"
#include "base/scan.h"
#include "text/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEEP_EVERY_MS 60000u
#define SET_MS        5000 /* less is what time servers do */

/* ---- reading ---- */

uint64_t core_date(const struct ctl *ctl)
{
    return ctl->depth ? ctl->latched_ms : ctl->config.now(ctl->config.now_arg);
}

uint64_t core_stopwatch_us(const struct ctl *ctl)
{
    const struct ctl_config *c = &ctl->config;
    return c->mono ? c->mono(c->now_arg) : c->now(c->now_arg) * 1000;
}

uint64_t core_mono_us(const struct ctl *ctl)
{
    return ctl->depth ? ctl->latched_us : core_stopwatch_us(ctl);
}

uint64_t core_now(const struct ctl *ctl)
{
    if (!ctl->config.mono)
        return core_date(ctl);
    return (uint64_t)(ctl->config.base_ms + (int64_t)(core_mono_us(ctl) / 1000));
}

/* By how much the wall clock was set since, in whole seconds: two readings are a moment apart, and
 * the same time is to have the same date in one answer. */
static int64_t set_by(const struct ctl *ctl)
{
    int64_t by = (int64_t)(core_date(ctl) - core_now(ctl));
    return (by + (by < 0 ? -500 : 500)) / 1000 * 1000;
}

uint64_t core_date_of(const struct ctl *ctl, uint64_t at_ms)
{
    if (at_ms == 0 || at_ms == UINT64_MAX)
        return at_ms;
    return at_ms + (uint64_t)set_by(ctl);
}

uint64_t ctl_date_of(const struct ctl *ctl, uint64_t at_ms)
{
    return core_date_of(ctl, at_ms);
}

uint64_t ctl_now(const struct ctl *ctl)
{
    return core_now(ctl);
}

/* ---- in the records ---- */

struct clock_record {
    const char *boot;
    int64_t base_ms, wall_ms, now_ms;
};

static struct object_row row_of_clock(const char *spec)
{
    return (struct object_row){ .kind = "clock", .project = "", .name = "steady", .spec = spec };
}

static int64_t number_of(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    return node && node->kind == TEXT_INT ? node->integer : 0;
}

static bool read_recorded(struct store *store, struct arena *arena, struct clock_record *out)
{
    struct report report;
    struct object_row row = row_of_clock(NULL);
    if (store_get_object(store, arena, &row, NULL) != 1)
        return false;
    report_init(&report, arena);
    const struct text_node *map = json_parse(arena, row.spec, strlen(row.spec), 0, &report);
    const struct text_node *boot = map ? text_get(map, "boot") : NULL;
    *out = (struct clock_record){ .boot = boot && boot->kind == TEXT_STR ? boot->str : "",
                                  .base_ms = number_of(map, "base"),
                                  .wall_ms = number_of(map, "wall"),
                                  .now_ms = number_of(map, "now") };
    return out->now_ms > 0;
}

static int record(struct store *store, const struct clock_record *r, struct err *err)
{
    char spec[256];
    snprintf(spec, sizeof spec,
             "{\"boot\":\"%.64s\",\"base\":%" PRId64 ",\"wall\":%" PRId64 ",\"now\":%" PRId64 "}",
             r->boot, r->base_ms, r->wall_ms, r->now_ms);
    struct object_row row = row_of_clock(spec);
    return store_put_object(store, &row, err);
}

/* Of the newest event; 0: none, or it is older than that column. */
static int64_t last_event_ms(struct store *store, struct arena *arena)
{
    uint64_t last = store_last_event(store);
    const struct event_range range = { .after = last ? last - 1 : 0, .limit = 1 };
    struct event_row *rows;
    size_t n = 0;
    return last && store_events(store, arena, &range, &rows, &n, NULL) == 0 && n
               ? (int64_t)rows[0].steady_ms
               : 0;
}

int clock_resume(struct store *store, const char *boot, uint64_t wall_ms, uint64_t up_ms,
                 struct clock_start *out, struct err *err)
{
    struct arena *arena = arena_create();
    struct clock_record was, is = { .boot = boot, .wall_ms = (int64_t)wall_ms };
    bool known = read_recorded(store, arena, &was), same = known && strcmp(was.boot, boot) == 0;
    int64_t away = known && is.wall_ms > was.wall_ms ? is.wall_ms - was.wall_ms : 0;
    is.now_ms = same ? was.base_ms + (int64_t)up_ms : known ? was.now_ms + away : is.wall_ms;
    int64_t last = same ? 0 : last_event_ms(store, arena); /* later than what was kept */
    is.now_ms = is.now_ms < last ? last : is.now_ms;
    is.base_ms = is.now_ms - (int64_t)up_ms;
    *out = (struct clock_start){ .base_ms = is.base_ms,
                                 .rebooted = known && !same,
                                 .away_ms = known && !same ? (uint64_t)away : 0 };
    arena_destroy(arena);
    return record(store, &is, err) < 0 || store_commit(store, err) < 0 ? -1 : 0;
}

bool clock_recorded(struct store *store, int64_t *base_ms)
{
    struct arena *arena = arena_create();
    struct clock_record r;
    bool known = read_recorded(store, arena, &r);
    if (known)
        *base_ms = r.base_ms;
    arena_destroy(arena);
    return known;
}

void clock_keep(struct ctl *ctl)
{
    uint64_t now = core_now(ctl);
    if (!ctl->config.boot || now < ctl->clock.kept_ms + KEEP_EVERY_MS)
        return;
    const struct clock_record r = { .boot = ctl->config.boot,
                                    .base_ms = ctl->config.base_ms,
                                    .wall_ms = (int64_t)core_date(ctl),
                                    .now_ms = (int64_t)now };
    ctl->clock.kept_ms = now;
    record(ctl->config.store, &r, NULL);
}

/* ---- saying so ---- */

/* Both clocks are read one after the other. */
static uint64_t whole_seconds(int64_t ms)
{
    return (uint64_t)(ms + 500) / 1000 * 1000;
}

void clock_look(struct ctl *ctl)
{
    char text[160], span[FMT_MAX];
    int64_t by = set_by(ctl) - ctl->clock.set_by;
    bool first = !ctl->clock.seen;
    ctl->clock.set_by += by;
    ctl->clock.seen = true;
    if (first || (by > -SET_MS && by < SET_MS))
        return;
    snprintf(text, sizeof text,
             "the machine's clock was set %s by %s: dates change, limits and waits do not",
             by < 0 ? "back" : "forward", fmt_duration(span, whole_seconds(by < 0 ? -by : by)));
    event_server(ctl, "clock.set", text);
}

static void on_told(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    (void)answer;
}

void clock_tell_reboot(struct ctl *ctl, uint64_t away_ms)
{
    char text[160], span[FMT_MAX];
    snprintf(text, sizeof text,
             "the machine was started anew; by its clock it was away for %s, which counts in what "
             "waits and expires",
             fmt_duration(span, whole_seconds((int64_t)away_ms)));
    ctl_server_event(ctl, "clock.rebooted", text, on_told, NULL);
}
