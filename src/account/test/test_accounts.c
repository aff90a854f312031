/* Accounts over a real store, without a server: users, keys, tokens and sessions, what ends them,
 * what a restart and a failed commit leave of them, their rights, and the record of who did what.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/audit.h"
#include "account/identity.h"
#include "account/rights.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/audit.h"
#include "store/seal.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS    86400000ull
#define MINUTE_MS 60000ull
#define START_MS  1700000000000ull /* 2023-11-14 */

struct fix {
    struct arena *arena;
    struct store *store;
    struct accounts *accounts;
    char dir[64];
    uint64_t now;
    unsigned changes;
    char changed[64]; /* the last event's type */
    struct err err;
    enum err_code code;
    char id[128], secret[128], session[128]; /* of what was shown last */
};

static uint64_t now(const void *arg)
{
    return ((const struct fix *)arg)->now;
}

static uint64_t same(const void *arg, uint64_t at_ms)
{
    (void)arg;
    return at_ms;
}

static bool never(const void *arg)
{
    (void)arg;
    return false;
}

static void note(void *arg, const char *type, const char *text)
{
    struct fix *f = arg;
    assert_non_null(strstr(text, " by "));
    snprintf(f->changed, sizeof f->changed, "%s", type);
    f->changes++;
}

static void open_all(struct fix *f)
{
    AUTO_FREE char *db = file_join(f->dir, "db"), *key = file_join(f->dir, "identity.key");
    struct err err = { 0 };
    bool fits;
    f->store = store_open(db, &err);
    assert_non_null(f->store);
    struct seal *seal = seal_open(key, store_has_sealed(f->store), &err);
    assert_non_null(seal);
    assert_int_equal(store_use_seal(f->store, seal, &fits, &err), 0);
    f->accounts = accounts_create(&(struct accounts_config){
        .store = f->store, .admin = "boss", .server = { f, now, now, same, never, note } });
}

static void close_all(struct fix *f)
{
    accounts_destroy(f->accounts);
    store_close(f->store);
}

