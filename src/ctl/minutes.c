/* Events of launchers. A crash loop of ranks, or a launcher that chatters, must not fill the
 * records: each job has a burst and a rate, and what is left out is counted in the next event. */
#include "ctl/minutes.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "ctl/core.h"

#include <string.h>

#define KEPT_MAX 10000u /* while nothing can be committed */

static const struct {
    const char *type;
    bool decides;
} kinds[MINUTE_N] = {
    [MINUTE_ROUND] = { .type = "launch.round", .decides = true },
    [MINUTE_FAILED] = { .type = "launch.failed", .decides = true },
    [MINUTE_LOST] = { .type = "launch.lost", .decides = true },
    [MINUTE_OVER] = { .type = "launch.over", .decides = true },
    [MINUTE_CHECK] = { .type = "launch.check" },
    [MINUTE_JOINED] = { .type = "launch.joined" },
    [MINUTE_AGAIN] = { .type = "launch.again", .decides = true },
    [MINUTE_NOTE] = { .type = "launch.note" },
};
#define EVENT   1000000u /* one, as struct pace counts */
#define AWAY_MS 3600000u /* after so long a pause a job has its whole burst again */
static const struct {
    uint64_t burst, per_ms;
} rates[2] = {
    [false] = { .burst = 100 * EVENT, .per_ms = 500 }, /* one in two seconds */
    [true] = { .burst = 200 * EVENT, .per_ms = 2000 },
};

struct kept {
    struct minute minute;
    char *text;
};
struct minutes {
    VEC(struct kept) kept;
    size_t recorded; /* so many are in the open transaction */
};

struct minutes *minutes_create(void)
{
    return mem_new(sizeof(struct minutes));
}

void minutes_destroy(struct minutes *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->kept.n; i++)
        free(m->kept.at[i].text);
    vec_fini(&m->kept);
    free(m);
}

/* Takes one event out of what the job may write, or counts one that it may not. */
static bool pace_spend(struct pace *pace, bool decides, uint64_t now_ms)
{
    uint64_t burst = rates[decides].burst;
    uint64_t passed = pace->at_ms && now_ms > pace->at_ms ? now_ms - pace->at_ms : 0;
    if (pace->at_ms == 0 || passed > AWAY_MS)
        pace->micro = burst;
    else
        pace->micro += passed * rates[decides].per_ms;
    pace->micro = pace->micro < burst ? pace->micro : burst;
    pace->at_ms = now_ms ? now_ms : 1;
    if (pace->micro < EVENT) {
        pace->dropped++;
        return false;
    }
    pace->micro -= EVENT;
    return true;
}

/* What a launcher says comes from outside: one line of valid text. */
static char *cleaned(const char *text, uint32_t dropped)
{
    struct buf out = BUF_INIT(2 * MINUTE_TEXT_MAX);
    size_t len = strlen(text);
    size_t n = scan_utf8_prefix(text, len < MINUTE_TEXT_MAX ? len : MINUTE_TEXT_MAX);
    for (size_t i = 0; i < n; i++)
        buf_putc(&out, (unsigned char)text[i] < ' ' || text[i] == 127 ? ' ' : text[i]);
    if (n < len)
        buf_puts(&out, " ...");
    if (dropped)
        buf_addf(&out, " (%u before this were not recorded)", dropped);
    return out.data ? buf_take(&out) : mem_strdup("");
}

void minutes_add(struct minutes *m, struct paces *paces, uint64_t now_ms,
                 const struct minute *minute)
{
    bool decides = kinds[minute->kind].decides;
    struct pace *pace = decides ? &paces->decides : &paces->details;
    if (m->kept.n >= KEPT_MAX) {
        pace->dropped++;
        return;
    }
    if (!pace_spend(pace, decides, now_ms))
        return;
    struct kept *kept = vec_add(&m->kept);
    kept->minute = *minute;
    kept->text = cleaned(minute->text ? minute->text : "", pace->dropped);
    kept->minute.text = kept->text;
    pace->dropped = 0;
}

void minutes_record(struct minutes *m, struct ctl *ctl)
{
    for (; m->recorded < m->kept.n; m->recorded++) {
        const struct minute *minute = &m->kept.at[m->recorded].minute;
        if (live_find(ctl->live, minute->job))
            event_note(ctl, minute, kinds[minute->kind].type);
    }
}

void minutes_committed(struct minutes *m)
{
    for (size_t i = 0; i < m->recorded; i++)
        free(m->kept.at[i].text);
    m->kept.n -= m->recorded;
    if (m->kept.n)
        memmove(m->kept.at, m->kept.at + m->recorded, m->kept.n * sizeof *m->kept.at);
    m->recorded = 0;
}

void minutes_undone(struct minutes *m)
{
    m->recorded = 0;
}

bool minutes_waiting(const struct minutes *m)
{
    return m->kept.n > 0;
}
