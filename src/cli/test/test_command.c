/* A command in the place of a job file, where no server answers: what its options make of it, what
 * a launcher's line asks for by itself, and what is refused. */
#include "cli/command.h"

#include "base/file.h"
#include "base/mem.h"
#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct cli cli;
    char dir[40];
    struct command_opts opts;
    struct command_job out;
    struct job_spec *job;
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    memcpy(w->dir, "/tmp/muster-cmd-XXXXXX", sizeof "/tmp/muster-cmd-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    w->cli = (struct cli){ .arena = arena_create(), .state_dir = w->dir };
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    int rc = file_remove_tree(w->dir, NULL);
    arena_destroy(w->cli.arena);
    free(w);
    return rc;
}

/* text: words with single blanks between. 0: w->job is what a server would read. */
static int read_as(struct world *w, const char *text, const char *name, const char *from)
{
    char *argv[32];
    struct report report;
    struct command command = { .opts = &w->opts, .name = name, .from = from, .argv = argv };
    for (const char *at = text; *at; at += *at == ' ') {
        size_t n = strcspn(at, " ");
        argv[command.argc++] = arena_strndup(w->cli.arena, at, n);
        at += n;
    }
    if (command_job(&w->cli, &command, &w->out, &w->err) < 0)
        return -1;
    report_init(&report, w->cli.arena);
    w->job = job_decode(w->cli.arena, w->out.tree, &report);
    assert_non_null(w->job);
    assert_int_equal(report.errors, 0);
    return 0;
}

static int read_line(struct world *w, const char *text)
{
    return read_as(w, text, NULL, NULL);
}

static const struct resources *asked(const struct world *w)
{
    assert_int_equal(w->job->n_roles, 1);
    return &w->job->roles[0].resources;
}

/* ---- plain commands ---- */

static void nothing_is_asked_for_that_nobody_said(void **state)
{
    struct world *w = *state;
    assert_int_equal(read_line(w, "python train.py --epochs 3"), 0);
    assert_string_equal(w->job->name, "train");
    assert_int_equal(w->job->roles[0].replicas, 1);
    assert_int_equal(asked(w)->cpu_milli, 0);
    assert_int_equal(asked(w)->gpu_milli, 0);
    assert_int_equal(asked(w)->memory, 0);
    assert_int_equal(w->job->roles[0].argv.n, 4);
    assert_int_equal(w->out.said.n, 0);
}

static void options_become_the_job(void **state)
{
    struct world *w = *state;
    w->opts = (struct command_opts){
        .replicas = "3", .cpu = "1.5", .memory = "2Gi", .gpu = "2", .image = "pytorch:2"
    };
    assert_int_equal(read_as(w, "./tests", "nightly", NULL), 0);
    assert_string_equal(w->job->name, "nightly");
    assert_int_equal(w->job->roles[0].replicas, 3);
    assert_int_equal(asked(w)->cpu_milli, 1500);
    assert_int_equal(asked(w)->gpu_milli, 2000);
    assert_true(asked(w)->memory == 2ull << 30);
    assert_string_equal(w->job->roles[0].image, "pytorch:2");
}

static void numbers_of_tasks(void **state)
{
    static const char *const wrong[] = {
        "0", "-1", "two", "1.5", "", "65537", "99999999999999999999"
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        w->opts.replicas = wrong[i];
        assert_int_equal(read_line(w, "./a"), -1);
        assert_int_equal(w->err.code, ERR_INPUT);
        assert_string_equal(
            w->err.what,
            arena_printf(w->cli.arena, "--replicas: \"%s\" is no number of tasks", wrong[i]));
        assert_string_equal(w->err.hint, arena_printf(w->cli.arena, "1 to %u", JOB_MAX_TASKS));
    }
    w->opts.replicas = arena_printf(w->cli.arena, "%u", JOB_MAX_TASKS);
    assert_int_equal(read_line(w, "./a"), 0);
    assert_int_equal(w->job->roles[0].replicas, JOB_MAX_TASKS);
}

/* --from says what a file is written in. */
static void a_format_belongs_to_a_file(void **state)
{
    struct world *w = *state;
    assert_int_equal(read_as(w, "python a.py", NULL, "dlc"), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    assert_string_equal(w->err.what, "--from belongs to a file, \"python\" is a command");
}

/* ---- lines of launchers ---- */

/* A core is what every node has. */
static void ranks_want_cores_where_nobody_says_of_devices(void **state)
{
    struct world *w = *state;
    assert_int_equal(read_line(w, "torchrun --nnodes=2 --nproc_per_node=4 train.py"), 0);
    assert_string_equal(w->job->name, "train");
    assert_int_equal(w->job->roles[0].replicas, 2);
    assert_int_equal(asked(w)->cpu_milli, 4000);
    assert_int_equal(asked(w)->gpu_milli, 0);
}

static void options_win_over_what_ranks_want(void **state)
{
    struct world *w = *state;
    w->opts.cpu = "16";
    assert_int_equal(read_line(w, "torchrun --nproc_per_node=4 train.py"), 0);
    assert_int_equal(asked(w)->cpu_milli, 16000);
    w->opts.cpu = NULL;
    w->opts.gpu = "4";
    assert_int_equal(read_line(w, "torchrun --nproc_per_node=4 train.py"), 0);
    assert_int_equal(asked(w)->gpu_milli, 4000);
    assert_int_equal(asked(w)->cpu_milli, 0); /* each rank has a device: no core is asked for it */
}

static void options_win_over_the_line(void **state)
{
    struct world *w = *state;
    assert_int_equal(read_line(w, "srun -n 2 -c 4 --mem=1G python a.py"), 0);
    assert_int_equal(w->job->roles[0].replicas, 2);
    assert_int_equal(asked(w)->cpu_milli, 4000);
    assert_true(asked(w)->memory == 1ull << 30);
    w->opts = (struct command_opts){ .cpu = "8", .memory = "3Gi" };
    assert_int_equal(read_line(w, "srun -n 2 -c 4 --mem=1G python a.py"), 0);
    assert_int_equal(asked(w)->cpu_milli, 8000);
    assert_true(asked(w)->memory == 3ull << 30);
}

/* A line of two nodes as a job of three tasks would be neither. */
static void a_line_and_an_option_that_differ(void **state)
{
    struct world *w = *state;
    w->opts.replicas = "3";
    assert_int_equal(read_line(w, "torchrun --nnodes=2 --nproc_per_node=1 train.py"), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    assert_true(*w->err.what != '\0');
}

static void a_line_that_cannot_be_a_job(void **state)
{
    struct world *w = *state;
    assert_int_equal(read_line(w, "torchrun --nnodes=many train.py"), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    assert_non_null(strstr(w->err.what, "many"));
    assert_int_equal(read_line(w, "torchrun --nproc_per_node=2"), -1); /* of which program? */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_asked_for_that_nobody_said),
        CASE(options_become_the_job),
        CASE(numbers_of_tasks),
        CASE(a_format_belongs_to_a_file),
        CASE(ranks_want_cores_where_nobody_says_of_devices),
        CASE(options_win_over_what_ranks_want),
        CASE(options_win_over_the_line),
        CASE(a_line_and_an_option_that_differ),
        CASE(a_line_that_cannot_be_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
