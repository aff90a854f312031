/* Members of arrays as work: their rows are written and commands told to them a slice a tick. */
#ifndef DEPEND_MEMBERS_H
#define DEPEND_MEMBERS_H

#include "depend/array.h"

struct members_work { /* of one turn */
    uint32_t *rows;   /* that may still be written, counted down: a member is one */
    bool may_write;   /* rows of new members: not while the disk takes none */
    bool released;    /* set: members that were held may start now, or others in their place */
};

/* A command for every member that lives; what one of them refuses (it is ending) does not keep the
 * others. As many as the work allows now, the others with the next ticks. */
void members_command(struct arrays *, struct live_array *, const char *owner, enum array_command,
                     struct members_work *);
/* The next slice of the arrays whose members are not all written or told. true: the next one is to
 * come at once. */
bool members_go_on(struct arrays *, struct members_work *);
/* A member whose row is not written yet: by its number its id, or 0; by its id the row as it will
 * be, texts of the array's. */
uint64_t members_find_coming(const struct arrays *, uint64_t number);
bool members_coming(const struct arrays *, uint64_t id, struct job_row *);

#endif
