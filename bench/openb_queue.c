/* Lists of openb as a queue: tasks come at their times, wait in the order of their arrival, start
 * when the policy finds a node, and end. Whoever does not fit is passed by all behind it, as in a
 * cluster that tries each waiting task again after each change. Prints waits by size as JSON.
 *
 *   openb_queue NODES LIST TIMES POLICY...      TIMES: a line "at_ms run_ms" for each task */
#include "openb_policy.h"

#include "base/file.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES (64u << 20)
enum { SIZES = 7 };
static const char *const size_names[SIZES] = { "cpu", "share", "1", "2", "4", "8", "other" };

struct times {
    uint64_t at_ms, run_ms;
};
struct run { /* a task on its node; first what the heap is ordered by */
    uint64_t over_ms, nth;
    const struct task *task;
    size_t host;
    uint32_t gpus[GPUS], n;
};
struct queue {
    const struct trace *trace;
    const struct policy *policy;
    const struct times *times;
    struct experiment experiment;
    void *data;
    VEC(struct run) runs;
    VEC(size_t) waiting;
    bool *failed; /* per shape, in this pass */
    uint64_t now_ms, used, come_ms;
    double used_ms; /* milli-GPU times milliseconds, while tasks come */
    VEC(uint64_t) waits[SIZES];
};

static int size_of(const struct task *t)
{
    switch (t->n) {
    case 0: return 0;
    case 1: return task_shares(t) ? 1 : 2;
    case 2: return 3;
    case 4: return 4;
    case 8: return 5;
    default: return 6;
    }
}

/* ---- nodes ---- */

static void start(struct queue *q, size_t nth, const struct place *p)
{
    const struct task *t = &q->trace->tasks[nth];
    struct host *h = &q->experiment.hosts[p->host];
    struct run run = {
        .over_ms = q->now_ms + q->times[nth].run_ms, .nth = nth, .task = t, .host = p->host
    };
    h->cpu -= t->cpu;
    h->memory -= t->memory;
    if (task_shares(t)) {
        h->gpu[p->gpu] = (uint16_t)(h->gpu[p->gpu] - t->milli);
        run.gpus[run.n++] = p->gpu;
    }
    for (uint32_t i = 0; run.n < t->n; i++)
        if (h->gpu[i] == DEVICE_MILLI) {
            h->gpu[i] = 0;
            run.gpus[run.n++] = i;
        }
    q->used += task_gpu(t);
    q->policy->placed(q->data, &q->experiment, p->host);
    vec_push(&q->waits[size_of(t)], q->now_ms - q->times[nth].at_ms);
    heap_push(&q->runs, run);
}

static void end(struct queue *q, const struct run *run)
{
    const struct task *t = run->task;
    struct host *h = &q->experiment.hosts[run->host];
    h->cpu += t->cpu;
    h->memory += t->memory;
    for (uint32_t i = 0; i < run->n; i++)
        h->gpu[run->gpus[i]] =
            (uint16_t)(task_shares(t) ? h->gpu[run->gpus[i]] + t->milli : DEVICE_MILLI);
    q->used -= task_gpu(t);
    q->policy->placed(q->data, &q->experiment, run->host);
}

/* ---- the queue ---- */

static void pass(struct queue *q)
{
    size_t kept = 0;
    memset(q->failed, 0, q->trace->n_shapes * sizeof *q->failed);
    for (size_t i = 0; i < q->waiting.n; i++) {
        size_t nth = q->waiting.at[i];
        const struct task *t = &q->trace->tasks[nth];
        struct place p = { .host = NO_HOST };
        if (!q->failed[t->shape])
            p = q->policy->choose(q->data, &q->experiment, t);
        if (p.host == NO_HOST) {
            q->failed[t->shape] = true;
            q->waiting.at[kept++] = nth;
        } else {
            start(q, nth, &p);
        }
    }
    q->waiting.n = kept;
}

static void go_to(struct queue *q, uint64_t at_ms)
{
    if (q->now_ms < q->come_ms)
        q->used_ms +=
            (double)q->used * (double)((at_ms < q->come_ms ? at_ms : q->come_ms) - q->now_ms);
    q->now_ms = at_ms;
}

