/* Data sets with their versions: entries of the catalogue (`dataset:ID`, `dataset:ID:v2`), and what
 * only these clients say of them in a document beside.
 *
 * Options.mountPath is where tasks find the data. A data set that the server's user declared has no
 * document: its name is its id, and everybody sees it. */
#include "api/dlc/op.h"

#include "base/mem.h"
#include "base/scan.h"
#include "text/json.h"

#include <string.h>
#include <strings.h>

#define KIND "dlc.dataset"

static const char *const fields[] = { "Name",         "Property",      "DataSourceType",
                                      "DataType",     "SourceType",    "SourceId",
                                      "Options",      "Description",   "WorkspaceId",
                                      "ProviderType", "Accessibility", "Labels" };
static const char *const defaults[][2] = {
    { "DataType", "COMMON" },  { "SourceType", "USER" },    { "Accessibility", "PRIVATE" },
    { "ProviderType", "Ecs" }, { "Property", "DIRECTORY" }, { "DataSourceType", "NAS" }
};

/* ---- which ---- */

struct data {
    const char *id;
    const struct text_node *entry, *row, *spec;
};

static bool visible(const struct dlc_call *d, const struct data *x)
{
    const char *owner = dlc_text(x->entry, "owner"), *access = dlc_text(x->spec, "Accessibility");
    return !owner || dlc_is_admin(d) || strcmp(owner, d->call->owner) == 0 ||
           (access && strcasecmp(access, "PUBLIC") == 0);
}

static struct data of_entry(struct dlc_call *d, const struct text_node *entry)
{
    const char *id = dlc_text(entry, "name");
    const struct text_node *row = dlc_object(d, KIND, "", id);
    return (struct data){ id, entry, row, dlc_spec(row) };
}

static bool find(struct dlc_call *d, struct data *x)
{
    const struct text_node *entry =
        strchr(d->param[0], ':') ? NULL : dlc_entry(d, ENTRY_DATASET, d->param[0]);
    if (entry) {
        *x = of_entry(d, entry);
        if (visible(d, x))
            return true;
    }
    dlc_fail(d, 404, "NotFound", "no data set \"%.100s\"", d->param[0]);
    return false;
}

/* ---- shown ---- */

static const char *options_of(struct dlc_call *d, const struct data *x)
{
    const char *options = dlc_text(x->spec, "Options"), *path = dlc_text(x->entry, "path");
    if (options || !path)
        return options ? options : "";
    return arena_printf(d->arena, "{\"mountPath\":\"%s\"}", path);
}

static uint64_t newest_version(const struct text_node *list)
{
    uint64_t newest = 1, n = 0;
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (scan_u64(dlc_text(one, "VersionName") + 1, 1, UINT32_MAX, &n) && n > newest)
            newest = n;
    return newest;
}

static void put_data(struct dlc_call *d, struct text_node *out, const struct data *x)
{
    struct arena *a = d->arena;
    const char *name = dlc_text(x->spec, "Name"), *owner = dlc_text(x->entry, "owner");
    const char *about = dlc_text(x->entry, "description");
    text_str(a, out, "DatasetId", x->id);
    text_str(a, out, "Name", name ? name : x->id);
    text_str(a, out, "Uri", dlc_text(x->entry, "uri"));
    text_str(a, out, "Options", options_of(d, x));
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        const char *said = dlc_text(x->spec, defaults[i][0]);
        bool shared = !owner && strcmp(defaults[i][0], "Accessibility") == 0;
        text_str(a, out, defaults[i][0], said ? said : shared ? "PUBLIC" : defaults[i][1]);
    }
    dlc_copy(a, out, x->spec, "SourceId");
    text_str(a, out, "Description", about ? about : "");
    text_str(a, out, "WorkspaceId", dlc_workspace(dlc_text(x->spec, "WorkspaceId")));
    dlc_labels(a, out, text_get(x->spec, "Labels"));
    text_str(a, out, "UserId", owner ? owner : "");
    text_str(a, out, "OwnerId", owner ? owner : "");
    text_str(a, out, "MountAccess", dlc_true(x->entry, "read_only") ? "RO" : "RW");
    text_str(a, out, "GmtCreateTime",
             x->row ? facade_time_ms(a, dlc_when(x->row, "created_ms")) : "");
    text_str(a, out, "GmtModifiedTime",
             x->row ? facade_time_ms(a, dlc_when(x->row, "changed_ms")) : "");
}

