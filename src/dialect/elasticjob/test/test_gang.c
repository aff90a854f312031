/* Gangs, the command's rendezvous and the number of tasks: what starts together, what is enough,
 * and what is said when they do not fit. */
#include "dialect/elasticjob/test/sample.h"

#define NAME "\"gang.scheduling.koordinator.sh/name\": \"g\""
#define MIN  "\"gang.scheduling.koordinator.sh/min-available\": "
#define RUN(flags)                                                                                 \
    "\"command\": [\"/bin/bash\", \"-c\", \"cd /x && dlrover-run " flags " train.py --nnodes 9\"]"

static void test_annotations_as_number_and_text(void **state)
{
    static const char *const values[] = { "3", "\"3\"" };
    for (size_t i = 0; i < 2; i++) {
        const struct sample s = {
            .metadata = arena_printf(*state, "\"annotations\": {" NAME ", " MIN "%s}", values[i])
        };
        const struct job_spec *job = sample_job(*state, &s);
        assert_int_equal(job->n_gangs, 1);
        assert_string_equal(job->gangs[0].name, "g");
        assert_int_equal(job->gangs[0].min, 3);
        assert_int_equal(job->roles[0].min, 3);
        assert_string_equal(job->project, "lab");
    }
}

static void test_nnodes_is_the_least(void **state)
{
    const struct sample s = { .container = RUN("--nnodes=2:$NODE_NUM") };
    const struct job_spec *job = sample_job(*state, &s);
    assert_int_equal(job->n_gangs, 0);
    assert_int_equal(job->roles[0].min, 2);
    assert_int_equal(job->roles[0].replicas, 4);
    assert_int_equal(job->roles[0].done.failed.n, 3); /* with two left it still trains */
}

static void expect(struct arena *arena, const char *flags, unsigned min, const char *said)
{
    const struct sample s = {
        .metadata = arena_printf(arena, "\"annotations\": {" NAME ", " MIN "%u}", min),
        .container = arena_printf(arena, RUN("%s"), flags),
    };
    struct report report;
    const struct job_spec *job = sample_read(arena, sample_text(arena, &s), &report);
    if (!job || (said ? !sample_problem(&report, said) : report.n > 0))
        fail_msg("%s with min %u: %s", flags, min, report.n ? report.at[0].what : "nothing said");
}

static void test_contradictions_are_said(void **state)
{
    expect(*state, "--nnodes=3:$NODE_NUM", 4, "more than it needs");
    expect(*state, "--nnodes=3:$NODE_NUM", 3, NULL);
    expect(*state, "--nnodes=3:4", 2, "2 start and cannot train");
    expect(*state, "--nnodes 3:${NODE_NUM}", 2, "2 start and cannot train");
    expect(*state, "--nnodes=2:4 --node-unit=2", 2, NULL);
    expect(*state, "--nnodes=2:4 --node_unit 3", 2, "in units of 3 they are 0");
    expect(*state, "--nnodes=1:4 --node-unit 2", 3, "more than it needs");
    expect(*state, "--nnodes=3:4 --node-unit 2", 3, "in units of 2 they are 2, fewer than the 3");
    expect(*state, "--auto-config", 4, NULL);
    expect(*state, "--auto-config", 3, "3 start and cannot train");
    expect(*state, "--nnodes=8", 4, "wait for 8 nodes");
    expect(*state, "--nnodes=$SOME", 2, NULL);
}

static void test_flags_of_the_script_are_its_own(void **state)
{
    const struct sample s = { .container = "\"command\": [\"python\", \"x.py\", \"--nnodes=2\"]" };
    assert_int_equal(sample_job(*state, &s)->roles[0].min, 4);
}

static void refused(struct arena *arena, const char *annotations, const char *said)
{
    const struct sample s = {
        .metadata = arena_printf(arena, "\"annotations\": {%s}", annotations),
    };
    struct report report;
    const struct job_spec *job = sample_read(arena, sample_text(arena, &s), &report);
    const struct problem *p = sample_problem(&report, said);
    if (job || !p || p->severity != SEVERITY_ERROR || p->place.line == 0)
        fail_msg("%s: %s", annotations, report.n ? report.at[0].what : "accepted");
}

static void test_refused(void **state)
{
    refused(*state, NAME, "without min-available");
    refused(*state, MIN "2", "without a name");
    refused(*state, NAME ", " MIN "5", "never start");
    refused(*state, NAME ", " MIN "0", "not a number of tasks");
    refused(*state, NAME ", " MIN "\"two\"", "not a number of tasks");
    refused(*state, NAME ", " MIN "2, \"gang.scheduling.koordinator.sh/mod\": \"Strict\"",
            "no annotation of gangs");
    refused(*state, NAME ", " MIN "2, \"gang.scheduling.koordinator.sh/groups\": \"x\"",
            "no list of gangs");
    refused(*state, NAME ", " MIN "2, \"gang.scheduling.koordinator.sh/mode\": \"strict\"",
            "mode is");
}

static void test_pod_groups(void **state)
{
    static const char job[] = "apiVersion: " EJ_API "\n"
                              "kind: ElasticJob\n"
                              "metadata: {name: job, namespace: lab}\n"
                              "spec:\n"
                              "  distributionStrategy: AllreduceStrategy\n"
                              "  replicaSpecs:\n"
                              "    worker:\n"
                              "      replicas: 3\n"
                              "      template:\n"
                              "        metadata: {labels: {pod-group.scheduling.sigs.k8s.io: %s}}\n"
                              "        spec: {containers: [{command: [sleep, '1']}]}\n"
                              "---\n"
                              "apiVersion: scheduling.sigs.k8s.io/v1alpha1\n"
                              "kind: PodGroup\n"
                              "metadata: {name: trio, namespace: %s}\n"
                              "spec: {minMember: 2}\n";
    struct report report;
    const struct job_spec *read =
        sample_read(*state, arena_printf(*state, job, "trio", "lab"), &report);
    assert_non_null(read);
    assert_int_equal(report.n, 0);
    assert_int_equal(read->gangs[0].min, 2);
    assert_null(sample_read(*state, arena_printf(*state, job, "duo", "lab"), &report));
    assert_non_null(sample_problem(&report, "no PodGroup"));
    assert_non_null(sample_problem(&report, "has no effect"));
    assert_null(sample_read(*state, arena_printf(*state, job, "trio", "other"), &report));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SAMPLE_TEST(test_annotations_as_number_and_text),
        SAMPLE_TEST(test_nnodes_is_the_least),
        SAMPLE_TEST(test_contradictions_are_said),
        SAMPLE_TEST(test_flags_of_the_script_are_its_own),
        SAMPLE_TEST(test_refused),
        SAMPLE_TEST(test_pod_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
