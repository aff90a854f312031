/* A row of `object` has, of this boot of the machine, what the steady clock differs from
 * CLOCK_BOOTTIME, and a pair of both clocks that were read together, from which a start after the
 * next boot goes on. */
#include "clock/steady_clock.h"

#include "store/store.h"
#include "text/json.h"

#include "base/mem.h"
#include "base/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct object_row row_of_clock(const char *spec)
{
    return (struct object_row){ .kind = "clock", .project = "", .name = "steady", .spec = spec };
}

static int64_t number_of(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    return node && node->kind == TEXT_INT ? node->integer : 0;
}

static bool read_recorded(struct store *store, struct arena *arena, struct clock_pair *out)
{
    struct report report;
    struct object_row row = row_of_clock(NULL);
    if (store_get_object(store, arena, &row, NULL) != 1)
        return false;
    report_init(&report, arena);
    const struct text_node *map = json_parse(arena, row.spec, strlen(row.spec), 0, &report);
    const struct text_node *boot = map ? text_get(map, "boot") : NULL;
    *out = (struct clock_pair){ .boot = boot && boot->kind == TEXT_STR ? boot->str : "",
                                .base_ms = number_of(map, "base"),
                                .wall_ms = number_of(map, "wall"),
                                .now_ms = number_of(map, "now") };
    return out->now_ms > 0;
}

int clock_record(struct store *store, const struct clock_pair *r, struct err *err)
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
    struct clock_pair was, is = { .boot = boot, .wall_ms = (int64_t)wall_ms };
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
    return clock_record(store, &is, err) < 0 || store_commit(store, err) < 0 ? -1 : 0;
}

bool clock_recorded(struct store *store, int64_t *base_ms)
{
    struct arena *arena = arena_create();
    struct clock_pair r;
    bool known = read_recorded(store, arena, &r);
    if (known)
        *base_ms = r.base_ms;
    arena_destroy(arena);
    return known;
}
