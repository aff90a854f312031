/* Objects that are kept as they were sent: PodGroups, ConfigMaps, Secrets, claims. Jobs name them;
 * Secrets are shown to admins and to who made them. */
#include "api/k8s/kube.h"

#include "api/log_text.h"

#include "base/buf.h"
#include "base/clock.h"
#include "text/json.h"

#include <string.h>

#define TEXT_MAX ((size_t)2 << 20)

static struct text_node *parsed(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    return json_parse(arena, text, strlen(text), 0, &report);
}

static bool may_see(const struct kube *k, const struct kube_resource *of,
                    const struct text_node *kept)
{
    return strcmp(of->plural, "secrets") != 0 || k->call->who.role == ROLE_ADMIN ||
           strcmp(kube_in(kept, "owner", NULL), k->call->owner) == 0;
}

static void put_thing(struct kube *k, const struct kube_resource *of, const struct object_row *row,
                      struct kube_sink *sink)
{
    struct arena *a = k->scratch;
    const struct text_node *kept = parsed(a, row->spec);
    const struct text_node *doc = kept ? text_get(kept, "object") : NULL;
    const struct text_node *created = kept ? text_get(kept, "created_ms") : NULL;
    if (!doc || !created || !may_see(k, of, kept))
        return;
    struct kube_meta meta = { .name = row->name,
                              .ns = row->project,
                              .uid = arena_printf(a, "%s-%s-%lld", of->singular, row->name,
                                                  (long long)created->integer),
                              .version = row->version,
                              .created_ms = (uint64_t)created->integer,
                              .from = text_get(doc, "metadata") };
    struct text_node *object = kube_object(a, of, &meta);
    for (const struct text_node *one = doc->first; one; one = one->next)
        if (!text_get(object, one->key))
            text_copy(a, object, one->key, one);
    if (strcmp(of->plural, "persistentvolumeclaims") == 0)
        text_str(a, text_map(a, object, "status"), "phase", "Bound");
    k->born = 0;
    sink->put(sink, object, row->version);
}

int things_each(struct kube *k, struct kube_want *want, struct kube_sink *sink)
{
    struct arena *arena = arena_create();
    const struct kube_resource *of = want->of ? want->of : k->of;
    struct ctl_thing ask = { .kind = of->plural, .project = want->ns, .name = want->name };
    struct object_row *rows;
    struct err err;
    size_t n = 0;
    if (ctl_things(k->ctl, arena, &ask, &rows, &n, &err))
        n = 0;
    for (size_t i = 0; i < n; i++) {
        if (!want->name || strcmp(rows[i].name, want->name) == 0)
            put_thing(k, of, &rows[i], sink);
        arena_reset(k->scratch);
    }
    arena_destroy(arena);
    return 0;
}

/* ---- writing ---- */

static void on_put(void *arg, const struct ctl_answer *answer)
{
    struct kube *k = arg;
    const char *name = kube_in(k->body, "metadata", "name");
    if (answer->err) {
        kube_problem(k, answer->err, NULL);
        return;
    }
    const struct text_node *object = kube_find(k, k->of, name);
    if (object)
        kube_show(k, k->status, object);
    else
        kube_not_found(k);
}

/* stringData becomes data, as the real server does. */
static const char *encoded(struct kube *k, struct text_node *object, uint64_t created_ms)
{
    struct arena *a = k->arena;
    struct text_node *kept = text_map(a, NULL, NULL), *plain = text_get(object, "stringData");
    for (const struct text_node *one = plain ? plain->first : NULL; one; one = one->next) {
        struct text_node *data = kube_part(a, object, "data");
        kube_drop(data, one->key);
        const char *text = one->str ? one->str : "";
        text_str(a, data, one->key, log_base64(a, (const unsigned char *)text, strlen(text)));
    }
    kube_drop(object, "stringData");
    text_str(a, kept, "owner", k->call->owner);
    text_int(a, kept, "created_ms", (int64_t)created_ms);
    text_copy(a, kept, "object", object);
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
    json_print(kept, 0, &text);
    return arena_strndup(a, buf_str(&text), text.len);
}

static void put(struct kube *k, struct text_node *object, uint64_t created_ms, bool create)
{
    struct ctl_thing ask = { .owner = k->call->owner,
                             .kind = k->of->plural,
                             .project = k->ns,
                             .name = kube_in(object, "metadata", "name"),
                             .text = encoded(k, object, created_ms),
                             .create = create };
    k->body = object;
    if (k->dry_run) {
        kube_show(k, k->status, object);
        return;
    }
    call_keep(k->call);
    ctl_thing_put(k->ctl, &ask, on_put, k);
}

void things_create(struct kube *k, struct text_node *object)
{
    put(k, object, clock_wall_ms(), true);
}

void things_change(struct kube *k, const struct text_node *old, struct text_node *object)
{
    put(k, object, kube_time(kube_in(old, "metadata", "creationTimestamp")), false);
}

void things_remove(struct kube *k, const struct text_node *object, ctl_done *done, void *arg)
{
    struct ctl_thing ask = { .owner = k->call->owner,
                             .kind = k->of->plural,
                             .project = kube_in(object, "metadata", "namespace"),
                             .name = kube_in(object, "metadata", "name") };
    ctl_thing_put(k->ctl, &ask, done, arg);
}
