/* What follows for a pilot from what Slurm says, from what it does not say, and from its hosts; and
 * its row, which the next server goes on with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/slurm/pilot.h"

#include "base/mem.h"

#include <string.h>

static const unsigned char hash[32] = { 1, 2, 3 };

static struct pilot *make(void)
{
    const char *flags[] = { "--qos=short", "-A", "lab" };
    const struct pilot_ask ask = { .nodes = 4,
                                   .partition = "main",
                                   .gpu_type = "a100",
                                   .time_ms = 90500,
                                   .gpus = 2,
                                   .idle_ms = 600000,
                                   .flags = { .at = flags, .n = 3 } };
    struct pilot *p = pilot_create("p1", "ab12", "ada", &ask);
    p->at_ms = 1000000;
    p->submitted = true;
    memcpy(p->join_hash, hash, sizeof hash);
    return p;
}

static bool hear(struct pilot *p, enum slurm_state state, size_t reached)
{
    const struct slurm_job job = { .id = "17",
                                   .name = "muster-pilot-ab12",
                                   .partition = "main",
                                   .reason = "Resources",
                                   .state = state,
                                   .state_word = "",
                                   .has_left = true,
                                   .left_ms = 60000,
                                   .n_nodes = 4,
                                   .nodes = state == SLURM_PENDING ? "" : "n[1-4]" };
    return pilot_hear(p, &job, &(struct pilot_world){ .now_ms = 2000000, .reached = reached });
}

static bool miss(struct pilot *p, uint64_t now_ms, size_t reached)
{
    return pilot_hear(p, NULL, &(struct pilot_world){ .now_ms = now_ms, .reached = reached });
}

static void it_waits_runs_and_ends(void **state)
{
    struct pilot *p = make();
    uint64_t left;
    (void)state;
    assert_true(hear(p, SLURM_PENDING, 0));
    assert_int_equal(p->state, PILOT_PENDING);
    assert_string_equal(p->id, "17");
    assert_string_equal(p->reason, "Resources");
    assert_false(pilot_left(p, 0, &left));
    assert_false(hear(p, SLURM_PENDING, 0));
    assert_true(hear(p, SLURM_RUNNING, 0));
    assert_int_equal(p->state, PILOT_RUNNING);
    assert_string_equal(p->reason, "");
    assert_true(pilot_left(p, 2010000, &left));
    assert_int_equal(left, 50000);
    assert_true(pilot_has_node(p, "n3"));
    assert_false(pilot_has_node(p, "n5"));
    assert_false(hear(p, SLURM_RUNNING, 4));
    assert_true(hear(p, SLURM_TIMEOUT, 1)); /* one still talks */
    assert_int_equal(p->state, PILOT_ENDING);
    assert_true(hear(p, SLURM_TIMEOUT, 0));
    assert_int_equal(p->state, PILOT_OVER);
    assert_string_equal(p->reason, "its time was over");
    assert_false(hear(p, SLURM_RUNNING, 0));
    pilot_destroy(p);
}

static void two_witnesses_end_it(void **state)
{
    struct pilot *p = make();
    (void)state;
    hear(p, SLURM_RUNNING, 4);
    assert_false(miss(p, 3000000, 0));
    assert_false(hear(p, SLURM_RUNNING, 0)); /* back: it starts anew */
    assert_false(miss(p, 3000000, 0));
    miss(p, 3000000, 1); /* twice, and a host talks */
    assert_int_equal(p->state, PILOT_ENDING);
    assert_true(miss(p, 3000000, 0));
    assert_int_equal(p->state, PILOT_OVER);
    pilot_destroy(p);
}

static void what_may_be_being_submitted_is_waited_for(void **state)
{
    struct pilot *p = make();
    (void)state;
    p->submitted = false;
    for (int i = 0; i < 5; i++)
        assert_false(miss(p, 9000000, 0)); /* nobody has submitted it yet */
    p->submitted = true;
    for (int i = 0; i < 5; i++)
        assert_false(miss(p, 1000001, 0));
    assert_true(miss(p, 9000000, 0));
    assert_int_equal(p->state, PILOT_OVER);
    pilot_destroy(p);
}

static void one_that_is_not_taken_is_submitted_again(void **state)
{
    struct pilot *p = make();
    (void)state;
    pilot_hear_full(p, "no more", 2000000);
    for (int i = 0; i < 5; i++)
        assert_false(miss(p, 2009999, 0));
    assert_true(p->submitted);
    assert_false(miss(p, 2010000, 0));
    assert_false(p->submitted);
    assert_int_equal(p->state, PILOT_SUBMITTING);
    assert_string_equal(p->reason, "no more");
    p->submitted = true; /* again; a list of before it does not have it yet */
    free(p->id);
    p->id = mem_strdup("8");
    assert_false(miss(p, 2010500, 0));
    assert_int_equal(p->state, PILOT_SUBMITTING);
    free(p->id);
    p->id = mem_strdup("");
    /* and that one was taken before its sbatch was ended */
    pilot_hear_full(p, "no more", 2011000);
    hear(p, SLURM_PENDING, 0);
    assert_int_equal(p->state, PILOT_PENDING);
    assert_true(p->submitted);
    assert_false(miss(p, 3000000, 0));
    assert_true(p->submitted);
    pilot_destroy(p);
}

