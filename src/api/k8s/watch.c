/* Watches: after each commit the events since the last look say which jobs changed; their objects
 * are made again and what differs from what was sent is told, so that an event costs what its job
 * costs. Objects that are of no job are all looked at, there are few. What there is at the
 * beginning, and what changed, is looked at a job or a part of one at a time, between what others
 * ask. The version of a watch is the number of an event. */
#include "api/k8s/watch.h"

#include "api/k8s/answer.h"
#include "api/k8s/object.h"
#include "api/work.h"

#include "answer/events.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "job/ids.h"
#include "job/uuid.h"
#include "text/json.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define WINDOW    10000 /* events that a client may be behind */
#define PAGE      100u  /* events that are read together */
#define JOBS      25u   /* of the beginning: looked at together, at most */
#define JOBS_US   500u  /* how long they may take before the rest is left for later */
#define LINE_MAX_ ((size_t)8 << 20)
#define SWEEP     256
#define MARK      50 /* events that told it nothing: then a bookmark */
#define LONGEST_S (365u * 86400u)

struct client_object {                 /* an object as the client has it */
    struct client_object *next, *prev; /* of the same job */
    uint64_t job, hash;
    uint64_t round; /* the last in which it was there */
    char *key;
    char *text; /* as it was sent; NULL: it is one that can be made again */
};

struct deadline { /* of a watch: it outlives it by a turn of the loop */
    uv_timer_t timer;
    struct follower *follower;
};

struct watch {
    struct follower follower;  /* first */
    struct deadline *deadline; /* NULL: it ends when the client leaves */
    struct kube_sink sink;
    struct kube *k;
    struct string_map *known;
    struct map *of_job; /* the first that is known of each */
    struct hash_seed seed;
    uint64_t seen, marked; /* events looked at; the last that the client knows of */
    uint64_t from;         /* the client has what is as old as that */
    uint64_t round;        /* of looking at a job: what was not there in it is gone */
    bool quiet;            /* what is not newer than from is only remembered */
    bool columns, bookmarks;
    bool over;                 /* nothing more is said */
    bool initial;              /* it wants all there is as events, and to be told where they end */
    bool begins;               /* what there was at its beginning is still being told */
    bool walks;                /* not all of these jobs have been looked at */
    bool behind;               /* there are events after `seen` */
    struct kube_selection all; /* where the walk goes on */
    VEC(uint64_t) due;         /* jobs that changed, the last is the next; 0: what is of none */
    struct kube_rests rests;   /* of large jobs: the rest of what is being looked at */
    VEC(uint64_t) looked_at;   /* these jobs, to be swept then */
    VEC(struct client_object *) sweeps; /* where sweeping goes on, each of another job */
    struct work *work;                  /* goes on with the rests; NULL: not now */
};

static struct watch *of_follower(struct follower *f)
{
    return (struct watch *)(void *)f;
}

static struct watch *of_sink(struct kube_sink *sink)
{
    return (struct watch *)(void *)((char *)sink - offsetof(struct watch, sink));
}

/* ---- sending ---- */

static void put_line(struct watch *w, const char *type, const char *object)
{
    AUTO_BUF struct buf line = BUF_INIT(LINE_MAX_);
    buf_addf(&line, "{\"type\":\"%s\",\"object\":", type);
    buf_puts(&line, object);
    buf_puts(&line, "}\n");
    http_stream_write(w->follower.call->request, line.data, line.len);
    w->marked = w->seen;
}

static void fail(struct watch *w, unsigned code, const char *reason, const char *message)
{
    struct arena *a = arena_create();
    AUTO_BUF struct buf text = BUF_INIT(LINE_MAX_);
    json_print(kube_status_tree(a, &(struct kube_status){ code, reason, message, NULL }), 0, &text);
    put_line(w, "ERROR", buf_str(&text));
    arena_destroy(a);
}

/* As the client asked for it: the object, or a Table of one row; malloc'ed. */
static char *shown(struct watch *w, const struct text_node *object)
{
    struct kube *k = w->k;
    struct arena *a = k->scratch;
    struct buf text = BUF_INIT(LINE_MAX_);
    if (k->table) {
        struct text_node *table = kube_table(a, k->of->columns, !w->columns,
                                             kube_in(object, "metadata", "resourceVersion"));
        text_share(a, text_list(a, table, "rows"), NULL,
                   kube_row(a, object, k->of->cells, clock_wall_ms(), k->include));
        object = table;
        w->columns = true;
    }
    json_print(object, 0, &text);
    return buf_take(&text);
}

