/* Every field and every rule of a v1 configuration: what is accepted, what is refused and with
 * which words. */
#include "dialect/openpai/v1.h"

#include "dialect/openpai/test/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ROLE(fields)    "{\"name\": \"main\", \"command\": \"true\"" fields "}"
#define JOB(top, roles) "{\"jobName\": \"j\", \"image\": \"i\", \"taskRoles\": [" roles "]" top "}"
#define TOP(fields)     JOB(fields, ROLE(""))
#define ONE(fields)     JOB("", ROLE(fields))

static int setup(void **state)
{
    *state = arena_create();
    return 0;
}

static int teardown(void **state)
{
    arena_destroy(*state);
    return 0;
}

static const struct problem *find(const struct report *r, enum severity severity, const char *path)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].severity == severity && strcmp(r->at[i].path, path) == 0)
            return &r->at[i];
    return NULL;
}

static struct v1_job *decode(struct arena *arena, const char *text, struct report *report)
{
    report_init(report, arena);
    struct text_node *root = sample_tree(arena, text, report);
    assert_non_null(root);
    return v1_decode(arena, root, &sample_site, report);
}

struct refusal {
    const char *text, *path, *what, *hint;
};

static const struct refusal refusals[] = {
    /* required */
    { .text = "{}", .path = "jobName", .what = "jobName is missing" },
    { .text = "{}", .path = "image", .what = "image is missing" },
    { .text = "{}", .path = "taskRoles", .what = "taskRoles is missing" },
    { .text = JOB("", "{\"command\": \"true\"}"),
      .path = "taskRoles[0].name",
      .what = "taskRoles[0].name is missing",
      .hint = "\"name\": \"worker\"" },
    { .text = JOB("", "{\"name\": \"a\"}"),
      .path = "taskRoles[0].command",
      .what = "taskRoles[0].command is missing",
      .hint = "\"command\": \"python train.py\"" },
    { .text = ONE(", \"portList\": [{}]"),
      .path = "taskRoles[0].portList[0].label",
      .what = "taskRoles[0].portList[0].label is missing" },
    /* the table of exact texts of the reference */
    { .text = "{\"jobName\": \"a b\", \"image\": \"i\", \"taskRoles\": []}",
      .path = "jobName",
      .what = "jobName is \"a b\", which has a character that is not allowed",
      .hint = "letters, digits and . _ ~ -, at most 128 of them, without .." },
    { .text = TOP(", \"foo\": 1"), .path = "foo", .what = "unknown field \"foo\"" },
    { .text = "{\"jobName\": \"j\", \"image\": \"\", \"taskRoles\": []}",
      .path = "image",
      .what = "image is empty" },
    { .text = "{\"jobName\": \"j\", \"image\": \"\", \"taskRoles\": []}",
      .path = "taskRoles",
      .what = "taskRoles is empty" },
    { .text = ONE(", \"taskNumber\": 1.5"),
      .path = "taskRoles[0].taskNumber",
      .what = "taskRoles[0].taskNumber is 1.5, not a whole number",
      .hint = "a whole number, 1 or more (tasks of this role)" },
    { .text = ONE(", \"shmMB\": 200, \"memoryMB\": 100"),
      .path = "taskRoles[0].shmMB",
      .what = "taskRoles[0].shmMB is 200, more than the memoryMB of 100",
      .hint = "100 or less: shared memory is part of the task's memory" },
    { .text = ONE(", \"minFailedTaskCount\": 0"),
      .path = "taskRoles[0].minFailedTaskCount",
      .what = "taskRoles[0].minFailedTaskCount is 0, the least is 1",
      .hint = "1 or more (failed tasks that fail the job; null: never)" },
    { .text = TOP(", \"retryCount\": -3"),
      .path = "retryCount",
      .what = "retryCount is -3, the least is -2" },
    { .text = TOP(", \"gpuType\": null"),
      .path = "gpuType",
      .what = "gpuType is null, not a text",
      .hint = "a text in quotes" },
    { .text = TOP(", \"extras\": {\"--\": 1}"),
      .path = "extras",
      .what = "extras has the key \"--\", which is not allowed" },
    /* minimums and maximums */
    { .text = ONE(", \"memoryMB\": 64"),
      .path = "taskRoles[0].memoryMB",
      .what = "taskRoles[0].memoryMB is 64, the least is 100",
      .hint = "100 or more (MB for one task)" },
    { .text = ONE(", \"memoryMB\": 1e30"),
      .path = "taskRoles[0].memoryMB",
      .what = "taskRoles[0].memoryMB is 1e30, the most is 1073741824" },
    { .text = ONE(", \"taskNumber\": 0"),
      .path = "taskRoles[0].taskNumber",
      .what = "taskRoles[0].taskNumber is 0, the least is 1" },
    { .text = ONE(", \"taskNumber\": \"-1\""),
      .path = "taskRoles[0].taskNumber",
      .what = "taskRoles[0].taskNumber is \"-1\", the least is 1" },
    { .text = ONE(", \"taskNumber\": 65537"),
      .path = "taskRoles[0].taskNumber",
      .what = "taskRoles[0].taskNumber is 65537, the most is 65536" },
    { .text = ONE(", \"cpuNumber\": 0"),
      .path = "taskRoles[0].cpuNumber",
      .what = "taskRoles[0].cpuNumber is 0, the least is 1" },
    { .text = ONE(", \"gpuNumber\": -1"),
      .path = "taskRoles[0].gpuNumber",
      .what = "taskRoles[0].gpuNumber is -1, the least is 0" },
    { .text = ONE(", \"shmMB\": -1"),
      .path = "taskRoles[0].shmMB",
      .what = "taskRoles[0].shmMB is -1, the least is 0" },
    { .text = ONE(", \"minSucceededTaskCount\": 0"),
      .path = "taskRoles[0].minSucceededTaskCount",
      .what = "taskRoles[0].minSucceededTaskCount is 0, the least is 1" },
    { .text = ONE(", \"portList\": [{\"label\": \"a\", \"portNumber\": 0}]"),
      .path = "taskRoles[0].portList[0].portNumber",
      .what = "taskRoles[0].portList[0].portNumber is 0, the least is 1" },
    /* types */
    { .text = "[]", .path = "", .what = "the document is a list, not an object" },
    { .text = TOP(", \"dataDir\": 5"), .path = "dataDir", .what = "dataDir is 5, not a text" },
    { .text = TOP(", \"retryCount\": \"x\""),
      .path = "retryCount",
      .what = "retryCount is \"x\", not a whole number" },
    { .text = TOP(", \"retryCount\": \"\""),
      .path = "retryCount",
      .what = "retryCount is \"\", not a whole number" },
    { .text = TOP(", \"jobEnvs\": []"),
      .path = "jobEnvs",
      .what = "jobEnvs is a list, not an object",
      .hint = "an object: {\"BATCH\": 32}" },
    { .text = JOB("", "3"), .path = "taskRoles[0]", .what = "taskRoles[0] is 3, not an object" },
    { .text = ONE(", \"portList\": {}"),
      .path = "taskRoles[0].portList",
      .what = "taskRoles[0].portList is a map, not a list" },
    /* names */
    { .text = "{\"jobName\": \"../x\", \"image\": \"i\", \"taskRoles\": [" ROLE("") "]}",
      .path = "jobName",
      .what = "jobName is \"../x\", which has a character that is not allowed" },
    { .text = "{\"jobName\": \"a..b\", \"image\": \"i\", \"taskRoles\": [" ROLE("") "]}",
      .path = "jobName",
      .what = "jobName is \"a..b\", which reads as a directory" },
    { .text = "{\"jobName\": \"-x\", \"image\": \"i\", \"taskRoles\": [" ROLE("") "]}",
      .path = "jobName",
      .what = "jobName is \"-x\", which reads as an option" },
    { .text = JOB("", ROLE("") "," ROLE("")),
      .path = "taskRoles[1].name",
      .what = "taskRoles[1].name is \"main\", as taskRoles[0].name is already",
      .hint = "another name, or a larger taskNumber in taskRoles[0]" },
    /* between fields */
    { .text = ONE(", \"minFailedTaskCount\": 2"),
      .path = "taskRoles[0].minFailedTaskCount",
      .what = "taskRoles[0].minFailedTaskCount is 2, more than the taskNumber of 1",
      .hint = "1 or less, or null" },
    { .text = ONE(", \"taskNumber\": 3, \"minSucceededTaskCount\": 4"),
      .path = "taskRoles[0].minSucceededTaskCount",
      .what = "taskRoles[0].minSucceededTaskCount is 4, more than the taskNumber of 3" },
    { .text = JOB("", "{\"name\": \"a\", \"command\": \"true\", \"taskNumber\": 65536},"
                      "{\"name\": \"b\", \"command\": \"true\"}"),
      .path = "taskRoles",
      .what = "taskRoles has 65537 tasks in all, the most is 65536" },
    /* ports */
    { .text = ONE(", \"portList\": [{\"label\": \"a\", \"beginAt\": 65530, \"portNumber\": 10}]"),
      .path = "taskRoles[0].portList[0].beginAt",
      .what =
          "taskRoles[0].portList[0].beginAt is 65530: ports 65530 to 65539 are not within 1024 to "
          "65535",
      .hint = "0 for any free ports, or a first port from 1024 to 65526" },
    { .text = ONE(", \"portList\": [{\"label\": \"a\", \"beginAt\": 80}]"),
      .path = "taskRoles[0].portList[0].beginAt",
      .what =
          "taskRoles[0].portList[0].beginAt is 80: ports 80 to 80 are not within 1024 to 65535" },
    { .text = ONE(", \"portList\": [{\"label\": \"a\"}, {\"label\": \"a\"}]"),
      .path = "taskRoles[0].portList[1].label",
      .what =
          "taskRoles[0].portList[1].label is \"a\", as taskRoles[0].portList[0].label is already" },
    { .text = ONE(", \"portList\": [{\"label\": \"a\", \"beginAt\": 8000, \"portNumber\": 5},"
                  "{\"label\": \"b\", \"beginAt\": 8004}]"),
      .path = "taskRoles[0].portList[1].beginAt",
      .what = "taskRoles[0].portList[1].beginAt is 8004: its ports overlap those of "
              "taskRoles[0].portList[0]",
      .hint = "8005 or more, or 0 for any free ports" },
    /* unknown inside */
    { .text = ONE(", \"gpus\": 1"), .path = "taskRoles[0].gpus", .what = "unknown field \"gpus\"" },
    { .text = ONE(", \"portList\": [{\"label\": \"a\", \"count\": 1}]"),
      .path = "taskRoles[0].portList[0].count",
      .what = "unknown field \"count\"" },
    /* environment names */
    { .text = TOP(", \"jobEnvs\": {\"-\": 1}"),
      .path = "jobEnvs.-",
      .what = "jobEnvs has the name \"-\", which no environment can hold" },
    { .text = TOP(", \"jobEnvs\": {\"A=B\": 1}"),
      .path = "jobEnvs.A=B",
      .what = "jobEnvs has the name \"A=B\", which no environment can hold" },
};

