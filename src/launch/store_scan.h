/* The requests of the store protocol, by number, and where one ends. */
#ifndef LAUNCH_STORE_SCAN_H
#define LAUNCH_STORE_SCAN_H

#include "launch/store_limits.h"

#include <stdbool.h>

/* In the order of their numbers, with the shape: k key, v value, 4 and 8 bytes, K list of keys, P
 * list of pairs. */
#define STORE_REQUESTS(X)                                                                          \
    X(validate, "4")                                                                               \
    X(set, "kv")                                                                                   \
    X(compare_set, "kvv")                                                                          \
    X(get, "k")                                                                                    \
    X(add, "k8")                                                                                   \
    X(check, "K")                                                                                  \
    X(wait, "K")                                                                                   \
    X(num_keys, "")                                                                                \
    X(delete, "k")                                                                                 \
    X(append, "kv")                                                                                \
    X(multi_get, "K")                                                                              \
    X(multi_set, "P")                                                                              \
    X(cancel_wait, "")                                                                             \
    X(ping, "4")                                                                                   \
    X(queue_push, "kv")                                                                            \
    X(queue_pop, "k")                                                                              \
    X(queue_len, "k")                                                                              \
    X(list_keys, "")                                                                               \
    X(barrier, "k8")

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

#endif
