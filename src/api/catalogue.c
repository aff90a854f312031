/* The catalogue over HTTP: declare, list, remove; and the queues that it makes. A body may have
 * several declarations; they are taken as a whole or not at all. */
#include "api/call.h"

#include "answer/cluster_views.h"
#include "api/view_json.h"

static void on_done(void *arg, const struct ctl_answer *answer)
{
    struct call *call = arg;
    if (answer->err)
        call_problem(call, answer->err, answer->report);
    else
        call_answer(call, call->success, answer->tree);
}

static bool find_kind(struct call *call, enum entry_kind *kind)
{
    struct err err;
    if (entry_kind_parse(call->param[0], kind))
        return true;
    err_set(&err, ERR_NOT_FOUND, "the catalogue has no %.60s", call->param[0]);
    err_hint(&err, "%s", &ENTRY_PLURALS[1]);
    call_problem(call, &err, NULL);
    return false;
}

void catalogue_list_get(struct call *call)
{
    enum entry_kind kind;
    if (!find_kind(call, &kind))
        return;
    const struct entry_list list = ctl_catalogue_view(call->api->config.ctl, call->arena, kind);
    struct text_node *root = text_map(call->arena, NULL, NULL);
    struct text_node *out = text_list(call->arena, root, entry_plural(kind));
    for (size_t i = 0; i < list.n; i++)
        entry_encode(call->arena, out, list.at[i]);
    call_answer(call, 200, root);
}

void catalogue_declare(struct call *call)
{
    struct declaration ask = { .owner = call->owner };
    ask.text = http_body(call->request, &ask.len);
    call_keep(call);
    ctl_declare(call->api->config.ctl, &ask, on_done, call);
}

void catalogue_remove(struct call *call)
{
    enum entry_kind kind;
    if (!find_kind(call, &kind))
        return;
    call_keep(call);
    ctl_undeclare(call->api->config.ctl, call->owner, kind, call->param[1], on_done, call);
}

static void queues(struct call *call, const char *name)
{
    struct err err;
    struct queues_view view;
    if (answer_queues_view(call->api->config.ctl, call->arena, call->owner, name, &view, &err))
        call_problem(call, &err, NULL);
    else
        call_answer(call, 200, view_put_queues(call->arena, &view));
}

void queues_list(struct call *call)
{
    queues(call, NULL);
}

void queues_show(struct call *call)
{
    queues(call, call->param[0]);
}
