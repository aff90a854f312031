/* Images: entries of the catalogue with an address and labels. */
#include "api/dlc/op.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

#define KIND "dlc.image"

static bool visible(const struct dlc_call *d, const struct text_node *entry,
                    const struct text_node *spec)
{
    const char *owner = dlc_text(entry, "owner"), *access = dlc_text(spec, "Accessibility");
    return !owner || dlc_is_admin(d) || strcmp(owner, d->call->owner) == 0 ||
           (access && strcasecmp(access, "PUBLIC") == 0);
}

/* "a=b,c=d e": all of them. */
static bool labelled(struct arena *a, const struct text_node *labels, const char *wanted)
{
    for (const char *at = wanted; at && *at; at += strcspn(at, ","), at += *at == ',') {
        const char *pair = arena_strndup(a, at, strcspn(at, ",")), *eq = strchr(pair, '=');
        const char *key = eq ? arena_strndup(a, pair, (size_t)(eq - pair)) : pair;
        const char *is = labels ? dlc_text(labels, key) : NULL;
        if (!is || (eq && strcmp(is, eq + 1) != 0))
            return false;
    }
    return true;
}

static void put_image(struct dlc_call *d, struct text_node *out, const struct text_node *entry,
                      bool verbose)
{
    struct arena *a = d->arena;
    const char *id = dlc_text(entry, "name"), *about = dlc_text(entry, "description");
    const char *owner = dlc_text(entry, "owner");
    const struct text_node *row = dlc_object(d, KIND, "", id), *spec = dlc_spec(row);
    const char *name = dlc_text(spec, "Name"), *access = dlc_text(spec, "Accessibility");
    text_str(a, out, "ImageId", id);
    text_str(a, out, "Name", name ? name : id);
    text_str(a, out, "ImageUri", dlc_text(entry, "uri"));
    text_str(a, out, "Description", about ? about : "");
    text_str(a, out, "Accessibility", access ? access : owner ? "PRIVATE" : "PUBLIC");
    const char *size = dlc_text(spec, "Size");
    text_str(a, out, "WorkspaceId", dlc_workspace(dlc_text(spec, "WorkspaceId")));
    text_str(a, out, "UserId", owner ? owner : "");
    text_str(a, out, "ParentUserId", "");
    if (size)
        dlc_copy(a, out, spec, "Size");
    if (row) {
        text_str(a, out, "GmtCreateTime", facade_time_ms(a, dlc_when(row, "created_ms")));
        text_str(a, out, "GmtModifiedTime", facade_time_ms(a, dlc_when(row, "changed_ms")));
    }
    if (verbose)
        dlc_labels(a, out, text_get(entry, "labels"));
}

