/* Searches over a real database: every filter by itself, all together, order, pages, rights. Tags
 * that are set after the submission are found by their new value only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/find.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/deletion.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS (24ull * 3600 * 1000)
#define FACETS(...)                                                                                \
    {                                                                                              \
        .at = (struct pair[]){ __VA_ARGS__ },                                                      \
        .n = sizeof((struct pair[]){ __VA_ARGS__ }) / sizeof(struct pair)                          \
    }
#define ID(ms) ((uint64_t)(ms) << 20)

struct fix {
    char dir[64], *path;
    struct store *store;
    struct arena *arena;
    struct err err;
    uint64_t total;
    char found[200]; /* names of the last search */
};

static void put(struct fix *f, uint64_t at_ms, const char *name, struct job_row row)
{
    row.id = ID(at_ms);
    row.number = store_next_number(f->store);
    row.name = name;
    row.owner = row.owner ? row.owner : "ada";
    row.project = row.project ? row.project : "";
    row.dialect = "dlc";
    row.reason.text = row.reason.text ? row.reason.text : "";
    row.state = row.state ? row.state : JOB_QUEUED;
    row.submitted_ms = at_ms;
    row.spec = row.spec ? row.spec : "{}";
    assert_int_equal(store_put_job(f->store, &row, &f->err), 0);
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-find-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->path = file_join(f->dir, "muster.db");
    f->arena = arena_create();
    f->store = store_open(f->path, &f->err);
    assert_non_null(f->store);
    put(f, 1 * DAY_MS, "Alpha",
        (struct job_row){ .project = "vision",
                          .state = JOB_SUCCEEDED,
                          .ended_ms = 9,
                          .facets = FACETS({ "label.team", "a\"b" }, { "type", "pytorch" }) });
    put(f, 2 * DAY_MS, "beta",
        (struct job_row){
            .owner = "bob",
            .queue = "q1",
            .ended_ms = 3,
            .state = JOB_FAILED,
            .reason = { "out of memory, another user's job", { 3, "job 3 (hidden)", 15, 18 } },
            .facets = FACETS({ "label.team", "x" }, { "type", "TFJob" }) });
    put(f, 3 * DAY_MS, "alphabet",
        (struct job_row){ .owner = "bob",
                          .project = "vision",
                          .state = JOB_RUNNING,
                          .facets = FACETS({ "capacity", "idle" }, { "type", "" },
                                           { "run", "python Train.py" }, { "run", "x" }) });
    put(f, 4 * DAY_MS, "100%_it's",
        (struct job_row){ .owner = "eve", .facets = FACETS({ "type", "" }) });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    store_close(f->store);
    arena_destroy(f->arena);
    file_remove_tree(f->dir, NULL);
    free(f->path);
    free(f);
    return 0;
}

static const char *find(struct fix *f, struct job_query q)
{
    struct job_page out;
    q.limit = q.limit ? q.limit : 100;
    if (store_find_jobs(f->store, f->arena, &q, &out, &f->err))
        fail_msg("%s", f->err.what);
    f->total = out.total;
    f->found[0] = '\0';
    for (size_t i = 0; i < out.n; i++) {
        size_t used = strlen(f->found);
        snprintf(f->found + used, sizeof f->found - used, "%s%s", i ? " " : "", out.rows[i].name);
    }
    return f->found;
}
#define FIND(...) find(f, (struct job_query){ __VA_ARGS__ })
#define WORDS(...)                                                                                 \
    {                                                                                              \
        .at = (const char *[]){ __VA_ARGS__ },                                                     \
        .n = sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)                              \
    }

static void each_filter(void **state)
{
    struct fix *f = *state;
    char id[JOB_ID_TEXT];
    assert_string_equal(FIND(0), "100%_it's alphabet beta Alpha");
    assert_string_equal(FIND(.name_has = "ALPHA"), "alphabet Alpha");
    assert_string_equal(FIND(.name_has = "%"), "100%_it's");
    assert_string_equal(FIND(.name_has = "'"), "100%_it's");
    assert_string_equal(FIND(.owner = "bob"), "alphabet beta");
    assert_string_equal(FIND(.in = WORDS("vision")), "alphabet Alpha");
    assert_string_equal(FIND(.in = WORDS("", "none")), "100%_it's beta");
    assert_string_equal(FIND(.queue = "q1"), "beta");
    assert_string_equal(FIND(.dialect = "native"), "");
    assert_string_equal(FIND(.states = 1u << JOB_FAILED | 1u << JOB_RUNNING), "alphabet beta");
    assert_string_equal(FIND(.reason_has = "Memory"), "beta");
    assert_string_equal(FIND(.reason_has = "hidden"), ""); /* not found out by asking */
    assert_string_equal(FIND(.texts = { { "run", "train.PY" } }), "alphabet");
    assert_string_equal(FIND(.texts = { { "image", "train.PY" } }), "");
    assert_string_equal(FIND(.texts = { { "run", NULL }, { "run", "%" } }), "");
    assert_string_equal(FIND(.since_ms = 2 * DAY_MS, .until_ms = 4 * DAY_MS), "alphabet beta");
    assert_string_equal(FIND(.since_ms = UINT64_MAX), "");
    assert_string_equal(FIND(.ids = WORDS(job_id_format(id, ID(2 * DAY_MS)))), "beta");
    assert_string_equal(FIND(.ids = WORDS("no id")), "");
}

