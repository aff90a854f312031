#include "ctl/share.h"

#include "base/mem.h"
#include "base/scan.h"
#include "ctl/resolve.h"

#include <stdio.h>
#include <string.h>

/* Of a queue that has a most for each user. */
static const struct entry *quota_of(const struct catalogue *c, const char *queue)
{
    const struct entry *quota = resolve_queue(c, queue);
    return quota && (quota->user_cpu_milli || quota->user_gpu_milli) ? quota : NULL;
}

static bool over(uint64_t most, uint64_t wanted)
{
    return most && wanted > most;
}

/* "8 cores and 2 GPUs" */
static const char *amounts(char *out, size_t size, uint64_t cpu_milli, uint64_t gpu_milli)
{
    char cpu[FMT_MAX], gpu[FMT_MAX];
    int n = 0;
    if (cpu_milli)
        n = snprintf(out, size, "%s cores", fmt_milli(cpu, cpu_milli));
    if (gpu_milli && n >= 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "%s%s GPUs", n ? " and " : "",
                 fmt_milli(gpu, gpu_milli));
    return out;
}

int share_check(const struct catalogue *c, const struct job_spec *job, struct report *report)
{
    const struct entry *quota = quota_of(c, job->queue);
    const struct vector own = vector_of_job(job);
    char asked[80] = "nothing", most[80] = "";
    if (!quota || (!over(quota->user_cpu_milli, own.cpu_milli) &&
                   !over(quota->user_gpu_milli, own.gpu_milli)))
        return 0;
    struct problem *p = report_error(
        report, (struct place){ 0 }, "queue", "asks for %s, and a user has at most %s of \"%.80s\"",
        amounts(asked, sizeof asked, own.cpu_milli, own.gpu_milli),
        amounts(most, sizeof most, quota->user_cpu_milli, quota->user_gpu_milli), quota->name);
    report_hint(report, p,
                "--queue default; or declare \"%.80s\" anew with another user_cpu and user_gpu",
                quota->name);
    return -1;
}
