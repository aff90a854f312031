/* Edits of several devices as those of one container: they share most of what they say, so all is
 * looked for before it is added. Lists grow by copies in the arena; they are short. */
#include "cdi/edits.h"

#include "base/mem.h"

#include <string.h>
#include <sys/stat.h>

static void add_word(struct arena *arena, struct words *to, const char *word)
{
    const char **all = ARENA_ARRAY(arena, to->n + 1, const char *);
    if (words_have(to, word))
        return;
    if (to->n > 0)
        memcpy(all, to->at, to->n * sizeof *all);
    all[to->n] = word;
    *to = (struct words){ all, to->n + 1 };
}

static bool is_same_variable(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n + 1) == 0;
}

static void add_variable(struct arena *arena, struct words *env, const char *entry)
{
    for (size_t i = 0; i < env->n; i++)
        if (is_same_variable(env->at[i], entry)) {
            env->at[i] = entry;
            return;
        }
    add_word(arena, env, entry);
}

static void add_mount(struct arena *arena, struct cdi_edits *to, const struct cdi_mount *mount)
{
    size_t i = 0;
    while (i < to->n_mounts && strcmp(to->mounts[i].at, mount->at) != 0)
        i++;
    if (i == to->n_mounts) {
        struct cdi_mount *all = ARENA_ARRAY(arena, i + 1, struct cdi_mount);
        if (i > 0)
            memcpy(all, to->mounts, i * sizeof *all);
        to->mounts = all;
        to->n_mounts++;
    }
    to->mounts[i] = *mount;
}

static void add_link(struct arena *arena, struct cdi_edits *to, const struct cdi_link *link)
{
    size_t i = 0;
    while (i < to->n_links && strcmp(to->links[i].at, link->at) != 0)
        i++;
    if (i == to->n_links) {
        struct cdi_link *all = ARENA_ARRAY(arena, i + 1, struct cdi_link);
        if (i > 0)
            memcpy(all, to->links, i * sizeof *all);
        to->links = all;
        to->n_links++;
    }
    to->links[i] = *link;
}

static void add_group(struct arena *arena, struct cdi_edits *to, uint32_t group)
{
    for (size_t i = 0; i < to->n_groups; i++)
        if (to->groups[i] == group)
            return;
    uint32_t *all = ARENA_ARRAY(arena, to->n_groups + 1, uint32_t);
    if (to->n_groups > 0)
        memcpy(all, to->groups, to->n_groups * sizeof *all);
    all[to->n_groups++] = group;
    to->groups = all;
}

void cdi_edits_add(struct arena *arena, struct cdi_edits *to, const struct cdi_edits *more)
{
    for (size_t i = 0; i < more->nodes.n; i++)
        add_word(arena, &to->nodes, more->nodes.at[i]);
    for (size_t i = 0; i < more->env.n; i++)
        add_variable(arena, &to->env, more->env.at[i]);
    for (size_t i = 0; i < more->n_mounts; i++)
        add_mount(arena, to, &more->mounts[i]);
    for (size_t i = 0; i < more->n_links; i++)
        add_link(arena, to, &more->links[i]);
    for (size_t i = 0; i < more->folders.n; i++)
        add_word(arena, &to->folders, more->folders.at[i]);
    for (size_t i = 0; i < more->n_groups; i++)
        add_group(arena, to, more->groups[i]);
}

int cdi_edits_check(const struct cdi_edits *edits, const char *dev, struct err *err)
{
    struct stat st;
    for (size_t i = 0; i < edits->nodes.n; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", dev, edits->nodes.at[i]);
        if (lstat(path, &st) != 0 || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
            return err_set(err, ERR_CANNOT, "%s is no device of this machine", path);
    }
    for (size_t i = 0; i < edits->n_mounts; i++)
        if (stat(edits->mounts[i].from, &st) != 0)
            return err_set(err, ERR_CANNOT, "%s is not on this machine", edits->mounts[i].from);
    return 0;
}
