/* Workspaces, their members, what members may, and the queues that stand for quotas.
 *
 * A workspace is the catalogue's entry of that name, which is its id too; its members are the users
 * who have it among their projects, and every user is in "default". Roles are the server's: admin,
 * user, reader. */
#include "api/dlc/op.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>
#include <strings.h>

#define KIND  "dlc.workspace"
#define PREF  "dlc.user"
#define EPOCH "2024-01-01T00:00:00.000Z"

static const char *const roles[ROLE_N] = { [ROLE_READER] = "PAI.WorkspaceGuest",
                                           [ROLE_USER] = "PAI.AlgoDeveloper",
                                           [ROLE_ADMIN] = "PAI.WorkspaceAdmin" };

/* ---- who is in it ---- */

static bool has_project(const struct text_node *user, const char *space)
{
    const struct text_node *projects = user ? text_get(user, "projects") : NULL;
    for (const struct text_node *one = projects ? projects->first : NULL; one; one = one->next)
        if (strcmp(one->str, space) == 0)
            return true;
    return strcmp(space, "default") == 0;
}

static bool member(struct dlc_call *d, const char *space)
{
    return dlc_is_admin(d) ||
           has_project(ctl_user_tree(d->ctl, d->arena, d->call->owner, d->call->owner), space);
}

static const struct text_node *space_of(struct dlc_call *d, const char *name)
{
    const struct text_node *entry = dlc_entry(d, ENTRY_WORKSPACE, name);
    if (entry && member(d, name))
        return entry;
    dlc_fail(d, 404, "NotFound", "no workspace \"%.100s\"", name);
    return NULL;
}

/* ---- workspaces ---- */

static const char *preferred(struct dlc_call *d)
{
    const struct text_node *pref = dlc_object(d, PREF, "", d->call->owner);
    const char *name = dlc_text(dlc_spec(pref), "DefaultWorkspace");
    return name && dlc_entry(d, ENTRY_WORKSPACE, name) ? name : "default";
}

static void put_space(struct dlc_call *d, struct text_node *out, const struct text_node *entry)
{
    struct arena *a = d->arena;
    const char *name = dlc_text(entry, "name"), *about = dlc_text(entry, "description");
    const struct text_node *row = dlc_object(d, KIND, "", name);
    const char *shown = dlc_text(dlc_spec(row), "DisplayName");
    const char *owner = row ? dlc_text(row, "owner") : "root";
    const char *created = row ? facade_time_ms(a, dlc_when(row, "created_ms")) : EPOCH;
    text_str(a, out, "WorkspaceId", name);
    text_str(a, out, "WorkspaceName", name);
    text_str(a, out, "DisplayName", shown ? shown : name);
    text_str(a, out, "Description", about ? about : "");
    text_str(a, out, "Status", "ENABLED");
    text_str(a, out, "Creator", owner);
    text_str(a, out, "GmtCreateTime", created);
    text_str(a, out, "GmtModifiedTime",
             row ? facade_time_ms(a, dlc_when(row, "changed_ms")) : created);
    text_str(a, text_list(a, out, "EnvTypes"), NULL, "prod");
    text_str(a, text_list(a, out, "AdminNames"), NULL, owner);
    text_bool(a, out, "IsDefault", strcmp(name, preferred(d)) == 0);
    text_str(a, text_map(a, out, "ExtraInfos"), "TenantId", "muster");
}

static void put_owner(struct dlc_call *d, struct text_node *out)
{
    const char *creator = dlc_text(out, "Creator");
    struct text_node *owner = text_map(d->arena, out, "Owner");
    text_str(d->arena, owner, "UserId", creator);
    text_str(d->arena, owner, "UserName", creator);
    text_str(d->arena, owner, "DisplayName", creator);
    text_str(d->arena, owner, "UserKp", creator);
}

