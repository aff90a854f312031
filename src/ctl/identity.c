/* Who asks, what they may, and what is shown of users, keys and tokens. The one place of rights:
 * everything in ctl/ that is somebody's asks core_admin, core_reads, core_may or core_check. */
#include "ctl/identity.h"

#include "ctl/identities.h"
#include "ctl/job_token.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"

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

/* ---- rights ---- */

enum user_role core_role(const struct ctl *ctl, const char *name)
{
    const struct user *user;
    if (!name)
        return ROLE_READER;
    if (strcmp(name, "root") == 0 || strcmp(name, ctl->admin) == 0)
        return ROLE_ADMIN;
    user = identities_user(ctl, name);
    return user ? user->role : ROLE_USER;
}

bool core_admin(const struct ctl *ctl, const char *owner)
{
    return core_role(ctl, owner) == ROLE_ADMIN;
}

bool core_may(const struct ctl *ctl, const char *owner, const struct job_row *row)
{
    enum user_role role = core_role(ctl, owner);
    return role == ROLE_ADMIN || (role == ROLE_USER && strcmp(owner, row->owner) == 0);
}

bool core_reads(const struct ctl *ctl, const char *owner, const struct job_row *row)
{
    const struct user *user = owner ? identities_user(ctl, owner) : NULL;
    if (!owner || core_admin(ctl, owner) || strcmp(owner, row->owner) == 0)
        return true;
    return user && row->project && *row->project && words_have(&user->projects, row->project);
}

bool core_member(const struct ctl *ctl, const char *owner, const char *project)
{
    const struct user *user = owner ? identities_user(ctl, owner) : NULL;
    if (!project || !*project || strcmp(project, "default") == 0 || !owner ||
        core_admin(ctl, owner))
        return true;
    return user && words_have(&user->projects, project);
}

int core_check(const struct ctl *ctl, const char *owner, const struct job_row *row, struct err *err)
{
    if (core_may(ctl, owner, row))
        return 0;
    if (owner && !core_reads(ctl, owner, row))
        return err_set(err, ERR_NOT_FOUND, "no such job");
    return err_set(err, ERR_DENIED, "job %llu belongs to %s", (unsigned long long)row->number,
                   row->owner);
}

static bool row_of(struct ctl *ctl, struct arena *arena, uint64_t job, struct job_row *row)
{
    return core_row(ctl, arena, job, row) == 0;
}

bool ctl_may_read(struct ctl *ctl, const struct identity *who, uint64_t job)
{
    struct job_row row;
    if (who->role == ROLE_ADMIN)
        return true;
    struct arena *arena = arena_create();
    bool may = row_of(ctl, arena, job, &row) && core_reads(ctl, who->name, &row);
    if (who->of.job) /* not what its owner may of others' */
        may = may && strcmp(row.owner, who->name) == 0;
    arena_destroy(arena);
    return may;
}

bool ctl_may_write(struct ctl *ctl, const struct identity *who, uint64_t job)
{
    struct job_row row;
    struct arena *arena = arena_create();
    bool may = row_of(ctl, arena, job, &row) && core_may(ctl, who->name, &row);
    arena_destroy(arena);
    return may;
}

int ctl_find_for(struct ctl *ctl, const struct identity *who, const char *job, uint64_t *id,
                 struct err *err)
{
    struct err other = { 0 };
    if (who->role == ROLE_ADMIN)
        return ctl_find(ctl, job, id, err);
    if (ctl_find(ctl, job, id, &other) == 0 && ctl_may_read(ctl, who, *id))
        return 0;
    /* The newest of that name may be another's, and there is one of their own before it. */
    if (store_find_name(ctl->config.store, job, who->name, id) == 1)
        return 0;
    err_set(err, ERR_NOT_FOUND, "no job \"%.120s\"", job);
    return err_remedy(err, REMEDY_LIST_ALL);
}

uint64_t ctl_find_in(struct ctl *ctl, const struct identity *who, const struct job_named *named)
{
    const struct user *user = identities_user(ctl, who->name);
    struct job_named theirs = *named;
    bool all = who->role == ROLE_ADMIN;
    uint64_t id;
    for (size_t i = 0; user && i < user->projects.n; i++)
        all |= strcmp(user->projects.at[i], named->project) == 0;
    theirs.owner = all ? NULL : who->name;
    return store_find_in(ctl->config.store, &theirs, &id) == 1 ? id : 0;
}

