/* Users in OpenPAI's words: rights are groups, and a group is a project. Everybody may use every
 * virtual cluster and every storage here, so these lists are the server's. */
#include "api/openpai/users.h"

#include "answer/cluster_views.h"
#include "api/openpai/members.h"
#include "base/mem.h"

#include <string.h>

#define PASSWORD_LEAST 6u

static bool is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

/* ---- showing ---- */

static void put_groups(struct pai *p, struct text_node *out, const struct words *projects,
                       bool admin)
{
    struct text_node *list = text_list(p->a, out, "grouplist");
    text_str(p->a, list, NULL, PAI_GROUP_ALL);
    if (admin)
        text_str(p->a, list, NULL, PAI_GROUP_ADMIN);
    for (size_t i = 0; i < projects->n; i++)
        if (!is(projects->at[i], PAI_GROUP_ALL))
            text_str(p->a, list, NULL, projects->at[i]);
}

void pai_put_rights(struct pai *p, struct text_node *out, const char *clusters,
                    const char *storages)
{
    struct text_node *names = text_list(p->a, out, clusters);
    struct queues_view view = { 0 };
    answer_queues_view(p->ctl, p->a, p->me, NULL, &view, NULL);
    for (size_t i = 0; i < view.queues.n; i++)
        text_str(p->a, names, NULL, view.queues.at[i].name);
    const struct entry_list data = ctl_catalogue_view(p->ctl, p->a, ENTRY_DATASET);
    names = text_list(p->a, out, storages);
    for (size_t i = 0; i < data.n; i++)
        text_str(p->a, names, NULL, data.at[i]->name);
}

static struct text_node *put_user(struct pai *p, struct text_node *parent,
                                  const struct user_view *user)
{
    struct arena *a = p->a;
    bool admin = user->role == ROLE_ADMIN;
    struct text_node *out = text_map(a, parent, NULL);
    text_str(a, out, "username", user->name);
    text_str(a, out, "email", user->email ? user->email : "");
    put_groups(p, out, &user->projects, admin);
    if (user->extension && user->extension->kind == TEXT_MAP)
        text_copy(a, out, "extension", user->extension);
    else
        text_map(a, out, "extension");
    text_bool(a, out, "admin", admin);
    pai_put_rights(p, out, "virtualCluster", "storageConfig");
    text_bool(a, out, "hasGitHubPAT", false);
    return out;
}

/* Users of this machine need no row. */
static struct user_view myself(const struct pai *p)
{
    return (struct user_view){ .name = p->me, .role = p->call->who.role };
}

void pai_users(struct pai *p)
{
    struct text_node *list = text_list(p->a, NULL, NULL);
    const struct user_view me = myself(p);
    const struct user_list users = list_users(ctl_accounts(p->ctl), p->a, p->me);
    if (!show_user(ctl_accounts(p->ctl), p->a, p->me, p->me))
        put_user(p, list, &me);
    for (size_t i = 0; i < users.n; i++)
        put_user(p, list, &users.at[i]);
    pai_answer(p, 200, list);
}

void pai_user(struct pai *p)
{
    const char *name = is(p->param[0], "me") ? p->me : p->param[0];
    const struct user_view me = myself(p),
                           *user = show_user(ctl_accounts(p->ctl), p->a, p->me, name);
    if (!user && is(name, p->me))
        user = &me;
    if (user)
        pai_answer(p, 200, put_user(p, NULL, user));
    else
        pai_fail(p, PAI_NO_USER, "User %.200s is not found.", name);
}

/* ---- changing ---- */

static void on_done(void *arg, const struct ctl_answer *answer)
{
    struct pai *p = arg;
    enum err_code code = answer->err ? answer->err->code : ERR_NONE;
    bool create = strcmp(p->route->method, "POST") == 0;
    bool remove = strcmp(p->route->method, "DELETE") == 0 && p->route->handle == pai_user_delete;
    if (code == ERR_CONFLICT)
        pai_fail(p, PAI_CONFLICT_USER, "User name %.200s already exists.", p->user);
    else if (code == ERR_NOT_FOUND)
        pai_fail(p, PAI_NO_USER, "User %.200s is not found.", p->user);
    else if (code == ERR_DENIED)
        pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to do this operation.", p->me);
    else if (code)
        pai_err(p, answer->err, NULL);
    else
        pai_message(p, remove ? 200 : 201,
                    create   ? "User is created successfully"
                    : remove ? "user is removed successfully"
                             : p->said);
}

static void put(struct pai *p, const struct user_change *ask)
{
    p->user = ask->name;
    call_keep(p->call);
    ctl_user_put(p->ctl, ask, on_done, p);
}