static void what_is_given_back_stays_so(void **state)
{
    struct pilot *p = make();
    (void)state;
    hear(p, SLURM_RUNNING, 4);
    p->state = PILOT_ENDING;
    pilot_set_reason(p, "stopped by %s", "ada");
    hear(p, SLURM_RUNNING, 4);
    assert_int_equal(p->state, PILOT_ENDING);
    hear(p, SLURM_COMPLETING, 0);
    assert_true(hear(p, SLURM_CANCELLED, 0));
    assert_int_equal(p->state, PILOT_OVER);
    assert_string_equal(p->reason, "stopped by ada");
    pilot_destroy(p);
}

static void its_row_is_read_back(void **state)
{
    struct arena *arena = arena_create();
    struct pilot *p = make();
    (void)state;
    hear(p, SLURM_RUNNING, 4);
    pilot_add_host(p, "n1", "n1.2", hash);
    pilot_add_host(p, "n2", "n2", hash);
    p->hosts.at[1].gone = true;
    struct pilot *q = pilot_of_row("p1", pilot_row(arena, p));
    assert_non_null(q);
    assert_int_equal(q->state, PILOT_RUNNING);
    assert_string_equal(q->id, "17");
    assert_string_equal(q->nonce, "ab12");
    assert_string_equal(q->by, "ada");
    assert_int_equal(q->ends_ms, p->ends_ms);
    assert_int_equal(q->ask.flags.n, 3);
    assert_int_equal(q->ask.gpus, 2);
    assert_int_equal(q->hosts.n, 2);
    assert_string_equal(pilot_find_host(q, "n1")->name, "n1.2");
    assert_false(pilot_find_host(q, "n1")->gone);
    assert_true(pilot_find_host(q, "n2")->gone);
    assert_null(pilot_find_host(q, "n3"));
    assert_true(q->submitted);
    assert_true(q->hears_again); /* as its script does */
    pilot_destroy(q);
    assert_null(pilot_of_row("p2", text_map(arena, NULL, NULL)));
    p->hears_again = false; /* the row of an older server does not say it */
    q = pilot_of_row("p1", pilot_row(arena, p));
    assert_false(q->hears_again);
    pilot_destroy(q);
    pilot_destroy(p);
    arena_destroy(arena);
}

/* Never the server's own, whatever became of what its row says. */
static void one_of_an_account_stays_its_own(void **state)
{
    struct arena *arena = arena_create();
    struct pilot *p = make();
    struct account ann = {
        .name = "ann", .home = "/home/ann", .shell = "/bin/sh", .ids = { .uid = 1001, .gid = 1002 }
    };
    (void)state;
    p->account = &ann;
    struct pilot *q = pilot_of_row("p1", pilot_row(arena, p));
    assert_non_null(q);
    assert_string_equal(q->account->name, "ann");
    assert_int_equal(q->account->ids.gid, 1002);
    pilot_destroy(q);
    ann.ids.uid = 0;
    assert_null(pilot_of_row("p1", pilot_row(arena, p)));
    pilot_destroy(p);
    arena_destroy(arena);
}

static bool has(const char **words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static void what_sbatch_is_told(void **state)
{
    struct arena *arena = arena_create();
    struct pilot *p = make();
    const char **words = pilot_sbatch(arena, p);
    (void)state;
    assert_true(has(words, "--job-name=muster-pilot-ab12"));
    assert_true(has(words, "--nodes=4"));
    assert_true(has(words, "--ntasks-per-node=1"));
    assert_true(has(words, "--time=2"));
    assert_true(has(words, "--gres=gpu:a100:2"));
    assert_true(has(words, "--exclusive"));
    assert_true(has(words, "--no-kill"));
    p->ask.cpus = 8;
    words = pilot_sbatch(arena, p);
    assert_true(has(words, "--cpus-per-task=8"));
    assert_false(has(words, "--exclusive"));
    while (words[1])
        words++;
    assert_string_equal(words[0], "lab");
    pilot_destroy(p);
    arena_destroy(arena);
}

static void what_cannot_be_is_refused(void **state)
{
    static const char *const bad[] = { "--requeue", "-N2", "-J", "--array=1-3", "a\nb", "-n8" };
    static const char *const good[] = { "--qos=x", "--no-requeue", "--nodelist=n1", "-A",
                                        "--nice" };
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *flag = bad[i];
        struct pilot_ask ask = {
            .nodes = 1, .partition = "", .gpu_type = "", .flags = { .at = &flag, .n = 1 }
        };
        assert_int_equal(pilot_check_ask(&ask, &err), -1);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *flag = good[i];
        struct pilot_ask ask = {
            .nodes = 1, .partition = "", .gpu_type = "", .flags = { .at = &flag, .n = 1 }
        };
        assert_int_equal(pilot_check_ask(&ask, &err), 0);
    }
    assert_int_equal(pilot_check_ask(&(struct pilot_ask){ .partition = "", .gpu_type = "" }, &err),
                     -1);
    assert_int_equal(
        pilot_check_ask(
            &(struct pilot_ask){ .nodes = 1, .partition = "", .gpu_type = "", .time_ms = 5 }, &err),
        -1);
}

