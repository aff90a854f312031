/* One entry of the record of who did what (store/audit.h keeps it, `muster audit` reads it), and
 * the text that its hash is made over: the same for who writes it and for who checks it. */
#ifndef JOB_AUDIT_H
#define JOB_AUDIT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define AUDIT_HASH     32 /* SHA-256 */
#define AUDIT_TEXT_MAX 16384
#define AUDIT_CUT      "audit.cut" /* rows were removed: object is audit_mark_text() */

struct audit_row {
    uint64_t seq, at_ms;     /* seq: from 1, without gaps */
    const char *user, *role; /* who; "" for the server itself and for who is not known */
    const char *known;       /* by what: "socket", "token 1f...", "key LTAI...", "page" ... */
    const char *from;        /* "uid 1000 pid 42", "192.0.2.7"; "" the server itself */
    const char *action;      /* "job.stop" */
    const char *object;      /* "job 12 of ada" */
    const char *outcome;     /* "ok", or the word of the error */
    unsigned char hash[AUDIT_HASH];
};

/* Adds what the row's hash is made over: the hash before it in hex, then seq, at_ms and the texts
 * in the order above, each as LENGTH:TEXT, (netstrings). */
void audit_text(const struct audit_row *, const unsigned char before[AUDIT_HASH], struct buf *out);

/* What a row of AUDIT_CUT says in its object: the last row that was removed, and its hash. */
struct audit_mark {
    uint64_t seq;
    unsigned char hash[AUDIT_HASH];
};
#define AUDIT_MARK_TEXT (24 + 2 * AUDIT_HASH)
const char *audit_mark_text(char out[AUDIT_MARK_TEXT],
                            const struct audit_mark *); /* "12:3f0a..." */
bool audit_mark_parse(const char *text, struct audit_mark *);

#endif