/* Groups that say nothing here fall out. */
static void add_group(struct words *projects, const char *group)
{
    if (!is(group, PAI_GROUP_ALL) && !is(group, PAI_GROUP_ADMIN) && !words_have(projects, group))
        projects->at[projects->n++] = group;
}

/* Names of groups as projects. */
static struct words read_groups(struct arena *a, const struct text_node *list)
{
    struct words out = { 0 };
    if (!list || list->kind != TEXT_LIST)
        return out;
    out.at = ARENA_ARRAY(a, list->count + 1, const char *);
    for (const struct text_node *one = list->first; one; one = one->next)
        if (one->kind == TEXT_STR)
            add_group(&out, one->str);
    return out;
}

static bool names_admin(const struct text_node *list)
{
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (one->kind == TEXT_STR && is(one->str, PAI_GROUP_ADMIN))
            return true;
    return false;
}

/* One more thing that is wrong: all are said together, a line each. */
static void add_wrong(struct pai *p, const char **wrong, const char *what)
{
    *wrong = *wrong ? arena_printf(p->a, "%s\n%s", *wrong, what) : what;
}

/* What a map says of a user, of an admin's members too. NULL, or what is wrong. */
static const char *read_user(struct pai *p, const struct text_node *data, bool admin,
                             struct user_change *ask)
{
    const struct text_node *extension = text_get(data, "extension");
    const struct text_node *role = admin ? text_get(data, "admin") : NULL;
    const struct text_node *groups = admin ? text_get(data, "grouplist") : NULL;
    const char *password = pai_text(data, admin ? "password" : "newPassword"), *wrong = NULL;
    ask->by = p->me;
    ask->email = pai_text(data, "email");
    if (extension && extension->kind != TEXT_MAP)
        add_wrong(p, &wrong, "\"extension\" must be an object");
    ask->extension = extension;
    if (role && role->kind != TEXT_BOOL && role->kind != TEXT_STR)
        add_wrong(p, &wrong, "\"admin\" must be a boolean");
    if (groups && groups->kind != TEXT_LIST)
        add_wrong(p, &wrong, "\"grouplist\" must be an array");
    ask->set_projects = groups != NULL;
    ask->projects = read_groups(p->a, groups);
    ask->set_role = role != NULL || names_admin(groups);
    ask->role = pai_true(data, "admin") || names_admin(groups) ? ROLE_ADMIN : ROLE_USER;
    if (password && strlen(password) < PASSWORD_LEAST)
        add_wrong(p, &wrong, "\"password\" length must be at least 6 characters long");
    ask->set_password = password != NULL;
    ask->password = password;
    return wrong;
}

void pai_user_create(struct pai *p)
{
    const struct text_node *body = pai_body(p);
    struct user_change ask = { .name = pai_text(body, "username"), .create = true };
    const char *wrong = body ? read_user(p, body, true, &ask) : NULL;
    if (!body)
        return;
    if (!ask.name)
        add_wrong(p, &wrong, "\"username\" is required");
    if (!ask.password)
        add_wrong(p, &wrong, "\"password\" is required");
    if (wrong)
        pai_fail(p, PAI_PARAMETERS, "%s", wrong);
    else
        put(p, &ask);
}

/* {patch, data}: without patch everything has to be there. */
void pai_user_update(struct pai *p)
{
    const struct text_node *body = pai_body(p), *data = text_get(body, "data");
    struct user_change ask = { .name = pai_text(data, "username") };
    static const char *const needed[] = { "email", "virtualCluster", "admin", "password" };
    const char *wrong = body ? read_user(p, data, true, &ask) : NULL;
    if (!body)
        return;
    for (size_t i = 0; i < ARRAY_LEN(needed) && !pai_true(body, "patch"); i++)
        if (!text_get(data, needed[i]))
            add_wrong(p, &wrong, arena_printf(p->a, "\"%s\" is required without patch", needed[i]));
    if (!ask.name)
        add_wrong(p, &wrong, "\"data.username\" is required");
    p->said = "update user information successfully";
    if (wrong)
        pai_fail(p, PAI_PARAMETERS, "%s", wrong);
    else
        put(p, &ask);
}

/* A new password needs the old one, but from an admin for somebody else. false: answered. */
static bool knows_old(struct pai *p, const char *user, const char *old)
{
    const struct identity_login login = { user, old ? old : "" };
    struct identity who;
    struct err err;
    if (p->call->who.role == ROLE_ADMIN && !is(user, p->me))
        return true;
    if (limit_password(p->call, &login, &who, &err) == 0)
        return true;
    if (err.code == ERR_BUSY)
        pai_err(p, &err, NULL);
    else
        pai_fail(p, PAI_FORBIDDEN, "Pls input the correct password.");
    return false;
}

