/* Runs by the names of their directories: those are what a host finds again when it was killed, so
 * one is there from before its keeper is started until the server said that it may go. Directories
 * are removed by a process of its own, because they may be large, from a folder beside them. */
#include "node/host_runs.h"

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "node/programs.h"
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_SIZE 320 /* of a directory */

struct host_run {
    struct host_runs *owner;
    struct generation generation;
    char name[NAME_SIZE];
    struct run *run;  /* NULL: nothing of it lives */
    bool clean;       /* its directory goes with it */
    char reason[256]; /* why it could not be started; "": it was */
    uint32_t mark;    /* as in HOST_START */
};

struct host_runs {
    struct host_runs_config config;
    char *runs, *trash;              /* folders */
    char *cache, *programs, *images; /* of code, of launchers, of images, for all agents */
    struct string_map *by_name;      /* of struct host_run */
    VEC(uv_process_t *) removing;
    uint64_t removed; /* makes names below trash differ */
};

static const char *name_of(const struct host_runs *runs, struct generation g, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "%llu.%u.%s", (unsigned long long)g.job, g.number, runs->config.node);
    return out;
}

static char *dir_of(const struct host_run *one)
{
    return file_join(one->owner->runs, one->name);
}

static struct host_run *find(const struct host_runs *runs, struct generation g)
{
    char name[NAME_SIZE];
    return string_map_get(runs->by_name, name_of(runs, g, name));
}

static struct host_run *add(struct host_runs *runs, struct generation g)
{
    struct host_run *one = mem_new(sizeof *one);
    one->owner = runs;
    one->generation = g;
    name_of(runs, g, one->name);
    string_map_set(runs->by_name, one->name, one);
    return one;
}

/* ---- removing ---- */

static void on_removed(uv_process_t *process, int64_t status, int number)
{
    struct host_runs *runs = process->data;
    (void)status;
    (void)number;
    for (size_t i = 0; i < runs->removing.n; i++)
        if (runs->removing.at[i] == process) {
            vec_remove(&runs->removing, i);
            break;
        }
    uv_close((uv_handle_t *)process, (uv_close_cb)free);
}

static void start_removing(struct host_runs *runs, char *path)
{
    char program[] = "rm", all[] = "-rf", end[] = "--";
    char *argv[] = { program, all, end, path, NULL };
    const uv_process_options_t options = { .exit_cb = on_removed, .file = program, .args = argv };
    uv_process_t *process = mem_new(sizeof *process);
    int rc = uv_spawn(runs->config.loop, process, &options);
    if (rc < 0) {
        log_warn("remove.failed", "path=%s reason=\"%s\"", path, uv_strerror(rc));
        uv_close((uv_handle_t *)process, (uv_close_cb)free);
        return;
    }
    process->data = runs;
    vec_push(&runs->removing, process);
}

static void remove_dir(struct host_runs *runs, const struct host_run *one)
{
    AUTO_FREE char *from = dir_of(one);
    AUTO_FREE char *to =
        mem_printf("%s/%d.%llu", runs->trash, (int)getpid(), (unsigned long long)++runs->removed);
    if (rename(from, to) == 0)
        start_removing(runs, to);
    else if (errno != ENOENT)
        log_warn("remove.failed", "path=%s errno=%d", from, errno);
}

/* ---- marks: in a file of the run's directory, which the next host reads ---- */

#define MARK_FILE "mark"

static void read_mark(struct host_run *one)
{
    AUTO_FREE char *dir = dir_of(one);
    AUTO_FREE char *path = file_join(dir, MARK_FILE);
    AUTO_FREE char *text = NULL;
    size_t len;
    uint64_t mark;
    if (file_read(path, 16, &text, &len, NULL) == 0 && scan_u64(text, 1, UINT32_MAX, &mark))
        one->mark = (uint32_t)mark;
}

static int write_mark(struct host_run *one, uint32_t mark, struct err *err)
{
    AUTO_FREE char *dir = dir_of(one);
    AUTO_FREE char *path = file_join(dir, MARK_FILE);
    char text[16];
    int n = snprintf(text, sizeof text, "%u", mark);
    one->mark = mark;
    return file_mkdirs(dir, 0700, err) < 0
               ? -1
               : file_replace_unsynced(path, text, (size_t)n, 0600, err);
}

