/* Reading: one object, and lists with selectors and pages, as objects or as a Table. Objects are
 * written one by one, so that a long list does not stand in memory as a tree, and of few jobs at a
 * time, so that others are answered meanwhile. */
#include "api/k8s/kube.h"
#include "api/work.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX ((size_t)512 << 20)
#define STEP     25u     /* jobs */
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
    struct kube_want want = { .of = of, .ns = of->namespaced ? k->ns : NULL, .name = name };
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
    const char *key;
    size_t at, len;
};

struct lister {
    struct kube_sink sink; /* first */
    struct kube *k;
    struct kube_want want;
    uint64_t now, left; /* left: jobs that the client wants; 0: all */
    const char *version;
    struct buf text;
    VEC(struct item) items;
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
    item->at = l->text.len;
    if (k->table)
        object = kube_row(k->scratch, object, k->of->cells, l->now, k->include);
    json_print(object, 0, &l->text);
    item->len = l->text.len - item->at;
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
    smap_destroy(l->want.seen);
    free(l);
}

static void answer(struct lister *l)
{
    struct kube *k = l->k;
    AUTO_BUF struct buf out = BUF_INIT(LIST_MAX);
    if (l->items.n)
        qsort(l->items.at, l->items.n, sizeof *l->items.at, by_key);
    json_print(head(k, l->version, l->want.next), 0, &out);
    out.len--; /* its brace: the list goes inside */
    buf_addf(&out, ",\"%s\":[", k->table ? "rows" : "items");
    for (size_t i = 0; i < l->items.n; i++) {
        if (i)
            buf_putc(&out, ',');
        buf_add(&out, l->text.data + l->items.at[i].at, l->items.at[i].len);
    }
    buf_puts(&out, "]}\n");
    lister_free(l);
    kube_text(k, 200, "application/json", &out);
}

/* The rest of a page begins where a smaller one ends. */
static bool list_some(void *arg)
{
    struct lister *l = arg;
    struct kube_want *want = &l->want;
    size_t some = l->left && l->left < STEP ? (size_t)l->left : STEP;
    want->limit = some;
    want->next = 0;
    l->k->of->each(l->k, want, &l->sink);
    if (want->next && l->left != some) {
        l->left -= l->left ? some : 0;
        want->before = want->next;
        return true;
    }
    answer(l);
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
    struct kube_want want = { .ns = k->ns,
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
    want.seen = smap_create();
    arena_destroy(k->scratch);
    k->scratch = arena_create_of(SCRATCH); /* used again for each */
    struct lister *l = mem_new(sizeof *l);
    *l = (struct lister){ .sink = { add },
                          .k = k,
                          .want = want,
                          .now = clock_wall_ms(),
                          .left = limit,
                          .version = version_now(k),
                          .text = { .max = LIST_MAX } };
    answer_work(k->call, &(struct answer_work){ .step = list_some, .left = left, .arg = l });
}
