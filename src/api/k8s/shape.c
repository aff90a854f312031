/* What every object has to be before anything else looks at it. Pure. */
#include "api/k8s/shape.h"

static bool of_texts(const struct text_node *map)
{
    if (!map || map->kind == TEXT_NULL)
        return true;
    if (map->kind != TEXT_MAP)
        return false;
    for (const struct text_node *one = map->first; one; one = one->next)
        if (one->kind == TEXT_MAP || one->kind == TEXT_LIST)
            return false;
    return true;
}

bool kube_crowded(const struct text_node *node)
{
    if (node->kind == TEXT_MAP && node->count > KUBE_MEMBERS_MAX)
        return true;
    for (const struct text_node *one = node->first; one; one = one->next)
        if (one->first && kube_crowded(one))
            return true;
    return false;
}

const char *kube_unreadable(const struct text_node *object)
{
    static const char *const parts[] = { "data", "binaryData", "stringData" };
    const struct text_node *metadata = text_get(object, "metadata");
    if (metadata && metadata->kind != TEXT_MAP && metadata->kind != TEXT_NULL)
        return "metadata";
    if (metadata && !of_texts(text_get(metadata, "labels")))
        return "metadata.labels";
    if (metadata && !of_texts(text_get(metadata, "annotations")))
        return "metadata.annotations";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!of_texts(text_get(object, parts[i])))
            return parts[i];
    return NULL;
}
