/* Interactive commands, and clients at a task's stdin: a channel joins a client's socket to an
 * agent's connection. Frames pass through with the channel's number put in. A client is not read
 * while the agent, or with a window the command, does not take what was said before; and with a
 * window the agent sends no more output than the client takes. Without one a client that is too
 * slow for its output ends the channel. When the agent is gone, the client still gets what came
 * from there. */
#include "link/hub.h"

#include "base/mem.h"

#define CLIENT_MAX  (8u << 20)
#define CLIENT_ROOM (1u << 20)

struct channel {
    uint32_t number;
    struct link_hub *hub;
    const struct agent *agent; /* NULL once it is gone */
    struct conn *client;
    uint32_t window;       /* of EXEC; 0: none */
    uint64_t typed, taken; /* bytes of input: sent to the agent, and taken by the command */
    uint64_t came, told;   /* of output: from the agent, and told as taken by the client */
};

_Static_assert(EXEC_WINDOW + CLIENT_ROOM < CLIENT_MAX, "what a window lets come is not too much");

static bool takes_input(const struct channel *ch)
{
    return conn_has_room(ch->agent->conn) && (!ch->window || ch->typed - ch->taken < ch->window);
}

/* Not of each piece. */
static void tell_output(struct channel *ch)
{
    if (!ch->window || ch->came - ch->told < ch->window / 4)
        return;
    ch->told = ch->came;
    wire_put(conn_out(ch->agent->conn), 0,
             &(struct wire_reached_report){ .channel = ch->number, .output = ch->came });
    conn_flush(ch->agent->conn);
}

static void client_has_room(void *arg, struct conn *conn)
{
    struct channel *ch = arg;
    (void)conn;
    if (ch->agent)
        tell_output(ch);
}

static void client_closed(void *arg, struct conn *conn, const char *why)
{
    struct channel *ch = arg;
    (void)conn;
    (void)why;
    if (ch->agent) { /* the command loses its input: its agent ends it */
        struct buf *out = conn_out(ch->agent->conn);
        size_t mark = wire_begin(out, WIRE_EXIT, 0);
        wire_put_u32(out, ch->number);
        wire_end(out, mark);
        conn_flush(ch->agent->conn);
    }
    map_remove(ch->hub->channels, ch->number);
    free(ch);
}

static int from_client(void *arg, struct conn *conn, const struct wire_frame *frame)
{
    struct channel *ch = arg;
    if (frame->len < 4 || (frame->kind != WIRE_STDIN && frame->kind != WIRE_RESIZE))
        return -1;
    struct buf *out = conn_out(ch->agent->conn);
    size_t mark = wire_begin(out, frame->kind, 0);
    wire_put_u32(out, ch->number);
    buf_add(out, frame->body + 4, frame->len - 4);
    wire_end(out, mark);
    conn_flush(ch->agent->conn);
    if (frame->kind == WIRE_STDIN)
        ch->typed += frame->len - 4;
    if (!takes_input(ch))
        conn_read(conn, CONN_WATCHES);
    return 0;
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
    static const struct conn_terms terms = { .kinds = CONN_AGENT_KINDS,
                                             .out_max = CLIENT_MAX,
                                             .room = CLIENT_ROOM };
    struct channel *ch = mem_new(sizeof *ch);
    ch->number = ++hub->next_channel;
    ch->hub = hub;
    ch->agent = a;
    ch->client = conn_create(
        hub->loop, fd, &terms,
        (struct conn_events){
            .frame = from_client, .room = client_has_room, .closed = client_closed, .arg = ch });
    if (!conn_has_room(a->conn))
        conn_read(ch->client, CONN_WATCHES);
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
    wire_put(conn_out(a->conn), 0, &message);
    conn_flush(a->conn);
    return 0;
}

int link_exec(struct link_hub *hub, const struct engine_exec *exec, struct err *err)
{
    struct agent *a = agent_of(hub, exec->generation, exec->node, err);
    if (!a)
        return -1;
    if (exec->port && a->launch_form < WIRE_EXEC_FORM) {
        err_set(err, ERR_CANNOT, "the agent on %s is of a version that opens no ports", exec->node);
        return err_hint(err, "tasks that start from now on have this one");
    }
    struct channel *ch = open_channel(hub, a, exec->fd);
    ch->window = a->launch_form < WIRE_EXEC_FORM ? 0 : EXEC_WINDOW;
    struct wire_exec message = { .channel = ch->number,
                                 .task = exec->task,
                                 .attempt = exec->attempt,
                                 .argv = exec->argv,
                                 .tty = exec->tty,
                                 .rows = exec->rows,
                                 .cols = exec->cols,
                                 .window = ch->window,
                                 .port = exec->port };
    wire_put(conn_out(a->conn), 0, &message);
    conn_flush(a->conn);
    return 0;
}

static void take_reached(struct channel *ch, const struct wire_frame *frame)
{
    struct wire_reached_report reached;
    if (wire_get(frame, NULL, &reached) < 0 || reached.input > ch->typed)
        return;
    ch->taken = reached.input;
    if (takes_input(ch))
        conn_read(ch->client, CONN_READS);
}

void channel_from_agent(struct link_hub *hub, struct agent *a, const struct wire_frame *frame)
{
    struct wire_reader r = wire_read(frame);
    struct channel *ch = map_get(hub->channels, wire_get_u32(&r));
    if (r.bad || !ch || ch->agent != a)
        return;
    if (ch->window && frame->kind == WIRE_REACHED) {
        take_reached(ch, frame);
        return;
    }
    struct buf *out = conn_out(ch->client);
    size_t mark = wire_begin(out, frame->kind, 0);
    buf_add(out, frame->body, frame->len);
    wire_end(out, mark);
    conn_flush(ch->client);
    if (frame->kind == WIRE_STDOUT || frame->kind == WIRE_STDERR)
        ch->came += frame->len - 4;
    if (conn_has_room(ch->client))
        tell_output(ch);
}

/* The next channel of an agent, by the map's cursor; NULL after the last. */
static struct channel *next_of(const struct link_hub *hub, const struct agent *a, size_t *cursor)
{
    uint64_t number;
    void *value;
    while (map_next(hub->channels, cursor, &number, &value))
        if (((struct channel *)value)->agent == a)
            return value;
    return NULL;
}

void channels_drop(struct link_hub *hub, const struct agent *a)
{
    size_t cursor = 0;
    struct channel *ch;
    while ((ch = next_of(hub, a, &cursor))) {
        ch->agent = NULL;
        conn_finish(ch->client);
    }
}

void channels_go_on(struct link_hub *hub, const struct agent *a)
{
    size_t cursor = 0;
    struct channel *ch;
    while ((ch = next_of(hub, a, &cursor)))
        if (takes_input(ch))
            conn_read(ch->client, CONN_READS);
}

void channels_destroy(struct link_hub *hub)
{
    size_t cursor = 0;
    uint64_t number;
    void *value;
    while (map_next(hub->channels, &cursor, &number, &value)) {
        struct channel *ch = value;
        conn_close(ch->client);
        free(ch);
    }
    map_destroy(hub->channels);
}
