/* Workspaces, their members, what members may.
 *
 * A workspace is the catalogue's entry of that name, which is its id too; its members are the users
 * who have it among their projects, and every user is in "default". Roles are the server's: admin,
 * user, reader. */
#include "api/dlc/documents.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>
#include <strings.h>

#define PREF  "dlc.user"
#define EPOCH "2024-01-01T00:00:00.000Z"

static const struct dlc_kind workspace = { ENTRY_WORKSPACE, "dlc.workspace", false };
static const struct dlc_list_type listed = { .key = "Workspaces",
                                             .size = 20,
                                             .sorts = { "GmtCreateTime", "GmtModifiedTime" } };

static const char *const roles[ROLE_N] = { [ROLE_READER] = "PAI.WorkspaceGuest",
                                           [ROLE_USER] = "PAI.AlgoDeveloper",
                                           [ROLE_ADMIN] = "PAI.WorkspaceAdmin" };

/* ---- who is in it ---- */

static bool has_project(const struct user_view *user, const char *space)
{
    return (user && words_have(&user->projects, space)) || strcmp(space, "default") == 0;
}

static bool member(struct dlc_call *d, const char *space)
{
    return dlc_is_admin(d) ||
           has_project(show_user(ctl_accounts(d->ctl), d->arena, d->call->owner, d->call->owner),
                       space);
}

static const struct entry *space_of(struct dlc_call *d, const char *name)
{
    const struct entry *entry = dlc_entry(d, ENTRY_WORKSPACE, name);
    if (entry && member(d, name))
        return entry;
    dlc_fail(d, 404, "NotFound", "no workspace \"%.100s\"", name);
    return NULL;
}

bool dlc_space_there(struct dlc_call *d, const char *name)
{
    return space_of(d, name) != NULL;
}

/* ---- workspaces ---- */

const char *dlc_default_space(struct dlc_call *d)
{
    const struct document_view *pref = dlc_object(d, PREF, "", d->call->owner);
    const char *name = dlc_text(dlc_spec(pref), "DefaultWorkspace");
    return name && dlc_entry(d, ENTRY_WORKSPACE, name) ? name : "default";
}

static struct text_node *shown(struct dlc_call *d, const struct dlc_object *x,
                               const char *preferred)
{
    struct arena *a = d->arena;
    struct text_node *out = dlc_map(d);
    const char *about = x->entry->description;
    const char *name = dlc_text(x->spec, "DisplayName");
    const char *owner = x->row ? x->row->owner : "root";
    const char *created = x->row ? facade_time_ms(a, x->row->created_ms) : EPOCH;
    text_str(a, out, "WorkspaceId", x->id);
    text_str(a, out, "WorkspaceName", x->id);
    text_str(a, out, "DisplayName", name ? name : x->id);
    text_str(a, out, "Description", about ? about : "");
    text_str(a, out, "Status", "ENABLED");
    text_str(a, out, "Creator", owner);
    text_str(a, out, "GmtCreateTime", created);
    text_str(a, out, "GmtModifiedTime", x->row ? facade_time_ms(a, x->row->changed_ms) : created);
    text_str(a, text_list(a, out, "EnvTypes"), NULL, "prod");
    text_str(a, text_list(a, out, "AdminNames"), NULL, owner);
    text_bool(a, out, "IsDefault", strcmp(x->id, preferred) == 0);
    text_str(a, text_map(a, out, "ExtraInfos"), "TenantId", "muster");
    return out;
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

/* Fields=Id: that member alone. */
static struct text_node *only_id(struct dlc_call *d, const char *id)
{
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "WorkspaceId", id);
    return out;
}

static bool wanted(struct dlc_call *d, const char *name)
{
    const char *part = dlc_query(d, "WorkspaceName"), *ids = dlc_query(d, "WorkspaceIds");
    const char *status = dlc_query(d, "Status"), *option = dlc_query(d, "Option");
    return (!part || dlc_within(part, name)) && (!ids || dlc_in_list(ids, name)) &&
           (!status || strcasecmp(status, "ENABLED") == 0) &&
           (!option || strcmp(option, "GetWorkspaces") == 0);
}

void dlc_space_list(struct dlc_call *d)
{
    const char *preferred = dlc_default_space(d);
    const struct user_view *user =
        show_user(ctl_accounts(d->ctl), d->arena, d->call->owner, d->call->owner);
    struct dlc_listing l;
    size_t n;
    if (!dlc_listing_begin(&l, d, &listed))
        return;
    const struct dlc_object *all = dlc_things(d, &workspace, &n);
    for (size_t i = 0; i < n; i++)
        if ((dlc_is_admin(d) || has_project(user, all[i].id)) && wanted(d, all[i].id))
            dlc_listing_add(
                &l, dlc_query(d, "Fields") ? only_id(d, all[i].id) : shown(d, &all[i], preferred),
                all[i].row);
    struct text_node *out = dlc_listing_end(&l);
    text_list(d->arena, out, "ResourceLimits");
    dlc_ok(d, out);
}

