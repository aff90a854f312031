/* As whom jobs run. The server's own user stays that user. A server that is not root can start
 * processes as nobody else, so it runs nobody else's jobs; root starts them as their owner. */
#include "ctl/core.h"
#include "ctl/identities.h"
#include "ctl/notes.h"

#include "base/mem.h"

#include <string.h>
#include <unistd.h>

static bool is_own_user(const struct ctl *ctl, const char *owner)
{
    return strcmp(owner, ctl->admin) == 0 || (geteuid() == 0 && strcmp(owner, "root") == 0);
}

bool core_own_account(const struct ctl *ctl, const char *owner)
{
    return !ctl->config.own_accounts || !owner || is_own_user(ctl, owner);
}

const char *ctl_jobs_run_as(struct ctl *ctl)
{
    if (!ctl->config.own_accounts)
        return "shared";
    return geteuid() == 0 && ctl->config.sandbox ? "owner" : "own";
}

int ctl_account_choose(struct ctl *ctl, struct arena *arena, const struct identity *who,
                       struct account_choice *out, struct err *err)
{
    const struct user *user = identities_user(ctl, who->name);
    const char *named = user ? user->account : NULL;
    const char *fallback = ctl->config.job_account;
    *out = (struct account_choice){ .name = NULL };
    if (core_own_account(ctl, who->name))
        return 0;
    if (geteuid() != 0) {
        err_set(err, ERR_DENIED, "this server runs jobs of %s only, because it is not root",
                ctl->admin);
        return err_hint(err,
                        "a server of your own, or one that root started, runs them as you; the "
                        "setting shared_account runs everybody's as %s",
                        ctl->admin);
    }
    if (!ctl->config.sandbox) {
        err_set(err, ERR_DENIED, "this server runs jobs of %s only, because its sandbox is off",
                ctl->admin);
        return err_hint(err, "the setting sandbox: off is for one person's own machine");
    }
    out->name = arena_strdup(arena, named ? named : who->name);
    out->ordinary = !named && !who->peer;
    if (out->ordinary && fallback && *fallback)
        out->otherwise = fallback;
    return 0;
}

const struct account *ctl_account_of_job(struct ctl *ctl, struct arena *arena, uint64_t job)
{
    struct job_row row;
    struct site_notes site = { .account = NULL };
    if (core_row(ctl, arena, job, &row) == 0)
        notes_read_site(arena, row.site, &site);
    return site.account;
}

int ctl_account_refused(const struct identity *who, const struct account_choice *choice,
                        struct err *err)
{
    err_set(err, ERR_DENIED, "there is no account \"%.80s\" on this machine%s", choice->name,
            choice->ordinary ? " that jobs may run as" : "");
    return err_hint(err,
                    "an admin names one for %.60s: the verbs user add and user set have the "
                    "option --account",
                    who->name);
}