static void what_the_job_says(void **state)
{
    struct fix *f = *state;
    struct pair team = { "team", "a\"b" };
    assert_string_equal(FIND(.labels = { .at = &team, .n = 1 }), "Alpha");
    const struct job_value types[] = { { "type", "TFJob", false }, { "type", "pytorch", false } };
    assert_string_equal(FIND(.values = { { types, 2 } }), "beta Alpha");
    const struct job_value untyped[] = { { "type", "", false } };
    assert_string_equal(FIND(.values = { { untyped, 1 } }), "100%_it's alphabet");
    const struct job_value idle[] = { { "capacity", "idle", false } };
    const struct job_value none[] = { { "capacity", NULL, true } };
    const struct job_value both[] = { idle[0], none[0] };
    assert_string_equal(FIND(.values = { { idle, 1 } }), "alphabet");
    assert_string_equal(FIND(.values = { { none, 1 } }), "100%_it's beta Alpha");
    assert_string_equal(FIND(.values = { { both, 2 } }), "100%_it's alphabet beta Alpha");
    assert_string_equal(FIND(.values = { { types, 2 }, { none, 1 } }), "beta Alpha");
    assert_string_equal(FIND(.values = { { types, 2 }, { idle, 1 } }), "");
    assert_string_equal(FIND(.queue_not = "q1", .limit = 1), "100%_it's");
    assert_string_equal(FIND(.order = JOBS_BY_TYPE), "Alpha beta 100%_it's alphabet");
    assert_string_equal(FIND(.order = JOBS_BY_TYPE, .ascending = true, .name_has = "a"),
                        "alphabet beta Alpha");
}

/* What is found of a job goes with it. */
static void what_is_kept_of_it(void **state)
{
    struct fix *f = *state;
    const struct job_value types[] = { { "type", "TFJob", false } };
    struct pair team = { "team", "x" };
    assert_int_equal(store_delete_job(f->store, ID(2 * DAY_MS), &f->err), 0);
    assert_string_equal(FIND(.values = { { types, 1 } }), "");
    assert_string_equal(FIND(.labels = { .at = &team, .n = 1 }), "");
    put(f, 2 * DAY_MS, "again",
        (struct job_row){ .owner = "eve", .facets = FACETS({ "label.team", "x" }) });
    assert_string_equal(FIND(.labels = { .at = &team, .n = 1 }), "again");
    assert_string_equal(FIND(.values = { { types, 1 } }), "");
}

static void later_tags(void **state)
{
    struct fix *f = *state;
    char id[JOB_ID_TEXT];
    job_id_format(id, ID(1 * DAY_MS));
    struct object_row tag = {
        .kind = "job.tag", .project = id, .name = "team", .spec = "{\"spec\":{\"value\":\"new\"}}"
    };
    assert_int_equal(store_put_object(f->store, &tag, &f->err), 0);
    struct pair was = { "team", "a\"b" }, is = { "team", "new" };
    assert_string_equal(FIND(.labels = { .at = &was, .n = 1 }), "");
    assert_string_equal(FIND(.labels = { .at = &is, .n = 1 }), "Alpha");
    assert_int_equal(store_delete_job(f->store, ID(1 * DAY_MS), &f->err), 0);
    assert_int_equal(store_get_object(f->store, f->arena, &tag, &f->err), 0);
}

static void pages_and_order(void **state)
{
    struct fix *f = *state;
    assert_string_equal(FIND(.limit = 2), "100%_it's alphabet");
    assert_int_equal(f->total, 4);
    assert_string_equal(FIND(.limit = 2, .offset = 3), "Alpha");
    assert_string_equal(FIND(.limit = 2, .offset = UINT64_MAX), "");
    assert_int_equal(f->total, 4);
    assert_string_equal(FIND(.order = JOBS_BY_NAME, .ascending = true),
                        "100%_it's Alpha alphabet beta");
    assert_string_equal(FIND(.order = JOBS_BY_END, .limit = 2), "Alpha beta");
    assert_string_equal(FIND(.order = JOBS_BY_STATE, .ascending = true, .limit = 1), "beta");
    assert_string_equal(FIND(.order = JOBS_BY_ID, .ascending = true, .limit = 1), "Alpha");
}

static void rights(void **state)
{
    struct fix *f = *state;
    const struct words projects = WORDS("vision");
    assert_string_equal(FIND(.reader = "ada"), "Alpha");
    assert_string_equal(FIND(.reader = "eve", .projects = &projects), "100%_it's alphabet Alpha");
    assert_string_equal(FIND(.reader = "nobody", .in = WORDS("vision")), "");
    assert_int_equal(f->total, 0);
}

static void too_much(void **state)
{
    struct fix *f = *state;
    static const char *many[5000];
    struct job_page out;
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = "x";
    struct job_query q = { .in = { .at = many, .n = ARRAY_LEN(many) }, .limit = 1 };
    assert_int_equal(store_find_jobs(f->store, f->arena, &q, &out, &f->err), -1);
    assert_int_equal(f->err.code, ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_filter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_job_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_kept_of_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(later_tags, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_and_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_much, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
