/* Storages: the catalogue's data sets, in the shape of v1.x and in that of v0.16. A job mounts one
 * by its name (extras.storages). */
#include "api/openpai/storages.h"

#include "base/mem.h"

#include <string.h>

static struct entry_list datasets(const struct pai *p)
{
    return ctl_catalogue_view(p->ctl, p->a, ENTRY_DATASET);
}

static const struct entry *find_named(const struct pai *p, const char *name)
{
    const struct entry_list list = datasets(p);
    for (size_t i = 0; i < list.n; i++)
        if (strcmp(list.at[i]->name, name) == 0)
            return list.at[i];
    return NULL;
}

void pai_storages(struct pai *p)
{
    struct text_node *out = text_map(p->a, NULL, NULL), *list = text_list(p->a, out, "storages");
    const char *only = http_query(p->call->request, "default", 0);
    const struct entry_list all = datasets(p);
    bool none = only && strcmp(only, "true") == 0; /* nobody has defaults here */
    for (size_t i = 0; i < all.n && !none; i++) {
        struct text_node *item = text_map(p->a, list, NULL);
        text_str(p->a, item, "name", all.at[i]->name);
        text_bool(p->a, item, "share", true);
        text_str(p->a, item, "volumeName", all.at[i]->name);
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
    const struct entry *one = find_named(p, p->param[0]);
    if (!one) {
        pai_fail(p, PAI_NO_STORAGE, "Storage %.200s is not found.", p->param[0]);
        return;
    }
    struct text_node *out = text_map(p->a, NULL, NULL);
    text_str(p->a, out, "name", one->name);
    text_bool(p->a, out, "share", true);
    text_str(p->a, out, "volumeName", one->name);
    text_str(p->a, out, "type", put_data(p, out, one->uri ? one->uri : ""));
    text_bool(p->a, out, "readOnly", one->read_only);
    text_null(p->a, out, "secretName");
    text_list(p->a, out, "mountOptions");
    pai_answer(p, 200, out);
}

/* ---- as v0.16 had it: a server for each, and a configuration that mounts it ---- */

static void put_config(struct pai *p, struct text_node *parent, const struct entry *one)
{
    const char *name = one->name;
    struct text_node *out = text_map(p->a, parent, NULL);
    text_str(p->a, out, "name", name);
    text_bool(p->a, out, "default", false);
    text_str(p->a, text_list(p->a, out, "servers"), NULL, name);
    struct text_node *mount = text_map(p->a, text_list(p->a, out, "mountInfos"), NULL);
    text_str(p->a, mount, "mountPoint",
             one->path ? one->path : arena_printf(p->a, "/mnt/%s", name));
    text_str(p->a, mount, "server", name);
    text_str(p->a, mount, "path", "");
}

static void put_server(struct pai *p, struct text_node *parent, const struct entry *one)
{
    struct text_node *out = text_map(p->a, parent, NULL);
    text_str(p->a, out, "spn", one->name);
    text_str(p->a, out, "type", put_data(p, out, one->uri ? one->uri : ""));
    text_map(p->a, out, "extension");
}

static void answer_each(struct pai *p,
                        void (*put)(struct pai *, struct text_node *, const struct entry *))
{
    struct text_node *list = text_list(p->a, NULL, NULL);
    const struct entry_list all = datasets(p);
    const struct entry *named = p->param[0] ? find_named(p, p->param[0]) : NULL;
    if (p->param[0] && !named) {
        pai_fail(p, PAI_NO_STORAGE, "Storage %.200s is not found.", p->param[0]);
        return;
    }
    for (size_t i = 0; i < all.n; i++)
        if (!named || all.at[i] == named)
            put(p, list, all.at[i]);
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
