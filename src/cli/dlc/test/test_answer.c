/* The answer of GetJob from a view: fields, times, pods and their history; jobs of other formats;
 * and that no password of the original text is in it. */
#include "cli/dlc/answer.h"

#include "cli/answer.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char view_text[] =
    "{\"id\":\"0eavoccgdt91c\",\"name\":\"ddp\",\"owner\":\"ada\",\"queue\":\"q1\",\"dialect\":\"dlc\","
    "\"state\":\"failed\",\"word\":\"Failed\",\"reason\":\"worker/0 exited with 1\",\"restarts\":1,"
    "\"priority\":3,\"submitted\":\"2026-01-02T03:04:05.678Z\",\"submitted_ms\":1000,"
    "\"started\":\"2026-01-02T03:04:06.000Z\",\"started_ms\":2000,"
    "\"ended\":\"2026-01-02T03:04:09.999Z\",\"ended_ms\":5999,"
    "\"origin\":\"name=ddp\\nkind=PyTorchJob\\nworkers=2\\nworker_image=i\\n"
    "image_repo_username=u\\nimage_repo_password=geheim\\ncommand=a && b=c\\n\","
    "\"timeline\":[{\"type\":\"submitted\",\"state\":\"queued\",\"at\":\"2026-01-02T03:04:05.678Z\"},"
    "{\"type\":\"allocated\",\"state\":\"starting\",\"at\":\"2026-01-02T03:04:05.700Z\"},"
    "{\"type\":\"task.failed\",\"state\":\"failed\",\"at\":\"2026-01-02T03:04:07.000Z\"},"
    "{\"type\":\"failed\",\"state\":\"failed\",\"at\":\"2026-01-02T03:04:09.999Z\"}],"
    "\"task_list\":[{\"role\":\"master\",\"index\":0,\"word\":\"Failed\",\"attempts\":["
    "{\"attempt\":1,\"state\":\"lost\",\"node\":\"n1\",\"address\":\"127.0.0.1\"},"
    "{\"attempt\":2,\"state\":\"failed\",\"node\":\"n2\",\"address\":\"127.0.0.2\"}]},"
    "{\"role\":\"worker-gpu\",\"index\":12,\"word\":\"Pending\",\"attempts\":[]}]}";

static struct text_node *answer(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    struct text_node *view = json_parse(arena, text, strlen(text), 0, &report);
    assert_true(report_ok(&report));
    return dlc_answer_sorted(arena, dlc_answer_job(arena, view));
}

static void says(const struct text_node *map, const char *key, const char *value)
{
    assert_string_equal(answer_text(map, key, "(absent)"), value);
}

static void test_job(void **state)
{
    struct arena *arena = arena_create();
    const struct text_node *job = answer(arena, view_text),
                           *history = text_get(job, "StatusHistory");
    (void)state;
    says(job, "JobId", "dlc0eavoccgdt91c");
    says(job, "JobType", "PyTorchJob");
    says(job, "Status", "Failed");
    says(job, "ReasonCode", "JobFailed");
    says(job, "UserCommand", "a && b=c");
    says(job, "ResourceId", "q1");
    says(job, "RestartTimes", "1/3");
    says(job, "GmtCreateTime", "2026-01-02T03:04:05Z");
    says(job, "GmtFailedTime", "2026-01-02T03:04:09Z");
    says(job, "GmtSuccessedTime", "(absent)");
    assert_int_equal(text_number(job, "Duration"), 3);
    assert_int_equal(history->count, 3);
    says(history->first, "Status", "Queuing");
    says(history->first, "EndTime", "2026-01-02T03:04:05Z");
    says(history->last, "Status", "Failed");
    for (const struct text_node *n = job->first; n->next; n = n->next)
        assert_true(strcmp(n->key, n->next->key) < 0);
    arena_destroy(arena);
}

static void test_no_password(void **state)
{
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    struct arena *arena = arena_create();
    (void)state;
    json_print(answer(arena, view_text), 3, &text);
    assert_null(strstr(buf_str(&text), "geheim"));
    assert_non_null(strstr(buf_str(&text), "\"Username\": \"u\""));
    arena_destroy(arena);
}

static void test_pods(void **state)
{
    struct arena *arena = arena_create();
    const struct text_node *job = answer(arena, view_text);
    static const char *const names[] = { "dlc0eavoccgdt91c-worker-gpu-12", "worker-gpu-12",
                                         "worker-gpu/12" };
    (void)state;
    const struct text_node *master = dlc_answer_pod(job, "master-0");
    says(master, "PodId", "dlc0eavoccgdt91c-master-0");
    says(master, "Ip", "127.0.0.2");
    says(master, "Status", "Failed");
    const struct text_node *old = text_get(master, "HistoryPods")->first;
    says(old, "Status", "Unknown");
    says(old, "PodId", "dlc0eavoccgdt91c-master-0");
    assert_string_not_equal(text_word(old, "PodUid"), text_word(master, "PodUid"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        says(dlc_answer_pod(job, names[i]), "Type", "worker-gpu");
    assert_null(dlc_answer_pod(job, "worker/12"));
    assert_null(dlc_answer_pod(job, "master-1"));
    assert_null(dlc_answer_pod(job, ""));
    arena_destroy(arena);
}

static void test_other_origin(void **state)
{
    struct arena *arena = arena_create();
    const struct text_node *job = answer(
        arena, "{\"id\":\"0eavoccgdt91c\",\"dialect\":\"openpai-v1\",\"state\":\"running\","
               "\"spec\":{\"roles\":{\"ps\":{\"replicas\":2,\"run\":\"x\",\"image\":\"i\"}}}}");
    (void)state;
    says(job, "Status", "Running");
    says(job, "UserCommand", "x");
    says(text_get(job, "JobSpecs")->first, "Type", "ps");
    assert_int_equal(text_number(text_get(job, "JobSpecs")->first, "PodCount"), 2);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job),
        cmocka_unit_test(test_no_password),
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_other_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
