/* Reads what a simulation is made of, runs it, writes what is wanted of its result. Progress is for
 * terminals, and for runs that one has to wait for. */
#include "main/simulate_main.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/output.h"
#include "main/config.h"
#include "main/nodes.h"
#include "main/wire.h"
#include "sim/nodes_openb.h"
#include "sim/report.h"
#include "sim/result.h"
#include "text/detect.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define FILE_BYTES    (1u << 30)
#define OUT_BYTES     (64u << 20)
#define PROGRESS_MS   1000
#define PROGRESS_EACH 200

struct run {
    const struct cli_simulation *ask;
    struct arena *arena;
    struct report report; /* of the file that is being read */
    struct node_list nodes;
    struct workload workload;
    struct sim_settings settings;
    uint64_t violations;
    uint64_t untrue; /* answers of explain that did not come true although nothing changed */
    uint64_t began_us, told_us;
    bool told;
};

/* ---- reading ---- */

static int say_problems(const struct run *run, const char *file, const char *text, size_t len,
                        struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(OUT_BYTES);
    report_print(&run->report, file, text, len, out_color_err(), &out);
    if (out.len)
        fputs(buf_str(&out), stderr);
    if (report_ok(&run->report))
        return 0;
    size_t n = run->report.errors;
    return err_set(err, ERR_INPUT, "%zu error%s in %s; nothing was run", n, n == 1 ? "" : "s",
                   file);
}

/* A mark that some editors put before a text. */
static void drop_mark(char *data, size_t *len)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t n = sizeof mark - 1;
    if (*len < n || memcmp(data, mark, n) != 0)
        return;
    *len -= n;
    memmove(data, data + n, *len + 1);
}

/* A server's settings file will do, and what is none of its settings is a slip. */
static void read_settings(struct run *run, const struct text_node *root)
{
    const char *known[SETTING_N];
    for (size_t i = 0; i < SETTING_N; i++)
        known[i] = setting_key((enum setting)i);
    for (const struct text_node *n = root->first; n; n = n->next) {
        size_t i = 0;
        while (i < SETTING_N && strcmp(known[i], n->key) != 0)
            i++;
        if (i < SETTING_N)
            continue;
        struct problem *p =
            report_error(&run->report, n->key_place, n->key, "unknown setting \"%.60s\"", n->key);
        const char *near = scan_nearest(n->key, known, SETTING_N);
        if (near)
            report_hint(&run->report, p, "\"%s\"?", near);
        else
            report_hint(&run->report, p, "nodes " DECLARATIONS_KEYS);
    }
    declarations_read(&run->workload.says, root, &run->report);
}

static int read_nodes(struct run *run, const char *text, size_t len, struct err *err)
{
    if (nodes_openb_detect(text, len)) {
        nodes_openb_read(text, len, &run->nodes.at, &run->nodes.n, &run->report);
        return 0;
    }
    const struct text_node *root = text_parse(run->arena, text, len, &run->report);
    const struct text_node *list = root && root->kind == TEXT_MAP ? text_get(root, "nodes") : root;
    if (!report_ok(&run->report))
        return 0;
    if (root && root->kind == TEXT_MAP)
        read_settings(run, root);
    if (list && list->kind == TEXT_STR)
        return nodes_parse(run->arena, list->str, "localhost", &run->nodes, err);
    if (list && list->kind == TEXT_LIST)
        return nodes_read(run->arena, list, "localhost", &run->nodes, err);
    struct problem *p =
        report_error(&run->report, (struct place){ 0 }, "", "there are no nodes in it");
    report_hint(&run->report, p, "nodes: [{count: 4, cpus: 16, memory: 64Gi, gpus: 4}]");
    return 0;
}

static int read_cluster(struct run *run, struct err *err)
{
    const char *file = run->ask->cluster;
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    if (file_read(file, FILE_BYTES, &data, &len, err))
        return -1;
    drop_mark(data, &len);
    report_init(&run->report, run->arena);
    if (read_nodes(run, data, len, err))
        return err_in(err, "%s", file);
    /* Each node is a machine of its own: ports are not shared. */
    for (size_t i = 0; i < run->nodes.n; i++)
        run->nodes.at[i].host = run->nodes.at[i].name;
    return say_problems(run, file, data, len, err);
}

