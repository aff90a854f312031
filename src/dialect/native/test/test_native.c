/* The native dialect: what it takes for its own, reading and writing, environments, ends. Every
 * field that is marked as a secret is among the dialect's secrets. */
#include "dialect/native/native.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "job/job_fields.h"
#include "text/detect.h"
#include "text/yaml.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct text_node *parse(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    struct text_node *root = text_parse(arena, text, strlen(text), &report);
    assert_non_null(root);
    return root;
}

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int least, most;
    } rows[] = {
        { "muster: 1\nkind: x\n", 100, 100 },
        { "name: a\nroles: {w: {run: x}}\n", 80, 80 },
        { "name: a\nrun: x\n", 70, 70 },
        { "name: a\n", 1, 30 },
        { "{\"jobName\": \"a\", \"taskRoles\": [], \"name\": 1}", 0, 0 },
        { "protocolVersion: 2\nname: a\n", 0, 0 },
        { "apiVersion: v1\nkind: ElasticJob\nroles: {}\n", 0, 0 },
        { "[1]", 0, 0 },
        { "{}", 0, 0 },
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_in_range(native_dialect.detect(parse(arena, rows[i].text)), rows[i].least,
                        rows[i].most);
    assert_int_equal(native_dialect.detect(NULL), 0);
    arena_destroy(arena);
}

static void test_read_and_write(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct report report;
    struct site site = { .owner = "ada" };
    AUTO_BUF struct buf out = BUF_INIT(10000);
    report_init(&report, arena);
    const struct job_spec *job =
        native_dialect.read(arena, parse(arena, "name: a\nrun: x\n"), &site, &report);
    assert_non_null(job);
    yaml_print(native_dialect.write(arena, job, &report), &out);
    assert_string_equal(buf_str(&out), "muster: 1\nname: a\nroles:\n  worker:\n    run: x\n");
    assert_null(native_dialect.read(arena, parse(arena, "name: a\n"), &site, &report));
    arena_destroy(arena);
}

/* Every row marked secret is in the dialect's paths, and nothing else. */
static size_t count_secrets(const struct field *table, const char *prefix)
{
    size_t n = 0;
    for (const struct field *f = table; f->name; f++) {
        char path[200];
        const char *many = f->type == FIELD_PAIRS || f->type == FIELD_MAP ? ".*" : "";
        snprintf(path, sizeof path, "%s%s%s%s", prefix, *prefix ? "." : "", f->name, many);
        if (f->table)
            n += count_secrets(f->table, path);
        if (!(f->flags & FIELD_SECRET))
            continue;
        bool found = false;
        for (const char *const *s = native_dialect.secrets; *s; s++)
            found |= strcmp(*s, path) == 0;
        if (!found)
            fail_msg("%s is secret and not in the dialect's paths", path);
        n++;
    }
    return n;
}

static void test_secrets(void **state)
{
    (void)state;
    size_t n = count_secrets(job_fields, "") + count_secrets(role_fields, "");
    size_t listed = 0;
    while (native_dialect.secrets[listed])
        listed++;
    assert_int_equal(n, listed);
}

/* ---- environments ---- */

static uint32_t rdzv[] = { 6000 }, web[] = { 5000, 5001 }, other[] = { 7000 };
static struct placed_port ports[] = { { "web-ui", web, 2 }, { "rdzv", rdzv, 1 } };
static struct placed_port other_port[] = { { "x", other, 1 } };
static struct task_place tasks[] = {
    { .role = 0,
      .index = 0,
      .attempt = 1,
      .node = "n1",
      .address = "127.0.0.2",
      .ports = ports,
      .n_ports = 2 },
    { .role = 1, .index = 0, .attempt = 1, .node = "n1", .address = "127.0.0.2" },
    { .role = 1,
      .index = 1,
      .attempt = 3,
      .node = "n2",
      .address = "127.0.0.3",
      .ports = other_port,
      .n_ports = 1 },
};
static struct role roles[] = { { .name = "master", .replicas = 1 },
                               { .name = "worker", .replicas = 2 } };
static const struct job_spec job = { .name = "ddp", .roles = roles, .n_roles = 2 };
static const struct job_place place = {
    .id = 36, .number = 12, .generation = 2, .owner = "ada", .tasks = tasks, .n = 3
};

