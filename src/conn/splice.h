/* Two connections that have become one: what comes over the first goes out over the second, and the
 * other way. A side is read only while the other has room. When one is over, the other is sent what
 * waits for it and ends as well. */
#ifndef CONN_SPLICE_H
#define CONN_SPLICE_H

#include "conn/conn.h"

struct splice_sink {
    void (*ended)(void *arg); /* the last call; it frees itself */
    void *arg;
};
struct splice;
/* Takes both over. Each may wait for more bytes than its room, by what one turn reads. */
struct splice *splice_create(struct conn *, struct conn *, struct splice_sink);
void splice_destroy(struct splice *); /* closes both, without a word. NULL-safe */

#endif
