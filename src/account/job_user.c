/* As whom jobs run. The server's own user stays that user. A server that is not root can start
 * processes as nobody else, so it runs nobody else's jobs; root starts them as their owner. */
#include "account/handle.h"
#include "account/identity.h"

#include "base/mem.h"

#include <string.h>
#include <unistd.h>

static bool is_own_user(const struct accounts *all, const char *owner)
{
    return strcmp(owner, all->config.admin) == 0 || (geteuid() == 0 && strcmp(owner, "root") == 0);
}

bool user_runs_as_server(const struct accounts *all, const char *owner)
{
    return !all->config.own_accounts || !owner || is_own_user(all, owner);
}

const char *jobs_run_as(const struct accounts *all)
{
    if (!all->config.own_accounts)
        return "shared";
    return geteuid() == 0 && all->config.sandbox ? "owner" : "own";
}

int choose_account(const struct accounts *all, struct arena *arena, const struct identity *who,
                   struct account_choice *out, struct err *err)
{
    const char *named = identities_account(all, who->name);
    const char *fallback = all->config.job_account;
    *out = (struct account_choice){ .name = NULL };
    if (user_runs_as_server(all, who->name))
        return 0;
    if (geteuid() != 0) {
        err_set(err, ERR_DENIED, "this server runs jobs of %s only, because it is not root",
                all->config.admin);
        return err_hint(err,
                        "a server of your own, or one that root started, runs them as you; the "
                        "setting shared_account runs everybody's as %s",
                        all->config.admin);
    }
    if (!all->config.sandbox) {
        err_set(err, ERR_DENIED, "this server runs jobs of %s only, because its sandbox is off",
                all->config.admin);
        return err_hint(err, "the setting sandbox: off is for one person's own machine");
    }
    out->name = arena_strdup(arena, named ? named : who->name);
    out->ordinary = !named && !who->peer;
    if (out->ordinary && fallback && *fallback)
        out->otherwise = fallback;
    return 0;
}

int refuse_account(const struct identity *who, const struct account_choice *choice, struct err *err)
{
    err_set(err, ERR_DENIED, "there is no account \"%.80s\" on this machine%s", choice->name,
            choice->ordinary ? " that jobs may run as" : "");
    return err_hint(err,
                    "an admin names one for %.60s: the verbs user add and user set have the "
                    "option --account",
                    who->name);
}