static void answer_space(struct dlc_call *d, const char *name)
{
    const struct entry *entry = space_of(d, name);
    if (!entry)
        return;
    const struct dlc_object x = dlc_thing(d, &workspace, entry);
    struct text_node *out = shown(d, &x, dlc_default_space(d));
    put_owner(d, out);
    dlc_ok(d, out);
}

void dlc_space_get(struct dlc_call *d)
{
    answer_space(d, d->param[0]);
}

void dlc_space_default(struct dlc_call *d)
{
    const char *name = dlc_default_space(d);
    answer_space(d, member(d, name) ? name : "default");
}

void dlc_space_set_default(struct dlc_call *d)
{
    const char *name;
    if (!dlc_need(d, "WorkspaceId", &name) || !space_of(d, name))
        return;
    struct text_node *spec = text_map(d->arena, NULL, NULL);
    text_str(d->arena, spec, "DefaultWorkspace", name);
    struct document object = { PREF, "", d->call->owner, spec };
    dlc_store(d, &object, false, NULL);
}

/* The part that only these clients know, beside the entry. */
static void change_space(struct dlc_call *d, const char *name, struct text_node *ready)
{
    const struct entry *was = dlc_entry(d, ENTRY_WORKSPACE, name);
    const struct text_node *old = dlc_spec(dlc_object(d, workspace.document, "", name));
    const char *about = dlc_text(d->body, "Description");
    const char *display = dlc_text(d->body, "DisplayName");
    struct text_node *entry = dlc_map(d), *spec = dlc_map(d);
    dlc_put(d->arena, entry, "queue", was ? was->queue : NULL);
    dlc_put(d->arena, entry, "description", about ? about : was ? was->description : "");
    dlc_put(d->arena, spec, "DisplayName", display ? display : dlc_text(old, "DisplayName"));
    dlc_thing_put(d, &workspace, name, entry, spec, ready);
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
    if (dlc_space_there(d, d->param[0]))
        dlc_thing_remove(d, &workspace, d->param[0], NULL);
}

/* ---- members ---- */

static void put_member(struct dlc_call *d, struct text_node *out, const struct user_view *user,
                       const char *space)
{
    struct arena *a = d->arena;
    const char *name = user->name;
    text_str(a, out, "MemberId", arena_printf(a, "%s-%s", space, name));
    text_str(a, out, "UserId", name);
    text_str(a, out, "MemberName", name);
    text_str(a, out, "DisplayName", name);
    text_str(a, text_list(a, out, "Roles"), NULL, roles[user->role]);
    text_str(a, out, "GmtCreateTime", facade_time_ms(a, user->created_ms));
}

/* Who asks is known, also when no row says so: a user of this machine. */
static struct user_view oneself(const struct dlc_call *d)
{
    return (struct user_view){ .name = d->call->owner, .role = d->call->who.role };
}

static const struct user_view *known_user(struct dlc_call *d, const char *name)
{
    const struct user_view *user = show_user(ctl_accounts(d->ctl), d->arena, d->call->owner, name);
    if (user || strcmp(name, d->call->owner) != 0)
        return user;
    struct user_view *own = ARENA_NEW(d->arena, struct user_view);
    *own = oneself(d);
    return own;
}

/* Those that the server knows; for who is no admin that is oneself. */
static struct user_list users(struct dlc_call *d)
{
    const struct user_list known = list_users(ctl_accounts(d->ctl), d->arena, d->call->owner);
    struct user_list all = { .at = ARENA_ARRAY(d->arena, known.n + 1, struct user_view) };
    bool own = false;
    for (; all.n < known.n; all.n++) {
        all.at[all.n] = known.at[all.n];
        own |= strcmp(known.at[all.n].name, d->call->owner) == 0;
    }
    if (!own)
        all.at[all.n++] = oneself(d);
    return all;
}

void dlc_member_list(struct dlc_call *d)
{
    const char *space = d->param[0], *name = dlc_query(d, "MemberName");
    const char *words = dlc_query(d, "Roles"), *id = dlc_query(d, "UserId");
    struct facade_page page;
    uint64_t at = 0;
    if (!space_of(d, space) || !dlc_page(d, 20, &page))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Members");
    const struct user_list all = users(d);
    for (const struct user_view *one = all.at; one < all.at + all.n; one++) {
        if (!(has_project(one, space) || one->role == ROLE_ADMIN) ||
            (name && !dlc_within(name, one->name)) || (id && strcmp(id, one->name) != 0) ||
            (words && !dlc_in_list(words, roles[one->role])))
            continue;
        if (at >= page.offset && at < page.offset + page.limit)
            put_member(d, text_map(d->arena, list, NULL), one, space);
        at++;
    }
    text_int(d->arena, out, "TotalCount", (int64_t)at);
    dlc_ok(d, out);
}

/* "space-name" or "name". */
static const struct user_view *user_of(struct dlc_call *d, const char *space, const char *id)
{
    size_t len = strlen(space);
    const char *name = strncmp(id, space, len) == 0 && id[len] == '-' ? id + len + 1 : id;
    const struct user_view *user = known_user(d, name);
    if (user && (has_project(user, space) || user->role == ROLE_ADMIN))
        return user;
    dlc_fail(d, 404, "NotFound", "workspace \"%.60s\" has no member \"%.60s\"", space, id);
    return NULL;
}

