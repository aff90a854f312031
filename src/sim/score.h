/* What a simulation is measured by: waiting times, use over time, ends. Fed with what happens, in
 * the order of time; equal runs give equal figures. */
#ifndef SIM_SCORE_H
#define SIM_SCORE_H

#include "base/vec.h"
#include "sim/cluster_usage.h"
#include "store/store.h"

enum size_class { SIZE_1, SIZE_8, SIZE_64, SIZE_MORE, SIZE_N };
const char *size_class_word(enum size_class); /* "1", "2-8" ...: GPUs, or tasks of jobs without */
enum size_class size_class_of(const struct job_spec *);

/* The same finer, by the GPUs of the whole job. */
enum gpu_class { GPUS_NONE, GPUS_SHARE, GPUS_1, GPUS_2, GPUS_4, GPUS_8, GPUS_MORE, GPUS_N };
const char *gpu_class_word(enum gpu_class); /* "0", "<1", "1", "2", "3-4" ... */
enum gpu_class gpu_class_of(const struct job_spec *);

#define SERIES_MOST 1024u /* points; when there are more, every second one goes */

struct point { /* how it was at a moment */
    uint64_t at_ms;
    uint64_t gpu_used, gpu_all, cpu_used, cpu_all; /* milli */
    uint64_t waiting, running;                     /* jobs */
    uint32_t fragmented;                           /* of a million */
};
struct use { /* milli times milliseconds */
    double gpu_used, gpu_all, cpu_used, cpu_all, gpu_free, wasted;
};
/* Jobs that gave way, by their queue and that of the jobs they gave way to. */
struct taking {
    const char *from, *to; /* to "": what its nodes cost rose above its bid */
    uint64_t jobs;
    double gpu, cpu; /* lost with them: milli times milliseconds */
};
struct score {
    struct cluster_usage *usage; /* not owned */
    uint64_t from_ms, now_ms, every_ms, next_ms;
    bool arriving; /* jobs still come */
    struct use use, use_arriving;
    uint64_t waiting, running;
    VEC(uint64_t) waits[SIZE_N];
    VEC(uint64_t) waits_by_gpus[GPUS_N];
    VEC(struct point) series;
    uint64_t submitted, refused, succeeded, failed, stopped;
    uint64_t starts, ends, node_changes; /* of attempts and nodes */
    uint64_t attempts_lost, preempted;
    VEC(struct taking) takings;
    double lost_gpu,
        lost_cpu;  /* milli times milliseconds of attempts that did not end themselves */
    uint64_t rows; /* events of the core */
};

void score_init(struct score *, struct cluster_usage *, uint64_t now_ms);
void score_fini(struct score *);
/* Time goes on to now: how it was until then is counted. */
void score_time(struct score *, uint64_t now_ms);
/* A job got its first places. */
void score_wait(struct score *, enum size_class, enum gpu_class, uint64_t ms);
/* A job gives way. Returns its row of takings; texts have to stay. */
size_t score_evicted(struct score *, const char *from, const char *to);
/* An attempt did not end by itself. taking: the row + 1 when its job gave way, else 0. */
void score_lost(struct score *, const struct task_usage *, uint64_t ms, size_t taking);
/* The last point. */
void score_end(struct score *);

struct wait_figures {
    uint64_t jobs, mean_ms, p50_ms, p95_ms, p99_ms, max_ms;
};
/* Sorts the waits. SIZE_N: of all jobs. */
struct wait_figures score_waits(struct score *, enum size_class);
struct wait_figures score_waits_by_gpus(struct score *, enum gpu_class);

#endif
