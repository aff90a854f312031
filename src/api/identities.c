/* Users, access keys and tokens over HTTP. Bodies are small JSON maps; a member that has the wrong
 * kind or that nobody knows is an error, so that a mistyped role is not left out in silence. */
#include "api/facade.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

#define PASSWORD_MAX 1024u

#define DAY_MS 86400000ull

/* ---- answers ---- */

static void put_time(struct arena *a, struct text_node *map, const char *key, uint64_t ms)
{
    if (ms)
        text_int(a, map, key, (int64_t)ms);
}

static void put_text(struct arena *a, struct text_node *map, const char *key, const char *text)
{
    if (text)
        text_str(a, map, key, text);
}

static struct text_node *put_user_view(struct arena *a, struct text_node *list,
                                       const struct user_view *user)
{
    struct text_node *map = text_map(a, list, NULL);
    text_str(a, map, "name", user->name);
    text_str(a, map, "role", user_role_word(user->role));
    struct text_node *projects = text_list(a, map, "projects");
    for (size_t i = 0; i < user->projects.n; i++)
        text_str(a, projects, NULL, user->projects.at[i]);
    put_text(a, map, "email", user->email);
    put_text(a, map, "account", user->account);
    text_bool(a, map, "has_password", user->has_password);
    if (user->disabled)
        text_bool(a, map, "disabled", true);
    put_time(a, map, "created_ms", user->created_ms);
    if (user->extension)
        text_copy(a, map, "extension", user->extension);
    return map;
}

static struct text_node *put_key_view(struct arena *a, struct text_node *list,
                                      const struct key_view *key)
{
    struct text_node *map = text_map(a, list, NULL);
    char day[FMT_MAX];
    text_str(a, map, "id", key->id);
    text_str(a, map, "owner", key->owner);
    text_str(a, map, "label", key->label);
    put_time(a, map, "created_ms", key->created_ms);
    if (key->used_day)
        text_str(a, map, "used_day", arena_strndup(a, fmt_time(day, key->used_day * DAY_MS), 10));
    put_time(a, map, "expires_ms", key->expires_ms);
    text_bool(a, map, "disabled", key->disabled);
    put_text(a, map, "secret", key->secret);
    put_text(a, map, "session", key->session);
    return map;
}

static struct text_node *put_token_view(struct arena *a, struct text_node *list,
                                        const struct token_view *token)
{
    struct text_node *map = text_map(a, list, NULL);
    text_str(a, map, "id", token->id);
    text_str(a, map, "owner", token->owner);
    text_str(a, map, "label", token->label);
    put_time(a, map, "created_ms", token->created_ms);
    put_time(a, map, "expires_ms", token->expires_ms);
    text_bool(a, map, "application", token->application);
    put_text(a, map, "job", token->job);
    put_text(a, map, "token", token->secret);
    return map;
}

static void on_done(void *arg, const struct ctl_answer *answer)
{
    struct call *call = arg;
    struct text_node *tree = NULL;
    if (answer->made.user)
        tree = put_user_view(call->arena, NULL, answer->made.user);
    else if (answer->made.key)
        tree = put_key_view(call->arena, NULL, answer->made.key);
    else if (answer->made.token)
        tree = put_token_view(call->arena, NULL, answer->made.token);
    if (tree)
        call_answer(call, call->success, tree);
    else
        call_problem(call, answer->err, answer->report);
}

/* {name} */
static void on_user_removed(void *arg, const struct ctl_answer *answer)
{
    struct call *call = arg;
    if (answer->err) {
        call_problem(call, answer->err, answer->report);
        return;
    }
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_str(call->arena, tree, "name", answer->made.user->name);
    call_answer(call, call->success, tree);
}

/* ---- bodies ---- */

struct member {
    const char *name;
    enum text_kind kind; /* null is taken too */
};

/* The body's map with members of these only, in the arena. NULL: answered. */
static const struct text_node *body_of(struct call *call, const struct member *known, size_t n)
{
    struct text_node *body;
    struct err err = { 0 };
    int rc = facade_body(call, FACADE_JSON, &body, &err);
    if (rc == 0 && body && body->kind != TEXT_MAP)
        rc = err_set(&err, ERR_INPUT, "the body is %s", text_kind_word(body->kind));
    for (const struct text_node *m = rc == 0 && body ? body->first : NULL; m && rc == 0;
         m = m->next) {
        size_t i = 0;
        while (i < n && strcmp(known[i].name, m->key) != 0)
            i++;
        if (i == n)
            rc = err_set(&err, ERR_INPUT, "\"%.60s\" is not known here", m->key);
        else if (m->kind != known[i].kind && m->kind != TEXT_NULL)
            rc = err_set(&err, ERR_INPUT, "%s is %s, not %s", m->key, text_kind_word(m->kind),
                         text_kind_word(known[i].kind));
    }
    if (rc == 0)
        return body ? body : text_map(call->arena, NULL, NULL);
    call_problem(call, &err, NULL);
    return NULL;
}

