/* Small texts and answers of the command line: times and sizes for people, exit statuses of states,
 * scripts as commands, names of the catalogue, where a continuous backup is. */
#include "cli/output.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/catalogue.h"
#include "cli/clock_text.h"
#include "cli/records.h"
#include "cli/script.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void moments(void **state)
{
    const uint64_t hour = 3600000, day = 24 * hour;
    const uint64_t now = 1767323045000; /* Friday 2026-01-02 03:04:05 UTC */
    const struct {
        uint64_t at;
        const char *text;
    } rows[] = {
        { now, "03:04" },
        { now + 20 * hour, "23:04" },
        { now - 3 * hour, "00:04" },
        { now + day, "Sat 03:04" },
        { now + 5 * day, "Wed 03:04" },
        { now + 6 * day, "2026-01-08 03:04" }, /* the day's name would be ambiguous soon */
        { now - day, "2026-01-01 03:04" },
    };
    char text[CLOCK_TEXT_MAX];
    (void)state;
    setenv("TZ", "UTC0", 1);
    tzset();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(clock_text(text, rows[i].at, now), rows[i].text);
    setenv("TZ", "XXX-5", 1); /* five hours east: local time counts */
    tzset();
    assert_string_equal(clock_text(text, now, now), "08:04");
    assert_string_equal(clock_text(text, now + 20 * hour, now), "Sat 04:04");
}

static void sizes_and_counts(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        { 0, "0 B" },
        { 999, "999 B" },
        { 1000, "1.0 KiB" },
        { 1536, "1.5 KiB" },
        { 10 << 10, "10 KiB" },
        { 1000 << 10, "1.0 MiB" },
        { 5ull << 30, "5.0 GiB" },
        { 3ull << 50, "3.0 PiB" },
        { 5000ull << 50, "5000 PiB" },
    };
    char text[48];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(out_size(text, rows[i].bytes), rows[i].text);
    assert_string_equal(out_count(text, 0, "task"), "0 tasks");
    assert_string_equal(out_count(text, 1, "task"), "1 task");
    assert_string_equal(out_count(text, 2, "task"), "2 tasks");
}

static struct text_node *tree(struct arena *a, const char *text)
{
    struct report report;
    report_init(&report, a);
    struct text_node *node = json_parse(a, text, strlen(text), 0, &report);
    assert_non_null(node);
    return node;
}

static void exit_statuses(void **state)
{
    static const struct {
        const char *job;
        int status;
    } rows[] = {
        { "{\"state\":\"succeeded\"}", EXIT_OK },
        { "{\"state\":\"failed\"}", EXIT_JOB_FAILED },
        { "{\"state\":\"stopped\"}", EXIT_STOPPED },
        { "{\"state\":\"stopping\",\"outcome\":\"succeeded\",\"held_until\":\"t\"}", EXIT_OK },
        { "{\"state\":\"stopping\",\"outcome\":\"stopped\",\"held_until\":\"t\"}", EXIT_STOPPED },
        { "{\"state\":\"stopping\",\"outcome\":\"succeeded\"}", EXIT_JOB_FAILED },
        { "{}", EXIT_JOB_FAILED },
    };
    struct arena *a = arena_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (out_result_status(tree(a, rows[i].job)) != rows[i].status)
            fail_msg("%s", rows[i].job);
    assert_true(out_final("failed"));
    assert_false(out_final("stopping"));
    assert_false(out_final("unheard"));
    assert_null(out_state_color("unheard"));
    arena_destroy(a);
}

/* Machines that a job waits for: what follows for people, by the state of the job. */
static void machines_that_are_away(void **state)
{
    static const char since[] = "\"node\":\"gpu2\",\"since_ms\":1767323045000,"
                                "\"since\":\"2026-01-02T03:04:05Z\"";
    static const struct {
        const char *more, *state, *text;
    } rows[] = {
        { "\"tasks\":1,\"left\":true", "running",
          "the others go on without it, and take it in when it is back" },
        { "\"tasks\":2,\"left\":false", "running", "with 2 tasks: the job waits for it; " },
        { "\"tasks\":1,\"left\":true", "stopping", "with 1 task: it ends when that is back; " },
        { "\"tasks\":1,\"left\":false", "restarting", "it begins anew when that is back; " },
        { "\"tasks\":0,\"left\":false,\"tried\":\"its fence failed\"", "running",
          "nodes rm --force); its fence failed" },
    };
    struct arena *a = arena_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *json = arena_printf(a, "{%s,%s}", since, rows[i].more);
        const char *said = out_away(a, tree(a, json), rows[i].state);
        assert_memory_equal(said, "gpu2, silent since ", 19);
        if (!strstr(said, rows[i].text))
            fail_msg("%s", said);
    }
    arena_destroy(a);
}

