/* Whoever mends records leaves a number in meta, because no server is there to be told. The next
 * one takes it: reading removes it, in the turn whose event says what was done. */
#include "store/repair.h"

#include "store/columns.h"
#include "store/db.h"
#include "store/meta.h"

static bool take(struct store *st, const char *name, uint64_t *value)
{
    bool there = db_meta(st, name, value);
    sqlite3_stmt *s = there ? db_write(st, STMT_DELETE_META, NULL) : NULL;
    if (s) {
        bind_text(s, 1, name);
        db_run(st, s, NULL);
    }
    return there;
}

struct store_repair store_take_repair(struct store *st)
{
    struct store_repair m = { .how = STORE_AS_IT_WAS };
    uint64_t event = 0;
    if (take(st, META_RECOVERED, &event))
        m = (struct store_repair){ .how = STORE_RECOVERED, .event = event };
    if (take(st, META_RESTORED, &event))
        m = (struct store_repair){ .how = STORE_RESTORED, .event = event };
    return m;
}
