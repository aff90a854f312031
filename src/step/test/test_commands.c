/* What sbatch makes of a script and its command line, and how squeue writes times. The rest is
 * tried with a server, by a script of a job (tests/test_sbatch_run.py). */
#include "base/file.h"
#include "base/mem.h"
#include "step/ask.h"
#include "step/commands.h"
#include "text/json.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_insert(void **state)
{
    char time[] = "-t", ten[] = "10", comment[] = "--comment=a \"b\"";
    char *const words[] = { time, ten, comment };
    static const struct {
        const char *script, *result;
        size_t n;
    } rows[] = {
        { "#!/bin/sh\n#SBATCH -N2\n\nsrun x\n",
          "#!/bin/sh\n#SBATCH -N2\n\n#SBATCH \"-t\" \"10\" \"--comment=a \\\"b\\\"\"\nsrun x\n",
          3 },
        { "#!/bin/sh\nsrun x\n", "#!/bin/sh\n#SBATCH \"-t\" \"10\"\nsrun x\n", 2 },
        { "#!/bin/sh", "#!/bin/sh\n#SBATCH \"-t\" \"10\"\n", 2 },
        { "#!/bin/sh\nsrun x\n", "#!/bin/sh\nsrun x\n", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        sbatch_insert(&out, rows[i].script, words, rows[i].n);
        assert_string_equal(buf_str(&out), rows[i].result);
    }
}

/* Option lines end at the first command, also for those that are added. */
static void test_insert_where_options_end(void **state)
{
    char wrap[] = "--job-name=x", path[] = "--output=a\\b";
    char *const words[] = { wrap, path };
    static const struct {
        const char *script, *result;
        size_t n;
    } rows[] = {
        { "#!/bin/bash -l\n# a word\n#SBATCH -n4\n#SBATCH -t5\n",
          "#!/bin/bash -l\n# a word\n#SBATCH -n4\n#SBATCH -t5\n#SBATCH \"--job-name=x\"\n", 1 },
        { "#!/usr/bin/env python3\n\n\n#SBATCH -n4\n\nimport os\n",
          "#!/usr/bin/env python3\n\n\n#SBATCH -n4\n\n#SBATCH \"--job-name=x\"\nimport os\n", 1 },
        { "#!/bin/sh\n##SBATCH -n4\n#PBS -l nodes=2\nhostname\n",
          "#!/bin/sh\n##SBATCH -n4\n#PBS -l nodes=2\n#SBATCH \"--job-name=x\"\nhostname\n", 1 },
        { "#!/bin/sh\nset -e\n#SBATCH -n9\n",
          "#!/bin/sh\n#SBATCH \"--job-name=x\"\nset -e\n#SBATCH -n9\n", 1 },
        { "#!/bin/sh\ntrue", "#!/bin/sh\n#SBATCH \"--job-name=x\" \"--output=a\\\\b\"\ntrue", 2 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        sbatch_insert(&out, rows[i].script, words, rows[i].n);
        assert_string_equal(buf_str(&out), rows[i].result);
        assert_false(out.overflow);
    }
}

static void test_nothing_to_insert(void **state)
{
    static const char *const scripts[] = { "#!/bin/sh\n", "#!/bin/sh\n#SBATCH -N1\ntrue\n" };
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        sbatch_insert(&out, scripts[i], NULL, 0);
        assert_string_equal(buf_str(&out), scripts[i]);
    }
}

static void test_name(void **state)
{
    static const struct {
        const char *script;
        bool named;
    } rows[] = { { "#!/bin/sh\n#SBATCH -n1 -J x\ntrue\n", true },
                 { "#!/bin/sh\n#SBATCH \"--job-name=x\"\ntrue\n", true },
                 { "#!/bin/sh\n#SBATCH -n1\ntar -J x\n", false },
                 { "#!/bin/sh\n# -J x\n#SBATCH --comment=a-J\ntrue\n", false },
                 { "#!/bin/sh\ntrue\n#SBATCH -J x\n", false } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(sbatch_names_job(rows[i].script), rows[i].named);
}

static void test_formats(void **state)
{
    static const struct {
        const char *format, *line;
    } rows[] = { { "%i", "JOBID\n" },  { "%.7i|%-3t", "  JOBID|ST\n" },
                 { "%3j|", "NAM|\n" }, { "a%", "a%\n" },
                 { "a%1", "a\n" },     { "%.", "\n" },
                 { "%.18", "\n" },     { "", "\n" } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUF struct buf out = BUF_INIT(4096);
        char *format = strdup(rows[i].format); /* nothing behind its end may be read */
        squeue_line(&out, format, NULL);
        if (strcmp(buf_str(&out), rows[i].line) != 0)
            fail_msg("%s: '%s'", format, buf_str(&out));
        free(format);
    }
}

static void test_states(void **state)
{
    (void)state;
    assert_true(squeue_lists("all", "failed"));
    assert_true(squeue_lists("PD,R", "running"));
    assert_true(squeue_lists("pending", "queued"));
    assert_true(squeue_lists("CD,completed", "succeeded"));
    assert_false(squeue_lists("PD", "running"));
    assert_false(squeue_lists("RU", "running"));
    assert_false(squeue_lists("", "running"));
    assert_true(squeue_knows("pd,RUNNING,TO") && squeue_knows("all"));
    assert_false(squeue_knows("PD,nonsense") || squeue_knows("") || squeue_knows("R,"));
}

static void test_times(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } rows[] = { { 0, "0:00" }, { 65, "1:05" }, { 3600, "1:00:00" }, { 90061, "1-01:01:01" } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUF struct buf out = BUF_INIT(64);
        squeue_time(&out, rows[i].seconds);
        assert_string_equal(buf_str(&out), rows[i].text);
    }
}

static void test_queries(void **state)
{
    AUTO_BUF struct buf path = BUF_INIT(256);
    (void)state;
    buf_puts(&path, "/v1/jobs/");
    ask_escape(&path, "3[4]");
    ask_query(&path, "set", "a=[\"b c\"]");
    ask_query(&path, "none", NULL);
    ask_query(&path, "cwd", "/tmp/x&y");
    assert_string_equal(buf_str(&path),
                        "/v1/jobs/3%5B4%5D?set=a%3D%5B%22b%20c%22%5D&cwd=%2Ftmp%2Fx%26y");
}

static void test_where_the_server_is(void **state)
{
    (void)state;
    unsetenv("MUSTER_SERVER");
    assert_false(ask_is_elsewhere());
    setenv("MUSTER_SERVER", "unix:/run/muster/sock", 1);
    assert_false(ask_is_elsewhere());
    setenv("MUSTER_SERVER", "unix:/tmp/muster-0/agent/http.sock", 1);
    assert_true(ask_is_elsewhere());
    setenv("MUSTER_SERVER", "http://example.org:6878", 1);
    assert_false(ask_is_elsewhere());
}

/* A server of one answer; what it was asked goes to `asked`. */
static pid_t serve(const char *path, const char *answer, const char *asked)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1), 0);
    pid_t pid = fork();
    if (pid != 0) {
        close(fd);
        return pid;
    }
    char text[4096];
    size_t len = 0;
    int one = accept(fd, NULL, NULL), file = open(asked, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t n = 1; n > 0 && !memmem(text, len, "the body", 8); len += (size_t)n)
        n = read(one, text + len, sizeof text - len);
    (void)!write(file, text, len);
    (void)!write(one, answer, strlen(answer));
    _exit(0);
}

