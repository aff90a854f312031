/* Redaction over a real store, without a server: the job that a sentence names, as its owner, a
 * stranger and an admin are told of it, while there is a row of it and afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/accounts.h"
#include "account/redact.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/seal.h"
#include "store/store.h"

#include <stdio.h>

struct fix {
    struct arena *arena;
    struct store *store;
    struct accounts *accounts;
    struct draft draft; /* "waits for job N (prep) to end" */
    struct sentence said;
    char dir[64];
};

static uint64_t never(const void *arg)
{
    (void)arg;
    return 0;
}

static uint64_t same(const void *arg, uint64_t at_ms)
{
    (void)arg;
    return at_ms;
}

static bool replays(const void *arg)
{
    (void)arg;
    return false;
}

static void ignore(void *arg, const char *type, const char *text)
{
    (void)arg;
    (void)type;
    (void)text;
}

static void open_store(struct fix *f)
{
    AUTO_FREE char *db = file_join(f->dir, "db"), *key = file_join(f->dir, "identity.key");
    struct err err = { 0 };
    bool fits;
    f->store = store_open(db, &err);
    assert_non_null(f->store);
    struct seal *seal = seal_open(key, store_has_sealed(f->store), &err);
    assert_non_null(seal);
    assert_int_equal(store_use_seal(f->store, seal, &fits, &err), 0);
}

/* Ada has a job, which the sentence names. */
static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/redact.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    open_store(f);
    f->arena = arena_create();
    f->accounts = accounts_create(&(struct accounts_config){
        .store = f->store, .admin = "boss", .server = { f, never, never, same, replays, ignore } });
    const struct job_row row = { .id = store_last_job_id(f->store) + 1,
                                 .number = store_next_number(f->store),
                                 .owner = "ada",
                                 .name = "prep",
                                 .dialect = "muster",
                                 .state = JOB_QUEUED,
                                 .spec = "{}",
                                 .site = "{}" };
    assert_int_equal(store_put_job(f->store, &row, NULL), 0);
    draft_init(&f->draft);
    draft_add(&f->draft, "waits for ");
    draft_name(&f->draft, row.number, "job 1 (prep)");
    draft_add(&f->draft, " to end");
    f->said = draft_said(&f->draft);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    accounts_destroy(f->accounts);
    store_close(f->store);
    arena_destroy(f->arena);
    file_remove_tree(f->dir, NULL);
    free(f);
    return 0;
}

static void expect(struct fix *f, const char *name, const char *text)
{
    struct reader reader = reader_of(f->accounts, f->arena, name);
    assert_string_equal(reader_text(&reader, &f->said), text);
}

static void test_told(void **state)
{
    struct fix *f = *state;
    expect(f, "ada", "waits for job 1 (prep) to end");
    expect(f, "boss", "waits for job 1 (prep) to end");
    expect(f, NULL, "waits for job 1 (prep) to end"); /* the server itself */
    expect(f, "bob", "waits for " HIDDEN_JOB " to end");
}

/* Of a number that is in no record nobody knows whose it was. */
static void test_gone(void **state)
{
    struct fix *f = *state;
    f->said.named.number = 99;
    expect(f, "ada", "waits for " UNKNOWN_JOB " to end");
    expect(f, "boss", "waits for job 1 (prep) to end");
}

/* One reader asks of several jobs, one after the other. */
static void test_several(void **state)
{
    struct fix *f = *state;
    const struct sentence plain = { .text = "runs" };
    struct reader bob = reader_of(f->accounts, f->arena, "bob");
    const uint64_t number = f->said.named.number;
    assert_string_equal(reader_hides(&bob, number), HIDDEN_JOB);
    assert_string_equal(reader_hides(&bob, 99), UNKNOWN_JOB);
    assert_string_equal(reader_hides(&bob, number), HIDDEN_JOB);
    assert_string_equal(reader_text(&bob, &plain), "runs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
