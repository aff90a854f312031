/* Events of launchers. A crash loop of ranks, or a launcher that chatters, must not fill the
 * records: each job has a burst and a rate, and what is left out is counted in the next event. */
#include "rdzv/jobs/launcher_events.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"

#include <string.h>

#define KEPT_MAX 10000u /* while nothing can be committed */

static const struct {
    const char *type;
    bool decides;
} kinds[LAUNCHER_EVENT_N] = {
    [LAUNCHER_EVENT_ROUND] = { .type = "launch.round", .decides = true },
    [LAUNCHER_EVENT_FAILED] = { .type = "launch.failed", .decides = true },
    [LAUNCHER_EVENT_LOST] = { .type = "launch.lost", .decides = true },
    [LAUNCHER_EVENT_OVER] = { .type = "launch.over", .decides = true },
    [LAUNCHER_EVENT_CHECK] = { .type = "launch.check" },
    [LAUNCHER_EVENT_JOINED] = { .type = "launch.joined" },
    [LAUNCHER_EVENT_AGAIN] = { .type = "launch.again", .decides = true },
    [LAUNCHER_EVENT_NOTE] = { .type = "launch.note" },
};
#define EVENT   1000000u /* one, as struct event_rate counts */
#define AWAY_MS 3600000u /* after so long a pause a job has its whole burst again */
static const struct {
    uint64_t burst, per_ms;
} rates[2] = {
    [false] = { .burst = 100 * EVENT, .per_ms = 500 }, /* one in two seconds */
    [true] = { .burst = 200 * EVENT, .per_ms = 2000 },
};

struct kept_event {
    struct launcher_event event;
    char *text;
};
struct launcher_events {
    VEC(struct kept_event) kept;
    size_t recorded; /* so many are in the open transaction */
};

struct launcher_events *launcher_events_create(void)
{
    return mem_new(sizeof(struct launcher_events));
}

void launcher_events_destroy(struct launcher_events *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->kept.n; i++)
        free(m->kept.at[i].text);
    vec_fini(&m->kept);
    free(m);
}

/* Takes one event out of what the job may write, or counts one that it may not. */
static bool limit_spend(struct event_rate *limit, bool decides, uint64_t now_ms)
{
    uint64_t burst = rates[decides].burst;
    uint64_t passed = limit->at_ms && now_ms > limit->at_ms ? now_ms - limit->at_ms : 0;
    if (limit->at_ms == 0 || passed > AWAY_MS)
        limit->micro = burst;
    else
        limit->micro += passed * rates[decides].per_ms;
    limit->micro = limit->micro < burst ? limit->micro : burst;
    limit->at_ms = now_ms ? now_ms : 1;
    if (limit->micro < EVENT) {
        limit->dropped++;
        return false;
    }
    limit->micro -= EVENT;
    return true;
}

/* What a launcher says comes from outside: one line of valid text. */
static char *cleaned(const char *text, uint32_t dropped)
{
    struct buf out = BUF_INIT(2 * LAUNCHER_EVENT_TEXT_MAX);
    size_t len = strlen(text);
    size_t n =
        scan_utf8_prefix(text, len < LAUNCHER_EVENT_TEXT_MAX ? len : LAUNCHER_EVENT_TEXT_MAX);
    for (size_t i = 0; i < n; i++)
        buf_putc(&out, (unsigned char)text[i] < ' ' || text[i] == 127 ? ' ' : text[i]);
    if (n < len)
        buf_puts(&out, " ...");
    if (dropped)
        buf_addf(&out, " (%u before this were not recorded)", dropped);
    return out.data ? buf_take(&out) : mem_strdup("");
}

void launcher_events_add(struct launcher_events *m, struct event_rates *limits, uint64_t now_ms,
                         const struct launcher_event *event)
{
    bool decides = kinds[event->kind].decides;
    struct event_rate *limit = decides ? &limits->decides : &limits->details;
    if (m->kept.n >= KEPT_MAX) {
        limit->dropped++;
        return;
    }
    if (!limit_spend(limit, decides, now_ms))
        return;
    struct kept_event *kept = vec_add(&m->kept);
    kept->event = *event;
    kept->text = cleaned(event->text ? event->text : "", limit->dropped);
    kept->event.text = kept->text;
    limit->dropped = 0;
}

void launcher_events_record(struct launcher_events *m, launcher_events_write *write, void *arg)
{
    for (; m->recorded < m->kept.n; m->recorded++) {
        const struct launcher_event *event = &m->kept.at[m->recorded].event;
        write(arg, event, kinds[event->kind].type);
    }
}

void launcher_events_committed(struct launcher_events *m)
{
    for (size_t i = 0; i < m->recorded; i++)
        free(m->kept.at[i].text);
    m->kept.n -= m->recorded;
    if (m->kept.n)
        memmove(m->kept.at, m->kept.at + m->recorded, m->kept.n * sizeof *m->kept.at);
    m->recorded = 0;
}

void launcher_events_undone(struct launcher_events *m)
{
    m->recorded = 0;
}

bool launcher_events_waiting(const struct launcher_events *m)
{
    return m->kept.n > 0;
}
