/* Who asks: by name, token, access key or password, and does that still hold; and what is shown of
 * users, keys and tokens. A refusal says as much as who is refused may know. */
#include "account/identity.h"

#include "account/identities.h"
#include "account/rights.h"
#include "account/secrets.h"

#include "base/map.h"
#include "base/mem.h"
#include "text/tree.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS 86400000ull

/* What a password is held against where there is none, made as hash_password() makes them. */
static const char no_password[crypto_pwhash_STRBYTES] =
    "$argon2id$v=19$m=16384,t=2,p=1$rU1WDIP38bndxivua/TF1A"
    "$Duqojj3rSfXmcyALSKFNhLVVWBQwWmHxqWQjIs8E9qw";

static const char *const role_words[ROLE_N] = {
    [ROLE_READER] = "reader", [ROLE_USER] = "user", [ROLE_ADMIN] = "admin"
};

const char *user_role_word(enum user_role role)
{
    return role < ROLE_N ? role_words[role] : "?";
}

bool user_role_parse(const char *word, enum user_role *role)
{
    for (unsigned i = 0; i < ROLE_N; i++)
        if (strcmp(role_words[i], word) == 0) {
            *role = (enum user_role)i;
            return true;
        }
    return false;
}

/* ---- who is it ---- */

void identify_by_name(const struct accounts *all, struct arena *arena, const char *name,
                      struct identity *who)
{
    const struct user *user = identities_user(all, name);
    *who = (struct identity){ .name = arena_strdup(arena, name),
                              .role = user_role_of(all, name),
                              .since_ms = accounts_now(all),
                              .listed = user != NULL,
                              .disabled = user && user->disabled };
}

static bool over(const struct accounts *all, uint64_t expires_ms)
{
    return expires_ms && expires_ms <= accounts_now(all);
}

bool identity_holds(const struct accounts *all, const struct identity *who)
{
    const struct user *user = identities_user(all, who->name);
    const struct key *key = who->key ? identities_key(all, who->key) : NULL;
    if (over(all, who->expires_ms) || (who->token && !identities_token_named(all, who->token)))
        return false;
    if (who->key && (!key || key->disabled))
        return false;
    if (!user || user->disabled)
        return !user && !who->listed;
    bool same =
        !who->listed || user->created_ms <= who->since_ms; /* not a later one of that name */
    return same && (!user->ended_ms || user->ended_ms < who->since_ms);
}

static int check_enabled(const struct identity *who, struct err *err)
{
    if (!who->disabled)
        return 0;
    return err_set(err, ERR_DENIED, "user %.60s is disabled on this server", who->name);
}

int identify_by_token(const struct accounts *all, struct arena *arena, const char *token,
                      struct identity *who, struct err *err)
{
    char hash[SECRET_TEXT];
    secret_hash(hash, token);
    const struct token *found = identities_token(all, hash);
    if (!found || over(all, found->expires_ms)) {
        err_set(err, ERR_UNAUTHENTICATED, found ? "this token has expired" : "no such token");
        return err_hint(err, "the verb token makes one, where the server runs");
    }
    identify_by_name(all, arena, found->owner, who);
    who->token = arena_strdup(arena, found->id);
    who->application = found->application;
    who->job = arena_strdup(arena, found->job);
    who->expires_ms = found->expires_ms;
    return check_enabled(who, err);
}

int identify_by_key(const struct accounts *all, struct arena *arena, const struct identity_key *ask,
                    struct identity *who, struct err *err)
{
    const struct key *key = identities_key(all, ask->id);
    char hash[SECRET_TEXT];
    if (!key)
        return err_set(err, ERR_NOT_FOUND, "no access key \"%.60s\"", ask->id);
    if (key->disabled)
        return err_set(err, ERR_DENIED, "access key %s is disabled", key->id);
    if (over(all, key->expires_ms))
        return err_set(err, ERR_UNAUTHENTICATED, "access key %s has expired", key->id);
    secret_hash(hash, ask->session ? ask->session : "");
    if (key->session && sodium_memcmp(hash, key->session, sizeof hash - 1) != 0)
        return err_set(err, ERR_UNAUTHENTICATED, "the security token is not that of key %s",
                       key->id);
    *ask->secret = key->sealed ? secret_open(all, arena, key->sealed) : NULL;
    if (!*ask->secret) {
        err_set(err, ERR_UNAUTHENTICATED, "the secret of key %s cannot be read any more", key->id);
        return err_hint(err,
                        "it was sealed with another key (setting seal_key); make a new access key");
    }
    identify_by_name(all, arena, key->owner, who);
    who->key = arena_strdup(arena, key->id);
    who->expires_ms = key->expires_ms;
    return check_enabled(who, err);
}

void note_key_use(struct accounts *all, const char *id)
{
    const struct key *key = identities_key(all, id);
    uint64_t day = accounts_date(all) / DAY_MS;
    if (!key || key->used_day == day)
        return;
    struct key used = *key;
    used.used_day = day;
    identities_put_key(all, &used);
}

/* ---- passwords ---- */

