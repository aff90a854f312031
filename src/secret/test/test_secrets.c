/* Secrets of a job without a core: what is missing is named, what tasks get by name and by set,
 * also of what kubectl left, and which agents hear of one that is set anew after the commit. */
#include "secret/secrets.h"

#include "account/accounts.h"
#include "account/vault.h"
#include "base/file.h"
#include "base/mem.h"
#include "dialect/dialect.h"
#include "engine/engine.h"
#include "live/live.h"
#include "store/seal.h"
#include "store/store.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#define JOB                                                                                        \
    "{\"name\":\"j\",\"inputs\":{\"secrets\":[\"token\",{\"name\":\"db/*\",\"env\":\"DB_\"}]},"    \
    "\"roles\":{\"w\":{\"run\":\"x\",\"resources\":{\"cpu\":1}}}}"

struct fix {
    struct engine engine; /* first */
    struct arena *arena;
    struct store *store;
    struct accounts *accounts;
    struct live *live;
    struct live_job *job;
    struct secrets *secrets;
    char dir[40];
    size_t told; /* values that agents heard of */
};

static uint64_t now(const void *arg)
{
    (void)arg;
    return 1700000000000ull;
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
    (void)arg;
    (void)type;
    (void)text;
}

static void hear(struct engine *engine, const struct engine_secrets *secrets)
{
    struct fix *f = (struct fix *)engine;
    assert_string_equal(secrets->node, "n1");
    f->told += secrets->n;
}

static const struct job_spec *spec(void *arg, struct live_job *job)
{
    (void)arg;
    return job->spec;
}

/* "db/password" is "hidden"; only in one namespace. */
static const struct text_node *kube_data(void *arg, struct arena *arena, const char *owner,
                                         const char *project, const char *name)
{
    (void)arg;
    if (strcmp(owner, "boss") != 0 || strcmp(project, "default") != 0 || strcmp(name, "db") != 0)
        return NULL;
    struct text_node *data = text_map(arena, NULL, NULL);
    text_str(arena, data, "password", arena_strdup(arena, "aGlkZGVu"));
    return data;
}

static void make_job(struct fix *f)
{
    const struct job_row row = { .id = 7,
                                 .number = 1,
                                 .generation = 1,
                                 .tasks = 1,
                                 .state = JOB_RUNNING,
                                 .owner = "boss",
                                 .name = "j" };
    struct report report;
    report_init(&report, f->arena);
    f->job = live_add(f->live, &row);
    f->job->spec =
        job_decode(f->arena, json_parse(f->arena, JOB, strlen(JOB), 0, &report), &report);
    assert_non_null(f->job->spec);
    live_make_tasks(f->job);
    f->job->tasks[0].place.node = "n1";
    live_add_agent(f->job, "n1")->launched = true;
    live_set_active(f->live, f->job, true);
}

static int setup(void **state)
{
    static const struct dialects none = { .n_conventions = 0 };
    static const struct engine_ops ops = { .name = "test", .secrets = hear };
    static struct fix f;
    struct err err;
    bool fits;
    f = (struct fix){ .engine.ops = &ops, .dir = "/tmp/muster-secret-XXXXXX" };
    assert_non_null(mkdtemp(f.dir));
    f.arena = arena_create();
    AUTO_FREE char *db = file_join(f.dir, "db"), *key = file_join(f.dir, "key");
    f.store = store_open(db, &err);
    struct seal *seal = f.store ? seal_open(key, false, &err) : NULL;
    assert_true(seal && store_use_seal(f.store, seal, &fits, &err) == 0);
    f.accounts = accounts_create(&(struct accounts_config){
        .store = f.store, .admin = "boss", .server = { &f, now, now, same, never, note } });
    f.live = live_create();
    make_job(&f);
    f.secrets = secrets_create(
        &(struct secrets_config){ .accounts = f.accounts,
                                  .dialects = &none,
                                  .engine = &f.engine,
                                  .live = f.live,
                                  .server = { .spec = spec, .kube_data = kube_data } });
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    struct err err;
    secrets_destroy(f->secrets);
    live_destroy(f->live);
    accounts_destroy(f->accounts);
    store_close(f->store);
    arena_destroy(f->arena);
    return file_remove_tree(f->dir, &err);
}

