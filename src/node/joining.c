/* One question on a connection of its own, asked again on each connection until it is answered. It
 * has a loop of its own too, because nothing else of the node lives before it has a name. */
#include "node/joining.h"

#include "base/mem.h"
#include "node/uplink.h"
#include "wire/message.h"

#include <stdio.h>
#include <string.h>

struct join_request {
    uv_loop_t loop;
    const struct joining *what;
    struct uplink *link;
    uv_timer_t limit;
    bool joined;
    struct joining_answer *answer;
    struct err *err;
};

static void on_connected(void *arg, struct buf *out)
{
    const struct join_request *ask = arg;
    const struct wire_host_join join = { .version = WIRE_VERSION,
                                         .node = ask->what->node,
                                         .allocation = ask->what->allocation,
                                         .own = ask->what->own,
                                         .own_len = JOINING_TOKEN };
    wire_put(out, 0, &join);
}

static void finish(struct join_request *ask)
{
    uplink_destroy(TAKE(ask->link));
    uv_close((uv_handle_t *)&ask->limit, NULL);
}

static int take_answer(struct join_request *ask, const struct wire_frame *frame)
{
    struct arena *arena = arena_create();
    struct wire_host_joined_answer said;
    int rc = wire_get(frame, arena, &said);
    if (rc == 0) {
        ask->joined = *said.node && strlen(said.node) < sizeof ask->answer->name;
        snprintf(ask->answer->name, sizeof ask->answer->name, "%s", said.node);
        snprintf(ask->answer->reason, sizeof ask->answer->reason, "%s", said.reason);
        if (!ask->joined)
            err_set(ask->err, ERR_DENIED, "the server does not take this node: %.160s",
                    said.reason);
        finish(ask);
    }
    arena_destroy(arena);
    return rc;
}

static int on_frame(void *arg, const struct wire_frame *frame)
{
    struct join_request *ask = arg;
    switch (frame->kind) {
    case WIRE_HOST_JOINED: return take_answer(ask, frame);
    case WIRE_PING:
        wire_put_plain(uplink_out(ask->link), WIRE_PONG, frame->seq);
        uplink_flush(ask->link);
        return 0;
    case WIRE_PONG: return 0;
    default: return -1;
    }
}

static void on_nothing(void *arg)
{
    (void)arg;
}

static void on_refused(void *arg, int status)
{
    struct join_request *ask = arg;
    err_set(ask->err, ERR_DENIED, "the server does not know this allocation (HTTP status %d)",
            status);
    finish(ask);
}

static void on_limit(uv_timer_t *timer)
{
    struct join_request *ask = timer->data;
    err_set(ask->err, ERR_UNAVAILABLE, "the server does not answer");
    finish(ask);
}

int joining_run(const struct joining *what, struct joining_answer *answer, struct err *err)
{
    struct join_request ask = { .what = what, .answer = answer, .err = err };
    if (uv_loop_init(&ask.loop) != 0)
        BUG("no event loop");
    ask.link = uplink_create_host(&ask.loop, what->dir,
                                  (struct uplink_sink){ .connected = on_connected,
                                                        .frame = on_frame,
                                                        .writable = on_nothing,
                                                        .lost = on_nothing,
                                                        .refused = on_refused,
                                                        .arg = &ask });
    uv_timer_init(&ask.loop, &ask.limit);
    ask.limit.data = &ask;
    if (what->limit_ms)
        uv_timer_start(&ask.limit, on_limit, what->limit_ms, 0);
    uplink_start(ask.link);
    uv_run(&ask.loop, UV_RUN_DEFAULT);
    uv_loop_close(&ask.loop);
    return ask.joined ? 0 : -1;
}
