/* Interactive commands, and clients at a task's stdin: a channel joins a client's socket to an
 * agent's connection. Frames pass
 * through with the channel's number put in; a client too slow for its output, or an agent that is
 * gone, ends the channel. */
#include "link/hub.h"

#include "base/mem.h"

#define CLIENT_MAX (8u << 20)

struct channel {
    uint32_t number;
    struct link_hub *hub;
    const struct agent *agent; /* NULL once it is gone */
    struct conn *client;
};

static void client_closed(struct conn *conn)
{
    struct channel *ch = conn->owner;
    if (ch->agent && ch->agent->conn) { /* the command loses its input: its agent ends it */
        struct buf *out = &ch->agent->conn->out;
        size_t mark = wire_begin(out, WIRE_EXIT, 0);
        wire_put_u32(out, ch->number);
        wire_end(out, mark);
        conn_send(ch->agent->conn);
    }
    map_remove(ch->hub->channels, ch->number);
    free(ch);
}

static void from_client(struct conn *conn, const struct wire_frame *frame)
{
    struct channel *ch = conn->owner;
    if (frame->len < 4 || (frame->kind != WIRE_STDIN && frame->kind != WIRE_RESIZE) || !ch->agent ||
        !ch->agent->conn) {
        conn_close(conn);
        return;
    }
    struct buf *out = &ch->agent->conn->out;
    size_t mark = wire_begin(out, frame->kind, 0);
    wire_put_u32(out, ch->number);
    buf_add(out, frame->body + 4, frame->len - 4);
    wire_end(out, mark);
    conn_send(ch->agent->conn);
}

static struct agent *agent_of(struct link_hub *hub, struct generation generation, const char *node,
                              struct err *err)
{
    struct agent *a = hub_find(hub, generation, node);
    if (a && a->hello)
        return a;
    err_set(err, ERR_UNAVAILABLE, "the agent on %s is not connected", node);
    return NULL;
}

static struct channel *open_channel(struct link_hub *hub, const struct agent *a, int fd)
{
    struct channel *ch = mem_new(sizeof *ch);
    ch->number = ++hub->next_channel;
    ch->hub = hub;
    ch->agent = a;
    ch->client = conn_create(hub->loop, fd, ch);
    ch->client->out.max = CLIENT_MAX;
    ch->client->frame = from_client;
    ch->client->closed = client_closed;
    map_set(hub->channels, ch->number, ch);
    return ch;
}

int link_join(struct link_hub *hub, const struct engine_attach *attach, struct err *err)
{
    struct agent *a = agent_of(hub, attach->generation, attach->node, err);
    if (!a || attach->fd < 0)
        return a ? 0 : -1;
    struct channel *ch = open_channel(hub, a, attach->fd);
    struct wire_attach message = { .channel = ch->number,
                                   .task = attach->task,
                                   .attempt = attach->attempt,
                                   .session = attach->session,
                                   .offset = attach->offset,
                                   .rows = attach->rows,
                                   .cols = attach->cols };
    conn_start(ch->client, "", 0);
    wire_put(&a->conn->out, 0, &message);
    conn_send(a->conn); /* may end the channel */
    return 0;
}

int link_exec(struct link_hub *hub, const struct engine_exec *exec, struct err *err)
{
    struct agent *a = agent_of(hub, exec->generation, exec->node, err);
    if (!a)
        return -1;
    struct channel *ch = open_channel(hub, a, exec->fd);
    struct wire_exec message = { .channel = ch->number,
                                 .task = exec->task,
                                 .attempt = exec->attempt,
                                 .argv = exec->argv,
                                 .tty = exec->tty,
                                 .rows = exec->rows,
                                 .cols = exec->cols };
    conn_start(ch->client, "", 0);
    wire_put(&a->conn->out, 0, &message);
    conn_send(a->conn); /* may end the channel */
    return 0;
}

void channel_from_agent(struct link_hub *hub, struct agent *a, const struct wire_frame *frame)
{
    struct wire_reader r = wire_read(frame);
    struct channel *ch = map_get(hub->channels, wire_get_u32(&r));
    if (r.bad || !ch || ch->agent != a)
        return;
    struct buf *out = &ch->client->out;
    size_t mark = wire_begin(out, frame->kind, 0);
    buf_add(out, frame->body, frame->len);
    wire_end(out, mark);
    conn_send(ch->client); /* may close and free the channel */
}

static void each_channel(struct link_hub *hub, const struct agent *a)
{
    VEC(struct channel *) hit = { 0 };
    size_t cursor = 0;
    uint64_t number;
    void *value;
    while (map_next(hub->channels, &cursor, &number, &value)) {
        struct channel *ch = value;
        if (!a || ch->agent == a)
            vec_push(&hit, ch);
    }
    for (size_t i = 0; i < hit.n; i++) {
        hit.at[i]->agent = NULL;
        conn_close(hit.at[i]->client);
    }
    vec_fini(&hit);
}

void channels_drop(struct link_hub *hub, const struct agent *a)
{
    each_channel(hub, a);
}

void channels_destroy(struct link_hub *hub)
{
    each_channel(hub, NULL);
    map_destroy(hub->channels);
}
