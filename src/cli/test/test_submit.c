/* The request that a submission makes: each option in its place and escaped, variables in the body
 * where nobody lists them, what belongs to a batch script, and how the answer is shown. */
#include "cli/submit.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/call.h"
#include "text/json.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Of no dialect: what a file says is for the server to find out. */
static const struct dialects no_dialects = { .n = 0 };
static const struct cli_host host = { .version = "9.9", .dialects = &no_dialects };

struct world {
    struct cli cli;
    char dir[64];
    struct submit_opts opts;
    struct submit_source source;
    struct call call;
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    char made[] = "/tmp/muster-submit-XXXXXX", real[PATH_MAX];
    if (!mkdtemp(made) || !realpath(made, real))
        return -1;
    snprintf(w->dir, sizeof w->dir, "%.60s", real);
    w->cli = (struct cli){ .host = &host, .arena = arena_create(), .state_dir = w->dir };
    w->source = (struct submit_source){ .route = "/v1/jobs" };
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

static void path_is(struct world *w, const char *wanted)
{
    if (submit_call(&w->cli, &w->opts, &w->source, &w->call, &w->err) < 0)
        fail_msg("%s", w->err.what);
    assert_string_equal(w->call.path, wanted);
    assert_string_equal(w->call.method, "POST");
}

static bool has(const struct world *w, const char *part)
{
    return strstr(w->call.path, part) != NULL;
}

/* ---- the path ---- */

static void each_option_has_its_place(void **state)
{
    struct world *w = *state;
    const char *sets[] = { "roles.w.replicas=2", "name=a&b c" };
    path_is(w, "/v1/jobs");
    w->opts.from = "dlc";
    w->opts.name = "a b";
    w->opts.queue = "q/1";
    w->opts.like = "12";
    w->opts.set = (struct opt_list){ .at = sets, .n = 2 };
    w->opts.wait = w->opts.apply = w->opts.replace = true;
    path_is(w, "/v1/jobs?from=dlc&name=a%20b&queue=q%2F1&like=12&set=roles.w.replicas%3D2"
               "&set=name%3Da%26b%20c&wait=1&apply=1&replace=1");
    assert_null(w->call.body);
    assert_null(w->call.type);
}

/* Where the file is and what its relative paths mean is known here alone. */
static void a_file_is_named_with_its_place(void **state)
{
    struct world *w = *state;
    char here[PATH_MAX];
    AUTO_FREE char *file = file_join(w->dir, "job.yaml");
    assert_int_equal(file_replace(file, "x", 1, 0600, &w->err), 0);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(w->dir), 0);
    w->source.file = "job.yaml";
    w->source.text = "x";
    w->source.len = 1;
    int rc = submit_call(&w->cli, &w->opts, &w->source, &w->call, &w->err);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(rc, 0);
    assert_true(has(w, "job.yaml"));
    assert_true(has(w, "&cwd="));
    assert_int_equal(strncmp(strstr(w->call.path, "file=") + 5, "%2Ftmp%2F", 9), 0);
    assert_int_equal(w->call.len, 1);
    assert_string_equal(w->call.file, "job.yaml"); /* messages call it as it was typed */
    w->source.file = "-";
    assert_int_equal(submit_call(&w->cli, &w->opts, &w->source, &w->call, &w->err), 0);
    assert_true(has(w, "?file=-&"));
}

