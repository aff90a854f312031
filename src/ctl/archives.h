/* Code that came as archives (inputs.code.archive), kept under its hash: where it lies, and whether
 * a job still needs it. */
#ifndef CTL_ARCHIVES_H
#define CTL_ARCHIVES_H

#include "ctl/ctl.h"

/* archive: CODE_ARCHIVE and 64 hexadecimal digits. The path is in arena; nothing is looked at. */
const char *core_archive(const struct ctl *, struct arena *, const char *archive);
/* Is it there? Then it is kept for another while. */
bool core_keep_archive(const char *path);
/* What a live job notes of it; never 0. */
uint64_t code_mark(const char *archive);
/* Of all live jobs, each once, in arena; how many. */
size_t ctl_code_marks(struct ctl *, struct arena *, uint64_t **marks);
/* Does a job that has not ended name it? */
bool ctl_needs_archive(struct ctl *, const char *archive);

/* The path of that archive (64 digits), in arena, when it is the code of that live job; else NULL.
 */
const char *ctl_code_path(struct ctl *, struct arena *, uint64_t job, const char *hash);

#endif
