/* Declarations over a store, without a core: settings that must make sense, layers that
 * show what is below them, who may declare what, and what stands on an entry that is to go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/accounts.h"
#include "account/test/still_server.h"
#include "catalogue/declarations.h"
#include "queue/queues.h"
#include "store/store.h"
#include "text/json.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define Q "kind: quota\nname: "
#define D "kind: dataset\nuri: /data\nname: "

struct fix {
    struct arena *arena;
    char dir[40];
    struct store *store;
    struct cluster *cluster;
    struct queues *queues;
    struct accounts *accounts;
    struct declarations_config config;
    struct declarations *d;
    struct err err;
    char problem[300];
    unsigned asked; /* for rights */
};

static int right(void *arg, int rc, struct err *err)
{
    (void)err;
    ((struct fix *)arg)->asked++;
    return rc;
}

static void make(struct fix *f)
{
    declarations_destroy(f->d);
    f->d = declarations_create(&f->config);
}

static int set_up(void **state)
{
    const struct node_spec node = {
        .name = "n", .address = "127.0.0.2", .host = "h", .gpus = 4, .gpu_type = ""
    };
    struct fix *f = mem_new(sizeof *f);
    f->arena = arena_create();
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-catalogue-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    AUTO_FREE char *db = file_join(f->dir, "db");
    f->store = store_open(db, &f->err);
    assert_non_null(f->store);
    f->cluster = cluster_create(20000, 20999, 20000);
    cluster_set_up(f->cluster, cluster_put(f->cluster, &node), true);
    f->queues = queues_create(&(struct queues_config){ .store = f->store, .cluster = f->cluster });
    f->accounts = accounts_create(
        &(struct accounts_config){ .store = f->store, .admin = "boss", .server = still_server() });
    f->config = (struct declarations_config){ .store = f->store,
                                              .accounts = f->accounts,
                                              .queues = f->queues,
                                              .cluster = f->cluster,
                                              .admin = "boss",
                                              .arg = f,
                                              .right = right };
    make(f);
    declarations_load(f->d);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    declarations_destroy(f->d);
    queues_destroy(f->queues);
    accounts_destroy(f->accounts);
    cluster_destroy(f->cluster);
    store_close(f->store);
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

/* The answer as one line; NULL: refused. */
static const char *line(struct fix *f, const struct text_node *tree)
{
    AUTO_BUF struct buf text = BUF_INIT(1000);
    if (!tree)
        return NULL;
    json_print(tree, 0, &text);
    return arena_strdup(f->arena, buf_str(&text));
}

static const char *declares(struct fix *f, const char *owner, const char *text)
{
    const struct declaration ask = { .owner = owner, .text = text, .len = strlen(text) };
    struct report report;
    report_init(&report, f->arena);
    f->err = (struct err){ 0 };
    const struct text_node *tree = declare_entries(f->d, f->arena, &ask, &report, &f->err);
    snprintf(f->problem, sizeof f->problem, "%s", report.n ? report.at[0].what : "");
    return line(f, tree);
}

static enum err_code undeclares(struct fix *f, const char *owner, enum entry_kind kind,
                                const char *name)
{
    const struct entry_removal ask = { .owner = owner, .kind = kind, .name = name };
    bool changed;
    f->err = (struct err){ 0 };
    const struct text_node *tree = undeclare_entry(f->d, f->arena, &ask, &changed, &f->err);
    if (tree)
        assert_true(changed);
    return tree ? ERR_NONE : f->err.code;
}

static void commit(struct fix *f)
{
    assert_int_equal(store_commit(f->store, &f->err), 0);
    declarations_committed(f->d);
}

static const struct entry *found(const struct fix *f, enum entry_kind kind, const char *name)
{
    return catalogue_find(declarations_catalogue(f->d), kind, name);
}

static uint64_t sure(const struct fix *f, const char *queue)
{
    size_t n;
    return queues_specs(f->queues, &n)[queues_position(f->queues, queue)].sure.gpu_milli;
}

static struct portion devices(uint64_t milli)
{
    return (struct portion){ .given = true, .value = milli };
}

static struct portion percent(uint64_t n)
{
    return (struct portion){ .given = true, .percent = true, .value = 1000 * n };
}

/* What the settings say of queues, on four devices. */
static void settings_may_wait_for_nodes_but_must_make_sense(void **state)
{
    struct fix *f = *state;
    struct err err = { 0 };
    struct entry at[2] = { { .name = "a", .kind = ENTRY_QUOTA },
                           { .name = "b", .kind = ENTRY_QUOTA, .parent = "a" } };
    f->config.set = at;
    f->config.n_set = 2;
    make(f);
    at[0].guaranteed.gpu = devices(8000);
    assert_int_equal(declarations_check_settings(f->d, &err), 0); /* four nodes are not up yet */
    at[1].guaranteed.gpu = devices(9000);
    assert_int_equal(declarations_check_settings(f->d, &err), -1);
    assert_non_null(strstr(err.what,
                           "setting queues: queue \"b\" is guaranteed 9 gpu, and \"a\" is "
                           "guaranteed 8 gpu"));
    at[0].guaranteed.gpu = percent(50); /* of more nodes it would be enough */
    assert_int_equal(declarations_check_settings(f->d, &err), 0);
    at[0].maximum.gpu = devices(1000);
    at[0].guaranteed.gpu = devices(2000);
    at[1].guaranteed.gpu = devices(0);
    assert_int_equal(declarations_check_settings(f->d, &err), -1);
    assert_non_null(strstr(err.what, "guaranteed 2 gpu, and its maximum is 1 gpu"));
    at[0] = (struct entry){ .name = "a", .kind = ENTRY_QUOTA, .parent = "b" };
    assert_int_equal(declarations_check_settings(f->d, &err), -1);
    assert_non_null(strstr(err.what, "is below itself"));
}

static void a_declaration_replaces_a_setting_until_it_goes(void **state)
{
    struct fix *f = *state;
    struct entry at = { .name = "a", .kind = ENTRY_QUOTA, .guaranteed.all = percent(25) };
    f->config.set = &at;
    f->config.n_set = 1;
    make(f);
    declarations_load(f->d);
    assert_true(sure(f, "a") == 1000);
    assert_non_null(declares(f, "boss", Q "a\nguaranteed: 50%\n"));
    assert_true(sure(f, "a") == 2000);
    assert_int_equal(undeclares(f, "boss", ENTRY_QUOTA, "a"), ERR_NONE);
    assert_true(sure(f, "a") == 1000);
    assert_int_equal(undeclares(f, "boss", ENTRY_QUOTA, "a"), ERR_CANNOT);
}

static void all_of_a_text_or_nothing(void **state)
{
    struct fix *f = *state;
    assert_null(
        declares(f, "boss", Q "a\nguaranteed: {gpu: 2}\n---\n" Q "b\nguaranteed: {gpu: 3}\n"));
    assert_int_equal(f->err.code, ERR_INPUT);
    assert_string_equal(f->problem, "queues are guaranteed 5 gpu together (a 2 gpu, b 3 gpu), and "
                                    "the cluster has 4 gpu");
    assert_null(found(f, ENTRY_QUOTA, "a"));
    assert_string_equal(declares(f, "boss", Q "a\n---\n" Q "b\nparent: a\n"),
                        "{\"applied\":[{\"kind\":\"quota\",\"name\":\"a\",\"applied\":\"created\"},"
                        "{\"kind\":\"quota\",\"name\":\"b\",\"applied\":\"created\"}]}");
    assert_non_null(strstr(declares(f, "boss", Q "a\n"), "unchanged"));
    assert_int_equal(undeclares(f, "boss", ENTRY_QUOTA, "a"), ERR_CONFLICT); /* b is below it */
    assert_int_equal(undeclares(f, "boss", ENTRY_QUOTA, "c"), ERR_NOT_FOUND);
}

static void a_workspace_leads_to_a_queue_that_is_there(void **state)
{
    struct fix *f = *state;
    assert_null(declares(f, "boss", "kind: workspace\nname: w\nqueue: a\n"));
    assert_string_equal(f->problem, "queue \"a\" is not known here");
    assert_non_null(declares(f, "boss", "kind: workspace\nname: w\nqueue: a\n---\n" Q "a\n"));
    assert_int_equal(undeclares(f, "boss", ENTRY_QUOTA, "a"), ERR_CONFLICT);
    assert_non_null(strstr(f->err.what, "jobs of workspace \"w\" go to queue \"a\""));
}

static void users_keep_data_of_their_own(void **state)
{
    struct fix *f = *state;
    assert_non_null(declares(f, "ada", D "d\n"));
    assert_string_equal(found(f, ENTRY_DATASET, "d")->owner, "ada");
    assert_null(declares(f, "bob", D "d\npath: /mnt\n"));
    assert_int_equal(f->err.code, ERR_DENIED);
    assert_int_equal(undeclares(f, "bob", ENTRY_DATASET, "d"), ERR_DENIED);
    assert_null(declares(f, "ada", Q "a\n"));
    assert_string_equal(f->err.what, "the catalogue is kept by boss");
    assert_non_null(declares(f, "boss", D "d\npath: /mnt\n"));
    assert_string_equal(found(f, ENTRY_DATASET, "d")->owner, "ada"); /* it stays theirs */
    assert_int_equal(undeclares(f, "ada", ENTRY_DATASET, "d"), ERR_NONE);
    assert_int_equal(f->asked, 6);
}

static void what_was_not_committed_is_gone(void **state)
{
    struct fix *f = *state;
    declares(f, "boss", Q "a\nguaranteed: {gpu: 2}\n");
    commit(f);
    declares(f, "boss", Q "b\n");
    store_rollback(f->store);
    declarations_undone(f->d);
    assert_true(found(f, ENTRY_QUOTA, "a") && !found(f, ENTRY_QUOTA, "b"));
    make(f); /* another server */
    declarations_load(f->d);
    assert_non_null(found(f, ENTRY_QUOTA, "a"));
    assert_true(sure(f, "a") == 2000);
    assert_non_null(found(f, ENTRY_QUOTA, "default"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(settings_may_wait_for_nodes_but_must_make_sense),
        T(a_declaration_replaces_a_setting_until_it_goes),
        T(all_of_a_text_or_nothing),
        T(a_workspace_leads_to_a_queue_that_is_there),
        T(users_keep_data_of_their_own),
        T(what_was_not_committed_is_gone),
    };
    return cmocka_run_group_tests_name("catalogue/declarations", tests, NULL, NULL);
}