void pai_user_me(struct pai *p)
{
    const struct text_node *body = pai_body(p), *data = text_get(body, "data");
    struct user_change ask = { .name = p->me };
    const char *wrong = body ? read_user(p, data, false, &ask) : NULL;
    const char *name = pai_text(data, "username");
    if (!body)
        return;
    p->said = "update user information successfully";
    if (name && !is(name, p->me))
        pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to do this operation.", p->me);
    else if (wrong)
        pai_fail(p, PAI_PARAMETERS, "%s", wrong);
    else if (!ask.set_password || knows_old(p, p->me, pai_text(data, "oldPassword")))
        put(p, &ask);
}

void pai_user_password(struct pai *p)
{
    const struct text_node *body = pai_body(p);
    struct user_change ask = { .by = p->me, .name = p->param[0], .set_password = true };
    if (!body)
        return;
    ask.password = pai_text(body, "newPassword");
    p->said = "update user password successfully";
    if (p->call->who.role != ROLE_ADMIN && !is(p->param[0], p->me))
        pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to do this operation.", p->me);
    else if (!ask.password || strlen(ask.password) < PASSWORD_LEAST)
        pai_fail(p, PAI_PARAMETERS, "\"newPassword\" length must be at least 6 characters long");
    else if (knows_old(p, p->param[0], pai_text(body, "oldPassword")))
        put(p, &ask);
}

/* One member: the last word of the path. Rights to virtual clusters are not kept here. */
void pai_user_field(struct pai *p)
{
    const struct text_node *body = pai_body(p);
    const char *member = strrchr(p->route->path, '/') + 1;
    bool admin = p->call->who.role == ROLE_ADMIN;
    struct user_change ask = { .name = p->param[0] };
    const char *wrong = body ? read_user(p, body, admin, &ask) : NULL;
    if (!body)
        return;
    p->said = arena_printf(p->a, "update user %s successfully", member);
    ask.set_password = false;
    if (!admin && !is(p->param[0], p->me))
        pai_fail(p, PAI_FORBIDDEN, "User %s is not allowed to do this operation.", p->me);
    else if (is(member, "virtualcluster"))
        pai_fail(p, PAI_NOT_IMPLEMENTED,
                 "Every user may use every virtual cluster here; shares are set in the queues.");
    else if (wrong || !text_get(body, member))
        pai_fail(p, PAI_PARAMETERS, "%s",
                 wrong ? wrong : arena_printf(p->a, "\"%s\" is required", member));
    else
        put(p, &ask);
}

void pai_user_delete(struct pai *p)
{
    struct identity who;
    p->user = p->param[0];
    identify_by_name(ctl_accounts(p->ctl), p->a, p->user,
                     &who); /* admins of the machine have no row */
    if (who.role == ROLE_ADMIN) {
        pai_fail(p, PAI_REMOVE_ADMIN, "Admin %.200s is not allowed to remove.", p->user);
        return;
    }
    call_keep(p->call);
    ctl_user_remove(p->ctl, p->me, p->user, on_done, p);
}

/* ---- one group more, or less ---- */

void pai_user_group(struct pai *p)
{
    bool add = strcmp(p->route->method, "PUT") == 0;
    const struct text_node *body = pai_body(p);
    const char *group = pai_text(body, "groupname");
    const struct user_view *user = show_user(ctl_accounts(p->ctl), p->a, p->me, p->param[0]);
    struct user_change ask = { .by = p->me, .name = p->param[0] };
    if (!body)
        return;
    p->said = add ? "update user group successfully" : "remove user group successfully";
    if (!group) {
        pai_fail(p, PAI_PARAMETERS, "\"groupname\" is required");
    } else if (!user) {
        pai_fail(p, PAI_NO_USER, "User %.200s is not found.", p->param[0]);
    } else if (is(group, PAI_GROUP_ALL)) {
        pai_message(p, 201, p->said);
    } else if (is(group, PAI_GROUP_ADMIN)) {
        ask.set_role = true;
        ask.role = add ? ROLE_ADMIN : ROLE_USER;
        put(p, &ask);
    } else {
        const struct words *now = &user->projects;
        ask.projects.at = ARENA_ARRAY(p->a, now->n + 1, const char *);
        for (size_t i = 0; i < now->n; i++)
            if (!is(group, now->at[i]))
                add_group(&ask.projects, now->at[i]);
        if (add)
            ask.projects.at[ask.projects.n++] = group;
        ask.set_projects = true;
        put(p, &ask);
    }
}