/* Of all but the version, which grows with every event of its job. */
static uint64_t hash_of(struct watch *w, const struct text_node *object)
{
    AUTO_BUF struct buf text = BUF_INIT(LINE_MAX_);
    struct text_node *version = text_get(text_get(object, "metadata"), "resourceVersion");
    const char *was = version ? version->str : NULL;
    if (version)
        version->str = "";
    json_print(object, 0, &text);
    if (version)
        version->str = was;
    return hash_bytes(w->seed, buf_str(&text), text.len);
}

/* ---- what the client has ---- */

static void link_to_job(struct watch *w, struct client_object *known, uint64_t job)
{
    known->job = job;
    known->prev = NULL;
    known->next = map_get(w->of_job, job);
    if (known->next)
        known->next->prev = known;
    map_set(w->of_job, job, known);
}

static struct client_object *remember(struct watch *w, const char *key, uint64_t job)
{
    struct client_object *known = mem_new(sizeof *known);
    known->key = mem_strdup(key);
    link_to_job(w, known, job);
    string_map_set(w->known, key, known);
    return known;
}

static void drop(void *value)
{
    struct client_object *known = value;
    free(known->key);
    free(known->text);
    free(known);
}

static void unlink_from_job(struct watch *w, struct client_object *known)
{
    if (known->next)
        known->next->prev = known->prev;
    if (known->prev)
        known->prev->next = known->next;
    else if (known->next)
        map_set(w->of_job, known->job, known->next);
    else
        map_remove(w->of_job, known->job);
}

static void forget(struct watch *w, struct client_object *known)
{
    string_map_remove(w->known, known->key);
    unlink_from_job(w, known);
    drop(known);
}

/* ---- looking ---- */

/* Is the job of the object older than what the client has? */
static bool client_had(const struct watch *w)
{
    uint64_t first = w->from && w->k->subject ? ctl_first_of(w->k->ctl, w->k->subject) : 0;
    return first && first <= w->from;
}

/* It is there: said when it is new or other than what the client has. */
static void tell(struct watch *w, const char *key, struct client_object *known,
                 const struct text_node *object, bool old)
{
    uint64_t hash = hash_of(w, object);
    if (known && known->job != w->k->subject) { /* a newer job has the name now */
        unlink_from_job(w, known);
        link_to_job(w, known, w->k->subject);
    }
    if (known && known->hash == hash) {
        known->round = w->round;
        return;
    }
    bool silent = !known && w->quiet && old;
    bool had = known || client_had(w);
    AUTO_FREE char *text = shown(w, object);
    if (!known)
        known = remember(w, key, w->k->subject);
    known->hash = hash;
    known->round = w->round;
    if (!silent)
        put_line(w, had ? "MODIFIED" : "ADDED", text);
    if (!w->k->of->is_job) {
        free(known->text);
        known->text = text;
        text = NULL;
    }
}

/* It is not there any more, or not among those that are selected: the client had it if it knew it,
 * or if it is older than what the client has. */
static void tell_gone(struct watch *w, struct client_object *known, const struct text_node *object,
                      bool had)
{
    if (known && known->text) {
        put_line(w, "DELETED", known->text);
    } else if (known || had) {
        AUTO_FREE char *text = shown(w, object);
        put_line(w, "DELETED", text);
    }
    if (known)
        forget(w, known);
}

static void look(struct kube_sink *sink, const struct text_node *object, uint64_t version)
{
    struct watch *w = of_sink(sink);
    struct kube *k = w->k;
    const char *key = kube_key(k->scratch, kube_in(object, "metadata", "namespace"),
                               kube_in(object, "metadata", "name"));
    struct client_object *known = string_map_get(w->known, key);
    bool old = version <= w->from, fits = selector_fits(&k->selector, object);
    if (k->gone || !fits)
        tell_gone(w, known, object, k->gone && fits && !old && client_had(w));
    else
        tell(w, key, known, object, old);
}

/* Objects that are there no more, of so many that are known from that one on. The one after them;
 * NULL: there is none. */
