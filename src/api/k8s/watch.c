/* Watches: after each commit the events since the last look say which jobs changed; their objects
 * are made again and what differs from what was sent is told. Objects that are of no job are all
 * looked at, there are few. The version of a watch is the number of an event. */
#include "api/k8s/kube.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "job/ids.h"
#include "text/json.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW    10000 /* events that a client may be behind */
#define PAGE      1000
#define LINE_MAX_ ((size_t)8 << 20)
#define MARK      50 /* events that told it nothing: then a bookmark */

struct known { /* an object as the client has it */
    uint64_t job, hash;
    bool seen;
    char *text; /* as it was sent */
};

struct watch {
    struct follower follower; /* first */
    struct kube_sink sink;
    struct kube *k;
    struct smap *known;
    struct hash_seed seed;
    uint64_t job;          /* that is looked at */
    uint64_t seen, marked; /* events looked at; the last that the client knows of */
    uint64_t from;         /* the client has what is as old as that */
    bool quiet;            /* what is not newer than from is only remembered */
    bool columns, bookmarks;
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

static void send(struct watch *w, const char *type, const char *object)
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
    send(w, "ERROR", buf_str(&text));
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
        text_copy(a, text_list(a, table, "rows"), NULL,
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

static void forget(struct watch *w, const char *key, bool tell)
{
    struct known *known = smap_remove(w->known, key);
    if (known && tell)
        send(w, "DELETED", known->text);
    if (known)
        free(known->text);
    free(known);
}

/* ---- looking ---- */

/* It is there: said when it is new or other than what the client has. */
static void tell(struct watch *w, const char *key, struct known *known,
                 const struct text_node *object, bool old)
{
    const struct kube *k = w->k;
    uint64_t hash = hash_of(w, object);
    if (known && known->hash == hash) {
        known->seen = true;
        return;
    }
    bool silent = !known && w->quiet && old;
    bool had = known || (w->from && k->born && k->born <= w->from);
    if (!known) {
        known = mem_new(sizeof *known);
        smap_set(w->known, key, known);
    }
    free(known->text);
    known->text = shown(w, object);
    known->hash = hash;
    known->seen = true;
    known->job = w->job;
    if (!silent)
        send(w, had ? "MODIFIED" : "ADDED", known->text);
}

static void look(struct kube_sink *sink, const struct text_node *object, uint64_t version)
{
    struct watch *w = of_sink(sink);
    struct kube *k = w->k;
    const char *key = arena_printf(k->scratch, "%s/%s", kube_in(object, "metadata", "namespace"),
                                   kube_in(object, "metadata", "name"));
    struct known *known = smap_get(w->known, key);
    bool old = version <= w->from, fits = selector_fits(&k->selector, object);
    if (known && (k->gone || !fits)) {
        forget(w, key, true);
        return;
    }
    if (k->gone && fits && !old && k->born && k->born <= w->from) {
        AUTO_FREE char *text = shown(w, object); /* it went while the client was away */
        send(w, "DELETED", text);
    }
    if (k->gone || !fits)
        return;
    tell(w, key, known, object, old);
}

/* Objects (of that job, 0: all) that are there no more. */
static void sweep(struct watch *w, uint64_t job)
{
    size_t cursor = 0;
    const char *key;
    void *value;
    struct arena *a = arena_create();
    struct words gone = { .at = ARENA_ARRAY(a, smap_count(w->known), const char *) };
    while (smap_next(w->known, &cursor, &key, &value)) {
        struct known *known = value;
        if ((!job || known->job == job) && !known->seen)
            gone.at[gone.n++] = arena_strdup(a, key);
        known->seen = false;
    }
    for (size_t i = 0; i < gone.n; i++)
        forget(w, gone.at[i], true);
    arena_destroy(a);
}

static void refresh(struct watch *w, uint64_t job)
{
    struct kube *k = w->k;
    struct kube_want want = { .ns = k->ns, .job = job, .gone = true };
    want.name = selector_field(&k->selector, "metadata.name");
    w->job = job;
    k->of->each(k, &want, &w->sink);
    k->gone = false;
    sweep(w, job);
}

/* Jobs that the page's events are about, each once; false: something that is no job changed. */
static void touched(struct watch *w, const struct text_node *page)
{
    struct map *done = map_create();
    for (const struct text_node *e = page->first; e; e = e->next) {
        const struct text_node *body = text_get(e, "body");
        const char *id = kube_in(e, "job", NULL);
        uint64_t job = 0;
        if (strcmp(kube_in(e, "type", NULL), "deleted") == 0 && body)
            id = kube_in(body, "id", NULL);
        if (!job_id_parse(id, &job) || !job || map_get(done, job))
            continue;
        map_set(done, job, w);
        refresh(w, job);
    }
    map_destroy(done);
}

static void catch_up(struct watch *w)
{
    struct err err;
    bool more = true;
    while (more) {
        struct arena *a = arena_create();
        const struct text_node *page = ctl_events_tree(w->k->ctl, a, 0, w->seen, PAGE, &err);
        more = page && page->count == PAGE;
        if (page && page->last)
            w->seen = (uint64_t)text_get(page->last, "seq")->integer;
        if (page && w->k->of->of_jobs)
            touched(w, page);
        arena_destroy(a);
    }
    if (!w->k->of->of_jobs)
        refresh(w, 0);
}

static void bookmark(struct watch *w)
{
    struct arena *a = arena_create();
    AUTO_BUF struct buf text = BUF_INIT(LINE_MAX_);
    struct text_node *object = text_map(a, NULL, NULL);
    text_str(a, object, "kind", w->k->of->kind);
    text_str(a, object, "apiVersion", kube_version(a, w->k->of));
    struct text_node *metadata = text_map(a, object, "metadata");
    text_str(a, metadata, "resourceVersion", arena_printf(a, "%llu", (unsigned long long)w->seen));
    text_null(a, metadata, "creationTimestamp");
    json_print(object, 0, &text);
    send(w, "BOOKMARK", buf_str(&text));
    arena_destroy(a);
}

static void pump(struct follower *f)
{
    struct watch *w = of_follower(f);
    if (!w->known || http_stream_room(f->call->request) == 0 ||
        ctl_last_event(w->k->ctl) == w->seen)
        return;
    catch_up(w);
    if (w->bookmarks && w->seen - w->marked >= MARK)
        bookmark(w);
}

/* ---- beginning and end ---- */

static void fini(struct follower *f)
{
    struct watch *w = of_follower(f);
    size_t cursor = 0;
    const char *key;
    void *value;
    while (w->known && smap_next(w->known, &cursor, &key, &value)) {
        free(((struct known *)value)->text);
        free(value);
    }
    smap_destroy(w->known);
    kube_free(w->k);
}

static void begin(struct watch *w)
{
    struct kube *k = w->k;
    struct kube_want want = { .ns = k->ns,
                              .name = selector_field(&k->selector, "metadata.name"),
                              .about = selector_field(&k->selector, "involvedObject.name") };
    w->quiet = w->from != 0;
    w->seen = w->marked = w->quiet ? w->from : ctl_last_event(k->ctl);
    w->known = smap_create();
    k->of->each(k, &want, &w->sink);
    k->gone = false;
    sweep(w, 0);
    if (!w->quiet && w->bookmarks)
        bookmark(w);
    catch_up(w);
    w->quiet = false;
}

void kube_watch(struct kube *k)
{
    struct http_request *r = k->call->request;
    struct watch *w = mem_new(sizeof *w);
    const char *version = http_query(r, "resourceVersion", 0);
    const char *marks = http_query(r, "allowWatchBookmarks", 0);
    uint64_t last = ctl_last_event(k->ctl);
    w->sink.put = look;
    w->k = k;
    w->seed = hash_seed_random();
    w->bookmarks = marks && strcmp(marks, "true") == 0;
    w->follower = (struct follower){ .call = k->call, .pump = pump, .fini = fini };
    if (version && *version && !scan_u64(version, 0, UINT64_MAX, &w->from)) {
        free(w);
        kube_bad(k, "resourceVersion is \"%.40s\"", version);
        return;
    }
    follow_begin(&w->follower, "application/json");
    if (w->from > last || last - w->from > WINDOW * (w->from != 0)) {
        if (w->from) {
            fail(w, 410, "Expired", "too old resource version: the events since are not told");
            follow_end(&w->follower);
            return;
        }
    }
    begin(w);
}
