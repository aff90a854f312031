/* Redaction: what one may be told of other people's jobs. A sentence carries the job that it names
 * as data (job/sentence.h), so rights count as they are when it is read, and whatever nobody looks
 * at names nobody. */
#ifndef ACCOUNT_REDACT_H
#define ACCOUNT_REDACT_H

#include "account/rights.h"
#include "job/sentence.h"

/* Who is told, through one answer. */
struct reader {
    const struct accounts *accounts;
    struct arena *arena; /* of what is made */
    const char *name;    /* NULL: the server itself */
    bool all;            /* may read every job */
    uint64_t number;     /* the last job that was looked up, 0: none yet; and what it is called */
    const char *called;
};
struct reader reader_of(const struct accounts *, struct arena *, const char *name);
/* user_may_read() */
bool reader_may(const struct reader *, const struct job_row *);
/* What the job of that number is called for one who may not read it; NULL: who may. */
const char *reader_hides(struct reader *, uint64_t number);
/* The sentence as the reader may have it: in the arena, or its own text. */
const char *reader_text(struct reader *, const struct sentence *);

#endif
