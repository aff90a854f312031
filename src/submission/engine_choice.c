/* Accounts are those of the server's machine. Elsewhere tasks run as the user of their host: a
 * machine's is whom ssh logs in as, a pilot's is the server's, and that of an allocation which a
 * job has for itself is the job's account, because it was asked for as that. */
#include "submission/engine_choice.h"

#include "admit/admit.h"
#include "depend/bundle.h"
#include "engine/engine.h"
#include "job/account.h"
#include "live/launches/launch_server.h"
#include "source/resolve.h"
#include "submission/candidate_server.h"

#include "base/mem.h"

#include <string.h>

/* May nodes be asked for as another account? Settings are not on a tape. */
static bool may_ask(const struct candidate_server *server)
{
    return server->outside(server->arg, server->no_users_allocations ? -1 : 0, NULL) == 0;
}

static bool is_standard_for(const struct candidate_server *server, const struct account *account)
{
    const char *standard = server->place_engine;
    if (!standard || !account)
        return standard;
    return strcmp(standard, ENGINE_ALLOCATOR) == 0 && may_ask(server);
}

void engine_choose(const struct candidate_server *server, struct arena *arena,
                   const struct account *account, struct job_spec *spec)
{
    const char **chosen = &spec->placing.engine;
    if (!*chosen && !spec->placing.nodes.n && is_standard_for(server, account))
        *chosen = server->place_engine;
    if (!admit_asks_nodes(server->caps, spec) ||
        resolve_queue(server->launches->storage.catalogue, spec->queue))
        return;
    if (!pairs_get(&spec->placing.labels, "slurm/partition"))
        pairs_set(&spec->placing.labels, arena, "slurm/partition", spec->queue);
    spec->queue = NULL;
}

static int refuse(const struct candidate_server *server, const struct account *account,
                  const char *engine, struct err *err)
{
    const char *why =
        server->no_allocations ? server->no_allocations : server->no_users_allocations;
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

int engine_check_account(const struct candidate_server *server, const struct account *account,
                         struct job_spec *spec, struct err *err)
{
    const char **chosen = &spec->placing.engine;
    if (!account)
        return 0;
    if (!*chosen)
        *chosen = "local";
    if (strcmp(*chosen, "local") == 0)
        return 0;
    if (!admit_asks_nodes(server->caps, spec) || !may_ask(server))
        return refuse(server, account, *chosen, err);
    if (!bundle_has_peers(spec))
        return 0;
    err_set(err, ERR_CANNOT,
            "jobs that start together share a pilot, and pilots run as the server's account, not "
            "as %.60s",
            account->name);
    return err_hint(err, "leave place.engine out, or make them roles of one job");
}
