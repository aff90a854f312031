/* Looks through the directories of jobs that no row knows: RUNS/NUMBER/gGENERATION/NODE. Whether
 * something lives in one is the engine's to say. */
#include "ctl/strangers.h"

#include "ctl/core.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"

#include <dirent.h>
#include <string.h>

struct strangers {
    VEC(struct stranger {
        uint64_t number;
        char *dir;
        struct engine_stranger run;
    })
    all;
};

static void look(struct ctl *ctl, uint64_t number, char *dir)
{
    const struct engine *engine = ctl->config.engine;
    struct engine_stranger found;
    if (engine->ops->leave(ctl->config.engine, dir, &found) != 1)
        return;
    if (!ctl->strangers)
        ctl->strangers = mem_new(sizeof *ctl->strangers);
    struct stranger *one = vec_add(&ctl->strangers->all);
    *one = (struct stranger){ .number = number, .dir = mem_strdup(dir), .run = found };
    log_warn("records.stranger",
             "number=%llu node=%s pid=%u dir=%s note=\"it runs, and the records do not know its "
             "job: it is left alone\"",
             (unsigned long long)number, found.node, found.pid, dir);
}

/* Calls for each entry below dir, that many levels down. */
static void walk(struct ctl *ctl, uint64_t number, const char *dir, unsigned levels)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_FREE char *path = mem_printf("%s/%s", dir, entry->d_name);
        if (levels > 1)
            walk(ctl, number, path, levels - 1);
        else
            look(ctl, number, path);
    }
    if (d)
        closedir(d);
}

void strangers_find(struct ctl *ctl)
{
    const char *runs = ctl->config.runs_dir;
    bool can = !taped_replays(ctl) && runs && ctl->config.engine->ops->leave;
    DIR *d = can ? opendir(runs) : NULL;
    const struct dirent *entry;
    uint64_t number, id;
    while (d && (entry = readdir(d))) {
        if (!scan_u64(entry->d_name, 1, UINT64_MAX, &number) ||
            store_find_number(ctl->config.store, number, &id) == 1)
            continue;
        AUTO_FREE char *path = mem_printf("%s/%s", runs, entry->d_name);
        walk(ctl, number, path, 2);
    }
    if (d)
        closedir(d);
}

bool strangers_in(const struct ctl *ctl, uint64_t number)
{
    for (size_t i = 0; ctl->strangers && i < ctl->strangers->all.n; i++)
        if (ctl->strangers->all.at[i].number == number)
            return true;
    return false;
}

void ctl_strangers_put(struct ctl *ctl, struct arena *a, struct text_node *map, const char *key)
{
    const struct engine *engine = ctl->config.engine;
    struct text_node *list = NULL;
    for (size_t i = 0; ctl->strangers && i < ctl->strangers->all.n; i++) {
        struct engine_stranger now;
        const struct stranger *s = &ctl->strangers->all.at[i];
        if (engine->ops->leave(ctl->config.engine, s->dir, &now) != 1)
            continue;
        list = list ? list : text_list(a, map, key);
        struct text_node *one = text_map(a, list, NULL);
        text_int(a, one, "number", (int64_t)s->number);
        text_str(a, one, "node", arena_strdup(a, s->run.node));
        text_int(a, one, "pid", s->run.pid);
        text_str(a, one, "dir", arena_strdup(a, s->dir));
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