static const char *text_of(const struct text_node *body, const char *key)
{
    const struct text_node *node = text_get(body, key);
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

/* ---- users ---- */

static const struct member user_members[] = {
    { "name", TEXT_STR },      { "role", TEXT_STR },     { "projects", TEXT_LIST },
    { "email", TEXT_STR },     { "password", TEXT_STR }, { "extension", TEXT_MAP },
    { "disabled", TEXT_BOOL }, { "account", TEXT_STR },
};

static int read_projects(struct call *call, const struct text_node *list, struct user_change *ask,
                         struct err *err)
{
    if (!list)
        return 0;
    ask->set_projects = true;
    ask->projects.at = ARENA_ARRAY(call->arena, list->count, const char *);
    for (const struct text_node *one = list->first; one; one = one->next) {
        if (one->kind != TEXT_STR)
            return err_set(err, ERR_INPUT, "projects has %s in it", text_kind_word(one->kind));
        ask->projects.at[ask->projects.n++] = one->str;
    }
    return 0;
}

static int read_user(struct call *call, const struct text_node *body, struct user_change *ask,
                     struct err *err)
{
    const char *role = text_of(body, "role");
    const struct text_node *password = text_get(body, "password");
    const struct text_node *extension = text_get(body, "extension");
    if (role && !user_role_parse(role, &ask->role)) {
        err_set(err, ERR_INPUT, "role is \"%.40s\"", role);
        return err_hint(err, "reader, user or admin");
    }
    const struct text_node *disabled = text_get(body, "disabled");
    ask->set_role = role != NULL;
    ask->set_disabled = disabled && disabled->kind == TEXT_BOOL;
    ask->disabled = ask->set_disabled && disabled->boolean;
    ask->email = text_of(body, "email");
    ask->account = text_of(body, "account");
    ask->extension = extension && extension->kind == TEXT_MAP ? extension : NULL;
    ask->set_password = password != NULL;
    ask->password = text_of(body, "password");
    if (ask->password && strlen(ask->password) > PASSWORD_MAX)
        return err_set(err, ERR_INPUT, "the password has more than %u bytes", PASSWORD_MAX);
    return read_projects(call, text_get(body, "projects"), ask, err);
}

static void put_user(struct call *call, bool create)
{
    struct user_change ask = { .by = call->owner, .create = create };
    struct err err = { 0 };
    const struct text_node *body = body_of(call, user_members, ARRAY_LEN(user_members));
    if (!body)
        return;
    ask.name = create ? text_of(body, "name") : call->param[0];
    if (!ask.name)
        err_set(&err, ERR_INPUT, "the body has no name");
    if (!ask.name || read_user(call, body, &ask, &err) < 0) {
        call_problem(call, &err, NULL);
        return;
    }
    call_keep(call);
    ctl_user_put(call->api->config.ctl, &ask, on_done, call);
}

void users_list(struct call *call)
{
    struct text_node *root = text_map(call->arena, NULL, NULL);
    struct text_node *out = text_list(call->arena, root, "users");
    const struct user_list list =
        list_users(ctl_accounts(call->api->config.ctl), call->arena, call->owner);
    for (size_t i = 0; i < list.n; i++)
        put_user_view(call->arena, out, &list.at[i]);
    call_answer(call, 200, root);
}

void user_show(struct call *call)
{
    const struct user_view *user =
        show_user(ctl_accounts(call->api->config.ctl), call->arena, call->owner, call->param[0]);
    struct err err;
    if (user) {
        call_answer(call, 200, put_user_view(call->arena, NULL, user));
        return;
    }
    err_set(&err, ERR_NOT_FOUND, "no user \"%.80s\"", call->param[0]);
    call_problem(call, &err, NULL);
}

void user_create(struct call *call)
{
    put_user(call, true);
}

void user_change(struct call *call)
{
    put_user(call, false);
}

void user_remove(struct call *call)
{
    call_keep(call);
    ctl_user_remove(call->api->config.ctl, call->owner, call->param[0], on_user_removed, call);
}

/* ---- keys ---- */

static const struct member key_members[] = {
    { "owner", TEXT_STR },
    { "label", TEXT_STR },
    { "session_s", TEXT_INT },
};
#define SESSION_MAX_S (36 * 3600)
#define LIFE_MAX_S    (100ll * 365 * 86400)

/* Seconds, from 1 to most; absent: 0. false: answered. */
static bool read_seconds(struct call *call, const struct text_node *body, const char *key,
                         uint64_t most, uint64_t *ms)
{
    const struct text_node *node = text_get(body, key);
    struct err err;
    *ms = 0;
    if (!node || node->kind != TEXT_INT)
        return true;
    if (node->integer >= 1 && (uint64_t)node->integer <= most) {
        *ms = (uint64_t)node->integer * 1000;
        return true;
    }
    err_set(&err, ERR_INPUT, "%s is %lld", key, (long long)node->integer);
    err_hint(&err, "seconds, 1 to %llu", (unsigned long long)most);
    call_problem(call, &err, NULL);
    return false;
}

void keys_list(struct call *call)
{
    const char *owner = http_query(call->request, "owner", 0);
    struct text_node *root = text_map(call->arena, NULL, NULL);
    struct text_node *out = text_list(call->arena, root, "keys");
    const struct key_list list =
        list_keys(ctl_accounts(call->api->config.ctl), call->arena, call->owner, owner);
    for (size_t i = 0; i < list.n; i++)
        put_key_view(call->arena, out, &list.at[i]);
    call_answer(call, 200, root);
}

void key_create(struct call *call)
{
    struct key_request ask = { .by = call->owner };
    const struct text_node *body = body_of(call, key_members, ARRAY_LEN(key_members));
    if (!body || !read_seconds(call, body, "session_s", SESSION_MAX_S, &ask.session_ms))
        return;
    ask.owner = text_of(body, "owner");
    ask.label = text_of(body, "label");
    call_keep(call);
    ctl_key_create(call->api->config.ctl, &ask, on_done, call);
}

static void key_command(struct call *call, enum key_verb verb)
{
    struct key_change ask = { .by = call->owner, .id = call->param[0], .verb = verb };
    call_keep(call);
    ctl_key_command(call->api->config.ctl, &ask, on_done, call);
}

void key_remove(struct call *call)
{
    key_command(call, KEY_REMOVE);
}

void key_disable(struct call *call)
{
    key_command(call, KEY_DISABLE);
}

void key_enable(struct call *call)
{
    key_command(call, KEY_ENABLE);
}

/* ---- tokens ---- */

static const struct member token_members[] = {
    { "owner", TEXT_STR },
    { "label", TEXT_STR },
    { "expires_s", TEXT_INT },
};

void tokens_list(struct call *call)
{
    const char *owner = http_query(call->request, "owner", 0);
    struct text_node *root = text_map(call->arena, NULL, NULL);
    struct text_node *out = text_list(call->arena, root, "tokens");
    const struct token_list list =
        list_tokens(ctl_accounts(call->api->config.ctl), call->arena, call->owner, owner);
    for (size_t i = 0; i < list.n; i++)
        put_token_view(call->arena, out, &list.at[i]);
    call_answer(call, 200, root);
}

void token_create(struct call *call)
{
    struct token_request ask = { .by = call->owner };
    const struct text_node *body = body_of(call, token_members, ARRAY_LEN(token_members));
    if (!body || !read_seconds(call, body, "expires_s", LIFE_MAX_S, &ask.life_ms))
        return;
    ask.owner = text_of(body, "owner");
    ask.label = text_of(body, "label");
    call_keep(call);
    ctl_token_create(call->api->config.ctl, &ask, on_done, call);
}

void token_remove(struct call *call)
{
    call_keep(call);
    ctl_token_remove(call->api->config.ctl, call->owner, call->param[0], on_done, call);
}

/* ---- what to trust ---- */

void certificate_get(struct call *call)
{
    const struct api_config *c = &call->api->config;
    struct err err = { 0 };
    const char *authority = NULL;
    if (!c->authority || !call->api->address || !*call->api->address)
        err_set(&err, ERR_CANNOT, "this server listens on no TCP port");
    else
        authority = c->authority(c->authority_arg, &err);
    if (!authority) {
        call_problem(call, &err, NULL);
        return;
    }
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_str(call->arena, tree, "address",
             arena_printf(call->arena, "https://%s", call->api->address + strlen("http://")));
    text_str(call->arena, tree, "authority", authority);
    call_answer(call, 200, tree);
}
