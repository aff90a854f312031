/* The table of the page doc/dialect-sbatch.md is the code's (run sbatch_reference when this fails),
 * and jobs become scripts that read back as the same job. */
#include "dialect/losses.h"
#include "dialect/sbatch/test/sample.h"
#include "dialect/test/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_page(void **state)
{
    struct page page;
    (void)state;
    page_init(&page, SOURCE_ROOT "/doc/dialect-sbatch.md");
    page_wants_tables(&page, sbatch_reference, "sbatch_reference");
    page_fini(&page);
}

static void test_same_script(void **state)
{
    struct sample s;
    struct report said;
    (void)state;
    sample_read(&s, "#SBATCH -J same -N2 --gres=gpu:2 -t 10 -d afterok:3");
    const struct site site = { .owner = "ada" };
    report_init(&said, s.arena);
    const struct text_node *tree = dialect_convert(s.arena, &sbatch_dialect, s.job, &site, &said);
    assert_non_null(tree);
    assert_int_equal(said.warnings, 0);
    assert_non_null(strstr(tree->str, "#SBATCH -J same -N2"));
    sample_end(&s);
}

/* A job of two roles with what has no words in a script. */
static void test_other_job(void **state)
{
    struct arena *a = arena_create();
    struct report said;
    struct job_spec *job = job_new(a);
    const struct site site = { .owner = "ada" };
    (void)state;
    report_init(&said, a);
    job->name = "two words";
    job->roles = ARENA_ARRAY(a, 2, struct role);
    job->n_roles = 2;
    job->limits.run_time_ms = (struct opt_u64){ true, 90000 };
    job->after = &(struct job_dependency){ .ended = "any", .match = "every" };
    job->n_after = 1;
    for (size_t i = 0; i < 2; i++) {
        role_init(&job->roles[i]);
        job->roles[i].run = "echo \"it's\"";
        job->roles[i].name = i ? "worker" : "ps";
        job->roles[i].resources.cpu_milli = 1500;
        job->roles[i].resources.gpu_milli = i * 2000;
        job->roles[i].replicas = job->roles[i].min = i ? 4 : 1;
    }
    job->roles[1].per_group = 2;
    job->roles[0].done.succeeded = (struct count){ .kind = COUNT_NEVER };
    const struct text_node *tree = dialect_convert(a, &sbatch_dialect, job, &site, &said);
    assert_non_null(tree);
    static const char *const has[] = {
        "#SBATCH --job-name=\"two words\"\n",
        "#SBATCH --time=2\n",
        "#SBATCH --dependency=singleton\n",
        "#SBATCH hetjob\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n",
        "#SBATCH --gpus-per-node=4\n",
        "srun --het-group=0 bash -c 'echo \"it'\\''s\"' &\nsrun",
        "srun --het-group=1 --gpus-per-task=2 bash",
        "wanted=\"$wanted $!\"\n",
    };
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        if (!strstr(tree->str, has[i]))
            fail_msg("no %s in\n%s", has[i], tree->str);
    bool cpu = false, limit = false;
    for (size_t i = 0; i < said.n; i++) {
        cpu |= strcmp(said.at[i].path, "roles.ps.resources.cpu") == 0;
        limit |= strcmp(said.at[i].path, "limits.run_time") == 0;
    }
    assert_true(cpu);   /* a core and a half */
    assert_true(limit); /* a minute and a half */
    arena_destroy(a);
}

static const struct problem *said_of(const struct report *said, const char *path)
{
    for (size_t i = 0; i < said->n; i++)
        if (said->at[i].severity == SEVERITY_WARNING && strcmp(said->at[i].path, path) == 0)
            return &said->at[i];
    return NULL;
}

/* Secrets, and images of roles that have not the same: each role's loss is said. */
static void test_what_roles_lose(void **state)
{
    static const struct {
        const char *first, *second;
        bool lost; /* of the second */
    } rows[] = { { NULL, NULL, false },
                 { "a:1", "a:1", false },
                 { "a:1", "b:1", true },
                 { NULL, "b:1", true },
                 { "a:1", NULL, true } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *a = arena_create();
        struct report said;
        struct job_spec *job = job_new(a);
        struct job_secret secret = { .name = "token", .env = "TOKEN" };
        const struct site site = { .owner = "ada" };
        report_init(&said, a);
        job->name = "images";
        job->roles = ARENA_ARRAY(a, 2, struct role);
        job->n_roles = 2;
        for (size_t k = 0; k < 2; k++) {
            role_init(&job->roles[k]);
            job->roles[k].name = k ? "second" : "first";
            job->roles[k].run = "true";
            job->roles[k].image = k ? rows[i].second : rows[i].first;
            job->roles[k].replicas = job->roles[k].min = 1;
        }
        job->roles[1].secrets = (struct job_secrets){ .at = &secret, .n = 1 };
        assert_non_null(dialect_convert(a, &sbatch_dialect, job, &site, &said));
        assert_non_null(said_of(&said, "roles.second.secrets"));
        assert_null(said_of(&said, "roles.first.secrets"));
        assert_null(said_of(&said, "roles.first.image"));
        if ((said_of(&said, "roles.second.image") != NULL) != rows[i].lost)
            fail_msg("%s, %s", rows[i].first, rows[i].second);
        arena_destroy(a);
    }
}

/* Values stand where only the job's owner can read them: not on the command line of srun. */
static void test_variables(void **state)
{
    struct arena *a = arena_create();
    struct report said;
    struct job_spec *job = job_new(a);
    const struct site site = { .owner = "ada" };
    (void)state;
    report_init(&said, a);
    job->name = "variables";
    job->roles = ARENA_NEW(a, struct role);
    job->n_roles = 1;
    role_init(&job->roles[0]);
    job->roles[0].name = "node";
    job->roles[0].run = "env";
    job->roles[0].replicas = job->roles[0].min = 1;
    struct pairs *env = &job->roles[0].env;
    pairs_set(env, a, "TOKEN", "it's");
    pairs_set(env, a, "a.b", "c d");
    pairs_set(env, a, "EMPTY", "");
    pairs_set(env, a, "PATH", "/opt/bin");
    pairs_set(env, a, "2ND", "x");
    pairs_set(env, a, "SLURM_LABELIO", "1");
    const struct text_node *tree = dialect_convert(a, &sbatch_dialect, job, &site, &said);
    assert_non_null(tree);
    const char *line = strstr(tree->str, "TOKEN=");
    assert_non_null(line);
    assert_string_equal(line, "TOKEN='it'\\''s' EMPTY='' srun env 'a.b=c d' PATH=/opt/bin 2ND=x "
                              "SLURM_LABELIO=1 bash -c env\n");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_same_script),
        cmocka_unit_test(test_other_job),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_what_roles_lose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
