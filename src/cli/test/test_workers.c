/* One process for each of several machines: what each says comes here whole and under its own name,
 * and one that fails, hangs up or is killed spoils nothing of the others. */
#include "cli/workers.h"

#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 20u

struct world {
    struct cli cli;
    const char *names[MANY];
    struct worker_result results[MANY]; /* in the order of their ends */
    size_t n;
    int gate[2]; /* a pipe that workers wait at */
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    w->cli = (struct cli){ .arena = arena_create() };
    for (size_t i = 0; i < MANY; i++)
        w->names[i] = arena_printf(w->cli.arena, "gpu%zu", i);
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    arena_destroy(w->cli.arena);
    free(w);
    return 0;
}

static void on_done(void *arg, const struct worker_result *result)
{
    struct world *w = arg;
    assert_true(w->n < MANY);
    w->results[w->n++] = *result;
}

static int run(struct world *w, size_t n,
               int (*work)(void *, size_t, struct worker_report *, struct err *))
{
    const struct work_list list = {
        .cli = &w->cli, .names = w->names, .n = n, .work = work, .done = on_done, .arg = w
    };
    w->n = 0;
    return workers_run(&list, &w->err);
}

static const struct worker_result *of(const struct world *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->results[i].name, name) == 0)
            return &w->results[i];
    fail_msg("nothing of %s", name);
    return NULL;
}

/* ---- what they say ---- */

static int say_much(void *arg, size_t i, struct worker_report *to, struct err *err)
{
    char text[16];
    (void)arg;
    (void)err;
    snprintf(text, sizeof text, "%zu", i);
    worker_at(to, "connecting");
    worker_set(to, "number", text);
    worker_set(to, "cpus", "first");
    worker_set(to, "cpus", "two words and more");
    worker_set(to, "empty", "");
    worker_note(to, "a note");
    worker_note(to, "set cpus 7"); /* reads like another line of theirs */
    worker_at(to, "copying muster-node");
    return 0;
}

static void values_notes_and_place(void **state)
{
    struct world *w = *state;
    assert_int_equal(run(w, 3, say_much), 0);
    assert_int_equal(w->n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct worker_result *r = of(w, w->names[i]);
        assert_true(r->ok);
        assert_string_equal(r->what, "");
        assert_string_equal(r->at, "copying muster-node");
        assert_int_equal(r->values.n, 3);
        assert_string_equal(pairs_get(&r->values, "number"), arena_printf(w->cli.arena, "%zu", i));
        assert_string_equal(pairs_get(&r->values, "cpus"), "two words and more");
        assert_string_equal(pairs_get(&r->values, "empty"), "");
        assert_int_equal(r->notes.n, 2);
        assert_string_equal(r->notes.at[0].name, "a note");
        assert_string_equal(r->notes.at[1].name, "set cpus 7");
    }
}

/* What a machine answers may hold anything; one line stays one line, and a terminal is safe. */
static int say_lines(void *arg, size_t i, struct worker_report *to, struct err *err)
{
    (void)arg;
    (void)i;
    worker_set(to, "banner", "a\nok \nfail no\r\x1b[31mb\x7f");
    worker_note(to, "\xc3\xa9\tx");
    return err_set(err, ERR_CANNOT, "first\nset forged yes");
}

static void a_text_is_one_line(void **state)
{
    struct world *w = *state;
    assert_int_equal(run(w, 1, say_lines), 1);
    const struct worker_result *r = of(w, "gpu0");
    assert_false(r->ok);
    assert_string_equal(pairs_get(&r->values, "banner"), "a ok  fail no  [31mb ");
    assert_string_equal(r->notes.at[0].name, "\xc3\xa9 x");
    assert_string_equal(r->what, "first set forged yes");
    assert_null(pairs_get(&r->values, "forged"));
}

