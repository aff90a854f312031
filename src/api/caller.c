/* Who calls, in words for the audit record: by what the server knows them (a token, a session, a
 * user of this machine, a job), and from where. Nothing is decided by these words. */
#include "api/call.h"

#include "ctl/account.h"

#include <strings.h>

static const char *known_by(struct call *call)
{
    const char *bearer = http_header(call->request, "Authorization");
    uint32_t uid;
    if (call->who.of.job)
        return arena_printf(call->arena, "job %llu", (unsigned long long)call->who.of_number);
    if (call->who.key)
        return arena_printf(call->arena, "key %s", call->who.key);
    if (call->who.token)
        return arena_printf(call->arena, "token %s", call->who.token);
    if (http_peer_uid(call->request, &uid))
        return "socket";
    if (!call->owner)
        return "";
    if (bearer && strncasecmp(bearer, "Bearer ", 7) == 0)
        return "server's token";
    return http_header(call->request, "Cookie") ? "page" : "link"; /* of a terminal */
}

void caller_tell(struct call *call)
{
    char from[HTTP_PEER_MAX];
    if (call->request && (!call->from || !call->owner)) {
        call->known = known_by(call);
        call->from = arena_strdup(call->arena, http_peer(call->request, from));
    }
    const struct audit_caller by = { .name = call->owner,
                                     .known = call->known,
                                     .from = call->from };
    audit_called_by(ctl_accounts(call->api->config.ctl), &by);
}

void caller_refused(struct call *call, const char *user, const char *action, const char *object,
                    const struct err *err)
{
    caller_tell(call);
    audit_add(ctl_accounts(call->api->config.ctl), &(struct audit_entry){ .user = user,
                                                                          .claimed = !call->owner,
                                                                          .action = action,
                                                                          .object = object,
                                                                          .refused = err });
}
