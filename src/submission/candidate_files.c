/* Where URIs of a job lead on this machine, and whether what is there can be read. A replay looks
 * at nothing: it is told what was found then, question by question. */
#include "submission/candidate_files.h"

#include "admit/admit.h"
#include "live/launches/launch_server.h"
#include "source/archive.h"
#include "source/registry_auth.h"

#include "base/file.h"
#include "base/mem.h"

#include <sodium.h>
#include <string.h>

#define AUTH_MAX 65536

static const char *map_uri(const struct candidate *c, const char *uri, struct err *err)
{
    struct storage storage = c->server->launches->storage;
    storage.work_dir = c->ask.work_dir;
    return storage_map(&storage, c->arena, uri, err);
}

/* Whose rights what the job names is looked at with; a replay looks at nothing. */
static const struct fs_user *files_of(const struct candidate *c)
{
    return c->server->replays ? NULL : account_files(c->ask.account);
}

/* What was found outside; in a replay what was found then. */
static int looked(struct candidate *c, int rc)
{
    return c->server->outside(c->server->arg, rc, NULL);
}

/* What err says, as a problem of that field. */
int candidate_refuse_field(struct candidate *c, const char *path, struct err *err)
{
    report_add(c->report, SEVERITY_ERROR, (struct place){ 0 }, path, err->what, err->hint);
    return -1;
}

/* It may be placed on another machine than this one. */
bool candidate_runs_elsewhere(const struct candidate *c)
{
    return c->server->machines || admit_asks_nodes(c->server->caps, c->read.job);
}

static int check_data(struct candidate *c, const struct job_spec *spec, struct err *err)
{
    AS_FS_USER(files_of(c));
    for (size_t i = 0; i < spec->inputs.n_data; i++) {
        const char *from = spec->inputs.data[i].from;
        const char *path = map_uri(c, from, err);
        bool lacks = path && looked(c, !c->server->replays && !file_can_read(path) ? -1 : 0);
        if (lacks && candidate_runs_elsewhere(c)) {
            report_warn(c->report, (struct place){ 0 },
                        arena_printf(c->arena, "inputs.data[%zu]", i),
                        "%.200s cannot be read at the server: tasks start only on machines that "
                        "have it",
                        path);
        } else if (lacks) {
            err_sys(err, "%s (%s)", from, path);
            err->code = ERR_CANNOT;
            path = NULL;
        }
        if (!path)
            return candidate_refuse_field(c, arena_printf(c->arena, "inputs.data[%zu]", i), err);
    }
    return 0;
}

/* Its tasks start in a copy of what was uploaded, wherever the submitter is. */
static int use_archive(struct candidate *c, const char *archive, struct err *err)
{
    bool kept = c->server->replays ||
                archive_keep(archive_path(c->server->launches->state_dir, c->arena, archive));
    c->ask.work_dir = c->site.work_dir = NULL;
    if (looked(c, kept ? 0 : -1) == 0)
        return 0;
    err_set(err, ERR_CANNOT, "inputs.code.archive: %.80s is not kept here", archive);
    return err_hint(err, "put it first: /v1/archives/");
}

/* Nothing is fetched: the directory of a code source has to be at what is asked for already. One
 * that the submitter names instead is used as it is. */
static int check_code(struct candidate *c, const char *uri, struct err *err)
{
    const struct code *code = &c->read.job->inputs.code;
    bool replays = c->server->replays;
    if (code->at && c->ask.code_dir)
        report_warn(c->report, (struct place){ 0 }, "inputs.code",
                    "the code is that of %.200s as it lies there, \"%.100s\" or not",
                    c->ask.code_dir, code->at);
    const struct code_place at = { uri, c->ask.code_dir ? NULL : code->at };
    AS_FS_USER(files_of(c));
    return looked(c, replays ? 0 : storage_check_code(c->site.code_dir, &at, code->limit, err));
}

/* Code is copied to nodes that do not see it. */
static int check_travel(struct candidate *c, struct err *err)
{
    const char *dir = c->site.code_dir ? c->site.code_dir : c->site.work_dir;
    if (!dir || !candidate_runs_elsewhere(c))
        return 0;
    AS_FS_USER(files_of(c));
    return looked(c, c->server->replays ? 0 : storage_check_travel(dir, err));
}

