/* Paths and marks of archives of code. A job keeps a number made of the first digits of the hash,
 * not the hash; two archives of one number only make one of them be kept for longer. */
#include "source/archive.h"

#include "job/job.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MARK_DIGITS 15

const char *archive_path(const char *state_dir, struct arena *arena, const char *archive)
{
    return arena_printf(arena, "%s/archives/%s", state_dir, archive + strlen(CODE_ARCHIVE));
}

bool archive_keep(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

uint64_t archive_mark(const char *archive)
{
    uint64_t mark = 0;
    const char *digits = archive + strlen(CODE_ARCHIVE);
    for (size_t i = 0; i < MARK_DIGITS && digits[i]; i++) {
        char c = digits[i];
        mark = mark << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return mark ? mark : 1;
}
