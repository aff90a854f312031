/* Changing who may: users, keys, tokens. Each command checks who asks, writes row, memory and an
 * audit entry in the open transaction, and tells the server, which writes an event. A secret leaves
 * in what is shown and is nowhere else: keys are sealed, tokens and passwords hashed, events do not
 * have them. */
#include "account/audit.h"
#include "account/identities.h"
#include "account/rights.h"
#include "account/secrets.h"
#include "account/vault.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "text/json.h"

#include <sodium.h>
#include <string.h>

#define NAME_MAX_LEN   64u
#define LABEL_MAX      200u
#define EXTENSION_MAX  (64u << 10)
#define PASSWORD_OPS   crypto_pwhash_OPSLIMIT_INTERACTIVE
#define PASSWORD_MEM   ((size_t)16 << 20)
#define USERS_MAX      20000u
#define TOKENS_OF_USER 1000u /* then the one that expires first goes */
#define KEYS_OF_USER   100u
#define KEY_SECRET_LEN 30
#define KEY_ID_LEN     20 /* behind "LTAI" or "STS." */

struct change { /* a command on its way */
    struct accounts *all;
    struct arena *arena; /* of what is shown */
    struct err *err;
    const char *by;
};

static void tell(const struct change *c, const char *type, const char *what)
{
    const struct accounts_server *server = &c->all->config.server;
    audit(c->all, c->by, type, what, NULL);
    server->changed(server->arg, type,
                    arena_printf(c->arena, "%s by %s", what, c->by ? c->by : "the server"));
}

/* May `by` act for owner? Readers have no keys and tokens of their own making. */
static int check_for(const struct change *c, const char *owner)
{
    if (user_is_admin(c->all, c->by))
        return 0;
    if (!c->by || strcmp(c->by, owner) != 0)
        err_set(c->err, ERR_DENIED, "only an admin does this for %.60s", owner);
    else if (user_role_of(c->all, c->by) == ROLE_READER)
        err_set(c->err, ERR_DENIED, "%.60s is a reader", c->by);
    else
        return 0;
    audit(c->all, c->by, "secrets.change", arena_printf(c->arena, "of %s", owner), c->err);
    return -1;
}

static bool good_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MAX_LEN && name[0] != '-' && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static int check_label(const struct change *c, const char *label)
{
    if (label && strlen(label) > LABEL_MAX)
        return err_set(c->err, ERR_INPUT, "the label has %zu bytes, the most is %u", strlen(label),
                       LABEL_MAX);
    return 0;
}

/* ---- users ---- */

static const char *hash_password(const struct change *c, const char *password)
{
    char *hash = arena_alloc(c->arena, crypto_pwhash_STRBYTES);
    if (crypto_pwhash_str(hash, password, strlen(password), PASSWORD_OPS, PASSWORD_MEM) == 0)
        return hash;
    err_set(c->err, ERR_SYSTEM, "no memory to hash a password");
    return NULL;
}

static bool own_user(const struct accounts *all, const char *name)
{
    return strcmp(name, "root") == 0 || strcmp(name, all->config.admin) == 0;
}

static int only_admin(const struct change *c, const char *name)
{
    err_set(c->err, ERR_DENIED, "only an admin does this");
    audit(c->all, c->by, "user.change", arena_printf(c->arena, "user %.80s", name), c->err);
    return -1;
}

/* Is it theirs to do, and is there such a user, or none yet? */
static int check_ask(const struct change *c, const struct user_change *ask, const struct user *old)
{
    bool admins =
        ask->create || ask->set_role || ask->set_projects || ask->set_disabled || ask->account;
    if (!user_is_admin(c->all, c->by) && (admins || strcmp(c->by ? c->by : "", ask->name) != 0))
        return only_admin(c, ask->name);
    if (ask->create && old)
        return err_set(c->err, ERR_CONFLICT, "there is a user %s", ask->name);
    if (!ask->create && !old)
        return err_set(c->err, ERR_NOT_FOUND, "no user \"%s\"", ask->name);
    if (ask->create && string_map_count(c->all->users) >= USERS_MAX)
        return err_set(c->err, ERR_CANNOT, "there are %u users already", USERS_MAX);
    return 0;
}

