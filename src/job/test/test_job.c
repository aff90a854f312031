/* The canonical job: the examples of the format, the short form, --set, and the property that
 * decoding what was encoded gives the same job, for random jobs made from the field tables. */
#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "job/field_value.h"
#include "job/job_fields.h"
#include "job/record.h"
#include "text/detect.h"
#include "text/json.h"
#include "text/yaml.h"

#include <string.h>

static struct text_node *parse(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    struct text_node *root = text_parse(arena, text, strlen(text), &report);
    assert_non_null(root);
    assert_true(report_ok(&report));
    return root;
}

static struct job_spec *decode(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    struct job_spec *job = job_decode(arena, parse(arena, text), &report);
    if (!job)
        print_message("%s\n", report.at[0].what);
    assert_non_null(job);
    return job;
}

static const char *yaml(struct arena *arena, const struct text_node *tree)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    yaml_print(tree, &out);
    return arena_strdup(arena, buf_str(&out));
}

/* ---- examples ---- */

static const char full[] =
    "muster: 1\n"
    "name: digits\n"
    "queue: vision\n"
    "priority: 7\n"
    "labels: {team: vision}\n"
    "after: [{job: 11, ended: well}, prep, {job: 12, ended: any}]\n"
    "limits: {run_time: 2h, pending: none, grace: 5s, hold: 0, keep: 30d}\n"
    "retry: {scope: job, platform: 3, unknown: 1, conflict: always, user: 0}\n"
    "roles:\n"
    "  worker:\n"
    "    replicas: {min: 3, max: 4}\n"
    "    run: torchrun --nproc-per-node 2 train.py --epochs 5\n"
    "    image: docker.io/pytorch/pytorch:2.13\n"
    "    resources: {cpu: 4, memory: 16Gi, shm: 2Gi, gpu: 2, gpu_type: A100, licence: 1}\n"
    "    env: {BATCH: \"64\", RATE: 0.1}\n"
    "    ports: {metrics: 1, web: {count: 2, first: 8080}}\n"
    "    done: {failed: never, succeeded: 2}\n"
    "  ps:\n"
    "    replicas: 2\n"
    "    argv: [python, ps.py]\n"
    "    after: worker\n"
    "    resources: {cpu: 0.5, memory: 8Gi}\n"
    "gang:\n"
    "  - {name: digits, roles: [worker, ps], min: 5}\n"
    "place:\n"
    "  together: [[worker, ps]]\n"
    "  spread: [ps]\n"
    "  topology: {within: rack, required: true}\n"
    "inputs:\n"
    "  code: {git: https://git.example/digits, at: v1.2}\n"
    "  data: [{from: s3://digits/train, at: /data, read_only: true}]\n"
    "  python: [numpy==2.1]\n"
    "output: file:///results/digits\n"
    "health: {check: before_start, hang_after: 10m}\n"
    "conventions: [pytorch]\n"
    "config: {lr: 0.01}\n";

static void check_full_roles(const struct job_spec *job)
{
    const struct role *worker = &job->roles[0], *ps = &job->roles[1];
    assert_string_equal(worker->name, "worker");
    assert_int_equal(worker->min, 3);
    assert_int_equal(worker->replicas, 4);
    assert_int_equal(worker->resources.cpu_milli, 4000);
    assert_int_equal(worker->resources.memory, UINT64_C(16) << 30);
    assert_int_equal(worker->resources.gpu_milli, 2000);
    assert_string_equal(worker->resources.gpu_types.at[0], "A100");
    assert_string_equal(worker->resources.custom.at[0].name, "licence");
    assert_int_equal(worker->resources.custom.at[0].milli, 1000);
    assert_string_equal(pairs_get(&worker->env, "RATE"), "0.1");
    assert_int_equal(worker->n_ports, 2);
    assert_string_equal(worker->ports[1].label, "web");
    assert_int_equal(worker->ports[1].first, 8080);
    assert_int_equal(worker->ports[1].count, 2);
    assert_int_equal(worker->done.failed.kind, COUNT_NEVER);
    assert_int_equal(worker->done.succeeded.n, 2);
    assert_int_equal(worker->place.line, 11);
    assert_int_equal(ps->min, 2);
    assert_int_equal(ps->resources.cpu_milli, 500);
    assert_string_equal(ps->argv.at[1], "ps.py");
    assert_string_equal(ps->after.at[0], "worker");
}

