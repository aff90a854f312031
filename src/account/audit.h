/* Who did what from where: the audit record (store/audit.h) as it is written and shown. What
 * is written: the server's starts, ends and changed settings; logins; users, keys, tokens;
 * catalogue, queues, nodes; what somebody does to another's job; and of these also what was
 * refused. */
#ifndef ACCOUNT_AUDIT_H
#define ACCOUNT_AUDIT_H

#include "base/pairs.h"
#include "job/audit.h"

struct accounts;
struct arena;
struct err;
struct job_row;

/* Who calls the core from now on: said by who takes requests, before it gives a command. Texts are
 * copied and cut; `by` NULL: nobody, the server itself. */
struct audit_caller {
    const char *name, *known, *from; /* job/audit.h */
};
void audit_called_by(struct accounts *, const struct audit_caller *by);

/* An entry of what the core has no command for, in the open turn. refused NULL: it was done. */
struct audit_entry {
    const char *user; /* NULL: who calls */
    bool claimed;     /* it is only what a stranger says */
    const char *action, *object;
    const struct err *refused;
};
void audit_add(struct accounts *, const struct audit_entry *);
/* The server has started, or ends. settings: names and values; those that are not as at the last
 * start are entries of their own, with what they are now. false: nothing is audited here. */
bool audit_server_start(struct accounts *, const char *version, const struct pairs *settings);
bool audit_server_end(struct accounts *, const char *why);

/* ---- what commands write ---- */
void audit_expire(struct accounts *); /* removes what is too old */

/* `who` did that, or was refused (code not ERR_NONE). */
void audit(struct accounts *, const char *who, const char *action, const char *object,
           const struct err *outcome);
/* The server did, by itself. */
void audit_server(struct accounts *, const char *action, const char *object);
/* The same to a job, when it is not its owner's doing. */
void audit_job(struct accounts *, const char *who, const char *action, const struct job_row *,
               const struct err *outcome);

/* Ascending from after (of a chain to check: nothing is left out), or the newest before `before`
 * that fit. At most AUDIT_LOOK rows are looked at in a call. */
#define AUDIT_LOOK 10000u
struct audit_ask {
    uint64_t after, before; /* before 0: the newest */
    bool ascending;
    size_t limit;
    uint64_t since_ms;         /* 0: all */
    const char *user, *action; /* NULL: all; "job." is all that begins so */
};
struct audit_view {
    struct audit_row *at;
    size_t n;
    uint64_t next;                 /* where to go on; 0: that was the end */
    struct audit_mark head, floor; /* the last row; the last that was removed */
};
int list_audit(struct accounts *, struct arena *, const struct audit_ask *, struct audit_view *,
               struct err *);

#endif