/* ---- the end of one ---- */

static void say_ended(const struct host_run *one)
{
    const struct host_runs_config *config = &one->owner->config;
    config->ended(config->arg, one->generation, *one->reason ? one->reason : "its keeper ended");
}

static void forget(struct host_run *one)
{
    remove_dir(one->owner, one);
    string_map_remove(one->owner->by_name, one->name);
    free(one);
}

static void on_ended(struct run *run)
{
    struct host_run *one = run->owner;
    one->run = NULL;
    run_destroy(run);
    say_ended(one);
    if (one->clean)
        forget(one);
}

static struct run *make_run(struct host_run *one)
{
    const struct host_runs_config *config = &one->owner->config;
    AUTO_FREE char *dir = dir_of(one);
    struct run *run = run_create(config->loop, one->generation, config->node, dir);
    run->owner = one;
    run->program = config->program;
    run->ended = on_ended;
    return run;
}

/* ---- those of an earlier host ---- */

/* JOB.GENERATION.NODE */
static bool read_name(const struct host_runs *runs, const char *name, struct generation *g)
{
    char copy[NAME_SIZE], again[NAME_SIZE];
    uint64_t number;
    if ((size_t)snprintf(copy, sizeof copy, "%s", name) >= sizeof copy)
        return false;
    char *rest = copy, *job = strsep(&rest, "."), *generation = strsep(&rest, ".");
    if (!rest || !scan_u64(job, 1, UINT64_MAX, &g->job) ||
        !scan_u64(generation, 1, UINT32_MAX, &number))
        return false;
    g->number = (uint32_t)number;
    return strcmp(name_of(runs, *g, again), name) == 0;
}

static void adopt(struct host_runs *runs, struct generation g)
{
    struct host_run *one = add(runs, g);
    struct run *run = make_run(one);
    read_mark(one);
    int found = run_adopt(run);
    one->run = found ? run : NULL;
    if (found)
        return;
    run_destroy(run); /* no keeper ever began there, so no task did */
    forget(one);
}

static void find_runs(struct host_runs *runs)
{
    DIR *dir = opendir(runs->runs);
    struct generation g;
    for (struct dirent *d; dir && (d = readdir(dir));)
        if (read_name(runs, d->d_name, &g))
            adopt(runs, g);
        else if (d->d_name[0] != '.')
            log_warn("run.strange", "dir=%s/%s note=\"it is left alone\"", runs->runs, d->d_name);
    if (dir)
        closedir(dir);
}

static void empty_trash(struct host_runs *runs)
{
    DIR *dir = opendir(runs->trash);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        AUTO_FREE char *path = file_join(runs->trash, d->d_name);
        if (d->d_name[0] != '.')
            start_removing(runs, path);
    }
    if (dir)
        closedir(dir);
}

struct host_runs *host_runs_create(const struct host_runs_config *config, struct err *err)
{
    AUTO_FREE char *folder = file_join(config->dir, "runs");
    AUTO_FREE char *trash = file_join(config->dir, "trash");
    AUTO_FREE char *programs = file_join(config->dir, "programs");
    if (file_mkdirs(folder, 0700, err) < 0 || file_mkdirs(trash, 0700, err) < 0 ||
        programs_make(programs, config->program, err) < 0)
        return NULL;
    struct host_runs *runs = mem_new(sizeof *runs);
    runs->config = *config;
    runs->runs = TAKE(folder);
    runs->trash = TAKE(trash);
    runs->cache = file_join(config->dir, "code");
    runs->images = file_join(config->dir, "images");
    runs->programs = TAKE(programs);
    runs->by_name = string_map_create();
    empty_trash(runs);
    find_runs(runs);
    return runs;
}

static void drop(void *value)
{
    struct host_run *one = value;
    if (one->run)
        run_destroy(one->run);
    free(one);
}

