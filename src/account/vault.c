/* Secrets by name. A value is kept as base64 text, because the column of values is one of texts;
 * what is shown lies in a row of `object`, whose project is the user or, with a slash, which no
 * name of a user has, the project. Nothing of either is held in memory. */
#include "account/vault.h"

#include "account/audit.h"
#include "account/identities.h"
#include "account/rights.h"
#include "store/secret.h"

#include "base/buf.h"
#include "base/mem.h"
#include "job/secret.h"
#include "text/json.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define KIND    "secret"
#define VALUES  "named/" /* in front of names in the table of values: others are kept there too */
#define PROJECT "project/"
#define FORM    sodium_base64_VARIANT_ORIGINAL
#define ROW_MAX (16u << 10)

/* ---- whose ---- */

static const char *scope_of(struct arena *arena, const char *owner, const char *project)
{
    return project ? arena_printf(arena, PROJECT "%s", project) : owner;
}

static const char *project_of(const char *scope)
{
    size_t n = sizeof PROJECT - 1;
    return strncmp(scope, PROJECT, n) == 0 ? scope + n : NULL;
}

static bool is_a_project(const char *project)
{
    return project && *project && strcmp(project, "default") != 0;
}

/* "default" is everybody's: what is kept for it only admins say. */
static bool may_use(const struct accounts *all, const char *by, const char *owner,
                    const char *project)
{
    if (user_is_admin(all, by))
        return true;
    if (project)
        return is_a_project(project) && user_may_use_project(all, by, project);
    return by && owner && strcmp(by, owner) == 0;
}

static const char *named(struct arena *arena, const char *owner, const char *project)
{
    return project ? arena_printf(arena, "of project %s", project)
                   : arena_printf(arena, "of %s", owner);
}

/* ---- rows ---- */

static struct secret_view read_row(struct arena *arena, const struct object_row *row)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *map = json_parse(arena, row->spec, strlen(row->spec), 0, &report);
    const char *project = project_of(row->project);
    return (struct secret_view){ .name = arena_strdup(arena, row->name),
                                 .owner = project ? NULL : arena_strdup(arena, row->project),
                                 .project = arena_strdup(arena, project),
                                 .by = text_word(map, "by"),
                                 .created_ms = text_number(map, "created_ms"),
                                 .changed_ms = text_number(map, "changed_ms"),
                                 .used_ms = text_number(map, "used_ms"),
                                 .used_job = text_number(map, "used_job") };
}

static bool get_row(const struct accounts *all, struct arena *arena, const char *scope,
                    const char *name, struct secret_view *view)
{
    struct object_row row = { .kind = KIND, .project = scope, .name = name };
    if (store_get_object(all->config.store, arena, &row, NULL) != 1 || !row.spec)
        return false;
    *view = read_row(arena, &row);
    return true;
}

static int put_row(const struct accounts *all, struct arena *arena, const char *scope,
                   const struct secret_view *view, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(ROW_MAX);
    struct text_node *map = text_map(arena, NULL, NULL);
    text_str(arena, map, "by", view->by);
    text_int(arena, map, "created_ms", (int64_t)view->created_ms);
    text_int(arena, map, "changed_ms", (int64_t)view->changed_ms);
    if (view->used_ms) {
        text_int(arena, map, "used_ms", (int64_t)view->used_ms);
        text_int(arena, map, "used_job", (int64_t)view->used_job);
    }
    json_print(map, 0, &text);
    const struct object_row row = {
        .kind = KIND, .project = scope, .name = view->name, .spec = buf_str(&text)
    };
    return store_put_object(all->config.store, &row, err);
}

static size_t rows_of(const struct accounts *all, struct arena *arena, const char *scope,
                      struct object_row **rows)
{
    size_t n = 0;
    const struct object_row of = { .kind = KIND, .project = scope };
    return store_objects(all->config.store, arena, &of, rows, &n, NULL) ? 0 : n;
}

/* ---- values ---- */

static int put_value(const struct accounts *all, struct arena *arena, const char *scope,
                     const struct secret_change *ask, struct err *err)
{
    size_t room = sodium_base64_encoded_len(ask->len, FORM);
    char *text = mem_new(room);
    sodium_bin2base64(text, room, ask->value, ask->len, FORM);
    int rc = store_put_secret(all->config.store, scope, arena_printf(arena, VALUES "%s", ask->name),
                              text, strlen(text), err);
    sodium_memzero(text, room);
    free(text);
    return rc;
}