static void test_native_env(void **state)
{
    (void)state;
    static const char *const want[] = {
        "MUSTER_JOB_NAME=ddp",
        "MUSTER_JOB_ID=0000000000010",
        "MUSTER_JOB_NUMBER=12",
        "MUSTER_GENERATION=2",
        "MUSTER_ROLE=worker",
        "MUSTER_INDEX=1",
        "MUSTER_RANK=2",
        "MUSTER_TASKS=3",
        "MUSTER_REPLICAS=2",
        "MUSTER_ATTEMPT=3",
        "MUSTER_NODE=n2",
        "MUSTER_ADDRESS=127.0.0.3",
        "MUSTER_PEERS=master/0=127.0.0.2,worker/0=127.0.0.2,worker/1=127.0.0.3",
        "MUSTER_PORT_X=7000",
    };
    struct arena *arena = arena_create();
    struct pairs env = { 0 };
    native_convention.env(arena, &job, &place, 2, NULL, &env);
    assert_int_equal(env.n, sizeof want / sizeof *want);
    for (size_t i = 0; i < env.n; i++)
        assert_string_equal(arena_printf(arena, "%s=%s", env.at[i].name, env.at[i].value), want[i]);
    env = (struct pairs){ 0 };
    native_convention.env(arena, &job, &place, 0, NULL, &env);
    assert_string_equal(pairs_get(&env, "MUSTER_PORT_WEB_UI"), "5000,5001");
    arena_destroy(arena);
}

static void test_too_many_peers(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct role many = { .name = "w", .replicas = 20000 };
    struct job_spec big = { .name = "big", .roles = &many, .n_roles = 1 };
    struct job_place places = { .tasks = ARENA_ARRAY(arena, 20000, struct task_place), .n = 20000 };
    struct pairs env = { 0 };
    native_convention.env(arena, &big, &places, 19999, NULL, &env);
    assert_null(pairs_get(&env, "MUSTER_PEERS"));
    assert_string_equal(pairs_get(&env, "MUSTER_TASKS"), "20000");
    arena_destroy(arena);
}

static void test_pytorch_env(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct pairs env = { 0 };
    pytorch_convention.env(arena, &job, &place, 2, NULL, &env);
    assert_string_equal(pairs_get(&env, "MASTER_ADDR"), "127.0.0.2");
    assert_string_equal(pairs_get(&env, "MASTER_PORT"), "6000");
    assert_string_equal(pairs_get(&env, "WORLD_SIZE"), "3");
    assert_string_equal(pairs_get(&env, "RANK"), "2");
    assert_string_equal(pairs_get(&env, "PET_NNODES"), "3");
    assert_string_equal(pairs_get(&env, "PET_NODE_RANK"), "2");
    struct job_place bare = place;
    struct task_place no_ports[3] = { tasks[1], tasks[1], tasks[2] };
    bare.tasks = no_ports;
    pytorch_convention.env(arena, &job, &bare, 0, NULL, &env);
    assert_string_equal(pairs_get(&env, "MASTER_PORT"), "20014");
    arena_destroy(arena);
}

/* ---- ends ---- */

static void test_classify(void **state)
{
    (void)state;
    static const struct {
        struct ending ending;
        enum end_class class;
        int code;
    } rows[] = {
        { { .exited = true, .by = BY_ITSELF }, END_SUCCESS, 0 },
        { { .exited = true, .code = 1, .by = BY_ITSELF }, END_UNKNOWN, 1 },
        { { .exited = true, .code = 127, .by = BY_ITSELF }, END_USER, 127 },
        { { .signal = SIGSEGV, .by = BY_ITSELF }, END_UNKNOWN, 139 },
        { { .signal = SIGKILL, .by = BY_KERNEL, .oom = true }, END_USER, 137 },
        { { .signal = SIGKILL, .by = BY_STRANGER }, END_UNKNOWN, 137 },
        { { .signal = SIGTERM, .by = BY_USER }, END_STOPPED, 143 },
        { { .exited = true, .by = BY_POLICY }, END_STOPPED, 0 },
        { { .signal = SIGKILL, .by = BY_LIMIT }, END_USER, 137 },
        { { .lost = true, .by = BY_PLATFORM }, END_PLATFORM, -1 },
        { { .by = BY_PLATFORM }, END_PLATFORM, -1 },
        { { .by = BY_CONFLICT }, END_CONFLICT, -1 },
        { { .by = BY_ITSELF }, END_USER, -1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct end_words words = native_convention.classify(&job, &rows[i].ending);
        assert_int_equal(words.class, rows[i].class);
        assert_int_equal(words.code, rows[i].code);
        assert_non_null(words.phrase);
        assert_non_null(words.text);
    }
    assert_string_equal(native_convention.job_word(JOB_QUEUED, false), "queued");
    assert_string_equal(native_convention.task_word(TASK_RUNNING), "running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detect),         cmocka_unit_test(test_read_and_write),
        cmocka_unit_test(test_secrets),        cmocka_unit_test(test_native_env),
        cmocka_unit_test(test_too_many_peers), cmocka_unit_test(test_pytorch_env),
        cmocka_unit_test(test_classify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
