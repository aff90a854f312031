/* Settings: which source wins, what each may say, what is refused and how. Every setting has a row
 * of its own in the table of flags. */
#include "main/config.h"

#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct arena *arena;
    char dir[32], *file;
    const char *flags[SETTING_N];
    struct config config;
    struct err err;
};

static int begin(void **state)
{
    struct world *w = mem_new(sizeof *w);
    w->arena = arena_create();
    memcpy(w->dir, "/tmp/muster-conf-XXXXXX", sizeof "/tmp/muster-conf-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    w->file = file_join(w->dir, "config.yaml");
    setenv("XDG_CONFIG_HOME", w->dir, 1);
    unsetenv("MUSTER_CONFIG");
    unsetenv("MUSTER_KEEP");
    unsetenv("MUSTER_STATE_DIR");
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
    if (text)
        assert_int_equal(file_replace(w->file, text, strlen(text), 0600, &w->err), 0);
    if (text)
        w->flags[SETTING_CONFIG] = w->file;
    return config_load(w->arena, w->flags, &w->config, &w->err);
}

static void is(struct world *w, enum setting s, const char *text, const char *from)
{
    assert_string_equal(w->config.at[s].text, text);
    assert_string_equal(w->config.at[s].from, from);
}

static void nearest_source_wins(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, "keep: 7d\nlog_head: 1Mi\n"), 0);
    is(w, SETTING_KEEP, "7d", "file");
    is(w, SETTING_LOG_HEAD, "1Mi", "file");
    is(w, SETTING_LOG_TAIL, "32Mi", "default");
    setenv("MUSTER_KEEP", "8d", 1);
    assert_int_equal(load(w, NULL), 0);
    is(w, SETTING_KEEP, "8d", "environment");
    w->flags[SETTING_KEEP] = "9d";
    assert_int_equal(load(w, NULL), 0);
    is(w, SETTING_KEEP, "9d", "flag");
    assert_true(config_number(&w->config, SETTING_KEEP) == 9ull * 24 * 3600 * 1000);
    assert_true(config_number(&w->config, SETTING_LOG_HEAD) == 1u << 20);
}

static void defaults_are_readable(void **state)
{
    struct world *w = *state;
    uint32_t first, last;
    struct pairs queues = { .at = NULL };
    assert_int_equal(load(w, NULL), 0);
    config_ports(&w->config, &first, &last);
    assert_true(first == 20000 && last == 32767);
    assert_true(config_number(&w->config, SETTING_IDLE_EXIT) == UINT64_MAX);
    config_list(w->arena, &w->config, SETTING_QUEUES, &queues);
    assert_int_equal(queues.n, 1);
    assert_string_equal(queues.at[0].name, "default");
}

static void lists_and_maps(void **state)
{
    struct world *w = *state;
    struct pairs queues = { .at = NULL }, roots = { .at = NULL };
    assert_int_equal(
        load(w, "# mine\nqueues: [default, vision]\nroots: {\"hdfs://host:9000/\": /data}\n"
                "nodes:\n  - {cpus: 1, memory: 1Gi}\n"),
        0);
    config_list(w->arena, &w->config, SETTING_QUEUES, &queues);
    config_list(w->arena, &w->config, SETTING_ROOTS, &roots);
    assert_int_equal(queues.n, 2);
    assert_string_equal(queues.at[1].name, "vision");
    assert_string_equal(pairs_get(&roots, "hdfs://host:9000/"), "/data");
    assert_non_null(w->config.at[SETTING_NODES].tree);
}

static void queues_may_say_more_than_a_name(void **state)
{
    struct world *w = *state;
    struct pairs names = { .at = NULL };
    assert_int_equal(load(w, "queues: [default, vision]\n"), 0);
    assert_null(config_queues(&w->config));
    assert_int_equal(load(w, "queues:\n- default\n- {name: vision, guaranteed: 40%}\n"), 0);
    is(w, SETTING_QUEUES, "default,vision", "file");
    assert_int_equal(config_queues(&w->config)->count, 2);
    config_list(w->arena, &w->config, SETTING_QUEUES, &names);
    assert_string_equal(names.at[1].name, "vision");
    w->flags[SETTING_QUEUES] = "a,b";
    assert_int_equal(load(w, NULL), 0);
    assert_null(config_queues(&w->config)); /* the flag wins over all of it */
    w->flags[SETTING_QUEUES] = NULL;
    assert_int_equal(load(w, "queues:\n- {guaranteed: 40%}\n"), -1);
    assert_int_equal(load(w, "queues:\n- [a]\n"), -1);
}

