/* Every reason has its words: those of a job without tasks, of one with tasks, and of others' texts
 * that are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "depend/wording.h"
#include "live/live.h"
#include "live/wording.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static void says(const struct reason *reason, const char *wanted)
{
    struct draft draft;
    struct arena *arena = arena_create();
    draft_reason(&draft, reason);
    const struct sentence said = draft_said(&draft);
    assert_string_equal(sentence_with(arena, &said, NULL), wanted);
    arena_destroy(arena);
}

static void jobs(void **state)
{
    const struct job_row other = { .number = 12, .name = "prep" };
    const struct sentence was = { .text = "gpu: 4 short" }, none = { .text = "" };
    const struct reason asked = { .kind = REASON_RESTARTED, .text = "eva" };
    const struct depend_answer gone = { .kind = DEPEND_GONE, .number = 7 };
    const struct bundle_answer alone = { .kind = BUNDLE_NO_JOB, .gang = "p/b" };
    const struct {
        struct reason reason;
        const char *words;
    } rows[] = {
        { { .kind = REASON_SAID, .text = "100 % said" }, "100 % said" },
        { { .kind = REASON_STOPPED, .text = "eva" }, "stopped by eva" },
        { { .kind = REASON_SUSPENDED, .text = "eva" }, "suspended by eva" },
        { { .kind = REASON_RESUMED, .text = "eva" }, "resumed by eva" },
        { { .kind = REASON_RESTARTED, .text = "eva" }, "restarted by eva" },
        { { .kind = REASON_FAILED, .text = "eva" }, "declared failed by eva" },
        { { .kind = REASON_PRIORITY, .text = "eva", .n = 9 }, "priority 9, by eva" },
        { { .kind = REASON_IN_COPY, .text = "sha256:0123456789abcdef" },
          "in a copy of sha256:0123456789abc..." },
        { { .kind = REASON_WITH_CODE, .text = "/c", .n = 1 },
          "held until it is resumed; code from /c" },
        { { .kind = REASON_IN_DIRECTORY, .text = "/w" }, "in /w" },
        { { .kind = REASON_FRESH }, "in a fresh directory for each task" },
        { { .kind = REASON_REPLACED, .other = &other }, "replaced by job 12 (prep)" },
        { { .kind = REASON_MAKES_ROOM, .other = &other }, "makes room for job 12 (prep)" },
        { { .kind = REASON_DEPENDS, .depend = &gone },
          "waited for job 7, which is no longer known" },
        { { .kind = REASON_BUNDLE, .bundle = &alone },
          "starts together with gang p/b, which no job has" },
        { { .kind = REASON_ASKS_ALLOCATION }, "asks for an allocation of its own" },
        { { .kind = REASON_AGENT_ROOM }, "waits until the server has room for its agents" },
        { { .kind = REASON_BID }, "its bid is below the price of its nodes" },
        { { .kind = REASON_CUT_OFF },
          "not all of its places were recorded when the server ended; none was used" },
        { { .kind = REASON_BEHIND, .n = 1 }, "behind 1 job" },
        { { .kind = REASON_BEHIND, .n = 2 }, "behind 2 jobs" },
        { { .kind = REASON_SLOT, .n = 4 }, "its array runs 4 at a time" },
        { { .kind = REASON_UP, .n = 2, .most = 7 }, "2 of 7 tasks" },
        { { .kind = REASON_RAN_LONG, .ms = 90000 }, "ran longer than its limit of 90s" },
        { { .kind = REASON_WAITED_LONG, .said = &was },
          "did not start within its pending limit: gpu: 4 short" },
        { { .kind = REASON_WAITED_LONG, .said = &none }, "did not start within its pending limit" },
        { { .kind = REASON_SPENT, .because = &asked, .n = 3 },
          "restarted by eva; the job has exceeded its 3 restarts" },
        { { .kind = REASON_UNREADABLE }, "its record cannot be read" },
        { { .kind = REASON_AGAIN, .because = &asked, .n = 2 },
          "restarted by eva; again, attempt 2" },
        { { .kind = REASON_AGAIN, .because = &asked, .n = 2, .most = 5, .ms = 2000 },
          "restarted by eva; again in 2s, attempt 2 of 5" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        says(&rows[i].reason, rows[i].words);
}

/* A job of two tasks on two nodes. */
static struct live_job *make(struct live *live, struct job_spec *spec)
{
    const struct job_row row = { .id = 1,
                                 .number = 1,
                                 .owner = "eva",
                                 .project = "",
                                 .name = "j",
                                 .queue = "",
                                 .dialect = "native",
                                 .reason.text = "",
                                 .tasks = 2 };
    struct live_job *job = live_add(live, &row);
    job->spec = spec;
    live_make_tasks(job);
    for (uint32_t i = 0; i < 2; i++) {
        job->tasks[i].place = (struct task_place){ .index = i, .node = i ? "n2" : "n1" };
        job->tasks[i].failed_on = job->tasks[i].place.node;
        live_add_agent(job, job->tasks[i].place.node);
    }
    return job;
}