void ctl_filter_for(struct ctl *ctl, struct arena *arena, const struct identity *who,
                    struct job_filter *filter)
{
    const struct user *user = identities_user(ctl, who->name);
    if (who->role == ROLE_ADMIN)
        return;
    filter->reader = who->name;
    if (who->of.job) {
        filter->owner = who->name;
        return;
    }
    if (!user || user->projects.n == 0) { /* the index by owner */
        filter->owner = filter->owner ? filter->owner : who->name;
        return;
    }
    struct words *projects = ARENA_NEW(arena, struct words);
    projects->at = ARENA_ARRAY(arena, user->projects.n, const char *);
    for (size_t i = 0; i < user->projects.n; i++)
        projects->at[projects->n++] = arena_strdup(arena, user->projects.at[i]);
    filter->projects = projects;
}

/* ---- who is it ---- */

void ctl_identity_name(struct ctl *ctl, struct arena *arena, const char *name, struct identity *who)
{
    const struct user *user = identities_user(ctl, name);
    *who = (struct identity){ .name = arena_strdup(arena, name),
                              .role = core_role(ctl, name),
                              .since_ms = core_now(ctl),
                              .listed = user != NULL,
                              .disabled = user && user->disabled };
}

static bool over(const struct ctl *ctl, uint64_t expires_ms)
{
    return expires_ms && expires_ms <= core_now(ctl);
}

bool ctl_identity_lives(struct ctl *ctl, const struct identity *who)
{
    const struct user *user = identities_user(ctl, who->name);
    const struct key *key = who->key ? identities_key(ctl, who->key) : NULL;
    if (who->of.job)
        return job_token_lives(ctl, who->of) != NULL;
    if (over(ctl, who->expires_ms) || (who->token && !identities_token_named(ctl, who->token)))
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

int ctl_identity_bearer(struct ctl *ctl, struct arena *arena, const char *token,
                        struct identity *who, struct err *err)
{
    char hash[SECRET_TEXT];
    secret_hash(hash, token);
    const struct token *found = identities_token(ctl, hash);
    if (!found || over(ctl, found->expires_ms)) {
        err_set(err, ERR_UNAUTHENTICATED, found ? "this token has expired" : "no such token");
        return err_hint(err, "the verb token makes one, where the server runs");
    }
    ctl_identity_name(ctl, arena, found->owner, who);
    who->token = arena_strdup(arena, found->id);
    who->application = found->application;
    who->job = arena_strdup(arena, found->job);
    who->expires_ms = found->expires_ms;
    return check_enabled(who, err);
}

int ctl_identity_key(struct ctl *ctl, struct arena *arena, const struct identity_key *ask,
                     struct identity *who, struct err *err)
{
    const struct key *key = identities_key(ctl, ask->id);
    char hash[SECRET_TEXT];
    if (!key)
        return err_set(err, ERR_NOT_FOUND, "no access key \"%.60s\"", ask->id);
    if (key->disabled)
        return err_set(err, ERR_DENIED, "access key %s is disabled", key->id);
    if (over(ctl, key->expires_ms))
        return err_set(err, ERR_UNAUTHENTICATED, "access key %s has expired", key->id);
    secret_hash(hash, ask->session ? ask->session : "");
    if (key->session && sodium_memcmp(hash, key->session, sizeof hash - 1) != 0)
        return err_set(err, ERR_UNAUTHENTICATED, "the security token is not that of key %s",
                       key->id);
    *ask->secret = key->sealed ? secret_open(ctl, arena, key->sealed) : NULL;
    if (!*ask->secret) {
        err_set(err, ERR_UNAUTHENTICATED, "the secret of key %s cannot be read any more", key->id);
        return err_hint(err,
                        "it was sealed with another key (setting seal_key); make a new access key");
    }
    ctl_identity_name(ctl, arena, key->owner, who);
    who->key = arena_strdup(arena, key->id);
    who->expires_ms = key->expires_ms;
    return check_enabled(who, err);
}

void ctl_key_used(struct ctl *ctl, const char *id)
{
    const struct key *key = identities_key(ctl, id);
    uint64_t day = core_date(ctl) / DAY_MS;
    if (!key || key->used_day == day)
        return;
    struct key used = *key;
    used.used_day = day;
    identities_put_key(ctl, &used);
}

/* ---- passwords ---- */

int ctl_identity_password(struct ctl *ctl, struct arena *arena, const struct identity_login *login,
                          struct identity *who, struct err *err)
{
    const struct user *user = identities_user(ctl, login->name);
    const char *hash = user && user->password ? user->password : no_password;
    bool right = crypto_pwhash_str_verify(hash, login->password, strlen(login->password)) == 0;
    if (!right || hash == no_password)
        return err_set(err, ERR_DENIED, "the name or the password is wrong");
    ctl_identity_name(ctl, arena, login->name, who);
    return check_enabled(who, err);
}

/* ---- showing ---- */

struct sorted { /* records of a map by name */
    const char *name;
    const void *record;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sorted *)a)->name, ((const struct sorted *)b)->name);
}

