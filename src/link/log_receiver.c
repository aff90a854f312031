/* A piece is written when its frame is read, so nothing of a log waits in the server's memory; an
 * agent has a part of one frame here at most. Time for writing is shared: when a turn of the loop
 * has used its part, the connection whose frame was the last is not read until others had their
 * turn, in the order in which they were stopped.
 *
 * What a disk refuses is dropped and not acknowledged. The agent, which has it on its own disk,
 * fills its window and waits; every RETRY_MS it is asked to go on from where the copy ends. Readers
 * are woken (FACT_LOG) by what the copy has, never by what the agent has. */
#include "link/log_receiver.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "link/log_copy.h"
#include "wire/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WRITE_US    4000u /* of a turn of the loop, for writing */
#define RESUMED_MAX 8u    /* connections that are read again in a turn */
#define RETRY_MS    1000u
#define NEWS_MS     20u
#define COPIES_MAX  65536u /* attempts of an agent whose logs are not complete */
#define ROLE_MAX    128u

struct copy {
    struct agent_logs *of;
    struct task_ref task;
    uint32_t attempt;
    char *role;            /* NULL: not known yet */
    struct log_copy *disk; /* NULL: not looked at yet */
    uint64_t expected;     /* where the log ends at the node */
    bool final;            /* and it stays so */
    bool closed;           /* what is missing is a hole */
    bool refused;          /* the disk refuses; what comes is dropped */
    bool skips;            /* pieces before the one that was asked for are dropped */
    bool news;             /* readers are to be woken */
};
struct role_number {
    uint16_t number;
    char *name;
};
struct agent_logs {
    struct log_receiver *all;
    struct generation generation;
    char *node, *name, *dir;
    struct conn *conn; /* NULL: it is not here */
    VEC(struct role_number) roles;
    VEC(struct copy *) copies;
    bool held; /* its connection is not read */
};
struct log_receiver {
    uv_loop_t *loop;
    struct engine_sink sink;
    uv_idle_t turn;         /* while connections are held */
    uv_timer_t retry, news; /* while a disk refuses; after news */
    unsigned handles;
    VEC(struct agent_logs *) held;
    VEC(struct copy *) told; /* with news */
    VEC(struct copy *) refused;
    uint64_t tick, spent_us; /* of the loop's clock; used since then */
    bool said;               /* that a disk refuses */
};

static void on_turn(uv_idle_t *);
static void on_retry(uv_timer_t *);
static void on_news(uv_timer_t *);

struct log_receiver *log_receiver_create(uv_loop_t *loop, struct engine_sink sink)
{
    struct log_receiver *all = mem_new(sizeof *all);
    all->loop = loop;
    all->sink = sink;
    uv_idle_init(loop, &all->turn);
    uv_timer_init(loop, &all->retry);
    uv_timer_init(loop, &all->news);
    all->turn.data = all->retry.data = all->news.data = all;
    all->handles = 3;
    return all;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct log_receiver *all = handle->data;
    if (--all->handles == 0)
        free(all);
}

void log_receiver_destroy(struct log_receiver *all)
{
    if (!all)
        return;
    vec_fini(&all->held);
    vec_fini(&all->told);
    vec_fini(&all->refused);
    uv_close((uv_handle_t *)&all->turn, on_handle_closed);
    uv_close((uv_handle_t *)&all->retry, on_handle_closed);
    uv_close((uv_handle_t *)&all->news, on_handle_closed);
}

/* ---- what an agent has ---- */

struct agent_logs *agent_logs_create(struct log_receiver *all, const struct agent_logs_source *of)
{
    struct agent_logs *logs = mem_new(sizeof *logs);
    logs->all = all;
    logs->generation = of->generation;
    logs->node = mem_strdup(of->node);
    logs->name = mem_strdup(of->name);
    logs->dir = mem_strdup(of->dir);
    return logs;
}

