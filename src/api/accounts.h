/* Submissions with the account of the operating system that their jobs run as. The name service may
 * be slow (LDAP), so a child of its own asks it, and the answer is remembered for a minute. */
#ifndef API_ACCOUNTS_H
#define API_ACCOUNTS_H

#include "api/call.h"

#include <uv.h>

struct account_lookups;
/* program: muster itself, run as "account-of" (main/account_main.h); NULL: there are no accounts.
 */
struct account_lookups *account_lookups_create(uv_loop_t *, const char *program);
void account_lookups_destroy(
    struct account_lookups *); /* NULL-safe; waiting submissions are not answered */

/* ctl_submit() once the account of ask->owner is known. `done` is called as there. */
void accounts_submit(struct call *, const struct submission *ask, ctl_done *done, void *arg);

/* A copy in the arena of all that it points to, for who submits it later. */
struct submission accounts_copy(struct arena *, const struct submission *);

/* Before the loop has other work: runs it until this account was looked up. 0: an ordinary one, as
 * whom jobs may run. */
int accounts_check(struct account_lookups *, const char *name, struct err *);

#endif
