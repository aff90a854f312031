/* Data sets with their versions: entries of the catalogue (`dataset:ID`, `dataset:ID:v2`), and what
 * only these clients say of them in a document beside.
 *
 * Options.mountPath is where tasks find the data. A data set that the server's user declared has no
 * document: its name is its id, and everybody sees it. */
#include "api/dlc/documents.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <string.h>

#define OPTIONS_MAX 65536

static const struct dlc_kind dataset = { ENTRY_DATASET, "dlc.dataset", true };
static const struct dlc_list_type listed = { .key = "Datasets",
                                             .size = 10,
                                             .sorts = { "GmtCreateTime", "GmtModifiedTime", "Name",
                                                        "DatasetId" } };
static const struct dlc_list_type listed_versions = {
    .key = "DatasetVersions",
    .size = 10,
    .numbered = true,
    .sorts = { "GmtCreateTime", "GmtModifiedTime", "SourceType", "DataSourceType", "Property",
               "DataSize", "DataCount" }
};

static const char *const fields[] = {
    "Name",         "Property",      "DataSourceType",  "DataType",
    "SourceType",   "SourceId",      "Options",         "Description",
    "ProviderType", "Accessibility", "Labels",          "Provider",
    "DataCount",    "DataSize",      "SourceDatasetId", "SourceDatasetVersion",
};
static const char *const defaults[][2] = { { "DataType", "COMMON" },
                                           { "SourceType", "USER" },
                                           { "ProviderType", "Ecs" },
                                           { "Property", "DIRECTORY" },
                                           { "DataSourceType", "NAS" } };
static const char *const first_version[] = { "DataCount", "DataSize" };

/* ---- shown ---- */

static const char *options_of(struct dlc_call *d, const struct dlc_object *x)
{
    const char *options = dlc_text(x->spec, "Options"), *path = x->entry->path;
    AUTO_BUF struct buf text = BUF_INIT(OPTIONS_MAX);
    if (options || !path || !*path)
        return options ? options : "";
    struct text_node *map = dlc_map(d);
    text_str(d->arena, map, "mountPath", path);
    json_print(map, 0, &text);
    return arena_strdup(d->arena, buf_str(&text));
}

static uint64_t newest_version(const struct text_node *list)
{
    uint64_t newest = 1, n = 0;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (scan_u64(dlc_text(one, "VersionName") + 1, 1, UINT32_MAX, &n) && n > newest)
            newest = n;
    return newest;
}

static struct text_node *shown(struct dlc_call *d, const struct dlc_object *x)
{
    static const char *const same[] = { "SourceId", "Provider", "SourceDatasetId",
                                        "SourceDatasetVersion" };
    struct arena *a = d->arena;
    struct text_node *out = dlc_map(d);
    const char *name = dlc_text(x->spec, "Name"), *about = x->entry->description;
    text_str(a, out, "DatasetId", x->id);
    text_str(a, out, "Name", name ? name : x->id);
    text_str(a, out, "Uri", x->entry->uri);
    text_str(a, out, "Options", options_of(d, x));
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        const char *said = dlc_text(x->spec, defaults[i][0]);
        text_str(a, out, defaults[i][0], said ? said : defaults[i][1]);
    }
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        dlc_copy(a, out, x->spec, same[i]);
    text_str(a, out, "Edition", "BASIC");
    text_str(a, out, "Description", about ? about : "");
    dlc_labels(a, out, text_get(x->spec, "Labels"));
    dlc_thing_common(d, out, x, "GmtModifiedTime");
    text_str(a, out, "OwnerId", x->owner ? x->owner : "");
    text_str(a, out, "MountAccess", x->entry->read_only ? "RO" : "RW");
    return out;
}

