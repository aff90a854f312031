/* Storages: the catalogue's data sets, in the shape of v1.x and in that of v0.16. A job mounts one
 * by its name (extras.storages). */
#include "api/openpai/pai.h"

#include "base/mem.h"

#include <string.h>

static const struct text_node *datasets(const struct pai *p)
{
    return text_get(ctl_catalogue_tree(p->ctl, p->a, ENTRY_DATASET), "datasets");
}

static const struct text_node *find_named(const struct pai *p, const char *name)
{
    const struct text_node *list = datasets(p);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (strcmp(pai_text(one, "name"), name) == 0)
            return one;
    return NULL;
}

void pai_storages(struct pai *p)
{
    struct text_node *out = text_map(p->a, NULL, NULL), *list = text_list(p->a, out, "storages");
    const char *only = http_query(p->call->request, "default", 0);
    const struct text_node *all = datasets(p);
    bool none = only && strcmp(only, "true") == 0; /* nobody has defaults here */
    for (const struct text_node *one = all && !none ? all->first : NULL; one; one = one->next) {
        struct text_node *item = text_map(p->a, list, NULL);
        text_str(p->a, item, "name", pai_text(one, "name"));
        text_bool(p->a, item, "share", true);
        text_str(p->a, item, "volumeName", pai_text(one, "name"));
        text_bool(p->a, item, "default", false);
    }
    pai_answer(p, 200, out);
}

/* "nfs://server/path" and its kin say where; of other addresses clients get the address. */
static const char *put_data(struct pai *p, struct text_node *out, const char *uri)
{
    static const char *const nfs[] = { "nfs://", "nas://" };
    struct text_node *data = text_map(p->a, out, "data");
    for (size_t i = 0; i < ARRAY_LEN(nfs); i++) {
        if (strncmp(uri, nfs[i], strlen(nfs[i])) != 0)
            continue;
        const char *server = uri + strlen(nfs[i]);
        size_t len = strcspn(server, "/");
        text_str(p->a, data, "server", arena_strndup(p->a, server, len));
        text_str(p->a, data, "path", server[len] ? server + len : "/");
        return "nfs";
    }
    text_str(p->a, data, "uri", uri);
    return "other";
}

void pai_storage(struct pai *p)
{
    const struct text_node *one = find_named(p, p->param[0]);
    if (!one) {
        pai_fail(p, PAI_NO_STORAGE, "Storage %.200s is not found.", p->param[0]);
        return;
    }
    const char *uri = pai_text(one, "uri");
    struct text_node *out = text_map(p->a, NULL, NULL);
    text_str(p->a, out, "name", pai_text(one, "name"));
    text_bool(p->a, out, "share", true);
    text_str(p->a, out, "volumeName", pai_text(one, "name"));
    text_str(p->a, out, "type", put_data(p, out, uri ? uri : ""));
    text_bool(p->a, out, "readOnly", pai_true(one, "read_only"));
    text_null(p->a, out, "secretName");
    text_list(p->a, out, "mountOptions");
    pai_answer(p, 200, out);
}

/* ---- as v0.16 had it: a server for each, and a configuration that mounts it ---- */

static void put_config(struct pai *p, struct text_node *parent, const struct text_node *one)
{
    const char *name = pai_text(one, "name"), *path = pai_text(one, "path");
    struct text_node *out = text_map(p->a, parent, NULL);
    text_str(p->a, out, "name", name);
    text_bool(p->a, out, "default", false);
    text_str(p->a, text_list(p->a, out, "servers"), NULL, name);
    struct text_node *mount = text_map(p->a, text_list(p->a, out, "mountInfos"), NULL);
    text_str(p->a, mount, "mountPoint", path ? path : arena_printf(p->a, "/mnt/%s", name));
    text_str(p->a, mount, "server", name);
    text_str(p->a, mount, "path", "");
}

static void put_server(struct pai *p, struct text_node *parent, const struct text_node *one)
{
    const char *uri = pai_text(one, "uri");
    struct text_node *out = text_map(p->a, parent, NULL);
    text_str(p->a, out, "spn", pai_text(one, "name"));
    text_str(p->a, out, "type", put_data(p, out, uri ? uri : ""));
    text_map(p->a, out, "extension");
}

static void answer_each(struct pai *p,
                        void (*put)(struct pai *, struct text_node *, const struct text_node *))
{
    struct text_node *list = text_list(p->a, NULL, NULL);
    const struct text_node *all = datasets(p);
    const struct text_node *named = p->param[0] ? find_named(p, p->param[0]) : NULL;
    if (p->param[0] && !named) {
        pai_fail(p, PAI_NO_STORAGE, "Storage %.200s is not found.", p->param[0]);
        return;
    }
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next)
        if (!named || one == named || strcmp(pai_text(one, "name"), p->param[0]) == 0)
            put(p, list, one);
    pai_answer(p, 200, named ? list->first : list);
}

void pai_storage_configs(struct pai *p)
{
    answer_each(p, put_config);
}

void pai_storage_servers(struct pai *p)
{
    answer_each(p, put_server);
}
