/* Reading: one object, and lists with selectors and pages, as objects or as a Table. Objects are
 * written one by one, so that a long list does not stand in memory as a tree, and of few jobs at a
 * time, so that others are answered meanwhile. */
#include "api/k8s/read.h"

#include "api/k8s/answer.h"
#include "api/k8s/object.h"
#include "api/work.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "base/scan.h"
#include "base/vec.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX ((size_t)512 << 20)
#define STEP     25u     /* jobs, at most */
#define STEP_US  500u    /* how long they may take before the rest is left for the next step */
#define PUT      64u     /* objects that are put into the answer together */
#define SCRATCH  131072u /* bytes: most jobs of a list and all that is made of them */

/* ---- one ---- */

struct finder {
    struct kube_sink sink; /* first */
    struct arena *arena;
    const char *name;
    struct text_node *found;
};

static void keep(struct kube_sink *sink, const struct text_node *object, uint64_t version)
{
    struct finder *f = (struct finder *)(void *)sink;
    (void)version;
    if (!f->found && strcmp(kube_in(object, "metadata", "name"), f->name) == 0)
        f->found = text_copy(f->arena, NULL, NULL, object);
}

struct text_node *kube_find(struct kube *k, const struct kube_resource *of, const char *name)
{
    struct finder f = { .sink = { keep }, .arena = k->arena, .name = name };
    struct kube_selection want = { .of = of, .ns = of->namespaced ? k->ns : NULL, .name = name };
    if (strlen(name) <= KUBE_NAME_MAX)
        of->each(k, &want, &f.sink);
    return f.found;
}

void kube_get(struct kube *k)
{
    const struct text_node *object = kube_find(k, k->of, k->name);
    if (object)
        kube_show(k, 200, object);
    else
        kube_not_found(k);
}

/* ---- many ---- */

struct item {
    const char *key, *text;
    size_t len;
};
struct run { /* items that were added together, in order */
    size_t next, end;
};

struct lister {
    struct kube_sink sink; /* first */
    struct kube *k;
    struct api *api;
    struct kube_selection want;
    uint64_t now, left; /* left: jobs that the client wants; 0: all */
    bool walked;        /* all of these jobs were looked at */
    struct kube_rests rests;
    const char *version;
    struct arena *texts;
    struct buf text; /* of one item */
    VEC(struct item) items;
    VEC(struct run) runs; /* once all are there a heap: the first begins with the next item */
    size_t bytes, put;    /* of all items; items that stand in the answer */
    struct pieces *out;   /* the answer, once all items are there */
};

static void add(struct kube_sink *sink, const struct text_node *object, uint64_t version)
{
    struct lister *l = (struct lister *)(void *)sink;
    struct kube *k = l->k;
    (void)version;
    if (!selector_fits(&k->selector, object))
        return;
    struct item *item = vec_add(&l->items);
    item->key = kube_key(k->arena, kube_in(object, "metadata", "namespace"),
                         kube_in(object, "metadata", "name"));
    if (k->table)
        object = kube_row(k->scratch, object, k->of->cells, l->now, k->include);
    buf_clear(&l->text);
    json_print(object, 0, &l->text);
    item->text = arena_strndup(l->texts, buf_str(&l->text), l->text.len);
    item->len = l->text.len;
    l->bytes += item->len;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->key, ((const struct item *)b)->key);
}

static const char *version_now(struct kube *k)
{
    return arena_printf(k->arena, "%llu", (unsigned long long)ctl_last_event(k->ctl));
}

static struct text_node *head(struct kube *k, const char *version, uint64_t next)
{
    struct arena *a = k->arena;
    struct text_node *tree;
    if (k->table) {
        tree = kube_table(a, k->of->columns, true, version);
    } else {
        tree = text_map(a, NULL, NULL);
        text_str(a, tree, "kind", arena_printf(a, "%sList", k->of->kind));
        text_str(a, tree, "apiVersion", kube_version(a, k->of));
        text_str(a, text_map(a, tree, "metadata"), "resourceVersion", version);
    }
    if (next)
        text_str(a, text_get(tree, "metadata"), "continue",
                 arena_printf(a, "%llu", (unsigned long long)next));
    return tree;
}

static void lister_free(struct lister *l)
{
    buf_fini(&l->text);
    vec_fini(&l->items);
    vec_fini(&l->runs);
    vec_fini(&l->rests.at);
    arena_destroy(l->texts);
    pieces_destroy(l->out);
    discard_map(l->api, l->want.seen, NULL);
    free(l);
}

/* ---- in order: those that were made together at once, then one of their first ones after the
 * other, so that no turn of the loop sorts all of them ---- */

static void add_run(struct lister *l, size_t from)
{
    struct run run = { .next = from, .end = l->items.n };
    if (run.next == run.end)
        return;
    qsort(l->items.at + run.next, run.end - run.next, sizeof *l->items.at, by_key);
    vec_push(&l->runs, run);
}

static bool is_before(const struct lister *l, size_t a, size_t b)
{
    const struct run *runs = l->runs.at;
    return by_key(&l->items.at[runs[a].next], &l->items.at[runs[b].next]) < 0;
}

