/* What the tests of this folder share: a site, reading a text, a placement for a job. */
#ifndef DIALECT_OPENPAI_TEST_SAMPLE_H
#define DIALECT_OPENPAI_TEST_SAMPLE_H

#include "dialect/openpai/v1.h"
#include "dialect/test/place.h"
#include "text/json.h"

#include <string.h>

static const struct site sample_site = { .owner = "ada", .fs_uri = "file:///fs", .work_dir = NULL };

static inline struct text_node *sample_tree(struct arena *arena, const char *text,
                                            struct report *report)
{
    return json_parse(arena, text, strlen(text), JSON_COMMENTS, report);
}

static inline struct job_spec *sample_read(struct arena *arena, const char *text,
                                           struct report *report)
{
    report_init(report, arena);
    struct text_node *root = sample_tree(arena, text, report);
    return root ? v1_read(arena, root, &sample_site, report) : NULL;
}

#endif
