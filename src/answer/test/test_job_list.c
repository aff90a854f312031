/* Jobs as plain values: the same as their views, in every state; parts of what they say, for who
 * may see them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "answer/job_list.h"

#include "answer/jobs.h"
#include "answer/pages.h"
#include "base/mem.h"
#include "ctl/test/world.h"
#include "documents/documents.h"

#include <stdio.h>
#include <string.h>

static int setup(void **state)
{
    static struct world w;
    world_init(&w);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world_fini(*state);
    return 0;
}

/* A job of so many processors, with more members of its tree. */
static uint64_t submit(struct world *w, const char *name, unsigned cpu, const char *more)
{
    char text[500];
    snprintf(text, sizeof text,
             "{\"name\":\"%s\",%s%s\"roles\":{\"w\":{\"run\":\"x\",\"env\":{\"A\":\"hush\"},"
             "\"resources\":{\"cpu\":%u}}}}",
             name, more, *more ? "," : "", cpu);
    uint64_t id = world_submit(w, text);
    if (!id)
        fail_msg("%s", w->what);
    return id;
}

static void is_text(const char *said, const char *value)
{
    assert_string_equal(said ? said : "", value ? value : "");
}

static void is_the_same(struct world *w, struct arena *arena, const struct listed_job *job,
                        const struct job_view *view)
{
    const struct job_row *row = &job->row;
    assert_true(view->id == row->id);
    assert_int_equal(view->number, row->number);
    is_text(view->name, row->name);
    is_text(view->owner, row->owner);
    is_text(view->project, row->project);
    is_text(view->queue, row->queue);
    is_text(view->dialect, row->dialect);
    assert_int_equal(view->state, row->state);
    assert_int_equal(view->outcome, row->outcome);
    is_text(view->reason, answer_listed_reason(w->ctl, arena, job, NULL));
    assert_int_equal(view->restarts, row->restarts);
    assert_int_equal(view->tasks, row->tasks);
    if (!row->members) /* of an array the view counts what its members run */
        assert_int_equal(view->tasks_running, job->running);
    assert_int_equal(view->members, row->members);
    assert_true(view->started_ms == row->started_ms);
    assert_true(view->ended_ms == row->ended_ms);
}