void dlc_image_list(struct dlc_call *d)
{
    const char *labels = dlc_query(d, "Labels"), *name = dlc_query(d, "Name");
    const char *query = dlc_query(d, "Query"), *user = dlc_query(d, "UserId");
    const char *access = dlc_query(d, "Accessibility");
    bool ascending, verbose = dlc_query_flag(d, "Verbose", false);
    struct facade_page page;
    uint64_t at = 0;
    if (!dlc_page(d, 20, &page) || !dlc_order(d, true, &ascending))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Images");
    const struct text_node *all = dlc_entries(d, ENTRY_IMAGE);
    for (const struct text_node *one = all->first; one; one = one->next) {
        struct text_node *shown = text_map(d->arena, NULL, NULL);
        if (!visible(d, one, dlc_spec(dlc_object(d, KIND, "", dlc_text(one, "name")))) ||
            !labelled(d->arena, text_get(one, "labels"), labels))
            continue;
        put_image(d, shown, one, verbose);
        const char *is = dlc_text(shown, "Name"), *about = dlc_text(shown, "Description");
        if ((name && !dlc_within(name, is)) ||
            (query && !dlc_within(query, is) && (!about || !dlc_within(query, about))) ||
            (user && strcmp(text_get(shown, "UserId")->str, user) != 0) ||
            (access && strcasecmp(dlc_text(shown, "Accessibility"), access) != 0))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            text_copy(d->arena, list, NULL, shown);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    dlc_ok(d, out);
}

static const struct text_node *image(struct dlc_call *d)
{
    const struct text_node *entry = dlc_entry(d, ENTRY_IMAGE, d->param[0]);
    if (entry && visible(d, entry, dlc_spec(dlc_object(d, KIND, "", d->param[0]))))
        return entry;
    dlc_fail(d, 404, "NotFound", "no image \"%.100s\"", d->param[0]);
    return NULL;
}

void dlc_image_get(struct dlc_call *d)
{
    struct text_node *out = dlc_map(d);
    const struct text_node *entry = image(d);
    if (!entry)
        return;
    put_image(d, out, entry, dlc_query_flag(d, "Verbose", true));
    dlc_ok(d, out);
}

/* ---- change ---- */

static void put_entry(struct dlc_call *d, const char *id, const struct text_node *spec,
                      const struct text_node *labels, const char *const said[2])
{
    struct text_node *entry = text_map(d->arena, NULL, NULL), *ready = dlc_map(d);
    struct ctl_object *object = ARENA_NEW(d->arena, struct ctl_object);
    text_str(d->arena, entry, "kind", "image");
    text_str(d->arena, entry, "name", id);
    text_str(d->arena, entry, "uri", said[0]);
    dlc_put(d->arena, entry, "description", said[1]);
    const struct text_node *was = dlc_entry(d, ENTRY_IMAGE, id);
    dlc_put(d->arena, entry, "owner", was ? dlc_text(was, "owner") : d->call->owner);
    if (labels && labels->count)
        text_copy(d->arena, entry, "labels", labels);
    *object = (struct ctl_object){ KIND, "", id, spec };
    text_str(d->arena, ready, "ImageId", id);
    dlc_change(d, &(struct dlc_change){ .kind = ENTRY_IMAGE,
                                        .name = id,
                                        .entry = entry,
                                        .objects = object,
                                        .n_objects = 1,
                                        .ready = ready });
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
    static const char *const kept[] = { "Name", "Accessibility", "Size", "WorkspaceId" };
    const char *name, *uri, *id = dlc_text(d->body, "ImageId");
    if (!dlc_need(d, "Name", &name) || !dlc_need(d, "ImageUri", &uri))
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
        put_entry(d, id, spec, labels, (const char *[]){ uri, dlc_text(d->body, "Description") });
}

void dlc_image_remove(struct dlc_call *d)
{
    struct ctl_object *gone = ARENA_NEW(d->arena, struct ctl_object);
    if (!image(d))
        return;
    *gone = (struct ctl_object){ KIND, "", d->param[0], NULL };
    dlc_change(d, &(struct dlc_change){
                      .kind = ENTRY_IMAGE, .name = d->param[0], .objects = gone, .n_objects = 1 });
}

void dlc_image_publish(struct dlc_call *d)
{
    const struct text_node *row = dlc_object(d, KIND, "", d->param[0]);
    struct text_node *spec = text_map(d->arena, NULL, NULL), *ready = dlc_map(d);
    const struct text_node *entry = image(d);
    if (!entry)
        return;
    if (!dlc_text(entry, "owner") && !dlc_is_admin(d)) {
        dlc_fail(d, 403, "Forbidden.RAM", "image \"%.60s\" is the server's", d->param[0]);
        return;
    }
    for (const struct text_node *one = dlc_spec(row)->first; one; one = one->next)
        if (strcmp(one->key, "Accessibility") != 0)
            text_copy(d->arena, spec, one->key, one);
    text_str(d->arena, spec, "Accessibility", "PUBLIC");
    text_str(d->arena, ready, "ImageId", d->param[0]);
    struct ctl_object object = { KIND, "", d->param[0], spec };
    dlc_store(d, &object, false, ready);
}

/* ---- labels ---- */

static void relabel(struct dlc_call *d, const struct text_node *entry,
                    const struct text_node *labels)
{
    const struct text_node *row = dlc_object(d, KIND, "", d->param[0]);
    put_entry(d, d->param[0], dlc_spec(row), labels,
              (const char *[]){ dlc_text(entry, "uri"), dlc_text(entry, "description") });
}

void dlc_image_label_add(struct dlc_call *d)
{
    const struct text_node *entry = image(d);
    if (!entry)
        return;
    if (!dlc_list(d->body, "Labels")) {
        dlc_missing(d, "Labels");
        return;
    }
    const struct text_node *labels = read_labels(d, text_get(entry, "labels"));
    if (labels)
        relabel(d, entry, labels);
}

void dlc_image_label_remove(struct dlc_call *d)
{
    struct text_node *labels = text_map(d->arena, NULL, NULL);
    const struct text_node *entry = image(d);
    const struct text_node *was = entry ? text_get(entry, "labels") : NULL;
    if (!entry)
        return;
    for (const struct text_node *one = was ? was->first : NULL; one; one = one->next)
        if (!dlc_in_list(d->param[1], one->key))
            text_copy(d->arena, labels, one->key, one);
    relabel(d, entry, labels);
}

void dlc_image_labels_all(struct dlc_call *d)
{
    const char *id = dlc_query(d, "ImageId"), *keys = dlc_query(d, "LabelKeys");
    const char *filter = dlc_query(d, "LabelFilter");
    struct text_node *seen = text_map(d->arena, NULL, NULL), *out = dlc_map(d);
    struct text_node *list = text_list(d->arena, out, "Labels");
    const struct text_node *all = dlc_entries(d, ENTRY_IMAGE);
    for (const struct text_node *one = all->first; one; one = one->next) {
        const struct text_node *labels = text_get(one, "labels");
        const char *name = dlc_text(one, "name");
        if (!visible(d, one, dlc_spec(dlc_object(d, KIND, "", name))) ||
            (id && strcmp(id, name) != 0) || !labelled(d->arena, labels, filter))
            continue;
        for (const struct text_node *l = labels ? labels->first : NULL; l; l = l->next) {
            const char *pair = arena_printf(d->arena, "%s=%s", l->key, l->str);
            if (text_get(seen, pair) || (keys && !dlc_in_list(keys, l->key)))
                continue;
            text_bool(d->arena, seen, pair, true);
            struct text_node *label = text_map(d->arena, list, NULL);
            text_str(d->arena, label, "Key", l->key);
            text_str(d->arena, label, "Value", l->str);
        }
    }
    text_int(d->arena, out, "TotalCount", (int64_t)list->count);
    dlc_ok(d, out);
}