/* ---- records ---- */

/* Free trees too: the text is gone, and everything is there. */
static void stored(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    AUTO_BUF struct buf text = BUF_INIT(1 << 20);
    json_print(job_encode(arena, decode(arena, full)), 0, &text);
    char *read = mem_strdup(buf_str(&text));
    const struct job_spec *job = job_of_text(arena, read);
    free(read);
    assert_non_null(job);
    assert_string_equal(job->name, "digits");
    assert_string_equal(text_get(job->config, "lr")->str, "0.01");
    assert_null(job_of_text(arena, NULL));
    assert_null(job_of_text(arena, "{\"muster\":1"));
    assert_null(job_of_text(arena, "{\"muster\":1,\"nam\":\"a\"}"));
    arena_destroy(arena);
}

static void test_full(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const struct job_spec *job = decode(arena, full);
    assert_string_equal(job->name, "digits");
    assert_int_equal(job->priority, 7);
    assert_int_equal(job->n_after, 3);
    assert_int_equal(job->after[0].job, 11);
    assert_string_equal(job->after[1].job_name, "prep");
    assert_string_equal(job->after[1].ended, "well");
    assert_string_equal(job->after[2].ended, "any");
    assert_int_equal(job->limits.run_time_ms.value, 7200000);
    assert_false(job->limits.pending_ms.has);
    assert_int_equal(job->limits.grace_ms, 5000);
    assert_int_equal(job->retry.scope, RETRY_SCOPE_JOB);
    assert_int_equal(job->retry.unknown.n, 1);
    assert_int_equal(job->retry.user.kind, COUNT_NEVER);
    check_full_roles(job);
    assert_int_equal(job->gangs[0].min, 5);
    assert_string_equal(job->placing.together[0].roles.at[1], "ps");
    assert_true(job->placing.within_required);
    assert_string_equal(job->inputs.code.at, "v1.2");
    assert_true(job->inputs.data[0].read_only);
    assert_true(job->health.check_before_start);
    assert_int_equal(job->health.hang_after_ms.value, 600000);
    assert_int_equal(job_task_count(job), 6);
    assert_int_equal(job_task_flat(job, 1, 1), 5);
    uint32_t position = 9;
    assert_ptr_equal(job_role(job, "ps", &position), &job->roles[1]);
    assert_int_equal(position, 1);
    assert_null(job_role(job, "none", NULL));
    const char *once = yaml(arena, job_encode(arena, job));
    assert_string_equal(yaml(arena, job_encode(arena, decode(arena, once))), once);
    arena_destroy(arena);
}

static void test_smallest(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const struct job_spec *job =
        decode(arena, "name: hello\nrun: python train.py\nreplicas: 4\nresources: {gpu: 1}\n");
    assert_int_equal(job->n_roles, 1);
    assert_string_equal(job->roles[0].name, "worker");
    assert_int_equal(job->roles[0].replicas, 4);
    assert_int_equal(job->roles[0].min, 4);
    assert_int_equal(job->roles[0].resources.gpu_milli, 1000);
    assert_string_equal(yaml(arena, job_encode(arena, job)),
                        "muster: 1\nname: hello\nroles:\n  worker:\n    replicas: 4\n"
                        "    run: python train.py\n    resources:\n      gpu: 1\n");
    arena_destroy(arena);
}

