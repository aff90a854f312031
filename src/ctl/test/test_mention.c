/* Other people's jobs in what is told of one: written for those who may read them, left out for
 * others, whatever the jobs are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/test/world.h"

#include "base/mem.h"
#include "ctl/array.h"
#include "ctl/core.h"
#include "ctl/mention.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    "prep",
    "a (b) c",
    "x) was promised it",
    "y) to end",
    "job 7 (z)",
    ": job 3 is suspended",
    "a name of a hundred bytes, which is as long as a name gets where it stands in a reason, and so on..",
};

struct fix {
    struct world world;
    struct arena *arena;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    world_init(&f->world);
    f->arena = arena_create();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    world_fini(&f->world);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static uint64_t submit(struct fix *f, const char *owner, const char *more)
{
    char text[200];
    snprintf(text, sizeof text, "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\"}}%s}", more);
    uint64_t id = world_submit_as(
        &f->world, &(struct ctl_submit){ .owner = owner, .text = text, .len = strlen(text) });
    assert_int_not_equal(id, 0);
    return id;
}

static void ignore(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    assert_null(answer->err);
}

static struct job_row row_of(struct fix *f, uint64_t id)
{
    struct job_row row;
    assert_int_equal(core_row(f->world.ctl, f->arena, id, &row), 0);
    return row;
}

static void expect(struct fix *f, const char *reader, const char *text, const char *told)
{
    struct reader r = reader_of(f->world.ctl, f->arena, reader);
    assert_string_equal(reader_text(&r, text), told);
}

/* Each sentence, within other words, for its owner, an admin, the server, and somebody else. */
static void check_sentences(struct fix *f, const struct job_row *row)
{
    static const char *const hidden[] = {
        [MENTION_ROOM] = "makes room for another user's job",
        [MENTION_PROMISED] = "there is room, and another user's job was promised it",
        [MENTION_WAITS] = "waits for another user's job to end",
        [MENTION_WAITED] = "waited for another user's job to end",
        [MENTION_REPLACED] = "replaced by another user's job",
        [MENTION_HELD] = ": another user's job is suspended",
        [MENTION_ELSEWHERE] = ", and another user's job names others",
    };
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
        char said[MENTION_MAX], text[MENTION_MAX + 40], told[MENTION_MAX + 40];
        bool last = i == MENTION_ROOM || i == MENTION_REPLACED; /* nothing follows */
        snprintf(text, sizeof text, "before: %s%s", mention_say(said, (enum mention)i, row),
                 last ? "" : " well, x");
        snprintf(told, sizeof told, "before: %s%s", hidden[i], last ? "" : " well, x");
        expect(f, "bob", text, told);
        expect(f, "alice", text, text);
        expect(f, "root", text, text);
        expect(f, NULL, text, text);
    }
}

static void test_sentences(void **state)
{
    struct fix *f = *state;
    struct job_row row = row_of(f, submit(f, "alice", ""));
    struct job_row array = row_of(f, submit(f, "alice", ",\"array\":2"));
    struct job_row member = row_of(f, array.id + 1);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        row.name = array.name = member.name = names[i];
        check_sentences(f, &row);
        check_sentences(f, &array);
        check_sentences(f, &member);
    }
}

/* What only looks like one, and what nobody can look up any more. */
static void test_others(void **state)
{
    struct fix *f = *state;
    static const char *const plain[] = {
        "",
        "behind 3 jobs",
        "waits for a while",
        "waits for job x to end",
        "waits for job 12",
        "waited for job 99, which is no longer known",
        "makes room for job ",
        "gpu: 4 short; n1 comes closest with 0 of 4 free",
        "it says: job 1 has failed",
    };
    uint64_t id = submit(f, "alice", "");
    assert_int_equal(row_of(f, id).number, 1);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        expect(f, "bob", plain[i], plain[i]);
    expect(f, "bob", "makes room for job 99 (once)", "makes room for a job that is gone");
    expect(f, "bob", "waits for job 1 (cut sho", "waits for another user's job");
    expect(f, "bob", "waits for 1[ (x) to end", "waits for 1[ (x) to end");
    struct reader none = reader_of(f->world.ctl, f->arena, "bob");
    assert_null(reader_text(&none, NULL));
    assert_string_equal(reader_hides(&none, 1), MENTION_HIDDEN);
    submit(f, "bob", "");
    assert_null(reader_hides(&none, 2));
    assert_string_equal(reader_hides(&none, 1), MENTION_HIDDEN);
}

/* The same where they are read: of the job that waits, and of its events. */
static void test_where_read(void **state)
{
    struct fix *f = *state;
    struct err err;
    uint64_t id = submit(f, "alice", ",\"suspend\":true");
    uint64_t waits = submit(f, "alice", ",\"after\":[{\"job\":1}],\"project\":\"p\"");
    struct ctl_user bob = { .by = f->world.ctl->admin, .name = "bob", .create = true };
    const char *project = "p";
    bob.set_projects = true;
    bob.projects = (struct words){ .at = &project, .n = 1 };
    assert_int_equal(row_of(f, id).number, 1);
    struct job_row row = row_of(f, waits);
    assert_false(core_reads(f->world.ctl, "bob", &row));
    ctl_user_put(f->world.ctl, &bob, ignore, NULL);
    ctl_turn(f->world.ctl);
    assert_true(core_reads(f->world.ctl, "bob", &row));
    const struct text_node *job = ctl_job_tree(f->world.ctl, f->arena, waits, "bob", 0, &err);
    assert_string_equal(text_get(job, "reason")->str,
                        "waits for another user's job to end well: it is suspended");
    job = ctl_job_tree(f->world.ctl, f->arena, waits, "alice", 0, &err);
    assert_string_equal(text_get(job, "reason")->str,
                        "waits for job 1 (j) to end well: it is suspended");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sentences, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