static void test_answers(void **state)
{
    static const struct {
        const char *answer;
        bool good;
    } rows[] = { { "HTTP/1.0 201 Created\r\nX: y\r\n\r\n{\"number\": 7}", true },
                 { "HTTP/1.1 200 OK\r\n\r\n{\"number\": 7}", true },
                 { "HTTP/1.0 422 No\r\n\r\n{\"detail\": \"no\", \"hint\": \"yes\"}", false },
                 { "HTTP/1.0 200 OK\r\n\r\n{\"number\":", false },
                 { "HTTP/1.0 200", false },
                 { "", false } };
    char dir[] = "/tmp/muster-ask-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *path = mem_printf("%s/s", dir), *asked = mem_printf("%s/asked", dir);
    AUTO_FREE char *server = mem_printf("unix:%s", path);
    setenv("MUSTER_SERVER", server, 1);
    setenv("MUSTER_JOB_TOKEN", "of-the-job", 1);
    unsetenv("MUSTER_TOKEN");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *text = NULL;
        size_t len;
        struct arena *a = arena_create();
        pid_t pid = serve(path, rows[i].answer, asked);
        const struct text_node *said = ask_server(
            "sbatch", a,
            &(struct ask){ .method = "POST", .path = "/v1/jobs", .body = "the body", .len = 8 });
        assert_int_equal(said != NULL, rows[i].good);
        if (said)
            assert_int_equal(text_number(said, "number"), 7);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(file_read(asked, 4096, &text, &len, NULL), 0);
        assert_non_null(strstr(text, "POST /v1/jobs HTTP/1.0\r\n"));
        assert_non_null(strstr(text, "Authorization: Bearer of-the-job\r\n"));
        assert_non_null(strstr(text, "Content-Length: 8\r\n\r\nthe body"));
        unlink(path);
        arena_destroy(a);
    }
    assert_int_equal(file_remove_tree(dir, NULL), 0);
    struct arena *a = arena_create();
    unsigned status = 7;
    assert_null(ask_server("sbatch", a, &(struct ask){ .method = "GET", .path = "/" }));
    assert_null(
        ask_server("sbatch", a, &(struct ask){ .method = "GET", .path = "/", .status = &status }));
    assert_int_equal(status, 0);
    arena_destroy(a);
}

