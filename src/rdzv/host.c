/* Participants by member and by connection. The rendezvous decides, this knows who is there: a
 * member is lost when its connection has ended, when it does not come again in time, or when the
 * owner says so. It keeps its place while its connection is being made anew. */
#include "rdzv/host.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

struct rdzv_host {
    struct rdzv_host_sink sink;
    struct rdzv *rdzv;
    struct map *members, *conns; /* struct rdzv_participant, which members owns */
    size_t missing;              /* who have to come again */
    uint64_t slack_us, due_us;
    uint32_t expected, later; /* as the rendezvous was told */
    bool failed;
};

static void on_order(void *arg, const struct rdzv_order *order)
{
    struct rdzv_host *host = arg;
    const struct rdzv_participant *to = map_get(host->members, order->to);
    if (order->kind == RDZV_ORDER_END && order->end.kind != RDZV_END_DONE)
        host->failed = true;
    if (to)
        host->sink.order(host->sink.arg, to, order);
}

static void on_news(void *arg, const struct rdzv_notice *news)
{
    struct rdzv_host *host = arg;
    if (host->sink.news)
        host->sink.news(host->sink.arg, map_get(host->members, news->member), news);
}

struct rdzv_host *rdzv_host_create(const struct rdzv_limits *limits, struct rdzv_host_sink sink)
{
    struct rdzv_host *host = mem_new(sizeof *host);
    host->sink = sink;
    host->members = map_create();
    host->conns = map_create();
    host->slack_us = limits->silence_ms ? limits->silence_ms * 500ull : UINT64_MAX;
    host->due_us = UINT64_MAX;
    host->expected = UINT32_MAX;
    host->rdzv =
        rdzv_create(limits, (struct rdzv_sink){ .order = on_order, .news = on_news, .arg = host });
    return host;
}

void rdzv_host_destroy(struct rdzv_host *host)
{
    if (!host)
        return;
    rdzv_destroy(host->rdzv);
    map_destroy(host->conns);
    map_destroy_with(host->members, free);
    free(host);
}

struct rdzv *rdzv_host_rendezvous(const struct rdzv_host *host)
{
    return host->rdzv;
}

bool rdzv_host_failed(const struct rdzv_host *host)
{
    return host->failed;
}

size_t rdzv_host_count(const struct rdzv_host *host)
{
    return map_count(host->members);
}

const struct rdzv_participant *rdzv_host_member(const struct rdzv_host *host, uint64_t id)
{
    return map_get(host->members, id);
}

const struct rdzv_participant *rdzv_host_at(const struct rdzv_host *host, uint64_t conn)
{
    return map_get(host->conns, conn);
}

const struct rdzv_participant *rdzv_host_next(const struct rdzv_host *host, size_t *cursor)
{
    uint64_t id;
    void *value;
    return map_next(host->members, cursor, &id, &value) ? value : NULL;
}

/* ---- who is there ---- */

static void leave_conn(struct rdzv_host *host, struct rdzv_participant *one, uint64_t due_us)
{
    (void)map_remove(host->conns, one->conn);
    one->conn = 0;
    one->due_us = due_us;
    host->missing += due_us != UINT64_MAX;
}

static void take_conn(struct rdzv_host *host, struct rdzv_participant *one, uint64_t conn)
{
    uint64_t former = one->conn;
    if (former == conn)
        return;
    host->missing -= former == 0 && one->due_us != UINT64_MAX;
    if (former)
        (void)map_remove(host->conns, former);
    one->conn = conn;
    one->due_us = UINT64_MAX;
    map_set(host->conns, conn, one);
    if (former)
        host->sink.replaced(host->sink.arg, former);
}

/* The rendezvous first: the news about it names the member. */
static void lose(struct rdzv_host *host, struct rdzv_participant *one, const char *why,
                 uint64_t now_us)
{
    rdzv_lost(host->rdzv, one->id, why, now_us);
    if (one->conn)
        leave_conn(host, one, UINT64_MAX);
    host->missing -= one->due_us != UINT64_MAX;
    free(map_remove(host->members, one->id));
}

int rdzv_host_join(struct rdzv_host *host, uint64_t conn, uint64_t tag,
                   const struct rdzv_join *join, uint64_t now_us)
{
    struct rdzv_participant *one = map_get(host->conns, conn);
    if (one && one->id != join->member)
        return -1;
    if (!one)
        one = map_get(host->members, join->member);
    if (!one) {
        one = mem_new(sizeof *one);
        *one = (struct rdzv_participant){ .id = join->member, .due_us = UINT64_MAX };
        map_set(host->members, one->id, one);
    }
    take_conn(host, one, conn);
    one->tag = tag;
    rdzv_join(host->rdzv, join, now_us);
    return 0;
}

