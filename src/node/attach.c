/* Sessions of attached clients. Output is read from the log at each client's own place and only
 * while the uplink has room, so nothing of it waits in memory. Input that the task does not read
 * waits here, at most ATTACH_WINDOW bytes of each session: its client waits until REACHED says that
 * they were taken. A session whose client is gone is remembered while its task runs, with the
 * number of bytes taken, so that the client can go on where it was. */
#include "node/attach.h"

#include "base/mem.h"
#include "base/vec.h"
#include "wire/log_reader.h"

#include <stdio.h>
#include <string.h>

#define SESSIONS_MAX 64u
#define NOT_ATTACHED 127u

struct session {
    uint64_t id;
    struct task_ref task;
    uint32_t attempt, channel;
    bool here; /* its client is connected */
    bool input_over, over;
    uint32_t exit_code; /* when over */
    uint64_t taken, sent;
    struct buf input;
    struct log_reader *reader;
};
struct attach {
    const struct task_set *set;
    struct uplink *link;
    VEC(struct session *) list;
};

struct attach *attach_create(const struct task_set *set, struct uplink *link)
{
    struct attach *all = mem_new(sizeof *all);
    all->set = set;
    all->link = link;
    return all;
}

/* ---- letting go ---- */

/* What its task has not taken is the client's to send again. */
static void disconnect(struct session *s)
{
    s->here = false;
    s->input_over = false;
    buf_clear(&s->input);
    log_reader_destroy(TAKE(s->reader));
}

static void forget(struct attach *all, size_t i)
{
    struct session *s = all->list.at[i];
    vec_remove(&all->list, i);
    log_reader_destroy(s->reader);
    buf_fini(&s->input);
    free(s);
}

void attach_destroy(struct attach *all)
{
    if (!all)
        return;
    while (all->list.n > 0)
        forget(all, all->list.n - 1);
    vec_fini(&all->list);
    free(all);
}

void attach_lost(struct attach *all)
{
    for (size_t i = 0; i < all->list.n; i++)
        disconnect(all->list.at[i]);
}

static struct session *find(const struct attach *all, uint32_t channel)
{
    for (size_t i = 0; i < all->list.n; i++)
        if (all->list.at[i]->here && all->list.at[i]->channel == channel)
            return all->list.at[i];
    return NULL;
}

void attach_leave(struct attach *all, uint32_t channel)
{
    struct session *s = find(all, channel);
    if (s)
        disconnect(s);
}

static void say_exit(struct attach *all, uint32_t channel, uint32_t code, const char *reason)
{
    char text[160];
    if (!uplink_is_up(all->link))
        return;
    struct buf *out = uplink_out(all->link);
    int n = reason ? snprintf(text, sizeof text, "muster: %s\n", reason) : 0;
    if (n > 0)
        wire_put_data(out, WIRE_STDERR, channel, text, (size_t)n);
    wire_put(out, 0, &(struct wire_exit){ .channel = channel, .code = code });
    uplink_flush(all->link);
}

/* ---- moving ---- */

static void on_ready(void *arg)
{
    attach_go_on(arg);
}

static struct input *input_of(const struct attach *all, const struct session *s)
{
    struct task *task = task_set_task(all->set, s->task, s->attempt);
    return task ? task_input(task) : NULL;
}

/* A task that has not started takes nothing yet, and one that is over nothing more: what it did not
 * take stays its client's, for the next attempt. */
static bool move_in(struct attach *all, struct session *s)
{
    struct input *input = input_of(all, s);
    size_t n = 0;
    if (input) {
        input_on_ready(input, on_ready, all);
        n = input_write(input, s->input.data, s->input.len);
    }
    buf_drop(&s->input, n);
    s->taken += n;
    if (s->input_over && s->input.len == 0 && input) {
        s->input_over = false;
        input_end(input);
    }
    return n > 0;
}

static void put_reached(struct attach *all, const struct session *s)
{
    struct wire_reached_report reached = { .channel = s->channel,
                                           .input = s->taken,
                                           .output = s->sent };
    wire_put(uplink_out(all->link), 0, &reached);
}

static void say_reached(struct attach *all, const struct session *s)
{
    put_reached(all, s);
    uplink_flush(all->link);
}

/* One frame, behind the place that is reached with it: a connection breaks between frames or inside
 * one, so the client has shown what it knows to be shown. */