/* What a shell had by chance was found there. */
static int check_python(struct candidate *c, struct err *err)
{
    const char *python = c->site.python, *from = c->site.python_from;
    if (!python || (strcmp(from, PYTHON_OF_JOB) != 0 && !submission_names_python(&c->ask)) ||
        c->notes.runtime > RUNTIME_HOST || candidate_runs_elsewhere(c))
        return 0;
    AS_FS_USER(files_of(c));
    int rc = looked(c, c->server->replays ? 0 : storage_check_python(python, err));
    return rc ? candidate_refuse_field(c, "inputs.interpreter", err) : 0;
}

/* Directories the job names, as directories of this machine. */
int candidate_find_files(struct candidate *c, struct err *err)
{
    const struct job_spec *spec = c->read.job;
    const struct code *code = &spec->inputs.code;
    const char *uri = c->ask.code_dir ? c->ask.code_dir : code->dir;
    c->site.work_dir = c->ask.work_dir;
    if (code->archive && use_archive(c, code->archive, err) < 0)
        return -1;
    c->site.file = c->ask.file;
    c->site.account = c->ask.account;
    c->site.parent = c->ask.parent;
    c->site.wait_for_nodes = c->ask.wait_for_nodes || c->read.dialect->queues;
    if (uri) {
        c->site.code_dir = c->ask.code_dir ? c->ask.code_dir : map_uri(c, uri, err);
        if (!c->site.code_dir || check_code(c, uri, err))
            return candidate_refuse_field(c, "inputs.code", err);
    }
    if (check_travel(c, err))
        return candidate_refuse_field(c, "inputs.code", err);
    if (spec->output && *spec->output) {
        c->site.output_dir = map_uri(c, spec->output, err);
        if (!c->site.output_dir)
            return candidate_refuse_field(c, "output", err);
        if (candidate_runs_elsewhere(c))
            report_warn(c->report, (struct place){ 0 }, "output",
                        "results lie in %.200s of the machine that a task runs on, and stay there",
                        c->site.output_dir);
    }
    return check_python(c, err) ? -1 : check_data(c, spec, err);
}

/* ---- credentials of registries ---- */

/* With the rights of the account: the server may read more than the submitter. */
static int read_auth(const struct candidate *c, const char *path, char **data, size_t *len,
                     struct err *err)
{
    AS_FS_USER(files_of(c));
    return file_read(path, AUTH_MAX, data, len, err);
}

static void warn_auth(const struct candidate *c, const char *what, const struct err *err)
{
    report_warn(c->report, (struct place){ 0 }, "inputs.registry_auth", "%s: %s", what, err->what);
}

/* The file of the job's credentials; NULL: there is none. No secret is recorded. */
static char *read_auth_file(struct candidate *c, size_t *len)
{
    struct err err;
    char *data = NULL;
    const char *uri = c->read.job->inputs.registry_auth;
    const char *path = uri ? map_uri(c, uri, &err) : NULL;
    if (!uri)
        return NULL;
    bool replays = c->server->replays;
    int rc = path && !replays ? read_auth(c, path, &data, len, &err) : 0;
    if (path && !c->server->outside(c->server->arg, rc, &err))
        return data;
    free(data);
    report_warn(c->report, (struct place){ 0 }, "inputs.registry_auth", "%s cannot be read: %s",
                uri, err.what);
    return NULL;
}

/* Registry credentials lie apart from the job. */
void candidate_keep_auth(struct candidate *c, struct store *store, uint64_t job)
{
    struct err err;
    size_t len = 0;
    char *data = read_auth_file(c, &len), *json = NULL;
    if (c->server->replays)
        return;
    if (registry_auth_make(data, len, &c->read.job->inputs, &json, &err) != 0)
        warn_auth(c, "credentials are not used", &err);
    if (json && registry_auth_keep(store, c->ask.owner, job, json, &err) != 0)
        warn_auth(c, "credentials cannot be kept", &err);
    if (data)
        sodium_memzero(data, len);
    if (json)
        sodium_memzero(json, strlen(json));
    free(data);
    free(json);
}
