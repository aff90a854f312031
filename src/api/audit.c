/* GET /v1/audit: the record of who did what, for admins; newest first, or a part of the chain in
 * its order for who checks it. */
#include "api/call.h"

#include "ctl/account.h"

#include <sodium.h>

static void put_hash(struct arena *a, struct text_node *map, const unsigned char hash[AUDIT_HASH])
{
    char hex[2 * AUDIT_HASH + 1];
    text_str(a, map, "hash", sodium_bin2hex(hex, sizeof hex, hash, AUDIT_HASH));
}

static void put_mark(struct arena *a, struct text_node *root, const char *key,
                     const struct audit_mark *mark)
{
    struct text_node *map = text_map(a, root, key);
    text_int(a, map, "seq", (int64_t)mark->seq);
    put_hash(a, map, mark->hash);
}

static void put_row(struct arena *a, struct text_node *list, const struct audit_row *row)
{
    struct text_node *map = text_map(a, list, NULL);
    text_int(a, map, "seq", (int64_t)row->seq);
    text_int(a, map, "at_ms", (int64_t)row->at_ms);
    text_str(a, map, "user", row->user);
    text_str(a, map, "role", row->role);
    text_str(a, map, "known", row->known);
    text_str(a, map, "from", row->from);
    text_str(a, map, "action", row->action);
    text_str(a, map, "object", row->object);
    text_str(a, map, "outcome", row->outcome);
    put_hash(a, map, row->hash);
}

/* {entries: [...], next, head: {seq, hash}, floor: {seq, hash}}; next is absent at the end. */
static struct text_node *print(struct arena *a, const struct audit_view *view)
{
    struct text_node *root = text_map(a, NULL, NULL), *list = text_list(a, root, "entries");
    for (size_t i = 0; i < view->n; i++)
        put_row(a, list, &view->at[i]);
    if (view->next)
        text_int(a, root, "next", (int64_t)view->next);
    put_mark(a, root, "head", &view->head);
    put_mark(a, root, "floor", &view->floor);
    return root;
}

void audit_get(struct call *call)
{
    struct audit_ask ask = { .user = http_query(call->request, "user", 0),
                             .action = http_query(call->request, "action", 0),
                             .ascending = call_flag(call, "chain") };
    uint64_t limit = 100;
    struct err err;
    struct audit_view view;
    bool good = false;
    if (call_u64(call, "after", 0, INT64_MAX, &ask.after, &err) &&
        call_u64(call, "before", 0, INT64_MAX, &ask.before, &err) &&
        call_u64(call, "since", 0, INT64_MAX, &ask.since_ms, &err) &&
        call_u64(call, "limit", 1, 1000, &limit, &err)) {
        ask.limit = limit;
        good = list_audit(ctl_accounts(call->api->config.ctl), call->arena, &ask, &view, &err) == 0;
    }
    if (good)
        call_answer(call, 200, print(call->arena, &view));
    else
        call_problem(call, &err, NULL);
}
