/* The core's side of the catalogue: gives it the settings and the recording's word on rights, runs
 * changes in a turn, and plans anew after them. */
#include "ctl/catalogue_work.h"

#include "catalogue/declarations.h"
#include "ctl/core.h"

static int right(void *ctl, int rc, struct err *err)
{
    return taped_right(ctl, rc, err);
}

int catalogue_work_begin(struct ctl *ctl, struct err *err)
{
    const struct ctl_config *c = &ctl->config;
    ctl->declarations =
        declarations_create(&(struct declarations_config){ .store = c->store,
                                                           .accounts = ctl->accounts,
                                                           .queues = ctl->queues,
                                                           .cluster = ctl->cluster,
                                                           .topology = c->topology,
                                                           .admin = ctl->admin,
                                                           .queue_names = c->queues,
                                                           .set = c->declared,
                                                           .n_set = c->n_declared,
                                                           .shipped = c->shipped,
                                                           .n_shipped = c->n_shipped,
                                                           .arg = ctl,
                                                           .right = right });
    if (declarations_check_settings(ctl->declarations, err))
        return -1;
    declarations_load(ctl->declarations);
    return 0;
}

void catalogue_work_end(struct ctl *ctl)
{
    declarations_destroy(ctl->declarations);
}

const struct catalogue *core_catalogue(const struct ctl *ctl)
{
    return declarations_catalogue(ctl->declarations);
}

void ctl_declare(struct ctl *ctl, const struct declaration *ask, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_DECLARE, .declaration = ask });
    struct answer *answer = turn_answer(ctl, done, arg);
    answer->writes = answer->has_report = true;
    answer->tree =
        declare_entries(ctl->declarations, answer->arena, ask, &answer->report, &answer->err);
    if (answer->tree)
        ctl->plan_due = true;
}

void ctl_undeclare(struct ctl *ctl, const char *owner, enum entry_kind kind, const char *name,
                   ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = tape_scope_begin(
        ctl,
        (struct ctl_input){ .kind = INPUT_UNDECLARE, .owner = owner, .what = kind, .name = name });
    struct answer *answer = turn_answer(ctl, done, arg);
    const struct entry_removal ask = { .owner = owner, .kind = kind, .name = name };
    bool changed;
    answer->writes = true;
    answer->tree = undeclare_entry(ctl->declarations, answer->arena, &ask, &changed, &answer->err);
    ctl->plan_due |= changed;
}

struct entry_list ctl_catalogue_view(struct ctl *ctl, struct arena *arena, enum entry_kind kind)
{
    struct entry_list list;
    list.at = catalogue_list(core_catalogue(ctl), arena, kind, &list.n);
    return list;
}