static void take_out(struct log_receiver *all, const struct copy *copy)
{
    for (size_t i = all->told.n; copy->news && i-- > 0;)
        if (all->told.at[i] == copy)
            vec_remove(&all->told, i);
    for (size_t i = all->refused.n; copy->refused && i-- > 0;)
        if (all->refused.at[i] == copy)
            vec_remove(&all->refused, i);
}

static void copy_free(struct copy *copy)
{
    take_out(copy->of->all, copy);
    log_copy_destroy(copy->disk);
    free(copy->role);
    free(copy);
}

void agent_logs_up(struct agent_logs *logs, struct conn *conn)
{
    if (logs)
        logs->conn = conn;
}

void agent_logs_lost(struct agent_logs *logs)
{
    if (!logs)
        return;
    logs->conn = NULL;
    for (size_t i = logs->all->held.n; logs->held && i-- > 0;)
        if (logs->all->held.at[i] == logs)
            vec_remove(&logs->all->held, i);
    logs->held = false;
}

void agent_logs_destroy(struct agent_logs *logs)
{
    if (!logs)
        return;
    agent_logs_lost(logs);
    for (size_t i = 0; i < logs->copies.n; i++)
        copy_free(logs->copies.at[i]);
    for (size_t i = 0; i < logs->roles.n; i++)
        free(logs->roles.at[i].name);
    vec_fini(&logs->copies);
    vec_fini(&logs->roles);
    free(logs->node);
    free(logs->name);
    free(logs->dir);
    free(logs);
}

static const char *role_name(const struct agent_logs *logs, uint16_t number)
{
    for (size_t i = 0; i < logs->roles.n; i++)
        if (logs->roles.at[i].number == number)
            return logs->roles.at[i].name;
    return NULL;
}

/* It becomes part of a path. */
static bool is_role_name(const char *name)
{
    return *name && strlen(name) <= ROLE_MAX && !strchr(name, '/');
}

static void learn_role(struct agent_logs *logs, uint16_t number, const char *name)
{
    if (!role_name(logs, number))
        *vec_add(&logs->roles) = (struct role_number){ .number = number, .name = mem_strdup(name) };
}

void agent_logs_launch(struct agent_logs *logs, const struct launch *launch)
{
    for (size_t i = 0; logs && i < launch->n_tasks; i++)
        learn_role(logs, launch->tasks[i].ref.role, launch->tasks[i].role);
}

/* NULL: there are too many. */
static struct copy *copy_of(struct agent_logs *logs, struct task_ref task, uint32_t attempt)
{
    for (size_t i = 0; i < logs->copies.n; i++) {
        struct copy *copy = logs->copies.at[i];
        if (copy->attempt == attempt && copy->task.role == task.role &&
            copy->task.index == task.index)
            return copy;
    }
    if (logs->copies.n == COPIES_MAX)
        return NULL;
    struct copy *copy = mem_new(sizeof *copy);
    *copy = (struct copy){ .of = logs, .task = task, .attempt = attempt };
    vec_push(&logs->copies, copy);
    return copy;
}

/* Complete ones are on the disk, and nowhere else. */
static void drop_if_complete(struct copy *copy)
{
    struct agent_logs *logs = copy->of;
    if (!copy->final || !copy->disk || log_copy_end(copy->disk) < copy->expected || copy->news)
        return;
    for (size_t i = 0; i < logs->copies.n; i++)
        if (logs->copies.at[i] == copy) {
            vec_remove(&logs->copies, i);
            copy_free(copy);
            return;
        }
}

static int open_copy(struct copy *copy, struct err *err)
{
    const char *role = role_name(copy->of, copy->task.role);
    char name[LOG_DIR_MAX];
    if (copy->disk)
        return 0;
    if (!role)
        return err_set(err, ERR_NOT_FOUND, "nothing was said of role %u", copy->task.role);
    log_dir_name(name, role, copy->task.index, copy->attempt);
    AUTO_FREE char *dir = mem_printf("%s/%s", copy->of->dir, name);
    copy->disk = log_copy_open(dir, err);
    return copy->disk ? 0 : -1;
}

