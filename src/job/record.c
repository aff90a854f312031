/* Reads a job back from its record. Nobody is told what is wrong with one that cannot be read: it
 * was written by muster.
 *
 * Inputs: the text or its tree. Effects: none. */
#include "job/record.h"

#include "text/json.h"

#include <string.h>

static struct job_spec *decode(struct arena *arena, const struct text_node *tree,
                               struct report *report)
{
    struct job_spec *spec = job_decode(arena, tree, report);
    if (spec && spec->config) /* free trees point into what they were read from */
        spec->config = text_copy(arena, NULL, NULL, spec->config);
    if (spec && spec->extra)
        spec->extra = text_copy(arena, NULL, NULL, spec->extra);
    return spec;
}

struct job_spec *job_of_text(struct arena *arena, const char *text)
{
    struct arena *scratch = arena_create();
    struct report report;
    report_init(&report, scratch);
    struct text_node *tree = text ? json_parse(scratch, text, strlen(text), 0, &report) : NULL;
    struct job_spec *spec = tree ? decode(arena, tree, &report) : NULL;
    arena_destroy(scratch);
    return spec;
}

struct job_spec *job_of_tree(struct arena *arena, const struct text_node *tree)
{
    struct arena *scratch = arena_create();
    struct report report;
    report_init(&report, scratch);
    struct job_spec *spec = decode(arena, tree, &report);
    arena_destroy(scratch);
    return spec;
}
