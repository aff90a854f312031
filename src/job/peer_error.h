/* Does a program say, in the last lines of its stderr or in its error file, that it ended because
 * another process of its group had gone? The signs of that are a table; it is no cause of its own.
 */
#ifndef JOB_PEER_ERROR_H
#define JOB_PEER_ERROR_H

#include <stdbool.h>

/* text: lines, the last exception in them counts; or the message of an error file. */
bool peer_error_in(const char *text);

#endif
