/* Events: a list of them, or a stream that begins with the old ones and goes on as they are
 * committed (NDJSON, or SSE whose ids are sequence numbers, so a browser resumes by itself). */
#include "api/call.h"
#include "api/view_json.h"
#include "api/work.h"

#include "answer/events.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <string.h>

#define PAGE      200 /* of a stream */
#define LIST_PART 100 /* of a list, well under a millisecond */

struct event_stream {
    struct follower follower; /* first */
    uint64_t after;
    bool sse, done;
};

/* Of all jobs those that they may read; what is of no job is for admins. What is of a deleted one
 * (no number is known of it) is on its way out of the records. */
static bool visible(const struct call *call, uint64_t job, const struct event_view *event)
{
    if (!job && event->job && !event->number)
        return false;
    if (job || call->who.role == ROLE_ADMIN)
        return true;
    return event->job && answer_may_read(call->api->config.ctl, &call->who, event->job);
}

/* seq 0: the closing record, which is no event */
static void write_event(struct event_stream *s, const struct text_node *event, uint64_t seq)
{
    if (!s->sse) {
        follow_line(&s->follower, event);
        return;
    }
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    if (seq)
        buf_addf(&text, "id: %llu\n", (unsigned long long)seq);
    buf_puts(&text, "data: ");
    json_print(event, 0, &text);
    buf_puts(&text, "\n\n");
    http_stream_write(s->follower.call->request, text.data, text.len);
}

static void finish(struct event_stream *s)
{
    const char *state;
    if (!s->follower.job || !follow_final(&s->follower, &state))
        return;
    struct arena *a = s->follower.call->arena;
    struct text_node *end = text_map(a, NULL, NULL);
    text_bool(a, end, "end", true);
    text_str(a, end, "state", state);
    s->done = true;
    write_event(s, end, 0);
    follow_end(&s->follower);
}

static void pump(struct follower *f)
{
    struct event_stream *s = (struct event_stream *)(void *)f;
    struct err err;
    bool all = false;
    while (!s->done && http_stream_room(f->call->request) > 0 && !all) {
        struct arena *page = arena_create();
        const struct event_query ask = {
            .reader = f->call->owner, .job = f->job, .after = s->after, .limit = PAGE
        };
        struct event_list list = { 0 };
        all =
            answer_events_view(f->call->api->config.ctl, page, &ask, &list, &err) || list.n < PAGE;
        for (const struct event_view *e = list.at; e < list.at + list.n; e++) {
            if (visible(f->call, f->job, e))
                write_event(s, view_put(page, NULL, NULL, VIEW_EVENT, e), e->seq);
            s->after = e->seq;
        }
        arena_destroy(page);
    }
    if (all && !s->done)
        finish(s);
}

static void fini(struct follower *f)
{
    (void)f;
}

static void stream(struct call *call, uint64_t job, uint64_t after)
{
    const char *accept = http_header(call->request, "Accept");
    const char *last = http_header(call->request, "Last-Event-ID");
    struct event_stream *s = mem_new(sizeof *s);
    s->follower = (struct follower){ .call = call, .job = job, .pump = pump, .fini = fini };
    s->after = after;
    s->sse = accept && strstr(accept, "text/event-stream");
    if (last)
        scan_u64(last, 0, UINT64_MAX, &s->after);
    follow_begin(&s->follower, s->sse ? "text/event-stream" : "application/x-ndjson");
}

/* A list of events, made a part at a time: ten thousand took the loop for 30 ms. */
struct long_events {
    struct call *call;
    uint64_t job, after, left; /* left: how many more are asked for */
    struct text_node *tree;
};

static int add_events(void *arg, struct arena *arena, struct text_node *to, struct err *err)
{
    struct long_events *l = arg;
    uint64_t most = l->left < LIST_PART ? l->left : LIST_PART;
    const struct event_query ask = {
        .reader = l->call->owner, .job = l->job, .after = l->after, .limit = most
    };
    struct event_list list;
    if (answer_events_view(l->call->api->config.ctl, arena, &ask, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++)
        if (visible(l->call, l->job, &list.at[i]))
            view_put(arena, to, NULL, VIEW_EVENT, &list.at[i]);
    if (list.n > 0)
        l->after = list.at[list.n - 1].seq;
    l->left -= list.n;
    return l->left > 0 && list.n == most;
}

static void put_last(void *arg)
{
    struct long_events *l = arg;
    text_get(l->tree, "last")->integer = (int64_t)l->after;
}

static void list(struct call *call, uint64_t job, uint64_t after, uint64_t limit)
{
    struct arena *a = call->arena;
    struct long_events *l = ARENA_NEW(a, struct long_events);
    *l = (struct long_events){
        .call = call, .job = job, .after = after, .left = limit, .tree = text_map(a, NULL, NULL)
    };
    const struct long_list events = { text_list(a, l->tree, "events"), add_events };
    text_int(a, l->tree, "last", 0);
    answer_long(call,
                &(struct long_answer){
                    .tree = l->tree, .lists = &events, .n = 1, .arg = l, .filled = put_last });
}

static void events(struct call *call, uint64_t job)
{
    uint64_t after = 0, limit = 1000;
    struct err err;
    if (!call_u64(call, "after", 0, INT64_MAX, &after, &err) ||
        !call_u64(call, "limit", 1, 10000, &limit, &err))
        call_problem(call, &err, NULL);
    else if (call_flag(call, "follow"))
        stream(call, job, after);
    else
        list(call, job, after, limit);
}

void events_get(struct call *call)
{
    uint64_t id;
    if (call_job(call, &id))
        events(call, id);
}

void events_all(struct call *call)
{
    events(call, 0);
}