static void are_their_views(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct err err;
    struct listed_job *jobs, one;
    size_t n = 0;
    submit(w, "ended", 1, "");
    world_run(w);
    w->code_all = FAKE_RUNS;
    uint64_t first = submit(w, "first", 1, "");
    submit(w, "sweep", 1, "\"array\":\"0-3%1\"");
    for (int i = 0; i < 40; i++) /* more than there is room for */
        submit(w, "many", 2, "");
    submit(w, "later", 1, "\"after\":[\"first\"]");
    submit(w, "held", 1, "\"suspend\":true,\"project\":\"p\"");
    world_run(w);
    world_command(w, first, CTL_STOP);
    const struct job_filter filter = { .limit = 100 };
    assert_int_equal(answer_list(w->ctl, arena, &filter, &jobs, &n, &err), 0);
    struct job_list list;
    struct job_view view;
    assert_int_equal(answer_list_view(w->ctl, arena, &filter, &list, &err), 0);
    unsigned running = 0, waits = 0;
    for (size_t i = 0; i < n; i++) {
        const struct job_ask ask = { .job = jobs[i].row.id, .owner = "ada" };
        is_the_same(w, arena, &jobs[i], &list.at[i]);
        assert_int_equal(answer_listed(w->ctl, arena, jobs[i].row.id, "ada", &one, &err), 0);
        assert_int_equal(answer_job_view(w->ctl, arena, &ask, &view, &err), 0);
        is_the_same(w, arena, &one, &view);
        running += one.running;
        waits += strncmp(answer_listed_reason(w->ctl, arena, &one, NULL), "cpu: ", 5) == 0;
    }
    assert_int_equal(list.n, n);
    assert_int_equal(n, 45);
    assert_true(running > 0 && waits > 0);
    assert_int_equal(answer_listed(w->ctl, arena, first, "eve", &one, &err), -1);
    assert_int_equal(answer_listed(w->ctl, arena, 1, "ada", &one, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    arena_destroy(arena);
}

static const char *env_of(const struct text_node *spec)
{
    return text_get(text_get(text_get(text_get(spec, "roles"), "w"), "env"), "A")->str;
}

static bool hushed(const struct json_span *text)
{
    assert_non_null(text->at);
    return memmem(text->at, text->n, "hush", 4) == NULL;
}

static void texts_are_masked(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct err err;
    struct listed_job job;
    struct job_documents said;
    uint64_t id = submit(w, "a", 1, "\"labels\":{\"x\":\"y\"}");
    assert_int_equal(answer_listed(w->ctl, arena, id, "ada", &job, &err), 0);
    assert_string_equal(env_of(answer_spec_tree(w->ctl, arena, &job, "ada")), "hush");
    assert_string_equal(env_of(answer_spec_tree(w->ctl, arena, &job, NULL)), "***");
    struct documents_ask ask = { "ada", "plain", "job.document" };
    assert_int_equal(answer_said(w->ctl, arena, &job, &ask, &said), 0);
    assert_false(hushed(&said.sent));
    assert_null(said.canonical.at);
    assert_null(said.document.at);
    assert_int_equal(said.last, ctl_last_of(w->ctl, id));
    ask.owner = NULL;
    assert_int_equal(answer_said(w->ctl, arena, &job, &ask, &said), 0);
    assert_true(hushed(&said.sent));
    ask.dialect = "other";
    assert_int_equal(answer_said(w->ctl, arena, &job, &ask, &said), 0);
    assert_null(said.sent.at);
    assert_false(hushed(&said.canonical));
    arena_destroy(arena);
}

static void done(void *arg, const struct ctl_answer *answer)
{
    *(bool *)arg = answer->err == NULL;
}

static void documents_are_their_specs(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    bool good = false;
    struct err err;
    struct listed_job job;
    struct job_documents said;
    uint64_t id = submit(w, "a", 1, "");
    assert_int_equal(answer_listed(w->ctl, arena, id, "ada", &job, &err), 0);
    struct text_node *spec = text_map(arena, NULL, NULL);
    text_str(arena, spec, "spec", "x\"");
    struct document object = { "job.document", job.id, "plain", spec };
    ctl_documents_put(w->ctl, &(struct document_changes){ .by = "ada", .at = &object, .n = 1 },
                      done, &good);
    ctl_turn(w->ctl);
    assert_true(good);
    struct documents_ask ask = { "ada", "plain", "job.document" };
    assert_int_equal(answer_said(w->ctl, arena, &job, &ask, &said), 0);
    assert_string_equal(arena_strndup(arena, said.document.at, said.document.n),
                        "{\"spec\":\"x\\\"\"}");
    ask.kind = "job.note";
    assert_int_equal(answer_said(w->ctl, arena, &job, &ask, &said), 0);
    assert_null(said.document.at);
    job.row.id = 1;
    assert_int_equal(answer_said(w->ctl, arena, &job, &ask, &said), -1);
    arena_destroy(arena);
}

static void expect_text(const char *a, const char *b)
{
    assert_string_equal(a ? a : "", b ? b : "");
}

static void expect_attempt(const struct attempt_view *a, const struct attempt_view *b)
{
    assert_true(a->attempt == b->attempt && a->generation == b->generation && a->pid == b->pid);
    assert_true(a->placed_ms == b->placed_ms && a->started_ms == b->started_ms &&
                a->ended_ms == b->ended_ms && a->log_end == b->log_end);
    assert_true(a->state == b->state && a->by == b->by && a->class == b->class);
    assert_true(a->has_exit_code == b->has_exit_code && a->exit_code == b->exit_code);
    expect_text(a->node, b->node);
    expect_text(a->address, b->address);
    expect_text(a->text, b->text);
    expect_text(a->reason, b->reason);
}

static void expect_task(const struct task_view *a, const struct task_view *b)
{
    expect_text(a->name, b->name);
    expect_text(a->word, b->word);
    assert_true(a->index == b->index && a->attempt == b->attempt && a->state == b->state);
    assert_int_equal(a->attempts.n, b->attempts.n);
    for (size_t i = 0; i < a->attempts.n; i++)
        expect_attempt(&a->attempts.at[i], &b->attempts.at[i]);
}

static void expect_event(const struct event_view *a, const struct event_view *b)
{
    assert_true(a->seq == b->seq && a->job == b->job && a->number == b->number);
    assert_true(a->at_ms == b->at_ms && a->attempt == b->attempt && a->has_task == b->has_task);
    assert_true(a->index == b->index && a->job_state == b->job_state);
    expect_text(a->task, b->task);
    expect_text(a->type, b->type);
    expect_text(a->state, b->state);
    expect_text(a->text, b->text);
    assert_true(!a->body == !b->body && (!a->body || text_equal(a->body, b->body)));
}

/* All pages are the list. How many these are. */
static unsigned expect_tasks(struct answer_pages *pages, struct arena *arena,
                             const struct task_list *all)
{
    struct task_list page;
    struct err err;
    unsigned n = 0;
    size_t at = 0;
    int more;
    do {
        more = answer_pages_tasks(pages, arena, &page, &err);
        assert_true(more >= 0 && page.n <= all->n - at);
        for (size_t i = 0; i < page.n; i++)
            expect_task(&page.at[i], &all->at[at++]);
        n++;
    } while (more);
    assert_int_equal(at, all->n);
    return n;
}

static unsigned expect_events(struct answer_pages *pages, struct arena *arena,
                              const struct event_list *all)
{
    struct event_list page;
    struct err err;
    unsigned n = 0;
    size_t at = 0;
    int more;
    do {
        more = answer_pages_timeline(pages, arena, &page, &err);
        assert_true(more >= 0 && page.n <= all->n - at);
        for (size_t i = 0; i < page.n; i++)
            expect_event(&page.at[i], &all->at[at++]);
        n++;
    } while (more);
    assert_int_equal(at, all->n);
    return n;
}

static int some_fail(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    return index % 50 == 0 && attempt < 3;
}

/* The same is read at once or in pages. */
static void pages_are_the_lists(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct err err;
    w->by_attempt = some_fail;
    uint64_t id = world_submit(
        w, "{\"name\":\"a\",\"retry\":{\"unknown\":3},\"roles\":{"
           "\"w\":{\"run\":\"x\",\"replicas\":150,\"resources\":{\"cpu\":0,\"memory\":\"0\"}},"
           "\"v\":{\"run\":\"x\",\"replicas\":3,\"resources\":{\"cpu\":0,\"memory\":\"0\"}}}}");
    if (!id)
        fail_msg("%s", w->what);
    world_run(w);
    world_pass(w, 60000);
    assert_int_equal(world_state(w, id), JOB_SUCCEEDED);
    const struct job_ask ask = { .job = id, .parts = JOB_TASKS | JOB_TIMELINE };
    struct job_view view;
    assert_int_equal(answer_job_view(w->ctl, arena, &ask, &view, &err), 0);
    assert_int_equal(view.task_list.n, 153);
    struct answer_pages *pages = answer_pages_open(w->ctl, id, NULL, &err);
    /* pages of 64, and of fewer after many attempts */
    assert_true(expect_tasks(pages, arena, &view.task_list) > 3);
    assert_true(expect_events(pages, arena, &view.timeline) > 1);
    answer_pages_close(pages);
    arena_destroy(arena);
}

static void pages_end_with_their_job(void **state)
{
    struct world *w = *state;
    struct arena *arena = arena_create();
    struct task_list tasks;
    struct event_list events;
    struct err err;
    uint64_t id = submit(w, "a", 1, "");
    struct answer_pages *pages = answer_pages_open(w->ctl, id, NULL, &err);
    world_command(w, id, CTL_STOP);
    world_run(w);
    world_command(w, id, CTL_DELETE);
    assert_int_equal(answer_pages_tasks(pages, arena, &tasks, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(answer_pages_timeline(pages, arena, &events, &err), -1);
    assert_null(answer_pages_open(w->ctl, id, NULL, &err));
    answer_pages_close(pages);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(are_their_views, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_are_masked, setup, teardown),
        cmocka_unit_test_setup_teardown(documents_are_their_specs, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_are_the_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_end_with_their_job, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