static int check_projects(const struct change *c, const struct words *projects)
{
    for (size_t i = 0; i < projects->n; i++)
        if (!*projects->at[i] || strlen(projects->at[i]) > LABEL_MAX ||
            strchr(projects->at[i], '\x1f'))
            return err_set(c->err, ERR_INPUT, "\"%.60s\" is no name of a project", projects->at[i]);
    return 0;
}

static int check_user(const struct change *c, const struct user_change *ask, const struct user *old)
{
    if (!good_name(ask->name)) {
        err_set(c->err, ERR_INPUT, "\"%.80s\" is no name for a user", ask->name);
        return err_hint(c->err, "1 to %u of A-Z a-z 0-9 . _ -", NAME_MAX_LEN);
    }
    if (check_ask(c, ask, old))
        return -1;
    if (ask->set_role && ask->role != ROLE_ADMIN && own_user(c->all, ask->name))
        return err_set(c->err, ERR_CANNOT, "%s is always an admin of this server", ask->name);
    if (ask->account && *ask->account && !good_name(ask->account))
        return err_set(c->err, ERR_INPUT, "\"%.80s\" is no name of an account", ask->account);
    if (ask->account && strcmp(ask->account, "root") == 0)
        return err_set(c->err, ERR_INPUT, "no other user's jobs run as root");
    if (ask->set_disabled && ask->disabled && own_user(c->all, ask->name))
        return err_set(c->err, ERR_CANNOT, "%s cannot be disabled on this server", ask->name);
    if (ask->set_password && ask->password && !*ask->password)
        return err_set(c->err, ERR_INPUT, "the password is empty");
    return check_projects(c, &ask->projects);
}

static int check_extension(const struct change *c, const struct text_node *extension)
{
    if (!extension)
        return 0;
    if (extension->kind != TEXT_MAP)
        return err_set(c->err, ERR_INPUT, "extension is no map");
    AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    json_print(extension, 0, &text);
    return text.len <= EXTENSION_MAX
               ? 0
               : err_set(c->err, ERR_TOO_LARGE, "extension has more than %u bytes", EXTENSION_MAX);
}

/* Ids in the arena of what of a map is the owner's. */
static struct words ids_of(struct arena *arena, const struct string_map *map, const char *owner,
                           bool tokens)
{
    struct words ids = { .at = ARENA_ARRAY(arena, string_map_count(map), const char *) };
    size_t cursor = 0;
    const char *name;
    void *record;
    while (string_map_next(map, &cursor, &name, &record)) {
        const char *whose =
            tokens ? ((struct token *)record)->owner : ((struct key *)record)->owner;
        if (strcmp(whose, owner) == 0)
            ids.at[ids.n++] = arena_strdup(arena, name);
    }
    return ids;
}

static void end_tokens(const struct change *c, const char *owner)
{
    struct words ids = ids_of(c->arena, c->all->token_ids, owner, true);
    for (size_t i = 0; i < ids.n; i++)
        identities_drop_token(c->all, ids.at[i]);
}

static int apply_ask(const struct change *c, const struct user_change *ask, struct user *user)
{
    if (ask->set_role)
        user->role = ask->role;
    if (ask->set_projects)
        user->projects = ask->projects;
    if (ask->email)
        user->email = ask->email;
    if (ask->account)
        user->account = *ask->account ? ask->account : NULL;
    if (ask->extension)
        user->extension = ask->extension;
    if (ask->set_disabled)
        user->disabled = ask->disabled;
    if (ask->set_password)
        user->password = ask->password ? hash_password(c, ask->password) : NULL;
    return ask->set_password && ask->password && !user->password ? -1 : 0;
}

