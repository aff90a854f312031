/* Each end reads while the other has room; who is told of room is the one that writes there, so the
 * reader of the other end goes on then. The end of one side finishes the other, whose own end is
 * the last. */
#include "conn/splice.h"

#include "base/mem.h"

struct end {
    struct splice *of;
    struct end *other;
    struct conn *conn; /* NULL: it is over */
};
struct splice {
    struct end ends[2];
    struct splice_sink sink;
};

static void watch(const struct end *end)
{
    conn_read(end->conn, conn_has_room(end->other->conn) ? CONN_READS : CONN_HOLDS);
}

static ssize_t on_bytes(void *arg, struct conn *conn, char *at, size_t len)
{
    const struct end *end = arg;
    struct conn *other = end->other->conn;
    (void)conn;
    if (!other) /* it is over, and this one is being finished */
        return (ssize_t)len;
    buf_add(conn_out(other), at, len);
    conn_flush(other);
    watch(end);
    return (ssize_t)len;
}

static void on_room(void *arg, struct conn *conn)
{
    const struct end *end = arg;
    (void)conn;
    if (end->other->conn)
        watch(end->other);
}

static void on_closed(void *arg, struct conn *conn, const char *why)
{
    struct end *end = arg;
    struct splice *splice = end->of;
    (void)conn;
    (void)why;
    end->conn = NULL;
    if (end->other->conn) {
        conn_finish(end->other->conn);
        return;
    }
    const struct splice_sink sink = splice->sink;
    free(splice);
    sink.ended(sink.arg);
}

struct splice *splice_create(struct conn *a, struct conn *b, struct splice_sink sink)
{
    struct splice *splice = mem_new(sizeof *splice);
    splice->sink = sink;
    struct conn *const conns[] = { a, b };
    for (int i = 0; i < 2; i++) {
        struct end *end = &splice->ends[i];
        *end = (struct end){ .of = splice, .other = &splice->ends[!i], .conn = conns[i] };
        conn_set_events(conns[i],
                        (struct conn_events){
                            .bytes = on_bytes, .room = on_room, .closed = on_closed, .arg = end });
    }
    for (int i = 0; i < 2; i++)
        watch(&splice->ends[i]);
    return splice;
}

void splice_destroy(struct splice *splice)
{
    if (!splice)
        return;
    for (int i = 0; i < 2; i++)
        conn_close(splice->ends[i].conn);
    free(splice);
}