/* They are tasks of the role, and no more than replicas work at a time. */
static void test_spares(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    static const char text[] = "muster: 1\nname: a\nroles:\n  w:\n    replicas: 3\n    spares: 1\n"
                               "    run: torchrun t.py\n    launcher:\n      max_restarts: 3\n";
    const struct job_spec *job = decode(arena, text);
    assert_int_equal(job->roles[0].replicas, 4);
    assert_int_equal(job->roles[0].min, 3);
    assert_int_equal(job->roles[0].spares, 1);
    assert_string_equal(yaml(arena, job_encode(arena, job)), text);
    arena_destroy(arena);
}

static void test_defaults(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const struct job_spec *job = job_new(arena);
    assert_int_equal(job->priority, 5);
    assert_int_equal(job->limits.grace_ms, 10000);
    assert_int_equal(job->retry.scope, RETRY_SCOPE_TASK);
    assert_int_equal(job->retry.platform.n, 3);
    assert_int_equal(job->retry.conflict.kind, COUNT_ALWAYS);
    assert_int_equal(job->retry.unknown.kind, COUNT_NEVER);
    assert_int_equal(job->retry.backoff_ms, 1000);
    assert_int_equal(job->retry.backoff_max_ms, 60000);
    assert_int_equal(job->capacity, CAPACITY_GUARANTEED);
    struct role role;
    role_init(&role);
    assert_int_equal(role.replicas, 1);
    assert_int_equal(role.min, 1);
    assert_int_equal(role.done.failed.n, 1);
    assert_int_equal(role.done.succeeded.kind, COUNT_ALWAYS);
    arena_destroy(arena);
}

/* ---- --set ---- */

static const struct {
    const char *tree, *set, *after; /* after NULL: refused */
} sets[] = {
    { "{\"roles\":{\"w\":{\"replicas\":4}}}", "roles.w.replicas=2",
      "{\"roles\":{\"w\":{\"replicas\":2}}}" },
    { "{\"roles\":{\"w\":{}}}", "replicas=2", "{\"roles\":{\"w\":{\"replicas\":2}}}" },
    { "{\"roles\":{\"w\":{}}}", "roles.w.resources.gpu=0.5",
      "{\"roles\":{\"w\":{\"resources\":{\"gpu\":0.5}}}}" },
    { "{\"roles\":{\"a.b\":{\"run\":\"x\"}}}", "roles.a.b.run=y=z: {",
      "{\"roles\":{\"a.b\":{\"run\":\"y=z: {\"}}}" },
    { "{}", "retry={platform: 1, user: always}",
      "{\"retry\":{\"platform\":1,\"user\":\"always\"}}" },
    { "{}", "conventions=[pytorch]", "{\"conventions\":[\"pytorch\"]}" },
    { "{}", "name=\"12\"", "{\"name\":\"12\"}" },
    { "{\"suspend\":false,\"queue\":\"q\"}", "suspend=true", "{\"suspend\":true,\"queue\":\"q\"}" },
    { "{\"after\":[{\"job\":1},{\"job\":2}]}", "after[1].job=9",
      "{\"after\":[{\"job\":1},{\"job\":9}]}" },
    { "{\"queue\":\"q\"}", "queue=", "{\"queue\":null}" },
    { "{}", "limits.run_time=2h", "{\"limits\":{\"run_time\":\"2h\"}}" },
    { "{}", "nothing", NULL },
    { "{}", "=1", NULL },
    { "{\"roles\":{\"a\":{},\"b\":{}}}", "replicas=2", NULL },
    { "{\"after\":[1]}", "after[1]=9", NULL },
    { "{\"queue\":\"q\"}", "queue.x=9", NULL },
    { "{}", "retry={platform: 1", NULL },
};

static void test_some(void **state)
{
    static const char *const some[] = { "labels", "limits", "extra" };
    struct arena *arena = arena_create();
    const struct text_node *whole = job_encode(arena, decode(arena, full));
    struct text_node *part = text_map(arena, NULL, NULL);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(some); i++)
        if (text_get(whole, some[i]))
            text_share(arena, part, some[i], text_get(whole, some[i]));
    const struct job_spec *job = job_decode_some(arena, part);
    assert_string_equal(pairs_get(&job->labels, "team"), "vision");
    assert_int_equal(job->limits.run_time_ms.value, 2 * 3600 * 1000);
    assert_int_equal(job->priority, job_new(arena)->priority);
    assert_null(job->name);
    assert_int_equal(job->n_roles, 0);
    arena_destroy(arena);
}