void dlc_data_get(struct dlc_call *d)
{
    struct text_node *out = dlc_map(d);
    struct data x;
    if (!find(d, &x))
        return;
    put_data(d, out, &x);
    struct text_node *latest = text_map(d->arena, out, "LatestVersion");
    text_str(d->arena, latest, "VersionName",
             arena_printf(d->arena, "v%llu",
                          (unsigned long long)newest_version(text_get(x.spec, "Versions"))));
    dlc_ok(d, out);
}

static bool one_of(struct dlc_call *d, const char *query, const struct text_node *out,
                   const char *field)
{
    const char *list = dlc_query(d, query);
    return !list || dlc_in_list(list, text_get(out, field)->str);
}

static bool wanted(struct dlc_call *d, const struct text_node *out)
{
    const char *space = dlc_query(d, "WorkspaceId"), *name = dlc_query(d, "Name");
    const char *source = dlc_query(d, "SourceId"), *label = dlc_query(d, "Label");
    const char *is = dlc_text(out, "SourceId");
    bool labelled = !label;
    const struct text_node *labels = text_get(out, "Labels");
    for (const struct text_node *l = labels->first; l; l = l->next) {
        const char *key = dlc_text(l, "Key"), *value = dlc_text(l, "Value");
        labelled =
            labelled || (key && dlc_within(label, key)) || (value && dlc_within(label, value));
    }
    /* What the server's user declared belongs to every workspace. */
    bool here = !space || strcmp(dlc_text(out, "WorkspaceId"), space) == 0 ||
                !*text_get(out, "OwnerId")->str;
    return here && labelled && (!name || dlc_within(name, dlc_text(out, "Name"))) &&
           (!source || (is && strcmp(is, source) == 0)) &&
           one_of(d, "Properties", out, "Property") &&
           one_of(d, "DataSourceTypes", out, "DataSourceType") &&
           one_of(d, "DataTypes", out, "DataType") && one_of(d, "SourceTypes", out, "SourceType");
}