static enum pilot_step step(const struct pilot *p, bool wanted, bool lacks, uint64_t now_ms)
{
    const struct pilot_need need = { .wanted = wanted, .lacks = lacks, .ran = true };
    return pilot_next_step(p, need, now_ms);
}

/* A job that has all nodes and finds no place on them does not hold them for ever. */
static void nodes_that_do_not_fit_are_given_back(void **state)
{
    (void)state;
    const struct pilot_ask ask = { .nodes = 1, .partition = "", .gpu_type = "" };
    const struct pilot_need need = { .wanted = true, .lacks = true };
    unsigned char token[32] = { 1 };
    struct pilot *p = pilot_create("p1", "ab", "ada", &ask);
    const struct slurm_job runs = { .id = "7",
                                    .name = "",
                                    .partition = "main",
                                    .reason = "None",
                                    .state = SLURM_RUNNING,
                                    .nodes = "n1",
                                    .start_ms = 1000,
                                    .has_start = true };
    assert_true(pilot_hear(p, &runs, &(struct pilot_world){ .now_ms = 2000 }));
    pilot_add_host(p, "n1", "n1", token);
    assert_int_equal(pilot_next_step(p, need, 2000), PILOT_STEP_NONE); /* it is not placed yet */
    assert_int_equal(pilot_next_step(p, need, 700000), PILOT_STEP_REFUSE);
    assert_int_equal(step(p, true, true, 700000), PILOT_STEP_NONE); /* its node may be silent */
    p->hosts.at[0].gone = true;
    assert_int_equal(pilot_next_step(p, need, 700000), PILOT_STEP_MOVE);
    pilot_destroy(p);
}

/* The login node may be in another zone, by whose clock it began hours ago. */
static void what_runs_is_counted_by_the_servers_clock(void **state)
{
    (void)state;
    const struct pilot_ask ask = { .nodes = 2, .partition = "", .gpu_type = "" };
    unsigned char token[32] = { 1 };
    const uint64_t hours = 8ull * 3600000, now = 100 * hours;
    struct pilot *p = pilot_create("p1", "ab", "ada", &ask);
    struct slurm_job job = { .id = "7",
                             .name = "",
                             .partition = "main",
                             .reason = "None",
                             .state = SLURM_PENDING,
                             .nodes = "",
                             .start_ms = now - hours,
                             .has_start = true };
    pilot_hear(p, &job, &(struct pilot_world){ .now_ms = now - 1000 });
    assert_int_equal(p->start_ms, now - hours); /* as Slurm says it */
    job.state = SLURM_RUNNING;
    job.nodes = "n[1-2]";
    pilot_hear(p, &job, &(struct pilot_world){ .now_ms = now });
    assert_int_equal(p->start_ms, now);
    pilot_add_host(p, "n1", "n1", token);
    assert_int_equal(step(p, true, true, now + 5000), PILOT_STEP_NONE); /* the other may come */
    pilot_hear(p, &job, &(struct pilot_world){ .now_ms = now + 700000 });
    assert_int_equal(p->start_ms, now);
    assert_int_equal(step(p, true, true, now + 700000), PILOT_STEP_MOVE);
    pilot_destroy(p);
}

/* "launch failed requeued held": what then is cancelled nobody else has cancelled. */
static void one_that_slurm_queues_again_is_given_back(void **state)
{
    (void)state;
    const struct pilot_ask ask = { .nodes = 1, .partition = "", .gpu_type = "" };
    const struct pilot_world world = { .now_ms = 2000 };
    struct pilot *p = pilot_create("p1", "ab", "ada", &ask);
    struct slurm_job job = { .id = "7", .name = "", .partition = "main", .reason = "held" };
    static const enum slurm_state states[] = { SLURM_RUNNING, SLURM_COMPLETING, SLURM_PENDING,
                                               SLURM_CANCELLED };
    p->job = 99;
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        job.state = states[i];
        job.nodes = states[i] == SLURM_RUNNING ? "n1" : "";
        pilot_hear(p, &job, &world);
        assert_int_equal(p->given_back, i >= 2);
    }
    assert_int_equal(p->state, PILOT_OVER);
    assert_int_equal(step(p, true, true, 2000), PILOT_STEP_ASK);
    pilot_destroy(p);
}

