/* Accounts in the core: rights by job in commands, lists and views; users, keys and tokens across
 * turns, commits that fail and restarts; secrets at rest and in events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "account/rights.h"
#include "answer/events.h"
#include "answer/job_rights.h"
#include "answer/jobs.h"
#include "base/file.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/core.h"
#include "text/json.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define DAY_MS 86400000ull

struct fix {
    struct world world; /* first */
    struct arena *arena;
    enum err_code code;
    char what[256];
    char id[128], secret[128], session[128], user[128]; /* of the last answer */
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    world_init(&f->world);
    f->arena = arena_create();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    world_fini(&f->world);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void take(const char *text, char *out, size_t size)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void done(void *arg, const struct ctl_answer *answer)
{
    struct fix *f = arg;
    f->code = answer->err ? answer->err->code : ERR_NONE;
    snprintf(f->what, sizeof f->what, "%s", answer->err ? answer->err->what : "");
    const struct key_view *key = answer->made.key;
    const struct token_view *token = answer->made.token;
    take(key ? key->id : token ? token->id : NULL, f->id, sizeof f->id);
    take(key ? key->secret : token ? token->secret : NULL, f->secret, sizeof f->secret);
    take(key ? key->session : NULL, f->session, sizeof f->session);
    take(answer->made.user ? answer->made.user->name : NULL, f->user, sizeof f->user);
}

static struct ctl *ctl_of(struct fix *f)
{
    return f->world.ctl;
}

static const char *admin(struct fix *f)
{
    return ctl_of(f)->admin;
}

static enum err_code put(struct fix *f, const struct user_change *ask)
{
    ctl_user_put(ctl_of(f), ask, done, f);
    ctl_turn(ctl_of(f));
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
    ctl_token_create(ctl_of(f), &ask, done, f);
    ctl_turn(ctl_of(f));
    return f->code;
}

static enum err_code make_key(struct fix *f, const char *by, const char *owner, uint64_t session_ms)
{
    struct key_request ask = { .by = by, .owner = owner, .session_ms = session_ms };
    ctl_key_create(ctl_of(f), &ask, done, f);
    ctl_turn(ctl_of(f));
    return f->code;
}

static enum err_code bearer(struct fix *f, const char *token, struct identity *who)
{
    struct err err = { 0 };
    return identify_by_token(ctl_of(f)->accounts, f->arena, token, who, &err) == 0 ? ERR_NONE
                                                                                   : err.code;
}

static enum err_code key(struct fix *f, const char *id, const char *session, const char **secret,
                         struct identity *who)
{
    struct err err = { 0 };
    struct identity_key ask = { .id = id, .session = session, .secret = secret };
    return identify_by_key(ctl_of(f)->accounts, f->arena, &ask, who, &err) == 0 ? ERR_NONE
                                                                                : err.code;
}

static uint64_t submit(struct fix *f, const char *owner, const char *project)
{
    const char *text = arena_printf(
        f->arena, "{\"name\": \"j\", \"project\": \"%s\", \"roles\": {\"w\": {\"run\": \"x\"}}}",
        project);
    return world_submit_as(
        &f->world,
        &(struct submission){ .owner = owner, .text = text, .len = strlen(text), .from = "plain" });
}

static struct identity named(struct fix *f, const char *name)
{
    struct identity who;
    identify_by_name(ctl_of(f)->accounts, f->arena, name, &who);
    return who;
}

/* ---- roles ---- */

static void declare_project(struct fix *f, const char *name)
{
    const char *text = arena_printf(f->arena, "{\"kind\": \"workspace\", \"name\": \"%s\"}", name);
    struct declaration ask = { .owner = admin(f), .text = text, .len = strlen(text) };
    ctl_declare(ctl_of(f), &ask, done, f);
    ctl_turn(ctl_of(f));
    if (f->code)
        fail_msg("%s", f->what);
}

