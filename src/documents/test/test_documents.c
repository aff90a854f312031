/* Documents over a store in memory, without a core: whose they are, all or none, and what the
 * server is asked to do with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/accounts.h"
#include "account/test/still_server.h"
#include "documents/documents.h"
#include "job/ids.h"
#include "store/store.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define JOB 77u

struct fix {
    struct arena *arena;
    struct store *store;
    struct accounts *accounts;
    struct documents *documents;
    struct err err;
    uint64_t events, job; /* job: that documents were put for */
    char type[32], said[64], secret[64];
    bool held;
};

static int row(void *arg, struct arena *arena, uint64_t job, struct job_row *out)
{
    (void)arg;
    (void)arena;
    *out = (struct job_row){ .id = job, .owner = "ada", .name = "j", .project = "" };
    return job == JOB ? 0 : -1;
}

static int checked(void *arg, int rc, struct err *err)
{
    (void)arg;
    (void)err;
    return rc;
}

static int hold(void *arg, uint64_t job, const char *by, bool on, struct err *err)
{
    struct fix *f = arg;
    assert_string_equal(by, "ada");
    f->held = on;
    return job == JOB ? 0 : err_set(err, ERR_CONFLICT, "the job has ended");
}

static uint64_t event(void *arg, uint64_t job, const char *type, struct text_node *body)
{
    struct fix *f = arg;
    assert_true(job == JOB || text_get(body, "name"));
    snprintf(f->type, sizeof f->type, "%s", type);
    return 10 + ++f->events;
}

static void say(void *arg, uint64_t job, const char *type, const char *text)
{
    struct fix *f = arg;
    assert_int_equal(job, JOB);
    assert_string_equal(type, "job.signal");
    snprintf(f->said, sizeof f->said, "%s", text);
}

static void secret(void *arg, const char *owner, const char *all)
{
    struct fix *f = arg;
    snprintf(f->secret, sizeof f->secret, "%s of %s", all, owner);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    f->arena = arena_create();
    f->store = store_open_memory((struct store_tap){ .event = NULL }, &f->err);
    assert_non_null(f->store);
    f->accounts = accounts_create(
        &(struct accounts_config){ .store = f->store, .admin = "boss", .server = still_server() });
    f->documents = documents_create(&(struct documents_config){ .store = f->store,
                                                                .accounts = f->accounts,
                                                                .server = { .arg = f,
                                                                            .date = still_now,
                                                                            .row = row,
                                                                            .checked = checked,
                                                                            .hold = hold,
                                                                            .event = event,
                                                                            .say = say,
                                                                            .secret = secret } });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    documents_destroy(f->documents);
    accounts_destroy(f->accounts);
    store_close(f->store);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static enum err_code change(struct fix *f, const struct document_changes *ask)
{
    f->err = (struct err){ 0 };
    int rc = documents_put(f->documents, f->arena, ask, &f->job, &f->err);
    return rc ? f->err.code : ERR_NONE;
}

static struct text_node *value(struct fix *f, const char *text)
{
    struct text_node *map = text_map(f->arena, NULL, NULL);
    text_str(f->arena, map, "event", text);
    return map;
}

static enum err_code put(struct fix *f, const char *by, const char *kind, const char *text)
{
    const struct document one = { kind, "p", "n", text ? value(f, text) : NULL };
    return change(f, &(struct document_changes){ .by = by, .at = &one, .n = 1 });
}

static const struct document_view *found(struct fix *f, const char *kind)
{
    return document_find(f->documents, f->arena, &(struct document){ kind, "p", "n", NULL });
}

static void they_belong_to_who_put_them(void **state)
{
    struct fix *f = *state;
    assert_int_equal(put(f, "ada", "x.y", "1"), ERR_NONE);
    assert_int_equal(put(f, "bob", "x.y", "2"), ERR_DENIED);
    assert_int_equal(put(f, "boss", "x.y", "3"), ERR_NONE);
    assert_string_equal(found(f, "x.y")->owner, "ada");
    assert_string_equal(text_get(found(f, "x.y")->spec, "event")->str, "3");
    assert_int_equal(found(f, "x.y")->version, 2);
    assert_int_equal(documents_list(f->documents, f->arena, "x.y", NULL).n, 1);
    assert_int_equal(put(f, "ada", "x.y", NULL), ERR_NONE);
    assert_null(found(f, "x.y"));
    assert_int_equal(f->events, 0); /* nobody was to be told */
}

static void all_or_none(void **state)
{
    struct fix *f = *state;
    put(f, "ada", "x.y", "1");
    const struct document two[] = { { "x.y", "q", "n", value(f, "1") },
                                    { "x.y", "p", "n", value(f, "1") } };
    struct document_changes ask = { .by = "ada", .create = true, .at = two, .n = 2 };
    assert_int_equal(change(f, &ask), ERR_CONFLICT);
    assert_int_equal(documents_list(f->documents, f->arena, "x.y", NULL).n, 1);
    ask.create = false;
    assert_int_equal(change(f, &ask), ERR_NONE);
    const struct document_list all = documents_list(f->documents, f->arena, "x.y", NULL);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.at[0].project, "p");
}

static void jobs_are_told_and_held(void **state)
{
    struct fix *f = *state;
    char id[JOB_ID_TEXT];
    const struct document one = { "job.signal", job_id_format(id, JOB), "n", value(f, "asked") };
    struct document_changes ask = {
        .by = "ada", .told = true, .hold = DOCUMENT_HOLD, .at = &one, .n = 1
    };
    assert_int_equal(change(f, &ask), ERR_NONE);
    assert_true(f->held && f->job == JOB);
    assert_string_equal(f->type, "noted");
    assert_string_equal(f->said, "asked");
    ask.by = "bob";
    assert_int_not_equal(change(f, &ask), ERR_NONE); /* who may not write the job */
    const struct document other = { "job.tag", job_id_format(id, 5), "n", value(f, "") };
    ask.at = &other;
    assert_int_equal(change(f, &ask), ERR_NOT_FOUND);
}

static void followers_are_told_of_what_is_of_no_job(void **state)
{
    struct fix *f = *state;
    const struct document one = { "x.y", "p", "n", value(f, "1") };
    const struct document gone = { "x.y", "p", "n", NULL };
    struct document_changes ask = { .by = "ada", .told = true, .at = &gone, .n = 1 };
    assert_int_equal(change(f, &ask), ERR_NOT_FOUND);
    ask.at = &one;
    assert_int_equal(change(f, &ask), ERR_NONE);
    assert_string_equal(f->type, "object.put");
    assert_int_equal(found(f, "x.y")->version, 11);
    ask.at = &gone;
    assert_int_equal(change(f, &ask), ERR_NONE);
    assert_string_equal(f->type, "object.removed");
}

static void secrets_of_kubectl_are_set_anew(void **state)
{
    struct fix *f = *state;
    put(f, "ada", "x.y", "1");
    assert_string_equal(f->secret, "");
    put(f, "ada", DOCUMENT_SECRET, "1");
    assert_non_null(strstr(f->secret, " of ada"));
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(they_belong_to_who_put_them),     T(all_or_none),
        T(jobs_are_told_and_held),          T(followers_are_told_of_what_is_of_no_job),
        T(secrets_of_kubectl_are_set_anew),
    };
    return cmocka_run_group_tests_name("documents/documents", tests, NULL, NULL);
}