static void test_refusals(void **state)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *row = &refusals[i];
        struct report report;
        decode(*state, row->text, &report);
        assert_false(report_ok(&report));
        const struct problem *p = find(&report, SEVERITY_ERROR, row->path);
        if (!p)
            fail_msg("%s: no error at \"%s\"", row->text, row->path);
        assert_string_equal(p ? p->what : "", row->what);
        if (p && row->hint)
            assert_string_equal(p->hint, row->hint);
        assert_int_not_equal(p ? p->place.line : 0, 0);
        arena_reset(*state);
    }
}

static void test_defaults(void **state)
{
    struct report report;
    struct v1_job *job = decode(*state, ONE(""), &report);
    assert_true(report_ok(&report));
    const struct v1_role *role = job->roles.at;
    assert_int_equal(job->roles.n, 1);
    assert_int_equal(role->tasks, 1);
    assert_int_equal(role->cpu, 1);
    assert_int_equal(role->memory_mb, 100);
    assert_int_equal(role->shm_mb, 64);
    assert_int_equal(role->gpu, 0);
    assert_int_equal(role->ports.n, 0);
    assert_false(role->min_failed.null);
    assert_int_equal(role->min_failed.n, 1);
    assert_true(role->min_succeeded.null);
    assert_int_equal(job->retry, 0);
    assert_string_equal(job->queue, "");
    assert_null(job->envs);
    assert_int_equal(report.warnings, 0);
}

