/* The table of those who take part in a turn, in the order in which they are loaded: each may need
 * the ones before it. Adapters are here where a function does more than what the table asks, or is
 * also called otherwise. */
#include "ctl/participants.h"

#include "account/accounts.h"
#include "catalogue/declarations.h"
#include "ctl/charges.h"
#include "ctl/core.h"
#include "depend/array.h"
#include "inventory/nodes.h"
#include "learn/packing.h"
#include "learn/run_times.h"
#include "rdzv/jobs/rdzv_table.h"
#include "secret/secrets.h"

#include "base/mem.h"

/* Facts are kept until they are committed; then their senders are told. */
static void undo_facts(struct ctl *ctl)
{
    ctl->applied = 0;
    vec_clear(&ctl->acks);
}

static void write_launchers(struct ctl *ctl)
{
    rdzv_table_record(ctl->rdzv_table);
}

static void keep_launchers(struct ctl *ctl)
{
    rdzv_table_committed(ctl->rdzv_table);
}

static void undo_launchers(struct ctl *ctl)
{
    rdzv_table_undone(ctl->rdzv_table);
}

static void undo_arrays(struct ctl *ctl)
{
    arrays_undone(ctl->arrays);
}

static void write_secrets(struct ctl *ctl)
{
    if (store_dirty(ctl->config.store))
        secrets_record(ctl->secrets);
}

static void tell_secrets(struct ctl *ctl)
{
    if (taped_replays(ctl))
        secrets_undone(ctl->secrets);
    else
        secrets_committed(ctl->secrets);
}

static void undo_secrets(struct ctl *ctl)
{
    secrets_undone(ctl->secrets);
}

static void undo_accounts(struct ctl *ctl)
{
    accounts_undo(ctl->accounts);
}

static void keep_catalogue(struct ctl *ctl)
{
    declarations_committed(ctl->declarations);
}

static void undo_catalogue(struct ctl *ctl)
{
    declarations_undone(ctl->declarations);
}

static int read_nodes(struct ctl *ctl, struct err *err)
{
    (void)err;
    nodes_load(ctl->nodes);
    return 0;
}

static void keep_nodes(struct ctl *ctl)
{
    nodes_committed(ctl->nodes);
}

static void undo_nodes(struct ctl *ctl)
{
    nodes_undone(ctl->nodes);
}

static int read_queues(struct ctl *ctl, struct err *err)
{
    (void)err;
    queues_load(ctl->queues, core_now(ctl));
    return 0;
}

static void undo_queues(struct ctl *ctl)
{
    queues_undone(ctl->queues);
}

static int read_run_times(struct ctl *ctl, struct err *err)
{
    (void)err;
    run_times_load(ctl->run_times, ctl->config.store);
    return 0;
}

static void keep_run_times(struct ctl *ctl)
{
    run_times_committed(ctl->run_times);
}

static void undo_run_times(struct ctl *ctl)
{
    run_times_undone(ctl->run_times);
}

static void write_packing(struct ctl *ctl)
{
    packing_record(ctl->packing);
}

static void undo_packing(struct ctl *ctl)
{
    packing_undone(ctl->packing);
}

/* Rows of deleted jobs may be left, and directories of theirs. */
static int look_for_deleted(struct ctl *ctl, struct err *err)
{
    (void)err;
    ctl->slices.deleting = true;
    return 0;
}

static void undo_deleted(struct ctl *ctl)
{
    vec_clear(&ctl->doomed);
    ctl->slices.deleting = true;
}

/* The catalogue, accounts and packing are read when the core is made: jobs are admitted by them.
 */
static const struct participant table[] = {
    { .name = "facts", .committed = facts_committed, .undo = undo_facts },
    { .name = "launchers",
      .record = write_launchers,
      .committed = keep_launchers,
      .undo = undo_launchers },
    { .name = "deleted jobs", .load = look_for_deleted, .undo = undo_deleted },
    { .name = "accounts", .undo = undo_accounts },
    { .name = "secrets", .record = write_secrets, .committed = tell_secrets, .undo = undo_secrets },
    { .name = "catalogue", .committed = keep_catalogue, .undo = undo_catalogue },
    { .name = "nodes", .load = read_nodes, .committed = keep_nodes, .undo = undo_nodes },
    { .name = "queues", .load = read_queues, .record = charges_record, .undo = undo_queues },
    { .name = "run times",
      .load = read_run_times,
      .committed = keep_run_times,
      .undo = undo_run_times },
    { .name = "packing", .record = write_packing, .undo = undo_packing },
    { .name = "arrays", .undo = undo_arrays },
    { .name = "jobs", .load = load_jobs, .undo = load_touched },
};

const struct participant *participants(size_t *n)
{
    *n = ARRAY_LEN(table);
    return table;
}

int participants_load(struct ctl *ctl, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].load && table[i].load(ctl, err) < 0)
            return -1;
    return 0;
}

void participants_record(struct ctl *ctl)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].record)
            table[i].record(ctl);
}

void participants_committed(struct ctl *ctl)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].committed)
            table[i].committed(ctl);
}

void participants_undo(struct ctl *ctl)
{
    for (size_t i = ARRAY_LEN(table); i-- > 0;)
        if (table[i].undo)
            table[i].undo(ctl);
}
