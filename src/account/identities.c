/* The records of who may: rows of kind "user", "key" and "token", kept in memory by name, id and
 * hash. Each record lives in an arena of its own, so that one is replaced without the others; what
 * is written is read back by the same function that reads at the start. */
#include "account/identities.h"

#include "account/auditor.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "store/store.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

#define ROW_MAX (8u << 20)

/* ---- rows to records ---- */

static const char *get_text(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

static void read_words(struct arena *arena, const struct text_node *list, struct words *out)
{
    out->at = ARENA_ARRAY(arena, list ? list->count : 0, const char *);
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        if (one->kind == TEXT_STR)
            out->at[out->n++] = one->str;
}

static void forget(struct string_map *map, const char *key)
{
    void *record = key ? string_map_remove(map, key) : NULL;
    if (record)
        arena_destroy(*(struct arena **)record);
}

static void take_user(struct accounts *all, struct arena *arena, const char *name,
                      const struct text_node *map)
{
    struct user *user = ARENA_NEW(arena, struct user);
    const char *role = get_text(map, "role");
    user->arena = arena;
    user->name = arena_strdup(arena, name);
    user->email = get_text(map, "email");
    user->account = get_text(map, "account");
    user->password = get_text(map, "password");
    user->created_ms = text_number(map, "created_ms");
    user->ended_ms = text_number(map, "ended_ms");
    user->disabled = text_flag(map, "disabled");
    user->extension = text_get(map, "extension");
    if (!role || !user_role_parse(role, &user->role))
        user->role = ROLE_READER; /* of a newer server: the least */
    read_words(arena, text_get(map, "projects"), &user->projects);
    forget(all->users, name);
    string_map_set(all->users, user->name, user);
}

static void take_key(struct accounts *all, struct arena *arena, const char *name,
                     const struct text_node *map)
{
    struct key *key = ARENA_NEW(arena, struct key);
    const char *owner = get_text(map, "owner"), *label = get_text(map, "label");
    *key = (struct key){ .arena = arena,
                         .id = arena_strdup(arena, name),
                         .owner = owner ? owner : "",
                         .label = label ? label : "",
                         .sealed = get_text(map, "sealed"),
                         .session = get_text(map, "session"),
                         .created_ms = text_number(map, "created_ms"),
                         .expires_ms = text_number(map, "expires_ms"),
                         .used_day = text_number(map, "used_day"),
                         .disabled = text_flag(map, "disabled") };
    forget(all->keys, name);
    string_map_set(all->keys, key->id, key);
}

static void forget_token(struct accounts *all, const char *id)
{
    struct token *token = string_map_remove(all->token_ids, id);
    if (token)
        forget(all->tokens, token->hash);
}

static void take_token(struct accounts *all, struct arena *arena, const char *name,
                       const struct text_node *map)
{
    struct token *token = ARENA_NEW(arena, struct token);
    const char *owner = get_text(map, "owner"), *label = get_text(map, "label");
    const char *hash = get_text(map, "hash");
    *token = (struct token){ .arena = arena,
                             .id = arena_strdup(arena, name),
                             .owner = owner ? owner : "",
                             .label = label ? label : "",
                             .hash = hash ? hash : "",
                             .job = get_text(map, "job"),
                             .created_ms = text_number(map, "created_ms"),
                             .expires_ms = text_number(map, "expires_ms"),
                             .application = text_flag(map, "application") };
    forget_token(all, name);
    string_map_set(all->tokens, token->hash, token);
    string_map_set(all->token_ids, token->id, token);
}

enum { USERS, KEYS, TOKENS, KINDS };
static const struct {
    const char *kind;
    void (*take)(struct accounts *, struct arena *, const char *name,
                 const struct text_node *map); /* owns the arena */
} kinds[KINDS] = {
    [USERS] = { "user", take_user },
    [KEYS] = { "key", take_key },
    [TOKENS] = { "token", take_token },
};

static void take(struct accounts *all, unsigned kind, const struct object_row *row)
{
    struct arena *arena = arena_create_of(512);
    struct report report;
    report_init(&report, arena);
    const struct text_node *map = json_parse(arena, row->spec, strlen(row->spec), 0, &report);
    if (map && map->kind == TEXT_MAP) {
        kinds[kind].take(all, arena, row->name, map);
        return;
    }
    log_error("identity.row", "kind=%s name=\"%s\" note=\"cannot be read\"", row->kind, row->name);
    arena_destroy(arena);
}

/* ---- life ---- */

/* A record begins with the arena that it lies in. */
static void record_free(void *record)
{
    arena_destroy(*(struct arena **)record);
}

static void make_maps(struct accounts *all)
{
    all->users = string_map_create();
    all->keys = string_map_create();
    all->tokens = string_map_create();
    all->token_ids = string_map_create();
}

static void drop_maps(struct accounts *all)
{
    string_map_destroy_with(all->users, record_free);
    string_map_destroy_with(all->keys, record_free);
    string_map_destroy_with(all->tokens, record_free);
    string_map_destroy(all->token_ids);
}

static void load(struct accounts *all)
{
    struct arena *arena = arena_create();
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct object_row *rows;
        size_t n = 0;
        if (store_objects(all->config.store, arena,
                          &(struct object_row){ .kind = kinds[kind].kind }, &rows, &n, NULL) == 0)
            for (size_t i = 0; i < n; i++)
                take(all, kind, &rows[i]);
    }
    arena_destroy(arena);
    all->touched = false;
}

