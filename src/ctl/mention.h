/* Jobs that are named in what is told of another: "makes room for job 12 (prep)". Texts are stored
 * as they are for those who may read that job; for others they are changed when they are read, so
 * that rights count as they are then. The sentences are written and found again here. */
#ifndef CTL_MENTION_H
#define CTL_MENTION_H

#include "ctl/rights.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;

#define MENTION_MAX    200
#define MENTION_HIDDEN "another user's job"
#define MENTION_NUMBER                                                                             \
    "evicted_for" /* in the body of an event: the number of the one that room was made for */

enum mention {
    MENTION_ROOM,     /* makes room for job 12 (prep) */
    MENTION_PROMISED, /* there is room, and job 12 (prep) was promised it */
    MENTION_WAITS,    /* waits for array 12 (sweep) to end */
    MENTION_WAITED,   /* waited for 12[3] (sweep) to end */
    MENTION_REPLACED, /* replaced by job 12 */
    MENTION_HELD,     /* : job 12 is suspended */
    MENTION_ELSEWHERE /* , and job 12 names others */
};
const char *mention_say(char out[MENTION_MAX], enum mention, const struct job_row *);

/* Who is told, through one answer. */
struct reader {
    struct ctl *ctl;
    struct arena *arena; /* of what is made */
    const char *name;    /* NULL: the server itself */
    bool all;            /* may read every job */
    uint64_t number;     /* the last job that was looked up, 0: none yet; and what it is called */
    const char *called;
};
struct reader reader_of(struct ctl *, struct arena *, const char *name);
/* core_reads() */
bool reader_may(const struct reader *, const struct job_row *);
/* What the job of that number is called for one who may not read it; NULL: who may. */
const char *reader_hides(struct reader *, uint64_t number);
/* A stored text as the reader may have it: the text itself or one in the arena. */
const char *reader_text(struct reader *, const char *text);

#endif