static struct client_object *sweep_from(struct watch *w, struct client_object *one)
{
    for (unsigned n = 0; one && n < SWEEP; n++) {
        struct client_object *next = one->next;
        if (one->round != w->round && one->text)
            put_line(w, "DELETED", one->text);
        if (one->round != w->round)
            forget(w, one);
        one = next;
    }
    return one;
}

/* Those of that job, 0: of none. */
static void sweep(struct watch *w, uint64_t job)
{
    struct client_object *rest = sweep_from(w, map_get(w->of_job, job));
    if (rest)
        vec_push(&w->sweeps, rest);
}

static void refresh(struct watch *w, uint64_t job)
{
    struct kube *k = w->k;
    struct kube_selection want = { .ns = k->ns, .job = job, .gone = true, .rests = &w->rests };
    want.name = selector_field(&k->selector, "metadata.name");
    size_t rests = w->rests.at.n;
    w->round++;
    k->of->each(k, &want, &w->sink);
    k->gone = false;
    if (w->rests.at.n == rests)
        sweep(w, job);
    else
        vec_push(&w->looked_at, job);
}

/* More of a large job. */
static void look_at_rest(struct watch *w)
{
    struct kube *k = w->k;
    const struct kube_rest rest = w->rests.at.at[--w->rests.at.n];
    struct kube_selection want = { .ns = k->ns,
                                   .name = selector_field(&k->selector, "metadata.name"),
                                   .about = selector_field(&k->selector, "involvedObject.name"),
                                   .job = rest.job,
                                   .first = rest.first,
                                   .rests = &w->rests };
    k->of->each(k, &want, &w->sink);
    k->gone = false;
}

/* A job that had ended is forgotten; what is left of it is in the event. */
static void forgotten(struct watch *w, const struct text_node *body)
{
    struct kube *k = w->k;
    char uuid[UUID_TEXT];
    uint64_t id = 0;
    job_id_parse(kube_in(body, "id", NULL), &id);
    const char *project = kube_in(body, "project", NULL);
    const char *ns = *project ? kube_name(k->scratch, project) : "default";
    struct kube_meta meta = { .name = kube_name(k->scratch, kube_in(body, "name", NULL)),
                              .ns = ns,
                              .uid = uuid_of_job(uuid, id),
                              .version = w->seen };
    struct client_object *known = string_map_get(w->known, kube_key(k->scratch, ns, meta.name));
    const struct text_node *object = kube_object(k->scratch, k->of, &meta);
    if (known && known->job != id) { /* the name is a newer job's */
        arena_reset(k->scratch);
        return;
    }
    bool had = w->from && strcmp(kube_in(body, "state", NULL), job_state_word(JOB_STOPPED)) != 0 &&
               (!k->ns || strcmp(k->ns, ns) == 0) && selector_fits(&k->selector, object) &&
               (k->call->who.role == ROLE_ADMIN ||
                strcmp(kube_in(body, "owner", NULL), k->call->owner) == 0);
    tell_gone(w, known, object, had);
    arena_reset(k->scratch);
}

/* The job that the event is about; 0: none that has objects. */
static uint64_t job_of(struct watch *w, const struct event_view *event)
{
    uint64_t job = event->job;
    if (strcmp(event->type, "deleted") == 0 && event->body) {
        if (!job_id_parse(kube_in(event->body, "id", NULL), &job))
            job = 0;
        if (w->k->of->is_job)
            forgotten(w, event->body);
    }
    return job;
}

static bool wakes(const struct kube_resource *of, const char *type)
{
    const char *word = of->wakes ? of->wakes : "";
    for (; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");
        if (strncmp(type, word, n) == 0)
            return true;
        word += n;
    }
    return !of->wakes;
}

/* Jobs that the page's events are about, each once; or what is of no job, when it may be other. */
static void touched(struct watch *w, const struct event_list *page)
{
    const struct kube_resource *of = w->k->of;
    struct map *done = map_create();
    bool woken = false;
    for (size_t i = page->n; i-- > 0;) {
        woken |= wakes(of, page->at[i].type);
        uint64_t job = of->of_jobs ? job_of(w, &page->at[i]) : 0;
        if (!job || map_get(done, job))
            continue;
        map_set(done, job, w);
        vec_push(&w->due, job);
    }
    if (!of->of_jobs && woken)
        vec_push(&w->due, 0);
    map_destroy(done);
}

