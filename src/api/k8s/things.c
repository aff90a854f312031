/* Objects that are kept as they were sent: PodGroups, ConfigMaps, Secrets, claims. Jobs name them;
 * Secrets are shown to admins and to who made them. */
#include "api/k8s/kube.h"

#include "api/log_text.h"

#include <string.h>

static const char *kind_of(struct arena *arena, const struct kube_resource *of)
{
    return arena_printf(arena, "k8s.%s", of->plural);
}

static bool may_see(const struct kube *k, const struct kube_resource *of,
                    const struct text_node *kept)
{
    return strcmp(of->plural, "secrets") != 0 || k->call->who.role == ROLE_ADMIN ||
           strcmp(kube_in(kept, "owner", NULL), k->call->owner) == 0;
}

static void put_thing(struct kube *k, const struct kube_resource *of, const struct text_node *kept,
                      struct kube_sink *sink)
{
    struct arena *a = k->scratch;
    const struct text_node *doc = text_get(kept, "spec");
    uint64_t version = (uint64_t)text_get(kept, "version")->integer;
    uint64_t created_ms = (uint64_t)text_get(kept, "created_ms")->integer;
    const char *name = kube_in(kept, "name", NULL);
    if (!may_see(k, of, kept))
        return;
    struct kube_meta meta = { .name = name,
                              .ns = kube_in(kept, "project", NULL),
                              .uid = arena_printf(a, "%s-%s-%llu", of->singular, name,
                                                  (unsigned long long)created_ms),
                              .version = version,
                              .created_ms = created_ms,
                              .from = text_get(doc, "metadata") };
    struct text_node *object = kube_object(a, of, &meta);
    for (const struct text_node *one = doc->first; one; one = one->next)
        if (!text_get(object, one->key))
            text_copy(a, object, one->key, one);
    if (strcmp(of->plural, "persistentvolumeclaims") == 0)
        text_str(a, text_map(a, object, "status"), "phase", "Bound");
    k->subject = 0;
    sink->put(sink, object, version);
}

int things_each(struct kube *k, struct kube_want *want, struct kube_sink *sink)
{
    struct arena *arena = arena_create();
    const struct kube_resource *of = want->of ? want->of : k->of;
    struct ctl_object ask = { kind_of(arena, of), want->ns, want->name, NULL };
    const struct text_node *one =
        want->ns && want->name ? ctl_object_tree(k->ctl, arena, &ask)
                               : ctl_objects_tree(k->ctl, arena, ask.kind, ask.project)->first;
    for (; one; one = one->next) {
        if (!want->name || strcmp(kube_in(one, "name", NULL), want->name) == 0)
            put_thing(k, of, one, sink);
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
static void encode(struct kube *k, struct text_node *object)
{
    struct arena *a = k->arena;
    struct text_node *plain = text_get(object, "stringData");
    for (const struct text_node *one = plain ? plain->first : NULL; one; one = one->next) {
        struct text_node *data = kube_part(a, object, "data");
        kube_drop(data, one->key);
        const char *text = one->kind == TEXT_STR ? one->str : "";
        text_str(a, data, one->key, log_base64(a, (const unsigned char *)text, strlen(text)));
    }
    kube_drop(object, "stringData");
}

/* object NULL: it is removed. */
static void put(struct kube *k, const struct ctl_object *at, bool create, ctl_done *done, void *arg)
{
    ctl_objects_put(k->ctl,
                    &(struct ctl_objects){
                        .by = k->call->owner, .create = create, .at = at, .n = 1, .told = true },
                    done, arg);
}

static void keep(struct kube *k, struct text_node *object, bool create)
{
    k->body = object;
    encode(k, object);
    if (k->dry_run) {
        kube_show(k, k->status, object);
        return;
    }
    call_keep(k->call);
    put(k,
        &(struct ctl_object){ kind_of(k->arena, k->of), k->ns, kube_in(object, "metadata", "name"),
                              object },
        create, on_put, k);
}

void things_create(struct kube *k, struct text_node *object)
{
    keep(k, object, true);
}

void things_change(struct kube *k, const struct text_node *old, struct text_node *object)
{
    (void)old;
    keep(k, object, false);
}

void things_remove(struct kube *k, const struct text_node *object, ctl_done *done, void *arg)
{
    put(k,
        &(struct ctl_object){ kind_of(k->arena, k->of), kube_in(object, "metadata", "namespace"),
                              kube_in(object, "metadata", "name"), NULL },
        false, done, arg);
}