void dlc_data_get(struct dlc_call *d)
{
    struct dlc_object x;
    if (!dlc_thing_find(d, &dataset, &x))
        return;
    struct text_node *out = shown(d, &x), *latest = text_map(d->arena, out, "LatestVersion");
    text_str(d->arena, latest, "VersionName",
             arena_printf(d->arena, "v%llu",
                          (unsigned long long)newest_version(text_get(x.spec, "Versions"))));
    dlc_ok(d, out);
}

/* Is the member one of the words that the query lists by commas? */
static bool one_of(struct dlc_call *d, const char *query, const struct text_node *out,
                   const char *member)
{
    const char *list = dlc_query(d, query), *is = dlc_text(out, member);
    return !list || (is && dlc_in_list(list, is));
}

static bool same(struct dlc_call *d, const char *query, const struct text_node *out)
{
    const char *wanted = dlc_query(d, query), *is = dlc_text(out, query);
    return !wanted || (is && strcmp(is, wanted) == 0);
}

/* Is it part of the key or of the value of a label? */
static bool labelled(const struct text_node *out, const char *key, const char *value)
{
    const struct text_node *labels = text_get(out, "Labels");
    if (!key && !value)
        return true;
    for (const struct text_node *l = labels ? labels->first : NULL; l; l = l->next)
        if ((key && dlc_within(key, dlc_text(l, "Key"))) ||
            (value && dlc_within(value, dlc_text(l, "Value"))))
            return true;
    return false;
}

static bool wanted(struct dlc_call *d, const struct dlc_object *x, const struct text_node *out)
{
    const char *space = dlc_query(d, "WorkspaceId"), *name = dlc_query(d, "Name");
    const char *label = dlc_query(d, "Label");
    return dlc_thing_within(x, space ? space : dlc_default_space(d)) &&
           labelled(out, label, label) && (!name || dlc_within(name, dlc_text(out, "Name"))) &&
           same(d, "SourceId", out) && same(d, "Provider", out) && same(d, "Accessibility", out) &&
           same(d, "Edition", out) && same(d, "SourceDatasetId", out) &&
           one_of(d, "DatasetIds", out, "DatasetId") && one_of(d, "Properties", out, "Property") &&
           one_of(d, "DataSourceTypes", out, "DataSourceType") &&
           one_of(d, "DataTypes", out, "DataType") && one_of(d, "SourceTypes", out, "SourceType");
}

void dlc_data_list(struct dlc_call *d)
{
    struct dlc_listing l;
    size_t n;
    if (!dlc_listing_begin(&l, d, &listed))
        return;
    const struct dlc_object *all = dlc_things(d, &dataset, &n);
    for (size_t i = 0; i < n; i++) {
        const struct text_node *one = shown(d, &all[i]);
        if (wanted(d, &all[i], one))
            dlc_listing_add(&l, one, all[i].row);
    }
    dlc_ok(d, dlc_listing_end(&l));
}

/* ---- change ---- */

/* "mountPath" of Options; false: answered. *path NULL: none is said. */
static bool mount_path(struct dlc_call *d, const char *options, const char **path)
{
    const struct text_node *root = dlc_parse(d->arena, options);
    const char *at = root ? dlc_text(root, "mountPath") : NULL;
    *path = at;
    if (!options || (root && (!at || *at == '/')))
        return true;
    dlc_fail(d, 400, "InvalidParameter",
             "Options is not the JSON text of an object with an absolute mountPath");
    return false;
}

static bool good_name(struct dlc_call *d, const char *name)
{
    size_t len = strlen(name);
    bool good = len <= 127 * 3 && name[0] != '_' && name[0] != '-';
    for (const char *c = name; *c; c++)
        good = good && ((unsigned char)*c >= 0x80 || strchr("_-", *c) || (*c >= '0' && *c <= '9') ||
                        ((*c | 32) >= 'a' && (*c | 32) <= 'z'));
    if (!good)
        dlc_fail(d, 400, "InvalidParameter",
                 "Name is \"%.60s\"; letters, digits, _ and -, one of the first two in front",
                 name);
    return good;
}