void dlc_data_list(struct dlc_call *d)
{
    struct facade_page page;
    bool ascending;
    uint64_t at = 0;
    if (!dlc_page(d, 10, &page) || !dlc_order(d, true, &ascending))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Datasets");
    const struct text_node *all = dlc_entries(d, ENTRY_DATASET);
    for (const struct text_node *one = all->first; one; one = one->next) {
        struct text_node *shown = text_map(d->arena, NULL, NULL);
        if (strchr(dlc_text(one, "name"), ':'))
            continue; /* a version */
        struct data x = of_entry(d, one);
        if (!visible(d, &x))
            continue;
        put_data(d, shown, &x);
        if (!wanted(d, shown))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            text_copy(d->arena, list, NULL, shown);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    dlc_ok(d, out);
}

/* ---- change ---- */

/* "mountPath" of Options; false: answered. *path NULL: none is said. */
static bool mount_path(struct dlc_call *d, const char *options, const char **path)
{
    struct report report;
    *path = NULL;
    if (!options)
        return true;
    report_init(&report, d->arena);
    const struct text_node *root = json_parse(d->arena, options, strlen(options), 0, &report);
    const char *at = root ? dlc_text(root, "mountPath") : NULL;
    if (!root || root->kind != TEXT_MAP || (at && *at != '/')) {
        dlc_fail(d, 400, "InvalidParameter",
                 "Options is not the JSON text of an object with an absolute mountPath");
        return false;
    }
    *path = at;
    return true;
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

struct writing {
    const char *id, *uri, *path, *about, *owner;
    const struct text_node *spec; /* of the document of the data set `of` */
    const char *of;
    bool read_only;
    struct text_node *ready;
};

static void put_entry(struct dlc_call *d, const struct writing *w)
{
    struct text_node *entry = text_map(d->arena, NULL, NULL);
    struct ctl_object *object = ARENA_NEW(d->arena, struct ctl_object);
    text_str(d->arena, entry, "kind", "dataset");
    text_str(d->arena, entry, "name", w->id);
    text_str(d->arena, entry, "uri", w->uri);
    dlc_put(d->arena, entry, "path", w->path);
    dlc_put(d->arena, entry, "description", w->about);
    if (w->owner || dlc_is_admin(d))
        text_str(d->arena, entry, "owner", w->owner ? w->owner : d->call->owner);
    if (w->read_only)
        text_bool(d->arena, entry, "read_only", true);
    *object = (struct ctl_object){ KIND, "", w->of, w->spec };
    dlc_change(d, &(struct dlc_change){ .kind = ENTRY_DATASET,
                                        .name = w->id,
                                        .entry = entry,
                                        .objects = object,
                                        .n_objects = 1,
                                        .ready = w->ready });
}

void dlc_data_create(struct dlc_call *d)
{
    const char *name, *property, *type, *path;
    struct writing w = { .id = dlc_new_id(d->arena, "d-", 18), .ready = dlc_map(d) };
    if (!dlc_need(d, "Name", &name) || !good_name(d, name) || !dlc_need(d, "Property", &property) ||
        !dlc_need(d, "DataSourceType", &type) || !dlc_need(d, "Uri", &w.uri) ||
        !mount_path(d, dlc_text(d->body, "Options"), &path))
        return;
    if (strcmp(property, "FILE") != 0 && strcmp(property, "DIRECTORY") != 0) {
        dlc_fail(d, 400, "InvalidParameter", "Property is \"%.40s\", not FILE or DIRECTORY",
                 property);
        return;
    }
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        dlc_copy(d->arena, spec, d->body, fields[i]);
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
static struct text_node *with(struct dlc_call *d, const struct data *x,
                              const struct text_node *over, const char *const *keys, size_t n)
{
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    for (const struct text_node *one = x->spec->first; one; one = one->next) {
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

static void rewrite(struct dlc_call *d, const struct data *x, const struct text_node *spec,
                    struct text_node *ready)
{
    const char *about = dlc_text(d->body, "Description"), *path;
    if (!mount_path(d, dlc_text(spec, "Options"), &path))
        return;
    struct writing w = { .id = x->id,
                         .uri = dlc_text(x->entry, "uri"),
                         .path = path ? path : dlc_text(x->entry, "path"),
                         .about = about ? about : dlc_text(x->entry, "description"),
                         .owner = dlc_text(x->entry, "owner"),
                         .spec = spec,
                         .of = x->id,
                         .read_only = dlc_true(x->entry, "read_only"),
                         .ready = ready };
    put_entry(d, &w);
}

void dlc_data_update(struct dlc_call *d)
{
    static const char *const keys[] = { "Name", "Description", "Options" };
    struct data x;
    const char *name = dlc_text(d->body, "Name");
    if (find(d, &x) && (!name || good_name(d, name)))
        rewrite(d, &x, with(d, &x, d->body, keys, ARRAY_LEN(keys)), NULL);
}

void dlc_data_publish(struct dlc_call *d)
{
    static const char *const keys[] = { "Accessibility" };
    struct text_node *over = text_map(d->arena, NULL, NULL), *ready = dlc_map(d);
    struct data x;
    text_str(d->arena, over, "Accessibility", "PUBLIC");
    text_str(d->arena, ready, "DatasetId", d->param[0]);
    if (find(d, &x))
        rewrite(d, &x, with(d, &x, over, keys, 1), ready);
}

/* Its versions are entries of their own, which go first, one after the other. */
static void delete_next(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    const struct data *x = d->more;
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
    struct ctl_object *gone = ARENA_NEW(d->arena, struct ctl_object);
    *gone = (struct ctl_object){ KIND, "", d->param[0], NULL };
    dlc_change(d,
               &(struct dlc_change){
                   .kind = ENTRY_DATASET, .name = d->param[0], .objects = gone, .n_objects = 1 });
}

void dlc_data_delete(struct dlc_call *d)
{
    struct data *x = ARENA_NEW(d->arena, struct data);
    if (!find(d, x))
        return;
    d->more = x;
    call_keep(d->call);
    delete_next(d, NULL);
}

/* ---- labels ---- */

static void relabel(struct dlc_call *d, const struct data *x, const struct text_node *labels)
{
    static const char *const keys[] = { "Labels" };
    struct text_node *over = text_map(d->arena, NULL, NULL);
    text_copy(d->arena, over, "Labels", labels);
    d->body = text_map(d->arena, NULL, NULL);
    rewrite(d, x, with(d, x, over, keys, 1), NULL);
}

static struct text_node *labels_without(struct dlc_call *d, const struct data *x,
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
    struct data x;
    if (!find(d, &x))
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
    struct data x;
    if (!find(d, &x))
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

static void put_version(struct dlc_call *d, struct text_node *out, const struct data *x,
                        const struct text_node *version)
{
    struct text_node *first = text_map(d->arena, NULL, NULL);
    text_str(d->arena, out, "VersionName", version ? dlc_text(version, "VersionName") : "v1");
    text_str(d->arena, out, "DatasetId", x->id);
    put_data(d, first, x);
    for (size_t i = 0; i < ARRAY_LEN(version_fields); i++)
        dlc_copy(d->arena, out, version && text_get(version, version_fields[i]) ? version : first,
                 version_fields[i]);
    dlc_copy(d->arena, out, version ? version : first, "GmtCreateTime");
    dlc_copy(d->arena, out, version ? version : first, "GmtModifiedTime");
}

static const struct text_node *version_of(const struct data *x, const char *name)
{
    const struct text_node *list = text_get(x->spec, "Versions");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (strcmp(dlc_text(one, "VersionName"), name) == 0)
            return one;
    return NULL;
}

static bool find_version(struct dlc_call *d, struct data *x, const struct text_node **version)
{
    if (!find(d, x))
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
    struct text_node *out = dlc_map(d);
    struct data x;
    if (!find_version(d, &x, &version))
        return;
    put_version(d, out, &x, version);
    dlc_ok(d, out);
}

void dlc_version_list(struct dlc_call *d)
{
    struct facade_page page;
    struct data x;
    uint64_t at = 0;
    if (!find(d, &x) || !dlc_page(d, 10, &page))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "DatasetVersions");
    const struct text_node *versions = text_get(x.spec, "Versions");
    const struct text_node *one = versions ? versions->first : NULL;
    bool more = true;
    for (const struct text_node *v = NULL; more; v = one, one = one ? one->next : NULL, more = v) {
        if (at >= page.offset && at < page.offset + page.limit)
            put_version(d, text_map(d->arena, list, NULL), &x, v);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    text_int(d->arena, out, "PageNumber", dlc_page_number(&page));
    text_int(d->arena, out, "PageSize", (int64_t)page.limit);
    dlc_ok(d, out);
}

/* The document with its list of versions changed: one left out, one added. */
static struct text_node *versions_with(struct dlc_call *d, const struct data *x,
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
    return with(d, x, over, keys, 1);
}

static void write_version(struct dlc_call *d, const struct data *x, struct text_node *version,
                          const char *without)
{
    const char *name = dlc_text(version, "VersionName"), *path;
    struct writing w = { .id = arena_printf(d->arena, "%s:%s", x->id, name),
                         .uri = dlc_text(version, "Uri"),
                         .about = dlc_text(version, "Description"),
                         .owner = dlc_text(x->entry, "owner"),
                         .of = x->id,
                         .read_only = dlc_true(x->entry, "read_only"),
                         .ready = dlc_map(d) };
    if (!mount_path(d, dlc_text(version, "Options"), &path))
        return;
    w.path = path ? path : dlc_text(x->entry, "path");
    w.spec = versions_with(d, x, without, version);
    text_str(d->arena, w.ready, "VersionName", name);
    put_entry(d, &w);
}

void dlc_version_create(struct dlc_call *d)
{
    struct data x;
    const char *uri;
    if (!find(d, &x) || !dlc_need(d, "Uri", &uri))
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
    const struct text_node *was;
    struct data x;
    if (!find_version(d, &x, &was))
        return;
    if (!was) { /* v1 */
        rewrite(d, &x, with(d, &x, d->body, keys, 2), NULL);
        return;
    }
    struct data version = { .spec = was };
    write_version(d, &x, with(d, &version, d->body, keys, ARRAY_LEN(keys)), d->param[1]);
}

void dlc_version_delete(struct dlc_call *d)
{
    const struct text_node *version;
    struct ctl_object *object = ARENA_NEW(d->arena, struct ctl_object);
    struct data x;
    if (!find_version(d, &x, &version))
        return;
    if (!version) {
        dlc_fail(d, 400, "BadRequest", "v1 is the data set itself: DeleteDataset removes all");
        return;
    }
    *object = (struct ctl_object){ KIND, "", x.id, versions_with(d, &x, d->param[1], NULL) };
    dlc_change(d, &(struct dlc_change){ .kind = ENTRY_DATASET,
                                        .name = arena_printf(d->arena, "%s:%s", x.id, d->param[1]),
                                        .objects = object,
                                        .n_objects = 1 });
}
