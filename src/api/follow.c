/* Open streams: woken by the core's news after each commit, they look again at what is stored and
 * write what is new, as far as the client takes it; they end when whoever opened them is not let in
 * any more (each change of users, keys and tokens is an event). Nothing is pushed into them, so a
 * slow client costs its own buffer only. */
#include "api/call.h"

#include "answer/jobs.h"
#include "base/mem.h"
#include "text/json.h"

#include <uv.h>

#define STREAM_ROOM (1u << 20)

/* ---- waiting for an allowance ---- */

struct follower_queue { /* made when first somebody waits */
    struct api *api;
    struct follower *first, **last;
    uv_timer_t timer;
};

static void add_paused(struct follower_queue *p, struct follower *f)
{
    f->paused = true;
    f->next_paused = NULL;
    *p->last = f;
    p->last = &f->next_paused;
}

static void remove_paused(struct follower_queue *p, struct follower *f)
{
    struct follower **at = &p->first;
    while (*at != f)
        at = &(*at)->next_paused;
    *at = f->next_paused;
    if (p->last == &f->next_paused)
        p->last = at;
    f->paused = false;
}

static void on_resume(uv_timer_t *timer);

static void resume_in(struct follower_queue *p, uint64_t ms)
{
    if (uv_is_active((uv_handle_t *)&p->timer) && uv_timer_get_due_in(&p->timer) <= ms)
        return;
    uv_update_time(p->api->config.loop);
    uv_timer_start(&p->timer, on_resume, ms, 0);
}

/* Each is looked at once; who has to wait again goes to the end. */
static void on_resume(uv_timer_t *timer)
{
    struct follower_queue *p = timer->data;
    size_t n = 0;
    for (const struct follower *f = p->first; f; f = f->next_paused)
        n++;
    for (; n > 0 && p->first; n--) {
        struct follower *f = p->first;
        uint64_t ms = limit_wait(f->call, LIMIT_LOG);
        remove_paused(p, f);
        if (ms == 0) {
            f->pump(f);
            continue;
        }
        add_paused(p, f);
        resume_in(p, ms);
    }
}

bool follow_pauses(struct follower *f)
{
    struct api *api = f->call->api;
    uint64_t ms = f->paused ? 0 : limit_wait(f->call, LIMIT_LOG);
    if (ms == 0)
        return f->paused;
    if (!api->pauses) {
        api->pauses = mem_new(sizeof *api->pauses);
        api->pauses->api = api;
        api->pauses->last = &api->pauses->first;
        uv_timer_init(api->config.loop, &api->pauses->timer);
        api->pauses->timer.data = api->pauses;
    }
    add_paused(api->pauses, f);
    resume_in(api->pauses, ms);
    return true;
}

static void on_pauses_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* ---- streams ---- */

static void unlink_follower(struct follower *f)
{
    struct api *api = f->call->api;
    *(f->prev ? &f->prev->next : &api->followers) = f->next;
    if (f->next)
        f->next->prev = f->prev;
    if (f->paused)
        remove_paused(api->pauses, f);
}

static void on_gone(void *arg)
{
    struct follower *f = arg;
    unlink_follower(f);
    f->fini(f);
    call_free(f->call);
    free(f);
}

static void on_drained(void *arg)
{
    struct follower *f = arg;
    f->pump(f);
}

void follow_begin(struct follower *f, const char *type)
{
    struct api *api = f->call->api;
    f->next = api->followers;
    if (f->next)
        f->next->prev = f;
    api->followers = f;
    http_set_arg(f->call->request, f, on_gone);
    http_stream_begin(f->call->request, 200, type, STREAM_ROOM, on_drained);
    f->pump(f);
}

/* The request's end calls on_gone, which frees. */
void follow_end(struct follower *f)
{
    http_stream_end(f->call->request);
}

void follow_line(struct follower *f, const struct text_node *tree)
{
    AUTO_BUF struct buf line = BUF_INIT(4u << 20);
    json_print(tree, 0, &line);
    buf_putc(&line, '\n');
    http_stream_write(f->call->request, line.data, line.len);
}

/* Its job: numbers and states of it, no texts. false: it is gone. */
static bool look(const struct follower *f, struct job_view *job)
{
    struct err err;
    struct arena *a = arena_create();
    const struct job_ask ask = { .job = f->job, .owner = f->call->owner };
    bool there = answer_job_view(f->call->api->config.ctl, a, &ask, job, &err) == 0;
    arena_destroy(a);
    return there;
}

bool follow_final(struct follower *f, const char **state)
{
    struct job_view job;
    enum job_state now = look(f, &job) ? job.state : JOB_NONE;
    *state = now == JOB_NONE ? "deleted" : job_state_word(now);
    return now == JOB_NONE || job_state_final(now);
}

bool follow_silent(struct follower *f, const char **state)
{
    struct job_view job;
    bool held = look(f, &job) && job.held_until_ms && job.tasks_running == 0;
    if (held)
        *state = job_outcome_word(job.outcome);
    return held || follow_final(f, state);
}

static void on_events(void *arg, uint64_t last_seq)
{
    struct api *api = arg;
    (void)last_seq;
    for (struct follower *f = api->followers, *next; f; f = next) {
        next = f->next;
        if (ctl_identity_lives(api->config.ctl, &f->call->who))
            f->pump(f);
        else
            follow_end(f);
    }
    channels_check(api);
}

static void on_log(void *arg, uint64_t job, struct task_ref task, uint32_t attempt, uint64_t end)
{
    struct api *api = arg;
    (void)end;
    for (struct follower *f = api->followers, *next; f; f = next) {
        next = f->next;
        if (f->log && job >= f->job && job - f->job <= f->members)
            f->log(f, job, task, attempt);
    }
}

static void on_board(void *arg)
{
    board_news(arg);
}

void follow_watch(struct api *api)
{
    ctl_set_watch(
        api->config.ctl,
        (struct ctl_watch){ .events = on_events, .log = on_log, .board = on_board, .arg = api });
}

void follow_unwatch(struct api *api)
{
    ctl_set_watch(api->config.ctl, (struct ctl_watch){ 0 });
    if (api->pauses)
        uv_close((uv_handle_t *)&api->pauses->timer, on_pauses_closed);
    api->pauses = NULL;
}
