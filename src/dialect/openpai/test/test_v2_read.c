/* Version 2 text -> canonical job: templates, secrets in every kind of quotes, completion, retries,
 * gangs; and the masks. */
#include "dialect/openpai/openpai.h"

#include "dialect/openpai/v2.h"
#include "text/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

/* A document with one role; more: lines of the document; role: more of the role. */
static const char *text_of(struct arena *arena, const char *more, const char *role,
                           const char *command)
{
    return arena_printf(arena,
                        "protocolVersion: 2\nname: x\ntype: job\n"
                        "prerequisites: [{name: i, type: dockerimage, uri: u}]\n"
                        "%s\n"
                        "taskRoles:\n"
                        "  w:\n"
                        "    dockerImage: i\n"
                        "    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}\n"
                        "%s\n"
                        "    commands:\n"
                        "      - |-\n"
                        "        %s\n",
                        more, role, command);
}

static struct job_spec *read_text(struct arena *arena, const char *text, struct report *report)
{
    report_init(report, arena);
    const struct text_node *root = yaml_parse(arena, text, strlen(text), report);
    assert_non_null(root);
    assert_int_equal(openpai_v2.detect(root), 100);
    return openpai_v2.read(arena, root, NULL, report);
}

static const struct job_spec *job_of(struct arena *arena, const char *more, const char *role,
                                     const char *command)
{
    struct report report;
    const struct job_spec *job = read_text(arena, text_of(arena, more, role, command), &report);
    if (!job)
        fail_msg("%s", report.n ? report.at[0].what : "no job");
    return job;
}

/* ---- templates ---- */

static const char values[] = "parameters: {a: 1.50, b: {c: [x, {d: 'y z'}], e: yes}, l: [1, 2], n: "
                             "null, t: '<% $parameters.a %>'}\nsecrets: {s: 'v', r: {p: 'w'}}";