static void tasks(void **state)
{
    static struct port_request want = {
        .label = "http", .count = 1, .first = 8080, .prefer = true
    };
    static struct role role = { .name = "w", .replicas = 2, .ports = &want, .n_ports = 1 };
    static struct job_spec spec = { .roles = &role, .n_roles = 1 };
    static uint32_t number = 9000;
    static struct placed_port port = { .label = "http", .numbers = &number, .count = 1 };
    const struct ending ending = { .exited = true, .code = 1 };
    const char *first[] = { "w/0", "w/1" };
    struct live *live = live_create();
    struct live_job *job = make(live, &spec);
    (void)state;
    says(&(struct reason){ .kind = REASON_STARTED, .job = job, .flat = 1, .n = 5 },
         "runs on n2, pid 5");
    says(&(struct reason){ .kind = REASON_ENDED, .job = job, .flat = 1, .ending = &ending },
         "w/1 on n2 exited with 1");
    says(&(struct reason){ .kind = REASON_AVOIDS, .job = job, .n = 3 },
         "n1 is avoided from now on: w/0 failed 3 times there");
    says(&(struct reason){ .kind = REASON_LEFT_ENOUGH, .job = job, .n = 3, .most = 4 },
         "w/0 failed 3 times on n1, after 4 nodes were left");
    job->tasks[0].place.ports = &port;
    job->tasks[0].place.n_ports = 1;
    says(&(struct reason){ .kind = REASON_OTHER_PORT, .job = job },
         "w/0: port 8080 (http) is taken on n1, it has 9000 instead");
    says(&(struct reason){ .kind = REASON_PLACED, .job = job }, "2 tasks on 2 nodes");
    const struct verdict verdict = { OUTCOME_FAILED, .rule = VERDICT_FAILED, .count = 1, .of = 2 };
    says(&(struct reason){ .kind = REASON_VERDICT, .job = job, .verdict = &verdict },
         "w: 1 of 2 tasks failed");
    live_set_phase(job, &job->tasks[1], PHASE_UNPLACED);
    live_remove_agent(job, live_agent(job, "n2"));
    says(&(struct reason){ .kind = REASON_PLACED, .job = job },
         "1 task on n1, 1 more when there is room");
    job->notes.first_text = "w/0 on n1 exited with 1";
    job->notes.first = (struct words){ first, 1 };
    says(&(struct reason){ .kind = REASON_FIRST, .job = job },
         "w/0 on n1 exited with 1, first of 2");
    job->notes.first.n = 2;
    says(&(struct reason){ .kind = REASON_FIRST, .job = job },
         "w/0 on n1 exited with 1, at the same moment as w/1: first of 2");
    job->notes.first_is_root = true;
    says(&(struct reason){ .kind = REASON_FIRST, .job = job },
         "w/0 on n1 exited with 1, at the same moment as w/1");
    job->tasks[0].place.n_ports = 0;
    live_destroy(live);
}

/* A kind without words would end the program; one that is too long is cut. */
static void texts_are_cut(void **state)
{
    char longer[1000];
    struct draft draft;
    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const struct reason said = { .kind = REASON_SAID, .text = longer };
    draft_reason(&draft, &said);
    assert_int_equal(strlen(draft.text), SENTENCE_MAX - 1);
    draft_reason(&draft, &(struct reason){ .kind = REASON_SPENT, .because = &said, .n = 1 });
    assert_string_equal(draft.text + 200, "; the job has exceeded its 1 restarts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs),
        cmocka_unit_test(tasks),
        cmocka_unit_test(texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