static void test_set(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        AUTO_BUF struct buf out = BUF_INIT(10000);
        struct err err = { 0 };
        struct text_node *tree = parse(arena, sets[i].tree);
        int rc = job_tree_set(arena, tree, sets[i].set, &err);
        assert_int_equal(rc, sets[i].after ? 0 : -1);
        if (!sets[i].after) {
            assert_int_equal(err.code, ERR_INPUT);
            assert_non_null(strstr(err.what, "--set"));
            continue;
        }
        json_print(tree, 0, &out);
        assert_string_equal(buf_str(&out), sets[i].after);
    }
    arena_destroy(arena);
}

/* ---- the property ---- */

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static const char *random_text(uint32_t *seed, const struct field *f)
{
    static const char *const any[] = { "a",   "x y",  "64",   "true",  "null",     "- x",
                                       "#",   "a: b", "it's", "\"q\"", "äö\n z\n", "~",
                                       "1e3", "0x1f", "{",    " lead", "tab\t" };
    static const char *const names[] = { "worker", "ps", "chief.0", "e~v", "A-1", "64" };
    while (f->chars) {
        const char *name = names[random_below(seed, sizeof names / sizeof *names)];
        if (f->chars->ok(name))
            return name;
    }
    return any[random_below(seed, sizeof any / sizeof *any)];
}

static void put_table(struct arena *, struct text_node *, const char *, const struct field *,
                      uint32_t *seed);

static void put_element(struct arena *arena, struct text_node *parent, const char *key,
                        const struct field *f, uint32_t *seed)
{
    put_table(arena, parent, key, f->table, seed);
}

static void put_custom(struct arena *arena, struct text_node *parent, const struct field *f,
                       uint32_t *seed)
{
    if (strcmp(f->name, "replicas") == 0 && random_below(seed, 2)) {
        struct text_node *map = text_map(arena, parent, f->name);
        text_int(arena, map, "min", 1 + random_below(seed, 4));
        text_int(arena, map, "max", 4 + random_below(seed, 4));
    } else if (strcmp(f->name, "muster") == 0) {
        text_int(arena, parent, f->name, 1);
    } else {
        text_int(arena, parent, f->name, 1 + random_below(seed, 9));
    }
}

static void put_count(struct arena *arena, struct text_node *parent, const struct field *f,
                      uint32_t *seed)
{
    if (random_below(seed, 2))
        text_int(arena, parent, f->name, 1 + random_below(seed, 9));
    else if (f->counts & FIELD_NEVER)
        text_str(arena, parent, f->name, "never");
    else
        text_str(arena, parent, f->name, field_count_word(f));
}

static void put_number(struct arena *arena, struct text_node *parent, const struct field *f,
                       uint32_t *seed)
{
    uint64_t most = f->max ? f->max : UINT32_MAX, span = most - f->min;
    uint64_t value = f->min + random_below(seed, span < 1000 ? (uint32_t)span + 1 : 1000);
    if (f->type == FIELD_MILLI && value % 2)
        text_real(arena, parent, f->name, (double)value / 1000);
    else if (f->type == FIELD_MILLI)
        text_int(arena, parent, f->name, (int64_t)(value / 1000));
    else if (f->type == FIELD_SIZE && value % 2)
        text_str(arena, parent, f->name, arena_printf(arena, "%uMi", (unsigned)value));
    else if (f->type == FIELD_DURATION || f->type == FIELD_MAYBE_DURATION)
        text_str(arena, parent, f->name, arena_printf(arena, "%llums", (unsigned long long)value));
    else
        text_int(arena, parent, f->name, (int64_t)value);
}

