/* What deleted jobs leave in the records, a slice a tick: a deletion takes away at once what a job
 * is found by, and the rows of its tasks, attempts, events and members follow. That something is
 * left is in the records, so a server that starts goes on where the last one was. Nothing waits for
 * it, and it waits while the disk is full: ends of what runs are to be written first. */
#include "ctl/core.h"

#include "base/log.h"
#include "ctl/slices.h"
#include "store/deletion.h"

void removal_go_on(struct ctl *ctl)
{
    struct slices *slices = &ctl->slices;
    if (!slices->deleting || !slices->deleted || ctl->unwritten)
        return;
    struct deleted_rest rest = { .arena = ctl->scratch, .rows = slices->deleted };
    struct err err = { 0 };
    if (store_delete_rest(ctl->config.store, &rest, &err)) {
        /* What could not be written fails this turn's commit, and so undoes the slice. What could
         * not be read is tried again with a later tick. */
        if (!store_dirty(ctl->config.store))
            log_error("records.removal", "%s", err.what);
        return;
    }
    for (size_t i = 0; i < rest.n; i++)
        vec_push(&ctl->doomed, rest.numbers[i]);
    slices->deleted = rest.rows;
    slices->deleting = rest.rows == 0;
    if (slices->deleting)
        core_wake(ctl, core_now(ctl));
}