void dlc_space_list(struct dlc_call *d)
{
    const char *name = dlc_query(d, "WorkspaceName"), *ids = dlc_query(d, "WorkspaceIds");
    const char *status = dlc_query(d, "Status");
    struct facade_page page;
    bool ascending;
    uint64_t at = 0;
    if (!dlc_page(d, 20, &page) || !dlc_order(d, true, &ascending))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Workspaces");
    const struct text_node *all = dlc_entries(d, ENTRY_WORKSPACE);
    for (const struct text_node *one = all->first; one; one = one->next) {
        const char *is = dlc_text(one, "name");
        if (!member(d, is) || (name && !dlc_within(name, is)) || (ids && !dlc_in_list(ids, is)) ||
            (status && strcasecmp(status, "ENABLED") != 0))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            put_space(d, text_map(d->arena, list, NULL), one);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    text_list(d->arena, out, "ResourceLimits");
    dlc_ok(d, out);
}

static void answer_space(struct dlc_call *d, const char *name)
{
    struct text_node *out = dlc_map(d);
    const struct text_node *entry = space_of(d, name);
    if (!entry)
        return;
    put_space(d, out, entry);
    put_owner(d, out);
    dlc_ok(d, out);
}

void dlc_space_get(struct dlc_call *d)
{
    answer_space(d, d->param[0]);
}

void dlc_space_default(struct dlc_call *d)
{
    const char *name = preferred(d);
    answer_space(d, member(d, name) ? name : "default");
}

void dlc_space_set_default(struct dlc_call *d)
{
    const char *name;
    if (!dlc_need(d, "WorkspaceId", &name) || !space_of(d, name))
        return;
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    text_str(d->arena, spec, "DefaultWorkspace", name);
    struct ctl_object object = { PREF, "", d->call->owner, spec };
    dlc_store(d, &object, false, NULL);
}

/* The part that only these clients know, beside the entry. */
static void change_space(struct dlc_call *d, const char *name, struct text_node *ready)
{
    struct text_node *entry = text_map(d->arena, NULL, NULL);
    const struct text_node *was = dlc_entry(d, ENTRY_WORKSPACE, name);
    const struct text_node *old = dlc_spec(dlc_object(d, KIND, "", name));
    const char *about = dlc_text(d->body, "Description");
    const char *shown = dlc_text(d->body, "DisplayName");
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    struct ctl_object *object = ARENA_NEW(d->arena, struct ctl_object);
    text_str(d->arena, entry, "kind", "workspace");
    text_str(d->arena, entry, "name", name);
    dlc_copy(d->arena, entry, was, "queue");
    dlc_put(d->arena, entry, "description",
            about ? about
            : was ? dlc_text(was, "description")
                  : "");
    dlc_put(d->arena, spec, "DisplayName", shown ? shown : dlc_text(old, "DisplayName"));
    *object = (struct ctl_object){ KIND, "", name, spec };
    dlc_change(d, &(struct dlc_change){ .kind = ENTRY_WORKSPACE,
                                        .name = name,
                                        .entry = entry,
                                        .objects = object,
                                        .n_objects = 1,
                                        .ready = ready });
}

static bool good_name(const char *name)
{
    size_t len = strlen(name);
    bool letter = (name[0] | 32) >= 'a' && (name[0] | 32) <= 'z';
    return letter && len >= 3 && len <= 23 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len;
}

void dlc_space_create(struct dlc_call *d)
{
    const char *name;
    if (!dlc_need(d, "WorkspaceName", &name))
        return;
    if (!good_name(name)) {
        dlc_fail(d, 400, "InvalidParameter",
                 "WorkspaceName is \"%.60s\"; 3 to 23 letters, digits and _, a letter first", name);
        return;
    }
    if (dlc_entry(d, ENTRY_WORKSPACE, name)) {
        dlc_fail(d, 409, "Conflict", "there is a workspace \"%.60s\"", name);
        return;
    }
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "WorkspaceId", name);
    change_space(d, name, out);
}

void dlc_space_update(struct dlc_call *d)
{
    if (space_of(d, d->param[0]))
        change_space(d, d->param[0], NULL);
}

void dlc_space_delete(struct dlc_call *d)
{
    struct ctl_object *gone = ARENA_NEW(d->arena, struct ctl_object);
    if (!space_of(d, d->param[0]))
        return;
    *gone = (struct ctl_object){ KIND, "", d->param[0], NULL };
    dlc_change(d,
               &(struct dlc_change){
                   .kind = ENTRY_WORKSPACE, .name = d->param[0], .objects = gone, .n_objects = 1 });
}

