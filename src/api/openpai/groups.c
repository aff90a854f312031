/* Groups: everybody, the admins, and the projects that users are in. A group is there as soon as a
 * user is in it, so none is made or removed by itself. */
#include "api/openpai/groups.h"

#include "api/openpai/users.h"
#include "base/mem.h"

#include <string.h>

static bool is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static bool in_group(const struct user_view *user, const char *group)
{
    if (is(group, PAI_GROUP_ALL))
        return true;
    if (is(group, PAI_GROUP_ADMIN))
        return user->role == ROLE_ADMIN;
    return words_have(&user->projects, group);
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
static struct words names_of(struct pai *p, const struct user_list *users)
{
    struct words names = { 0 };
    size_t most = 2;
    for (size_t i = 0; i < users->n; i++)
        most += users->at[i].projects.n;
    names.at = ARENA_ARRAY(p->a, most, const char *);
    names.at[names.n++] = PAI_GROUP_ALL;
    names.at[names.n++] = PAI_GROUP_ADMIN;
    for (size_t i = 0; i < users->n; i++) {
        const struct words *projects = &users->at[i].projects;
        for (size_t q = 0; q < projects->n; q++)
            if (!words_have(&names, projects->at[q]))
                names.at[names.n++] = projects->at[q];
    }
    return names;
}

void pai_groups(struct pai *p)
{
    const struct user_list users = list_users(ctl_accounts(p->ctl), p->a, p->me);
    const struct words names = names_of(p, &users);
    struct text_node *list = text_list(p->a, NULL, NULL);
    for (size_t i = 0; i < names.n; i++)
        put_group(p, list, names.at[i]);
    pai_answer(p, 200, list);
}

static bool find_group(struct pai *p, const struct user_list *users)
{
    const struct words names = names_of(p, users);
    if (words_have(&names, p->param[0]))
        return true;
    pai_fail(p, PAI_NO_GROUP, "Group %.200s is not found.", p->param[0]);
    return false;
}

void pai_group(struct pai *p)
{
    const struct user_list users = list_users(ctl_accounts(p->ctl), p->a, p->me);
    if (find_group(p, &users))
        pai_answer(p, 200, put_group(p, NULL, p->param[0]));
}

void pai_group_users(struct pai *p)
{
    const struct user_list users = list_users(ctl_accounts(p->ctl), p->a, p->me);
    if (!find_group(p, &users))
        return;
    struct text_node *list = text_list(p->a, NULL, NULL);
    for (size_t i = 0; i < users.n; i++) {
        const struct user_view *user = &users.at[i];
        if (!in_group(user, p->param[0]))
            continue;
        struct text_node *out = text_map(p->a, list, NULL);
        text_str(p->a, out, "username", user->name);
        text_bool(p->a, out, "clusterAdmin", user->role == ROLE_ADMIN);
    }
    pai_answer(p, 200, list);
}

void pai_group_change(struct pai *p)
{
    pai_fail(p, PAI_NOT_IMPLEMENTED,
             "A group is a project here: it is there when a user is in it. Change the users: PUT "
             "/api/v2/users/NAME/group.");
}