static void test_numbers_as_text(void **state)
{
    struct report report;
    struct v1_job *job = decode(*state,
                                ONE(", \"taskNumber\": \"2\", \"cpuNumber\": 4.0, \"memoryMB\": "
                                    "\"2e3\", \"minSucceededTaskCount\": \"2\", "
                                    "\"minFailedTaskCount\": null"),
                                &report);
    assert_true(report_ok(&report));
    const struct v1_role *role = job->roles.at;
    assert_int_equal(role->tasks, 2);
    assert_int_equal(role->cpu, 4);
    assert_int_equal(role->memory_mb, 2000);
    assert_int_equal(role->min_succeeded.n, 2);
    assert_true(role->min_failed.null);
}

static void test_empty_texts_are_absent(void **state)
{
    struct report report;
    decode(*state,
           TOP(", \"authFile\": \"\", \"dataDir\": \"\", \"outputDir\": \"\", \"codeDir\": \"\", "
               "\"virtualCluster\": \"\", \"gpuType\": \"\", \"jobEnvs\": {}, \"extras\": {}"),
           &report);
    assert_true(report_ok(&report));
    assert_int_equal(report.warnings, 0);
}

static void test_all_problems_at_once(void **state)
{
    struct report report;
    decode(*state,
           "{\"jobName\": \"a b\", \"image\": \"\", \"retryCount\": -9,\n"
           " \"taskRoles\": [{\"name\": \"a/b\", \"taskNumber\": \"two\", \"comand\": \"x\"}]}",
           &report);
    /* name, image, retry, role name, number, unknown; not that command is missing: it is there,
     * misspelt */
    assert_int_equal(report.errors, 6);
    const struct problem *p = find(&report, SEVERITY_ERROR, "taskRoles[0].taskNumber");
    assert_non_null(p);
    assert_int_equal(p->place.line, 2);
}

