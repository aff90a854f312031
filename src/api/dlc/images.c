/* Images: entries of the catalogue with an address and labels. Listing filters and orders them as
 * the vendor's API does; adding, labelling and removing are declarations. */
#include "api/dlc/documents.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

static const struct dlc_kind image = { ENTRY_IMAGE, "dlc.image", false };
static const struct dlc_list_type listed = {
    .key = "Images", .size = 20, .sorts = { "GmtCreateTime", "GmtModifiedTime", "Name", "ImageId" }
};

/* "a=b,c=d e": all of them. */
static bool labelled(struct arena *a, const struct pairs *labels, const char *wanted)
{
    for (const char *at = wanted; at && *at; at += strcspn(at, ","), at += *at == ',') {
        const char *pair = arena_strndup(a, at, strcspn(at, ",")), *eq = strchr(pair, '=');
        const char *key = eq ? arena_strndup(a, pair, (size_t)(eq - pair)) : pair;
        const char *is = pairs_get(labels, key);
        if (!is || !*is || (eq && strcmp(is, eq + 1) != 0))
            return false;
    }
    return true;
}

static struct text_node *labels_of(struct arena *a, const struct entry *entry)
{
    struct text_node *map = text_map(a, NULL, NULL);
    text_pairs(a, map, &entry->labels);
    return map;
}

static struct text_node *shown(struct dlc_call *d, const struct dlc_object *x, bool verbose)
{
    static const char *const same[] = { "Size", "SourceType", "SourceId" };
    struct arena *a = d->arena;
    struct text_node *out = dlc_map(d);
    const char *name = dlc_text(x->spec, "Name"), *about = x->entry->description;
    text_str(a, out, "ImageId", x->id);
    text_str(a, out, "Name", name ? name : x->id);
    text_str(a, out, "ImageUri", x->entry->uri);
    text_str(a, out, "Description", about ? about : "");
    text_str(a, out, "ParentUserId", "");
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(a, out, x->spec, same[i]);
    dlc_thing_common(d, out, x, "GmtModifiedTime");
    if (verbose)
        dlc_labels(a, out, labels_of(a, x->entry));
    return out;
}

static bool same(struct dlc_call *d, const char *query, const struct text_node *one)
{
    const char *wanted = dlc_query(d, query);
    return !wanted || strcmp(text_get(one, query)->str, wanted) == 0;
}

static bool wanted(struct dlc_call *d, const struct dlc_object *x, const struct text_node *one)
{
    const char *name = dlc_query(d, "Name"), *query = dlc_query(d, "Query");
    const char *is = dlc_text(one, "Name"), *about = dlc_text(one, "Description");
    if (name && !(dlc_query(d, "Options") ? strcmp(name, is) == 0 : dlc_within(name, is)))
        return false;
    if (query && !dlc_within(query, is) && !(about && dlc_within(query, about)))
        return false;
    return dlc_thing_within(x, dlc_query(d, "WorkspaceId")) && same(d, "UserId", one) &&
           same(d, "ParentUserId", one) && same(d, "ImageUri", one) &&
           same(d, "Accessibility", one) &&
           labelled(d->arena, &x->entry->labels, dlc_query(d, "Labels"));
}

void dlc_image_list(struct dlc_call *d)
{
    bool verbose = dlc_query_flag(d, "Verbose", false);
    struct dlc_listing l;
    size_t n;
    if (!dlc_listing_begin(&l, d, &listed))
        return;
    const struct dlc_object *all = dlc_things(d, &image, &n);
    for (size_t i = 0; i < n; i++) {
        const struct text_node *one = shown(d, &all[i], verbose);
        if (wanted(d, &all[i], one))
            dlc_listing_add(&l, one, all[i].row);
    }
    dlc_ok(d, dlc_listing_end(&l));
}

void dlc_image_get(struct dlc_call *d)
{
    struct dlc_object x;
    if (dlc_thing_find(d, &image, &x))
        dlc_ok(d, shown(d, &x, dlc_query_flag(d, "Verbose", true)));
}

/* ---- change ---- */

static void put_image(struct dlc_call *d, const struct dlc_object *x, const struct text_node *spec,
                      const struct text_node *labels)
{
    struct text_node *entry = dlc_map(d), *ready = dlc_map(d);
    bool fresh = !x->entry;
    text_str(d->arena, entry, "uri", fresh ? dlc_text(d->body, "ImageUri") : x->entry->uri);
    dlc_put(d->arena, entry, "description",
            fresh ? dlc_text(d->body, "Description") : x->entry->description);
    dlc_put(d->arena, entry, "owner", fresh ? d->call->owner : x->owner);
    if (labels->count)
        text_copy(d->arena, entry, "labels", labels);
    text_str(d->arena, ready, "ImageId", x->id);
    dlc_thing_put(d, &image, x->id, entry, spec, ready);
}