static void a_code_directory_has_to_be_one(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *file = file_join(w->dir, "file"), *link = file_join(w->dir, "link"),
                   *none = file_join(w->dir, "none");
    assert_int_equal(file_replace(file, "x", 1, 0600, &w->err), 0);
    assert_int_equal(symlink(w->dir, link), 0);
    w->opts.code = link;
    assert_int_equal(submit_call(&w->cli, &w->opts, &w->source, &w->call, &w->err), 0);
    assert_true(has(w, "code=%2Ftmp%2Fmuster-submit-"));
    assert_false(has(w, "link")); /* the server may see another link there */
    w->opts.code = file;
    assert_int_equal(submit_call(&w->cli, &w->opts, &w->source, &w->call, &w->err), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    assert_string_equal(w->err.what,
                        arena_printf(w->cli.arena, "code directory %s is a file", file));
    w->opts.code = none;
    assert_int_equal(submit_call(&w->cli, &w->opts, &w->source, &w->call, &w->err), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    assert_non_null(strstr(w->err.what, none));
}

/* ---- variables ---- */

static void variables_are_no_part_of_the_path(void **state)
{
    struct world *w = *state;
    const char *env[] = { "TOKEN=s3cret \"x\"", "B=" };
    struct report report;
    w->opts.env.env = (struct opt_list){ .at = env, .n = 2 };
    w->source.text = "name: a\n";
    w->source.len = strlen(w->source.text);
    assert_int_equal(submit_call(&w->cli, &w->opts, &w->source, &w->call, &w->err), 0);
    assert_false(has(w, "TOKEN"));
    assert_false(has(w, "s3cret"));
    assert_string_equal(w->call.type, "application/vnd.muster.submission+json");
    report_init(&report, w->cli.arena);
    const struct text_node *sent =
        json_parse(w->cli.arena, w->call.sent, w->call.sent_len, 0, &report);
    assert_non_null(sent);
    assert_string_equal(text_get(sent, "text")->str, "name: a\n");
    const struct text_node *given = text_get(sent, "env");
    assert_int_equal(given->count, 2);
    assert_string_equal(text_get(given, "TOKEN")->str, "s3cret \"x\"");
    assert_string_equal(text_get(given, "B")->str, "");
    /* What field errors are shown of is still the file. */
    assert_string_equal(w->call.body, "name: a\n");
}

static void variables_of_a_job_again_need_no_text(void **state)
{
    struct world *w = *state;
    const char *env[] = { "A=1" };
    w->opts.env.env = (struct opt_list){ .at = env, .n = 1 };
    w->opts.like = "7";
    path_is(w, "/v1/jobs?like=7");
    assert_string_equal(w->call.sent, "{\"env\":{\"A\":\"1\"}}");
    env[0] = "A"; /* not set here */
    unsetenv("A");
    assert_int_equal(submit_call(&w->cli, &w->opts, &w->source, &w->call, &w->err), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
}

/* ---- batch scripts ---- */

static char *write_file(struct world *w, const char *name, const char *text)
{
    char *path = file_join(w->dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0700, &w->err), 0);
    const char *kept = arena_strdup(w->cli.arena, path);
    free(path);
    return (char *)(uintptr_t)kept;
}

static void words_behind_a_batch_script_are_its_own(void **state)
{
    struct world *w = *state;
    char *batch = write_file(w, "a.sh", "#!/bin/sh\n#SBATCH -n 2\nsrun hostname\n");
    char *other = write_file(w, "b.sh", "#!/bin/sh\n#SBATCH -n 1\n");
    char *plain = write_file(w, "c.sh", "#!/bin/sh\necho\n");
    char *words[] = { batch, (char *)(uintptr_t) "--epochs", (char *)(uintptr_t) "3" };
    assert_true(submit_batch(&w->cli, &w->opts, 3, words));
    assert_int_equal(w->opts.args.n, 2);
    assert_string_equal(w->opts.args.at[0], "--epochs");
    path_is(w, "/v1/jobs?set=config.sbatch.args%3D%5B%22--epochs%22%2C%223%22%5D");
    w->opts.args.n = 0;
    char *dashes[] = { batch, (char *)(uintptr_t) "--", (char *)(uintptr_t) "-x" };
    assert_true(submit_batch(&w->cli, &w->opts, 3, dashes));
    assert_int_equal(w->opts.args.n, 1);
    assert_string_equal(w->opts.args.at[0], "-x");
    w->opts.args.n = 0;
    char *both[] = { batch, other };
    assert_true(submit_batch(&w->cli, &w->opts, 2, both)); /* two jobs, no arguments */
    assert_int_equal(w->opts.args.n, 0);
    char *none[] = { plain, batch };
    assert_false(submit_batch(&w->cli, &w->opts, 2, none));
    assert_false(submit_batch(&w->cli, &w->opts, 0, none));
    assert_int_equal(w->opts.args.n, 0);
}

/* -d is --detach here; in sbatch it is --dependency. */
static void a_dependency_in_the_words_of_slurm(void **state)
{
    struct world *w = *state;
    char *after[] = { (char *)(uintptr_t) "afterok:12" };
    char *file[] = { (char *)(uintptr_t) "after.yaml" };
    assert_int_equal(submit_check(&w->opts, 1, after, &w->err), 0); /* a file may be called so */
    w->opts.detach = true;
    assert_int_equal(submit_check(&w->opts, 1, after, &w->err), -1);
    assert_string_equal(w->err.hint, "--dependency afterok:12");
    assert_int_equal(submit_check(&w->opts, 1, file, &w->err), 0);
    assert_int_equal(submit_check(&w->opts, 0, after, &w->err), 0);
}

/* ---- the answer ---- */

static const char *shown(struct world *w, const char *json)
{
    struct report report;
    char text[4096];
    AUTO_FREE char *path = file_join(w->dir, "stdout");
    report_init(&report, w->cli.arena);
    struct text_node *answer = json_parse(w->cli.arena, json, strlen(json), 0, &report);
    assert_non_null(answer);
    fflush(stdout);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), before = dup(STDOUT_FILENO);
    assert_true(fd >= 0 && before >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    submit_print(&w->cli, answer);
    fflush(stdout);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    close(before);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    close(fd);
    assert_true(n >= 0);
    text[n] = '\0';
    return arena_strdup(w->cli.arena, text);
}

static void what_was_submitted_is_one_line(void **state)
{
    struct world *w = *state;
    assert_string_equal(shown(w, "{\"number\":12,\"name\":\"ddp\",\"title\":\"openpai v1\","
                                 "\"roles\":2,\"tasks\":4,\"cpu_milli\":8000,\"gpu_milli\":500}"),
                        "12 ddp  (openpai v1)  2 roles, 4 tasks, 8 cpu, 0.5 gpu\n");
    assert_string_equal(shown(w, "{\"number\":1,\"name\":\"a\",\"from\":\"native\",\"roles\":1,"
                                 "\"tasks\":1}"),
                        "1 a  (native)  1 role, 1 task\n");
    assert_string_equal(shown(w, "{\"number\":3,\"name\":\"a\",\"roles\":1,\"tasks\":1,"
                                 "\"existing\":true}"),
                        "3 a  1 role, 1 task  (submitted before under this key)\n");
}

static void quiet_is_a_number(void **state)
{
    struct world *w = *state;
    w->cli.quiet = true;
    assert_string_equal(shown(w, "{\"number\":12,\"name\":\"ddp\",\"roles\":2,\"tasks\":4,"
                                 "\"warnings\":[{\"what\":\"x\"}]}"),
                        "12\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_option_has_its_place),
        CASE(a_file_is_named_with_its_place),
        CASE(a_code_directory_has_to_be_one),
        CASE(variables_are_no_part_of_the_path),
        CASE(variables_of_a_job_again_need_no_text),
        CASE(words_behind_a_batch_script_are_its_own),
        CASE(a_dependency_in_the_words_of_slurm),
        CASE(what_was_submitted_is_one_line),
        CASE(quiet_is_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
