/* Who did what from where: the audit record (store/audit.h) as the core writes and shows it. What
 * is written: the server's starts, ends and changed settings; logins; users, keys, tokens;
 * catalogue, queues, nodes; what somebody does to another's job; and of these also what was
 * refused. */
#ifndef CTL_AUDIT_H
#define CTL_AUDIT_H

#include "base/pairs.h"
#include "ctl/ctl.h"
#include "job/audit.h"

/* Who calls the core from now on: said by who takes requests, before it gives a command. Texts are
 * copied and cut; `by` NULL: nobody, the server itself. */
struct ctl_caller {
    const char *name, *known, *from; /* job/audit.h */
};
void ctl_called_by(struct ctl *, const struct ctl_caller *by);

/* An entry of what the core has no command for, in the open turn. refused NULL: it was done. */
struct ctl_audit {
    const char *user; /* NULL: who calls */
    bool claimed;     /* it is only what a stranger says */
    const char *action, *object;
    const struct err *refused;
};
void ctl_audit(struct ctl *, const struct ctl_audit *);
/* The server has started, or ends: commits at once. settings: names and values; those that are not
 * as at the last start are entries of their own, with what they are now. */
void ctl_audit_start(struct ctl *, const char *version, const struct pairs *settings);
void ctl_audit_end(struct ctl *, const char *why);

/* Ascending from after (of a chain to check: nothing is left out), or the newest before `before`
 * that fit. At most AUDIT_LOOK rows are looked at in a call. */
#define AUDIT_LOOK 10000u
struct ctl_audit_ask {
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
int ctl_audit_view(struct ctl *, struct arena *, const struct ctl_audit_ask *, struct audit_view *,
                   struct err *);

#endif