/* Where CreateJob would not find it; false: answered. A directory may still be made. */
static bool good_uri(struct dlc_call *d, const char *uri)
{
    struct err err = { 0 };
    const char *dir = NULL;
    if (*uri != '/' && !strstr(uri, "://"))
        dlc_fail(d, 400, "InvalidParameter", "Uri is \"%.80s\", which has no scheme", uri);
    else if (!(dir = ctl_storage_dir(d->ctl, d->arena, uri, &err)))
        dlc_fail(d, 400, "InvalidParameter", "Uri: %s", err.what);
    else if (access(dir, R_OK) != 0)
        dlc_note(d, "Uri is %.200s, which is not there yet: jobs that mount it are refused", uri);
    return dir != NULL;
}

struct writing {
    const char *id, *uri, *path, *about, *owner;
    const struct text_node *spec; /* of the document of the data set `of` */
    const char *of;
    bool read_only;
    struct text_node *ready;
};

static void put_entry(struct dlc_call *d, const struct writing *w)
{
    struct text_node *entry = dlc_map(d);
    struct document *object = ARENA_NEW(d->arena, struct document);
    text_str(d->arena, entry, "kind", entry_word(ENTRY_DATASET));
    text_str(d->arena, entry, "name", w->id);
    text_str(d->arena, entry, "uri", w->uri);
    dlc_put(d->arena, entry, "path", w->path);
    dlc_put(d->arena, entry, "description", w->about);
    dlc_put(d->arena, entry, "owner", w->owner);
    if (w->read_only)
        text_bool(d->arena, entry, "read_only", true);
    *object = (struct document){ dataset.document, "", w->of, w->spec };
    dlc_change(d, &(struct dlc_change){ .kind = ENTRY_DATASET,
                                        .name = w->id,
                                        .entry = entry,
                                        .objects = object,
                                        .n_objects = 1,
                                        .ready = w->ready });
}

void dlc_data_create(struct dlc_call *d)
{
    const char *name, *property, *type, *path, *space = dlc_text(d->body, "WorkspaceId");
    struct writing w = { .id = dlc_new_id(d->arena, "d-", 18),
                         .owner = d->call->owner,
                         .ready = dlc_map(d) };
    if (!dlc_need(d, "Name", &name) || !good_name(d, name) || !dlc_need(d, "Property", &property) ||
        !dlc_need(d, "DataSourceType", &type) || !dlc_need(d, "Uri", &w.uri) ||
        !mount_path(d, dlc_text(d->body, "Options"), &path) || !good_uri(d, w.uri) ||
        (space && !dlc_space_there(d, space)))
        return;
    struct text_node *spec = dlc_map(d);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        dlc_copy(d->arena, spec, d->body, fields[i]);
    text_str(d->arena, spec, "WorkspaceId", space ? space : dlc_default_space(d));
    const char *access = dlc_text(d->body, "MountAccess");
    w.path = path;
    w.about = dlc_text(d->body, "Description");
    w.spec = spec;
    w.of = w.id;
    w.read_only = access && strcmp(access, "RO") == 0;
    text_str(d->arena, w.ready, "DatasetId", w.id);
    put_entry(d, &w);
}

/* What the document says, without some keys, which are `over`'s where it has them. */
static struct text_node *with(struct dlc_call *d, const struct text_node *was,
                              const struct text_node *over, const char *const *keys, size_t n)
{
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    for (const struct text_node *one = was->first; one; one = one->next) {
        bool said = false;
        for (size_t i = 0; i < n; i++)
            said = said || (strcmp(keys[i], one->key) == 0 && text_get(over, keys[i]));
        if (!said)
            text_copy(d->arena, spec, one->key, one);
    }
    for (size_t i = 0; i < n; i++)
        dlc_copy(d->arena, spec, over, keys[i]);
    return spec;
}