/* What is to be done about a job's own allocation, by what became of the last one. */
static void a_job_gets_one_at_a_time(void **state)
{
    (void)state;
    const struct pilot_ask ask = {
        .nodes = 2, .least = 1, .partition = "", .gpu_type = "", .cpus = 4, .memory = 100ull << 20
    };
    unsigned char token[32] = { 1 };
    struct arena *arena = arena_create();
    struct pilot *p = pilot_create("p1", "ab", "ada", &ask);
    char text[200];
    p->job = 99;
    p->job_number = 12;
    assert_int_equal(step(NULL, true, false, 0), PILOT_STEP_ASK);
    assert_int_equal(step(NULL, false, false, 0), PILOT_STEP_NONE);
    p->state = PILOT_PENDING;
    assert_int_equal(step(p, true, true, 0), PILOT_STEP_NONE);
    assert_int_equal(step(p, false, false, 0), PILOT_STEP_GIVE);
    pilot_say_waiting(p, text, sizeof text);
    assert_string_equal(text, "2 nodes are asked of Slurm");
    const struct slurm_job runs = { .id = "7",
                                    .name = "",
                                    .partition = "main",
                                    .reason = "None",
                                    .state = SLURM_RUNNING,
                                    .nodes = "n[1-2]",
                                    .start_ms = 1000,
                                    .has_start = true };
    const struct pilot_world world = { .now_ms = 2000 };
    assert_true(pilot_hear(p, &runs, &world));
    assert_int_equal(step(p, true, true, 2000), PILOT_STEP_NONE); /* they may come */
    assert_int_equal(step(p, true, true, 700000), PILOT_STEP_MOVE);
    pilot_add_host(p, "n1", "n1", token);
    pilot_add_host(p, "n2", "n2", token);
    assert_int_equal(step(p, true, true, 700000), PILOT_STEP_NONE);
    p->hosts.at[0].gone = true;
    assert_int_equal(step(p, true, false, 2000), PILOT_STEP_NONE); /* it goes on */
    assert_int_equal(step(p, true, true, 2000), PILOT_STEP_MOVE);
    struct slurm_job over = runs;
    over.state = SLURM_COMPLETING;
    pilot_hear(p, &over, &world);
    assert_int_equal(step(p, true, true, 2000), PILOT_STEP_NONE); /* why is not known */
    over.state = SLURM_CANCELLED;
    pilot_hear(p, &over, &world);
    assert_int_equal(step(p, true, true, 2000), PILOT_STEP_STOP);
    struct pilot *again = pilot_of_row("p1", pilot_row(arena, p)); /* also of the next server */
    assert_int_equal(step(again, true, true, 2000), PILOT_STEP_STOP);
    assert_int_equal(again->job, 99);
    assert_int_equal(again->ask.memory, ask.memory);
    again->end = PILOT_END_LOST;
    assert_int_equal(step(again, true, false, 2000), PILOT_STEP_ASK);
    again->end = PILOT_END_REFUSED;
    assert_int_equal(step(again, true, false, 2000), PILOT_STEP_REFUSE);
    again->given_back = true;
    assert_int_equal(step(again, true, false, 2000), PILOT_STEP_ASK);
    assert_int_equal(step(again, false, false, 2000), PILOT_STEP_NONE);
    const char **words = pilot_sbatch(arena, p);
    bool nodes = false, memory = false;
    assert_false(has(words, "--ntasks-per-node=1")); /* Slurm would give one node */
    for (; *words; words++) {
        nodes = nodes || strcmp(*words, "--nodes=1-2") == 0;
        memory = memory || strcmp(*words, "--mem=100M") == 0;
    }
    assert_true(nodes && memory);
    pilot_destroy(again);
    pilot_destroy(p);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_is_counted_by_the_servers_clock),
        cmocka_unit_test(one_that_slurm_queues_again_is_given_back),
        cmocka_unit_test(a_job_gets_one_at_a_time),
        cmocka_unit_test(nodes_that_do_not_fit_are_given_back),
        cmocka_unit_test(it_waits_runs_and_ends),
        cmocka_unit_test(two_witnesses_end_it),
        cmocka_unit_test(what_may_be_being_submitted_is_waited_for),
        cmocka_unit_test(one_that_is_not_taken_is_submitted_again),
        cmocka_unit_test(what_is_given_back_stays_so),
        cmocka_unit_test(its_row_is_read_back),
        cmocka_unit_test(one_of_an_account_stays_its_own),
        cmocka_unit_test(what_sbatch_is_told),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
