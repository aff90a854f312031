/* Long answers in pieces. The server has one thread: while a list of fifty thousand jobs is made,
 * nobody else is answered, unless it is made a little at a time, between what others ask.
 *
 * Inputs: a call and its step. Effects: an idle handle of the loop for as long as there is more. */
#include "api/work.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/turn_meter.h"

#include <uv.h>

#define ANSWER_US 1000u /* of each turn of the loop, for all of these together */
#define DISCARD   256u  /* slots of a map that are freed together */

struct work {
    uv_idle_t idle;
    struct api *api;
    struct call *call; /* NULL: it is a stream's, or nobody's */
    struct answer_work ask;
    bool alone;               /* nobody's */
    struct work *next, *prev; /* of these */
};

/* false: it has answered. */
static bool slice(const struct api *api, const struct answer_work *ask, unsigned among)
{
    uint64_t us = api->config.answer_us ? api->config.answer_us : ANSWER_US;
    uint64_t until = clock_mono_us() + us / (among ? among : 1);
    do {
        if (!ask->step(ask->arg))
            return false;
    } while (clock_mono_us() < until);
    return true;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void work_end(struct work *w)
{
    if (!w)
        return;
    w->api->works--;
    if (w->alone)
        *(w->prev ? &w->prev->next : &w->api->alone) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    uv_close((uv_handle_t *)&w->idle, on_closed);
}

static void on_idle(uv_idle_t *idle)
{
    struct work *w = idle->data;
    struct api *api = w->api; /* the call is gone after its last step */
    TURN_WORK(api->config.meter, "long answers", 0);
    if (!slice(api, &w->ask, api->works))
        work_end(w);
}

static void on_left(void *arg)
{
    struct work *w = arg;
    struct call *call = w->call;
    work_end(w);
    w->ask.left(w->ask.arg);
    call_free(call);
}

static struct work *begin(const struct work *like)
{
    struct work *w = mem_new(sizeof *w);
    *w = *like;
    w->api->works++;
    uv_idle_init(w->api->config.loop, &w->idle);
    w->idle.data = w;
    uv_idle_start(&w->idle, on_idle);
    return w;
}

struct work *work_begin(struct api *api, bool (*step)(void *arg), void *arg)
{
    return begin(&(struct work){ .api = api, .ask = { .step = step, .arg = arg } });
}

void answer_work(struct call *call, const struct answer_work *ask)
{
    struct api *api = call->api;
    if (!slice(api, ask, api->works + 1))
        return;
    struct work *w = begin(&(struct work){ .api = api, .call = call, .ask = *ask });
    http_set_arg(call->request, w, on_left);
}

/* ---- of nobody ---- */

struct work *work_alone(struct api *api, const struct answer_work *ask)
{
    struct work *w = begin(&(struct work){ .api = api, .ask = *ask, .alone = true });
    w->next = api->alone;
    if (w->next)
        w->next->prev = w;
    api->alone = w;
    return w;
}

void works_end(struct api *api)
{
    while (api->alone) {
        const struct answer_work ask = api->alone->ask;
        work_end(api->alone);
        ask.left(ask.arg);
    }
}

struct discard {
    struct string_map *map;
    size_t cursor;
    void (*free_value)(void *);
};

static bool discard_some(void *arg)
{
    struct discard *d = arg;
    if (string_map_destroy_some(d->map, &d->cursor, DISCARD, d->free_value))
        return true;
    free(d);
    return false;
}

static void discard_rest(void *arg)
{
    while (discard_some(arg))
        ;
}

void discard_map(struct api *api, struct string_map *map, void (*free_value)(void *))
{
    if (!map)
        return;
    struct discard *d = mem_new(sizeof *d);
    *d = (struct discard){ .map = map, .free_value = free_value };
    if (discard_some(d))
        work_alone(api,
                   &(struct answer_work){ .step = discard_some, .left = discard_rest, .arg = d });
}
