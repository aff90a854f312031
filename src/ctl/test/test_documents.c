/* Documents that façades keep: whose they are, all or none, gone with their job; and entries of the
 * catalogue that users declare for themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "documents/documents.h"

#include "base/mem.h"
#include "ctl/test/world.h"
#include "job/ids.h"

#include <stdio.h>
#include <string.h>

struct seen {
    enum err_code code;
    char what[256];
};

static void done(void *arg, const struct ctl_answer *answer)
{
    struct seen *seen = arg;
    seen->code = answer->err ? answer->err->code : ERR_NONE;
    snprintf(seen->what, sizeof seen->what, "%s", answer->err ? answer->err->what : "");
}

static int set_up(void **state)
{
    struct world *w = mem_new(sizeof *w);
    world_init(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    world_fini(*state);
    free(*state);
    return 0;
}

static enum err_code put(struct world *w, const char *by, bool create, const char *kind,
                         const char *project, const char *value)
{
    struct arena *arena = arena_create();
    struct seen seen = { .code = ERR_N };
    struct text_node *spec = value ? text_map(arena, NULL, NULL) : NULL;
    if (spec)
        text_str(arena, spec, "value", value);
    struct document one = { .kind = kind, .project = project, .name = "n", .spec = spec };
    ctl_documents_put(w->ctl,
                      &(struct document_changes){ .by = by, .create = create, .at = &one, .n = 1 },
                      done, &seen);
    ctl_turn(w->ctl);
    arena_destroy(arena);
    return seen.code;
}

static const struct document_view *kept(struct world *w, struct arena *arena, const char *kind,
                                        const char *project)
{
    return document_find(ctl_documents(w->ctl), arena,
                         &(struct document){ kind, project, "n", NULL });
}

static const char *value_of(struct world *w, struct arena *arena, const char *kind,
                            const char *project)
{
    const struct document_view *view = kept(w, arena, kind, project);
    return view ? text_get(view->spec, "value")->str : NULL;
}

static void belong_to_who_put_them(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    assert_int_equal(put(w, "ada", true, "x.y", "p", "1"), ERR_NONE);
    assert_int_equal(put(w, "ada", true, "x.y", "p", "2"), ERR_CONFLICT);
    assert_int_equal(put(w, "bob", false, "x.y", "p", "2"), ERR_DENIED);
    assert_int_equal(put(w, "bob", false, "x.y", "p", NULL), ERR_DENIED);
    assert_string_equal(value_of(w, arena, "x.y", "p"), "1");
    assert_int_equal(put(w, "ada", false, "x.y", "p", "2"), ERR_NONE);
    assert_int_equal(put(w, "root", false, "x.y", "p", "3"), ERR_NONE);
    assert_string_equal(value_of(w, arena, "x.y", "p"), "3");
    assert_string_equal(kept(w, arena, "x.y", "p")->owner, "ada");
    assert_int_equal(put(w, "ada", true, "x.y", "other", "1"), ERR_NONE);
    const struct document_list all = documents_list(ctl_documents(w->ctl), arena, "x.y", NULL);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.at[0].project, "other");
    assert_string_equal(all.at[1].project, "p");
    assert_int_equal(all.at[1].version, 3);
    assert_int_not_equal(all.at[1].created_ms, 0);
    assert_int_equal(documents_list(ctl_documents(w->ctl), arena, "x.y", "p").n, 1);
    world_crash(w);
    assert_string_equal(value_of(w, arena, "x.y", "p"), "3");
    assert_int_equal(put(w, "ada", false, "x.y", "p", NULL), ERR_NONE);
    assert_null(value_of(w, arena, "x.y", "p"));
    assert_int_equal(put(w, "ada", false, "x.y", "p", NULL), ERR_NONE);
    arena_destroy(arena);
}

static void all_or_none(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct seen seen = { .code = ERR_N };
    struct text_node *spec = text_map(arena, NULL, NULL);
    assert_int_equal(put(w, "ada", true, "x.y", "p", "1"), ERR_NONE);
    struct document two[] = { { "x.y", "fresh", "n", spec }, { "x.y", "p", "n", spec } };
    ctl_documents_put(w->ctl, &(struct document_changes){ .by = "bob", .at = two, .n = 2 }, done,
                      &seen);
    ctl_turn(w->ctl);
    assert_int_equal(seen.code, ERR_DENIED);
    assert_non_null(strstr(seen.what, "ada"));
    assert_int_equal(documents_list(ctl_documents(w->ctl), arena, "x.y", NULL).n, 1);
    arena_destroy(arena);
}

static void of_jobs(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    char id[JOB_ID_TEXT];
    uint64_t job = world_submit(w, "{\"name\":\"a\",\"roles\":{\"w\":{\"run\":\"true\"}}}");
    assert_int_not_equal(job, 0);
    job_id_format(id, job);
    assert_int_equal(put(w, "stranger", false, "job.tag", id, "1"), ERR_NOT_FOUND);
    assert_int_equal(put(w, "root", false, "job.tag", id, "1"), ERR_NONE);
    assert_string_equal(value_of(w, arena, "job.tag", id), "1");
    world_run(w);
    world_command(w, job, CTL_DELETE);
    assert_int_equal(w->code, ERR_NONE);
    assert_null(value_of(w, arena, "job.tag", id));
    arena_destroy(arena);
}

static uint64_t version_of(struct world *w, const char *kind, const char *project)
{
    struct arena *arena = arena_create();
    const struct document_view *view = kept(w, arena, kind, project);
    uint64_t version = view ? view->version : 0;
    arena_destroy(arena);
    return version;
}

static enum err_code told(struct world *w, const char *kind, const char *project,
                          enum document_effect hold, bool remove)
{
    struct arena *arena = arena_create();
    struct seen seen = { .code = ERR_N };
    struct document one = { kind, project, "n", remove ? NULL : text_map(arena, NULL, NULL) };
    struct document_changes ask = { .by = "root", .at = &one, .n = 1, .told = true, .hold = hold };
    ctl_documents_put(w->ctl, &ask, done, &seen);
    ctl_turn(w->ctl);
    arena_destroy(arena);
    return seen.code;
}

/* The version is the number of the event that tells of it, also after one that was not told. */
static void are_told(void **state)
{
    struct world *w = *state;
    assert_int_equal(told(w, "x.y", "p", DOCUMENT_HOLD_NOT, true), ERR_NOT_FOUND);
    assert_int_equal(put(w, "root", false, "x.y", "p", "1"), ERR_NONE);
    assert_int_equal(version_of(w, "x.y", "p"), 1);
    uint64_t before = ctl_last_event(w->ctl);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(told(w, "x.y", "p", DOCUMENT_HOLD_NOT, false), ERR_NONE);
        assert_int_equal(ctl_last_event(w->ctl), before + i);
        assert_int_equal(version_of(w, "x.y", "p"), before + i);
    }
    before = ctl_last_event(w->ctl);
    assert_int_equal(told(w, "x.y", "p", DOCUMENT_HOLD_NOT, true), ERR_NONE);
    assert_int_equal(ctl_last_event(w->ctl), before + 1);
    assert_int_equal(version_of(w, "x.y", "p"), 0);
    assert_int_equal(told(w, "x.y", "p", DOCUMENT_HOLD_NOT, true), ERR_NOT_FOUND);
    assert_int_equal(ctl_last_event(w->ctl), before + 1);
}