static void read_events(struct watch *w)
{
    struct err err;
    struct arena *a = arena_create();
    const struct event_query ask = { .reader = w->k->call->owner, .after = w->seen, .limit = PAGE };
    struct event_list page = { 0 };
    uint64_t last = ctl_last_event(w->k->ctl);
    bool read = answer_events_view(w->k->ctl, a, &ask, &page, &err) == 0;
    w->behind = page.n == PAGE;
    if (read)
        w->seen = w->behind ? page.at[page.n - 1].seq : last; /* others are not for this reader */
    touched(w, &page);
    arena_destroy(a);
}

/* end: all there was has been told. */
static void bookmark(struct watch *w, bool end)
{
    struct arena *a = arena_create();
    AUTO_BUF struct buf text = BUF_INIT(LINE_MAX_);
    struct text_node *object = text_map(a, NULL, NULL);
    text_str(a, object, "kind", w->k->of->kind);
    text_str(a, object, "apiVersion", kube_version(a, w->k->of));
    struct text_node *metadata = text_map(a, object, "metadata");
    text_str(a, metadata, "resourceVersion", arena_printf(a, "%llu", (unsigned long long)w->seen));
    text_null(a, metadata, "creationTimestamp");
    if (end)
        text_str(a, text_map(a, metadata, "annotations"), "k8s.io/initial-events-end", "true");
    json_print(object, 0, &text);
    put_line(w, "BOOKMARK", buf_str(&text));
    arena_destroy(a);
}

/* ---- a little at a time ---- */

/* Some of all jobs, the newest first; what is of no job is all looked at. */
static void walk(struct watch *w)
{
    struct kube *k = w->k;
    struct kube_selection *all = &w->all;
    all->next = 0;
    all->until_us = clock_mono_us() + JOBS_US;
    k->of->each(k, all, &w->sink);
    k->gone = false;
    all->before = all->next;
    w->walks = all->next != 0;
    if (!w->walks)
        discard_map(k->call->api, TAKE(all->seen), NULL);
}

static void end_of_beginning(struct watch *w)
{
    w->begins = false;
    if (!w->quiet && w->bookmarks)
        bookmark(w, w->initial);
}

static void sweep_on(struct watch *w)
{
    struct client_object *rest = sweep_from(w, w->sweeps.at[--w->sweeps.n]);
    if (rest)
        vec_push(&w->sweeps, rest);
}

/* All of the job in hand has been looked at. */
static void end_of_rests(struct watch *w)
{
    for (size_t i = 0; i < w->looked_at.n; i++)
        sweep(w, w->looked_at.at[i]);
    vec_clear(&w->looked_at);
}

/* One job is looked at, and swept, before the next. */
static void do_some(struct watch *w)
{
    if (w->rests.at.n)
        look_at_rest(w);
    else if (w->sweeps.n)
        sweep_on(w);
    else if (w->walks)
        walk(w);
    else if (w->begins)
        end_of_beginning(w);
    else if (w->due.n)
        refresh(w, w->due.at[--w->due.n]);
    else
        read_events(w);
    if (!w->rests.at.n)
        end_of_rests(w);
}

static bool is_busy(const struct watch *w)
{
    return w->rests.at.n || w->sweeps.n || w->begins || w->due.n || w->behind;
}

/* false: all has been told, or there is no room for more. */
static bool go_on(void *watch)
{
    struct watch *w = watch;
    bool room = !w->over && http_stream_room(w->follower.call->request) > 0;
    if (room)
        do_some(w);
    if (room && is_busy(w))
        return true;
    if (room) {
        w->quiet = false;
        if (w->bookmarks && w->seen - w->marked >= MARK)
            bookmark(w, false);
    }
    w->work = NULL;
    return false;
}

static void pump(struct follower *f)
{
    struct watch *w = of_follower(f);
    if (!w->known) /* it has not begun, or is only to be told an error */
        return;
    w->behind |= ctl_last_event(w->k->ctl) != w->seen;
    if (is_busy(w) && !w->work && go_on(w))
        w->work = work_begin(f->call->api, go_on, w);
}