static void rewrite(struct dlc_call *d, const struct dlc_object *x, const struct text_node *spec,
                    struct text_node *ready)
{
    const char *about = dlc_text(d->body, "Description"), *path;
    if (!mount_path(d, dlc_text(spec, "Options"), &path))
        return;
    struct writing w = { .id = x->id,
                         .uri = x->entry->uri,
                         .path = path ? path : x->entry->path,
                         .about = about ? about : x->entry->description,
                         .owner = x->owner,
                         .spec = spec,
                         .of = x->id,
                         .read_only = x->entry->read_only,
                         .ready = ready };
    put_entry(d, &w);
}

void dlc_data_update(struct dlc_call *d)
{
    static const char *const keys[] = { "Name", "Description", "Options", "Accessibility" };
    struct dlc_object x;
    const char *name = dlc_text(d->body, "Name");
    if (dlc_thing_find(d, &dataset, &x) && (!name || good_name(d, name)))
        rewrite(d, &x, with(d, x.spec, d->body, keys, ARRAY_LEN(keys)), NULL);
}

void dlc_data_publish(struct dlc_call *d)
{
    static const char *const keys[] = { "Accessibility" };
    struct text_node *over = text_map(d->arena, NULL, NULL), *ready = dlc_map(d);
    struct dlc_object x;
    text_str(d->arena, over, "Accessibility", "PUBLIC");
    text_str(d->arena, ready, "DatasetId", d->param[0]);
    if (dlc_thing_find(d, &dataset, &x))
        rewrite(d, &x, with(d, x.spec, over, keys, 1), ready);
}

/* Its versions are entries of their own, which go first, one after the other. */
static void delete_next(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    const struct dlc_object *x = d->more;
    const struct text_node *list = text_get(x->spec, "Versions"), *one = list ? list->first : NULL;
    if (answer && !dlc_done(d, answer))
        return;
    for (unsigned i = 0; one && i < d->round; i++)
        one = one->next;
    d->round++;
    if (one) {
        const char *id = arena_printf(d->arena, "%s:%s", d->param[0], dlc_text(one, "VersionName"));
        ctl_undeclare(d->ctl, d->call->owner, ENTRY_DATASET, id, delete_next, d);
        return;
    }
    dlc_thing_remove(d, &dataset, d->param[0], NULL);
}

void dlc_data_delete(struct dlc_call *d)
{
    struct dlc_object *x = ARENA_NEW(d->arena, struct dlc_object);
    if (!dlc_thing_find(d, &dataset, x))
        return;
    d->more = x;
    call_keep(d->call);
    delete_next(d, NULL);
}

/* ---- labels ---- */

static void relabel(struct dlc_call *d, const struct dlc_object *x, const struct text_node *labels)
{
    static const char *const keys[] = { "Labels" };
    struct text_node *over = text_map(d->arena, NULL, NULL);
    text_copy(d->arena, over, "Labels", labels);
    d->body = text_map(d->arena, NULL, NULL);
    rewrite(d, x, with(d, x->spec, over, keys, 1), NULL);
}

static struct text_node *labels_without(struct dlc_call *d, const struct dlc_object *x,
                                        const struct text_node *said, const char *keys)
{
    struct text_node *out = text_list(d->arena, NULL, NULL);
    const struct text_node *was = text_get(x->spec, "Labels");
    for (const struct text_node *one = was ? was->first : NULL; one; one = one->next) {
        const char *key = dlc_text(one, "Key");
        bool gone = key && keys && dlc_in_list(keys, key);
        for (const struct text_node *l = said ? said->first : NULL; key && l; l = l->next)
            gone = gone || (dlc_text(l, "Key") && strcmp(dlc_text(l, "Key"), key) == 0);
        if (!gone)
            text_copy(d->arena, out, NULL, one);
    }
    return out;
}