static void test_templates(void **state)
{
    static const struct {
        const char *command, *run;
    } rows[] = {
        { "echo <% $parameters.a %>", "echo 1.50" },
        { "echo <%$parameters.b.c[0]%><%\t$parameters.b.c.1.d %>", "echo xy z" },
        { "echo <% $parameters.b.e %> <% $parameters.l %>", "echo yes 1,2" },
        { "echo '<% $parameters.n %>'", "echo ''" },
        { "echo <% $parameters.t %>", "echo <% $parameters.a %>" }, /* not read again */
        { "echo <% # x %>a<% ! y %>b", "echo ab" },
        { "cat <a %> b", "cat <a %> b" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct job_spec *job = job_of(*state, values, "", rows[i].command);
        const char *want = arena_printf(*state, V2_STRICT "%s", rows[i].run);
        assert_string_equal(job->roles[0].run, want);
        assert_int_equal(job->roles[0].env.n, 0);
    }
}

static void test_bad_templates(void **state)
{
    static const char *const commands[] = {
        "<% $parameters.x %>",       "<% $parameters.b %>",   "<% $parameters %>",
        "<% $parameters.b.c[2] %>",  "<% $parameters.b.c %>", "<% $parameters.a.a %>",
        "<% parameters.a %>",        "<% $parameter.a %>",    "<% $secrets.x %>",
        "<% $data.uri %>",           "<% $secrets.r %>",      "<% $parameters.a",
        "<% $parameters.b.c[-1] %>", "<% $output %>",
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct report report;
        const char *text =
            text_of(*state, values, "", arena_printf(*state, "echo %s", commands[i]));
        if (read_text(*state, text, &report) || report.errors != 1)
            fail_msg("%s: %zu errors", commands[i], report.errors);
        const struct problem *last = &report.at[report.n - 1]; /* behind a warning about t */
        assert_string_equal(last->path, "taskRoles.w.commands[0]");
        assert_int_equal(last->place.line, 13);
    }
}

/* ---- secrets ---- */

static void test_secrets(void **state)
{
#define S "${PAI_SECRET_s}"
    static const struct {
        const char *command, *run;
    } rows[] = {
        { "echo <% $secrets.s %>", "echo \"" S "\"" },
        { "echo \"a <% $secrets.s %> b\"", "echo \"a " S " b\"" },
        { "echo 'a <% $secrets.s %> b'", "echo 'a '\"" S "\"' b'" },
        { "echo \\'<% $secrets.s %>", "echo \\'\"" S "\"" },
        { "echo \\\"<% $secrets.s %>", "echo \\\"\"" S "\"" },
        { "echo \"\\\"<% $secrets.s %>\"", "echo \"\\\"" S "\"" },
        { "x # it's\n        echo <% $secrets.s %>", "x # it's\necho \"" S "\"" },
        { "a#' <% $secrets.s %>'", "a#' '\"" S "\"''" },
        { "cat <<END\n        '<% $secrets.s %>'\n        END\n        echo <% $secrets.s %>",
          "cat <<END\n'" S "'\nEND\necho \"" S "\"" },
        { "cat <<<x <% $secrets.s %>", "cat <<<x \"" S "\"" },
        { "cat <<'E' # y\n        it's\n        E\n        echo <% $secrets.s %>",
          "cat <<'E' # y\nit's\nE\necho \"" S "\"" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct job_spec *job = job_of(*state, values, "", rows[i].command);
        const char *want =
            arena_printf(*state, V2_STRICT "export -n PAI_SECRET_s\n%s", rows[i].run);
        assert_string_equal(job->roles[0].run, want);
        assert_int_equal(job->roles[0].env.n, 1);
        assert_string_equal(pairs_get(&job->roles[0].env, "PAI_SECRET_s"), "v");
    }
#undef S
    const struct job_spec *job = job_of(*state, values, "", "echo <% $secrets.r.p %>");
    assert_string_equal(pairs_get(&job->roles[0].env, "PAI_SECRET_r_p"), "w");
}

static void test_secrets_in_wrong_places(void **state)
{
    static const char *const more[] = {
        "secrets: {s: v}\nparameters: {a: '<% $secrets.s %>'}",
        "secrets: {s: v}\nextras: {a: [{b: '<%$secrets.s%>'}]}",
        "secrets: {s: v}\ndefaults: {virtualCluster: '<% $secrets.s %>'}",
    };
    struct report report;
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        assert_null(read_text(*state, text_of(*state, more[i], "", "x"), &report));
        assert_int_equal(report.errors, 1);
        assert_null(strstr(report.at[0].what, "v "));
    }
    /* two names that make one variable */
    const struct job_spec *job = job_of(*state, "secrets: {a-b: 1, a.b: 2, a_b: 3}", "",
                                        "<% $secrets.a-b %><% $secrets.a_b %>");
    assert_string_equal(pairs_get(&job->roles[0].env, "PAI_SECRET_a_b"), "1");
    assert_string_equal(pairs_get(&job->roles[0].env, "PAI_SECRET_a_b_"), "3");
}

static void test_masks(void **state)
{
    struct report report;
    const char *text =
        text_of(*state,
                "secrets:\n  token: topsecret\n  deep: {list: [hidden, 7]}\n  long: |\n"
                "    hidden\n    lines",
                "", "echo <% $secrets.token %>");
    report_init(&report, *state);
    const struct text_node *root = yaml_parse(*state, text, strlen(text), &report);
    const char *masked = dialect_mask(*state, &openpai_v2, root, text, strlen(text));
    assert_null(strstr(masked, "topsecret"));
    assert_null(strstr(masked, "hidden"));
    assert_non_null(strstr(masked, "<% $secrets.token %>"));
    const struct job_spec *job = read_text(*state, text, &report);
    assert_non_null(job);
    assert_null(strstr(job->roles[0].run, "topsecret"));
}

/* ---- rules ---- */

static void test_completion(void **state)
{
    static const struct {
        const char *role;
        struct count failed, succeeded;
    } rows[] = {
        { "", { COUNT_NUMBER, 1 }, { COUNT_NUMBER, 3 } },
        { "    completion: {}", { COUNT_NUMBER, 1 }, { COUNT_NUMBER, 3 } },
        { "    completion: {minFailedInstances: 0, minSucceededInstances: 0}",
          { COUNT_NUMBER, 1 },
          { COUNT_NUMBER, 3 } },
        { "    completion: {minFailedInstances: null, minSucceededInstances: null}",
          { COUNT_NUMBER, 1 },
          { COUNT_ALWAYS, 0 } },
        { "    completion: {minFailedInstances: -1, minSucceededInstances: -1}",
          { COUNT_NEVER, 0 },
          { COUNT_ALWAYS, 0 } },
        { "    completion: {minFailedInstances: 2, minSucceededInstances: 1}",
          { COUNT_NUMBER, 2 },
          { COUNT_NUMBER, 1 } },
        { "    completion: {minFailedInstances: 4, minSucceededInstances: 4}",
          { COUNT_NEVER, 0 },
          { COUNT_ALWAYS, 0 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *role = arena_printf(*state, "    instances: 3\n%s", rows[i].role);
        const struct done *done = &job_of(*state, "", role, "x")->roles[0].done;
        assert_int_equal(done->failed.kind, rows[i].failed.kind);
        assert_int_equal(done->failed.n, rows[i].failed.n);
        assert_int_equal(done->succeeded.kind, rows[i].succeeded.kind);
        assert_int_equal(done->succeeded.n, rows[i].succeeded.n);
    }
}

static void test_retries_and_gangs(void **state)
{
    const struct job_spec *job = job_of(*state, "jobRetryCount: 3", "    taskRetryCount: 2", "x");
    assert_int_equal(job->retry.scope, RETRY_SCOPE_JOB);
    assert_int_equal(job->retry.unknown.n, 3);
    assert_int_equal(job->n_gangs, 0);
    job = job_of(*state, "jobRetryCount: 3\nextras: {gangAllocation: false}",
                 "    instances: 4\n    taskRetryCount: 2", "x");
    assert_int_equal(job->retry.scope, RETRY_SCOPE_TASK);
    assert_int_equal(job->retry.unknown.n, 2);
    assert_int_equal(job->n_gangs, 1);
    assert_int_equal(job->gangs[0].min, 1);
    assert_int_equal(job->gangs[0].roles.n, 1);
    job = job_of(*state, "extras: {gangAllocation: false}", "    taskRetryCount: -2", "x");
    assert_int_equal(job->retry.success.kind, COUNT_ALWAYS);
}

static void test_extras(void **state)
{
    const struct job_spec *job =
        job_of(*state,
               "extras:\n  storages: [{name: a}, {name: b, mountPath: /b}]\n"
               "  hivedScheduler: {jobPriorityClass: oppo}\n"
               "  jobStatusChangeNotification: {failed: true, running: false}",
               "", "x");
    assert_int_equal(job->inputs.n_data, 2);
    assert_string_equal(job->inputs.data[0].from, "storage://a");
    assert_string_equal(job->inputs.data[0].at, "/mnt/a");
    assert_string_equal(job->inputs.data[1].at, "/b");
    assert_int_equal(job->priority, 1);
    assert_int_equal(job->notify.n, 1);
    assert_string_equal(job->notify.at[0], "failed");
    assert_int_equal(job->roles[0].resources.shm, (uint64_t)512 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_templates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_templates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_secrets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_secrets_in_wrong_places, setup, teardown),
        cmocka_unit_test_setup_teardown(test_masks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_completion, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retries_and_gangs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_extras, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
