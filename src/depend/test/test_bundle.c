/* Jobs that start together, over a few rows and without a core: who belongs together, whether all
 * are there, and what is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "depend/wording.h"
#include "job/record.h"

#include <string.h>

#define GANG(own, with)                                                                            \
    "{\"name\":\"x\",\"project\":\"p\",\"gang\":[{\"name\":\"" own                                 \
    "\",\"roles\":[\"w\"],\"with\":[" with "]}],\"roles\":{\"w\":{\"run\":\"x\"}}}"

struct one {
    struct job_row row;
    struct job_spec *spec;
};
struct fix {
    struct arena *arena;
    struct one jobs[4];
    size_t n, last;
};

/* ---- the jobs there are; those that are queued stand aside ---- */

static const struct job_row *next(void *arg, size_t *cursor)
{
    struct fix *f = arg;
    if (*cursor == f->n)
        return NULL;
    f->last = (*cursor)++;
    return &f->jobs[f->last].row;
}

static const struct job_row *next_aside(void *arg, size_t *cursor)
{
    const struct job_row *row = next(arg, cursor);
    return row && row->state != JOB_QUEUED ? next_aside(arg, cursor) : row;
}

static const struct job_spec *spec(void *arg)
{
    const struct fix *f = arg;
    return f->jobs[f->last].spec;
}

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    f->arena = arena_create();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static struct one *add(struct fix *f, const char *text)
{
    struct one *one = &f->jobs[f->n++];
    one->spec = job_of_text(f->arena, text);
    assert_non_null(one->spec);
    one->row = (struct job_row){
        .id = f->n, .number = f->n, .name = "x", .project = "p", .state = JOB_QUEUED
    };
    return one;
}

static struct bundle_answer look(struct fix *f, const struct one *one)
{
    const struct bundle_jobs jobs = {
        .arg = f, .next = next, .next_aside = next_aside, .spec = spec
    };
    return bundle_look(&jobs, one->spec, bundle_key(f->arena, one->spec));
}

static const char *said(struct fix *f, const struct one *one)
{
    struct draft draft;
    const struct bundle_answer answer = look(f, one);
    draft_bundle(&draft, &answer);
    const struct sentence sentence = draft_said(&draft);
    assert_int_not_equal(answer.kind, BUNDLE_WHOLE);
    assert_int_equal(answer.waiting, 0);
    return arena_strdup(f->arena, sentence_with(f->arena, &sentence, NULL));
}

/* ---- tests ---- */

static void one_key_for_all(void **state)
{
    struct fix *f = *state;
    const struct one *a = add(f, GANG("a", "\"p/b\"")), *b = add(f, GANG("b", "\"p/a\""));
    const struct one *c = add(f, GANG("c", ""));
    assert_string_equal(bundle_key(f->arena, a->spec), "p/a,p/b,");
    assert_string_equal(bundle_key(f->arena, b->spec), "p/a,p/b,");
    assert_null(bundle_key(f->arena, c->spec));
    assert_true(bundle_has_peers(a->spec));
    assert_false(bundle_has_peers(c->spec));
}

static void all_are_there(void **state)
{
    struct fix *f = *state;
    struct one *a = add(f, GANG("a", "\"p/b\"")), *b = add(f, GANG("b", "\"p/a\""));
    assert_int_equal(look(f, a).waiting, 2);
    assert_int_equal(look(f, b).waiting, 2);
    b->row.state = JOB_RUNNING; /* it does not wait for this one any more */
    assert_int_equal(look(f, a).kind, BUNDLE_WHOLE);
    assert_int_equal(look(f, a).waiting, 1);
    b->row.state = JOB_QUEUED; /* it has started once, and comes back by itself */
    b->row.generation = 1;
    assert_int_equal(look(f, a).waiting, 1);
}

static void what_is_missing(void **state)
{
    struct fix *f = *state;
    struct one *a = add(f, GANG("a", "\"p/b\""));
    assert_string_equal(said(f, a), "starts together with gang p/b, which no job has");
    struct one *b = add(f, GANG("b", "\"p/a\",\"p/c\""));
    assert_string_equal(said(f, a), "starts together with gang p/b, and job 2 (x) names others");
    b->row.state = JOB_SUSPENDED;
    assert_string_equal(said(f, a), "starts together with gang p/b: job 2 (x) is suspended");
    assert_int_equal(look(f, a).row.number, 2);
    b->row.state = JOB_SUCCEEDED;
    assert_string_equal(said(f, a), "starts together with gang p/b, which no job has");
    b->row.state = JOB_QUEUED;
    b->spec = NULL; /* its record cannot be read */
    assert_string_equal(said(f, a), "starts together with gang p/b, which no job has");
}

/* Of several jobs with the gang, one that waits is meant, then one that runs. */
static void one_that_waits_is_meant(void **state)
{
    struct fix *f = *state;
    struct one *a = add(f, GANG("a", "\"p/b\""));
    struct one *held = add(f, GANG("b", "\"p/a\"")), *runs = add(f, GANG("b", "\"p/a\""));
    held->row.state = JOB_SUSPENDED;
    runs->row.state = JOB_RUNNING;
    assert_int_equal(look(f, a).kind, BUNDLE_WHOLE);
    assert_int_equal(look(f, a).row.number, 3);
    runs->row.state = JOB_STOPPED;
    assert_int_equal(look(f, a).row.number, 2);
    add(f, GANG("b", "\"p/a\""));
    assert_int_equal(look(f, a).waiting, 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(one_key_for_all),
        T(all_are_there),
        T(what_is_missing),
        T(one_that_waits_is_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
