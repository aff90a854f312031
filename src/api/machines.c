/* Machines over HTTP: added, listed, removed, fenced. What the core has committed is then told to
 * who knows the engine. */
#include "api/machine_calls.h"

#include "answer/cluster_views.h"
#include "api/facade.h"
#include "ctl/node_work.h"
#include "inventory/known_machines.h"

#include <sodium.h>
#include <string.h>

struct adding {
    struct call *call;
    struct machine machine;
    char token[2 * MACHINE_TOKEN + 1];
    bool again;
};

static const struct api_machines *machines_of(const struct call *call)
{
    return &call->api->config.machines;
}

static bool have_port(struct call *call)
{
    struct err err;
    if (machines_of(call)->add)
        return true;
    err_set(&err, ERR_CANNOT, "this server has no port for agents of other machines");
    err_hint(&err, "start it with --agents 0.0.0.0:6879");
    call_problem(call, &err, NULL);
    return false;
}

static int read_machine(struct call *call, struct machine *out, struct err *err)
{
    static const char *const known[] = { "name", "address", "labels" };
    struct text_node *body;
    if (facade_body(call, FACADE_JSON, &body, err))
        return -1;
    if (!body || body->kind != TEXT_MAP)
        return err_set(err, ERR_INPUT, "the body is no map with the name of a machine");
    for (const struct text_node *m = body->first; m; m = m->next) {
        size_t i = 0;
        while (i < 3 && strcmp(known[i], m->key) != 0)
            i++;
        if (i == 3)
            return err_set(err, ERR_INPUT, "\"%.60s\" is not known here", m->key);
        if (m->kind != (i == 2 ? TEXT_MAP : TEXT_STR))
            return err_set(err, ERR_INPUT, "%s is %s", m->key, text_kind_word(m->kind));
    }
    const struct text_node *labels = text_get(body, "labels");
    for (const struct text_node *n = labels ? labels->first : NULL; n; n = n->next) {
        if (n->kind != TEXT_STR || labels->count > 64)
            return err_set(err, ERR_INPUT, "label %.60s is no text", n->key);
        pairs_set(&out->labels, call->arena, n->key, n->str);
    }
    out->name = text_word(body, "name");
    out->address = text_word(body, "address");
    out->by = call->owner;
    return 0;
}

static void on_added(void *arg, const struct ctl_answer *answer)
{
    struct adding *add = arg;
    struct call *call = add->call;
    if (answer->err) {
        call_problem(call, answer->err, answer->report);
        return;
    }
    const struct api_machines *machines = machines_of(call);
    struct text_node *root = text_map(call->arena, NULL, NULL);
    machines->add(machines->arg, &add->machine);
    text_str(call->arena, root, "name", add->machine.name);
    text_str(call->arena, root, "token", add->token);
    machines->put_where(machines->where_arg, call->arena, root);
    call_answer(call, add->again ? 200 : 201, root);
}

void machine_add(struct call *call)
{
    struct adding *add = ARENA_NEW(call->arena, struct adding);
    struct machine before;
    unsigned char token[MACHINE_TOKEN];
    struct err err;
    int found = -1;
    if (!have_port(call))
        return;
    *add = (struct adding){ .call = call };
    if (read_machine(call, &add->machine, &err) == 0)
        found = known_machine_find(ctl_machines(call->api->config.ctl), call->arena,
                                   add->machine.name, &before, &err);
    if (found < 0) {
        call_problem(call, &err, NULL);
        return;
    }
    add->again = found == 1;
    randombytes_buf(token, sizeof token);
    crypto_hash_sha256(add->machine.token_hash, token, sizeof token);
    sodium_bin2hex(add->token, sizeof add->token, token, sizeof token);
    sodium_memzero(token, sizeof token);
    call_keep(call);
    ctl_machine_put(call->api->config.ctl, &add->machine, on_added, add);
}

/* The records have it: the engine is told. */
static void tell_engine(struct call *call, const struct ctl_answer *answer,
                        void (*tell)(void *arg, const char *name))
{
    if (answer->err) {
        call_problem(call, answer->err, answer->report);
        return;
    }
    struct text_node *root = text_map(call->arena, NULL, NULL);
    text_str(call->arena, root, "name", call->param[0]);
    tell(machines_of(call)->arg, call->param[0]);
    call_answer(call, call->success, root);
}

