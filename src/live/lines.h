/* Waiting jobs that ask for exactly the same stand in one line: what keeps the first keeps them
 * all, and a pass looks at lines. Jobs that wait for a time, for other jobs or with others stand
 * aside and are asked about one by one. Memory only. */
#ifndef LIVE_LINES_H
#define LIVE_LINES_H

#include "live/live_job.h"

struct line {
    struct line *next, *before; /* in the order they were made */
    uint64_t key;
    VEC(uint64_t) ids; /* from head on, oldest first */
    size_t head;
    struct live_job *first; /* of them; its spec speaks for all; NULL: to be looked up */
    struct live_why why;
    struct live_refusal refusal; /* for that reason */
    struct draft reason;         /* the same for people */
};

struct lines;
struct lines *lines_create(void);
void lines_destroy(struct lines *); /* NULL-safe */

/* The job joins the line of its shape (notes.shape), queue, owner and priority, by age. true: it
 * made a new line, or is now the first of one. */
bool lines_join(struct lines *, struct live_job *);
/* It leaves its line, or no longer stands aside. */
void lines_leave(struct lines *, struct live_job *);
size_t lines_count(const struct lines *);
struct line *lines_first(const struct lines *); /* then ->next */

void lines_put_aside(struct lines *, struct live_job *);
size_t lines_aside(const struct lines *);
struct live_job *lines_aside_at(const struct lines *, size_t i); /* in no order */

static inline size_t line_jobs(const struct line *line)
{
    return line->ids.n - line->head;
}
static inline uint64_t line_first_id(const struct line *line)
{
    return line->ids.at[line->head];
}

#endif