void dlc_member_get(struct dlc_call *d)
{
    const char *id = dlc_query(d, "MemberId"), *name = dlc_query(d, "UserId");
    struct text_node *out = dlc_map(d);
    if (!id && !name) {
        dlc_missing(d, "MemberId");
        return;
    }
    const struct user_view *user =
        space_of(d, d->param[0]) ? user_of(d, d->param[0], id ? id : name) : NULL;
    if (!user)
        return;
    if (name && strcmp(user->name, name) != 0) {
        dlc_fail(d, 404, "NotFound", "MemberId \"%.60s\" is not user \"%.60s\"", id, name);
        return;
    }
    put_member(d, out, user, d->param[0]);
    dlc_ok(d, out);
}

static struct words projects_of(struct dlc_call *d, const struct user_view *user, const char *space,
                                bool with)
{
    const struct words *has = &user->projects;
    struct words out = { .at = ARENA_ARRAY(d->arena, has->n + 1, const char *) };
    for (size_t i = 0; i < has->n; i++)
        if (strcmp(has->at[i], space) != 0)
            out.at[out.n++] = has->at[i];
    if (with)
        out.at[out.n++] = space;
    return out;
}

struct membership { /* users one after the other, each in its own command */
    const struct user_view *users[100];
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
    const struct user_view *user = m->users[m->at++];
    while (user->role == ROLE_ADMIN && m->at < m->n) /* admins are in all of them */
        user = m->users[m->at++];
    if (user->role == ROLE_ADMIN) {
        dlc_ok(d, m->ready);
        return;
    }
    struct user_change put = { .by = d->call->owner,
                               .name = user->name,
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

/* A user has one role, everywhere. */
static bool may_have(struct dlc_call *d, const struct user_view *user, const char *role)
{
    const char *has = roles[user->role];
    if (role && strcmp(role, has) == 0)
        return true;
    dlc_fail(d, 400, "NotSupported",
             "a user has one role in all workspaces, %s here %s: muster user set changes it",
             user->name, has);
    return false;
}

/* {UserId, Roles}; NULL: answered. */
static const struct user_view *joining(struct dlc_call *d, const struct text_node *one)
{
    const char *name = dlc_text(one, "UserId");
    const struct user_view *user = name ? known_user(d, name) : NULL;
    const struct text_node *said = dlc_list(one, "Roles");
    if (!user)
        dlc_fail(d, 404, "NotFound", "no user \"%.60s\": muster user add", name ? name : "");
    for (const struct text_node *role = user && said ? said->first : NULL; role; role = role->next)
        if (!may_have(d, user, role->str))
            return NULL;
    return user;
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
        const struct user_view *user = joining(d, one);
        if (!user)
            return;
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
    for (const char *at = ids; *at; at += strcspn(at, ","), at += *at == ',') {
        if (m->n == ARRAY_LEN(m->users)) {
            dlc_fail(d, 400, "InvalidParameter", "MemberIds are 1 to %zu", ARRAY_LEN(m->users));
            return;
        }
        const struct user_view *user =
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

/* Saying the one it has is no change. */
static void change_role(struct dlc_call *d, bool add)
{
    const struct user_view *user =
        space_of(d, d->param[0]) ? user_of(d, d->param[0], d->param[1]) : NULL;
    if (!user)
        return;
    bool has = strcmp(roles[user->role], d->param[2]) == 0;
    if (has == add || may_have(d, user, add ? d->param[2] : NULL))
        dlc_ok(d, dlc_map(d));
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
    const char *name = dlc_query(d, "UserName"), *id = dlc_query(d, "UserId");
    if (!space_of(d, d->param[0]))
        return;
    struct text_node *out = dlc_map(d), *list = text_list(d->arena, out, "Users");
    const struct user_list all = users(d);
    for (const struct user_view *one = all.at; one < all.at + all.n; one++) {
        if ((name && !dlc_within(name, one->name)) || (id && strcmp(id, one->name) != 0))
            continue;
        struct text_node *user = text_map(d->arena, list, NULL);
        text_str(d->arena, user, "UserId", one->name);
        text_str(d->arena, user, "UserName", one->name);
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

static bool reads(const char *code)
{
    return strstr(code, ":Get") || strstr(code, ":List");
}

static bool permitted(const struct dlc_call *d, const char *code)
{
    return reads(code) || d->call->who.role != ROLE_READER;
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
    const char *creator = dlc_query(d, "Creator"), *access = dlc_query(d, "Accessibility");
    bool public = access && strcmp(access, "PUBLIC") == 0 && reads(d->param[1]);
    if (creator && strcmp(creator, d->call->owner) != 0 && !public && !dlc_is_admin(d)) {
        dlc_fail(d, 403, "Forbidden.RAM", "that is %.60s's, and %s is no admin", creator,
                 d->call->owner);
        return;
    }
    struct text_node *out = dlc_map(d);
    text_str(d->arena, out, "PermissionCode", d->param[1]);
    put_rules(d, out);
    dlc_ok(d, out);
}
