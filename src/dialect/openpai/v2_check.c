/* Rules between the parts of a document of protocol version 2: names that must be there, and once;
 * templates where none are read.
 *
 * Inputs: the decoded document. Effects: problems in the report, nothing else. */
#include "dialect/openpai/v2.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

static struct document_place at(const struct v2_reader *r, const char *key)
{
    return document_place_in(r->arena, r->root, key);
}

const struct v2_prerequisite *v2_prerequisite(const struct v2_reader *r, const char *type,
                                              const char *name, struct document_place *found)
{
    for (size_t i = 0; i < r->doc->n_prerequisites; i++) {
        const struct v2_prerequisite *p = &r->doc->prerequisites[i];
        if (!p->name || !p->type || strcmp(p->name, name) != 0 ||
            (type && strcmp(p->type, type) != 0))
            continue;
        *found = document_place_item(r->arena, at(r, "prerequisites"), i);
        return p;
    }
    return NULL;
}

/* ---- prerequisites ---- */

static const char *nearest(const struct v2_reader *r, const char *type, const char *name)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < r->doc->n_prerequisites && n < NAMES_MAX; i++) {
        const struct v2_prerequisite *p = &r->doc->prerequisites[i];
        if (p->name && p->type && (!type || strcmp(p->type, type) == 0))
            names[n++] = p->name;
    }
    const char *near = n ? scan_nearest(name, names, n) : NULL;
    if (near)
        return arena_printf(r->arena, "\"%s\"?", near);
    return n == 1 ? arena_printf(r->arena, "%s", names[0])
                  : arena_printf(r->arena, "prerequisites: [{name: %.60s, type: %s, uri: ...}]",
                                 name, type ? type : "script");
}

static void check_named(struct v2_reader *r, struct document_place spot, const char *type,
                        const char *name)
{
    struct document_place found;
    if (!name || v2_prerequisite(r, type, name, &found))
        return;
    struct problem *p =
        type ? document_place_fail(r->report, spot,
                                   "is \"%.60s\", and no prerequisite of type %s has that name",
                                   name, type)
             : document_place_fail(r->report, spot,
                                   "is \"%.60s\", and no prerequisite has that name", name);
    report_hint(r->report, p, "%s", nearest(r, type, name));
}

static bool is_type(const struct v2_prerequisite *p, const char *type)
{
    return p->type && strcmp(p->type, type) == 0;
}

static void check_uri(struct v2_reader *r, const struct v2_prerequisite *p,
                      struct document_place spot)
{
    struct document_place uri = document_place_in(r->arena, spot, "uri");
    bool image = is_type(p, "dockerimage"), list = uri.node && uri.node->kind == TEXT_LIST;
    bool text = uri.node && uri.node->kind == TEXT_STR && *uri.node->str;
    if (image && !text)
        report_hint(r->report, document_place_fail(r->report, uri, "is the image, and a text"),
                    "uri: docker.io/pytorch/pytorch:2.1");
    else if (uri.node && !text && !(is_type(p, "data") && list))
        report_hint(r->report,
                    document_place_fail(r->report, uri, "is %s", text_kind_word(uri.node->kind)),
                    is_type(p, "data") ? "a list of texts" : "a text");
}

static void check_auth(struct v2_reader *r, struct document_place spot)
{
    struct document_place auth = document_place_in(r->arena, spot, "auth");
    if (!auth.node)
        return;
    if (auth.node->kind != TEXT_MAP) {
        report_hint(r->report,
                    document_place_fail(r->report, auth, "is %s", text_kind_word(auth.node->kind)),
                    "{username: ..., password: <%% $secrets.x %%>, registryuri: ...}");
        return;
    }
    for (const struct text_node *node = auth.node->first; node; node = node->next)
        v2_check_auth(r, document_place_in(r->arena, auth, node->key));
    report_hint(r->report, document_place_warn(r->report, auth, "is not used and not kept"),
                "no image is fetched from a registry here");
}

/* The one kind whose keys the servers limited. */
static void check_image_keys(struct v2_reader *r, struct document_place spot)
{
    static const char *const keys[] = {
        "name", "type", "uri", "auth", "protocolVersion", "contributor", "version", "description"
    };
    for (const struct text_node *node = spot.node->first; node; node = node->next) {
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            known |= strcmp(keys[i], node->key) == 0;
        if (known)
            continue;
        const char *near = scan_nearest(node->key, keys, ARRAY_LEN(keys));
        struct problem *p = report_error(r->report, node->key_place, spot.path,
                                         "%s: unknown field \"%.60s\"", spot.path, node->key);
        report_hint(r->report, p, near ? "\"%s\"?" : "%s", near ? near : "leave it out");
    }
}

