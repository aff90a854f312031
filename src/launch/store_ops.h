/* The requests of the store protocol: where one ends, and what it does. */
#ifndef LAUNCH_STORE_OPS_H
#define LAUNCH_STORE_OPS_H

#include "launch/store.h"

/* How far a request was looked at; zeroed for a new one. What was seen is not seen again when more
 * bytes come. */
struct store_scan {
    size_t at;         /* bytes that are known to be right */
    size_t need;       /* at least so many bytes are needed, from the start of the request */
    const char *shape; /* fields to come */
    uint64_t left;     /* fields of a list to come */
    bool pairs;        /* which are keys and values in turn */
};
enum store_scan_result { STORE_WHOLE, STORE_PART, STORE_BAD };
/* STORE_WHOLE: the request ends at scan->at. Lengths over a limit are bad before their bytes
 * come. */
enum store_scan_result store_scan(struct store_scan *, const struct store_limits *,
                                  const char *bytes, size_t len);

struct store_conn;
/* Does a whole request: answers go to the connection, which may be doomed by it. */
void store_do(struct store_conn *, const char *bytes);
#define STORE_WAKE "\0" /* the answer to a wait that has ended */

#endif
