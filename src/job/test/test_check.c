/* Bad jobs in the native format: one problem each, with its place and what to write. Jobs that a
 * dialect filled by hand are checked by the same rules. */
#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/check.h"
#include "text/detect.h"

#include <string.h>

struct bad {
    const char *text;
    uint32_t line, col;
    const char *what, *hint;
};

#define ROLE "name: a\nroles:\n  w:\n    run: x\n"
static const struct bad bads[] = {
    { "[1]", 1, 1, "a job is a map, this is a list", "name: hello" },
    { "name: a\n", 1, 1, "the job has no roles: nothing to run", "run: python train.py" },
    { "run: x\n", 1, 1, "name is missing",
      "name: name of the job; several jobs may have the same" },
    { "name: a/b\nrun: x\n", 1, 7,
      "name is \"a/b\", wanted are 1 to 128 bytes without /, .. and "
      "control characters, and no - in front",
      NULL },
    { "name: ..\nrun: x\n", 1, 7,
      "name is \"..\", wanted are 1 to 128 bytes without /, .. and "
      "control characters, and no - in front",
      NULL },
    { "muster: 2\nname: a\nrun: x\n", 1, 9, "muster is not a version this muster reads", "1" },
    { "name: a\nrun: x\nreplicas: 0\n", 3, 11, "replicas is 0, the least is 1",
      "1 or more (tasks)" },
    { "name: a\nrun: x\nreplica: 2\n", 3, 1, "unknown field \"replica\"", "\"replicas\"?" },
    { "name: a\nrun: x\nquue: q\n", 3, 1, "unknown field \"quue\"", "\"queue\"?" },
    { ROLE "    replicas: {min: 5, max: 2}\n", 5, 15, "roles.w.replicas has min 5 and max 2",
      "min no larger than max" },
    { ROLE "    replicas: {min: 5}\n", 5, 15, "roles.w.replicas.max is missing",
      "max: most tasks it makes use of" },
    { ROLE "run: y\n", 5, 1, "run is a field of a role, and the job has roles",
      "move it into a role: roles.w.run" },
    { ROLE "    argv: [a]\n", 4, 10, "roles.w.run is not the only thing the role runs",
      "one of run, argv and python" },
    { "name: a\nroles:\n  w:\n    replicas: 2\n", 4, 5, "roles.w says nothing to run",
      "run: python train.py" },
    { ROLE "    resources: {gpu: 1.5}\n", 5, 22,
      "roles.w.resources.gpu is 1.500: more than one device is given whole",
      "a whole number, or a share below 1" },
    { ROLE "    resources: {gpus: 1}\n", 5, 17, "unknown field \"gpus\" in roles.w.resources",
      "\"gpu\"?" },
    { ROLE "    resources: {gpu_type: A}\n", 5, 27,
      "roles.w.resources.gpu_type names a type, and the role asks for no gpu", "gpu: 1" },
    { ROLE "    ports: {web: {count: 3, first: 65534}}\n", 5, 18,
      "roles.w.ports.web goes from 65534 to 65536, the most is 65535",
      "a range that ends at 65535 or before" },
    { ROLE "    ports: {a: {count: 3, first: 80}, b: {first: 82}}\n", 5, 42,
      "roles.w.ports.b has ports that \"a\" has too", "ranges that do not meet" },
    { ROLE "    ports: {\"a/b\": 1}\n", 5, 13,
      "roles.w.ports.a/b is \"a/b\", wanted are letters, "
      "digits, . _ ~ - (no ..)",
      NULL },
    { ROLE "    after: [x]\n", 5, 13, "roles.w.after[0] is \"x\", and the job has no such role",
      "the name of a role of this job" },
    { ROLE "    after: w\n", 5, 12, "roles.w.after waits for a role that waits for it",
      "roles that do not wait for this one" },
    { ROLE "gang: [{roles: [w], min: 2}]\n", 5, 26, "gang[0].min is 2, and its roles have 1 task",
      "no more than the tasks of its roles" },
    { ROLE "gang: [{roles: [w]}, {roles: [w]}]\n", 5, 31,
      "gang[1].roles[0] is \"w\", which gang[0] has", "each role in one gang" },
    { ROLE "gang: [{roles: [v]}]\n", 5, 17,
      "gang[0].roles[0] is \"v\", and the job has no such role", "the name of a role of this job" },
    { ROLE "place: {spread: [w], pack: [w]}\n", 5, 18,
      "place.spread[0] is \"w\", which is in place.pack too", "spread or pack" },
    { ROLE "place: {together: [{roles: [w], shares: {w: x}}]}\n", 5, 45,
      "place.together[0].shares.w is \"x\", not a number of tasks", "1 or more" },
    { ROLE "place: {topology: {required: true}}\n", 5, 30,
      "place.topology.required is set, and no level is", "within: rack" },
    { ROLE "inputs: {code: {dir: a, git: b}}\n", 5, 16,
      "inputs.code comes from more than one source", "one of dir, git and archive" },
    { ROLE "inputs: {code: {dir: a, at: b}}\n", 5, 29,
      "inputs.code.at names a version, and there is no git", "git: https://..." },
    { ROLE "    secrets: [a/b/c]\n", 5, 15,
      "roles.w.secrets[0] is \"a/b/c\", wanted are letters, digits, . _ -, as hf-token or "
      "db/password; db/* for all of db",
      NULL },
    { ROLE "    secrets: [{name: ../x}]\n", 5, 22,
      "roles.w.secrets[0].name is \"../x\", wanted are letters, digits, . _ -, as hf-token or "
      "db/password; db/* for all of db",
      NULL },
    { ROLE "    secrets: [{name: a, env: A=B}]\n", 5, 30,
      "roles.w.secrets[0].env is no name of a variable", "a name without =" },
    { ROLE "    secrets: [{name: a, file: x}]\n", 5, 31,
      "roles.w.secrets[0].file is \"x\", not an absolute path of one", "/run/secrets/token" },
    { ROLE "    secrets: [{name: a, file: /x}]\n", 5, 31,
      "roles.w.secrets[0].file is \"/x\", and its directory is to have secrets alone",
      "/run/secrets/token" },
    { ROLE "    env: {A: x}\n    secrets: [{name: a, env: A}]\n", 6, 30,
      "roles.w.secrets[0].env is \"A\", and env has it", "one of the two" },
    { ROLE "    secrets: [{name: a, env: A}]\ninputs: {secrets: [{name: b, env: A}]}\n", 5, 30,
      "roles.w.secrets[0].env is \"A\", which b is too", "each variable once" },
    { ROLE "inputs: {data: [{from: a, at: b}]}\n", 5, 31,
      "inputs.data[0].at is \"b\", not an absolute path", "/data" },
    { "name: a\nrun: x\nspares: 1\n", 3, 9,
      "roles.worker.spares takes the place of a lost task in a round of launchers, and this role "
      "has no settings of any",
      "a launcher, for a command: launcher: {max_restarts: 3}" },
    { ROLE "retry: {backoff: 2m}\n", 5, 18, "retry.backoff is longer than retry.backoff_max",
      "no more than retry.backoff_max" },
    { ROLE "retry: {platform: sometimes}\n", 5, 19,
      "retry.platform is \"sometimes\", not a number, never or always",
      "a number, never or always" },
    { ROLE "priority: 10\n", 5, 11, "priority is 10, the most is 9", "9 or less" },
    { ROLE "limits: {run_time: soon}\n", 5, 20,
      "limits.run_time is \"soon\", not a duration such as 90s, 15m, 2h, or none",
      "a duration such as 90s, 15m, 2h, or none" },
    { ROLE "after: [0]\n", 5, 9, "after[0] is neither the number nor the name of a job",
      "the number or name that lists of jobs show" },
    { ROLE "conventions: [a, a]\n", 5, 18, "conventions[1] is there twice",
      "each convention once" },
    { ROLE "    env: {\"A=B\": x}\n", 5, 11, "\"A=B\" is no name here", "a name without =" },
    { "name: a\nrun: x\nresources: {gpu: 2.5}\n", 3, 18,
      "roles.worker.resources.gpu is 2.500: more than one device is given whole",
      "a whole number, or a share below 1" },
    { "name: a\nroles:\n  v: {run: x, replicas: 65536}\n  w: {run: x}\n", 3, 3,
      "roles have 65537 tasks, the most are 65536", "65536 tasks or fewer in all roles" },
};

