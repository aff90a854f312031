/* Quotas and resources, which are the queues in two of the vendor's shapes; and products, of which
 * there is one. Reading only. */
#include "api/dlc/op.h"

#include "answer/cluster_views.h"
#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

/* What has no bound is not said. */
static void put_spec(struct dlc_call *d, struct text_node *specs, const char *name, uint64_t amount,
                     const char *value)
{
    if (amount == UINT64_MAX)
        return;
    struct text_node *spec = text_map(d->arena, specs, NULL);
    text_str(d->arena, spec, "Name", name);
    text_str(d->arena, spec, "Value", value);
    text_str(d->arena, spec, "Type", name);
}

static void put_quota(struct dlc_call *d, struct text_node *list, const struct queue_view *queue)
{
    struct text_node *one = text_map(d->arena, list, NULL);
    const struct vector *most = &queue->maximum;
    char text[FMT_MAX];
    text_str(d->arena, one, "Id", queue->name);
    text_str(d->arena, one, "Name", queue->name);
    text_str(d->arena, one, "DisplayName", queue->name);
    text_str(d->arena, one, "Mode",
             strcmp(queue->name, DLC_PUBLIC_QUEUE) == 0 ? "share" : "isolate");
    text_str(d->arena, one, "ProductCode", "PAI_isolate");
    text_str(d->arena, one, "QuotaType", "PAI");
    struct text_node *specs = text_list(d->arena, one, "Specs");
    put_spec(d, specs, "CPU", most->cpu_milli, fmt_milli(text, most->cpu_milli));
    put_spec(d, specs, "Memory", most->memory, fmt_int(text, (int64_t)most->memory));
    put_spec(d, specs, "GPU", most->gpu_milli, fmt_milli(text, most->gpu_milli));
}

static struct queue_list queues(struct dlc_call *d)
{
    struct queues_view view = { 0 };
    struct err err;
    answer_queues_view(d->ctl, d->arena, d->call->owner, NULL, &view, &err);
    return view.queues;
}

void dlc_quota_list(struct dlc_call *d)
{
    const char *name = dlc_query(d, "Name");
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Quotas");
    const struct queue_list all = queues(d);
    for (size_t i = 0; i < all.n; i++)
        if (!name || dlc_within(name, all.at[i].name))
            put_quota(d, list, &all.at[i]);
    text_int(d->arena, out, "TotalCount", (int64_t)list->count);
    dlc_ok(d, out);
}

static void put_resource(struct dlc_call *d, struct text_node *out, const struct queue_view *queue)
{
    const char *name = queue->name, *space = dlc_query(d, "WorkspaceId");
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
    const struct queue_list all = none ? (struct queue_list){ 0 } : queues(d);
    for (size_t i = 0; i < all.n; i++) {
        const char *is = all.at[i].name;
        if ((name && !dlc_within(name, is)) || (ids && !dlc_in_list(ids, is)))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            put_resource(d, text_map(d->arena, list, NULL), &all.at[i]);
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