static void put_many(struct arena *arena, struct text_node *parent, const struct field *f,
                     uint32_t *seed)
{
    bool list = f->type == FIELD_LIST || f->type == FIELD_WORDS;
    struct text_node *into =
        list ? text_list(arena, parent, f->name) : text_map(arena, parent, f->name);
    for (uint32_t i = random_below(seed, 4); i > 0; i--) {
        const char *key = list ? NULL : arena_printf(arena, "key%u", i);
        if (f->table)
            put_element(arena, into, key, f, seed);
        else if (f->type == FIELD_AMOUNTS)
            text_real(arena, into, key, 0.25 * i);
        else
            text_str(arena, into, key, random_text(seed, f));
    }
}

static void put_field(struct arena *arena, struct text_node *parent, const struct field *f,
                      uint32_t *seed)
{
    switch (f->type) {
    case FIELD_TEXT: text_str(arena, parent, f->name, random_text(seed, f)); break;
    case FIELD_BOOL: text_bool(arena, parent, f->name, random_below(seed, 2)); break;
    case FIELD_ENUM:
    case FIELD_WORD: {
        uint32_t n = 0;
        while (f->words[n].word)
            n++;
        text_str(arena, parent, f->name, f->words[random_below(seed, n)].word);
        break;
    }
    case FIELD_COUNT: put_count(arena, parent, f, seed); break;
    case FIELD_OBJECT: put_table(arena, parent, f->name, f->table, seed); break;
    case FIELD_WORDS:
    case FIELD_PAIRS:
    case FIELD_AMOUNTS:
    case FIELD_LIST:
    case FIELD_MAP: put_many(arena, parent, f, seed); break;
    case FIELD_TREE:
        text_str(arena, text_map(arena, parent, f->name), "free", random_text(seed, f));
        break;
    case FIELD_CUSTOM: put_custom(arena, parent, f, seed); break;
    default: put_number(arena, parent, f, seed); break;
    }
}

static void put_table(struct arena *arena, struct text_node *parent, const char *key,
                      const struct field *table, uint32_t *seed)
{
    struct text_node *map = text_map(arena, parent, key);
    for (const struct field *f = table; f->name; f++) {
        if (f->flags & FIELD_REST)
            text_real(arena, map, "licence", 0.5);
        else if ((f->flags & FIELD_REQUIRED) || random_below(seed, 2))
            put_field(arena, map, f, seed);
    }
}

/* Without the rules across fields, which random jobs rarely keep. */
static struct text_node *through(struct arena *arena, const struct text_node *tree)
{
    struct job_spec *job = job_new(arena);
    struct report report;
    report_init(&report, arena);
    if (field_decode(arena, tree, job_fields, job, "", &report) != 0)
        fail_msg("%s", report.at[0].what);
    return job_encode(arena, job);
}

static void test_decode_of_encode(void **state)
{
    (void)state;
    uint32_t seed = 20260101;
    for (int i = 0; i < 400; i++) {
        struct arena *arena = arena_create();
        struct text_node *root = text_map(arena, NULL, NULL);
        put_table(arena, root, "job", job_fields, &seed);
        struct text_node *once = through(arena, text_get(root, "job"));
        struct text_node *twice = through(arena, once);
        assert_true(text_equal(once, twice));
        /* and through both texts */
        AUTO_BUF struct buf json = BUF_INIT(1 << 20);
        json_print(once, i % 3, &json);
        assert_true(text_equal(once, through(arena, parse(arena, buf_str(&json)))));
        const char *text = yaml(arena, once);
        assert_true(text_equal(once, through(arena, parse(arena, text))));
        assert_string_equal(yaml(arena, twice), text);
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored),        cmocka_unit_test(test_full),
        cmocka_unit_test(test_smallest), cmocka_unit_test(test_spares),
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_some),
        cmocka_unit_test(test_set),      cmocka_unit_test(test_decode_of_encode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
