/* The openb lists of tasks (alibaba/clusterdata, cluster-trace-gpu-v2023): one task a row, with the
 * second it was made, was scheduled and went away. */
#include "sim/reading.h"

#define SECONDS "seconds: a whole number"

struct columns {
    int cpu, memory, gpus, share, types, made, placed, gone;
};

static bool find(struct sheet *s, struct columns *c)
{
    static const char times[] = "this list says when tasks come and go in creation_time and "
                                "deletion_time; without them it is no workload";
    *c = (struct columns){ .cpu = sheet_column(s, "cpu_milli"),
                           .memory = sheet_column(s, "memory_mib"),
                           .gpus = sheet_column(s, "num_gpu"),
                           .share = sheet_column(s, "gpu_milli"),
                           .types = sheet_column(s, "gpu_spec"),
                           .made = sheet_column(s, "creation_time"),
                           .placed = sheet_column(s, "scheduled_time"),
                           .gone = sheet_column(s, "deletion_time") };
    static const char *const names[] = { "cpu_milli", "memory_mib", "num_gpu", "gpu_milli" };
    const int at[] = { c->cpu, c->memory, c->gpus, c->share };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        if (at[i] < 0)
            sheet_lacks(s, names[i],
                        "what a task asks for: cpu_milli,memory_mib,num_gpu,gpu_milli");
    if (c->made < 0)
        sheet_lacks(s, "creation_time", times);
    if (c->gone < 0)
        sheet_lacks(s, "deletion_time", times);
    return report_ok(s->report);
}

/* One whole GPU is 1000 of its thousandths; several are always whole. */
static int read_amounts(struct sheet *s, const struct columns *c, struct trace_job *job)
{
    uint64_t mib = 0, gpus = 0, share = 0;
    if (sheet_u64(s, c->cpu, "thousandths of a core: a whole number", &job->cpu_milli) |
        sheet_u64(s, c->memory, "MiB: a whole number", &mib) |
        sheet_u64(s, c->gpus, "GPUs: a whole number", &gpus) |
        sheet_u64(s, c->share, "thousandths of a GPU: 0 to 1000", &share))
        return -1;
    if (share > 1000) {
        sheet_bad(s, c->share, "thousandths of a GPU: 0 to 1000");
        return -1;
    }
    if (gpus > 1024 || mib > UINT64_MAX >> 21) {
        sheet_bad(s, gpus > 1024 ? c->gpus : c->memory, "no machine has so much");
        return -1;
    }
    job->memory = mib << 20;
    job->gpu_milli = gpus == 1 ? share : gpus * 1000;
    return 0;
}

static void read_row(struct reading *r, struct sheet *s, const struct columns *c)
{
    char types[SHEET_FIELD], text[SHEET_FIELD];
    struct trace_job job = { .tasks = 1, .gpu_types = "", .queue = "" };
    uint64_t made = 0, gone = 0, placed = 0;
    if (!*sheet_text(s, c->gone, text)) {
        r->left_out++;
        return;
    }
    if (read_amounts(s, c, &job) | sheet_u64(s, c->made, SECONDS, &made) |
        sheet_u64(s, c->gone, SECONDS, &gone))
        return;
    if (!*sheet_text(s, c->placed, text))
        placed = made;
    else if (sheet_u64(s, c->placed, SECONDS, &placed))
        return;
    if (gone < placed || placed < made) {
        sheet_bad(s, gone < placed ? c->gone : c->placed,
                  "creation_time <= scheduled_time <= deletion_time");
        return;
    }
    job.gpu_types = sheet_text(s, c->types, types);
    struct arrival arrival = { .at_ms = made * 1000,
                               .run_ms = (gone - placed) * 1000,
                               .pattern = reading_trace(r, &job, s),
                               .owner = "openb" };
    if (arrival.pattern != UINT32_MAX)
        reading_arrival(r, &arrival);
}

void read_openb(struct reading *r)
{
    struct sheet s = { .text = r->text, .len = r->len, .separator = ',', .report = r->report };
    struct columns c;
    sheet_begin(&s);
    if (!find(&s, &c))
        return;
    while (sheet_next(&s))
        read_row(r, &s, &c);
}