/* What was let in by another password, or before the user was disabled, is not any more. */
static bool ends(const struct user *old, const struct user *user)
{
    bool other_password = old->password && old->password != user->password;
    return other_password || (user->disabled && !old->disabled);
}

/* What became of the user, for events and the audit record: no password, but that there is one. */
static const char *user_said(const struct change *c, const struct user_change *ask,
                             const struct user *user)
{
    AUTO_BUF struct buf said = BUF_INIT(4096);
    buf_addf(&said, "user %s (%s%s)", ask->name, user_role_word(user->role),
             user->disabled ? ", disabled" : "");
    for (size_t i = 0; ask->set_projects && i < ask->projects.n; i++)
        buf_addf(&said, "%s%.100s", i ? " " : ", projects ", ask->projects.at[i]);
    if (ask->set_projects && !ask->projects.n)
        buf_puts(&said, ", no projects");
    if (ask->account)
        buf_addf(&said, ", %s%s", *ask->account ? "account " : "no account", ask->account);
    if (ask->set_password)
        buf_puts(&said, ask->password ? ", a password" : ", no password");
    return arena_strdup(c->arena, buf_str(&said));
}

static struct user_view *view_user(const struct change *c, const struct user *user)
{
    struct user_view *view = ARENA_NEW(c->arena, struct user_view);
    *view = user_view_of(c->all, c->arena, user);
    return view;
}

struct user_view *change_user(struct accounts *all, struct arena *arena,
                              const struct user_change *ask, struct err *err)
{
    struct change c = { .all = all, .arena = arena, .err = err, .by = ask->by };
    const struct user *old = identities_user(all, ask->name);
    if (check_user(&c, ask, old) || check_extension(&c, ask->extension))
        return NULL;
    struct user user = { .name = ask->name,
                         .role = own_user(all, ask->name) ? ROLE_ADMIN : ROLE_USER,
                         .created_ms = accounts_now(all) };
    if (old)
        user = *old;
    if (apply_ask(&c, ask, &user))
        return NULL;
    if (old && ends(old, &user)) {
        user.ended_ms = accounts_now(all);
        end_tokens(&c, ask->name);
    }
    identities_put_user(all, &user);
    tell(&c, old ? "user.changed" : "user.created", user_said(&c, ask, &user));
    return view_user(&c, identities_user(all, ask->name));
}

struct user_view *remove_user(struct accounts *all, struct arena *arena, const char *by,
                              const char *name, struct err *err)
{
    struct change c = { .all = all, .arena = arena, .err = err, .by = by };
    if (!user_is_admin(all, by)) {
        only_admin(&c, name);
        return NULL;
    }
    const struct user *user = identities_user(all, name);
    if (!user) {
        err_set(c.err, ERR_NOT_FOUND, "no user \"%.80s\"", name);
        return NULL;
    }
    struct user_view *view = view_user(&c, user);
    struct words keys = ids_of(c.arena, all->keys, name, false);
    for (size_t i = 0; i < keys.n; i++)
        identities_drop_key(all, keys.at[i]);
    end_tokens(&c, name);
    drop_secrets_of(all, name);
    identities_drop_user(all, name);
    tell(&c, "user.removed", arena_printf(c.arena, "user %s", name));
    return view;
}

/* ---- secrets ---- */

static char *random_letters(struct arena *arena, const char *prefix, int n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char *text = arena_printf(arena, "%s%*s", prefix, n, "");
    for (char *c = text + strlen(prefix); *c; c++)
        *c = letters[randombytes_uniform(sizeof letters - 1)];
    return text;
}

/* 256 bits, in a word that no command line takes for an option. */
static char *random_token(struct arena *arena)
{
    return random_letters(arena, "", 43);
}

