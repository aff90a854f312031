/* Pilots over HTTP: started, listed, given back. What each is and does is its owner's; here are
 * only the routes. */
#include "api/pilot_calls.h"

#include "api/facade.h"
#include "ctl/ctl.h"

#include <string.h>

static const struct api_pilots *pilots_of(const struct call *call)
{
    return &call->api->config.pilots;
}

static bool can(struct call *call)
{
    struct err err;
    if (pilots_of(call)->start)
        return true;
    err_set(&err, ERR_CANNOT, "this server finds no sbatch, or is set not to use Slurm");
    err_hint(&err, "start it on a login node of Slurm, or with --slurm-prefix=\"ssh LOGIN\"");
    call_problem(call, &err, NULL);
    return false;
}

static void on_started(void *arg, const char *name, const struct err *problem)
{
    struct call *call = arg;
    if (!name) {
        call_problem(call, problem, NULL);
        return;
    }
    struct text_node *root = text_map(call->arena, NULL, NULL);
    text_str(call->arena, root, "name", name);
    call_answer(call, call->success, root);
}

void pilot_start(struct call *call)
{
    struct text_node *body;
    struct err err;
    if (!can(call))
        return;
    if (facade_body(call, FACADE_JSON, &body, &err)) {
        call_problem(call, &err, NULL);
        return;
    }
    call_keep(call);
    pilots_of(call)->start(pilots_of(call)->arg, body, call->owner, on_started, call);
}

static void put(struct call *call, const char *name)
{
    struct err err;
    struct text_node *root = text_map(call->arena, NULL, NULL);
    if (!can(call))
        return;
    if (pilots_of(call)->put(pilots_of(call)->arg, call->arena, name, root, &err) < 0)
        call_problem(call, &err, NULL);
    else
        call_answer(call, call->success, root);
}

void pilots_list(struct call *call)
{
    put(call, NULL);
}

void pilot_show(struct call *call)
{
    put(call, call->param[0]);
}

void pilot_stop(struct call *call)
{
    struct err err;
    if (!can(call))
        return;
    if (pilots_of(call)->stop(pilots_of(call)->arg, call->param[0], call->owner,
                              call_flag(call, "now"), &err) < 0)
        call_problem(call, &err, NULL);
    else
        put(call, call->param[0]);
}
