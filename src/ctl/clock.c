/* Reads the clocks, which stand still while a tape is told of an input; has them kept in the
 * records (clock/steady_clock.h) and says when one was set. */
#include "ctl/clock.h"

#include "clock/steady_clock.h"
#include "ctl/core.h"
#include "ctl/tape.h"
#include "ctl/tape_scope.h"

#include "base/scan.h"

#include <stdio.h>

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

void clock_keep(struct ctl *ctl)
{
    uint64_t now = core_now(ctl);
    if (!ctl->config.boot || now < ctl->clock.kept_ms + KEEP_EVERY_MS)
        return;
    const struct clock_pair both = { .boot = ctl->config.boot,
                                     .base_ms = ctl->config.base_ms,
                                     .wall_ms = (int64_t)core_date(ctl),
                                     .now_ms = (int64_t)now };
    ctl->clock.kept_ms = now;
    clock_record(ctl->config.store, &both, NULL);
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
