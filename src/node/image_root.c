/* The layer lies in the agent's directory, where no account changes what a path leads to, and
 * belongs to the account of the task, whose "/" it is. What is shown has the same path inside as
 * outside, so that every path that the launch and the environment name means the same: the job's
 * directories, its files, muster's launchers and the sockets that programs ask. Of directories that
 * all tasks of the job share only the task's own part is shown. */
#include "node/image_root.h"

#include "base/file.h"
#include "base/mem.h"
#include "node/driver.h"
#include "node/gpu_share.h"
#include "node/removals.h"
#include "node/runtime/container.h"
#include "node/runtime/pids.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVER       "MUSTER_SERVER"
#define UNIX         "unix:"
#define CONFIG       "MUSTER_CONFIG"
#define MPS          "CUDA_MPS_PIPE_DIRECTORY"
#define DEVICES_MOST 64
#define OWN_MOST     (14 + DRIVER_BINDS) /* binds besides the launch's mounts */

const char *image_work_dir(const struct launch *launch, const struct image *image,
                           const char *own_dir)
{
    const char *of_image = image->config->work_dir;
    if (launch->work_dir)
        return launch->work_dir;
    return *of_image && strcmp(of_image, "/") != 0 ? of_image : own_dir;
}

/* Is the driver of the node's devices shown to it? */
static bool has_gpus(const struct launch_task *task)
{
    return task->gpu_hold && task->n_gpus > 0;
}

static char *layer_of(const struct site *site, const struct launch_task *task)
{
    return mem_printf("%s/roots/%s.%u.%u", site->dir, task->role, task->ref.index, task->attempt);
}

void image_root_remove(const struct site *site, const struct launch_task *task, struct view *view)
{
    AUTO_FREE char *layer = layer_of(site, task);
    removals_start(site->removals, view, layer);
}

