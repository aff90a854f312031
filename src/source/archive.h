/* Code that came as an archive (inputs.code.archive), kept under its hash: where it lies, and the
 * number that a job notes of it. */
#ifndef SOURCE_ARCHIVE_H
#define SOURCE_ARCHIVE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* archive: CODE_ARCHIVE and 64 hexadecimal digits. The path is in arena; nothing is looked at. */
const char *archive_path(const char *state_dir, struct arena *, const char *archive);
/* Is it there? Then it is kept for another while. */
bool archive_keep(const char *path);
/* What a job notes of it; never 0. */
uint64_t archive_mark(const char *archive);

#endif
