/* Sentences about ends and places, for events and reasons. */
#ifndef CTL_WORDS_H
#define CTL_WORDS_H

#include "job/ending.h"

#include <stdint.h>

#define WORDS_MAX 320
/* "exited with 1", "killed (SIGKILL by the kernel, out of memory)", "lost: agent gone", "could not
 * start: ...". */
const char *words_end(char out[WORDS_MAX], const struct ending *);

#endif