static void topology_and_prices(void **state)
{
    static const char *const bad[] = { "prices: A100\n",           "prices: {A100: dear}\n",
                                       "prices: {A100: -1}\n",     "prices: [1]\n",
                                       "prices: {A100: 1.2345}\n", "half_life: often\n" };
    struct world *w = *state;
    struct pairs prices = { .at = NULL }, levels = { .at = NULL };
    assert_int_equal(load(w, "topology: [zone, rack]\nprices: {A100: 2.5, \"*\": 1}\n"
                             "half_life: never\ndefault_run: 2h\n"),
                     0);
    config_list(w->arena, &w->config, SETTING_TOPOLOGY, &levels);
    config_list(w->arena, &w->config, SETTING_PRICES, &prices);
    assert_string_equal(levels.at[1].name, "rack");
    assert_string_equal(pairs_get(&prices, "A100"), "2.5");
    assert_string_equal(pairs_get(&prices, "*"), "1");
    assert_true(config_number(&w->config, SETTING_HALF_LIFE) == UINT64_MAX);
    assert_true(config_number(&w->config, SETTING_DEFAULT_RUN) == 7200000);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (load(w, bad[i]) == 0)
            fail_msg("%s was taken", bad[i]);
    assert_int_equal(load(w, "prices: {A100: -1}\n"), -1);
    assert_string_equal(w->err.hint, "write prices by model: A100=2.5,*=1");
}

static void empty_files_are_fine(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, ""), 0);
    assert_int_equal(load(w, "\n# only a comment\n\n"), 0);
    is(w, SETTING_KEEP, "30d", "default");
}

static void refused(void **state)
{
    static const char *const bad[] = {
        "kep: 7d\n",         "keep: soon\n",         "ports: 9-1\n",  "ports: 80\n",
        "log_level: loud\n", "log_head: big\n",      "- a\n",         "keep: [1]\n",
        "state_dir: /x\n",   "max_connections: 0\n", "a: [\n",        "engine: slrum\n",
        "listen: banana\n",  "listen: here:80\n",    "agents: ::1\n", "listen: 1.2.3.4:x\n",
        "python: /nope\n",   "python: /\n"
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (load(w, bad[i]) == 0)
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(err_exit_status(w->err.code), 2);
    }
    assert_int_equal(load(w, "kep: 7d\n"), -1);
    assert_non_null(strstr(w->err.what, "1:1: unknown setting \"kep\""));
    assert_string_equal(w->err.hint, "\"keep\"?");
}

static void a_named_file_must_be_there(void **state)
{
    struct world *w = *state;
    assert_int_equal(load(w, NULL), 0);
    w->flags[SETTING_CONFIG] = "/nonexistent/config.yaml";
    assert_int_equal(load(w, NULL), -1);
}

static void rows_match_settings(void **state)
{
    struct world *w = *state;
    const struct opt *rows = config_options();
    size_t n = 0;
    for (; rows[n].name; n++) {
        assert_int_equal(rows[n].offset, n * sizeof(char *));
        assert_null(strchr(rows[n].name, '_'));
    }
    assert_int_equal(n, SETTING_N);
    assert_int_equal(load(w, NULL), 0);
    assert_int_equal(config_tree(w->arena, &w->config)->count, SETTING_N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nearest_source_wins, begin, end),
        cmocka_unit_test_setup_teardown(defaults_are_readable, begin, end),
        cmocka_unit_test_setup_teardown(lists_and_maps, begin, end),
        cmocka_unit_test_setup_teardown(queues_may_say_more_than_a_name, begin, end),
        cmocka_unit_test_setup_teardown(topology_and_prices, begin, end),
        cmocka_unit_test_setup_teardown(empty_files_are_fine, begin, end),
        cmocka_unit_test_setup_teardown(refused, begin, end),
        cmocka_unit_test_setup_teardown(a_named_file_must_be_there, begin, end),
        cmocka_unit_test_setup_teardown(rows_match_settings, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
