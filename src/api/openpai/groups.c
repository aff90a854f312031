/* Groups: everybody, the admins, and the projects that users are in. A group is there as soon as a
 * user is in it, so none is made or removed by itself. */
#include "api/openpai/pai.h"

#include "base/mem.h"

#include <string.h>

static bool is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static bool in_group(const struct text_node *user, const char *group)
{
    const struct text_node *projects = text_get(user, "projects");
    if (is(group, PAI_GROUP_ALL))
        return true;
    if (is(group, PAI_GROUP_ADMIN))
        return is(pai_text(user, "role"), "admin");
    for (const struct text_node *one = projects ? projects->first : NULL; one; one = one->next)
        if (one->kind == TEXT_STR && is(one->str, group))
            return true;
    return false;
}

static struct text_node *put_group(struct pai *p, struct text_node *parent, const char *name)
{
    struct arena *a = p->a;
    struct text_node *out = text_map(a, parent, NULL);
    text_str(a, out, "groupname", name);
    text_str(a, out, "description",
             is(name, PAI_GROUP_ALL)     ? "everybody"
             : is(name, PAI_GROUP_ADMIN) ? "admins of this server"
                                         : "members of a project");
    text_str(a, out, "externalName", "");
    struct text_node *acls = text_map(a, text_map(a, out, "extension"), "acls");
    text_bool(a, acls, "admin", is(name, PAI_GROUP_ADMIN));
    pai_put_rights(p, acls, "virtualClusters", "storageConfigs");
    return out;
}

/* Names in the order they are met: of the users that one may see. */
static struct words names_of(struct pai *p, const struct text_node *users)
{
    struct words names = { 0 };
    size_t most = 2;
    for (const struct text_node *one = users ? users->first : NULL; one; one = one->next)
        most += text_get(one, "projects") ? text_get(one, "projects")->count : 0;
    names.at = ARENA_ARRAY(p->a, most, const char *);
    names.at[names.n++] = PAI_GROUP_ALL;
    names.at[names.n++] = PAI_GROUP_ADMIN;
    for (const struct text_node *one = users ? users->first : NULL; one; one = one->next) {
        const struct text_node *projects = text_get(one, "projects");
        for (const struct text_node *q = projects ? projects->first : NULL; q; q = q->next)
            if (q->kind == TEXT_STR && !words_have(&names, q->str))
                names.at[names.n++] = q->str;
    }
    return names;
}

static const struct text_node *users_of(struct pai *p)
{
    return text_get(ctl_users_tree(p->ctl, p->a, p->me), "users");
}

void pai_groups(struct pai *p)
{
    const struct words names = names_of(p, users_of(p));
    struct text_node *list = text_list(p->a, NULL, NULL);
    for (size_t i = 0; i < names.n; i++)
        put_group(p, list, names.at[i]);
    pai_answer(p, 200, list);
}

static bool find_group(struct pai *p)
{
    const struct words names = names_of(p, users_of(p));
    if (words_have(&names, p->param[0]))
        return true;
    pai_fail(p, PAI_NO_GROUP, "Group %.200s is not found.", p->param[0]);
    return false;
}

void pai_group(struct pai *p)
{
    if (find_group(p))
        pai_answer(p, 200, put_group(p, NULL, p->param[0]));
}

void pai_group_users(struct pai *p)
{
    const struct text_node *users = users_of(p);
    if (!find_group(p))
        return;
    struct text_node *list = text_list(p->a, NULL, NULL);
    for (const struct text_node *one = users ? users->first : NULL; one; one = one->next) {
        if (!in_group(one, p->param[0]))
            continue;
        struct text_node *out = text_map(p->a, list, NULL);
        text_str(p->a, out, "username", pai_text(one, "name"));
        text_bool(p->a, out, "clusterAdmin", is(pai_text(one, "role"), "admin"));
    }
    pai_answer(p, 200, list);
}

void pai_group_change(struct pai *p)
{
    pai_fail(p, PAI_NOT_IMPLEMENTED,
             "A group is a project here: it is there when a user is in it. Change the users: PUT "
             "/api/v2/users/NAME/group.");
}