int identify_by_password(const struct accounts *all, struct arena *arena,
                         const struct identity_login *login, struct identity *who, struct err *err)
{
    const struct user *user = identities_user(all, login->name);
    const char *hash = user && user->password ? user->password : no_password;
    bool right = crypto_pwhash_str_verify(hash, login->password, strlen(login->password)) == 0;
    if (!right || hash == no_password)
        return err_set(err, ERR_DENIED, "the name or the password is wrong");
    identify_by_name(all, arena, login->name, who);
    return check_enabled(who, err);
}

/* ---- showing ---- */

struct named_record { /* records of a map by name */
    const char *name;
    const void *record;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named_record *)a)->name, ((const struct named_record *)b)->name);
}

static const struct named_record *sort(struct arena *arena, const struct string_map *map, size_t *n)
{
    struct named_record *at = ARENA_ARRAY(arena, string_map_count(map), struct named_record);
    size_t cursor = 0;
    void *record;
    for (*n = 0; string_map_next(map, &cursor, &at[*n].name, &record); (*n)++)
        at[*n].record = record;
    if (*n)
        qsort(at, *n, sizeof *at, by_name);
    return at;
}

static uint64_t date_of(const struct accounts *all, uint64_t at_ms)
{
    return all->config.server.date_of(all->config.server.arg, at_ms);
}

struct user_view user_view_of(const struct accounts *all, struct arena *a, const struct user *user)
{
    struct user_view view = { .name = arena_strdup(a, user->name),
                              .email = arena_strdup(a, user->email),
                              .account = arena_strdup(a, user->account),
                              .role = user->role,
                              .projects.at = ARENA_ARRAY(a, user->projects.n, const char *),
                              .has_password = user->password != NULL,
                              .disabled = user->disabled,
                              .created_ms = date_of(all, user->created_ms) };
    for (; view.projects.n < user->projects.n; view.projects.n++)
        view.projects.at[view.projects.n] = arena_strdup(a, user->projects.at[view.projects.n]);
    if (user->extension)
        view.extension = text_copy(a, NULL, NULL, user->extension);
    return view;
}

struct key_view key_view_of(const struct accounts *all, struct arena *a, const struct key *key)
{
    return (struct key_view){ .id = arena_strdup(a, key->id),
                              .owner = arena_strdup(a, key->owner),
                              .label = arena_strdup(a, key->label),
                              .created_ms = date_of(all, key->created_ms),
                              .expires_ms = date_of(all, key->expires_ms),
                              .used_day = key->used_day,
                              .disabled = key->disabled };
}

struct token_view token_view_of(const struct accounts *all, struct arena *a,
                                const struct token *token)
{
    return (struct token_view){ .id = arena_strdup(a, token->id),
                                .owner = arena_strdup(a, token->owner),
                                .label = arena_strdup(a, token->label),
                                .job = arena_strdup(a, token->job),
                                .created_ms = date_of(all, token->created_ms),
                                .expires_ms = date_of(all, token->expires_ms),
                                .application = token->application };
}

/* Of whom `by` sees things when asking for those of owner (NULL: all). */
static bool shown(const struct accounts *all, const char *by, const char *owner, const char *whose)
{
    if (owner && strcmp(owner, whose) != 0)
        return false;
    return user_is_admin(all, by) || (by && strcmp(by, whose) == 0);
}

struct user_list list_users(const struct accounts *all, struct arena *arena, const char *by)
{
    size_t n;
    const struct named_record *at = sort(arena, all->users, &n);
    struct user_list list = { .at = ARENA_ARRAY(arena, n, struct user_view) };
    for (size_t i = 0; i < n; i++)
        if (shown(all, by, NULL, at[i].name))
            list.at[list.n++] = user_view_of(all, arena, at[i].record);
    return list;
}

const struct user_view *show_user(const struct accounts *all, struct arena *arena, const char *by,
                                  const char *name)
{
    const struct user *user = identities_user(all, name);
    if (!user || !shown(all, by, NULL, name))
        return NULL;
    struct user_view *view = ARENA_NEW(arena, struct user_view);
    *view = user_view_of(all, arena, user);
    return view;
}

struct key_list list_keys(const struct accounts *all, struct arena *arena, const char *by,
                          const char *owner)
{
    size_t n;
    const struct named_record *at = sort(arena, all->keys, &n);
    struct key_list list = { .at = ARENA_ARRAY(arena, n, struct key_view) };
    for (size_t i = 0; i < n; i++) {
        const struct key *key = at[i].record;
        if (shown(all, by, owner, key->owner) && !over(all, key->expires_ms))
            list.at[list.n++] = key_view_of(all, arena, key);
    }
    return list;
}

struct token_list list_tokens(const struct accounts *all, struct arena *arena, const char *by,
                              const char *owner)
{
    size_t n;
    const struct named_record *at = sort(arena, all->token_ids, &n);
    struct token_list list = { .at = ARENA_ARRAY(arena, n, struct token_view) };
    for (size_t i = 0; i < n; i++) {
        const struct token *token = at[i].record;
        if (shown(all, by, owner, token->owner) && !over(all, token->expires_ms))
            list.at[list.n++] = token_view_of(all, arena, token);
    }
    return list;
}