static void test_a_wrong_field_does_not_cascade(void **state)
{
    struct report report;
    decode(*state, ONE(", \"taskNumber\": \"two\", \"minFailedTaskCount\": 2"), &report);
    assert_int_equal(report.errors, 1);
}

static void test_fix(void **state)
{
    struct report report;
    const char *text = JOB("", "{\"name\": \"a\", \"comand\": \"x\"}");
    decode(*state, text, &report);
    const struct problem *p = find(&report, SEVERITY_ERROR, "taskRoles[0].comand");
    assert_non_null(p);
    assert_string_equal(p->hint, "\"command\"?");
    assert_string_equal(p->fix, "\"command\"");
    assert_memory_equal(text + p->place.offset, "\"comand\"", p->place.len);
    /* the right key is there already: renaming would double it */
    decode(*state, ONE(", \"comand\": \"x\""), &report);
    p = find(&report, SEVERITY_ERROR, "taskRoles[0].comand");
    assert_non_null(p);
    assert_null(p->fix);
}

static void test_warnings(void **state)
{
    struct report report;
    decode(*state,
           TOP(", \"killAllOnCompletedTaskNumber\": 1, \"jobEnvs\": {\"isDebug\": \"true\", "
               "\"paiAzRDMA\": true, \"o\": {\"a\": 1}}"),
           &report);
    assert_true(report_ok(&report));
    assert_int_equal(report.warnings, 4);
    assert_string_equal(find(&report, SEVERITY_WARNING, "killAllOnCompletedTaskNumber")->what,
                        "killAllOnCompletedTaskNumber has been obsoleted, please use "
                        "minFailedTaskCount and minSucceededTaskCount instead.");
    assert_string_equal(find(&report, SEVERITY_WARNING, "jobEnvs.isDebug")->fix, "true");
    assert_non_null(
        strstr(find(&report, SEVERITY_WARNING, "jobEnvs.paiAzRDMA")->what, "InfiniBand devices"));
    assert_string_equal(find(&report, SEVERITY_WARNING, "jobEnvs.o")->what,
                        "jobEnvs.o is a map, its JSON text is used");
}

