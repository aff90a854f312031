/* The launchers: names of this program, each in a folder of its own, so that each can be put in
 * front of a PATH alone. */
#ifndef NODE_PROGRAMS_H
#define NODE_PROGRAMS_H

#include "base/err.h"

/* Makes the folders below dir, for a machine to which this program was copied alone. What is there
 * becomes links to `program`. */
int programs_make(const char *dir, const char *program, struct err *err);

#endif
