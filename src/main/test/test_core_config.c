/* Settings as the core takes them: what "never" and "none" mean there, lists with their values, and
 * a queue that is wrong is named with its place in the file. */
#include "main/core_config.h"

#include "base/file.h"
#include "base/mem.h"
#include "job/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct arena *arena;
    char dir[40], *file;
    const char *flags[SETTING_N];
    struct config config;
    struct ctl_config core;
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    w->arena = arena_create();
    memcpy(w->dir, "/tmp/muster-core-XXXXXX", sizeof "/tmp/muster-core-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    w->file = file_join(w->dir, "config.yaml");
    setenv("XDG_CONFIG_HOME", w->dir, 1);
    unsetenv("MUSTER_CONFIG");
    unsetenv("MUSTER_KEEP");
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    int rc = file_remove_tree(w->dir, NULL);
    free(w->file);
    arena_destroy(w->arena);
    free(w);
    return rc;
}

static int load(struct world *w, const char *text)
{
    assert_int_equal(file_replace(w->file, text, strlen(text), 0600, &w->err), 0);
    w->flags[SETTING_CONFIG] = w->file;
    w->core = (struct ctl_config){ .store = NULL };
    if (config_load(w->arena, w->flags, &w->config, &w->err))
        fail_msg("%s", w->err.what);
    return core_config(w->arena, &w->config, &w->core, &w->err);
}

static void without_any(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, ""), 0);
    assert_int_equal(w->core.queues->n, 1);
    assert_string_equal(w->core.queues->at[0], "default");
    assert_int_equal(w->core.n_declared, 0);
    assert_int_equal(w->core.n_roots, 0);
    assert_int_equal(w->core.prices->n, 0);
    assert_int_equal(w->core.topology->n, 0);
    assert_true(w->core.sandbox && w->core.own_accounts);
    assert_int_equal(w->core.runtime, RUNTIME_AUTO);
    assert_int_equal(w->core.torchrun, TORCHRUN_JOB);
    assert_null(w->core.place_engine);
    assert_true(w->core.keep_ms == 30ull * 86400000);
    assert_int_equal(w->core.port_first, 20000);
    assert_int_equal(w->core.port_last, 32767);
    assert_true(w->core.dialects->n >= 5);
    assert_true(w->core.n_shipped > 0);
}

/* Forever is no very long time: the core knows it as 0, what users had as the largest number. */
static void never_and_none(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, "keep: never\nhalf_life: never\npython: none\n"), 0);
    assert_int_equal(w->core.keep_ms, 0);
    assert_true(w->core.half_life_ms == UINT64_MAX);
    assert_null(w->core.python);
    assert_int_equal(load(w, "keep: 1h\nhalf_life: 1d\n"), 0);
    assert_int_equal(w->core.keep_ms, 3600000);
    assert_int_equal(w->core.half_life_ms, 86400000);
}

/* The words of a choice and the core's own numbers are two orders. */
static void choices(void **state)
{
    static const struct {
        const char *text;
        enum job_runtime runtime;
    } rows[] = { { "runtime: host\n", RUNTIME_HOST },
                 { "runtime: auto\n", RUNTIME_AUTO },
                 { "runtime: bwrap\n", RUNTIME_BWRAP },
                 { "runtime: podman\n", RUNTIME_PODMAN } };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(load(w, rows[i].text), 0);
        assert_int_equal(w->core.runtime, rows[i].runtime);
    }
    assert_int_equal(load(w, "torchrun: always\nengine: slurm\n"), 0);
    assert_int_equal(w->core.torchrun, TORCHRUN_ALWAYS);
    assert_string_equal(w->core.place_engine, "slurm");
    assert_int_equal(load(w, "torchrun: never\nengine: any\nsandbox: off\n"), 0);
    assert_int_equal(w->core.torchrun, TORCHRUN_NEVER);
    assert_null(w->core.place_engine);
    assert_false(w->core.sandbox);
}

static void lists_with_values(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, "roots: hdfs://host:9000/=/data/hdfs,oss://bucket/=/data/oss\n"
                             "prices: A100=2.5,*=1\n"
                             "topology: zone,rack\n"
                             "ports: 30000-30099\n"),
                     0);
    assert_int_equal(w->core.n_roots, 2);
    assert_string_equal(w->core.roots[0].prefix, "hdfs://host:9000/");
    assert_string_equal(w->core.roots[0].dir, "/data/hdfs");
    assert_string_equal(w->core.roots[1].prefix, "oss://bucket/");
    assert_int_equal(w->core.prices->n, 2);
    assert_string_equal(w->core.prices->at[0].name, "A100");
    assert_int_equal(w->core.prices->at[0].milli, 2500);
    assert_string_equal(w->core.prices->at[1].name, "*");
    assert_int_equal(w->core.prices->at[1].milli, 1000);
    assert_int_equal(w->core.topology->n, 2);
    assert_string_equal(w->core.topology->at[0], "zone");
    assert_int_equal(w->core.port_first, 30000);
    assert_int_equal(w->core.port_last, 30099);
}

/* ---- queues ---- */

static void queues_with_shares(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, "queues:\n"
                             "  - plain\n"
                             "  - name: research\n"
                             "    maximum: {gpu: 4}\n"
                             "  - name: vision\n"
                             "    parent: research\n"),
                     0);
    assert_int_equal(w->core.queues->n, 3);
    assert_string_equal(w->core.queues->at[0], "plain");
    assert_string_equal(w->core.queues->at[2], "vision");
    assert_int_equal(w->core.n_declared, 3);
    assert_string_equal(w->core.declared[0].name, "plain");
    assert_string_equal(w->core.declared[1].name, "research");
    assert_string_equal(w->core.declared[2].name, "vision");
    assert_int_equal(load(w, "queues:\n  - plain\n  - vision\n"), 0);
    assert_int_equal(w->core.queues->n, 2);
    assert_int_equal(w->core.n_declared, 0); /* of names alone there is no more to say */
}

/* Who has to mend it looks for the line. */
static void a_wrong_queue_has_a_place(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, "queues:\n"
                             "  - plain\n"
                             "  - name: research\n"
                             "    maximun: {gpu: 4}\n"),
                     -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    const char *place = arena_printf(w->arena, "%s:4:", w->file);
    assert_int_equal(strncmp(w->err.what, place, strlen(place)), 0);
    assert_non_null(strstr(w->err.what, "maximun"));
    assert_non_null(strstr(w->err.hint, "maximum"));
    assert_int_equal(load(w, "queues:\n  - name: research\n    maximum: {gpu: many}\n"), -1);
    assert_non_null(strstr(w->err.what, "many"));
}

/* Rights of a container are what keeps others' jobs from the server's own files. */
static void others_and_no_sandbox(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, "sandbox: off\nshared_account: yes\n"), -1);
    assert_int_equal(w->err.code, ERR_INPUT);
    assert_string_equal(w->err.what, "sandbox is off, and shared_account lets others submit");
    assert_non_null(strstr(w->err.hint, "leave one of them out"));
    assert_int_equal(load(w, "shared_account: yes\n"), 0);
    assert_false(w->core.own_accounts);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_any),           CASE(never_and_none),     CASE(choices),
        CASE(lists_with_values),     CASE(queues_with_shares), CASE(a_wrong_queue_has_a_place),
        CASE(others_and_no_sandbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