static void put_record(struct attach *all, struct session *s, const struct log_item *item)
{
    struct buf *out = uplink_out(all->link);
    char text[96];
    bool own = item->record.stream == RECORD_STDOUT;
    s->sent = item->end;
    put_reached(all, s);
    if (item->gap) {
        int n = snprintf(text, sizeof text, "muster: %llu bytes of output are not kept\n",
                         (unsigned long long)item->gap);
        wire_put_data(out, WIRE_STDERR, s->channel, text, (size_t)n);
    } else if (item->record.len > 0) {
        wire_put_data(out, own ? WIRE_STDOUT : WIRE_STDERR, s->channel, item->data,
                      item->record.len);
    }
    uplink_flush(all->link);
}

/* false: the uplink is full, there may be more. */
static bool move_out(struct attach *all, struct session *s)
{
    struct log_item item;
    int got = 1;
    while (uplink_has_room(all->link) && (got = log_reader_next(s->reader, &item)) == 1)
        put_record(all, s, &item);
    return got <= 0;
}

/* true: the session is at its end. */
static bool go_on(struct attach *all, struct session *s)
{
    const struct task *task = task_set_task(all->set, s->task, s->attempt);
    if (task && task_is_over(task)) {
        s->over = true;
        s->exit_code = task_exit_code(task);
    }
    s->over = s->over || !task;
    if (!s->here || !uplink_is_up(all->link))
        return s->over;
    if (move_in(all, s))
        say_reached(all, s);
    bool dry = move_out(all, s);
    if (!dry || !s->over)
        return false;
    say_exit(all, s->channel, s->exit_code, NULL);
    return true;
}

void attach_go_on(struct attach *all)
{
    for (size_t i = 0; i < all->list.n;) {
        if (go_on(all, all->list.at[i]))
            forget(all, i);
        else
            i++;
    }
}

void attach_input(struct attach *all, const struct wire_data *data)
{
    struct session *s = find(all, data->channel);
    if (!s || s->input_over)
        return;
    if (data->len == 0)
        s->input_over = true;
    else
        buf_add(&s->input, data->at, data->len);
    if (s->input.overflow) {
        say_exit(all, s->channel, NOT_ATTACHED, "more input came than the task has taken");
        disconnect(s);
        return;
    }
    if (move_in(all, s))
        say_reached(all, s);
}

void attach_resize(struct attach *all, const struct wire_resize *resize)
{
    struct session *s = find(all, resize->channel);
    struct input *input = s ? input_of(all, s) : NULL;
    if (input)
        input_resize(input, resize->rows, resize->cols);
}

/* ---- opening ---- */

static struct session *known(const struct attach *all, const struct wire_attach *ask)
{
    for (size_t i = 0; i < all->list.n; i++) {
        struct session *s = all->list.at[i];
        if (s->id == ask->session && s->attempt == ask->attempt && s->task.role == ask->task.role &&
            s->task.index == ask->task.index)
            return s;
    }
    return NULL;
}

/* Of those whose clients are gone the oldest makes room; NULL: all are here. */
static struct session *add(struct attach *all, const struct wire_attach *ask)
{
    for (size_t i = 0; all->list.n >= SESSIONS_MAX && i < all->list.n; i++)
        if (!all->list.at[i]->here)
            forget(all, i);
    if (all->list.n >= SESSIONS_MAX)
        return NULL;
    struct session *s = mem_new(sizeof *s);
    s->id = ask->session;
    s->task = ask->task;
    s->attempt = ask->attempt;
    buf_init(&s->input, ATTACH_WINDOW);
    vec_push(&all->list, s);
    return s;
}

void attach_open(struct attach *all, const struct wire_attach *ask)
{
    struct task *task = task_set_task(all->set, ask->task, ask->attempt);
    if (!task || !task_keeps_stdin(task)) {
        say_exit(all, ask->channel, NOT_ATTACHED,
                 task ? "this task keeps no stdin" : "this task does not run here");
        return;
    }
    struct session *s = known(all, ask);
    if (!s)
        s = add(all, ask);
    if (!s) {
        say_exit(all, ask->channel, NOT_ATTACHED, "too many are attached here");
        return;
    }
    disconnect(s);
    s->here = true;
    s->channel = ask->channel;
    s->sent = ask->offset;
    s->over = false;
    s->reader = log_reader_create(task_log_dir(task), ask->offset);
    if (task_input(task))
        input_resize(task_input(task), ask->rows, ask->cols);
    say_reached(all, s);
    attach_go_on(all);
}