/* ---- members ---- */

static enum user_role role_of(const struct text_node *user)
{
    const char *word = dlc_text(user, "role");
    enum user_role role = ROLE_USER;
    if (word)
        user_role_parse(word, &role);
    return role;
}

static void put_member(struct dlc_call *d, struct text_node *out, const struct text_node *user,
                       const char *space)
{
    struct arena *a = d->arena;
    const char *name = dlc_text(user, "name");
    text_str(a, out, "MemberId", arena_printf(a, "%s-%s", space, name));
    text_str(a, out, "UserId", name);
    text_str(a, out, "MemberName", name);
    text_str(a, out, "DisplayName", name);
    text_str(a, text_list(a, out, "Roles"), NULL, roles[role_of(user)]);
    text_str(a, out, "GmtCreateTime", facade_time_ms(a, dlc_when(user, "created_ms")));
}

/* Who asks is known, also when no row says so: a user of this machine. */
static struct text_node *oneself(struct dlc_call *d, struct text_node *list)
{
    struct text_node *user = text_map(d->arena, list, NULL);
    text_str(d->arena, user, "name", d->call->owner);
    text_str(d->arena, user, "role", user_role_word(d->call->who.role));
    return user;
}

static const struct text_node *known_user(struct dlc_call *d, const char *name)
{
    const struct text_node *user = ctl_user_tree(d->ctl, d->arena, d->call->owner, name);
    return user || strcmp(name, d->call->owner) != 0 ? user : oneself(d, NULL);
}

/* Those that the server knows; for who is no admin that is oneself. */
static const struct text_node *users(struct dlc_call *d)
{
    struct text_node *list = text_get(ctl_users_tree(d->ctl, d->arena, d->call->owner), "users");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (strcmp(dlc_text(one, "name"), d->call->owner) == 0)
            return list;
    if (list)
        oneself(d, list);
    return list;
}

void dlc_member_list(struct dlc_call *d)
{
    const char *space = d->param[0], *name = dlc_query(d, "MemberName");
    const char *wanted = dlc_query(d, "Roles");
    struct facade_page page;
    uint64_t at = 0;
    if (!space_of(d, space) || !dlc_page(d, 20, &page))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Members");
    const struct text_node *all = users(d);
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next) {
        if (!(has_project(one, space) || role_of(one) == ROLE_ADMIN) ||
            (name && !dlc_within(name, dlc_text(one, "name"))) ||
            (wanted && !dlc_in_list(wanted, roles[role_of(one)])))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            put_member(d, text_map(d->arena, list, NULL), one, space);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    dlc_ok(d, out);
}

/* "space-name" or "name". */
static const struct text_node *user_of(struct dlc_call *d, const char *space, const char *id)
{
    size_t len = strlen(space);
    const char *name = strncmp(id, space, len) == 0 && id[len] == '-' ? id + len + 1 : id;
    const struct text_node *user = known_user(d, name);
    if (user && (has_project(user, space) || role_of(user) == ROLE_ADMIN))
        return user;
    dlc_fail(d, 404, "NotFound", "workspace \"%.60s\" has no member \"%.60s\"", space, id);
    return NULL;
}

void dlc_member_get(struct dlc_call *d)
{
    const char *id = dlc_query(d, "MemberId");
    struct text_node *out = dlc_map(d);
    id = id ? id : dlc_query(d, "UserId");
    if (!id) {
        dlc_missing(d, "MemberId");
        return;
    }
    const struct text_node *user = space_of(d, d->param[0]) ? user_of(d, d->param[0], id) : NULL;
    if (!user)
        return;
    put_member(d, out, user, d->param[0]);
    dlc_ok(d, out);
}

static struct words projects_of(struct dlc_call *d, const struct text_node *user, const char *space,
                                bool with)
{
    const struct text_node *list = text_get(user, "projects");
    struct words out = { .at = ARENA_ARRAY(d->arena, (list ? list->count : 0) + 1, const char *) };
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (strcmp(one->str, space) != 0)
            out.at[out.n++] = one->str;
    if (with)
        out.at[out.n++] = space;
    return out;
}

