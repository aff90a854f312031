/* An account in a row: name, home, shell, and its numbers. A row that says less, or root, is none:
 * nobody gets more rights by it than it was written for. */
#include "job/account.h"

#include "base/arena.h"
#include "text/tree.h"

#include <string.h>

void account_put(struct arena *arena, struct text_node *parent, const struct account *account)
{
    struct text_node *map = text_map(arena, parent, "account");
    text_str(arena, map, "name", account->name);
    text_str(arena, map, "home", account->home);
    text_str(arena, map, "shell", account->shell);
    text_int(arena, map, "uid", account->ids.uid);
    text_int(arena, map, "gid", account->ids.gid);
    struct text_node *groups = text_list(arena, map, "groups");
    for (size_t i = 0; i < account->ids.n_groups; i++)
        text_int(arena, groups, NULL, account->ids.groups[i]);
}

static const char *word_of(struct arena *arena, const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_STR ? arena_strdup(arena, node->str) : NULL;
}

static void read_groups(struct arena *arena, const struct text_node *list, struct fs_user *out)
{
    size_t most = list && list->kind == TEXT_LIST ? list->count : 0;
    uint32_t *groups = ARENA_ARRAY(arena, most + 1, uint32_t);
    out->n_groups = 0;
    out->groups = groups;
    for (const struct text_node *n = most ? list->first : NULL; n; n = n->next)
        if (n->kind == TEXT_INT && out->n_groups < ACCOUNT_GROUPS_MAX)
            groups[out->n_groups++] = (uint32_t)n->integer;
}

const struct account *account_find(struct arena *arena, const struct text_node *parent)
{
    const struct text_node *map = parent ? text_get(parent, "account") : NULL;
    if (!map)
        return NULL;
    struct account *account = ARENA_NEW(arena, struct account);
    *account = (struct account){ .name = word_of(arena, map, "name"),
                                 .home = word_of(arena, map, "home"),
                                 .shell = word_of(arena, map, "shell"),
                                 .ids = { .uid = (uint32_t)text_number(map, "uid"),
                                          .gid = (uint32_t)text_number(map, "gid") } };
    read_groups(arena, text_get(map, "groups"), &account->ids);
    /* Of records that were changed by hand: never more rights than somebody's. */
    bool whole = account->name && account->home && account->shell && account->ids.uid > 0;
    return whole ? account : NULL;
}

const struct account *account_copy(struct arena *arena, const struct account *from)
{
    struct account *account = ARENA_NEW(arena, struct account);
    uint32_t *groups = ARENA_ARRAY(arena, from->ids.n_groups + 1, uint32_t);
    if (from->ids.n_groups)
        memcpy(groups, from->ids.groups, from->ids.n_groups * sizeof *groups);
    *account = (struct account){ .name = arena_strdup(arena, from->name),
                                 .home = arena_strdup(arena, from->home),
                                 .shell = arena_strdup(arena, from->shell),
                                 .ids = from->ids };
    account->ids.groups = groups;
    return account;
}