/* What has expired goes when something is made. */
static void drop_expired(const struct change *c)
{
    struct accounts *all = c->all;
    const uint64_t now = accounts_now(c->all);
    struct words keys = { .at = ARENA_ARRAY(c->arena, string_map_count(all->keys), const char *) };
    struct words tokens = { .at = ARENA_ARRAY(c->arena, string_map_count(all->token_ids),
                                              const char *) };
    size_t cursor = 0;
    const char *name;
    void *record;
    while (string_map_next(all->keys, &cursor, &name, &record))
        if (((struct key *)record)->expires_ms && ((struct key *)record)->expires_ms <= now)
            keys.at[keys.n++] = name;
    for (cursor = 0; string_map_next(all->token_ids, &cursor, &name, &record);)
        if (((struct token *)record)->expires_ms && ((struct token *)record)->expires_ms <= now)
            tokens.at[tokens.n++] = name;
    for (size_t i = 0; i < keys.n; i++)
        identities_drop_key(c->all, arena_strdup(c->arena, keys.at[i]));
    for (size_t i = 0; i < tokens.n; i++)
        identities_drop_token(c->all, arena_strdup(c->arena, tokens.at[i]));
}

/* ---- keys ---- */

static struct key_view *view_key(const struct change *c, const struct key *key)
{
    struct key_view *view = ARENA_NEW(c->arena, struct key_view);
    *view = key_view_of(c->all, c->arena, key);
    return view;
}

struct key_view *create_key(struct accounts *all, struct arena *arena,
                            const struct key_request *ask, struct err *err)
{
    struct change c = { .all = all, .arena = arena, .err = err, .by = ask->by };
    const char *owner = ask->owner ? ask->owner : ask->by;
    if (!owner || !good_name(owner)) {
        err_set(c.err, ERR_INPUT, "\"%.80s\" is no name for a user", owner ? owner : "");
        return NULL;
    }
    if (check_for(&c, owner) || check_label(&c, ask->label))
        return NULL;
    drop_expired(&c);
    if (ids_of(c.arena, all->keys, owner, false).n >= KEYS_OF_USER) {
        err_set(c.err, ERR_CANNOT, "%s has %u access keys already", owner, KEYS_OF_USER);
        err_remedy_of(c.err, REMEDY_LIST_KEYS, "%s", owner);
        return NULL;
    }
    char hash[SECRET_TEXT];
    const char *secret = random_letters(c.arena, "", KEY_SECRET_LEN);
    const char *session = ask->session_ms ? random_token(c.arena) : NULL;
    struct key key = { .id = random_letters(c.arena, session ? "STS." : "LTAI", KEY_ID_LEN),
                       .owner = owner,
                       .label = ask->label ? ask->label : "",
                       .sealed = secret_seal(all, c.arena, secret),
                       .created_ms = accounts_now(all) };
    if (session) {
        secret_hash(hash, session);
        key.session = hash;
        key.expires_ms = accounts_now(all) + ask->session_ms;
    }
    identities_put_key(all, &key);
    tell(&c, "key.created", arena_printf(c.arena, "access key %s of %s", key.id, owner));
    struct key_view *view = view_key(&c, &key);
    view->secret = secret;
    view->session = session;
    return view;
}

struct key_view *change_key(struct accounts *all, struct arena *arena, const struct key_change *ask,
                            struct err *err)
{
    static const char *const types[] = {
        [KEY_DISABLE] = "key.disabled", [KEY_ENABLE] = "key.enabled", [KEY_REMOVE] = "key.removed"
    };
    struct change c = { .all = all, .arena = arena, .err = err, .by = ask->by };
    const struct key *old = identities_key(all, ask->id);
    if (!old || (!user_is_admin(all, ask->by) && strcmp(ask->by ? ask->by : "", old->owner) != 0)) {
        err_set(c.err, ERR_NOT_FOUND, "no access key \"%.80s\"", ask->id);
        return NULL;
    }
    if (check_for(&c, old->owner))
        return NULL;
    struct key key = *old;
    key.disabled = ask->verb != KEY_ENABLE;
    struct key_view *view = view_key(&c, &key);
    tell(&c, types[ask->verb], arena_printf(c.arena, "access key %s of %s", key.id, key.owner));
    if (ask->verb == KEY_REMOVE)
        identities_drop_key(all, key.id);
    else
        identities_put_key(all, &key);
    return view;
}

