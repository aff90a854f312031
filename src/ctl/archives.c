/* Which archives of code live jobs name, by the marks that they keep (source/archive.h). Reads the
 * table of live jobs alone. */
#include "ctl/archives.h"

#include "ctl/core.h"
#include "image/jobs/images.h"
#include "job/job.h"
#include "source/archive.h"

#include <stdlib.h>
#include <string.h>

bool ctl_needs_archive(struct ctl *ctl, const char *archive)
{
    uint64_t mark = archive_mark(archive);
    struct live_job *job;
    for (size_t cursor = 0; live_next(ctl->live, &cursor, &job);)
        if (job->notes.code == mark)
            return true;
    return false;
}

const char *ctl_code_path(struct ctl *ctl, struct arena *arena, uint64_t id, const char *hash)
{
    const struct live_job *job = live_find(ctl->live, id);
    const char *archive = job && job->spec ? job->spec->inputs.code.archive : NULL;
    if (!archive || strcmp(archive + strlen(CODE_ARCHIVE), hash) != 0)
        return NULL;
    return archive_path(ctl->config.state_dir, arena, archive);
}

const char *ctl_packed_image(struct ctl *ctl, struct arena *arena, uint64_t id, const char *digest)
{
    return images_packed(ctl->images, arena, id, digest);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

size_t ctl_code_marks(struct ctl *ctl, struct arena *arena, uint64_t **marks)
{
    struct live_job *job;
    size_t n = 0, kept = 0;
    uint64_t *all = ARENA_ARRAY(arena, live_count(ctl->live) + 1, uint64_t);
    for (size_t cursor = 0; live_next(ctl->live, &cursor, &job);)
        if (job->notes.code)
            all[n++] = job->notes.code;
    qsort(all, n, sizeof *all, by_value);
    for (size_t i = 0; i < n; i++)
        if (!kept || all[kept - 1] != all[i])
            all[kept++] = all[i];
    *marks = all;
    return kept;
}