static void put(struct fix *f, const char *name, const char *value)
{
    struct err err;
    const struct secret_change ask = {
        .by = "boss", .name = name, .value = value, .len = value ? strlen(value) : 0
    };
    assert_non_null(change_secret(f->accounts, f->arena, &ask, &err));
}

static int launch(struct fix *f, struct launch *out, struct launch_task *task, struct err *err)
{
    *task = (struct launch_task){ .role = "w" };
    *out = (struct launch){ .node = "n1", .tasks = task, .n_tasks = 1 };
    return secrets_add(f->secrets, f->job, f->arena, out, err);
}

static void what_is_missing_is_named(void **state)
{
    struct fix *f = *state;
    struct report report;
    report_init(&report, f->arena);
    assert_true(secrets_any(f->job->spec));
    put(f, "tokens", "x");
    assert_int_equal(secrets_check(f->secrets, "boss", f->job->spec, &report), -1);
    assert_int_equal(report.n, 1);
    assert_string_equal(report.at[0].path, "inputs.secrets[0]");
    assert_non_null(strstr(report.at[0].hint, "tokens"));
    report_init(&report, f->arena);
    put(f, "token", "x");
    assert_int_equal(secrets_check(f->secrets, "boss", f->job->spec, &report), 0);
    assert_int_equal(secrets_check(f->secrets, "eve", f->job->spec, &report), -1);
}

static void tasks_get_names_and_sets(void **state)
{
    struct fix *f = *state;
    struct launch out;
    struct launch_task task;
    struct err err;
    assert_int_equal(launch(f, &out, &task, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    put(f, "token", "one");
    assert_int_equal(launch(f, &out, &task, &err), 0);
    assert_int_equal(out.n_secrets, 2);
    assert_string_equal(out.secrets[1].name, "db/password");
    assert_memory_equal(out.secrets[1].at, "hidden", 6);
    assert_int_equal(task.n_secrets, 2);
    assert_string_equal(task.secrets[0].file, "token");
    assert_string_equal(task.secrets[1].env, "DB_password");
    secrets_wipe(&out);
    assert_memory_equal(out.secrets[1].at, "\0\0\0\0\0\0", 6);
}

/* Members of a set are its name and a slash. */
static void who_names_it_hears_of_it(void **state)
{
    struct fix *f = *state;
    put(f, "token", "one");
    secrets_changed(f->secrets, "boss", NULL, "token");
    secrets_undone(f->secrets);
    secrets_committed(f->secrets);
    assert_int_equal(f->told, 0);
    secrets_changed(f->secrets, "boss", NULL, "other");
    secrets_changed(f->secrets, "eve", NULL, "token");
    secrets_committed(f->secrets);
    assert_int_equal(f->told, 0);
    secrets_changed(f->secrets, "boss", NULL, "db/password");
    secrets_committed(f->secrets);
    assert_int_equal(f->told, 2); /* all that it may have: agents look which they know */
    secrets_committed(f->secrets);
    assert_int_equal(f->told, 2);
    secrets_tell(f->secrets, f->job, "n1");
    assert_int_equal(f->told, 4);
}

/* With the first record that follows the launch, once. */
static void that_a_job_got_one_is_written(void **state)
{
    struct fix *f = *state;
    struct launch out;
    struct launch_task task;
    struct err err;
    struct secret_list list;
    put(f, "token", "one");
    assert_int_equal(launch(f, &out, &task, &err), 0);
    secrets_wipe(&out);
    const struct secret_ask ask = { .by = "boss" };
    assert_int_equal(list_secrets(f->accounts, f->arena, &ask, &list, &err), 0);
    assert_int_equal(list.at[0].used_job, 0);
    secrets_record(f->secrets);
    assert_int_equal(list_secrets(f->accounts, f->arena, &ask, &list, &err), 0);
    assert_int_equal(list.at[0].used_job, 1);
}

int main(void)
{
#define TEST(of) cmocka_unit_test_setup_teardown(of, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_missing_is_named),
        TEST(tasks_get_names_and_sets),
        TEST(who_names_it_hears_of_it),
        TEST(that_a_job_got_one_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
