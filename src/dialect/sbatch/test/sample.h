/* A script with these option lines, read. */
#ifndef DIALECT_SBATCH_TEST_SAMPLE_H
#define DIALECT_SBATCH_TEST_SAMPLE_H

#include "dialect/sbatch/sbatch.h"

#include "text/detect.h"

#include <string.h>

struct sample {
    struct arena *arena;
    struct report report;
    struct job_spec *job;
};

/* Whole texts begin with "#!"; others are option lines. */
static inline void sample_read(struct sample *s, const char *lines)
{
    s->arena = arena_create();
    report_init(&s->report, s->arena);
    const char *text = strncmp(lines, "#!", 2) == 0
                           ? lines
                           : arena_printf(s->arena, "#!/bin/bash\n%s\nsrun hostname\n", lines);
    const struct text_node *root = script_parse(s->arena, text, strlen(text), &s->report);
    const struct site site = { .owner = "ada", .work_dir = "/home/ada" };
    s->job = root ? sbatch_dialect.read(s->arena, root, &site, &s->report) : NULL;
}

static inline void sample_end(struct sample *s)
{
    arena_destroy(s->arena);
}

/* The first problem that says so; NULL: none. */
static inline const struct problem *sample_said(const struct sample *s, const char *what)
{
    for (size_t i = 0; i < s->report.n; i++)
        if (strstr(s->report.at[i].what, what))
            return &s->report.at[i];
    return NULL;
}

#endif
