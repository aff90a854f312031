/* One reading of the thread's clock a turn, because that clock is a system call; how a turn's time
 * divides among its works is told by the monotonic clock, which is not. */
#include "base/turn_meter.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <stddef.h>
#include <string.h>

#define WORKS 24 /* kinds of work of one turn; more are "others" */

struct work {
    const char *what;
    uint64_t us, job, longest_us; /* job: of the longest piece */
};

struct turn_meter {
    struct turn_clocks clocks;
    struct turn_figures figures;
    uint64_t cpu_us, since_us, disk_us; /* clocks: at the turn's begin; of the current piece */
    const char *what;                   /* NULL: nothing that was named */
    uint64_t job;
    struct work works[WORKS];
    size_t n;
};

static const uint64_t bounds[] = { TURN_BOUNDS_US };
_Static_assert(ARRAY_LEN(bounds) == TURN_BINS - 1, "a bin for each bound and one above");

struct turn_meter *turn_meter_create(const struct turn_clocks *clocks)
{
    struct turn_meter *m = mem_new(sizeof *m);
    m->clocks = clocks ? *clocks : (struct turn_clocks){ clock_thread_us, clock_mono_us };
    m->figures.max_cause = "";
    m->cpu_us = m->clocks.thread();
    m->since_us = m->clocks.mono();
    return m;
}

void turn_meter_destroy(struct turn_meter *m)
{
    free(m);
}

uint64_t turn_meter_bound(unsigned bin)
{
    return bin < ARRAY_LEN(bounds) ? bounds[bin] : 0;
}

/* ---- works ---- */

static struct work *work_of(struct turn_meter *m, const char *what)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->works[i].what == what || strcmp(m->works[i].what, what) == 0)
            return &m->works[i];
    if (m->n == WORKS)
        m->works[WORKS - 1].what = "others";
    else
        m->works[m->n++] = (struct work){ .what = what };
    return &m->works[m->n - 1];
}

/* The piece of work that ends here. */
static void charge(struct turn_meter *m)
{
    uint64_t now = m->clocks.mono(), us = now - m->since_us;
    m->since_us = now;
    if (us == 0 || !m->what)
        return;
    struct work *work = work_of(m, m->what);
    work->us += us;
    if (us >= work->longest_us) {
        work->longest_us = us;
        work->job = m->job;
    }
}

struct turn_work turn_work_begin(struct turn_meter *m, const char *what, uint64_t job)
{
    if (!m)
        return (struct turn_work){ .meter = NULL };
    struct turn_work outer = { .meter = m, .what = m->what, .job = m->job };
    charge(m);
    m->what = what;
    m->job = job;
    return outer;
}

void turn_work_end(struct turn_work *outer)
{
    struct turn_meter *m = outer->meter;
    if (!m)
        return;
    charge(m);
    m->what = outer->what;
    m->job = outer->job;
}

void turn_meter_disk(struct turn_meter *m, uint64_t us)
{
    if (!m)
        return;
    m->disk_us += us;
    m->since_us += us; /* no work of this thread */
}

/* ---- turns ---- */

/* What no work with a name took is the rest of the turn's processor time: the monotonic clock goes
 * on while the loop sleeps and cannot tell it. */
static const struct work *largest(const struct turn_meter *m, uint64_t cpu_us)
{
    static const struct work others = { .what = "others" };
    const struct work *most = NULL;
    uint64_t named = 0;
    for (size_t i = 0; i < m->n; i++) {
        named += m->works[i].us;
        if (!most || m->works[i].us > most->us)
            most = &m->works[i];
    }
    return most && most->us + named >= cpu_us ? most : &others;
}

static void count(struct turn_figures *f, uint64_t cpu_us, uint64_t disk_us)
{
    unsigned bin = 0;
    while (bin < ARRAY_LEN(bounds) && cpu_us > bounds[bin])
        bin++;
    f->turns++;
    f->bins[bin]++;
    f->cpu_us_sum += cpu_us;
    f->disk_us_sum += disk_us;
    if (disk_us > f->disk_us_max)
        f->disk_us_max = disk_us;
    f->longs += cpu_us > TURN_LONG_US;
}

static void say(const struct work *work, uint64_t cpu_us, uint64_t disk_us)
{
    if (cpu_us > TURN_LONG_US)
        log_warn("loop.turn", "cpu_ms=%llu disk_ms=%llu cause=\"%s\" job=%llu",
                 (unsigned long long)cpu_us / 1000, (unsigned long long)disk_us / 1000, work->what,
                 (unsigned long long)work->job);
    else if (disk_us > TURN_LONG_US)
        log_info("loop.disk", "a commit waited %llu ms", (unsigned long long)disk_us / 1000);
}

static void begin_turn(struct turn_meter *m, uint64_t now)
{
    m->cpu_us = now;
    m->disk_us = 0;
    m->n = 0;
}

void turn_meter_loaded(struct turn_meter *m)
{
    uint64_t now = m->clocks.thread();
    m->figures.load_us = now - m->cpu_us;
    m->since_us = m->clocks.mono();
    begin_turn(m, now);
}

void turn_meter_end(struct turn_meter *m)
{
    if (!m)
        return;
    uint64_t now = m->clocks.thread(), cpu_us = now - m->cpu_us;
    charge(m);
    const struct work *most = largest(m, cpu_us);
    count(&m->figures, cpu_us, m->disk_us);
    if (cpu_us > m->figures.cpu_us_max) {
        m->figures.cpu_us_max = cpu_us;
        m->figures.max_cause = most->what;
    }
    say(most, cpu_us, m->disk_us);
    begin_turn(m, now);
}

struct turn_figures turn_meter_figures(const struct turn_meter *m)
{
    return m ? m->figures : (struct turn_figures){ .max_cause = "" };
}