static void hold_their_job(void **state)
{
    struct world *w = *state;
    char id[JOB_ID_TEXT];
    uint64_t first, last;
    uint64_t job =
        world_submit(w, "{\"name\":\"a\",\"suspend\":true,\"roles\":{\"w\":{\"run\":\"x\"}}}");
    job_id_format(id, job);
    assert_int_equal(world_state(w, job), JOB_SUSPENDED);
    assert_int_equal(told(w, "job.document", id, DOCUMENT_LET_GO, false), ERR_NONE);
    assert_int_not_equal(world_state(w, job), JOB_SUSPENDED);
    assert_int_equal(world_count(w, job, "noted"), 1);
    world_run(w);
    assert_int_equal(world_state(w, job), JOB_SUCCEEDED);
    uint64_t version = version_of(w, "job.document", id);
    assert_int_equal(told(w, "job.document", id, DOCUMENT_HOLD, false), ERR_CONFLICT);
    assert_int_equal(version_of(w, "job.document", id), version);
    assert_int_equal(told(w, "job.document", id, DOCUMENT_HOLD_NOT, false), ERR_NONE);
    first = ctl_first_of(w->ctl, job);
    last = ctl_last_of(w->ctl, job);
    assert_int_equal(version_of(w, "job.document", id), last);
    assert_true(first < last);
    world_command(w, job, CTL_DELETE);
    assert_int_equal(version_of(w, "job.document", id), 0);
    assert_int_equal(told(w, "job.document", id, DOCUMENT_HOLD_NOT, false), ERR_NOT_FOUND);
}