static void check_prerequisites(struct v2_reader *r)
{
    const struct v2_job *doc = r->doc;
    for (size_t i = 0; i < doc->n_prerequisites; i++) {
        const struct v2_prerequisite *p = &doc->prerequisites[i];
        struct document_place spot = document_place_item(r->arena, at(r, "prerequisites"), i),
                              first;
        if (!p->name || !p->type || !spot.node || spot.node->kind != TEXT_MAP)
            continue;
        if (v2_prerequisite(r, p->type, p->name, &first) != p)
            report_hint(r->report,
                        document_place_fail(r->report, document_place_in(r->arena, spot, "name"),
                                            "is \"%.60s\": a second %s of that name, after %s",
                                            p->name, p->type, first.path),
                        "another name");
        check_uri(r, p, spot);
        if (!is_type(p, "dockerimage"))
            continue;
        check_auth(r, spot);
        check_image_keys(r, spot);
    }
}

/* ---- roles ---- */

static bool is_role(const struct v2_reader *r, const char *name)
{
    for (size_t i = 0; i < r->doc->n_roles; i++)
        if (strcmp(r->doc->roles[i].name, name) == 0)
            return true;
    return false;
}

static void check_role(struct v2_reader *r, const struct v2_role *role)
{
    struct arena *a = r->arena;
    struct document_place spot = document_place_in(a, at(r, "taskRoles"), role->name);
    check_named(r, document_place_in(a, spot, "dockerImage"), "dockerimage", role->image);
    check_named(r, document_place_in(a, spot, "data"), "data", role->data);
    check_named(r, document_place_in(a, spot, "output"), "output", role->output);
    check_named(r, document_place_in(a, spot, "script"), "script", role->script);
    for (size_t i = 0; i < role->prerequisites.n; i++)
        check_named(r, document_place_item(a, document_place_in(a, spot, "prerequisites"), i), NULL,
                    role->prerequisites.at[i]);
}

static void check_role_name(struct v2_reader *r, struct document_place spot, const char *name)
{
    if (!is_role(r, name))
        report_hint(r->report,
                    document_place_warn(r->report, spot,
                                        "is about a role \"%.60s\", and there is none", name),
                    "a name of taskRoles");
}

