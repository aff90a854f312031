/* What each request of the store protocol does. */
#ifndef LAUNCH_STORE_OPS_H
#define LAUNCH_STORE_OPS_H

#include "launch/store_conn.h"

/* Does a whole request: answers go to the connection, which may be doomed by it. */
void store_do(struct store_conn *, const char *bytes);
#define STORE_WAKE "\0" /* the answer to a wait that has ended */

#endif
