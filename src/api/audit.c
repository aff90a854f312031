/* GET /v1/audit: the record of who did what, for admins; newest first, or a part of the chain in
 * its order for who checks it. */
#include "api/call.h"

#include "ctl/audit.h"

void audit_get(struct call *call)
{
    struct ctl_audit_ask ask = { .user = http_query(call->request, "user", 0),
                                 .action = http_query(call->request, "action", 0),
                                 .ascending = call_flag(call, "chain") };
    uint64_t limit = 100;
    struct err err;
    struct text_node *tree = NULL;
    if (call_u64(call, "after", 0, INT64_MAX, &ask.after, &err) &&
        call_u64(call, "before", 0, INT64_MAX, &ask.before, &err) &&
        call_u64(call, "since", 0, INT64_MAX, &ask.since_ms, &err) &&
        call_u64(call, "limit", 1, 1000, &limit, &err)) {
        ask.limit = limit;
        tree = ctl_audit_tree(call->api->config.ctl, call->arena, &ask, &err);
    }
    if (tree)
        call_answer(call, 200, tree);
    else
        call_problem(call, &err, NULL);
}
