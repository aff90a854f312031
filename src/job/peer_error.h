/* Does a program say, in the last lines of its stderr or in its error file, that it ended because
 * another process of its group had gone? The signs of that are a table; it is no cause of its own.
 */
#ifndef JOB_PEER_ERROR_H
#define JOB_PEER_ERROR_H

#include <stdbool.h>

/* Whoever has gone may take a while to end for the kernel, and is not ended meanwhile: else nobody
 * could tell that it went by itself. */
#define PEER_ERROR_WAIT_MS 1000u

/* text: lines, the last exception in them counts; or the message of an error file. */
bool peer_error_in(const char *text);

#endif
