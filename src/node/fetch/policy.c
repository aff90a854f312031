/* Only one question is asked: is there any requirement but insecureAcceptAnything, in the default
 * or for any place that images come from? What cannot be read or has another form counts as one:
 * skopeo, which then is asked to copy, knows better. */
#include "node/fetch/policy.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "text/json.h"

#include <errno.h>
#include <string.h>

#define POLICY_BYTES_MAX (1u << 20)
#define OF_NODE          "/etc/containers/policy.json"

/* A list of requirements, all of which have to be met. */
static bool accepts(const struct text_node *list)
{
    if (!list || list->kind != TEXT_LIST || !list->first)
        return false;
    for (const struct text_node *one = list->first; one; one = one->next)
        if (strcmp(text_word(one, "type"), "insecureAcceptAnything") != 0)
            return false;
    return true;
}

static bool accepts_all(const struct text_node *root)
{
    const struct text_node *transports = text_get(root, "transports");
    if (!accepts(text_get(root, "default")) || (transports && transports->kind != TEXT_MAP))
        return false;
    for (const struct text_node *one = transports ? transports->first : NULL; one; one = one->next)
        for (const struct text_node *scope = one->first; scope; scope = scope->next)
            if (one->kind != TEXT_MAP || !accepts(scope))
                return false;
    return true;
}

enum policy policy_of(const char *text, size_t len)
{
    struct report report;
    struct arena *arena = arena_create();
    report_init(&report, arena);
    const struct text_node *root = json_parse(arena, text, len, 0, &report);
    bool any = root && report.errors == 0 && accepts_all(root);
    arena_destroy(arena);
    return any ? POLICY_ANY : POLICY_DEMANDS;
}

static enum policy policy_at(const char *path)
{
    AUTO_FREE char *text = NULL;
    size_t len;
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return POLICY_NONE;
    return file_read(path, POLICY_BYTES_MAX, &text, &len, NULL) == 0 ? policy_of(text, len)
                                                                     : POLICY_DEMANDS;
}

enum policy policy_read(const char *home)
{
    const char *own = home ? home : getenv("HOME");
    AUTO_FREE char *path = mem_printf("%s/.config/containers/policy.json", own ? own : "");
    enum policy found = policy_at(path);
    return found == POLICY_NONE ? policy_at(OF_NODE) : found;
}