void host_runs_destroy(struct host_runs *runs)
{
    if (!runs)
        return;
    string_map_destroy_with(runs->by_name, drop);
    for (size_t i = 0; i < runs->removing.n; i++) /* they go on */
        uv_close((uv_handle_t *)runs->removing.at[i], (uv_close_cb)free);
    vec_fini(&runs->removing);
    free(runs->runs);
    free(runs->trash);
    free(runs->cache);
    free(runs->images);
    free(runs->programs);
    free(runs);
}

/* ---- what it is told ---- */

static void spawn(struct host_run *one, const struct wire_host_start *start,
                  const struct server_route *way)
{
    const struct launch own = { .sandbox = start->sandbox };
    const struct run_place place = { .program = one->owner->config.program,
                                     .server = way->server,
                                     .session = way->session,
                                     .session_len = way->session_len,
                                     .token = start->token,
                                     .send_logs = true,
                                     .leave_ms = start->leave_ms,
                                     .code = start->code,
                                     .shared = start->marker,
                                     .cache = one->owner->cache,
                                     .images = one->owner->images,
                                     .programs = one->owner->programs };
    struct err err = { .what = "" };
    one->run = make_run(one);
    if ((!start->mark || write_mark(one, start->mark, &err) == 0) &&
        run_spawn(one->run, &place, &own, &err) == 0)
        return;
    snprintf(one->reason, sizeof one->reason, "%s", err.what);
    log_warn("run.failed", "run=%s reason=\"%s\"", one->name, err.what);
    run_settle(one->run); /* its end is told when nothing lives there */
}

void host_runs_start(struct host_runs *runs, const struct wire_host_start *start,
                     const struct server_route *way)
{
    struct host_run *one = find(runs, start->generation);
    if (!one)
        spawn(add(runs, start->generation), start, way);
    else if (!one->run)
        say_ended(one);
}

void host_runs_end(struct host_runs *runs, struct generation g)
{
    struct host_run *one = find(runs, g);
    if (!one)
        runs->config.ended(runs->config.arg, g, "it is not on this machine");
    else if (!one->run)
        say_ended(one);
    else
        run_settle(one->run);
}

void host_runs_end_all(struct host_runs *runs)
{
    size_t cursor = 0;
    const char *name;
    void *value;
    while (string_map_next(runs->by_name, &cursor, &name, &value)) {
        const struct host_run *one = value;
        if (one->run)
            run_settle(one->run);
    }
}

size_t host_runs_living(const struct host_runs *runs)
{
    size_t cursor = 0, n = 0;
    const char *name;
    void *value;
    while (string_map_next(runs->by_name, &cursor, &name, &value))
        n += ((const struct host_run *)value)->run != NULL;
    return n;
}

void host_runs_clean(struct host_runs *runs, struct generation g)
{
    struct host_run *one = find(runs, g);
    if (one && one->run)
        one->clean = true;
    else if (one)
        forget(one);
}

void host_runs_move(struct host_runs *runs, const char *server)
{
    size_t cursor = 0;
    const char *name;
    void *value;
    while (string_map_next(runs->by_name, &cursor, &name, &value)) {
        const struct host_run *one = value;
        AUTO_FREE char *dir = dir_of(one);
        struct err err;
        if (one->run && run_set_server(dir, server, &err) < 0)
            log_warn("run.conf", "run=%s reason=\"%s\"", name, err.what);
    }
}

void host_runs_list(const struct host_runs *runs, struct arena *a, struct wire_host_runs *out)
{
    size_t cursor = 0;
    const char *name;
    void *value;
    *out = (struct wire_host_runs){ .runs = ARENA_ARRAY(a, string_map_count(runs->by_name) + 1,
                                                        struct wire_host_run) };
    uint32_t *marks = ARENA_ARRAY(a, string_map_count(runs->by_name) + 1, uint32_t);
    while (string_map_next(runs->by_name, &cursor, &name, &value)) {
        const struct host_run *one = value;
        marks[out->n_runs] = one->mark;
        out->n_marks += one->mark != 0;
        out->runs[out->n_runs++] =
            (struct wire_host_run){ .generation = one->generation,
                                    .state = one->run ? HOST_RUN_LIVES : HOST_RUN_ENDED };
    }
    if (out->n_marks) {
        out->marks = marks;
        out->n_marks = out->n_runs;
    }
}