/* ---- a disk that refuses ---- */

static void refuse(struct copy *copy, const struct err *err)
{
    struct log_receiver *all = copy->of->all;
    if (!all->said)
        log_warn("log.copy", "agent=%s note=\"logs wait at their nodes: %s\"", copy->of->name,
                 err->what);
    all->said = true;
    if (!copy->refused)
        vec_push(&all->refused, copy);
    copy->refused = true;
    if (!uv_is_active((uv_handle_t *)&all->retry))
        uv_timer_start(&all->retry, on_retry, RETRY_MS, 0);
}

static void say_kept(struct copy *copy, bool again)
{
    struct conn *conn = copy->of->conn;
    struct wire_log_kept_ack kept = { .task = copy->task,
                                      .attempt = copy->attempt,
                                      .offset = log_copy_end(copy->disk),
                                      .again = again };
    if (!conn)
        return; /* it asks when it is here again */
    copy->skips = again;
    wire_put(conn_out(conn), 0, &kept);
    conn_flush(conn);
}

/* One that is refused again comes back into the list, for the next time. */
static void on_retry(uv_timer_t *timer)
{
    struct log_receiver *all = timer->data;
    for (size_t n = all->refused.n; n > 0; n--) {
        struct copy *copy = all->refused.at[0];
        struct err err;
        vec_remove(&all->refused, 0);
        copy->refused = false;
        if (open_copy(copy, &err) != 0)
            refuse(copy, &err);
        else
            say_kept(copy, true);
    }
}

static void went_well(struct log_receiver *all)
{
    if (!all->said || all->refused.n > 0)
        return;
    all->said = false;
    log_info("log.copy", "note=\"logs are copied again\"");
}

/* ---- readers ---- */

static struct engine_fact news_of(const struct copy *copy)
{
    const struct agent_logs *of = copy->of;
    return (struct engine_fact){ .kind = FACT_LOG,
                                 .generation = of->generation,
                                 .node = of->node,
                                 .task = copy->task,
                                 .attempt = copy->attempt,
                                 .log_end = log_copy_end(copy->disk) };
}

static void on_news(uv_timer_t *timer)
{
    struct log_receiver *all = timer->data;
    for (size_t n = all->told.n; n > 0 && all->told.n > 0; n--) {
        struct copy *copy = all->told.at[0];
        struct engine_fact fact = news_of(copy);
        vec_remove(&all->told, 0);
        copy->news = false;
        drop_if_complete(copy);
        all->sink.fact(all->sink.arg, &fact); /* may forget the agent */
    }
}

static void wake_readers(struct copy *copy)
{
    struct log_receiver *all = copy->of->all;
    if (!copy->news)
        vec_push(&all->told, copy);
    copy->news = true;
    if (!uv_is_active((uv_handle_t *)&all->news))
        uv_timer_start(&all->news, on_news, NEWS_MS, 0);
}

/* ---- time ---- */

static void on_turn(uv_idle_t *idle)
{
    struct log_receiver *all = idle->data;
    for (unsigned i = 0; i < RESUMED_MAX && all->held.n > 0; i++) {
        struct agent_logs *logs = all->held.at[0];
        vec_remove(&all->held, 0);
        logs->held = false;
        if (logs->conn)
            conn_read(logs->conn, CONN_READS);
    }
    if (all->held.n == 0)
        uv_idle_stop(idle);
}

static void use_time(struct agent_logs *logs, uint64_t us)
{
    struct log_receiver *all = logs->all;
    if (all->tick != uv_now(all->loop)) {
        all->tick = uv_now(all->loop);
        all->spent_us = 0;
    }
    all->spent_us += us;
    if (all->spent_us < WRITE_US || logs->held || !logs->conn)
        return;
    logs->held = true;
    vec_push(&all->held, logs);
    conn_read(logs->conn, CONN_HOLDS);
    uv_idle_start(&all->turn, on_turn);
}