/* [{Key, Value}] as {k: v}; NULL: answered. */
static struct text_node *read_labels(struct dlc_call *d, const struct text_node *was)
{
    const struct text_node *list = dlc_list(d->body, "Labels");
    struct text_node *out = text_map(d->arena, NULL, NULL);
    for (const struct text_node *one = was ? was->first : NULL; one; one = one->next) {
        bool said = false;
        for (const struct text_node *l = list ? list->first : NULL; l; l = l->next)
            said = said || (dlc_text(l, "Key") && strcmp(dlc_text(l, "Key"), one->key) == 0);
        if (!said)
            text_copy(d->arena, out, one->key, one);
    }
    for (const struct text_node *l = list ? list->first : NULL; l; l = l->next) {
        const char *key = dlc_text(l, "Key"), *value = dlc_text(l, "Value");
        if (!key || text_get(out, key)) {
            dlc_fail(d, 400, "InvalidParameter", "Labels is a list of {Key, Value}, each key once");
            return NULL;
        }
        text_str(d->arena, out, key, value ? value : "");
    }
    return out;
}

void dlc_image_add(struct dlc_call *d)
{
    static const char *const kept[] = { "Name",        "Accessibility", "Size",
                                        "WorkspaceId", "SourceType",    "SourceId" };
    const char *name, *uri, *id = dlc_text(d->body, "ImageId");
    const char *space = dlc_text(d->body, "WorkspaceId");
    if (!dlc_need(d, "Name", &name) || !dlc_need(d, "ImageUri", &uri) ||
        (space && !dlc_space_there(d, space)))
        return;
    size_t len = strlen(name);
    if (len > 50 || name[0] < 'a' || name[0] > 'z' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != len) {
        dlc_fail(d, 400, "InvalidParameter",
                 "Name is \"%.60s\"; 1 to 50 of a-z, 0-9 and -, a letter first", name);
        return;
    }
    id = id ? id : dlc_new_id(d->arena, "image-", 18);
    if (dlc_entry(d, ENTRY_IMAGE, id)) {
        dlc_fail(d, 409, "Conflict", "there is an image \"%.60s\"", id);
        return;
    }
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        dlc_copy(d->arena, spec, d->body, kept[i]);
    const struct text_node *labels = read_labels(d, NULL);
    if (labels)
        put_image(d, &(struct dlc_object){ .id = id }, spec, labels);
}

void dlc_image_remove(struct dlc_call *d)
{
    struct dlc_object x;
    if (dlc_thing_find(d, &image, &x))
        dlc_thing_remove(d, &image, x.id, NULL);
}

void dlc_image_publish(struct dlc_call *d)
{
    struct text_node *spec = text_map(d->arena, NULL, NULL), *ready = dlc_map(d);
    struct dlc_object x;
    if (!dlc_thing_find(d, &image, &x))
        return;
    if (!x.owner && !dlc_is_admin(d)) {
        dlc_fail(d, 403, "Forbidden.RAM", "image \"%.60s\" is the server's", x.id);
        return;
    }
    for (const struct text_node *one = x.spec->first; one; one = one->next)
        if (strcmp(one->key, "Accessibility") != 0)
            text_copy(d->arena, spec, one->key, one);
    text_str(d->arena, spec, "Accessibility", "PUBLIC");
    text_str(d->arena, ready, "ImageId", x.id);
    struct document object = { image.document, "", x.id, spec };
    dlc_store(d, &object, false, ready);
}

/* ---- labels ---- */

void dlc_image_label_add(struct dlc_call *d)
{
    struct dlc_object x;
    if (!dlc_thing_find(d, &image, &x))
        return;
    if (!dlc_list(d->body, "Labels")) {
        dlc_missing(d, "Labels");
        return;
    }
    const struct text_node *labels = read_labels(d, labels_of(d->arena, x.entry));
    if (labels)
        put_image(d, &x, x.spec, labels);
}

void dlc_image_label_remove(struct dlc_call *d)
{
    struct text_node *labels = text_map(d->arena, NULL, NULL);
    struct dlc_object x;
    if (!dlc_thing_find(d, &image, &x))
        return;
    const struct pairs *was = &x.entry->labels;
    for (size_t i = 0; i < was->n; i++)
        if (!dlc_in_list(d->param[1], was->at[i].name))
            text_str(d->arena, labels, was->at[i].name, was->at[i].value);
    put_image(d, &x, x.spec, labels);
}

void dlc_image_labels_all(struct dlc_call *d)
{
    const char *id = dlc_query(d, "ImageId"), *keys = dlc_query(d, "LabelKeys");
    const char *filter = dlc_query(d, "LabelFilter"), *space = dlc_query(d, "WorkspaceId");
    struct text_node *seen = text_map(d->arena, NULL, NULL), *out = dlc_map(d);
    struct text_node *list = text_list(d->arena, out, "Labels");
    size_t n;
    const struct dlc_object *all = dlc_things(d, &image, &n);
    for (size_t i = 0; i < n; i++) {
        const struct pairs *labels = &all[i].entry->labels;
        if ((id && strcmp(id, all[i].id) != 0) || !dlc_thing_within(&all[i], space) ||
            !labelled(d->arena, labels, filter))
            continue;
        for (size_t k = 0; k < labels->n; k++) {
            const struct pair *l = &labels->at[k];
            const char *pair = arena_printf(d->arena, "%s=%s", l->name, l->value);
            if (text_get(seen, pair) || (keys && !dlc_in_list(keys, l->name)))
                continue;
            text_bool(d->arena, seen, pair, true);
            struct text_node *label = text_map(d->arena, list, NULL);
            text_str(d->arena, label, "Key", l->name);
            text_str(d->arena, label, "Value", l->value);
        }
    }
    text_int(d->arena, out, "TotalCount", (int64_t)list->count);
    dlc_ok(d, out);
}