static void reopen(struct fix *f)
{
    close_all(f);
    open_all(f);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/accounts.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->arena = arena_create();
    f->now = START_MS;
    open_all(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    close_all(f);
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

/* ---- commands, each with a commit ---- */

static struct err *begin(struct fix *f)
{
    f->err = (struct err){ 0 };
    return &f->err;
}

static void finish(struct fix *f, bool good)
{
    struct err err = { 0 };
    f->code = f->err.code;
    assert_int_equal(good, f->code == ERR_NONE);
    assert_int_equal(store_commit(f->store, &err), 0);
}

static void take(const char *text, char *out, size_t size)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void shown_user(struct fix *f, const struct user_view *user)
{
    finish(f, user != NULL);
}

static void shown_key(struct fix *f, const struct key_view *key)
{
    finish(f, key != NULL);
    take(key ? key->id : NULL, f->id, sizeof f->id);
    take(key ? key->secret : NULL, f->secret, sizeof f->secret);
    take(key ? key->session : NULL, f->session, sizeof f->session);
}

static void shown_token(struct fix *f, const struct token_view *token)
{
    finish(f, token != NULL);
    take(token ? token->id : NULL, f->id, sizeof f->id);
    take(token ? token->secret : NULL, f->secret, sizeof f->secret);
}

static const char *admin(const struct fix *f)
{
    (void)f;
    return "boss";
}

static enum err_code put(struct fix *f, const struct user_change *ask)
{
    shown_user(f, change_user(f->accounts, f->arena, ask, begin(f)));
    return f->code;
}

static void add(struct fix *f, const char *name, enum user_role role, const char *project)
{
    struct user_change ask = {
        .by = admin(f), .name = name, .create = true, .set_role = true, .role = role
    };
    ask.set_projects = project != NULL;
    ask.projects = (struct words){ .at = &project, .n = project ? 1 : 0 };
    assert_int_equal(put(f, &ask), ERR_NONE);
}

static enum err_code make_token(struct fix *f, const char *by, const char *owner, uint64_t life_ms)
{
    struct token_request ask = { .by = by, .owner = owner, .label = "test", .life_ms = life_ms };
    shown_token(f, create_token(f->accounts, f->arena, &ask, begin(f)));
    return f->code;
}

static enum err_code make_key(struct fix *f, const char *by, const char *owner, uint64_t session_ms)
{
    struct key_request ask = { .by = by, .owner = owner, .session_ms = session_ms };
    shown_key(f, create_key(f->accounts, f->arena, &ask, begin(f)));
    return f->code;
}

static enum err_code bearer(struct fix *f, const char *token, struct identity *who)
{
    struct err err = { 0 };
    return identify_by_token(f->accounts, f->arena, token, who, &err) == 0 ? ERR_NONE : err.code;
}

static enum err_code key(struct fix *f, const char *id, const char *session, const char **secret,
                         struct identity *who)
{
    struct err err = { 0 };
    struct identity_key ask = { .id = id, .session = session, .secret = secret };
    return identify_by_key(f->accounts, f->arena, &ask, who, &err) == 0 ? ERR_NONE : err.code;
}

/* ---- users, keys and tokens ---- */

static void test_users(void **state)
{
    struct fix *f = *state;
    add(f, "alice", ROLE_USER, NULL);
    struct user_change again = { .by = admin(f), .name = "alice", .create = true };
    assert_int_equal(put(f, &again), ERR_CONFLICT);
    struct user_change unknown = { .by = admin(f), .name = "carol", .email = "c@x" };
    assert_int_equal(put(f, &unknown), ERR_NOT_FOUND);
    static const char *const bad[] = { "", "a b", "a/b", "-x", "..", "a\nb" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(
            put(f, &(struct user_change){ .by = admin(f), .name = bad[i], .create = true }),
            ERR_INPUT);
    /* Nobody makes himself an admin; the server's own stays one. */
    struct user_change up = {
        .by = "alice", .name = "alice", .set_role = true, .role = ROLE_ADMIN
    };
    assert_int_equal(put(f, &up), ERR_DENIED);
    struct user_change mail = { .by = "alice", .name = "alice", .email = "a@x" };
    assert_int_equal(put(f, &mail), ERR_NONE);
    add(f, "bob", ROLE_USER, NULL);
    mail.by = "bob";
    assert_int_equal(put(f, &mail), ERR_DENIED);
    struct user_change own = { .by = admin(f), .name = "root", .create = true };
    assert_int_equal(put(f, &own), ERR_NONE);
    own.create = false;
    own.set_role = true;
    own.role = ROLE_READER;
    assert_int_equal(put(f, &own), ERR_CANNOT);
    const struct user_list all = list_users(f->accounts, f->arena, admin(f));
    assert_int_equal(all.n, 3);
    assert_string_equal(all.at[0].name, "alice");
    assert_string_equal(all.at[1].name, "bob");
    assert_string_equal(all.at[2].name, "root");
    assert_int_equal(all.at[2].role, ROLE_ADMIN);
    assert_int_equal(list_users(f->accounts, f->arena, "bob").n, 1);
    assert_null(show_user(f->accounts, f->arena, "bob", "alice"));
    shown_user(f, remove_user(f->accounts, f->arena, "bob", "alice", begin(f)));
    assert_int_equal(f->code, ERR_DENIED);
}

static void test_removed(void **state)
{
    struct fix *f = *state;
    struct identity who;
    const char *secret;
    add(f, "alice", ROLE_USER, NULL);
    make_token(f, "alice", NULL, 0);
    const char *token = arena_strdup(f->arena, f->secret);
    make_key(f, "alice", NULL, 0);
    assert_int_equal(bearer(f, token, &who), ERR_NONE);
    assert_int_equal(key(f, f->id, NULL, &secret, &who), ERR_NONE);
    const char *id = arena_strdup(f->arena, f->id);
    shown_user(f, remove_user(f->accounts, f->arena, admin(f), "alice", begin(f)));
    assert_int_equal(bearer(f, token, &who), ERR_UNAUTHENTICATED);
    assert_int_equal(key(f, id, NULL, &secret, &who), ERR_NOT_FOUND);
    reopen(f);
    assert_int_equal(bearer(f, token, &who), ERR_UNAUTHENTICATED);
}

static void test_password(void **state)
{
    struct fix *f = *state;
    struct identity who;
    struct err err;
    add(f, "alice", ROLE_USER, NULL);
    struct identity_login login = { .name = "alice", .password = "secret1" };
    assert_int_equal(identify_by_password(f->accounts, f->arena, &login, &who, &err), -1);
    assert_int_equal(err.code, ERR_DENIED); /* as for a wrong one */
    struct user_change ask = {
        .by = "alice", .name = "alice", .set_password = true, .password = "secret1"
    };
    assert_int_equal(put(f, &ask), ERR_NONE);
    reopen(f);
    assert_int_equal(identify_by_password(f->accounts, f->arena, &login, &who, &err), 0);
    assert_string_equal(who.name, "alice");
    login.password = "secret2";
    assert_int_equal(identify_by_password(f->accounts, f->arena, &login, &who, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
    login = (struct identity_login){ .name = "nobody-here", .password = "secret1" };
    assert_int_equal(identify_by_password(f->accounts, f->arena, &login, &who, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
}

/* What was found out before holds until the password changes, the user is disabled or removed. */
static void test_ends(void **state)
{
    struct fix *f = *state;
    struct identity who, later;
    struct err err;
    add(f, "alice", ROLE_USER, NULL);
    identify_by_name(f->accounts, f->arena, "alice", &who);
    struct user_change ask = { .by = "alice", .name = "alice", .set_password = true };
    ask.password = "secret1";
    f->now += 10;
    assert_int_equal(put(f, &ask), ERR_NONE); /* the first one: nothing was known by another */
    assert_true(identity_holds(f->accounts, &who));
    assert_int_equal(make_token(f, "alice", NULL, 0), ERR_NONE);
    assert_int_equal(bearer(f, f->secret, &later), ERR_NONE);
    assert_true(identity_holds(f->accounts, &later));
    f->now += 10;
    ask.password = "secret2";
    assert_int_equal(put(f, &ask), ERR_NONE);
    assert_false(identity_holds(f->accounts, &who));
    assert_false(identity_holds(f->accounts, &later));
    assert_int_equal(bearer(f, f->secret, &later), ERR_UNAUTHENTICATED);
    f->now += 10;
    identify_by_name(f->accounts, f->arena, "alice", &who);
    assert_true(identity_holds(f->accounts, &who));
    struct user_change off = { .by = "alice", .name = "alice", .set_disabled = true };
    off.disabled = true;
    assert_int_equal(put(f, &off), ERR_DENIED); /* an admin's to say */
    off.by = "root";
    assert_int_equal(put(f, &off), ERR_NONE);
    assert_false(identity_holds(f->accounts, &who));
    struct identity_login login = { .name = "alice", .password = "secret2" };
    assert_int_equal(identify_by_password(f->accounts, f->arena, &login, &who, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
    assert_int_equal(make_token(f, "root", "alice", 0), ERR_CANNOT);
    reopen(f);
    identify_by_name(f->accounts, f->arena, "alice", &who);
    assert_true(who.disabled);
    off.disabled = false;
    assert_int_equal(put(f, &off), ERR_NONE);
    f->now += 10;
    assert_int_equal(identify_by_password(f->accounts, f->arena, &login, &who, &err), 0);
    off = (struct user_change){
        .by = "root", .name = "root", .set_disabled = true, .disabled = true
    };
    assert_int_not_equal(put(f, &off), ERR_NONE);
    shown_user(f, remove_user(f->accounts, f->arena, "root", "alice", begin(f)));
    assert_false(identity_holds(f->accounts, &who));
    f->now += 10;
    add(f, "alice", ROLE_USER, NULL);
    assert_false(identity_holds(f->accounts, &who));      /* another of that name */
    identify_by_name(f->accounts, f->arena, "bob", &who); /* known by the machine only */
    assert_true(identity_holds(f->accounts, &who));
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static void test_tokens(void **state)
{
    struct fix *f = *state;
    struct identity who;
    add(f, "alice", ROLE_USER, NULL);
    add(f, "rita", ROLE_READER, NULL);
    assert_int_equal(make_token(f, "alice", "rita", 0), ERR_DENIED);
    assert_int_equal(make_token(f, "rita", NULL, 0), ERR_NONE); /* it reads, with a token too */
    assert_int_equal(bearer(f, f->secret, &who), ERR_NONE);
    assert_int_equal(who.role, ROLE_READER);
    assert_int_equal(make_token(f, admin(f), "alice", DAY_MS), ERR_NONE);
    const char *token = arena_strdup(f->arena, f->secret), *id = arena_strdup(f->arena, f->id);
    assert_int_equal(strlen(token), 43);
    assert_int_equal(bearer(f, "no-such-token", &who), ERR_UNAUTHENTICATED);
    assert_int_equal(bearer(f, id, &who), ERR_UNAUTHENTICATED); /* the id is no token */
    reopen(f);
    assert_int_equal(bearer(f, token, &who), ERR_NONE);
    assert_string_equal(who.name, "alice");
    assert_string_equal(who.token, id);
    assert_int_equal(who.expires_ms, f->now + DAY_MS);
    f->now += DAY_MS;
    assert_int_equal(bearer(f, token, &who), ERR_UNAUTHENTICATED);
    make_token(f, "alice", NULL, 0); /* what has expired is gone then */
    assert_int_equal(list_tokens(f->accounts, f->arena, admin(f), "alice").n, 1);
    token = arena_strdup(f->arena, f->secret);
    shown_token(f, remove_token(f->accounts, f->arena, "rita", f->id, begin(f)));
    assert_int_equal(f->code, ERR_NOT_FOUND);
    shown_token(f, remove_token(f->accounts, f->arena, "alice", token, begin(f))); /* by its text */
    assert_int_equal(f->code, ERR_NONE);
    assert_int_equal(bearer(f, token, &who), ERR_UNAUTHENTICATED);
    for (int i = 0; i < 20; i++) { /* none of them looks like an option of a command */
        make_token(f, "alice", NULL, 0);
        assert_int_equal(strspn(f->secret, LETTERS), 43);
    }
}

static void test_keys(void **state)
{
    struct fix *f = *state;
    struct identity who;
    const char *secret = NULL;
    add(f, "alice", ROLE_USER, NULL);
    add(f, "rita", ROLE_READER, NULL);
    assert_int_equal(make_key(f, "rita", NULL, 0), ERR_DENIED);
    assert_int_equal(make_key(f, "alice", NULL, 0), ERR_NONE);
    assert_int_equal(strlen(f->id), 24);
    assert_int_equal(strncmp(f->id, "LTAI", 4), 0);
    assert_int_equal(strlen(f->secret), 30);
    const char *id = arena_strdup(f->arena, f->id), *told = arena_strdup(f->arena, f->secret);
    reopen(f);
    assert_int_equal(key(f, id, NULL, &secret, &who), ERR_NONE);
    assert_string_equal(secret, told);
    assert_string_equal(who.name, "alice");
    assert_string_equal(who.key, id);
    note_key_use(f->accounts, id);
    const struct key_list list = list_keys(f->accounts, f->arena, "alice", NULL);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.at[0].used_day, 19675); /* 2023-11-14 */
    assert_null(list.at[0].secret);
    struct key_change change = { .by = "rita", .id = id, .verb = KEY_DISABLE };
    shown_key(f, change_key(f->accounts, f->arena, &change, begin(f)));
    assert_int_equal(f->code, ERR_NOT_FOUND);
    change.by = "alice";
    shown_key(f, change_key(f->accounts, f->arena, &change, begin(f)));
    assert_int_equal(key(f, id, NULL, &secret, &who), ERR_DENIED);
    change.verb = KEY_ENABLE;
    shown_key(f, change_key(f->accounts, f->arena, &change, begin(f)));
    assert_int_equal(key(f, id, NULL, &secret, &who), ERR_NONE);
    change.verb = KEY_REMOVE;
    shown_key(f, change_key(f->accounts, f->arena, &change, begin(f)));
    assert_int_equal(key(f, id, NULL, &secret, &who), ERR_NOT_FOUND);
}

static void test_sessions(void **state)
{
    struct fix *f = *state;
    struct identity who;
    const char *secret;
    assert_int_equal(make_key(f, "alice", NULL, 3600000), ERR_NONE);
    assert_int_equal(strncmp(f->id, "STS.", 4), 0);
    assert_int_equal(key(f, f->id, NULL, &secret, &who), ERR_UNAUTHENTICATED);
    assert_int_equal(key(f, f->id, "other", &secret, &who), ERR_UNAUTHENTICATED);
    assert_int_equal(key(f, f->id, f->session, &secret, &who), ERR_NONE);
    f->now += 3600000;
    assert_int_equal(key(f, f->id, f->session, &secret, &who), ERR_UNAUTHENTICATED);
}

/* Another identity.key: secrets cannot be read, and it is said so. */
static void test_lost_seal(void **state)
{
    struct fix *f = *state;
    struct identity who;
    const char *secret;
    AUTO_FREE char *path = file_join(f->dir, "identity.key");
    make_key(f, "alice", NULL, 0);
    assert_int_equal(key(f, f->id, NULL, &secret, &who), ERR_NONE);
    assert_int_equal(file_replace(path, "another key another key another!", 32, 0600, NULL), 0);
    reopen(f);
    assert_int_equal(key(f, f->id, NULL, &secret, &who), ERR_UNAUTHENTICATED);
}

static void test_many_tokens(void **state)
{
    struct fix *f = *state;
    struct identity who;
    make_token(f, "alice", NULL, 0);
    const char *lasting = arena_strdup(f->arena, f->secret);
    make_token(f, "alice", NULL, DAY_MS);
    const char *first = arena_strdup(f->arena, f->secret);
    for (int i = 0; i < 999; i++) {
        struct token_request ask = { .by = "alice", .life_ms = 2 * DAY_MS };
        shown_token(f, create_token(f->accounts, f->arena, &ask, begin(f)));
    }
    assert_int_equal(bearer(f, first, &who), ERR_UNAUTHENTICATED);
    assert_int_equal(bearer(f, lasting, &who), ERR_NONE);
    assert_int_equal(bearer(f, f->secret, &who), ERR_NONE);
}

/* ---- turns ---- */

static void test_commit_failed(void **state)
{
    struct fix *f = *state;
    struct identity who;
    struct token_request ask = { .by = "alice", .label = "lost" };
    add(f, "alice", ROLE_USER, NULL);
    assert_string_equal(f->changed, "user.created");
    assert_int_equal(f->changes, 1);
    const struct token_view *lost = create_token(f->accounts, f->arena, &ask, begin(f));
    assert_non_null(lost);
    assert_int_equal(bearer(f, lost->secret, &who), ERR_NONE); /* in the open transaction */
    store_rollback(f->store);
    accounts_undo(f->accounts);
    assert_int_equal(bearer(f, lost->secret, &who), ERR_UNAUTHENTICATED);
    assert_non_null(show_user(f->accounts, f->arena, "alice", "alice"));
}

/* ---- rights ---- */

static void test_rights(void **state)
{
    struct fix *f = *state;
    static const struct {
        const char *name;
        bool reads, changes, project;
    } rows[] = { { "alice", true, true, false },  { "bob", true, false, true },
                 { "eve", false, false, false },  { "rita", true, false, true },
                 { "ada", true, true, true },     { "root", true, true, true },
                 { "boss", true, true, true },    { "nobody-knows", false, false, false },
                 { "reader", true, false, false } };
    add(f, "alice", ROLE_USER, NULL);
    add(f, "bob", ROLE_USER, "vision");
    add(f, "rita", ROLE_READER, "vision");
    add(f, "ada", ROLE_ADMIN, NULL);
    add(f, "reader", ROLE_READER, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *owner = strcmp(rows[i].name, "reader") == 0 ? "reader" : "alice";
        const struct job_row row = { .owner = owner, .project = "vision", .number = 7 };
        struct err err = { 0 };
        bool good = check_may_change(f->accounts, rows[i].name, &row, &err) == 0;
        assert_int_equal(user_may_read(f->accounts, rows[i].name, &row), rows[i].reads);
        assert_int_equal(user_may_change(f->accounts, rows[i].name, &row), rows[i].changes);
        assert_int_equal(user_may_use_project(f->accounts, rows[i].name, "vision"),
                         rows[i].project);
        assert_true(user_may_use_project(f->accounts, rows[i].name, "default"));
        assert_int_equal(good, rows[i].changes);
        if (!good)
            assert_int_equal(err.code, rows[i].reads ? ERR_DENIED : ERR_NOT_FOUND);
    }
    const struct job_row row = { .owner = "alice", .project = "vision" };
    assert_true(user_may_read(f->accounts, NULL, &row)); /* the server itself */
    assert_false(user_may_change(f->accounts, NULL, &row));
}

/* A program of a job reads its owner's jobs, not those of projects that the owner is a member of.
 */
static void test_programs_of_jobs(void **state)
{
    struct fix *f = *state;
    struct identity who;
    struct job_filter filter = { .limit = 10 };
    const struct job_row own = { .owner = "bob", .project = "vision" },
                         others = { .owner = "alice", .project = "vision" };
    add(f, "bob", ROLE_USER, "vision");
    identify_by_name(f->accounts, f->arena, "bob", &who);
    assert_true(identity_may_read(f->accounts, &who, &own));
    assert_true(identity_may_read(f->accounts, &who, &others));
    filter_readable(f->accounts, f->arena, &who, &filter);
    assert_null(filter.owner);
    assert_string_equal(filter.reader, "bob");
    assert_int_equal(filter.projects->n, 1);
    who.of.job = 9;
    filter = (struct job_filter){ .limit = 10 };
    assert_true(identity_may_read(f->accounts, &who, &own));
    assert_false(identity_may_read(f->accounts, &who, &others));
    filter_readable(f->accounts, f->arena, &who, &filter);
    assert_string_equal(filter.owner, "bob");
}

static void test_run_as(void **state)
{
    struct fix *f = *state;
    struct account_choice choice = { .name = "x" };
    struct identity who;
    struct err err = { 0 };
    identify_by_name(f->accounts, f->arena, "alice", &who);
    assert_string_equal(jobs_run_as(f->accounts), "shared"); /* everybody's as the server's user */
    assert_int_equal(choose_account(f->accounts, f->arena, &who, &choice, &err), 0);
    assert_null(choice.name);
    choice = (struct account_choice){ .name = "alice", .ordinary = true };
    assert_int_equal(refuse_account(&who, &choice, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
    assert_non_null(strstr(err.what, "\"alice\""));
}

/* ---- who did what ---- */

/* Oldest first: "user|role|action|object|outcome" a line. */
static const char *entries(struct fix *f, struct buf *out)
{
    const struct audit_ask ask = { .ascending = true, .limit = 1000 };
    struct audit_view view;
    struct err err;
    assert_int_equal(list_audit(f->accounts, f->arena, &ask, &view, &err), 0);
    buf_clear(out);
    for (const struct audit_row *e = view.at; e < view.at + view.n; e++)
        buf_addf(out, "%s|%s|%s|%s|%s\n", e->user, e->role, e->action, e->object, e->outcome);
    return buf_str(out);
}

static void test_audit(void **state)
{
    struct fix *f = *state;
    AUTO_BUF struct buf said = BUF_INIT(1u << 20);
    const struct job_row job = { .owner = "alice", .number = 4 };
    add(f, "alice", ROLE_USER, NULL);
    struct user_change up = {
        .by = "alice", .name = "alice", .set_role = true, .role = ROLE_ADMIN
    };
    assert_int_equal(put(f, &up), ERR_DENIED);
    audit_job(f->accounts, "alice", "job.stop", &job, NULL); /* its owner's doing */
    audit_job(f->accounts, "root", "job.stop", &job, NULL);
    audit_server(f->accounts, "server.slept", "a\x1b[2J");
    assert_string_equal(entries(f, &said), "boss|admin|user.created|user alice (user)|ok\n"
                                           "alice|user|user.change|user alice|denied\n"
                                           "root|admin|job.stop|job 4 of alice|ok\n"
                                           "||server.slept|a?[2J|ok\n");
    store_rollback(f->store); /* entries go with what they are of */
    assert_null(strstr(entries(f, &said), "job.stop"));
    assert_non_null(strstr(said.data, "user.created"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_users),         T(test_removed), T(test_password),         T(test_ends),
        T(test_tokens),        T(test_keys),    T(test_sessions),         T(test_lost_seal),
        T(test_many_tokens),   T(test_rights),  T(test_programs_of_jobs), T(test_run_as),
        T(test_commit_failed), T(test_audit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
