/* Quotas and resources, which are the queues in two of the vendor's shapes; and products, of which
 * there is one. Reading only. */
#include "api/dlc/op.h"

#include "base/mem.h"

#include <string.h>

static void put_quota(struct dlc_call *d, struct text_node *list, const struct text_node *queue)
{
    static const char *const sizes[][2] = { { "cpu", "CPU" },
                                            { "memory", "Memory" },
                                            { "gpu", "GPU" } };
    struct text_node *one = text_map(d->arena, list, NULL);
    const struct text_node *most = text_get(queue, "maximum");
    const char *name = dlc_text(queue, "name");
    text_str(d->arena, one, "Id", name);
    text_str(d->arena, one, "Name", name);
    text_str(d->arena, one, "DisplayName", name);
    text_str(d->arena, one, "Mode", strcmp(name, DLC_PUBLIC_QUEUE) == 0 ? "share" : "isolate");
    text_str(d->arena, one, "ProductCode", "PAI_isolate");
    text_str(d->arena, one, "QuotaType", "PAI");
    struct text_node *specs = text_list(d->arena, one, "Specs");
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const char *value = most ? dlc_text(most, sizes[i][0]) : NULL;
        if (!value)
            continue;
        struct text_node *spec = text_map(d->arena, specs, NULL);
        text_str(d->arena, spec, "Name", sizes[i][1]);
        text_str(d->arena, spec, "Value", value);
        text_str(d->arena, spec, "Type", sizes[i][1]);
    }
}

static const struct text_node *queues(struct dlc_call *d)
{
    struct err err;
    const struct text_node *tree = ctl_queues_tree(d->ctl, d->arena, d->call->owner, NULL, &err);
    return tree ? text_get(tree, "queues") : NULL;
}

void dlc_quota_list(struct dlc_call *d)
{
    const char *name = dlc_query(d, "Name");
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Quotas");
    const struct text_node *all = queues(d);
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next)
        if (!name || dlc_within(name, dlc_text(one, "name")))
            put_quota(d, list, one);
    text_int(d->arena, out, "TotalCount", (int64_t)list->count);
    dlc_ok(d, out);
}

static void put_resource(struct dlc_call *d, struct text_node *out, const struct text_node *queue)
{
    const char *name = dlc_text(queue, "name"), *space = dlc_query(d, "WorkspaceId");
    text_str(d->arena, out, "Id", name);
    text_str(d->arena, out, "Name", name);
    text_str(d->arena, out, "ResourceType", "ECS");
    text_str(d->arena, out, "ProductType", "DLC");
    text_str(d->arena, out, "WorkspaceId", space ? space : "default");
    text_bool(d->arena, out, "IsDefault", strcmp(name, "default") == 0);
    if (dlc_query_flag(d, "Verbose", true))
        put_quota(d, text_list(d->arena, out, "Quotas"), queue);
    text_list(d->arena, out, "Labels");
}

void dlc_resource_list(struct dlc_call *d)
{
    const char *name = dlc_query(d, "ResourceName"), *ids = dlc_query(d, "QuotaIds");
    const char *types = dlc_query(d, "ResourceTypes"), *space = dlc_query(d, "WorkspaceId");
    const char *products = dlc_query(d, "ProductTypes");
    struct facade_page page;
    uint64_t at = 0;
    if (!dlc_page(d, 20, &page) || (space && !dlc_space_there(d, space)))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Resources");
    bool none =
        (types && !dlc_in_list(types, "ECS")) || (products && !dlc_in_list(products, "DLC"));
    const struct text_node *all = none ? NULL : queues(d);
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next) {
        const char *is = dlc_text(one, "name");
        if ((name && !dlc_within(name, is)) || (ids && !dlc_in_list(ids, is)))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            put_resource(d, text_map(d->arena, list, NULL), one);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    dlc_ok(d, out);
}

void dlc_product_list(struct dlc_call *d)
{
    const char *codes = dlc_query(d, "ProductCodes");
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Products");
    text_list(d->arena, out, "Services");
    if (!codes || dlc_in_list(codes, "PAI_share")) {
        struct text_node *one = text_map(d->arena, list, NULL);
        text_str(d->arena, one, "ProductCode", "PAI_share");
        text_bool(d->arena, one, "IsPurchased", true);
        text_bool(d->arena, one, "HasPermissionToPurchase", false);
    }
    dlc_ok(d, out);
}
