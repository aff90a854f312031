/* Which archives of code live jobs name, by the marks that they keep (source/archive.h). Reads the
 * table of live jobs alone. */
#include "answer/archives.h"

#include "ctl/contents.h"
#include "image/jobs/images.h"
#include "job/job.h"
#include "live/live.h"
#include "source/archive.h"

#include <stdlib.h>
#include <string.h>

bool answer_needs_archive(struct ctl *ctl, const char *archive)
{
    const struct contents core = ctl_contents(ctl);
    uint64_t mark = archive_mark(archive);
    struct live_job *job;
    for (size_t cursor = 0; live_next(core.live, &cursor, &job);)
        if (job->notes.code == mark)
            return true;
    return false;
}

const char *answer_code_path(struct ctl *ctl, struct arena *arena, uint64_t id, const char *hash)
{
    const struct contents core = ctl_contents(ctl);
    const struct live_job *job = live_find(core.live, id);
    const char *archive = job && job->spec ? job->spec->inputs.code.archive : NULL;
    if (!archive || strcmp(archive + strlen(CODE_ARCHIVE), hash) != 0)
        return NULL;
    return archive_path(core.state_dir, arena, archive);
}

const char *answer_packed_image(struct ctl *ctl, struct arena *arena, uint64_t id,
                                const char *digest)
{
    return images_packed(ctl_contents(ctl).images, arena, id, digest);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

size_t answer_code_marks(struct ctl *ctl, struct arena *arena, uint64_t **marks)
{
    const struct contents core = ctl_contents(ctl);
    struct live_job *job;
    size_t n = 0, kept = 0;
    uint64_t *all = ARENA_ARRAY(arena, live_count(core.live) + 1, uint64_t);
    for (size_t cursor = 0; live_next(core.live, &cursor, &job);)
        if (job->notes.code)
            all[n++] = job->notes.code;
    qsort(all, n, sizeof *all, by_value);
    for (size_t i = 0; i < n; i++)
        if (!kept || all[kept - 1] != all[i])
            all[kept++] = all[i];
    *marks = all;
    return kept;
}