void dlc_data_label_add(struct dlc_call *d)
{
    const struct text_node *said = dlc_list(d->body, "Labels");
    struct dlc_object x;
    if (!dlc_thing_find(d, &dataset, &x))
        return;
    if (!said) {
        dlc_missing(d, "Labels");
        return;
    }
    struct text_node *labels = labels_without(d, &x, said, NULL);
    for (const struct text_node *one = said->first; one; one = one->next)
        text_copy(d->arena, labels, NULL, one);
    relabel(d, &x, labels);
}

void dlc_data_label_remove(struct dlc_call *d)
{
    const char *keys = dlc_query(d, "LabelKeys");
    struct dlc_object x;
    if (!dlc_thing_find(d, &dataset, &x))
        return;
    if (keys)
        relabel(d, &x, labels_without(d, &x, NULL, keys));
    else
        dlc_missing(d, "LabelKeys");
}

/* ---- versions: v1 is the data set itself ---- */

static const char *const version_fields[] = {
    "Property", "DataSourceType", "SourceType", "SourceId",  "Options",
    "Uri",      "Description",    "Labels",     "DataCount", "DataSize",
};

static struct text_node *shown_version(struct dlc_call *d, const struct dlc_object *x,
                                       const struct text_node *version)
{
    struct text_node *out = dlc_map(d), *first = shown(d, x);
    for (size_t i = 0; i < ARRAY_LEN(first_version); i++)
        dlc_copy(d->arena, first, x->spec, first_version[i]);
    text_str(d->arena, out, "VersionName", version ? dlc_text(version, "VersionName") : "v1");
    text_str(d->arena, out, "DatasetId", x->id);
    for (size_t i = 0; i < ARRAY_LEN(version_fields); i++)
        dlc_copy(d->arena, out, version && text_get(version, version_fields[i]) ? version : first,
                 version_fields[i]);
    dlc_copy(d->arena, out, version ? version : first, "GmtCreateTime");
    dlc_copy(d->arena, out, version ? version : first, "GmtModifiedTime");
    return out;
}

static const struct text_node *version_of(const struct dlc_object *x, const char *name)
{
    const struct text_node *list = text_get(x->spec, "Versions");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (strcmp(dlc_text(one, "VersionName"), name) == 0)
            return one;
    return NULL;
}

static bool find_version(struct dlc_call *d, struct dlc_object *x, const struct text_node **version)
{
    if (!dlc_thing_find(d, &dataset, x))
        return false;
    *version = version_of(x, d->param[1]);
    if (*version || strcmp(d->param[1], "v1") == 0)
        return true;
    dlc_fail(d, 404, "NotFound", "data set \"%.60s\" has no version \"%.60s\"", x->id, d->param[1]);
    return false;
}

void dlc_version_get(struct dlc_call *d)
{
    const struct text_node *version;
    struct dlc_object x;
    if (find_version(d, &x, &version))
        dlc_ok(d, shown_version(d, &x, version));
}

static void list_version(struct dlc_listing *l, const struct dlc_object *x,
                         const struct text_node *version)
{
    struct dlc_call *d = l->d;
    const struct text_node *one = shown_version(d, x, version);
    if (labelled(one, dlc_query(d, "LabelKeys"), dlc_query(d, "LabelValues")) &&
        same(d, "SourceId", one) && one_of(d, "Properties", one, "Property") &&
        one_of(d, "SourceTypes", one, "SourceType"))
        dlc_listing_add(l, one, NULL);
}

void dlc_version_list(struct dlc_call *d)
{
    struct dlc_listing l;
    struct dlc_object x;
    if (!dlc_thing_find(d, &dataset, &x) || !dlc_listing_begin(&l, d, &listed_versions))
        return;
    const struct text_node *versions = text_get(x.spec, "Versions");
    list_version(&l, &x, NULL);
    for (const struct text_node *one = versions ? versions->first : NULL; one; one = one->next)
        list_version(&l, &x, one);
    dlc_ok(d, dlc_listing_end(&l));
}