static void check_outages(struct run *run)
{
    for (size_t i = 0; i < run->workload.n_outages; i++) {
        const struct outage *out = &run->workload.outages[i];
        bool found = false;
        for (size_t k = 0; k < run->nodes.n && !found; k++)
            found = strcmp(run->nodes.at[k].name, out->node) == 0;
        if (found)
            continue;
        struct problem *p = report_error(&run->report, out->place, "failures",
                                         "failures[%zu].node is \"%.60s\"", i, out->node);
        report_hint(&run->report, p, "a node of %s, %s for one", run->ask->cluster,
                    run->nodes.at[0].name);
    }
}

/* Where queues are declared, no others are known. */
static void check_queues(struct run *run)
{
    const struct workload *w = &run->workload;
    struct world world;
    struct err err;
    const struct sim_settings none = { .seed = 0 };
    if (!w->says.queues || world_make(run->arena, &w->says, &w->queues, &none, &world, &err))
        return;
    for (size_t i = 0; i < w->n_patterns; i++) {
        const char *queue = w->patterns[i].spec->queue ? w->patterns[i].spec->queue : "";
        if (world_has_queue(&world, queue))
            continue;
        struct problem *p = report_error(&run->report, w->patterns[i].place, "queue",
                                         "there is no queue \"%.80s\"", queue);
        const char *near = scan_nearest(queue, world.queues.at, world.queues.n);
        if (near)
            report_hint(&run->report, p, "\"%.80s\"?", near);
        else
            report_hint(&run->report, p, "one that is declared: \"%.80s\", ...",
                        world.queues.at[0]);
    }
}

static int read_workload(struct run *run, struct err *err)
{
    const char *file = run->ask->workload;
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    if (file_read(file, FILE_BYTES, &data, &len, err))
        return -1;
    drop_mark(data, &len);
    report_init(&run->report, run->arena);
    workload_read(wire_dialects(), data, len, &run->workload, &run->report);
    check_outages(run);
    check_queues(run);
    return say_problems(run, file, data, len, err);
}

/* ---- running ---- */

static void on_progress(void *arg, uint64_t inputs, size_t came)
{
    struct run *run = arg;
    uint64_t now = clock_mono_us();
    if (now - run->began_us < PROGRESS_MS * 1000 || now - run->told_us < PROGRESS_EACH * 1000)
        return;
    run->told_us = now;
    run->told = true;
    AUTO_BUF struct buf line = BUF_INIT(4096);
    buf_addf(&line, "\r%3.0f %%  %llu events, %zu of %zu jobs\033[K",
             100.0 * (double)came / (double)run->workload.n_arrivals, (unsigned long long)inputs,
             came, run->workload.n_arrivals);
    out_screen(STDERR_FILENO, &line);
}

static void say_speed(const struct run *run, struct simulation *sim)
{
    double seconds = (double)(clock_mono_us() - run->began_us) / 1e6;
    uint64_t inputs = simulation_inputs(sim);
    char clear[] = "\r\033[K";
    if (run->told)
        out_screen(STDERR_FILENO, &(struct buf){ .data = clear, .len = sizeof clear - 1 });
    if (!run->ask->quiet)
        fprintf(stderr, "%llu events (%llu rows) in %.2f s, %.0f a second\n",
                (unsigned long long)inputs, (unsigned long long)simulation_score(sim)->rows,
                seconds, (double)inputs / (seconds > 0 ? seconds : 1e-6));
}

/* ---- writing ---- */

static int put(const char *file, const struct buf *text, struct err *err)
{
    if (text->overflow)
        return err_set(err, ERR_TOO_LARGE, "%s: more than %u bytes", file, OUT_BYTES);
    if (strcmp(file, "-") != 0)
        return file_replace(file, buf_str(text), text->len, 0644, err);
    out_buf(text);
    return 0;
}

static bool to_stdout(const char *file)
{
    return file && strcmp(file, "-") == 0;
}

static int write_all(const struct run *run, const struct text_node *result, struct err *err)
{
    const struct cli_simulation *ask = run->ask;
    AUTO_BUF struct buf json = BUF_INIT(OUT_BYTES);
    AUTO_BUF struct buf page = BUF_INIT(OUT_BYTES);
    AUTO_BUF struct buf table = BUF_INIT(OUT_BYTES);
    if (ask->json) {
        json_print(result, 0, &json);
        buf_putc(&json, '\n');
        if (put(ask->json, &json, err))
            return -1;
    }
    if (ask->html) {
        const char *title = arena_printf(run->arena, "%s on %s", ask->workload, ask->cluster);
        report_page(result, title, &page);
        if (put(ask->html, &page, err))
            return -1;
    }
    if (ask->quiet || to_stdout(ask->json) || to_stdout(ask->html))
        return 0;
    report_text(result, &table);
    return put("-", &table, err);
}