static void on_removed(void *arg, const struct ctl_answer *answer)
{
    tell_engine(arg, answer, machines_of(arg)->remove);
}

/* A node of the server's own machine, declared or not, was never added. */
static bool is_own(struct call *call)
{
    const struct nodes_view all = answer_nodes_view(call->api->config.ctl, call->arena);
    struct err err;
    size_t i = 0;
    while (i < all.nodes.n && strcmp(all.nodes.at[i].name, call->param[0]) != 0)
        i++;
    if (i == all.nodes.n || strcmp(all.nodes.at[i].engine, "local") != 0)
        return false;
    err_set(&err, ERR_INPUT, "%.80s is a node of the server's own, no machine that was added",
            call->param[0]);
    if (all.nodes.at[i].declared)
        err_hint(&err, "the setting nodes declares it");
    call_problem(call, &err, NULL);
    return true;
}

void machine_remove(struct call *call)
{
    if (is_own(call) || !have_port(call))
        return;
    call_keep(call);
    ctl_machine_remove(call->api->config.ctl, call->param[0], call_flag(call, "force"), on_removed,
                       call);
}

static void on_fenced(void *arg, const struct ctl_answer *answer)
{
    tell_engine(arg, answer, machines_of(arg)->fence);
}

void machine_fence(struct call *call)
{
    struct text_node *body;
    struct err err;
    const struct api_machines *machines = machines_of(call);
    if (!have_port(call))
        return;
    if (machines->reach(machines->arg, call->param[0])) {
        err_set(&err, ERR_CONFLICT, "%.80s is connected: what runs there lives", call->param[0]);
        err_hint(&err, "drain it, or stop its jobs");
        call_problem(call, &err, NULL);
        return;
    }
    if (facade_body(call, FACADE_JSON, &body, &err)) {
        call_problem(call, &err, NULL);
        return;
    }
    call_keep(call);
    ctl_machine_fence(call->api->config.ctl, call->param[0], text_word(body, "reason"), on_fenced,
                      call);
}

static void put_machine(struct call *call, struct text_node *list, const struct machine *m,
                        const struct nodes_view *nodes)
{
    const struct api_machines *machines = machines_of(call);
    const struct node_answer *node = NULL;
    for (size_t i = 0; i < nodes->nodes.n && !node; i++)
        if (strcmp(nodes->nodes.at[i].name, m->name) == 0)
            node = &nodes->nodes.at[i];
    bool reached = machines->reach && machines->reach(machines->arg, m->name);
    struct text_node *one = text_map(call->arena, list, NULL);
    text_str(call->arena, one, "name", m->name);
    text_str(call->arena, one, "address", node ? node->address : m->address);
    text_str(call->arena, one, "state",
             reached ? "connected"
             : node  ? "unreachable"
                     : "never came");
    const char *machine = "", *boot = "";
    if (machines->ids)
        machines->ids(machines->arg, m->name, &machine, &boot);
    if (*machine)
        text_str(call->arena, one, "machine", machine);
    if (*boot)
        text_str(call->arena, one, "boot", boot);
    if (node && node->since_ms)
        text_int(call->arena, one, "since_ms", (int64_t)node->since_ms);
    if (node && node->why)
        text_str(call->arena, one, "why", node->why);
    text_int(call->arena, one, "runs", node ? (int64_t)node->tasks : 0);
    text_str(call->arena, one, "added_by", m->by);
    text_int(call->arena, one, "added_ms", (int64_t)m->at_ms);
}

void machines_list(struct call *call)
{
    struct machine_list all;
    struct err err;
    if (known_machines_list(ctl_machines(call->api->config.ctl), call->arena, &all, &err)) {
        call_problem(call, &err, NULL);
        return;
    }
    const struct nodes_view nodes = answer_nodes_view(call->api->config.ctl, call->arena);
    struct text_node *root = text_map(call->arena, NULL, NULL);
    struct text_node *list = text_list(call->arena, root, "machines");
    for (size_t i = 0; i < all.n; i++)
        put_machine(call, list, &all.at[i], &nodes);
    const struct api_machines *machines = machines_of(call);
    if (machines->add)
        machines->put_where(machines->where_arg, call->arena, root);
    call_answer(call, 200, root);
}
