/* The dialects at work without a server: the submitter is who runs this, the storage root is the
 * default one, unless the job is for another place. */
#include "cli/offline.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

static const char *offline_user(struct cli *cli)
{
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_name ? arena_strdup(cli->arena, user->pw_name)
                                 : arena_printf(cli->arena, "%u", (unsigned)getuid());
}

static bool add_overrides(struct cli *cli, const struct offline_request *r,
                          struct dialect_request *out, struct report *report)
{
    for (size_t i = 0; r->env && i < r->env->n; i++) {
        const char *text = r->env->at[i], *eq = strchr(text, '=');
        if (!eq || eq == text) {
            report_error(report, (struct place){ .line = 0 }, "",
                         "--env \"%.80s\" is not NAME=VALUE", text);
            return false;
        }
        pairs_set(&out->env, cli->arena, arena_strndup(cli->arena, text, (size_t)(eq - text)),
                  eq + 1);
    }
    if (r->set && r->set->n)
        out->sets = (struct words){ .at = r->set->at, .n = r->set->n };
    return true;
}

int offline_read(struct cli *cli, const struct offline_request *r, struct offline *out)
{
    *out = (struct offline){ .site = { .owner = NULL } };
    if (!r->portable)
        out->site =
            (struct site){ .owner = offline_user(cli),
                           .fs_uri = arena_printf(cli->arena, "file://%s/fs", cli->state_dir) };
    struct dialect_request request = { .text = r->text,
                                       .len = r->len,
                                       .from = r->from,
                                       .name = r->name,
                                       .queue = r->queue,
                                       .site = &out->site };
    report_init(&out->report, cli->arena);
    if (!add_overrides(cli, r, &request, &out->report))
        return -1;
    if (dialect_read(cli->host->dialects, cli->arena, &request, &out->result, &out->report) < 0)
        return -1;
    if (!r->portable && !r->shown && cli->host->refused(&out->result, &out->report) < 0)
        return -1;
    return out->result.job ? 0 : -1;
}