static int make_layer(const struct site *site, const char *layer, struct err *err)
{
    static const char *const below[] = { "up", "work" };
    const struct account *account = site->confine.account;
    if (file_remove_tree(layer, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(below); i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", layer, below[i]);
        if (file_mkdirs(path, 0755, err) != 0)
            return err_in(err, "the task's own layer of the image");
        if (account && lchown(path, account->ids.uid, account->ids.gid) != 0)
            return err_sys(err, "%s", path);
    }
    AUTO_FREE char *at = mem_printf("%s/roots/at", site->dir); /* of all tasks */
    return file_mkdirs(at, 0755, err);
}

/* ---- what is shown ---- */

struct list {
    struct root_bind *at;
    size_t n;
    const struct fs_user *user;
};

static void add(struct list *list, const char *path, bool read_only, bool may_miss)
{
    if (!path)
        return;
    list->at[list->n++] = (struct root_bind){
        .from = path, .at = path, .read_only = read_only, .may_miss = may_miss, .user = list->user
    };
}

static void add_mounts(struct list *list, const struct launch *launch)
{
    for (size_t i = 0; i < launch->n_mounts; i++) {
        const struct bind_mount *mount = &launch->mounts[i];
        list->at[list->n++] =
            (struct root_bind){ .from = mount->from,
                                .at = mount->at,
                                .read_only = mount->read_only,
                                .user = account_files(view_account_of(launch, mount)) };
    }
}

/* The names of peers, where there are some; else the node's own. With the agent's rights. */
static void add_hosts(struct list *list, const struct launch *launch, struct arena *arena)
{
    const char *own = arena_printf(arena, "%s/hosts", launch->dir);
    list->at[list->n++] = (struct root_bind){ .from = access(own, F_OK) == 0 ? own : "/etc/hosts",
                                              .at = "/etc/hosts",
                                              .may_miss = true };
}

static void add_sockets(struct list *list, const struct image_root *r)
{
    const char *server = pairs_get(&r->task->env, SERVER);
    add(list, r->site->launch_socket, false, true);
    if (server && strncmp(server, UNIX, strlen(UNIX)) == 0)
        add(list, server + strlen(UNIX), false, true);
}

static bool lies_in(const char *path, const char *dir)
{
    size_t n = dir ? strlen(dir) : 0;
    return n > 0 && strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Of muster: with the agent's rights. What the job's directory shows anyway is left writable. */
static void add_own(struct list *list, const struct launch *launch, const char *path)
{
    if (path && !lies_in(path, launch->work_dir))
        list->at[list->n++] =
            (struct root_bind){ .from = path, .at = path, .read_only = true, .may_miss = true };
}

/* Code that is in the working directory anyway needs no place there. */
static void add_code(struct list *list, const struct image_root *r, struct arena *arena)
{
    const char *code = r->launch->code_dir, *work = r->work_dir;
    if (!code || lies_in(code, r->launch->work_dir))
        return;
    AUTO_FREE char *at = view_code_at(code, work);
    list->at[list->n++] = (struct root_bind){
        .from = code, .at = arena_strdup(arena, at), .read_only = true, .user = list->user
    };
}

/* apt takes on a user of its own and looks whether it has: it is told to stay root. */
#define APT_PLACE "/etc/apt/apt.conf.d"
#define APT_SAYS  "APT::Sandbox::User \"root\";\n"

static void add_apt(struct list *list, const struct image_root *r, struct arena *arena)
{
    const struct confine *confine = &r->site->confine;
    const char *file = arena_printf(arena, "%s/roots/apt.conf", r->site->dir);
    AUTO_FREE char *place = mem_printf("%s" APT_PLACE, r->image->tree);
    bool is_root = confine->account ? confine->account->ids.uid == 0 : geteuid() == 0;
    if (is_root || confine->ids.users.n > 0 || !file_is_dir(place))
        return;
    if (access(file, F_OK) == 0 || file_replace(file, APT_SAYS, strlen(APT_SAYS), 0644, NULL) == 0)
        list->at[list->n++] = (struct root_bind){
            .from = file, .at = APT_PLACE "/90muster", .read_only = true, .may_miss = true
        };
}

/* With the socket of the daemon that holds tasks to their shares. */
static void add_driver(struct list *list, const struct image_root *r, struct arena *arena)
{
    const struct cdi_edits *edits = r->edits;
    if (!has_gpus(r->task))
        return;
    for (size_t i = 0; edits && i < edits->n_mounts; i++)
        list->at[list->n++] = (struct root_bind){ .from = edits->mounts[i].from,
                                                  .at = edits->mounts[i].at,
                                                  .read_only = edits->mounts[i].read_only,
                                                  .may_miss = true };
    if (!edits)
        list->n += driver_binds(arena, r->image->tree, list->at + list->n);
    add(list, pairs_get(&r->task->env, MPS), false, true);
}

static struct list list_all(const struct image_root *r, struct arena *arena)
{
    const struct launch *launch = r->launch;
    size_t most = launch->n_mounts + OWN_MOST + (r->edits ? r->edits->n_mounts : 0);
    struct list list = { .at = ARENA_ARRAY(arena, most, struct root_bind),
                         .user = account_files(launch->account) };
    AUTO_FREE char *share = gpu_share_dir(r->site->user_dir);
    add_hosts(&list, launch, arena);
    add(&list, launch->work_dir, false, false);
    add(&list, r->own_dir, false, false);
    add(&list, launch->output_dir, false, false);
    if (gpu_share_has(&r->task->env))
        add(&list, arena_strdup(arena, share), true, true);
    add(&list, pairs_get(&r->task->env, CONFIG), true, true);
    add_sockets(&list, r);
    add_code(&list, r, arena);
    add_apt(&list, r, arena);
    add_driver(&list, r, arena);
    add_mounts(&list, launch);
    add_own(&list, launch, r->site->client);
    add_own(&list, launch, r->site->programs);
    add_own(&list, launch, r->site->program);
    return list;
}

/* ---- the root ---- */

static const struct container *plan_container(const struct image_root *r, struct arena *arena)
{
    if (r->launch->runtime != RUNTIME_PODMAN && r->launch->runtime != RUNTIME_DOCKER)
        return NULL;
    const struct launch_task *task = r->task;
    const struct devices devices = { .gpus = task->gpus,
                                     .n_gpus = task->gpu_hold ? task->n_gpus : 0,
                                     .parts = task->parts,
                                     .nodes = r->edits ? &r->edits->nodes : NULL };
    char(*names)[DEVICES_NAME] = arena_alloc(arena, DEVICES_MOST * sizeof *names);
    const char **binds = ARENA_ARRAY(arena, DEVICES_MOST, const char *);
    char holder[CONTAINER_PATH];
    struct container *container = ARENA_NEW(arena, struct container);
    container->program = r->launch->runtime == RUNTIME_DOCKER ? CONTAINER_DOCKER : CONTAINER_PODMAN;
    container->holder = arena_strdup(arena, container_holder(holder));
    container->binds = binds;
    container->n_binds = devices_names(&devices, names, DEVICES_MOST);
    for (size_t i = 0; i < container->n_binds; i++)
        binds[i] = names[i];
    return container;
}

int image_root_make(const struct image_root *r, struct arena *arena, struct root *out,
                    struct err *err)
{
    AUTO_FREE char *layer = layer_of(r->site, r->task);
    if (make_layer(r->site, layer, err) != 0)
        return -1;
    const struct list list = list_all(r, arena);
    const struct container *container = plan_container(r, arena);
    *out = (struct root){ .tree = r->image->tree,
                          .dir = arena_strdup(arena, layer),
                          .at = arena_printf(arena, "%s/roots/at", r->site->dir),
                          .binds = list.at,
                          .n_binds = list.n,
                          .work_dir = r->work_dir,
                          .shm = r->task->shm,
                          .memory = r->memory,
                          .container = container,
                          .own_pids = (!container || container_is_bare(container)) && pids_work() };
    return 0;
}

void image_root_stage(const struct image_root *r, const struct root *root, struct stage *stage)
{
    stage->root = root;
    stage->own_pids = root->own_pids;
    stage->edits = r->edits;
    stage->libraries = has_gpus(r->task);
    stage->devices.own = r->site->confine.sandbox; /* no way leads to another /dev */
    stage->devices.nodes = r->edits ? &r->edits->nodes : NULL;
}
