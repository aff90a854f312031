/* Dependencies over a real store, without a core: names become numbers, what is waited for is
 * looked at as it stands, and who waits is due when it has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "depend/wording.h"
#include "job/record.h"
#include "store/deletion.h"
#include "store/seal.h"

#include <stdio.h>
#include <string.h>

#define WAITS  "{\"name\":\"w\",\"after\":[%s],\"roles\":{\"w\":{\"run\":\"x\"}}}"
#define SWEEP  "{\"name\":\"s\",\"array\":\"%s\",\"roles\":{\"w\":{\"run\":\"x\"}}}"
#define ANY(n) "{\"job\":" n ",\"ended\":\"any\"}"

struct fix {
    struct arena *arena;
    struct store *store;
    struct arrays *arrays;
    struct dependencies *all;
    char dir[64];
    struct job_row live; /* of the one job that is in memory; id 0: none */
    const char *hides;   /* an owner whose jobs nobody else may read */
};

/* ---- a core ---- */

static const struct job_row *live(const void *arg, uint64_t id)
{
    const struct fix *f = arg;
    return f->live.id && f->live.id == id ? &f->live : NULL;
}

static uint64_t find(void *arg, const char *name)
{
    const struct fix *f = arg;
    uint64_t id;
    return store_find_name(f->store, name, NULL, &id) == 1 ? id : 0;
}

static bool may_read(void *arg, const char *owner, const struct job_row *row)
{
    const struct fix *f = arg;
    return !f->hides || strcmp(owner, row->owner) == 0 || strcmp(f->hides, row->owner) != 0;
}