static int settle(struct run *run, const char *more, struct sim_settings *settings, struct err *err)
{
    *settings = run->settings;
    return more ? sim_settings_add(run->arena, settings, more, err) : 0;
}

/* One run with these settings; its result. NULL: err. */
static const struct text_node *result_of(struct run *run, const struct sim_settings *settings,
                                         struct err *err)
{
    struct simulation_config config = { .dialects = wire_dialects(),
                                        .nodes = run->nodes.at,
                                        .n_nodes = run->nodes.n,
                                        .workload = &run->workload,
                                        .settings = *settings,
                                        .explain_every = run->ask->explain,
                                        .progress = isatty(STDERR_FILENO) ? on_progress : NULL,
                                        .progress_arg = run };
    if (world_make(run->arena, &run->workload.says, &run->workload.queues, settings, &config.world,
                   err))
        return NULL;
    struct simulation *sim = simulation_create(&config, err);
    if (!sim)
        return NULL;
    run->began_us = clock_mono_us();
    simulation_run(sim);
    say_speed(run, sim);
    const struct text_node *result = result_make(run->arena, &config, sim);
    if (simulation_explained(sim)) {
        const struct explain_check_figures f = explain_check_figures(simulation_explained(sim));
        run->untrue += f.beaten + f.wrong;
    }
    run->violations += promises_counts(simulation_promises(sim)).late[BREAK_NONE];
    simulation_destroy(sim);
    return result;
}

static int simulate_both(struct run *run, struct err *err)
{
    const struct cli_simulation *ask = run->ask;
    struct sim_settings settings[2];
    const struct text_node *results[2];
    AUTO_BUF struct buf out = BUF_INIT(OUT_BYTES);
    if (settle(run, ask->a, &settings[0], err) || settle(run, ask->b, &settings[1], err))
        return -1;
    for (int i = 0; i < 2; i++)
        if (!(results[i] = result_of(run, &settings[i], err)))
            return -1;
    buf_addf(&out, "A: %s\nB: %s\n\n", *ask->a ? ask->a : "as it is",
             *ask->b ? ask->b : "as it is");
    report_compare(results[0], results[1], &out);
    return put("-", &out, err);
}

static int simulate(struct run *run, struct err *err)
{
    const struct cli_simulation *ask = run->ask;
    run->settings.seed = ask->seed;
    for (size_t i = 0; i < ask->n_policies; i++)
        if (sim_settings_add(run->arena, &run->settings, ask->policies[i], err))
            return -1;
    if (read_cluster(run, err) || read_workload(run, err))
        return -1;
    log_set_level(LOG_ERROR); /* lost nodes are what was asked for */
    mem_hold(64 << 20);
    const struct text_node *result = NULL;
    if (ask->a ? simulate_both(run, err)
               : !(result = result_of(run, &run->settings, err)) || write_all(run, result, err))
        return -1;
    if (run->violations == 0 && run->untrue)
        return err_set(err, ERR_SYSTEM, "%llu answers of explain did not come true",
                       (unsigned long long)run->untrue);
    if (run->violations == 0)
        return 0;
    err_set(err, ERR_SYSTEM, "%llu promises were broken while all that they rest on was true",
            (unsigned long long)run->violations);
    return err_hint(err, "that is a fault of the scheduler: please report it with these files");
}

int simulate_main(const struct cli_simulation *ask, struct err *err)
{
    struct run run = { .ask = ask, .arena = arena_create() };
    int rc = simulate(&run, err);
    arena_destroy(run.arena);
    return rc;
}

static const struct text_node *read_result(struct arena *arena, const char *file, struct err *err)
{
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    if (file_read(file, OUT_BYTES, &data, &len, err))
        return NULL;
    return result_read(arena, file, data, len, err);
}

int simulate_compare(const char *a, const char *b, struct err *err)
{
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(OUT_BYTES);
    const struct text_node *first = read_result(arena, a, err);
    const struct text_node *second = first ? read_result(arena, b, err) : NULL;
    if (second) {
        report_compare(first, second, &out);
        out_buf(&out);
    }
    arena_destroy(arena);
    return second ? 0 : -1;
}