/* ---- scripts ---- */

static void scripts(void **state)
{
    static const struct {
        const char *name, *text, *words[3]; /* words in front of the script */
    } rows[] = {
        { "a.py", "#!/usr/bin/env pypy\n", { "python3" } }, /* the job's own Python */
        { "a.sh", "#!/bin/bash\n", { "/bin/bash" } },
        { "b.sh", "#! /usr/bin/env bash \r\n", { "/usr/bin/env", "bash" } },
        { "c.sh",
          "#!/bin/bash -e -u\n",
          { "/bin/bash", "-e -u" } }, /* one argument, as the kernel */
        { "d.sh", "echo hello\n", { "/bin/sh" } },
        { "e.sh", "#!\n", { "/bin/sh" } },
        { "f.sh", "", { "/bin/sh" } },
    };
    char dir[] = "/tmp/muster-script-XXXXXX", extra[] = "--epochs";
    struct arena *a = arena_create();
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *path = arena_printf(a, "%s/%s", dir, rows[i].name);
        char *argv[] = { path, extra, NULL };
        int argc = 2, n = 0;
        assert_false(script_is(path)); /* not there yet */
        assert_int_equal(file_replace(path, rows[i].text, strlen(rows[i].text), 0600, &err), 0);
        assert_true(script_is(path));
        char **command = script_command(a, &argc, argv);
        for (; n < 3 && rows[i].words[n]; n++)
            assert_string_equal(command[n], rows[i].words[n]);
        assert_int_equal(argc, n + 2);
        assert_string_equal(command[n], path);
        assert_string_equal(command[n + 1], extra);
    }
    const char *batch = arena_printf(a, "%s/g.sh", dir);
    assert_int_equal(file_replace(batch, "#!/bin/sh\n#SBATCH -N2\nsrun x\n", 28, 0600, &err), 0);
    assert_true(script_is_batch(batch));
    assert_false(script_is(batch)); /* a job file */
    assert_false(script_is_batch(arena_printf(a, "%s/d.sh", dir)));
    assert_false(script_is_batch(dir));
    assert_false(script_is(dir));
    assert_false(script_is(arena_printf(a, "%s/a.txt", dir)));
    assert_int_equal(file_remove_tree(dir, &err), 0);
    arena_destroy(a);
}

/* ---- names, backups ---- */

static void names_of_the_catalogue(void **state)
{
    static const struct {
        const char *word, *path; /* NULL: it is none */
    } rows[] = {
        { "dataset/d-digits", "/v1/catalogue/datasets/d-digits" },
        { "quota/a b", "/v1/catalogue/quotas/a%20b" },
        { "dataset/", NULL },
        { "dataset", NULL },
        { "moon/x", NULL },
        { "/x", NULL },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf path = BUF_INIT(1000);
        assert_int_equal(catalogue_path(rows[i].word, &path), rows[i].path != NULL);
        if (rows[i].path)
            assert_string_equal(buf_str(&path), rows[i].path);
    }
}

static void texts_that_declare(void **state)
{
    static const char dataset[] = "kind: dataset\nname: d\nuri: /d\n",
                      job[] = "name: j\nroles: {w: {run: \"true\"}}\n";
    struct cli cli = { .arena = arena_create() };
    (void)state;
    assert_true(catalogue_text(&cli, dataset, sizeof dataset - 1));
    assert_false(catalogue_text(&cli, job, sizeof job - 1));
    assert_false(catalogue_text(&cli, "", 0));
    arena_destroy(cli.arena);
}

static void where_a_backup_is(void **state)
{
    static const struct {
        const char *backup, *words;
    } rows[] = {
        { "{\"to\":\"/b\"}", "/b: nothing is there yet" },
        { "{\"to\":\"/b\",\"shipped\":{\"event\":7}}", "/b: events to 7, nothing is lacking" },
        { "{\"to\":\"/b\",\"shipped\":{\"event\":7},\"chain\":2,\"segment\":5}",
          "/b: events to 7 (chain 2, segment 5), nothing is lacking" },
        { "{\"to\":\"/b\",\"shipped\":{\"event\":7},\"lacks\":{\"seconds\":60,\"events\":1}}",
          "/b: events to 7, the last 1m (1 event) are lacking" },
    };
    struct cli cli = { .arena = arena_create() };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(records_shipped(&cli, tree(cli.arena, rows[i].backup)), rows[i].words);
    arena_destroy(cli.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments),
        cmocka_unit_test(sizes_and_counts),
        cmocka_unit_test(exit_statuses),
        cmocka_unit_test(machines_that_are_away),
        cmocka_unit_test(scripts),
        cmocka_unit_test(names_of_the_catalogue),
        cmocka_unit_test(texts_that_declare),
        cmocka_unit_test(where_a_backup_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
