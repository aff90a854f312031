/* Looks through the directories of runs, RUNS/NUMBER/gGENERATION/NODE. What lives in one of a job
 * that no row knows is a stranger. What lives in one of a job that has not ended, and that its rows
 * do not know, was started after these rows were: they went back, and the job goes on from what
 * they say. That run is ended before anything is started, because it does what will be done again,
 * and has the directory, the devices and the ports for it. Whether something lives in a directory
 * is the engine's to say. */
#include "inventory/strangers.h"

#include "engine/engine.h"
#include "job/launch.h"
#include "live/live.h"
#include "store/store.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"

#include <dirent.h>
#include <string.h>

struct strangers {
    struct strangers_config config;
    VEC(struct stranger {
        uint64_t number;
        char *dir;
        struct engine_stranger run;
    })
    all;
};

static void leave(struct strangers *s, uint64_t number, const char *dir)
{
    struct engine *engine = s->config.engine;
    struct engine_stranger found;
    if (engine->ops->leave(engine, dir, &found) != 1)
        return;
    struct stranger *one = vec_add(&s->all);
    *one = (struct stranger){ .number = number, .dir = mem_strdup(dir), .run = found };
    log_warn("records.stranger",
             "number=%llu node=%s pid=%u dir=%s note=\"it runs, and the records do not know its "
             "job: it is left alone\"",
             (unsigned long long)number, found.node, found.pid, dir);
}

static bool is_known(const struct strangers *s, const struct live_job *job, const char *dir)
{
    const struct live_agent *agent = live_agent(job, strrchr(dir, '/') + 1);
    if (!agent || !agent->launched)
        return false;
    AUTO_FREE char *its =
        launch_dir(s->config.runs_dir, job->row.number, job->row.generation, agent->node);
    return strcmp(its, dir) == 0;
}

static void end(const struct strangers *s, const struct live_job *job, const char *dir)
{
    struct engine *engine = s->config.engine;
    struct engine_stranger found;
    struct err err;
    int rc = engine->ops->end(engine, dir, &found, &err);
    if (rc > 0)
        log_warn("records.went_back",
                 "job=%llu node=%s pid=%u dir=%s note=\"it ran, and the records of its job do not "
                 "know it: it was ended\"",
                 (unsigned long long)job->row.number, found.node, found.pid, dir);
    else if (rc < 0)
        log_error("records.went_back", "job=%llu: %s", (unsigned long long)job->row.number,
                  err.what);
}

/* Each entry below dir, that many levels down. job NULL: no row knows it. */
static void walk(struct strangers *s, uint64_t number, const struct live_job *job, const char *dir,
                 unsigned levels)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_FREE char *path = mem_printf("%s/%s", dir, entry->d_name);
        if (levels > 1)
            walk(s, number, job, path, levels - 1);
        else if (!job)
            leave(s, number, path);
        else if (!is_known(s, job, path))
            end(s, job, path);
    }
    if (d)
        closedir(d);
}

struct strangers *strangers_find(const struct strangers_config *config)
{
    struct strangers *s = mem_new(sizeof *s);
    const char *runs = config->runs_dir;
    s->config = *config;
    DIR *d = runs && config->engine->ops->leave ? opendir(runs) : NULL;
    const struct dirent *entry;
    uint64_t number, id;
    while (d && (entry = readdir(d))) {
        if (!scan_u64(entry->d_name, 1, UINT64_MAX, &number))
            continue;
        bool there = store_find_number(config->store, number, &id) == 1;
        const struct live_job *job = there ? live_find(config->live, id) : NULL;
        if (there && !job)
            continue; /* it has ended: agents of it are told to leave when they come */
        AUTO_FREE char *path = mem_printf("%s/%s", runs, entry->d_name);
        walk(s, number, job, path, 2);
    }
    if (d)
        closedir(d);
    return s;
}

bool strangers_in(const struct strangers *s, uint64_t number)
{
    for (size_t i = 0; s && i < s->all.n; i++)
        if (s->all.at[i].number == number)
            return true;
    return false;
}

void strangers_put(const struct strangers *s, struct arena *a, struct text_node *map,
                   const char *key)
{
    struct text_node *list = NULL;
    for (size_t i = 0; s && i < s->all.n; i++) {
        struct engine *engine = s->config.engine;
        struct engine_stranger now;
        const struct stranger *one = &s->all.at[i];
        if (engine->ops->leave(engine, one->dir, &now) != 1)
            continue;
        list = list ? list : text_list(a, map, key);
        struct text_node *node = text_map(a, list, NULL);
        text_int(a, node, "number", (int64_t)one->number);
        text_str(a, node, "node", arena_strdup(a, one->run.node));
        text_int(a, node, "pid", one->run.pid);
        text_str(a, node, "dir", arena_strdup(a, one->dir));
    }
}

void strangers_destroy(struct strangers *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->all.n; i++)
        free(s->all.at[i].dir);
    vec_fini(&s->all);
    free(s);
}
