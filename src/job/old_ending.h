/* Endings as agents and records of versions before 0.1's store version 6 tell them: the cause
 * stands in the text for people, and nowhere else. */
#ifndef JOB_OLD_ENDING_H
#define JOB_OLD_ENDING_H

#include "job/ending.h"

enum end_cause old_end_cause(enum end_origin, const char *remark);

#endif