void rdzv_host_closed(struct rdzv_host *host, uint64_t conn, const char *why, uint64_t now_us)
{
    struct rdzv_participant *one = map_get(host->conns, conn);
    if (!one)
        return;
    leave_conn(host, one, UINT64_MAX);
    if (rdzv_phase(host->rdzv) != RDZV_OVER)
        lose(host, one, why, now_us);
}

void rdzv_host_cut(struct rdzv_host *host, uint64_t conn, uint64_t until_us)
{
    struct rdzv_participant *one = map_get(host->conns, conn);
    if (one)
        leave_conn(host, one, until_us);
}

void rdzv_host_lose(struct rdzv_host *host, uint64_t id, const char *why, uint64_t now_us)
{
    struct rdzv_participant *one = map_get(host->members, id);
    if (one)
        lose(host, one, why, now_us);
}

/* ---- what they say ---- */

void rdzv_host_beat(struct rdzv_host *host, uint64_t id, uint64_t now_us)
{
    rdzv_beat(host->rdzv, id, now_us);
}

int rdzv_host_hear(struct rdzv_host *host, uint64_t conn, const struct rdzv_frame_data *frame,
                   struct arena *scratch, uint64_t now_us)
{
    const struct rdzv_participant *one = map_get(host->conns, conn);
    struct rdzv_report report;
    struct rdzv_check_report checked;
    struct rdzv_leave leave;
    int rc = one ? 0 : -1;
    switch (one ? frame->kind : RDZV_FRAME_N) {
    case RDZV_FRAME_REPORT:
        rc = rdzv_get(frame, scratch, &report);
        if (rc == 0)
            rdzv_report(host->rdzv, one->id, &report, now_us);
        break;
    case RDZV_FRAME_CHECKED:
        rc = rdzv_get(frame, scratch, &checked);
        if (rc == 0)
            rdzv_checked(host->rdzv, one->id, &checked, now_us);
        break;
    case RDZV_FRAME_LEAVE:
        rc = rdzv_get(frame, scratch, &leave);
        if (rc == 0)
            rdzv_leave(host->rdzv, one->id, &leave, now_us);
        break;
    case RDZV_FRAME_BEAT: rdzv_beat(host->rdzv, one->id, now_us); break;
    default: rc = -1;
    }
    return rc;
}

bool rdzv_host_expect(struct rdzv_host *host, uint32_t members, uint32_t later, uint64_t now_us)
{
    if (members == host->expected && later == host->later)
        return false;
    host->expected = members;
    host->later = later;
    rdzv_expect(host->rdzv, members, later, now_us);
    return true;
}

void rdzv_put_order(struct buf *out, const struct rdzv_order *order)
{
    switch (order->kind) {
    case RDZV_ORDER_WELCOME: rdzv_put(out, &order->welcome); break;
    case RDZV_ORDER_ROUND: rdzv_put(out, &order->round); break;
    case RDZV_ORDER_CHECK: rdzv_put(out, &order->check); break;
    case RDZV_ORDER_STOP: rdzv_put(out, &order->stop); break;
    case RDZV_ORDER_END: rdzv_put(out, &order->end); break;
    case RDZV_ORDER_REFUSED: rdzv_put(out, &order->refused); break;
    case RDZV_ORDER_NOTE: rdzv_put(out, &order->note); break;
    }
}

/* ---- time ---- */

static void forgive_own_sleep(struct rdzv_host *host, uint64_t now_us)
{
    const struct rdzv_participant *one;
    size_t cursor = 0;
    if (host->due_us == UINT64_MAX || host->slack_us == UINT64_MAX ||
        now_us < host->due_us + host->slack_us)
        return;
    while ((one = rdzv_host_next(host, &cursor)))
        rdzv_beat(host->rdzv, one->id, now_us);
}

/* The next time at which one of them has to be back; UINT64_MAX: all are there. */
static uint64_t lose_missing(struct rdzv_host *host, uint64_t now_us)
{
    VEC(uint64_t) late = { 0 };
    const struct rdzv_participant *one;
    uint64_t next = UINT64_MAX;
    size_t cursor = 0;
    if (host->missing == 0 || rdzv_phase(host->rdzv) == RDZV_OVER)
        return UINT64_MAX;
    while ((one = rdzv_host_next(host, &cursor)))
        if (one->due_us <= now_us)
            vec_push(&late, one->id);
        else if (one->due_us < next)
            next = one->due_us;
    for (size_t i = 0; i < late.n && rdzv_phase(host->rdzv) != RDZV_OVER; i++)
        rdzv_host_lose(host, late.at[i], "its launcher did not come back", now_us);
    vec_fini(&late);
    return next;
}

uint64_t rdzv_host_tick(struct rdzv_host *host, uint64_t now_us)
{
    forgive_own_sleep(host, now_us);
    uint64_t next = lose_missing(host, now_us);
    host->due_us = rdzv_tick(host->rdzv, now_us);
    return next < host->due_us ? next : host->due_us;
}