static void play(struct queue *q)
{
    size_t next = 0, n = q->trace->n_tasks;
    q->come_ms = q->times[n - 1].at_ms;
    while (next < n || q->runs.n) {
        uint64_t at = q->runs.n ? q->runs.at[0].over_ms : UINT64_MAX;
        at = next < n && q->times[next].at_ms < at ? q->times[next].at_ms : at;
        go_to(q, at);
        while (q->runs.n && q->runs.at[0].over_ms <= at) {
            struct run run;
            heap_take(&q->runs, &run);
            end(q, &run);
        }
        while (next < n && q->times[next].at_ms <= at)
            vec_push(&q->waiting, next++);
        pass(q);
    }
}

/* ---- output ---- */

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print(struct queue *q, bool first)
{
    double whole = (double)q->trace->capacity * (double)q->come_ms;
    printf("%s\n{\"policy\":\"%s\",\"gpu\":%.6f,\"never\":%zu,\"waits\":{", first ? "" : ",",
           q->policy->name, q->used_ms / whole, q->waiting.n);
    for (int i = 0; i < SIZES; i++) {
        size_t k = q->waits[i].n;
        double sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += (double)q->waits[i].at[j];
        if (k)
            qsort(q->waits[i].at, k, sizeof(uint64_t), by_size);
        printf("%s\"%s\":{\"jobs\":%zu,\"mean_ms\":%.0f,\"p95_ms\":%" PRIu64 "}", i ? "," : "",
               size_names[i], k, k ? sum / (double)k : 0,
               k ? q->waits[i].at[(k - 1) * 95 / 100] : 0);
    }
    fputs("}}", stdout);
}

static void run_one(const struct trace *trace, const struct times *times,
                    const struct policy *policy, bool first)
{
    struct queue q = { .trace = trace, .policy = policy, .times = times };
    q.experiment = (struct experiment){ .trace = trace, .seed = 1 };
    q.experiment.hosts = mem_new(trace->n_hosts * sizeof *q.experiment.hosts);
    memcpy(q.experiment.hosts, trace->hosts, trace->n_hosts * sizeof *q.experiment.hosts);
    q.failed = mem_new(trace->n_shapes * sizeof *q.failed);
    q.data = policy->create(&q.experiment);
    play(&q);
    print(&q, first);
    policy->destroy(q.data);
    for (int i = 0; i < SIZES; i++)
        vec_fini(&q.waits[i]);
    vec_fini(&q.runs);
    vec_fini(&q.waiting);
    free(q.failed);
    free(q.experiment.hosts);
}

static int read_times(const char *file, size_t n, struct times **out, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (file_read(file, FILE_BYTES, &text, &len, err))
        return -1;
    char *at = text;
    *out = mem_new((n + 1) * sizeof **out);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            char *end = NULL;
            uint64_t number = strtoull(at, &end, 10);
            if (end == at || (k == 0 && i && number < (*out)[i - 1].at_ms))
                return err_set(err, ERR_INPUT, "%s: no time of task %zu", file, i);
            *(k ? &(*out)[i].run_ms : &(*out)[i].at_ms) = number;
            at = end;
        }
    return 0;
}

int main(int argc, char **argv)
{
    struct trace trace = { 0 };
    struct times *times = NULL;
    struct err err = { 0 };
    int status = argc < 5 ? err_set(&err, ERR_INPUT, "openb_queue NODES LIST TIMES POLICY...")
                          : trace_read(&trace, argv[1], argv[2], &err);
    if (status == 0)
        status = read_times(argv[3], trace.n_tasks, &times, &err);
    for (int i = 4; status == 0 && i < argc; i++)
        if (!policy_find(argv[i]))
            status = err_set(&err, ERR_INPUT, "no policy is called %s", argv[i]);
    if (status == 0) {
        printf("{\"runs\":[");
        for (int i = 4; i < argc; i++)
            run_one(&trace, times, policy_find(argv[i]), i == 4);
        puts("]}");
    } else {
        fprintf(stderr, "%s\n", err.what);
    }
    free(times);
    trace_fini(&trace);
    return status < 0 ? err_exit_status(err.code) : 0;
}