/* ---- beginning and end ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_late(uv_timer_t *timer)
{
    struct deadline *d = timer->data;
    of_follower(d->follower)->over = true;
    follow_end(d->follower);
}

/* As long as the client wants, and no longer than what it came with is good for. */
static void limit(struct watch *w, uint64_t seconds)
{
    const struct identity *who = &w->k->call->who;
    uint64_t now = ctl_now(w->k->ctl), ms = seconds * 1000;
    if (who->expires_ms && (!ms || who->expires_ms < now + ms))
        ms = who->expires_ms > now ? who->expires_ms - now : 1;
    if (!ms)
        return;
    w->deadline = mem_new(sizeof *w->deadline);
    w->deadline->follower = &w->follower;
    uv_timer_init(w->k->call->api->config.loop, &w->deadline->timer);
    w->deadline->timer.data = w->deadline;
    uv_timer_start(&w->deadline->timer, on_late, ms, 0);
}

static void fini(struct follower *f)
{
    struct watch *w = of_follower(f);
    if (w->deadline)
        uv_close((uv_handle_t *)&w->deadline->timer, on_closed);
    work_end(w->work);
    vec_fini(&w->rests.at);
    vec_fini(&w->looked_at);
    vec_fini(&w->sweeps);
    vec_fini(&w->due);
    discard_map(f->call->api, w->known, drop);
    discard_map(f->call->api, w->all.seen, NULL);
    map_destroy(w->of_job);
    kube_free(w->k);
}

/* Of jobs that changed since `from` nothing has to be known: the client had those that are older.
 */
static void begin(struct watch *w)
{
    const struct selector *selector = &w->k->selector;
    w->quiet = w->from != 0;
    w->seen = w->marked = w->quiet ? w->from : ctl_last_event(w->k->ctl);
    w->known = string_map_create();
    w->of_job = map_create();
    w->walks = !w->quiet || !w->k->of->is_job || selector->n_fields || selector->n_labels;
    if (w->walks)
        w->all = (struct kube_selection){ .ns = w->k->ns,
                                          .name = selector_field(selector, "metadata.name"),
                                          .about = selector_field(selector, "involvedObject.name"),
                                          .limit = JOBS,
                                          .seen = string_map_create(),
                                          .rests = &w->rests };
    w->begins = true;
    pump(&w->follower);
}

static bool is_true(const struct kube *k, const char *option)
{
    const char *text = http_query(k->call->request, option, 0);
    return text && strcmp(text, "true") == 0;
}

static void forbidden_match(struct kube *k, const char *text)
{
    kube_invalid(k, "", &(struct kube_fault){ "resourceVersionMatch", PROBLEM_FORBIDDEN, text });
}

/* The rules of sendInitialEvents; false: answered. */
static bool initial_events(struct kube *k, bool *initial)
{
    const char *match = http_query(k->call->request, "resourceVersionMatch", 0);
    *initial = is_true(k, "sendInitialEvents");
    if (*initial && (!match || strcmp(match, "NotOlderThan") != 0))
        forbidden_match(k, "sendInitialEvents requires setting resourceVersionMatch to "
                           "NotOlderThan");
    else if (match && !http_query(k->call->request, "sendInitialEvents", 0))
        forbidden_match(k, "resourceVersionMatch is forbidden for watch unless sendInitialEvents "
                           "is provided");
    else
        return true;
    return false;
}

void kube_watch(struct kube *k)
{
    const char *version = http_query(k->call->request, "resourceVersion", 0);
    uint64_t last = ctl_last_event(k->ctl), from = 0, seconds = 0;
    struct err err = { 0 };
    bool initial;
    if (version && *version && !scan_u64(version, 0, UINT64_MAX, &from)) {
        kube_bad(k, "resourceVersion is \"%.40s\"", version);
        return;
    }
    if (!initial_events(k, &initial))
        return;
    if (!call_u64(k->call, "timeoutSeconds", 0, LONGEST_S, &seconds, &err)) {
        kube_problem(k, &err, NULL);
        return;
    }
    bool nonsense = from > last || (from && !initial && last - from > WINDOW);
    struct watch *w = mem_new(sizeof *w);
    *w = (struct watch){ .follower = { .call = k->call, .pump = pump, .fini = fini },
                         .sink = { look },
                         .k = k,
                         .seed = hash_seed_random(),
                         .from = initial ? 0 : from,
                         .initial = initial,
                         .bookmarks = is_true(k, "allowWatchBookmarks") };
    follow_begin(&w->follower, "application/json");
    if (nonsense) {
        fail(w, 410, "Expired", "too old resource version: the events since are not told");
        follow_end(&w->follower);
    } else {
        begin(w);
        limit(w, seconds);
    }
}