/* ---- tokens ---- */

/* Room for one more: a client that logs in again and again does not fill the server. */
static void make_room(const struct change *c, const char *owner)
{
    struct words ids = ids_of(c->arena, c->all->token_ids, owner, true);
    const struct token *first = NULL;
    if (ids.n < TOKENS_OF_USER)
        return;
    for (size_t i = 0; i < ids.n; i++) {
        const struct token *token = identities_token_named(c->all, ids.at[i]);
        uint64_t ends = token->expires_ms ? token->expires_ms : UINT64_MAX;
        uint64_t least = first && first->expires_ms ? first->expires_ms : UINT64_MAX;
        if (!first || ends < least || (ends == least && token->created_ms < first->created_ms))
            first = token;
    }
    identities_drop_token(c->all, first->id);
}

static struct token_view *view_token(const struct change *c, const struct token *token)
{
    struct token_view *view = ARENA_NEW(c->arena, struct token_view);
    *view = token_view_of(c->all, c->arena, token);
    return view;
}

struct token_view *create_token(struct accounts *all, struct arena *arena,
                                const struct token_request *ask, struct err *err)
{
    struct change c = { .all = all, .arena = arena, .err = err, .by = ask->by };
    const char *owner = ask->owner ? ask->owner : ask->by;
    char hash[SECRET_TEXT];
    if (!owner || !good_name(owner)) {
        err_set(c.err, ERR_INPUT, "\"%.80s\" is no name for a user", owner ? owner : "");
        return NULL;
    }
    /* A reader reads with a token too: what it may is its role's. */
    bool own = ask->by && strcmp(ask->by, owner) == 0;
    if ((!own && check_for(&c, owner)) || check_label(&c, ask->label))
        return NULL;
    const struct user *user = identities_user(all, owner);
    if (user && user->disabled) {
        err_set(c.err, ERR_CANNOT, "user %s is disabled on this server", owner);
        return NULL;
    }
    drop_expired(&c);
    make_room(&c, owner);
    const char *text = random_token(c.arena);
    secret_hash(hash, text);
    struct token token = { .id = arena_strndup(c.arena, hash, 16),
                           .owner = owner,
                           .label = ask->label ? ask->label : "",
                           .hash = hash,
                           .job = ask->job,
                           .created_ms = accounts_now(all),
                           .expires_ms = ask->life_ms ? accounts_now(all) + ask->life_ms : 0,
                           .application = ask->application };
    identities_put_token(all, &token);
    tell(&c, "token.created", arena_printf(c.arena, "token %s of %s", token.id, owner));
    struct token_view *view = view_token(&c, &token);
    view->secret = text;
    return view;
}

struct token_view *remove_token(struct accounts *all, struct arena *arena, const char *by,
                                const char *id, struct err *err)
{
    struct change c = { .all = all, .arena = arena, .err = err, .by = by };
    char hash[SECRET_TEXT];
    secret_hash(hash, id);
    const struct token *token = identities_token_named(all, id);
    token = token ? token : identities_token(all, hash);
    if (!token || (!user_is_admin(all, by) && strcmp(by ? by : "", token->owner) != 0)) {
        err_set(c.err, ERR_NOT_FOUND, "no such token");
        err_remedy(c.err, REMEDY_LIST_TOKENS);
        return NULL;
    }
    struct token_view *view = view_token(&c, token);
    tell(&c, "token.removed", arena_printf(c.arena, "token %s of %s", token->id, token->owner));
    identities_drop_token(all, token->id);
    return view;
}