/* What sbatch --wait ends with; nothing of a job that has not ended. */
static void test_codes(void **state)
{
#define TRIED(attempts) ", \"task_list\": [{ \"attempts\": [" attempts "] }, { \"attempts\": [] }]}"
    static const struct {
        const char *job;
        int code;
    } rows[] = {
        { "{\"state\": \"running\"" TRIED("{}"), -1 },
        { "{\"state\": \"restarting\"" TRIED("{\"exit_code\": 3}"), -1 },
        { "{\"state\": \"succeeded\"" TRIED("{\"exit_code\": 0}"), 0 },
        { "{\"state\": \"failed\"" TRIED("{\"exit_code\": 3}, {\"exit_code\": 7}"), 7 },
        { "{\"state\": \"failed\"" TRIED("{}"), 1 }, /* a signal */
        { "{\"state\": \"failed\"" TRIED("{\"exit_code\": 999}"), 1 },
        { "{\"state\": \"failed\"" TRIED(""), 1 },
        { "{\"state\": \"stopped\"" TRIED(""), 0 },
        { "{\"state\": \"stopped\"}", 0 },
        { "{\"state\": \"stopped\"" TRIED("{\"exit_code\": 143}"), 143 },
    };
#undef TRIED
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *a = arena_create();
        struct report report;
        report_init(&report, a);
        const struct text_node *job =
            json_parse(a, rows[i].job, strlen(rows[i].job), JSON_ANSWER, &report);
        assert_non_null(job);
        assert_int_equal(sbatch_code(job), rows[i].code);
        arena_destroy(a);
    }
    assert_true(sbatch_waits("#!/bin/sh\n#SBATCH -n1 --wait\ntrue\n"));
    assert_true(sbatch_waits("#!/bin/sh\n#SBATCH -W\n"));
    assert_false(sbatch_waits("#!/bin/sh\n#SBATCH --wait-all-nodes=1\n"));
    assert_false(sbatch_waits("#!/bin/sh\n#SBATCH -n1\nsrun --wait 3 true\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_insert),
                                        cmocka_unit_test(test_nothing_to_insert),
                                        cmocka_unit_test(test_insert_where_options_end),
                                        cmocka_unit_test(test_name),
                                        cmocka_unit_test(test_codes),
                                        cmocka_unit_test(test_times),
                                        cmocka_unit_test(test_formats),
                                        cmocka_unit_test(test_states),
                                        cmocka_unit_test(test_queries),
                                        cmocka_unit_test(test_where_the_server_is),
                                        cmocka_unit_test(test_answers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