/* Rows of the store that have not ended, by their numbers downwards. */
static void unended(void *arg, const char *owner, const char *name,
                    void (*each)(void *each_arg, const struct job_row *), void *each_arg)
{
    struct fix *f = arg;
    for (uint64_t id = 1600; id > 1000; id--) {
        struct job_row row;
        if (store_get_job(f->store, f->arena, id, &row, NULL) == 1 && !row.array &&
            !job_state_final(row.state) && strcmp(row.owner, owner) == 0 &&
            strcmp(row.name, name) == 0)
            each(each_arg, &row);
    }
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err = { 0 };
    bool fits;
    snprintf(f->dir, sizeof f->dir, "/tmp/dependency.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    AUTO_FREE char *db = file_join(f->dir, "db"), *key = file_join(f->dir, "identity.key");
    f->arena = arena_create();
    f->store = store_open(db, &err);
    assert_non_null(f->store);
    struct seal *seal = seal_open(key, store_has_sealed(f->store), &err);
    assert_int_equal(store_use_seal(f->store, seal, &fits, &err), 0);
    f->arrays = arrays_create(&(struct arrays_config){ .store = f->store });
    f->all = dependencies_create(&(struct dependencies_config){
        .store = f->store,
        .arrays = f->arrays,
        .core = {
            .arg = f, .live = live, .find = find, .may_read = may_read, .unended = unended } });
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    dependencies_destroy(f->all);
    arrays_destroy(f->arrays);
    store_close(f->store);
    file_remove_tree(f->dir, NULL);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

/* A job of that number, whose id is 1000 more. */
static struct job_row put(struct fix *f, uint64_t number, const char *owner, enum job_state job)
{
    struct job_row row = { .id = 1000 + number,
                           .number = number,
                           .owner = owner,
                           .project = "",
                           .name = "prep",
                           .queue = "default",
                           .dialect = "native",
                           .state = job,
                           .reason.text = "",
                           .tasks = 1,
                           .spec = "{}",
                           .site = "{}" };
    assert_int_equal(store_put_job(f->store, &row, NULL), 0);
    return row;
}

/* An array with its members, all in that state. */
static void put_sweep(struct fix *f, uint64_t number, const char *range, enum job_state job)
{
    char text[200];
    snprintf(text, sizeof text, SWEEP, range);
    struct job_row row = put(f, number + 500, "eva", job);
    row.id = 1000 + number;
    row.number = number;
    row.spec = text;
    row.members = 2;
    assert_int_equal(store_put_job(f->store, &row, NULL), 0);
    for (uint32_t i = 1; i <= 2; i++) {
        struct job_row member = row;
        member.id += i;
        member.number += i;
        member.array = row.id;
        member.index = i - 1;
        member.members = 0;
        assert_int_equal(store_put_job(f->store, &member, NULL), 0);
    }
}

static struct job_spec *spec_of(struct fix *f, const char *after)
{
    struct job_spec *spec = job_of_text(f->arena, arena_printf(f->arena, WAITS, after));
    assert_non_null(spec);
    return spec;
}

/* ---- at submission ---- */

/* What is said of it, each problem with its hint. */
static const char *resolve(struct fix *f, struct job_spec *spec)
{
    struct report report;
    char *said = ARENA_ARRAY(f->arena, 2000, char);
    report_init(&report, f->arena);
    report_dependencies(&report, depend_resolve(f->all, f->arena, "eva", spec));
    for (size_t i = 0; i < report.n; i++) {
        size_t used = strlen(said);
        snprintf(said + used, 2000 - used, "%s%s (%s)", used ? "; " : "", report.at[i].what,
                 report.at[i].hint);
    }
    return said;
}

static void names_become_numbers(void **state)
{
    struct fix *f = *state;
    put(f, 3, "eva", JOB_RUNNING);
    put(f, 4, "tom", JOB_RUNNING);
    struct job_spec *spec = spec_of(f, "{\"job\":\"prep\"},{\"job\":3}");
    assert_string_equal(resolve(f, spec), "");
    assert_int_equal(spec->after[0].job, 4); /* the newest of that name */
    assert_null(spec->after[0].job_name);
    assert_int_equal(spec->after[1].job, 3);

    f->hides = "tom";
    spec = spec_of(f, "{\"job\":\"prep\"}");
    assert_string_equal(resolve(f, spec), "");
    assert_int_equal(spec->after[0].job, 3); /* their own, as they may not know the other */
    assert_string_equal(resolve(f, spec_of(f, ANY("4") ",{\"job\":\"none\"}")),
                        "after[0].job: no job 4 (only a job that is there can be waited for); "
                        "after[1].job: no job \"none\" (only a job that is there can be waited "
                        "for)");
}

static void every_job_of_a_name(void **state)
{
    struct fix *f = *state;
    put(f, 3, "eva", JOB_RUNNING);
    put(f, 4, "tom", JOB_RUNNING);
    put(f, 5, "eva", JOB_FAILED);
    put(f, 6, "eva", JOB_QUEUED);
    put_sweep(f, 10, "0-1", JOB_RUNNING);
    struct job_spec *spec =
        spec_of(f, "{\"job\":\"prep\",\"match\":\"every\"},{\"job\":4},{\"match\":\"every\"}");
    assert_string_equal(resolve(f, spec), "");
    assert_int_equal(spec->n_after, 5); /* none is called as the job itself */
    static const uint64_t found[] = { 3, 6, 10, 510, 4 };
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(spec->after[i].job, found[i]);
    assert_string_equal(spec->after[1].match, "all");
    assert_string_equal(spec->after[1].ended, "well");
    spec = spec_of(f, "{\"job\":3,\"match\":\"every\"}"); /* a number is one job */
    assert_string_equal(resolve(f, spec), "");
    assert_int_equal(spec->n_after, 1);

    for (uint64_t n = 20; n < 20 + JOB_AFTER_MAX; n++)
        put(f, n, "eva", JOB_QUEUED);
    spec = spec_of(f, "{\"job\":\"prep\",\"match\":\"every\"}");
    assert_string_equal(resolve(f, spec), "after[0]: with it the job waits for more than 256 (the "
                                          "last of them, which may wait for others)");
}

static void what_can_never_come_true(void **state)
{
    struct fix *f = *state;
    put(f, 3, "eva", JOB_RUNNING);
    put_sweep(f, 5, "0-1", JOB_RUNNING);
    assert_string_equal(
        resolve(f, spec_of(f, "{\"job\":3,\"ended\":\"well\"},{\"job\":3,\"ended\":\"badly\"}")),
        "after[1].ended: job 3 cannot end well and badly (any)");
    assert_string_equal(resolve(f, spec_of(f, "{\"job\":5,\"match\":\"index\"}")),
                        "after[0].match: this job is no array (array: 10)");
    struct job_spec *spec =
        spec_of(f, "{\"job\":3,\"match\":\"index\"},{\"job\":5,\"match\":\"index\"}");
    spec->array = (struct job_array){ .count = 2, .first = 0, .step = 2 };
    assert_string_equal(resolve(f, spec),
                        "after[0].match: job 3 is no array (leave match out: every member waits "
                        "for it); after[1].match: the indices are 0-2:2, those of array 5 are 0-1 "
                        "(the same indices for both, or leave match out)");
    spec = spec_of(f, "{\"job\":5,\"match\":\"index\"}");
    spec->array = (struct job_array){ .count = 2, .first = 0, .step = 1 };
    assert_string_equal(resolve(f, spec), "");
}

/* ---- those that wait ---- */

static const struct words none;

static struct depend_answer look(struct fix *f, const struct job_row *row, const char *after,
                                 const struct words *met)
{
    const struct depend_job job = { .row = row, .spec = spec_of(f, after), .met = met };
    return depend_look(f->all, f->arena, &job);
}

/* What is said, the job that it names by its name. */
static const char *said(struct fix *f, const struct depend_answer *answer)
{
    struct draft draft;
    draft_dependency(&draft, answer);
    const struct sentence sentence = draft_said(&draft);
    return arena_strdup(f->arena, sentence_with(f->arena, &sentence, NULL));
}

static void look_says_what_keeps_it(void **state)
{
    struct fix *f = *state;
    const struct job_row me = put(f, 20, "eva", JOB_QUEUED);
    put(f, 3, "eva", JOB_SUCCEEDED);
    put(f, 4, "eva", JOB_RUNNING);
    struct depend_answer answer = look(f, &me, ANY("3"), &none);
    assert_int_equal(answer.kind, DEPEND_MET);
    assert_false(depend_never(&answer));

    answer = look(f, &me, ANY("3") "," ANY("4"), &none);
    assert_int_equal(answer.kind, DEPEND_TO_END);
    assert_int_equal(answer.row.id, 1004);
    assert_string_equal(said(f, &answer), "waits for job 4 (prep) to end: it is running");

    answer = look(f, &me, ANY("4") ",{\"job\":3,\"ended\":\"badly\"}", &none);
    assert_int_equal(answer.kind, DEPEND_OTHERWISE); /* although the first one still runs */
    assert_true(depend_never(&answer));
    assert_string_equal(said(f, &answer),
                        "waited for job 3 (prep) to end badly, and it has succeeded");

    answer = look(f, &me, ANY("9"), &none);
    assert_true(depend_never(&answer));
    assert_string_equal(said(f, &answer), "waited for job 9, which is no longer known");
}

/* A row is read from the records; one in memory is further than that. */
static void what_is_in_memory_counts(void **state)
{
    struct fix *f = *state;
    const struct job_row me = put(f, 20, "eva", JOB_QUEUED);
    f->live = put(f, 3, "eva", JOB_RUNNING);
    f->live.state = JOB_SUCCEEDED;
    assert_int_equal(look(f, &me, ANY("3"), &none).kind, DEPEND_MET);
    f->live.id = 0;
    assert_int_equal(look(f, &me, ANY("3"), &none).kind, DEPEND_TO_END);
}

static void arrays_count_and_match(void **state)
{
    struct fix *f = *state;
    struct job_row me = put(f, 20, "eva", JOB_QUEUED);
    put_sweep(f, 5, "0-1", JOB_RUNNING);
    struct depend_answer answer = look(f, &me, "{\"job\":5,\"ended\":\"well\"}", &none);
    assert_string_equal(said(f, &answer), "waits for array 5 (prep) to end well: 2 running");
    me.array = me.id - 2; /* it is the second of its array */
    answer = look(f, &me, "{\"job\":5,\"ended\":\"any\",\"match\":\"index\"}", &none);
    assert_int_equal(answer.number, 7);
    assert_string_equal(said(f, &answer), "waits for 5[1] (prep) to end: it is running");
}

static void what_has_ended_is_not_looked_at_again(void **state)
{
    struct fix *f = *state;
    const struct job_row me = put(f, 20, "eva", JOB_QUEUED);
    const struct job_row first = put(f, 3, "eva", JOB_SUCCEEDED);
    put(f, 4, "eva", JOB_RUNNING);
    const struct depend_job job = { .row = &me,
                                    .spec = spec_of(f, ANY("3") "," ANY("4")),
                                    .met = &none };
    const struct words met = depend_met(f->all, f->arena, &job);
    assert_int_equal(met.n, 1);
    assert_string_equal(met.at[0], "0");
    assert_int_equal(store_delete_job(f->store, first.id, NULL), 0);
    assert_int_equal(look(f, &me, ANY("3") "," ANY("4"), &none).kind, DEPEND_GONE);
    assert_int_equal(look(f, &me, ANY("3") "," ANY("4"), &met).kind, DEPEND_TO_END);
}

static void who_waits_is_due_when_it_has_ended(void **state)
{
    struct fix *f = *state;
    const struct depend_answer on = { .kind = DEPEND_TO_END, .row.id = 1003 };
    uint64_t job;
    assert_false(depend_take(f->all, &job));
    depend_ask(f->all, 7);
    assert_true(depend_take(f->all, &job));
    assert_int_equal(job, 7);
    depend_wait(f->all, 7, &on);
    depend_wait(f->all, 8, &on);
    assert_false(depend_take(f->all, &job));
    depend_ended(f->all, 1004);
    assert_false(depend_take(f->all, &job));
    depend_ended(f->all, 1003);
    assert_true(depend_take(f->all, &job));
    assert_int_equal(job, 7);
    depend_ask(f->all, 9); /* while they are taken */
    assert_true(depend_take(f->all, &job));
    assert_int_equal(job, 8);
    assert_true(depend_take(f->all, &job));
    assert_int_equal(job, 9);
    depend_ended(f->all, 1003); /* they are told once */
    assert_false(depend_take(f->all, &job));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(names_become_numbers),
        T(every_job_of_a_name),
        T(what_can_never_come_true),
        T(look_says_what_keeps_it),
        T(what_is_in_memory_counts),
        T(arrays_count_and_match),
        T(what_has_ended_is_not_looked_at_again),
        T(who_waits_is_due_when_it_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