static int get_value(const struct accounts *all, struct arena *arena, const char *scope,
                     const char *name, struct secret_value *out, struct err *err)
{
    const char *text = NULL;
    int found = store_get_secret(all->config.store, arena, scope,
                                 arena_printf(arena, VALUES "%s", name), &text, err);
    if (found < 0)
        return -1;
    if (!text) {
        err_set(err, ERR_CANNOT, "the secret \"%.120s\" is sealed with another key", name);
        return err_hint(err, "set it again, or put the right key back (the setting seal_key)");
    }
    size_t room = strlen(text);
    unsigned char *value = arena_alloc(arena, room + 1);
    int rc = sodium_base642bin(value, room, text, room, NULL, &out->len, NULL, FORM);
    sodium_memzero((char *)(uintptr_t)text, room);
    if (rc != 0)
        return err_set(err, ERR_SYSTEM, "the secret \"%.120s\" is kept in no form that is known",
                       name);
    value[out->len] = '\0';
    out->at = value;
    return 1;
}

void secret_wipe(struct secret_value *value)
{
    if (value->at)
        sodium_memzero((unsigned char *)(uintptr_t)value->at, value->len);
    *value = (struct secret_value){ .at = NULL };
}

/* ---- changing ---- */

static int check_change(struct accounts *all, struct arena *arena, const struct secret_change *ask,
                        const char *owner, struct err *err)
{
    if (ask->owner && ask->project)
        return err_set(err, ERR_INPUT, "a secret is a user's or a project's, not both");
    if (!secret_name_ok(ask->name)) {
        err_set(err, ERR_INPUT, "\"%.80s\" is no name of a secret", ask->name);
        return err_hint(err, "letters, digits, . _ -, as hf-token or db/password; at most %u bytes",
                        SECRET_NAME_MAX);
    }
    bool reader = ask->by && user_role_of(all, ask->by) == ROLE_READER;
    if (may_use(all, ask->by, owner, ask->project) && !reader)
        return 0;
    if (reader)
        err_set(err, ERR_DENIED, "%.60s is a reader: it keeps no secrets", ask->by);
    else if (ask->project)
        err_set(err, ERR_DENIED, "only members of a project and admins keep secrets for it");
    else
        err_set(err, ERR_DENIED, "only an admin does this for others");
    audit(all, ask->by, "secrets.change", named(arena, owner, ask->project), err);
    return -1;
}

static int check_value(const struct secret_change *ask, struct err *err)
{
    if (ask->len == 0) {
        err_set(err, ERR_INPUT, "the value of secret \"%.80s\" is empty", ask->name);
        return err_hint(err, "it comes on standard input");
    }
    if (ask->len > SECRET_VALUE_MAX)
        return err_set(err, ERR_TOO_LARGE, "the value of secret \"%.80s\" has more than %u bytes",
                       ask->name, SECRET_VALUE_MAX);
    return 0;
}

static int check_room(const struct accounts *all, struct arena *arena, const char *scope,
                      const char *whose, struct err *err)
{
    struct object_row *rows;
    if (rows_of(all, arena, scope, &rows) < SECRETS_OF_OWNER)
        return 0;
    err_set(err, ERR_CANNOT, "%u secrets %.100s are kept already", SECRETS_OF_OWNER, whose);
    err_remedy(err, REMEDY_LIST_SECRETS);
    return -1;
}

static void tell(struct accounts *all, struct arena *arena, const char *by, const char *type,
                 const char *what)
{
    const struct accounts_server *server = &all->config.server;
    audit(all, by, type, what, NULL);
    server->changed(server->arg, type,
                    arena_printf(arena, "%s by %s", what, by ? by : "the server"));
}

static int remove_secret(const struct accounts *all, struct arena *arena, const char *scope,
                         const char *name, struct err *err)
{
    const struct object_row row = { .kind = KIND, .project = scope, .name = name };
    if (store_delete_secret(all->config.store, scope, arena_printf(arena, VALUES "%s", name), err))
        return -1;
    return store_delete_object(all->config.store, &row, err);
}

struct secret_view *change_secret(struct accounts *all, struct arena *arena,
                                  const struct secret_change *ask, struct err *err)
{
    const char *owner = ask->project ? NULL : ask->owner ? ask->owner : ask->by;
    if (check_change(all, arena, ask, owner, err))
        return NULL;
    const char *scope = scope_of(arena, owner, ask->project);
    struct secret_view *view = ARENA_NEW(arena, struct secret_view);
    bool there = get_row(all, arena, scope, ask->name, view);
    const char *what =
        arena_printf(arena, "secret %s %s", ask->name, named(arena, owner, ask->project));
    if (!ask->value) {
        if (!there) {
            err_set(err, ERR_NOT_FOUND, "no secret \"%.120s\" %.100s", ask->name,
                    named(arena, owner, ask->project));
            err_remedy(err, REMEDY_LIST_SECRETS);
            return NULL;
        }
        if (remove_secret(all, arena, scope, ask->name, err))
            return NULL;
        tell(all, arena, ask->by, "secret.removed", what);
        return view;
    }
    if (check_value(ask, err) ||
        (!there && check_room(all, arena, scope, named(arena, owner, ask->project), err)))
        return NULL;
    if (!there)
        *view = (struct secret_view){ .name = arena_strdup(arena, ask->name),
                                      .owner = arena_strdup(arena, owner),
                                      .project = arena_strdup(arena, ask->project),
                                      .created_ms = accounts_date(all) };
    view->by = arena_strdup(arena, ask->by ? ask->by : "");
    view->changed_ms = accounts_date(all);
    if (put_row(all, arena, scope, view, err) || put_value(all, arena, scope, ask, err))
        return NULL;
    tell(all, arena, ask->by, there ? "secret.changed" : "secret.created", what);
    return view;
}