/* "my-role" as later releases take it; NULL: as it is, or taken by another. */
static const char *renamed(const struct v2_reader *r, const char *name)
{
    if (!strchr(name, '-') || !is_role(r, name))
        return NULL;
    char *other = arena_strdup(r->arena, name);
    for (char *c = other; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return is_role(r, other) ? NULL : other;
}

/* place: of the name, in quotes or not. */
static void rename_at(struct v2_reader *r, struct place place, const char *path, const char *name)
{
    const char *other = renamed(r, name);
    if (!other)
        return;
    struct problem *p = report_warn(r->report, place, path,
                                    "role \"%.60s\": later releases take no - in names", name);
    report_hint(r->report, p, "%s", other);
    if (place.len == strlen(name))
        p->fix = other;
    else if (place.len == strlen(name) + 2)
        p->fix = arena_printf(r->arena, "\"%s\"", other);
}

static void rename_keys(struct v2_reader *r, struct document_place map)
{
    bool is_map = map.node && map.node->kind == TEXT_MAP;
    for (const struct text_node *one = is_map ? map.node->first : NULL; one; one = one->next)
        rename_at(r, one->key_place, document_place_in(r->arena, map, one->key).path, one->key);
}

/* Everywhere a role is named but in the texts of commands. */
static void rename_roles(struct v2_reader *r)
{
    struct arena *a = r->arena;
    struct document_place extras = at(r, "extras");
    struct document_place plugins = document_place_in(a, extras, V2_PLUGINS);
    rename_keys(r, at(r, "taskRoles"));
    rename_keys(r,
                document_place_in(a, document_place_in(a, extras, "hivedScheduler"), "taskRoles"));
    for (size_t i = 0; i < r->doc->n_deployments; i++)
        rename_keys(
            r, document_place_in(a, document_place_item(a, at(r, "deployments"), i), "taskRoles"));
    for (size_t i = 0; i < r->doc->extras.n_plugins; i++) {
        struct document_place list =
            document_place_in(a, document_place_item(a, plugins, i), "taskroles");
        bool is_list = list.node && list.node->kind == TEXT_LIST;
        for (const struct text_node *one = is_list ? list.node->first : NULL; one; one = one->next)
            if (one->kind == TEXT_STR)
                rename_at(r, one->place, list.path, one->str);
    }
}

/* ---- deployments ---- */

static const struct v2_deployment *deployment_of(const struct v2_reader *r, const char *name)
{
    for (size_t i = 0; i < r->doc->n_deployments; i++)
        if (r->doc->deployments[i].name && strcmp(r->doc->deployments[i].name, name) == 0)
            return &r->doc->deployments[i];
    return NULL;
}

static void check_deployments(struct v2_reader *r)
{
    const struct v2_job *doc = r->doc;
    struct arena *a = r->arena;
    for (size_t i = 0; i < doc->n_deployments; i++) {
        const struct v2_deployment *d = &doc->deployments[i];
        struct document_place spot = document_place_item(a, at(r, "deployments"), i);
        if (d->name && deployment_of(r, d->name) != d)
            report_hint(r->report,
                        document_place_fail(r->report, document_place_in(a, spot, "name"),
                                            "is \"%.60s\", as another deployment's is already",
                                            d->name),
                        "another name");
        for (size_t k = 0; k < d->n_roles; k++)
            check_role_name(
                r, document_place_in(a, document_place_in(a, spot, "taskRoles"), d->roles[k].name),
                d->roles[k].name);
    }
    struct document_place chosen = document_place_in(a, at(r, "defaults"), "deployment");
    r->deployment = doc->deployment ? deployment_of(r, doc->deployment) : NULL;
    if (doc->deployment && !r->deployment)
        report_hint(r->report,
                    document_place_fail(r->report, chosen,
                                        "is \"%.60s\", and there is no such deployment",
                                        doc->deployment),
                    "%s",
                    doc->n_deployments && doc->deployments[0].name ? doc->deployments[0].name
                                                                   : "leave it out");
    if (!doc->deployment && doc->n_deployments)
        report_hint(r->report, document_place_warn(r->report, at(r, "deployments"), "are not used"),
                    "defaults: {deployment: NAME} chooses one");
}

/* ---- templates in other places ---- */

static bool renders(const char *key)
{
    static const char *const keys[] = { "commands", "preCommands", "postCommands",
                                        "auth",     "contributor", "description" };
    for (size_t i = 0; key && i < ARRAY_LEN(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static void check_stray_text(struct v2_reader *r, struct document_place spot)
{
    const char *text = spot.node->str, *begin = text ? strstr(text, "<%") : NULL;
    if (!begin)
        return;
    begin += 2 + strspn(begin + 2, " \t\r\n");
    if (strncmp(begin, "$secrets", 8) == 0)
        report_hint(r->report,
                    document_place_fail(r->report, spot, "has a secret where none is put in"),
                    "<%% $secrets.x %%> is read in commands and in auth of a dockerimage");
    else if (*begin == '$')
        report_hint(
            r->report,
            document_place_warn(r->report, spot, "has <%% %%>, which is left as it is written"),
            "templates are read in commands only");
}

static void check_stray(struct v2_reader *r, struct document_place spot)
{
    size_t i = 0;
    if (spot.node->kind == TEXT_STR)
        check_stray_text(r, spot);
    for (const struct text_node *node = spot.node->first; node; node = node->next, i++) {
        if (renders(node->key))
            continue;
        if (node->first || (node->str && strstr(node->str, "<%"))) {
            struct document_place inner = { .node = node, .place = node->place };
            inner.path = node->key ? document_place_in(r->arena, spot, node->key).path
                                   : arena_printf(r->arena, "%s[%zu]", spot.path, i);
            check_stray(r, inner);
        }
    }
}

/* ---- extras ---- */

static void check_extras(struct v2_reader *r)
{
    const struct v2_extras *extras = &r->doc->extras;
    struct arena *a = r->arena;
    struct document_place spot = at(r, "extras");
    struct document_place hived =
        document_place_in(a, document_place_in(a, spot, "hivedScheduler"), "taskRoles");
    struct document_place storages = document_place_in(a, spot, "storages");
    for (size_t i = 0; i < extras->n_hived; i++)
        check_role_name(r, document_place_in(a, hived, extras->hived[i].name),
                        extras->hived[i].name);
    for (size_t i = 0; i < extras->n_storages; i++) {
        const char *path = extras->storages[i].at;
        if (path && path[0] != '/')
            report_hint(r->report,
                        document_place_fail(
                            r->report,
                            document_place_in(a, document_place_item(a, storages, i), "mountPath"),
                            "is \"%.80s\"", path),
                        "an absolute path");
    }
    if (extras->has_storages && extras->n_storages == 0)
        report_hint(r->report, document_place_warn(r->report, storages, "is empty"),
                    "there it meant the user's default storages, here there are none");
}

void v2_check(struct v2_reader *r)
{
    check_prerequisites(r);
    for (size_t i = 0; i < r->doc->n_roles; i++)
        check_role(r, &r->doc->roles[i]);
    rename_roles(r);
    check_deployments(r);
    check_extras(r);
    check_stray(r, r->root);
    v2_slips(r->root.node, r->report);
}
