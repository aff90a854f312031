/* Objects that are kept as they were sent: PodGroups, ConfigMaps, Secrets, claims, Namespaces. Jobs
 * name them; Secrets are shown to admins and to who made them. */
#include "api/k8s/kept_objects.h"

#include "api/k8s/answer.h"
#include "api/k8s/object.h"
#include "api/k8s/read.h"
#include "api/log_text.h"
#include "base/clock.h"
#include "base/scan.h"
#include "documents/documents.h"

#include <sodium.h>
#include <string.h>

static const char *kind_of(struct arena *arena, const struct kube_resource *of)
{
    return arena_printf(arena, "k8s.%s", of->plural);
}

static bool is_secret(const struct kube_resource *of)
{
    return strcmp(of->plural, "secrets") == 0;
}

static bool may_see(const struct kube *k, const struct kube_resource *of,
                    const struct document_view *kept)
{
    return !is_secret(of) || k->call->who.role == ROLE_ADMIN ||
           (kept->owner && strcmp(kept->owner, k->call->owner) == 0);
}

/* The document as it is shown. */
static struct text_node *shown(struct arena *a, const struct kube_resource *of,
                               const struct kube_meta *meta, const struct text_node *doc)
{
    struct text_node *object = kube_object(a, of, meta);
    for (const struct text_node *one = doc->first; one; one = one->next)
        if (!text_get(object, one->key))
            text_copy(a, object, one->key, one);
    if (strcmp(of->plural, "persistentvolumeclaims") == 0)
        text_str(a, text_map(a, object, "status"), "phase", "Bound");
    return object;
}

static void put_thing(struct kube *k, const struct kube_resource *of,
                      const struct document_view *kept, struct kube_sink *sink)
{
    struct arena *a = k->scratch;
    if (!may_see(k, of, kept))
        return;
    const char *place_name = kube_key(a, kept->project, kept->name);
    struct kube_meta meta = { .name = kept->name,
                              .ns = kept->project,
                              .uid = kube_uid(a, of->singular, kept->created_ms, place_name),
                              .version = kept->version,
                              .created_ms = kept->created_ms,
                              .from = text_get(kept->spec, "metadata") };
    const struct text_node *object = shown(a, of, &meta, kept->spec);
    k->subject = 0;
    sink->put(sink, object, kept->version);
}

int things_each(struct kube *k, struct kube_selection *want, struct kube_sink *sink)
{
    struct arena *arena = arena_create();
    const struct kube_resource *of = want->of ? want->of : k->of;
    struct document ask = { kind_of(arena, of), want->ns, want->name, NULL };
    if (want->ns && want->name) {
        const struct document_view *one = document_find(ctl_documents(k->ctl), arena, &ask);
        if (one)
            put_thing(k, of, one, sink);
        arena_reset(k->scratch);
        arena_destroy(arena);
        return 0;
    }
    const struct document_list all =
        documents_list(ctl_documents(k->ctl), arena, ask.kind, ask.project);
    for (size_t i = 0; i < all.n; i++) {
        if (!want->name || strcmp(all.at[i].name, want->name) == 0)
            put_thing(k, of, &all.at[i], sink);
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

static bool is_base64(struct arena *a, const char *text)
{
    size_t len = strlen(text), n;
    return sodium_base642bin(arena_alloc(a, len + 1), len, text, len, "\r\n", &n, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0;
}

/* What a client could not decode again; false: answered. */
static bool decodes(struct kube *k, const struct text_node *object)
{
    const char *part = is_secret(k->of) ? "data" : "binaryData";
    const struct text_node *map = text_get(object, part);
    for (const struct text_node *one = map ? map->first : NULL; one; one = one->next) {
        if (one->kind == TEXT_STR && is_base64(k->scratch, one->str))
            continue;
        kube_bad(k,
                 "%s in version \"%s\" cannot be handled as a %s: illegal base64 data in %s of "
                 "\"%.100s\"",
                 k->of->kind, k->of->version, k->of->kind, part, one->key);
        return false;
    }
    return true;
}

/* object NULL: it is removed. */
static void put(struct kube *k, const struct document *at, bool create, ctl_done *done, void *arg)
{
    ctl_documents_put(k->ctl,
                      &(struct document_changes){
                          .by = k->call->owner, .create = create, .at = at, .n = 1, .told = true },
                      done, arg);
}

/* What a dry run would have made; old NULL: there was none. */
static void show_only(struct kube *k, const struct text_node *old, const struct text_node *object)
{
    struct kube_meta meta = { .name = kube_in(object, "metadata", "name"),
                              .ns = k->ns,
                              .uid = facade_uuid(k->arena),
                              .created_ms = clock_wall_ms(),
                              .from = text_get(object, "metadata") };
    if (old) {
        meta.uid = kube_in(old, "metadata", "uid");
        meta.created_ms = kube_time(kube_in(old, "metadata", "creationTimestamp"));
        scan_u64(kube_in(old, "metadata", "resourceVersion"), 0, UINT64_MAX, &meta.version);
    }
    struct text_node *would_be = shown(k->arena, k->of, &meta, object);
    if (!old)
        kube_drop(text_get(would_be, "metadata"), "resourceVersion");
    kube_show(k, k->status, would_be);
}

/* old NULL: it is made. */
static void keep(struct kube *k, const struct text_node *old, struct text_node *object)
{
    k->body = object;
    encode(k, object);
    if (!decodes(k, object))
        return;
    if (is_secret(k->of) && !*kube_in(object, "type", NULL)) {
        kube_drop(object, "type");
        text_str(k->arena, object, "type", "Opaque");
    }
    if (k->dry_run) {
        show_only(k, old, object);
        return;
    }
    call_keep(k->call);
    put(k,
        &(struct document){ kind_of(k->arena, k->of), k->ns ? k->ns : "",
                            kube_in(object, "metadata", "name"), object },
        !old, on_put, k);
}

void things_create(struct kube *k, struct text_node *object)
{
    keep(k, NULL, object);
}

void things_change(struct kube *k, const struct text_node *old, struct text_node *object)
{
    keep(k, old, object);
}

void things_remove(struct kube *k, const struct text_node *object, ctl_done *done, void *arg)
{
    put(k,
        &(struct document){ kind_of(k->arena, k->of), kube_in(object, "metadata", "namespace"),
                            kube_in(object, "metadata", "name"), NULL },
        false, done, arg);
}
