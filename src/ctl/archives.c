/* Paths and marks of archives of code. A job keeps a number made of the first digits of the hash,
 * not the hash; two archives of one number only make one of them be kept for longer. */
#include "ctl/archives.h"

#include "ctl/core.h"
#include "job/job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *core_archive(const struct ctl *ctl, struct arena *arena, const char *archive)
{
    return arena_printf(arena, "%s/archives/%s", ctl->config.state_dir,
                        archive + strlen(CODE_ARCHIVE));
}

bool core_keep_archive(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The first digits of the hash; two archives of one mark only make one be kept for longer. */
uint64_t code_mark(const char *archive)
{
    uint64_t mark = 0;
    const char *digits = archive + strlen(CODE_ARCHIVE);
    for (size_t i = 0; i < 15 && digits[i]; i++) {
        char c = digits[i];
        mark = mark << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return mark ? mark : 1;
}

bool ctl_needs_archive(struct ctl *ctl, const char *archive)
{
    uint64_t mark = code_mark(archive);
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
    return core_archive(ctl, arena, archive);
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