/* The document with its list of versions changed: one left out, one added. */
static struct text_node *versions_with(struct dlc_call *d, const struct dlc_object *x,
                                       const char *without, const struct text_node *added)
{
    static const char *const keys[] = { "Versions" };
    struct text_node *over = text_map(d->arena, NULL, NULL);
    struct text_node *list = text_list(d->arena, over, "Versions");
    const struct text_node *was = text_get(x->spec, "Versions");
    for (const struct text_node *one = was ? was->first : NULL; one; one = one->next)
        if (!without || strcmp(dlc_text(one, "VersionName"), without) != 0)
            text_copy(d->arena, list, NULL, one);
    if (added)
        text_copy(d->arena, list, NULL, added);
    return with(d, x->spec, over, keys, 1);
}

static void write_version(struct dlc_call *d, const struct dlc_object *x, struct text_node *version,
                          const char *without)
{
    const char *name = dlc_text(version, "VersionName"), *path;
    struct writing w = { .id = arena_printf(d->arena, "%s:%s", x->id, name),
                         .uri = dlc_text(version, "Uri"),
                         .about = dlc_text(version, "Description"),
                         .owner = x->owner,
                         .of = x->id,
                         .read_only = x->entry->read_only,
                         .ready = dlc_map(d) };
    if (!mount_path(d, dlc_text(version, "Options"), &path))
        return;
    w.path = path ? path : x->entry->path;
    w.spec = versions_with(d, x, without, version);
    text_str(d->arena, w.ready, "VersionName", name);
    put_entry(d, &w);
}

void dlc_version_create(struct dlc_call *d)
{
    struct dlc_object x;
    const char *uri;
    if (!dlc_thing_find(d, &dataset, &x) || !dlc_need(d, "Uri", &uri) || !good_uri(d, uri))
        return;
    struct text_node *version = text_map(d->arena, NULL, NULL);
    const char *now = facade_time_ms(d->arena, d->now_ms);
    text_str(d->arena, version, "VersionName",
             arena_printf(d->arena, "v%llu",
                          (unsigned long long)newest_version(text_get(x.spec, "Versions")) + 1));
    for (size_t i = 0; i < ARRAY_LEN(version_fields); i++)
        dlc_copy(d->arena, version, d->body, version_fields[i]);
    text_str(d->arena, version, "GmtCreateTime", now);
    text_str(d->arena, version, "GmtModifiedTime", now);
    write_version(d, &x, version, NULL);
}

void dlc_version_update(struct dlc_call *d)
{
    static const char *const keys[] = { "Description", "Options", "DataCount", "DataSize" };
    static const char *const version_keys[] = { "Description", "Options", "DataCount", "DataSize",
                                                "GmtModifiedTime" };
    const struct text_node *was;
    struct dlc_object x;
    if (!find_version(d, &x, &was))
        return;
    if (!was) { /* v1 */
        rewrite(d, &x, with(d, x.spec, d->body, keys, ARRAY_LEN(keys)), NULL);
        return;
    }
    struct text_node *over = text_copy(d->arena, NULL, NULL, d->body);
    text_str(d->arena, over, "GmtModifiedTime", facade_time_ms(d->arena, d->now_ms));
    write_version(d, &x, with(d, was, over, version_keys, ARRAY_LEN(version_keys)), d->param[1]);
}

void dlc_version_delete(struct dlc_call *d)
{
    const struct text_node *version;
    struct document *object = ARENA_NEW(d->arena, struct document);
    struct dlc_object x;
    if (!find_version(d, &x, &version))
        return;
    if (!version) {
        dlc_fail(d, 400, "BadRequest", "v1 is the data set itself: DeleteDataset removes all");
        return;
    }
    *object =
        (struct document){ dataset.document, "", x.id, versions_with(d, &x, d->param[1], NULL) };
    dlc_change(d, &(struct dlc_change){ .kind = ENTRY_DATASET,
                                        .name = arena_printf(d->arena, "%s:%s", x.id, d->param[1]),
                                        .objects = object,
                                        .n_objects = 1 });
}