static void test_bad_jobs(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        struct report report;
        report_init(&report, arena);
        struct text_node *root = text_parse(arena, bads[i].text, strlen(bads[i].text), &report);
        assert_non_null(root);
        assert_null(job_decode(arena, root, &report));
        assert_int_equal(report.errors, 1);
        const struct problem *p = &report.at[0];
        assert_string_equal(p->what, bads[i].what);
        if (bads[i].hint)
            assert_string_equal(p->hint, bads[i].hint);
        if (p->place.line != bads[i].line || p->place.col != bads[i].col)
            fail_msg("%s: at %u:%u, not %u:%u", p->what, p->place.line, p->place.col, bads[i].line,
                     bads[i].col);
    }
    arena_destroy(arena);
}

/* A job a dialect filled by hand: problems point at the role's place. */
static void test_filled_by_hand(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct report report;
    report_init(&report, arena);
    struct job_spec *job = job_new(arena);
    struct role roles[2];
    role_init(&roles[0]);
    role_init(&roles[1]);
    roles[0].name = roles[1].name = "w";
    roles[0].run = roles[1].run = "x";
    roles[1].place = (struct place){ .line = 7, .col = 3 };
    roles[1].resources.gpu_milli = 1500;
    job->name = "hand";
    job->roles = roles;
    job->n_roles = 2;
    job_check(job, &report);
    assert_int_equal(report.errors, 2);
    assert_string_equal(report.at[0].what, "roles.w is there twice");
    assert_string_equal(report.at[0].path, "roles.w");
    roles[1].name = "v";
    report_init(&report, arena);
    job_check(job, &report);
    assert_int_equal(report.errors, 1);
    assert_int_equal(report.at[0].place.line, 7);
    roles[1].resources.gpu_milli = 500;
    roles[1].done.failed.n = 3;
    report_init(&report, arena);
    job_check(job, &report);
    assert_true(report_ok(&report));
    assert_int_equal(report.warnings, 1);
    assert_string_equal(report.at[0].what,
                        "roles.v.done.failed is 3 and the role has 1 task: it never decides");
    struct amount gpus = { .name = "gpus", .milli = 1000 };
    roles[1].resources.custom = (struct amounts){ &gpus, 1 };
    report_init(&report, arena);
    job_check(job, &report);
    assert_string_equal(report.at[0].hint, "never");
    assert_string_equal(report.at[1].what,
                        "roles.v.resources.gpus is no name of a custom resource");
    assert_string_equal(report.at[1].hint, "gpu");
    arena_destroy(arena);
}

static void test_runtimes(void **state)
{
    struct arena *arena = arena_create();
    struct job_spec *job = job_new(arena);
    struct role role;
    struct report report;
    (void)state;
    role_init(&role);
    role.name = "w";
    role.run = "x";
    job->name = "hand";
    job->roles = &role;
    job->n_roles = 1;
    for (enum job_runtime runtime = 0; runtime < RUNTIME_N; runtime++) {
        report_init(&report, arena);
        job->runtime = runtime;
        job_check(job, &report);
        assert_int_equal(report.warnings, runtime > RUNTIME_HOST);
    }
    assert_string_equal(report.at[0].what, "runtime has no effect: no role has an image");
    role.image = "debian";
    report_init(&report, arena);
    job_check(job, &report);
    assert_int_equal(report.warnings, 0);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_jobs),
        cmocka_unit_test(test_filled_by_hand),
        cmocka_unit_test(test_runtimes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