static const struct sorted *sort(struct arena *arena, const struct smap *map, size_t *n)
{
    struct sorted *at = ARENA_ARRAY(arena, smap_count(map), struct sorted);
    size_t cursor = 0;
    void *record;
    for (*n = 0; smap_next(map, &cursor, &at[*n].name, &record); (*n)++)
        at[*n].record = record;
    if (*n)
        qsort(at, *n, sizeof *at, by_name);
    return at;
}

struct user_view user_view_of(const struct ctl *ctl, struct arena *a, const struct user *user)
{
    struct user_view view = { .name = arena_strdup(a, user->name),
                              .email = arena_strdup(a, user->email),
                              .account = arena_strdup(a, user->account),
                              .role = user->role,
                              .projects.at = ARENA_ARRAY(a, user->projects.n, const char *),
                              .has_password = user->password != NULL,
                              .disabled = user->disabled,
                              .created_ms = core_date_of(ctl, user->created_ms) };
    for (; view.projects.n < user->projects.n; view.projects.n++)
        view.projects.at[view.projects.n] = arena_strdup(a, user->projects.at[view.projects.n]);
    if (user->extension)
        view.extension = text_copy(a, NULL, NULL, user->extension);
    return view;
}

struct key_view key_view_of(const struct ctl *ctl, struct arena *a, const struct key *key)
{
    return (struct key_view){ .id = arena_strdup(a, key->id),
                              .owner = arena_strdup(a, key->owner),
                              .label = arena_strdup(a, key->label),
                              .created_ms = core_date_of(ctl, key->created_ms),
                              .expires_ms = core_date_of(ctl, key->expires_ms),
                              .used_day = key->used_day,
                              .disabled = key->disabled };
}

struct token_view token_view_of(const struct ctl *ctl, struct arena *a, const struct token *token)
{
    return (struct token_view){ .id = arena_strdup(a, token->id),
                                .owner = arena_strdup(a, token->owner),
                                .label = arena_strdup(a, token->label),
                                .job = arena_strdup(a, token->job),
                                .created_ms = core_date_of(ctl, token->created_ms),
                                .expires_ms = core_date_of(ctl, token->expires_ms),
                                .application = token->application };
}

/* Of whom `by` sees things when asking for those of owner (NULL: all). */
static bool shown(const struct ctl *ctl, const char *by, const char *owner, const char *whose)
{
    if (owner && strcmp(owner, whose) != 0)
        return false;
    return core_admin(ctl, by) || (by && strcmp(by, whose) == 0);
}

struct user_list ctl_users_view(struct ctl *ctl, struct arena *arena, const char *by)
{
    size_t n;
    const struct sorted *at = sort(arena, ctl->identities->users, &n);
    struct user_list list = { .at = ARENA_ARRAY(arena, n, struct user_view) };
    for (size_t i = 0; i < n; i++)
        if (shown(ctl, by, NULL, at[i].name))
            list.at[list.n++] = user_view_of(ctl, arena, at[i].record);
    return list;
}

const struct user_view *ctl_user_view(struct ctl *ctl, struct arena *arena, const char *by,
                                      const char *name)
{
    const struct user *user = identities_user(ctl, name);
    if (!user || !shown(ctl, by, NULL, name))
        return NULL;
    struct user_view *view = ARENA_NEW(arena, struct user_view);
    *view = user_view_of(ctl, arena, user);
    return view;
}

struct key_list ctl_keys_view(struct ctl *ctl, struct arena *arena, const char *by,
                              const char *owner)
{
    size_t n;
    const struct sorted *at = sort(arena, ctl->identities->keys, &n);
    struct key_list list = { .at = ARENA_ARRAY(arena, n, struct key_view) };
    for (size_t i = 0; i < n; i++) {
        const struct key *key = at[i].record;
        if (shown(ctl, by, owner, key->owner) && !over(ctl, key->expires_ms))
            list.at[list.n++] = key_view_of(ctl, arena, key);
    }
    return list;
}

struct token_list ctl_tokens_view(struct ctl *ctl, struct arena *arena, const char *by,
                                  const char *owner)
{
    size_t n;
    const struct sorted *at = sort(arena, ctl->identities->token_ids, &n);
    struct token_list list = { .at = ARENA_ARRAY(arena, n, struct token_view) };
    for (size_t i = 0; i < n; i++) {
        const struct token *token = at[i].record;
        if (shown(ctl, by, owner, token->owner) && !over(ctl, token->expires_ms))
            list.at[list.n++] = token_view_of(ctl, arena, token);
    }
    return list;
}