struct accounts *accounts_create(const struct accounts_config *config)
{
    struct accounts *all = mem_new(sizeof *all);
    all->config = *config;
    all->config.admin = mem_strdup(config->admin);
    all->config.job_account = mem_strdup(config->job_account ? config->job_account : "");
    all->auditor = auditor_create();
    make_maps(all);
    load(all);
    return all;
}

void accounts_destroy(struct accounts *all)
{
    if (!all)
        return;
    drop_maps(all);
    auditor_destroy(all->auditor);
    free((char *)all->config.admin);
    free((char *)all->config.job_account);
    free(all);
}

void accounts_undo(struct accounts *all)
{
    if (!all->touched)
        return;
    drop_maps(all);
    make_maps(all);
    load(all);
}

uint64_t accounts_now(const struct accounts *all)
{
    return all->config.server.now(all->config.server.arg);
}

uint64_t accounts_date(const struct accounts *all)
{
    return all->config.server.date(all->config.server.arg);
}

/* ---- looking up ---- */

const struct user *identities_user(const struct accounts *all, const char *name)
{
    return string_map_get(all->users, name);
}

const char *identities_account(const struct accounts *all, const char *name)
{
    const struct user *user = identities_user(all, name);
    return user ? user->account : NULL;
}

const struct key *identities_key(const struct accounts *all, const char *id)
{
    return string_map_get(all->keys, id);
}

const struct token *identities_token(const struct accounts *all, const char *hash)
{
    return string_map_get(all->tokens, hash);
}

const struct token *identities_token_named(const struct accounts *all, const char *id)
{
    return string_map_get(all->token_ids, id);
}

/* ---- records to rows ---- */

static void put_text(struct arena *a, struct text_node *map, const char *key, const char *value)
{
    if (value)
        text_str(a, map, key, value);
}

static void put_number(struct arena *a, struct text_node *map, const char *key, uint64_t value)
{
    if (value)
        text_int(a, map, key, (int64_t)value);
}

/* arena: of the map, and of a copy of name, which may lie in the record that is replaced. It goes.
 */
static void put(struct accounts *all, unsigned kind, const char *name, const struct text_node *map,
                struct arena *arena)
{
    AUTO_BUF struct buf spec = BUF_INIT(ROW_MAX);
    json_print(map, 0, &spec);
    struct object_row row = { .kind = kinds[kind].kind,
                              .project = "",
                              .name = arena_strdup(arena, name),
                              .spec = buf_str(&spec) };
    store_put_object(all->config.store, &row, NULL);
    take(all, kind, &row);
    all->touched = true;
    arena_destroy(arena);
}

void identities_put_user(struct accounts *all, const struct user *user)
{
    struct arena *a = arena_create();
    struct text_node *map = text_map(a, NULL, NULL);
    text_str(a, map, "role", user_role_word(user->role));
    struct text_node *projects = text_list(a, map, "projects");
    for (size_t i = 0; i < user->projects.n; i++)
        text_str(a, projects, NULL, user->projects.at[i]);
    put_text(a, map, "email", user->email);
    put_text(a, map, "account", user->account);
    put_text(a, map, "password", user->password);
    put_number(a, map, "created_ms", user->created_ms);
    put_number(a, map, "ended_ms", user->ended_ms);
    if (user->disabled)
        text_bool(a, map, "disabled", true);
    if (user->extension)
        text_copy(a, map, "extension", user->extension);
    put(all, USERS, user->name, map, a);
}

void identities_put_key(struct accounts *all, const struct key *key)
{
    struct arena *a = arena_create();
    struct text_node *map = text_map(a, NULL, NULL);
    text_str(a, map, "owner", key->owner);
    text_str(a, map, "label", key->label);
    put_text(a, map, "sealed", key->sealed);
    put_text(a, map, "session", key->session);
    put_number(a, map, "created_ms", key->created_ms);
    put_number(a, map, "expires_ms", key->expires_ms);
    put_number(a, map, "used_day", key->used_day);
    text_bool(a, map, "disabled", key->disabled);
    put(all, KEYS, key->id, map, a);
}

void identities_put_token(struct accounts *all, const struct token *token)
{
    struct arena *a = arena_create();
    struct text_node *map = text_map(a, NULL, NULL);
    text_str(a, map, "owner", token->owner);
    text_str(a, map, "label", token->label);
    text_str(a, map, "hash", token->hash);
    put_text(a, map, "job", token->job);
    put_number(a, map, "created_ms", token->created_ms);
    put_number(a, map, "expires_ms", token->expires_ms);
    text_bool(a, map, "application", token->application);
    put(all, TOKENS, token->id, map, a);
}

static void drop_row(struct accounts *all, unsigned kind, const char *name)
{
    store_delete_object(
        all->config.store,
        &(struct object_row){ .kind = kinds[kind].kind, .project = "", .name = name }, NULL);
    all->touched = true;
}

void identities_drop_user(struct accounts *all, const char *name)
{
    drop_row(all, USERS, name);
    forget(all->users, name);
}

void identities_drop_key(struct accounts *all, const char *id)
{
    drop_row(all, KEYS, id);
    forget(all->keys, id);
}

void identities_drop_token(struct accounts *all, const char *id)
{
    drop_row(all, TOKENS, id);
    forget_token(all, id);
}