static int say_long(void *arg, size_t i, struct worker_report *to, struct err *err)
{
    char text[20000];
    (void)arg;
    (void)err;
    memset(text, 'a' + (int)i, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (unsigned k = 0; k < 50; k++) /* more than a pipe takes at once */
        worker_note(to, text);
    worker_set(to, "long", text);
    worker_set(to, "after", "it");
    return 0;
}

static void long_texts_are_cut_and_nothing_is_mixed(void **state)
{
    struct world *w = *state;
    assert_int_equal(run(w, 2, say_long), 0);
    for (size_t i = 0; i < 2; i++) {
        const struct worker_result *r = of(w, w->names[i]);
        const char *text = pairs_get(&r->values, "long");
        assert_int_equal(strlen(text), 3000);
        assert_int_equal(strspn(text, i ? "b" : "a"), 3000);
        assert_string_equal(pairs_get(&r->values, "after"), "it");
        assert_int_equal(r->notes.n, 1); /* the same note is one */
    }
}

/* ---- how they end ---- */

static int one_of_three(void *arg, size_t i, struct worker_report *to, struct err *err)
{
    (void)arg;
    worker_at(to, "asking ssh");
    if (i != 1)
        return 0;
    err_set(err, ERR_UNAVAILABLE, "gpu1 does not answer");
    return err_hint(err, "is it on?");
}

static void one_that_fails(void **state)
{
    struct world *w = *state;
    assert_int_equal(run(w, 3, one_of_three), 1);
    assert_int_equal(w->n, 3);
    const struct worker_result *r = of(w, "gpu1");
    assert_false(r->ok);
    assert_string_equal(r->what, "gpu1 does not answer");
    assert_string_equal(r->hint, "is it on?");
    assert_string_equal(r->at, "asking ssh");
    assert_true(of(w, "gpu0")->ok);
    assert_true(of(w, "gpu2")->ok);
    assert_string_equal(of(w, "gpu0")->hint, "");
}

static int end_badly(void *arg, size_t i, struct worker_report *to, struct err *err)
{
    (void)arg;
    (void)err;
    worker_set(to, "seen", "yes");
    if (i == 0)
        (void)kill(getpid(), SIGKILL);
    if (i == 1)
        _exit(0); /* without a word of it */
    if (write(2, "", 0) == 0 && i == 2)
        _exit(3);
    return 0;
}

static void one_that_is_killed_has_failed(void **state)
{
    struct world *w = *state;
    assert_int_equal(run(w, 4, end_badly), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct worker_result *r = of(w, w->names[i]);
        assert_false(r->ok);
        assert_string_equal(r->what, "its process was ended before it was done");
        assert_string_equal(pairs_get(&r->values, "seen"), "yes"); /* what it had said is kept */
    }
    assert_true(of(w, "gpu3")->ok);
}

/* ---- how many at once ---- */

/* All of the first eight have to be there before one of them goes on. */
static int meet(void *arg, size_t i, struct worker_report *to, struct err *err)
{
    struct world *w = arg;
    char c = 'x';
    (void)to;
    if (i + 1 < WORKERS_AT_ONCE)
        return read(w->gate[0], &c, 1) == 1 ? 0 : err_set(err, ERR_SYSTEM, "nobody came");
    for (unsigned k = 0; i + 1 == WORKERS_AT_ONCE && k + 1 < WORKERS_AT_ONCE; k++)
        if (write(w->gate[1], &c, 1) != 1)
            return err_set(err, ERR_SYSTEM, "nobody is there");
    return 0;
}

static void eight_work_at_the_same_time(void **state)
{
    struct world *w = *state;
    assert_int_equal(pipe(w->gate), 0);
    assert_int_equal(run(w, MANY, meet), 0);
    assert_int_equal(w->n, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_true(of(w, w->names[i])->ok);
    close(w->gate[0]);
    close(w->gate[1]);
}

static void nothing_to_do(void **state)
{
    struct world *w = *state;
    assert_int_equal(run(w, 0, say_much), 0);
    assert_int_equal(w->n, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(values_notes_and_place),
        CASE(a_text_is_one_line),
        CASE(long_texts_are_cut_and_nothing_is_mixed),
        CASE(one_that_fails),
        CASE(one_that_is_killed_has_failed),
        CASE(eight_work_at_the_same_time),
        CASE(nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
