/* The board of a job over HTTP: put, list, and get that waits for what is not there yet. A get that
 * waits is woken when the board changes, and ended by its timer, the job's end or the client. */
#include "api/call.h"

#include "base/mem.h"
#include "base/scan.h"
#include "documents/board.h"

#include <uv.h>

#define WAIT_MAX_MS 60000

/* A get that waits: woken when a board changes, ended by its timer, the job's end or the client. */
struct board_wait {
    struct board_wait *next, *prev;
    struct api *api;
    struct call *call; /* freed with its answer */
    struct board_request ask;
    uv_timer_t timer;
};

/* {key, value, version}; without the value where that is not told. */
static struct text_node *put_entry(struct arena *arena, struct text_node *list,
                                   const struct board_entry *entry)
{
    struct text_node *map = text_map(arena, list, NULL);
    text_str(arena, map, "key", entry->key);
    if (entry->value)
        text_str(arena, map, "value", entry->value);
    text_int(arena, map, "version", (int64_t)entry->version);
    return map;
}

/* ---- put ---- */

static void on_put(void *arg, const struct ctl_answer *answer)
{
    struct call *call = arg;
    if (answer->err)
        call_problem(call, answer->err, NULL);
    else
        call_answer(call, call->success, put_entry(call->arena, NULL, answer->made.entry));
}

void board_put(struct call *call)
{
    struct board_request ask = { .owner = call->owner, .key = http_query(call->request, "key", 0) };
    ask.value = http_body(call->request, &ask.len);
    if (!call_job(call, &ask.job))
        return;
    call_keep(call);
    ctl_board_put(call->api->config.ctl, &ask, on_put, call);
}

/* ---- get ---- */

static void not_there(struct call *call, const char *key)
{
    struct err err;
    err_set(&err, ERR_NOT_FOUND, "nothing is under \"%.100s\"", key);
    err_hint(&err, "wait=SECONDS waits for it");
    call_problem(call, &err, NULL);
}

/* Answers when there is something to say; false: it still waits. */
static bool answered(struct call *call, const struct board_request *ask)
{
    struct err err;
    struct board_entry entry;
    struct arena *scratch = arena_create();
    bool done = true;
    if (!ctl_identity_lives(call->api->config.ctl, &call->who))
        auth_refuse(call); /* of a generation that is no more, while it waited */
    else if (ctl_board_get(call->api->config.ctl, scratch, ask, &entry, &err) < 0)
        call_problem(call, &err, NULL);
    else if (entry.version)
        call_answer(call, 200, put_entry(scratch, NULL, &entry));
    else
        done = false;
    arena_destroy(scratch);
    return done;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void forget(struct board_wait *w)
{
    *(w->prev ? &w->prev->next : &w->api->board_waits) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

static void on_left(void *arg)
{
    struct board_wait *w = arg;
    struct call *call = w->call;
    forget(w);
    call_free(call);
}

static void on_late(uv_timer_t *timer)
{
    struct board_wait *w = timer->data;
    struct call *call = w->call;
    forget(w);
    not_there(call, w->ask.key);
}

static void wait_for(struct call *call, const struct board_request *ask, uint64_t ms)
{
    struct api *api = call->api;
    struct board_wait *w = mem_new(sizeof *w);
    *w = (struct board_wait){ .api = api, .call = call, .ask = *ask, .next = api->board_waits };
    if (w->next)
        w->next->prev = w;
    api->board_waits = w;
    w->ask.key = arena_strdup(call->arena, ask->key);
    uv_timer_init(api->config.loop, &w->timer);
    w->timer.data = w;
    uv_timer_start(&w->timer, on_late, ms, 0);
    http_set_arg(call->request, w, on_left);
}

void board_news(struct api *api)
{
    for (struct board_wait *w = api->board_waits, *next; w; w = next) {
        next = w->next;
        if (answered(w->call, &w->ask))
            forget(w);
    }
}

static bool read_wait(struct call *call, uint64_t *ms, struct err *err)
{
    const char *text = http_query(call->request, "wait", 0);
    *ms = 0;
    if (!text || (scan_duration(text, ms) && *ms <= WAIT_MAX_MS))
        return true;
    err_set(err, ERR_INPUT, "wait is \"%.40s\"", text);
    err_hint(err, "a time of at most 60 s: 0.5, 10, 1m");
    return false;
}

static void get_one(struct call *call, struct board_request *ask)
{
    struct err err;
    uint64_t ms = 0;
    if (!call_u64(call, "after", 0, UINT32_MAX, &ask->after, &err) || !read_wait(call, &ms, &err))
        call_problem(call, &err, NULL);
    else if (answered(call, ask))
        return;
    else if (ms)
        wait_for(call, ask, ms);
    else
        not_there(call, ask->key);
}

void board_get(struct call *call)
{
    struct err err;
    struct board_request ask = { .owner = call->owner, .key = http_query(call->request, "key", 0) };
    if (!call_job(call, &ask.job))
        return;
    if (ask.key) {
        get_one(call, &ask);
        return;
    }
    struct board_list entries;
    if (ctl_board_view(call->api->config.ctl, call->arena, &ask, &entries, &err)) {
        call_problem(call, &err, NULL);
        return;
    }
    struct text_node *root = text_map(call->arena, NULL, NULL);
    struct text_node *list = text_list(call->arena, root, "entries");
    for (size_t i = 0; i < entries.n; i++)
        put_entry(call->arena, list, &entries.at[i]);
    call_answer(call, 200, root);
}
