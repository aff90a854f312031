/* The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a row, -1 where
 * something is not known, ';' before what is said in words. A processor becomes a task of one core.
 */
#include "sim/reading.h"

#include "base/scan.h"
#include "job/job.h"

#include <stdio.h>

/* In the order of the format. */
enum {
    JOB,
    SUBMIT,
    WAIT,
    RUN,
    USED,
    CPU_TIME,
    USED_KB,
    ASKED,
    ASKED_TIME,
    ASKED_KB,
    STATUS,
    USER,
    GROUP,
    PROGRAM,
    QUEUE
};
static const char *const titles[] = { "job",
                                      "submit time",
                                      "wait time",
                                      "run time",
                                      "allocated processors",
                                      "average cpu time",
                                      "used memory",
                                      "requested processors",
                                      "requested time",
                                      "requested memory",
                                      "status",
                                      "user",
                                      "group",
                                      "executable",
                                      "queue",
                                      "partition",
                                      "preceding job",
                                      "think time",
                                      NULL };

/* Some archives have parts of seconds. -1, and anything below 0: not known. */
static bool number(struct sheet *s, int column, int64_t *out)
{
    char text[SHEET_FIELD];
    double value;
    sheet_text(s, column, text);
    if (!scan_real(text, &value) || value > 1e15 || value < -1e15) {
        sheet_bad(s, column, "a number; -1 when it is not known");
        return false;
    }
    *out = value < 0 ? -1 : (int64_t)value;
    return true;
}

static void read_row(struct reading *r, struct sheet *s)
{
    int64_t v[QUEUE + 1] = { 0 };
    char word[32];
    for (int i = 0; i <= QUEUE; i++)
        if (!number(s, i, &v[i]))
            return;
    int64_t tasks = v[ASKED] > 0 ? v[ASKED] : v[USED];
    if (v[RUN] < 0 || v[SUBMIT] < 0 || tasks <= 0) {
        r->left_out++;
        return;
    }
    if (tasks > (int64_t)JOB_MAX_TASKS) {
        sheet_bad(s, v[ASKED] > 0 ? ASKED : USED, "no more than 65536");
        return;
    }
    int64_t kb = v[ASKED_KB] > 0 ? v[ASKED_KB] : v[USED_KB];
    struct trace_job job = { .tasks = (uint64_t)tasks,
                             .cpu_milli = 1000,
                             .memory = kb > 0 ? (uint64_t)kb << 10 : 0,
                             .gpu_types = "",
                             .queue = "",
                             .limit_ms = v[ASKED_TIME] > 0 ? (uint64_t)v[ASKED_TIME] * 1000 : 0 };
    if (v[QUEUE] > 0) {
        snprintf(word, sizeof word, "q%lld", (long long)v[QUEUE]);
        job.queue = reading_word(r, word);
    }
    snprintf(word, sizeof word, "u%lld", (long long)(v[USER] > 0 ? v[USER] : 0));
    struct arrival arrival = { .at_ms = (uint64_t)v[SUBMIT] * 1000,
                               .run_ms = (uint64_t)v[RUN] * 1000,
                               .pattern = reading_trace(r, &job, s),
                               .code = v[STATUS] == 0,
                               .owner = reading_word(r, word) };
    if (arrival.pattern != UINT32_MAX)
        reading_arrival(r, &arrival);
}

void read_swf(struct reading *r)
{
    struct sheet s = { .text = r->text,
                       .len = r->len,
                       .separator = ' ',
                       .comment = ';',
                       .titles = titles,
                       .report = r->report };
    sheet_begin(&s);
    while (sheet_next(&s))
        read_row(r, &s);
}