struct membership { /* users one after the other, each in its own command */
    const struct text_node *users[100];
    size_t n, at;
    bool with;
    struct text_node *ready;
};

static void next_member(struct dlc_call *d);

static void member_changed(void *arg, const struct ctl_answer *answer)
{
    struct dlc_call *d = arg;
    if (dlc_done(d, answer))
        next_member(d);
}

static void next_member(struct dlc_call *d)
{
    struct membership *m = d->more;
    if (m->at == m->n) {
        dlc_ok(d, m->ready);
        return;
    }
    const struct text_node *user = m->users[m->at++];
    while (role_of(user) == ROLE_ADMIN && m->at < m->n) /* admins are in all of them */
        user = m->users[m->at++];
    if (role_of(user) == ROLE_ADMIN) {
        dlc_ok(d, m->ready);
        return;
    }
    struct ctl_user put = { .by = d->call->owner,
                            .name = dlc_text(user, "name"),
                            .set_projects = true,
                            .projects = projects_of(d, user, d->param[0], m->with) };
    ctl_user_put(d->ctl, &put, member_changed, d);
}

static struct membership *membership(struct dlc_call *d, bool with)
{
    struct membership *m = ARENA_NEW(d->arena, struct membership);
    m->with = with;
    m->ready = dlc_map(d);
    d->more = m;
    return m;
}

void dlc_member_create(struct dlc_call *d)
{
    const struct text_node *list = dlc_list(d->body, "Members");
    struct membership *m = membership(d, true);
    if (!space_of(d, d->param[0]))
        return;
    if (!list || list->count > ARRAY_LEN(m->users)) {
        dlc_fail(d, 400, list ? "InvalidParameter" : "MissingParameter",
                 "Members is a list of 1 to %zu {UserId, Roles}", ARRAY_LEN(m->users));
        return;
    }
    struct text_node *out = text_list(d->arena, m->ready, "Members");
    for (const struct text_node *one = list->first; one; one = one->next) {
        const char *name = dlc_text(one, "UserId");
        const struct text_node *user = name ? known_user(d, name) : NULL;
        if (!user) {
            dlc_fail(d, 404, "NotFound", "no user \"%.60s\": muster user add", name ? name : "");
            return;
        }
        m->users[m->n++] = user;
        put_member(d, text_map(d->arena, out, NULL), user, d->param[0]);
    }
    call_keep(d->call);
    next_member(d);
}

void dlc_member_delete(struct dlc_call *d)
{
    const char *ids = dlc_query(d, "MemberIds");
    struct membership *m = membership(d, false);
    if (!ids) {
        dlc_missing(d, "MemberIds");
        return;
    }
    if (!space_of(d, d->param[0]))
        return;
    for (const char *at = ids; *at && m->n < ARRAY_LEN(m->users);
         at += strcspn(at, ","), at += *at == ',') {
        const struct text_node *user =
            user_of(d, d->param[0], arena_strndup(d->arena, at, strcspn(at, ",")));
        if (!user)
            return;
        m->users[m->n++] = user;
    }
    text_str(d->arena, m->ready, "Code", "");
    text_str(d->arena, m->ready, "Message", "");
    call_keep(d->call);
    next_member(d);
}

/* A user has one role, everywhere. Saying the one it has is no change. */
static void change_role(struct dlc_call *d, bool add)
{
    const struct text_node *user =
        space_of(d, d->param[0]) ? user_of(d, d->param[0], d->param[1]) : NULL;
    if (!user)
        return;
    bool has = strcmp(roles[role_of(user)], d->param[2]) == 0;
    if (has == add)
        dlc_ok(d, dlc_map(d));
    else
        dlc_fail(d, 400, "NotSupported",
                 "a user has one role in all workspaces, here %s: muster user set changes it",
                 roles[role_of(user)]);
}

void dlc_role_add(struct dlc_call *d)
{
    change_role(d, true);
}

void dlc_role_remove(struct dlc_call *d)
{
    change_role(d, false);
}

