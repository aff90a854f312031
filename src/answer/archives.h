/* Archives of code (inputs.code.archive) and packed images that jobs which have not ended name:
 * whether one is still needed, and for whom. */
#ifndef ANSWER_ARCHIVES_H
#define ANSWER_ARCHIVES_H

#include "ctl/ctl.h"

/* The marks of all live jobs, each once, in arena; how many. */
size_t answer_code_marks(struct ctl *, struct arena *, uint64_t **marks);
/* Does a job that has not ended name it? */
bool answer_needs_archive(struct ctl *, const char *archive);

/* The path of that archive (64 digits), in arena, when it is the code of that live job; else NULL.
 */
const char *answer_code_path(struct ctl *, struct arena *, uint64_t job, const char *hash);

/* The path of an image that was packed for that live job, in arena; else NULL. */
const char *answer_packed_image(struct ctl *, struct arena *, uint64_t job, const char *digest);

#endif