/* ---- what comes ---- */

static void take_piece(struct copy *copy, const struct wire_log_bytes *bytes)
{
    struct err err;
    struct log_copy_piece piece = { .segment = bytes->segment,
                                    .from = bytes->from,
                                    .offset = bytes->offset,
                                    .at = bytes->at,
                                    .len = bytes->len,
                                    .head = bytes->head,
                                    .tail = bytes->tail };
    bool skips = copy->skips;
    enum log_copy_result result = log_copy_add(copy->disk, &piece, &err);
    if (result == LOG_COPY_LACKS && !skips && !copy->closed)
        say_kept(copy, true);
    if (result == LOG_COPY_FAILED)
        refuse(copy, &err);
    if (result != LOG_COPY_HAS)
        return;
    say_kept(copy, false);
    went_well(copy->of->all);
    wake_readers(copy);
}

static int take(struct agent_logs *logs, const struct wire_log_bytes *bytes)
{
    struct err err;
    const struct log_copy_piece piece = { .segment = bytes->segment,
                                          .from = bytes->from,
                                          .offset = bytes->offset,
                                          .at = bytes->at,
                                          .len = bytes->len };
    if (!is_role_name(bytes->role) || (bytes->len > 0 && !log_copy_accepts(&piece)))
        return -1;
    learn_role(logs, bytes->task.role, bytes->role);
    struct copy *copy = copy_of(logs, bytes->task, bytes->attempt);
    if (!copy)
        return -1;
    if (bytes->len == 0 && bytes->offset > copy->expected)
        copy->expected = bytes->offset;
    if (copy->refused)
        return 0;
    if (open_copy(copy, &err) != 0)
        refuse(copy, &err);
    else if (bytes->len == 0)
        say_kept(copy, true);
    else
        take_piece(copy, bytes);
    return 0;
}

int agent_logs_take(struct agent_logs *logs, const struct wire_frame *frame, struct arena *scratch)
{
    struct wire_log_bytes bytes;
    uint64_t began = clock_mono_us();
    if (!logs || wire_get(frame, scratch, &bytes) < 0 || take(logs, &bytes) < 0)
        return -1;
    use_time(logs, clock_mono_us() - began);
    return 0;
}

void agent_logs_expect(struct agent_logs *logs, const struct wire_log *log, bool final)
{
    struct copy *copy = logs && log->end > 0 ? copy_of(logs, log->task, log->attempt) : NULL;
    if (!copy)
        return;
    if (log->end > copy->expected)
        copy->expected = log->end;
    copy->final = copy->final || final;
    drop_if_complete(copy);
}

static void close_copy(struct copy *copy)
{
    struct err err;
    copy->closed = true;
    if (open_copy(copy, &err) != 0 || log_copy_close(copy->disk, copy->expected, &err) != 0)
        log_warn("log.copy", "agent=%s expected=%" PRIu64 " note=\"%s\"", copy->of->name,
                 copy->expected, err.what);
    else
        copy->news = true; /* readers see all that there will be, before the agent is forgotten */
}

/* The sink may forget the agent: what it is told is no part of it. */
void agent_logs_close(struct agent_logs *logs)
{
    VEC(struct engine_fact) news = { .n = 0 };
    if (!logs)
        return;
    struct log_receiver *all = logs->all;
    AUTO_FREE char *node = mem_strdup(logs->node);
    for (size_t i = 0; i < logs->copies.n; i++) {
        struct copy *copy = logs->copies.at[i];
        if (!copy->closed)
            close_copy(copy);
        if (copy->news && copy->disk)
            *vec_add(&news) = news_of(copy);
        take_out(all, copy);
        copy->news = copy->refused = false;
    }
    for (size_t i = 0; i < news.n; i++) {
        news.at[i].node = node;
        all->sink.fact(all->sink.arg, &news.at[i]);
    }
    vec_fini(&news);
}
