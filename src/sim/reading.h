/* A workload while it is read: what the readers of the formats fill. Internal to sim/. */
#ifndef SIM_READING_H
#define SIM_READING_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "dialect/dialect.h"
#include "sim/arrival.h"
#include "sim/sheet.h"

struct reading {
    const struct dialects *dialects;
    const char *text;
    size_t len;
    struct arena *arena;
    struct report *report;
    struct string_map *texts, *words; /* pattern numbers + 1; words to themselves */
    VEC(struct pattern) patterns;
    VEC(struct arrival) arrivals;
    VEC(struct outage) outages;
    VEC(const char *) queues;
    uint64_t fail_ppm, left_out;
    struct declarations *says;
};

/* What a row of a trace says of its job: tasks that are alike. */
struct trace_job {
    uint64_t tasks;
    uint64_t cpu_milli, memory, gpu_milli; /* of each */
    const char *gpu_types;                 /* "A|B"; "" any */
    const char *queue;                     /* "" default */
    uint64_t priority;                     /* 0: not said */
    uint64_t limit_ms;                     /* 0: none */
};

/* One text for all that is equal. */
const char *reading_word(struct reading *, const char *word);
/* The pattern of that text, checked once. place: whose it is; where: "jobs[3]". UINT32_MAX: it is
 * wrong, and reported. */
uint32_t reading_pattern(struct reading *, const char *text, struct place place, const char *where);
/* The pattern of a row, or UINT32_MAX. */
uint32_t reading_trace(struct reading *, const struct trace_job *, const struct sheet *);
/* Adds an arrival; false: there are too many, reported. */
bool reading_arrival(struct reading *, const struct arrival *);

void read_openb(struct reading *);
void read_sacct(struct reading *);
void read_swf(struct reading *);
void read_jobs(struct reading *);

#endif
