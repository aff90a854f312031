/* Runs forecasts of the queue: one by the limits of the jobs that run, others with run times drawn
 * from how long such jobs ran. Work is counted and bounded; a cluster whose passes are too dear is
 * not forecast. */
#include "explain/start_forecast.h"

#include "answer/question.h"
#include "base/dice.h"
#include "base/map.h"
#include "base/mem.h"
#include "ctl/ctl.h"
#include "queue/queues.h"

/* Units of forecast_work(). A cluster of which one pass costs more than WORK_PASS is not forecast:
 * it would not come far. */
#define WORK_PASS  4000u
#define WORK_LIMIT 200000u
#define WORK_DRAW  200000u
#define WORK_DRAWS 200000u
#define OVERDUE                                                                                    \
    3u /* halves: what ran longer than all that are known is taken to run as long                  \
          again by half */

struct telling {
    const struct start_forecast_request *ask;
    struct map *asked; /* jobs whose run time was asked for */
    uint32_t known;
    uint32_t draw;
};

/* ---- how long a job runs ---- */

static bool find_samples(const struct telling *t, uint64_t job, struct run_samples *out)
{
    const struct start_forecast_request *ask = t->ask;
    const struct run_times *times = question_run_times(ask->ctl);
    const struct job_row *row = question_row(ask->ctl, job);
    if (row)
        return run_times_find(times, row, out);
    return ask->as && job == ask->job && run_times_find(times, ask->as, out);
}

static void count(struct telling *t, uint64_t job, bool known)
{
    if (job == t->ask->job || map_get(t->asked, job)) /* its own changes nothing */
        return;
    map_set(t->asked, job, t);
    t->known += known;
}

/* In thousandths of the run times that are known. The same in all passes of a forecast; over the
 * forecasts a job gets one of each fifth, and others another one. */
static uint32_t drawn(const struct telling *t, uint64_t job)
{
    struct dice dice = { .state = job };
    uint64_t roll = dice_roll(&dice);
    uint64_t part = (roll / 1000 + t->draw) % START_FORECAST_DRAWS;
    return (uint32_t)((roll % 1000 + 1000 * part) / START_FORECAST_DRAWS);
}

static uint64_t learnt_ms(void *arg, const struct forecast_run *run)
{
    struct telling *t = arg;
    struct run_samples samples;
    bool known = find_samples(t, run->job, &samples);
    count(t, run->job, known);
    if (!known)
        return run->limit_ms;
    uint64_t ms = run_samples_beyond(&samples, run->ran_ms, drawn(t, run->job));
    if (!ms)
        ms = run->ran_ms / 2 * OVERDUE + 1;
    return run->spec->limits.run_time_ms.has && ms > run->limit_ms ? run->limit_ms : ms;
}

/* ---- forecasts ---- */

static bool forecast(struct telling *t, uint64_t work, bool learnt, struct forecast *out)
{
    const struct start_forecast_request *ask = t->ask;
    const struct forecast_ask question = { .snapshot = ask->snapshot,
                                           .job = ask->job,
                                           .now_ms = ctl_now(ask->ctl),
                                           .lasts = learnt ? learnt_ms : NULL,
                                           .arg = t,
                                           .usage = { queues_ahead_at, queues_ahead_hold,
                                                      queues_ahead(question_queues(ask->ctl),
                                                                   ask->arena) },
                                           .work = work };
    return sched_forecast(&question, ask->arena, out) && out->found;
}

static int by_time(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* As many as the work allows, and at least one. */
static void tell_learnt(struct telling *t, struct start_forecast *out)
{
    uint64_t at[START_FORECAST_DRAWS], spent = 0;
    uint32_t n = 0;
    struct forecast one;
    for (t->draw = 0; t->draw < START_FORECAST_DRAWS && spent < WORK_DRAWS; t->draw++) {
        if (!forecast(t, WORK_DRAW, true, &one))
            break;
        spent += one.spent;
        at[n++] = one.at_ms;
        if (t->known == 0)
            break; /* they would all be the same, and by limits */
    }
    out->known = t->known;
    out->asked = (uint32_t)map_count(t->asked);
    if (t->known == 0 || n == 0)
        return;
    qsort(at, n, sizeof *at, by_time);
    out->learnt = true;
    out->early_ms = at[0];
    out->at_ms = at[n / 2];
    out->late_ms = at[n - 1];
}

void start_forecast_make(const struct start_forecast_request *ask, struct start_forecast *out)
{
    struct telling t = { .ask = ask, .asked = map_create() };
    *out = (struct start_forecast){ .learnt = false };
    if (!find_samples(&t, ask->job, &out->own))
        out->own.n = 0;
    if (forecast_work(ask->snapshot) <= WORK_PASS) {
        forecast(&t, WORK_LIMIT, false, &out->by_limit);
        tell_learnt(&t, out);
    }
    map_destroy(t.asked);
}
