/* The audit record as it is shown: a page of entries that fit what is asked, and where to go on. A
 * call looks at a bounded number of rows. */
#include "account/audit.h"

#include "account/handle.h"

#include "base/arena.h"
#include "base/err.h"
#include "store/audit.h"

#include <string.h>

static bool fits(const struct audit_ask *ask, const struct audit_row *row)
{
    size_t n = ask->action ? strlen(ask->action) : 0;
    if (row->at_ms < ask->since_ms || (ask->user && strcmp(ask->user, row->user) != 0))
        return false;
    return !n || (ask->action[n - 1] == '.' ? strncmp(ask->action, row->action, n) == 0
                                            : strcmp(ask->action, row->action) == 0);
}

int list_audit(struct accounts *all, struct arena *a, const struct audit_ask *ask,
               struct audit_view *view, struct err *err)
{
    struct audit_row *rows;
    size_t n = 0, i = 0;
    struct audit_mark floor;
    const struct audit_range range = { .after = ask->after,
                                       .before = ask->before,
                                       .newest = !ask->ascending,
                                       .limit = ask->ascending ? ask->limit : AUDIT_LOOK };
    if (store_audit_floor(all->config.store, &floor, err) < 0 ||
        store_audits(all->config.store, a, &range, &rows, &n, err) < 0)
        return -1;
    *view = (struct audit_view){ .at = ARENA_ARRAY(a, n < ask->limit ? n : ask->limit,
                                                   struct audit_row),
                                 .head = store_audit_head(all->config.store),
                                 .floor = floor };
    for (; i < n && view->n < ask->limit; i++)
        if (fits(ask, &rows[i]))
            view->at[view->n++] = rows[i];
    if (i < n || n == range.limit)
        view->next = rows[i - 1].seq;
    return 0;
}