void drop_secrets_of(struct accounts *all, const char *user)
{
    (void)store_drop_objects(all->config.store, KIND, user, NULL);
    (void)store_drop_secrets(all->config.store, user, VALUES, NULL);
}

/* ---- reading ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct secret_view *)a)->name, ((const struct secret_view *)b)->name);
}

static void add_scope(const struct accounts *all, struct arena *arena, const char *scope,
                      struct secret_list *list)
{
    struct object_row *rows = NULL;
    size_t n = rows_of(all, arena, scope, &rows);
    struct secret_view *at = ARENA_ARRAY(arena, list->n + n, struct secret_view);
    if (list->n)
        memcpy(at, list->at, list->n * sizeof *at);
    for (size_t i = 0; i < n; i++)
        at[list->n + i] = read_row(arena, &rows[i]);
    if (n)
        qsort(at + list->n, n, sizeof *at, by_name);
    list->at = at;
    list->n += n;
}

int list_secrets(const struct accounts *all, struct arena *arena, const struct secret_ask *ask,
                 struct secret_list *list, struct err *err)
{
    const char *owner = ask->owner ? ask->owner : ask->by;
    *list = (struct secret_list){ .n = 0 };
    bool other = ask->owner || ask->project;
    if (other && !may_use(all, ask->by, owner, ask->project))
        return err_set(err, ERR_DENIED, "those secrets are not yours to see");
    if (owner && !ask->project)
        add_scope(all, arena, owner, list);
    if (ask->project)
        add_scope(all, arena, scope_of(arena, NULL, ask->project), list);
    const struct user *user = !other && owner ? identities_user(all, owner) : NULL;
    for (size_t i = 0; user && i < user->projects.n; i++)
        if (is_a_project(user->projects.at[i]))
            add_scope(all, arena, scope_of(arena, NULL, user->projects.at[i]), list);
    return 0;
}

/* ---- for jobs ---- */

/* The scopes that are looked through, in this order; at most two. */
static size_t scopes_of(const struct accounts *all, struct arena *arena,
                        const struct secret_user *user, const char *scopes[2])
{
    size_t n = 0;
    if (user->name)
        scopes[n++] = user->name;
    const char *project = user->project && *user->project ? user->project : "default";
    if (user_may_use_project(all, user->name, project))
        scopes[n++] = scope_of(arena, NULL, project);
    return n;
}

int find_secret(const struct accounts *all, struct arena *arena, const struct secret_user *user,
                const char *name, struct secret_value *out, struct err *err)
{
    const char *scopes[2];
    struct secret_view view;
    size_t n = scopes_of(all, arena, user, scopes);
    for (size_t i = 0; i < n; i++) {
        if (!get_row(all, arena, scopes[i], name, &view))
            continue;
        *out = (struct secret_value){ .owner = view.owner, .project = view.project };
        return get_value(all, arena, scopes[i], name, out, err);
    }
    return 0;
}

bool has_secret(const struct accounts *all, const struct secret_user *user, const char *name)
{
    const char *scopes[2];
    struct arena *arena = arena_create();
    struct secret_view view;
    bool has = false;
    size_t n = scopes_of(all, arena, user, scopes);
    for (size_t i = 0; i < n && !has; i++)
        has = get_row(all, arena, scopes[i], name, &view);
    arena_destroy(arena);
    return has;
}

struct words names_of_secrets(const struct accounts *all, struct arena *arena,
                              const struct secret_user *user)
{
    const char *scopes[2];
    size_t n = scopes_of(all, arena, user, scopes);
    struct secret_list list = { .n = 0 };
    for (size_t i = 0; i < n; i++)
        add_scope(all, arena, scopes[i], &list);
    struct words names = { .at = ARENA_ARRAY(arena, list.n, const char *) };
    for (size_t i = 0; i < list.n; i++)
        if (!words_have(&names, list.at[i].name))
            names.at[names.n++] = list.at[i].name;
    return names;
}

void note_secret_use(struct accounts *all, const struct secret_use *use)
{
    const char *scopes[2];
    struct arena *arena = arena_create();
    struct secret_view view;
    size_t n = scopes_of(all, arena, use->user, scopes);
    for (size_t i = 0; i < n; i++) {
        if (!get_row(all, arena, scopes[i], use->name, &view))
            continue;
        view.used_ms = accounts_date(all);
        view.used_job = use->job;
        (void)put_row(all, arena, scopes[i], &view, NULL);
        break;
    }
    audit(all, use->user->name, "secret.used", use->what, NULL);
    arena_destroy(arena);
}
