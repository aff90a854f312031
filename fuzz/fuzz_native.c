/* Native job text to canonical job and back: whatever decodes must encode to something that decodes
 * to the same. */

#include "base/buf.h"
#include "job/job.h"
#include "text/detect.h"
#include "text/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(struct arena *arena, const struct job_spec *job)
{
    struct buf out = BUF_INIT(64u << 20);
    json_print(job_encode(arena, job), 0, &out);
    char *text = arena_strdup(arena, buf_str(&out));
    buf_fini(&out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    struct report report, again;
    report_init(&report, arena);
    report_init(&again, arena);
    struct text_node *root = text_parse(arena, (const char *)data, size, &report);
    struct job_spec *job = root && report_ok(&report) ? job_decode(arena, root, &report) : NULL;
    if (job) {
        char *first = print(arena, job);
        struct text_node *tree = json_parse(arena, first, strlen(first), 0, &again);
        struct job_spec *back = tree ? job_decode(arena, tree, &again) : NULL;
        if (!back || strcmp(first, print(arena, back)) != 0)
            abort();
    }
    arena_destroy(arena);
    return 0;
}
