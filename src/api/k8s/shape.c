/* What every object has to be before anything else looks at it: maps that are maps of texts, not
 * too many members, labels by Kubernetes' rules. Pure. */
#include "api/k8s/shape.h"

#include <string.h>

static bool of_texts(const struct text_node *map, bool strict)
{
    if (!map || map->kind == TEXT_NULL)
        return true;
    if (map->kind != TEXT_MAP)
        return false;
    for (const struct text_node *one = map->first; one; one = one->next)
        if (one->kind == TEXT_MAP || one->kind == TEXT_LIST ||
            (strict && one->kind != TEXT_STR && one->kind != TEXT_NULL))
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

const char *kube_unreadable(const struct text_node *object, bool strict)
{
    static const char *const parts[] = { "data", "binaryData", "stringData" };
    const struct text_node *metadata = text_get(object, "metadata");
    if (metadata && metadata->kind != TEXT_MAP && metadata->kind != TEXT_NULL)
        return "metadata";
    if (metadata && !of_texts(text_get(metadata, "labels"), strict))
        return "metadata.labels";
    if (metadata && !of_texts(text_get(metadata, "annotations"), strict))
        return "metadata.annotations";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!of_texts(text_get(object, parts[i]), strict))
            return parts[i];
    return NULL;
}

/* ---- labels: Kubernetes' rules for qualified names and label values ---- */

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"
#define ALNUM LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
enum { PREFIX_MAX = 253, WORD_MAX = 63 };

/* n characters of those, more of them inside than at both ends. */
static bool of_chars(const char *s, size_t n, const char *ends, const char *inner)
{
    return n > 0 && strchr(ends, s[0]) && strchr(ends, s[n - 1]) && strspn(s, inner) >= n;
}

static bool word(const char *s)
{
    size_t n = strlen(s);
    return n <= WORD_MAX && of_chars(s, n, ALNUM, ALNUM "-_.");
}

static bool key(const char *s)
{
    const char *slash = strchr(s, '/');
    size_t n = slash ? (size_t)(slash - s) : 0;
    return slash ? n <= PREFIX_MAX && of_chars(s, n, LOWER, LOWER "-.") && word(slash + 1)
                 : word(s);
}

/* What is wrong; NULL: nothing. */
static const char *bad_in(struct arena *a, const struct text_node *metadata,
                          const struct text_node *old, const char *name, bool values)
{
    const struct text_node *map = text_get(metadata, name);
    const struct text_node *was = old ? text_get(old, name) : NULL;
    for (const struct text_node *one = map ? map->first : NULL; one; one = one->next) {
        const struct text_node *before = was ? text_get(was, one->key) : NULL;
        const char *value = one->str ? one->str : "";
        if (before && text_equal(before, one))
            continue;
        if (!key(one->key))
            return arena_printf(a,
                                "\"%.100s\": a key is a name of at most 63 letters, digits, '-', "
                                "'_' and '.' that begins and ends with a letter or digit, with a "
                                "DNS name and '/' before it or not",
                                one->key);
        if (values && *value && !word(value))
            return arena_printf(a,
                                "\"%.100s\": a value has at most 63 letters, digits, '-', '_' and "
                                "'.' and begins and ends with a letter or digit",
                                value);
    }
    return NULL;
}

bool kube_bad_label(struct arena *a, const struct text_node *metadata, const struct text_node *old,
                    struct kube_fault *fault)
{
    *fault = (struct kube_fault){ "metadata.labels", PROBLEM_OTHER,
                                  bad_in(a, metadata, old, "labels", true) };
    if (!fault->text)
        *fault = (struct kube_fault){ "metadata.annotations", PROBLEM_OTHER,
                                      bad_in(a, metadata, old, "annotations", false) };
    return fault->text != NULL;
}