static void sink(struct lister *l, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < l->runs.n; at = child) {
        struct run *runs = l->runs.at, run = runs[at];
        child += child + 1 < l->runs.n && is_before(l, child + 1, child);
        if (!is_before(l, child, at))
            return;
        runs[at] = runs[child];
        runs[child] = run;
    }
}

static const struct item *take_first(struct lister *l)
{
    struct run *first = l->runs.at;
    const struct item *item = &l->items.at[first->next++];
    if (first->next == first->end)
        *first = l->runs.at[--l->runs.n];
    sink(l, 0);
    return item;
}

/* ---- the answer ---- */

static void begin_answer(struct lister *l)
{
    struct kube *k = l->k;
    l->out = pieces_create();
    struct buf *out = pieces_end(l->out);
    json_print(head(k, l->version, l->want.next), 0, out);
    out->len--; /* its brace: the list goes inside */
    buf_addf(out, ",\"%s\":[", k->table ? "rows" : "items");
    for (size_t i = l->runs.n / 2; i-- > 0;)
        sink(l, i);
}

static void put_some(struct lister *l)
{
    struct buf *out = pieces_end(l->out);
    for (unsigned n = 0; n < PUT && l->runs.n > 0; n++) {
        const struct item *item = take_first(l);
        if (l->put++)
            buf_putc(out, ',');
        buf_add(out, item->text, item->len);
    }
}

static void end_answer(struct lister *l)
{
    struct kube *k = l->k;
    struct call *call = k->call;
    struct pieces *out = TAKE(l->out);
    buf_puts(pieces_end(out), "]}\n");
    lister_free(l);
    kube_free(k);
    call_pieces(call, 200, "application/json", out);
}

static void say_too_large(struct lister *l)
{
    struct kube *k = l->k;
    struct err err;
    err_set(&err, ERR_TOO_LARGE, "the list is larger than %zu MiB", LIST_MAX >> 20);
    lister_free(l);
    kube_problem(k, &err, NULL);
}

/* The rest of a page begins where a smaller one ends. */
static void list_jobs(struct lister *l)
{
    struct kube_selection *want = &l->want;
    size_t some = l->left && l->left < STEP ? (size_t)l->left : STEP;
    want->limit = some;
    want->next = 0;
    want->until_us = clock_mono_us() + STEP_US;
    l->k->of->each(l->k, want, &l->sink);
    l->walked = !want->next || (l->left && l->left == want->told);
    l->left -= l->left && !l->walked ? want->told : 0;
    want->before = l->walked ? want->before : want->next;
}

/* More of a large job. */
static void list_rest(struct lister *l)
{
    const struct kube_rest rest = l->rests.at.at[--l->rests.at.n];
    struct kube_selection want = l->want;
    want.job = rest.job;
    want.first = rest.first;
    l->k->of->each(l->k, &want, &l->sink);
}

static bool list_some(void *arg)
{
    struct lister *l = arg;
    size_t from = l->items.n;
    if (l->out)
        put_some(l);
    else if (l->rests.at.n)
        list_rest(l);
    else if (!l->walked)
        list_jobs(l);
    else
        begin_answer(l);
    add_run(l, from);
    if (l->bytes > LIST_MAX)
        say_too_large(l);
    else if (l->out && !l->runs.n)
        end_answer(l);
    else
        return true;
    return false;
}

static void left(void *arg)
{
    struct lister *l = arg;
    kube_free(l->k);
    lister_free(l);
}

void kube_list(struct kube *k)
{
    struct kube_selection want = { .ns = k->ns,
                                   .name = selector_field(&k->selector, "metadata.name"),
                                   .about = selector_field(&k->selector, "involvedObject.name") };
    struct err err = { 0 };
    uint64_t limit = 0;
    const char *after = http_query(k->call->request, "continue", 0);
    if (!want.ns)
        want.ns = selector_field(&k->selector, "metadata.namespace");
    if (!call_u64(k->call, "limit", 0, UINT32_MAX, &limit, &err)) {
        kube_problem(k, &err, NULL);
        return;
    }
    if (after && *after && !scan_u64(after, 1, UINT64_MAX, &want.before)) {
        kube_bad(k, "continue key is not valid: \"%.40s\"", after);
        return;
    }
    want.page = want.before;
    want.brief = k->table && k->include != TABLE_OBJECT;
    want.seen = string_map_create();
    arena_destroy(k->scratch);
    k->scratch = arena_create_of(SCRATCH); /* used again for each */
    struct lister *l = mem_new(sizeof *l);
    *l = (struct lister){ .sink = { add },
                          .k = k,
                          .api = k->call->api,
                          .want = want,
                          .now = clock_wall_ms(),
                          .left = limit,
                          .version = version_now(k),
                          .texts = arena_create(),
                          .text = { .max = LIST_MAX } };
    l->want.rests = &l->rests;
    answer_work(k->call, &(struct answer_work){ .step = list_some, .left = left, .arg = l });
}
