/* Secrets by name over HTTP: a value comes as the body of a request, of any bytes, and in no
 * answer. A name with a slash is two parts of the path. */
#include "api/secret_calls.h"

#include "api/call.h"

#include "account/vault.h"
#include "base/mem.h"
#include "ctl/account.h"

#include <sodium.h>
#include <string.h>

static struct text_node *put_view(struct arena *a, struct text_node *list,
                                  const struct secret_view *secret)
{
    struct text_node *map = text_map(a, list, NULL);
    text_str(a, map, "name", secret->name);
    if (secret->project)
        text_str(a, map, "project", secret->project);
    else
        text_str(a, map, "owner", secret->owner);
    text_str(a, map, "by", secret->by);
    text_int(a, map, "created_ms", (int64_t)secret->created_ms);
    text_int(a, map, "changed_ms", (int64_t)secret->changed_ms);
    if (secret->used_ms) {
        text_int(a, map, "used_ms", (int64_t)secret->used_ms);
        text_int(a, map, "used_job", (int64_t)secret->used_job);
    }
    return map;
}

void secrets_list(struct call *call)
{
    struct secret_list list;
    struct err err = { 0 };
    const struct secret_ask ask = { .by = call->owner,
                                    .owner = http_query(call->request, "owner", 0),
                                    .project = http_query(call->request, "project", 0) };
    if (list_secrets(ctl_accounts(call->api->config.ctl), call->arena, &ask, &list, &err)) {
        call_problem(call, &err, NULL);
        return;
    }
    struct text_node *root = text_map(call->arena, NULL, NULL);
    struct text_node *out = text_list(call->arena, root, "secrets");
    for (size_t i = 0; i < list.n; i++)
        put_view(call->arena, out, &list.at[i]);
    call_answer(call, 200, root);
}

static void on_done(void *arg, const struct ctl_answer *answer)
{
    struct call *call = arg;
    if (answer->made.secret)
        call_answer(call, call->success, put_view(call->arena, NULL, answer->made.secret));
    else
        call_problem(call, answer->err, answer->report);
}

static void change(struct call *call, const void *value, size_t len)
{
    const char *key = call->param[1];
    const struct secret_change ask = {
        .by = call->owner,
        .name = key ? arena_printf(call->arena, "%s/%s", call->param[0], key) : call->param[0],
        .owner = http_query(call->request, "owner", 0),
        .project = http_query(call->request, "project", 0),
        .value = value,
        .len = len
    };
    call_keep(call);
    ctl_secret_put(call->api->config.ctl, &ask, on_done, call);
}

void secret_put(struct call *call)
{
    size_t len;
    const char *value = http_body(call->request, &len);
    change(call, value, len);
    sodium_memzero((char *)(uintptr_t)value, len);
}

void secret_remove(struct call *call)
{
    change(call, NULL, 0);
}
