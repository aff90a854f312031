/* Where servers of one machine keep the locks on what none of them may give twice: files of root's
 * for the whole machine; else of this user's servers, whom others do not meet. */
#ifndef NODE_LOCKS_H
#define NODE_LOCKS_H

/* The directory of that kind of lock ("cores"), made when it is not there; only its user writes to
 * it. A descriptor, or -1. */
int locks_open(const char *kind);

#endif
