/* What the tests of this folder share: a site, reading a text, a placement for a job. */
#ifndef DIALECT_DLC_TEST_SAMPLE_H
#define DIALECT_DLC_TEST_SAMPLE_H

#include "dialect/dlc/dlc.h"
#include "dialect/test/place.h"
#include "text/detect.h"

#include <string.h>

static const struct site sample_site = { .owner = "ada", .fs_uri = "file:///fs", .work_dir = NULL };

/* A body or a parameter file. NULL with the problems in report. */
static inline struct job_spec *sample_read(struct arena *arena, const char *text,
                                           struct report *report)
{
    report_init(report, arena);
    const struct text_node *root = text_parse(arena, text, strlen(text), report);
    return root ? dlc_dialect.read(arena, root, &sample_site, report) : NULL;
}

#endif
