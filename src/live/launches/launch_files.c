/* Directories and files of a launch, made with the rights of the account whose they are. Making
 * them again changes nothing. */
#include "live/launches/launch_files.h"

#include "image/jobs/user_dirs.h"
#include "text/json.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX  8 /* of one convention */
#define CONFIG_MAX (16u << 20)

/* What the tasks make lies where their account can reach it, apart from the server's own. */
int launch_files_make_dirs(const struct launch_server *server, const struct account *account,
                           const struct launch *launch, struct err *err)
{
    char number[24], uid[16];
    const struct user_dirs dirs = { server->state_dir, server->users_dir };
    if (!account)
        return 0;
    AUTO_FREE char *jobs = file_join(server->users_dir, "jobs");
    AUTO_FREE char *packages = file_join(server->users_dir, "packages");
    snprintf(number, sizeof number, "%llu", (unsigned long long)launch->job_number);
    snprintf(uid, sizeof uid, "%u", account->ids.uid);
    if (file_mkdirs(server->users_dir, 0711, err) < 0 ||
        user_dirs_give(jobs, number, account, err) < 0 ||
        user_dirs_give(packages, uid, account, err) < 0 ||
        user_dirs_make_images(&dirs, account, err) < 0)
        return -1;
    AS_FS_USER(&account->ids);
    if (file_mkdirs(launch->user_dir, 0700, err) == 0)
        return 0;
    err_in(err, "for jobs of %s", account->name);
    return err_hint(err, "every directory above it has to let others through; the setting "
                         "users_dir names another place");
}

static int add_mounts(const struct launch_server *server, const struct launch_files *files,
                      struct arena *arena, struct launch *launch, struct err *err)
{
    const struct inputs *inputs = &files->job.job->inputs;
    struct storage storage = server->storage;
    storage.work_dir = files->work_dir;
    launch->mounts = ARENA_ARRAY(arena, inputs->n_data + 1 + FILES_MAX, struct bind_mount);
    for (size_t i = 0; i < inputs->n_data; i++) {
        const struct mount *mount = &inputs->data[i];
        const char *from = storage_map(&storage, arena, mount->from, err);
        if (!from)
            return err_in(err, "inputs.data[%zu]", i);
        launch->mounts[launch->n_mounts++] =
            (struct bind_mount){ .from = from, .at = mount->at, .read_only = mount->read_only };
    }
    if (inputs->code.path && files->code_dir)
        launch->mounts[launch->n_mounts++] = (struct bind_mount){
            .from = files->code_dir, .at = inputs->code.path, .read_only = true, .is_code = true
        };
    return 0;
}

/* For whatever user the tasks run as. */
static int make_open_folder(const char *path, struct err *err)
{
    if (file_mkdirs(path, 0700, err) < 0)
        return -1;
    return chmod(path, 01777) == 0 ? 0 : err_sys(err, "%s", path);
}

static int write_file(const struct dialect_file *file, const char *path, struct err *err)
{
    return file->text ? file_replace(path, file->text, strlen(file->text),
                                     file->program ? 0755 : 0644, err)
                      : make_open_folder(path, err);
}

/* Files of the job's conventions lie beside the launch and are mounted at their places. */
static int add_files(const struct launch_server *server, const struct launch_files *of,
                     struct arena *arena, struct launch *launch, struct err *err)
{
    size_t n;
    const struct dialect_file *files = dialect_files(server->dialects, arena, &of->job, &n);
    if (n > FILES_MAX)
        BUG("a convention with %zu files", n);
    if (n > 0 && !of->there && file_mkdirs(launch->dir, 0700, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const char *name = strrchr(files[i].path, '/') + 1;
        const char *from = arena_printf(arena, "%s/file-%s", launch->dir, name);
        if (!of->there && write_file(&files[i], from, err) < 0)
            return -1;
        launch->mounts[launch->n_mounts++] = (struct bind_mount){
            .from = from, .at = files[i].path, .read_only = files[i].text != NULL
        };
    }
    return 0;
}

/* The job's own settings lie beside the launch, for the tasks to read. */
static int add_config(const struct job_spec *spec, const struct account *account,
                      const struct launch *launch, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(CONFIG_MAX);
    AUTO_FREE char *path = file_join(launch->user_dir, LAUNCH_CONFIG);
    if (!spec->config)
        return 0;
    json_print(spec->config, 0, &text);
    if (text.overflow)
        return err_set(err, ERR_CANNOT, "config: more than 16 MiB");
    AS_FS_USER(account_files(account));
    if (file_mkdirs(launch->user_dir, 0700, err) < 0)
        return -1;
    return file_replace(path, text.data, text.len, 0600, err);
}

int launch_files_add(const struct launch_server *server, const struct launch_files *files,
                     struct arena *arena, struct launch *launch, struct err *err)
{
    if (add_mounts(server, files, arena, launch, err) ||
        add_files(server, files, arena, launch, err))
        return -1;
    return files->there ? 0 : add_config(files->job.job, files->account, launch, err);
}