/* The earliest releases took it in names of roles. */
static void test_dash(void **state)
{
    struct report report;
    decode(*state, JOB("", "{\"name\": \"ps-server\", \"command\": \"true\"}"), &report);
    const struct problem *p = find(&report, SEVERITY_WARNING, "taskRoles[0].name");
    assert_true(report_ok(&report));
    assert_non_null(p);
    assert_string_equal(p->fix, "\"ps_server\"");
    decode(*state, JOB("", "{\"name\": \"-x\", \"command\": \"true\"}"), &report);
    assert_non_null(find(&report, SEVERITY_ERROR, "taskRoles[0].name"));
}

static void test_tilde(void **state)
{
    static const struct {
        const char *name;
        size_t warnings;
    } rows[] = {
        { .name = "ada~x", .warnings = 0 },
        { .name = "bob~x", .warnings = 1 },
        { .name = "~x", .warnings = 0 },
        { .name = "x~", .warnings = 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct report report;
        decode(*state,
               arena_printf(
                   *state, "{\"jobName\": \"%s\", \"image\": \"i\", \"taskRoles\": [" ROLE("") "]}",
                   rows[i].name),
               &report);
        assert_true(report_ok(&report));
        assert_int_equal(report.warnings, rows[i].warnings);
    }
}

static void test_many_ports(void **state)
{
    struct report report;
    struct arena *arena = *state;
    const char *list = "{\"label\": \"p0\"}";
    for (int i = 1; i < PORT_MAX_LABELS - 1; i++)
        list = arena_printf(arena, "%s,{\"label\": \"p%d\"}", list, i);
    decode(arena,
           arena_printf(arena,
                        "{\"jobName\": \"j\", \"image\": \"i\", \"taskRoles\": [{\"name\": \"a\", "
                        "\"command\": \"x\", \"portList\": [%s]}]}",
                        list),
           &report);
    const struct problem *p = find(&report, SEVERITY_ERROR, "taskRoles[0].portList");
    assert_non_null(p);
    assert_string_equal(p->what, "taskRoles[0].portList has 63 labels, the most is 62");
}

static void test_detect(void **state)
{
    static const struct {
        const char *text;
        int sure;
    } rows[] = {
        { .text = TOP(""), .sure = 100 },
        { .text = "{\"jobName\": \"x\", \"taskRole\": []}", .sure = 50 },
        { .text = "{\"protocolVersion\": 2, \"name\": \"x\", \"taskRoles\": {}}", .sure = 0 },
        { .text = "{\"name\": \"x\", \"run\": \"true\"}", .sure = 0 },
        { .text = "[]", .sure = 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct report report;
        report_init(&report, *state);
        assert_int_equal(v1_detect(sample_tree(*state, rows[i].text, &report)), rows[i].sure);
    }
    assert_int_equal(v1_detect(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_numbers_as_text),
        cmocka_unit_test(test_empty_texts_are_absent),
        cmocka_unit_test(test_all_problems_at_once),
        cmocka_unit_test(test_a_wrong_field_does_not_cascade),
        cmocka_unit_test(test_fix),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_dash),
        cmocka_unit_test(test_tilde),
        cmocka_unit_test(test_many_ports),
        cmocka_unit_test(test_detect),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