static void have_a_bound(void **state)
{
    struct world *w = *state;
    char *big = mem_new(DOCUMENT_MAX + 10);
    memset(big, 'x', DOCUMENT_MAX);
    assert_int_equal(put(w, "ada", false, "x.y", "p", big), ERR_TOO_LARGE);
    big[DOCUMENT_MAX - 100] = '\0';
    assert_int_equal(put(w, "ada", false, "x.y", "p", big), ERR_NONE);
    free(big);
}

/* ---- the catalogue ---- */

static enum err_code declare(struct world *w, const char *owner, const char *text)
{
    struct seen seen = { .code = ERR_N };
    struct declaration d = { .owner = owner, .text = text, .len = strlen(text) };
    ctl_declare(w->ctl, &d, done, &seen);
    ctl_turn(w->ctl);
    return seen.code;
}

static enum err_code undeclare(struct world *w, const char *owner, const char *name)
{
    struct seen seen = { .code = ERR_N };
    ctl_undeclare(w->ctl, owner, ENTRY_DATASET, name, done, &seen);
    ctl_turn(w->ctl);
    return seen.code;
}

static void users_declare_data(void **state)
{
    struct world *w = *state;
    assert_int_equal(declare(w, "ada", "{\"kind\":\"quota\",\"name\":\"q\"}"), ERR_DENIED);
    assert_int_equal(declare(w, "ada", "{\"kind\":\"workspace\",\"name\":\"w\"}"), ERR_DENIED);
    assert_int_equal(declare(w, "ada", "{\"kind\":\"dataset\",\"name\":\"d\",\"uri\":\"/a\"}"),
                     ERR_NONE);
    assert_int_equal(declare(w, "bob", "{\"kind\":\"dataset\",\"name\":\"d\",\"uri\":\"/b\"}"),
                     ERR_DENIED);
    /* nobody gives away or takes over by naming an owner */
    assert_int_equal(
        declare(w, "bob", "{\"kind\":\"dataset\",\"name\":\"d\",\"uri\":\"/b\",\"owner\":\"bob\"}"),
        ERR_DENIED);
    assert_int_equal(undeclare(w, "bob", "d"), ERR_DENIED);
    /* the server's user changes it, and it stays hers */
    assert_int_equal(declare(w, "root", "{\"kind\":\"dataset\",\"name\":\"d\",\"uri\":\"/c\"}"),
                     ERR_NONE);
    world_crash(w);
    assert_int_equal(declare(w, "ada", "{\"kind\":\"dataset\",\"name\":\"d\",\"uri\":\"/e\"}"),
                     ERR_NONE);
    assert_int_equal(declare(w, "root", "{\"kind\":\"dataset\",\"name\":\"r\",\"uri\":\"/c\"}"),
                     ERR_NONE);
    assert_int_equal(undeclare(w, "ada", "r"), ERR_DENIED);
    assert_int_equal(undeclare(w, "ada", "d"), ERR_NONE);
    assert_int_equal(undeclare(w, "ada", "d"), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(belong_to_who_put_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_or_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_jobs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hold_their_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(have_a_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(users_declare_data, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
