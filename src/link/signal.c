/* Signals on their way to the processes of a task: each is answered by its agent, or by the loss of
 * it, or by the time that it may take. */
#include "link/hub.h"

#include "base/mem.h"

struct signal_request {
    uv_timer_t timer; /* first: freed when it is closed */
    struct link_hub *hub;
    const struct agent *agent;
    uint32_t number;
    void (*done)(void *arg, int heard);
    void *arg;
};

static void on_freed(uv_handle_t *timer)
{
    free(timer->data);
}

static void answered(struct signal_request *ask, int heard)
{
    map_remove(ask->hub->signals, ask->number);
    uv_close((uv_handle_t *)&ask->timer, on_freed);
    ask->done(ask->arg, heard);
}

static void on_late(uv_timer_t *timer)
{
    answered(timer->data, HEARD_LOST);
}

int link_signal(struct link_hub *hub, const struct engine_signal *ask, struct err *err)
{
    const struct agent *a = hub_find(hub, ask->generation, ask->node);
    if (!a || !a->hello)
        return err_set(err, ERR_UNAVAILABLE, "the agent on %s is not connected", ask->node);
    struct signal_request *one = mem_new(sizeof *one);
    one->hub = hub;
    one->agent = a;
    one->number = ++hub->next_signal;
    one->done = ask->done;
    one->arg = ask->arg;
    uv_timer_init(hub->loop, &one->timer);
    one->timer.data = one;
    uv_timer_start(&one->timer, on_late, ENGINE_SIGNAL_WAIT_MS, 0);
    map_set(hub->signals, one->number, one);
    struct wire_signal message = { .number = one->number,
                                   .task = ask->task,
                                   .attempt = ask->attempt,
                                   .signal = (uint32_t)ask->signal };
    wire_put(conn_out(a->conn), 0, &message);
    conn_flush(a->conn);
    return 0;
}

int signal_from_agent(struct link_hub *hub, const struct agent *a, const struct wire_frame *frame)
{
    struct wire_signalled_report said;
    if (wire_get(frame, NULL, &said) < 0)
        return -1;
    struct signal_request *ask = map_get(hub->signals, said.number);
    if (ask && ask->agent == a) /* else it came too late */
        answered(ask, said.heard < INT32_MAX ? (int)said.heard : INT32_MAX);
    return 0;
}

void signals_drop(struct link_hub *hub, const struct agent *a)
{
    size_t cursor = 0;
    uint64_t number;
    void *value;
    while (map_next(hub->signals, &cursor, &number, &value)) {
        struct signal_request *ask = value;
        if (ask->agent != a)
            continue;
        ask->agent = NULL;
        uv_timer_start(&ask->timer, on_late, 0, 0);
    }
}

void signals_destroy(struct link_hub *hub)
{
    size_t cursor = 0;
    uint64_t number;
    void *value;
    while (map_next(hub->signals, &cursor, &number, &value)) {
        struct signal_request *ask = value;
        uv_close((uv_handle_t *)&ask->timer, on_freed);
        ask->done(ask->arg, HEARD_NEVER);
    }
    map_destroy(hub->signals);
}
