/* Accounts are those of the server's machine. Elsewhere tasks run as the user of their host: a
 * machine's is whom ssh logs in as, a pilot's is the server's, and that of an allocation which a
 * job has for itself is the job's account, because it was asked for as that. */
#include "ctl/engine_choice.h"

#include "ctl/catalogue_work.h"
#include "ctl/core.h"
#include "ctl/tape_scope.h"
#include "depend/bundle.h"
#include "source/resolve.h"

#include <string.h>

/* May nodes be asked for as another account? Settings are not on a tape. */
static bool may_ask(struct ctl *ctl)
{
    return taped_outside(ctl, OUTSIDE_STORAGE, ctl->config.no_users_allocations ? -1 : 0, NULL) ==
           0;
}

static bool is_standard_for(struct ctl *ctl, const struct account *account)
{
    const char *standard = ctl->config.place_engine;
    if (!standard || !account)
        return standard;
    return strcmp(standard, ENGINE_ALLOCATOR) == 0 && may_ask(ctl);
}

void engine_choose(struct ctl *ctl, struct arena *arena, const struct account *account,
                   struct job_spec *spec)
{
    const struct engine *engine = ctl->config.engine;
    const char **chosen = &spec->placing.engine;
    if (!*chosen && !spec->placing.nodes.n && is_standard_for(ctl, account))
        *chosen = ctl->config.place_engine;
    if (!admit_asks_nodes(engine->ops->caps(engine), spec) ||
        resolve_queue(core_catalogue(ctl), spec->queue))
        return;
    if (!pairs_get(&spec->placing.labels, "slurm/partition"))
        pairs_set(&spec->placing.labels, arena, "slurm/partition", spec->queue);
    spec->queue = NULL;
}

static int refuse(const struct ctl *ctl, const struct account *account, const char *engine,
                  struct err *err)
{
    const char *why =
        ctl->config.no_allocations ? ctl->config.no_allocations : ctl->config.no_users_allocations;
    if (strcmp(engine, ENGINE_ALLOCATOR) == 0 && why)
        err_set(err, ERR_CANNOT, "%s: no nodes are asked for as the account %.60s", why,
                account->name);
    else
        err_set(err, ERR_CANNOT,
                "tasks run as the account %.60s, and only the server's own machine has it: nodes "
                "of the engine %.60s run them as the user of their host",
                account->name, engine);
    return err_hint(err, "leave place.engine out, or start a server of your own for them");
}

int engine_check_account(struct ctl *ctl, const struct account *account, struct job_spec *spec,
                         struct err *err)
{
    const struct engine *engine = ctl->config.engine;
    const char **chosen = &spec->placing.engine;
    if (!account)
        return 0;
    if (!*chosen)
        *chosen = "local";
    if (strcmp(*chosen, "local") == 0)
        return 0;
    if (!admit_asks_nodes(engine->ops->caps(engine), spec) || !may_ask(ctl))
        return refuse(ctl, account, *chosen, err);
    if (!bundle_has_peers(spec))
        return 0;
    err_set(err, ERR_CANNOT,
            "jobs that start together share a pilot, and pilots run as the server's account, not "
            "as %.60s",
            account->name);
    return err_hint(err, "leave place.engine out, or make them roles of one job");
}
