/* Its end and that of its output come in any order. It is freed by the last of its handles to
 * close. */
#include "api/child.h"

#include "base/mem.h"

#include <signal.h>
#include <string.h>

struct child {
    uv_process_t process;
    uv_timer_t deadline;
    uv_pipe_t out;
    unsigned open;  /* handles */
    unsigned going; /* the process, its output */
    bool late, output_ended;
    child_done *done;
    void (*heard)(void *arg, char *line);
    void *arg;
    struct child_end end;
    size_t max;
    char rest[512]; /* room for what is dropped */
};

static void on_closed(uv_handle_t *handle)
{
    struct child *c = handle->data;
    if (--c->open > 0)
        return;
    free(c->end.text);
    free(c);
}

static void close_all(struct child *c)
{
    uv_close((uv_handle_t *)&c->process, on_closed);
    uv_close((uv_handle_t *)&c->deadline, on_closed);
    uv_close((uv_handle_t *)&c->out, on_closed);
}

static void end_one(struct child *c)
{
    if (--c->going > 0)
        return;
    c->end.text[c->end.len] = '\0';
    c->done(c->arg, &c->end);
    close_all(c);
}

static void end_output(struct child *c)
{
    if (c->output_ended)
        return;
    c->output_ended = true;
    uv_read_stop((uv_stream_t *)&c->out);
    end_one(c);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
    struct child *c = process->data;
    uv_timer_stop(&c->deadline);
    c->end.good = status == 0 && signal == 0;
    c->end.killed = signal != 0;
    if (c->late)
        end_output(c); /* which what it started may hold open */
    end_one(c);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct child *c = handle->data;
    size_t left = c->max - c->end.len;
    (void)suggested;
    *room = left ? uv_buf_init(c->end.text + c->end.len, (unsigned)left)
                 : uv_buf_init(c->rest, sizeof c->rest);
}

static void hear_lines(struct child *c)
{
    char *at = c->end.text, *end;
    size_t left = c->end.len;
    while (c->heard && (end = memchr(at, '\n', left))) {
        *end++ = '\0';
        left -= (size_t)(end - at);
        c->heard(c->arg, at);
        at = end;
    }
    memmove(c->end.text, at, left);
    c->end.len = left;
}

static void on_text(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    struct child *c = stream->data;
    if (n >= 0) {
        c->end.len += room->base == c->rest ? 0 : (size_t)n;
        hear_lines(c);
        return;
    }
    end_output(c);
}

static void on_late(uv_timer_t *timer)
{
    struct child *c = timer->data;
    c->late = true;
    uv_process_kill(&c->process, SIGKILL);
}

struct child *child_start(uv_loop_t *loop, const struct child_line *line, child_done *done,
                          void *arg, struct err *err)
{
    struct child *c = mem_new(sizeof *c);
    char *nothing[] = { NULL };
    uv_stdio_container_t ends[] = { { .flags = line->input < 0 ? UV_IGNORE : UV_INHERIT_FD },
                                    { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
                                      .data.stream = (uv_stream_t *)&c->out },
                                    { .flags = UV_IGNORE } };
    if (line->input >= 0)
        ends[0].data.fd = line->input;
    uv_process_options_t options = { .file = line->program,
                                     .args = (char **)(uintptr_t)line->args,
                                     .env = line->no_environment ? nothing : NULL,
                                     .stdio = ends,
                                     .stdio_count = (int)ARRAY_LEN(ends),
                                     .exit_cb = on_exit_of };
    *c = (struct child){
        .open = 3, .going = 2, .done = done, .heard = line->heard, .arg = arg, .max = line->text_max
    };
    c->end.text = mem_new(line->text_max + 1);
    c->process.data = c->deadline.data = c->out.data = c;
    uv_timer_init(loop, &c->deadline);
    uv_pipe_init(loop, &c->out, 0);
    int rc = uv_spawn(loop, &c->process, &options);
    if (rc != 0) {
        close_all(c);
        err_set(err, ERR_SYSTEM, "%s: %s", line->program, uv_strerror(rc));
        return NULL;
    }
    uv_update_time(loop);
    uv_timer_start(&c->deadline, on_late, line->limit_ms, 0);
    uv_read_start((uv_stream_t *)&c->out, on_room, on_text);
    return c;
}

void child_drop(struct child *c)
{
    if (!c)
        return;
    uv_process_kill(&c->process, SIGKILL);
    close_all(c);
}