void dlc_user_list(struct dlc_call *d)
{
    const char *name = dlc_query(d, "UserName");
    if (!space_of(d, d->param[0]))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Users");
    const struct text_node *all = users(d);
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next) {
        if (name && !dlc_within(name, dlc_text(one, "name")))
            continue;
        struct text_node *user = text_map(d->arena, list, NULL);
        text_str(d->arena, user, "UserId", dlc_text(one, "name"));
        text_str(d->arena, user, "UserName", dlc_text(one, "name"));
    }
    text_int(d->arena, out, "TotalCount", (int64_t)list->count);
    dlc_ok(d, out);
}

/* ---- permissions: what the caller may, by its role ---- */

static void put_rules(struct dlc_call *d, struct text_node *out)
{
    struct text_node *rule = text_map(d->arena, text_list(d->arena, out, "PermissionRules"), NULL);
    bool any = d->call->who.role == ROLE_ADMIN;
    text_str(d->arena, rule, "Accessibility", any ? "ANY" : "PUBLIC");
    text_str(d->arena, rule, "EntityAccessType", any ? "ANY" : "CREATOR");
}

static bool permitted(const struct dlc_call *d, const char *code)
{
    bool reads = strstr(code, ":Get") || strstr(code, ":List");
    return reads || d->call->who.role != ROLE_READER;
}

void dlc_permission_list(struct dlc_call *d)
{
    static const char *const codes[] = {
        "PaiDLC:CreateJob",        "PaiDLC:GetJob",     "PaiDLC:ListJobs",
        "PaiDLC:StopJob",          "PaiDLC:DeleteJob",  "PaiDataset:CreateDataset",
        "PaiDataset:ListDatasets", "PaiImage:AddImage", "PaiImage:ListImages",
    };
    if (!space_of(d, d->param[0]))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Permissions");
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (!permitted(d, codes[i]))
            continue;
        struct text_node *one = text_map(d->arena, list, NULL);
        text_str(d->arena, one, "PermissionCode", codes[i]);
        put_rules(d, one);
    }
    text_int(d->arena, out, "TotalCount", (int64_t)list->count);
    dlc_ok(d, out);
}

void dlc_permission_get(struct dlc_call *d)
{
    if (!space_of(d, d->param[0]))
        return;
    if (!permitted(d, d->param[1])) {
        dlc_fail(d, 403, "Forbidden.RAM", "%s is a reader", d->call->owner);
        return;
    }
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "PermissionCode", d->param[1]);
    put_rules(d, out);
    dlc_ok(d, out);
}

/* ---- quotas and resources: the queues ---- */

static struct text_node *put_quota(struct dlc_call *d, struct text_node *list,
                                   const struct text_node *queue)
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
    return one;
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
        if (!name || strcmp(dlc_text(one, "name"), name) == 0)
            put_quota(d, list, one);
    text_int(d->arena, out, "TotalCount", (int64_t)list->count);
    dlc_ok(d, out);
}

void dlc_resource_list(struct dlc_call *d)
{
    const char *name = dlc_query(d, "ResourceName"), *ids = dlc_query(d, "QuotaIds");
    const char *types = dlc_query(d, "ResourceTypes"), *space = dlc_query(d, "WorkspaceId");
    struct facade_page page;
    uint64_t at = 0;
    if (!dlc_page(d, 20, &page) || (space && !space_of(d, space)))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Resources");
    const struct text_node *all = types && !dlc_in_list(types, "ECS") ? NULL : queues(d);
    for (const struct text_node *one = all ? all->first : NULL; one; one = one->next) {
        const char *is = dlc_text(one, "name");
        if ((name && !dlc_within(name, is)) || (ids && !dlc_in_list(ids, is)))
            continue;
        if (at >= page.offset && at < page.offset + page.limit) {
            struct text_node *shown = text_map(d->arena, list, NULL);
            text_str(d->arena, shown, "Id", is);
            text_str(d->arena, shown, "Name", is);
            text_str(d->arena, shown, "ResourceType", "ECS");
            text_str(d->arena, shown, "ProductType", "DLC");
            text_str(d->arena, shown, "WorkspaceId", space ? space : "default");
            text_bool(d->arena, shown, "IsDefault", strcmp(is, "default") == 0);
            put_quota(d, text_list(d->arena, shown, "Quotas"), one);
            text_list(d->arena, shown, "Labels");
        }
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