static void test_rights(void **state)
{
    struct fix *f = *state;
    struct err err;
    uint64_t found = 0;
    declare_project(f, "vision");
    add(f, "alice", ROLE_USER, NULL);
    add(f, "bob", ROLE_USER, "vision");
    add(f, "eve", ROLE_USER, NULL);
    add(f, "rita", ROLE_READER, "vision");
    add(f, "ada", ROLE_ADMIN, NULL);
    uint64_t job = submit(f, "alice", "vision");
    if (!job)
        fail_msg("%s", f->world.what);
    static const struct {
        const char *name;
        bool reads, writes;
    } rows[] = { { "alice", true, true },         { "bob", true, false }, { "eve", false, false },
                 { "rita", true, false },         { "ada", true, true },  { "root", true, true },
                 { "nobody-knows", false, false } };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct identity who = named(f, rows[i].name);
        assert_int_equal(answer_may_read(ctl_of(f), &who, job), rows[i].reads);
        assert_int_equal(answer_may_write(ctl_of(f), &who, job), rows[i].writes);
        int rc = answer_find_for(ctl_of(f), &who, "j", &found, &err);
        assert_int_equal(rc == 0, rows[i].reads);
        if (!rows[i].reads)
            assert_int_equal(err.code, ERR_NOT_FOUND);
        struct job_filter filter = { .limit = 10 };
        filter_readable(ctl_of(f)->accounts, f->arena, &who, &filter);
        const struct job_ask ask = { .job = job, .owner = rows[i].name };
        struct job_list jobs;
        struct job_view view;
        uint64_t n = 9;
        assert_int_equal(answer_list_view(ctl_of(f), f->arena, &filter, &jobs, &err), 0);
        assert_int_equal(jobs.n, rows[i].reads);
        assert_int_equal(answer_list_count(ctl_of(f), &filter, &n, &err), 0);
        assert_int_equal(n, rows[i].reads);
        assert_int_equal(answer_job_view(ctl_of(f), f->arena, &ask, &view, &err) == 0,
                         rows[i].reads);
    }
    world_command_as(&f->world, "eve", job, CTL_STOP);
    assert_int_equal(f->world.code, ERR_NOT_FOUND);
    world_command_as(&f->world, "bob", job, CTL_STOP);
    assert_int_equal(f->world.code, ERR_DENIED);
    assert_int_equal(submit(f, "rita", "vision"), 0);
    assert_int_equal(f->world.code, ERR_DENIED);
    world_command_as(&f->world, "ada", job, CTL_STOP);
    assert_int_equal(f->world.code, ERR_NONE);
}

/* The newest of a name is another's: one's own is found. */
static void test_own_name(void **state)
{
    struct fix *f = *state;
    struct err err;
    uint64_t found = 0;
    uint64_t mine = submit(f, "alice", "default");
    submit(f, "bob", "default");
    struct identity who = named(f, "alice");
    assert_int_equal(answer_find_for(ctl_of(f), &who, "j", &found, &err), 0);
    assert_int_equal(found, mine);
}

/* ---- users ---- */

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
    ctl_user_remove(ctl_of(f), admin(f), "alice", done, f);
    ctl_turn(ctl_of(f));
    assert_int_equal(bearer(f, token, &who), ERR_UNAUTHENTICATED);
    assert_int_equal(key(f, id, NULL, &secret, &who), ERR_NOT_FOUND);
    world_crash(&f->world);
    assert_int_equal(bearer(f, token, &who), ERR_UNAUTHENTICATED);
}

/* ---- keys and tokens ---- */

/* Nothing that was told is in the records or the events as it was told. */
static void test_at_rest(void **state)
{
    struct fix *f = *state;
    struct err err;
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    add(f, "alice", ROLE_USER, NULL);
    make_token(f, "alice", NULL, 0);
    const char *token = arena_strdup(f->arena, f->secret);
    make_key(f, "alice", NULL, 0);
    const char *secret = arena_strdup(f->arena, f->secret);
    struct user_change ask = {
        .by = "alice", .name = "alice", .set_password = true, .password = "open sesame"
    };
    put(f, &ask);
    static const char *const kinds[] = { "user", "key", "token" };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct object_row *rows;
        size_t n;
        assert_int_equal(store_objects(f->world.store, f->arena,
                                       &(struct object_row){ .kind = kinds[i] }, &rows, &n, &err),
                         0);
        assert_int_equal(n, 1);
        buf_puts(&text, rows[0].spec);
    }
    const struct event_query all = { .limit = 100 };
    struct event_list events;
    assert_int_equal(answer_events_view(ctl_of(f), f->arena, &all, &events, &err), 0);
    for (size_t i = 0; i < events.n; i++) {
        const struct event_view *event = &events.at[i];
        buf_addf(&text, "%s %s ", event->type, event->text ? event->text : "");
        if (event->body)
            json_print(event->body, 0, &text);
    }
    assert_non_null(strstr(buf_str(&text), "token.created"));
    assert_non_null(strstr(buf_str(&text), "key.created"));
    assert_non_null(strstr(buf_str(&text), "user.changed"));
    assert_null(strstr(buf_str(&text), token));
    assert_null(strstr(buf_str(&text), secret));
    assert_null(strstr(buf_str(&text), "sesame"));
}

/* A full disk: what was not committed is not known. */
static void test_full(void **state)
{
    struct fix *f = *state;
    struct rlimit old, none;
    struct identity who;
    add(f, "alice", ROLE_USER, NULL);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    none = old;
    none.rlim_cur = 1;
    setrlimit(RLIMIT_FSIZE, &none);
    enum err_code code = make_token(f, "alice", NULL, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_not_equal(code, ERR_NONE);
    assert_int_equal(list_tokens(ctl_of(f)->accounts, f->arena, admin(f), NULL).n, 0);
    f->world.now += 10000;
    assert_int_equal(make_token(f, "alice", NULL, 0), ERR_NONE);
    assert_int_equal(bearer(f, f->secret, &who), ERR_NONE);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_rights), T(test_own_name), T(test_removed), T(test_at_rest), T(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
