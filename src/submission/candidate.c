/* From a text to a job that can be entered. The order of the questions is that of the recording:
 * a replay is asked them again, one after the other. */
#include "submission/candidate.h"

#include "account/rights.h"
#include "admit/admit.h"
#include "depend/bundle.h"
#include "engine/engine.h"
#include "live/launches/launch_server.h"
#include "live/reason.h"
#include "queue/queues.h"
#include "source/archive.h"
#include "source/resolve.h"
#include "submission/candidate_files.h"
#include "submission/engine_choice.h"
#include "text/remedies.h"

#include "base/map.h"
#include "base/mem.h"

#include <string.h>

/* ---- reading ---- */

static int refuse(struct candidate *c, struct err *err, enum err_code code)
{
    report_err(c->report, err);
    err->code = code;
    return -1;
}

int candidate_read(struct candidate *c, struct err *err)
{
    const struct launch_server *server = c->server->launches;
    struct site site = { .owner = c->ask.owner,
                         .fs_uri = server->fs_uri,
                         .work_dir = c->ask.work_dir,
                         .catalogue = server->storage.catalogue };
    struct dialect_request request = { .text = c->ask.text,
                                       .len = c->ask.len,
                                       .from = c->ask.from,
                                       .name = c->ask.name,
                                       .queue = c->ask.queue,
                                       .env = c->ask.env,
                                       .sets = c->ask.sets,
                                       .python = c->ask.python,
                                       .python_chosen = submission_names_python(&c->ask),
                                       .site = &site };
    if (dialect_read(server->dialects, c->arena, &request, &c->read, c->report))
        return refuse(c, err, ERR_INPUT);
    if (c->only)
        c->read.job->array = (struct job_array){ .count = 1, .first = c->only - 1, .step = 1 };
    return 0;
}

/* Where the job's Python comes from, for who looks at the job later. */
void candidate_note_python(struct candidate *c)
{
    const char *python = c->read.job->inputs.interpreter;
    bool asked = python && c->ask.python && strcmp(python, c->ask.python) == 0;
    c->site.python = python;
    c->site.python_from = asked ? c->ask.python_from : python ? PYTHON_OF_JOB : NULL;
}

/* ---- settling ---- */

/* They run, but cannot ask for anything. */
static void warn_unreachable(struct candidate *c)
{
    if (!c->ask.account || c->notes.alone ||
        launch_address(c->server->launches, c->arena, c->ask.account))
        return;
    struct problem *p =
        report_warn(c->report, (struct place){ 0 }, "server",
                    "programs of this job cannot reach the server: it has no socket for account "
                    "%.60s and no port",
                    c->ask.account->name);
    report_hint(c->report, p, "an admin sets public_socket or listen");
}

/* Nodes only change with the server: what fitted them empty fits them. */
static int admit_shape(struct candidate *c)
{
    struct map *possible = c->server->possible;
    uint64_t shape = job_shape(c->read.job);
    if (map_get(possible, shape))
        return 0;
    if (admit_size(c->server->launches->cluster, c->read.job, c->report))
        return -1;
    map_set(possible, shape, possible);
    return 0;
}

/* A workspace that one is no member of is not there for one. */
static int check_member(struct candidate *c, struct err *err)
{
    const char *project = c->read.job->project;
    bool asked = c->read.dialect->catalogued;
    bool may = !asked || user_may_use_project(c->server->accounts, c->ask.owner, project);
    if (c->server->right(c->server->arg, may ? 0 : -1, NULL) == 0)
        return 0;
    err_set(err, ERR_DENIED, "%.60s is no member of workspace \"%.100s\"", c->ask.owner,
            project ? project : "");
    err_hint(err, "an admin makes one a member (`muster user set`, --project)");
    return candidate_refuse_field(c, "project", err);
}

static int check_account(struct candidate *c, struct err *err)
{
    struct placing *placing = &c->read.job->placing;
    if (engine_check_account(c->server, c->ask.account, c->read.job, err))
        return candidate_refuse_field(c, "place.engine", err);
    c->notes.alone = c->ask.account && strcmp(placing->engine, ENGINE_ALLOCATOR) == 0;
    placing->own = c->notes.alone ? PLACING_OWN_TO_COME : 0;
    return 0;
}

/* What works on this machine is not in a recording; whether it was asked for is. */
static int settle_runtime(struct candidate *c)
{
    static const struct runtime_checks unknown = { .n = 0 };
    const struct job_spec *spec = c->read.job;
    const struct runtime_checks *checks = c->server->runtimes;
    enum job_runtime asked = spec->runtime ? spec->runtime : c->server->runtime;
    if (!admit_names_image(spec))
        return 0;
    c->notes.runtime = c->site.runtime = RUNTIME_HOST;
    if (asked == RUNTIME_SERVER || asked == RUNTIME_HOST)
        return 0;
    enum job_runtime usual = asked > RUNTIME_HOST ? asked : RUNTIME_BWRAP;
    enum job_runtime got = checks ? runtime_choose(checks, asked) : usual;
    bool none = c->server->outside(c->server->arg, got == RUNTIME_SERVER ? -1 : 0, NULL) != 0;
    c->notes.runtime = c->site.runtime = got == RUNTIME_SERVER ? usual : got;
    checks = none ? (checks ? checks : &unknown) : NULL;
    return admit_image(checks, asked, candidate_runs_elsewhere(c), spec, c->report);
}

static int refuse_size(struct candidate *c, struct err *err)
{
    const char *engine = c->read.job->placing.engine, *why = c->server->no_allocations;
    if (engine && strcmp(engine, ENGINE_ALLOCATOR) == 0 && why)
        report_add(c->report, SEVERITY_ERROR, (struct place){ 0 }, "place.engine", why,
                   "leave it out, to run where there is room");
    return refuse(c, err, ERR_CANNOT);
}

/* The queue of a batch script is a partition where it comes from. */
static void hint_partition(struct candidate *c)
{
    const struct job_spec *spec = c->read.job;
    if ((c->server->caps & ENGINE_ALLOCATES) && !spec->placing.engine &&
        !resolve_queue(c->server->launches->storage.catalogue, spec->queue))
        report_warn(c->report, (struct place){ 0 }, "place.engine",
                    "\"%.100s\" as a partition of Slurm is for jobs with place.engine: slurm "
                    "(--engine slurm, before the file)",
                    spec->queue);
}

int candidate_settle(struct candidate *c, struct err *err)
{
    const struct candidate_server *server = c->server;
    const struct cluster *cluster = server->launches->cluster;
    struct job_spec *spec = c->read.job;
    struct report *report = c->report;
    engine_choose(server, c->arena, c->ask.account, spec);
    if (resolve_names(server->launches->storage.catalogue, c->read.dialect->catalogued, spec,
                      report) |
        server->others(server->arg, c->ask.owner, spec, report)) {
        hint_partition(c);
        return refuse(c, err, ERR_INPUT);
    }
    if (check_member(c, err) || check_account(c, err))
        return -1;
    if (server->secrets(server->arg, c->ask.owner, spec, report))
        return refuse(c, err, ERR_INPUT);
    bool numbers = server->caps & ENGINE_NUMBERS;
    if (queues_check_job(server->queues, spec, report) || (!numbers && settle_runtime(c)))
        return refuse(c, err, ERR_CANNOT);
    enum job_runtime got = c->notes.runtime ? c->notes.runtime : spec->runtime;
    if (admit_features(server->caps, got, spec, c->read.root, report) ||
        admit_topology(cluster, spec, report))
        return refuse(c, err, ERR_CANNOT);
    if (!numbers && candidate_find_files(c, err))
        return -1;
    if (!numbers && !server->replays)
        warn_unreachable(c);
    spec->inputs.code.at = NULL; /* looked at; a directory has none */
    if (admit_asks_nodes(server->caps, spec))
        return 0; /* nodes are asked for that hold it */
    if (c->read.dialect->queues && !c->ask.wait_for_nodes)
        admit_warn_size(cluster, c->read.job, c->report);
    else if (!c->ask.wait_for_nodes && admit_shape(c))
        return refuse_size(c, err);
    return 0;
}

/* ---- what is said of it ---- */

struct text_node *candidate_warnings(struct candidate *c)
{
    const struct report *report = c->report;
    const struct refused refused = { .program = "muster", .file = c->ask.file };
    struct text_node *list = text_list(c->arena, NULL, NULL);
    for (size_t i = 0; i < report->n; i++) {
        const struct problem *p = &report->at[i];
        if (p->severity != SEVERITY_WARNING)
            continue;
        struct text_node *one = text_map(c->arena, list, NULL);
        text_str(c->arena, one, "path", p->path ? p->path : "");
        text_str(c->arena, one, "what", p->what);
        remedies_write(c->arena, one, p->hint, p->remedies, &refused);
        if (p->place.line) {
            text_int(c->arena, one, "line", p->place.line);
            text_int(c->arena, one, "col", p->place.col);
        }
    }
    return list;
}

struct reason candidate_reason(const struct candidate *c)
{
    const char *archive = c->read.job->inputs.code.archive;
    const struct site_record *site = &c->site;
    return (struct reason){ .kind = archive          ? REASON_IN_COPY
                                    : site->code_dir ? REASON_WITH_CODE
                                    : site->work_dir ? REASON_IN_DIRECTORY
                                                     : REASON_FRESH,
                            .text = archive          ? archive
                                    : site->code_dir ? site->code_dir
                                                     : site->work_dir,
                            .n = c->read.job->suspend };
}

static const char *python_text(struct arena *a, const char *path, const char *from)
{
    if (strcmp(from, PYTHON_BY_OPTION) == 0)
        return arena_printf(a, "%s, named at submission", path);
    if (strcmp(from, PYTHON_OF_JOB) == 0)
        return arena_printf(a, "%s, named by the job", path);
    if (strcmp(from, PYTHON_OF_SERVER) == 0)
        return arena_printf(a, "%s, the server's", path);
    return arena_printf(a, "%s, by %s of its submitter", path, from);
}

/* What was chosen when the submitter's side named an interpreter; others have the server's. */
struct text_node *candidate_python(const struct candidate *c, const char *usual)
{
    struct arena *a = c->arena;
    const char *path = c->site.python ? c->site.python : usual;
    const char *from = c->site.python_from ? c->site.python_from : PYTHON_OF_SERVER;
    if (!c->ask.python || !path)
        return NULL;
    struct text_node *body = text_map(a, NULL, NULL);
    text_str(a, body, "path", path);
    text_str(a, body, "from", from);
    text_str(a, body, "text", python_text(a, path, from));
    return body;
}

/* ---- its row ---- */

static uint64_t all_gpus(const struct job_spec *spec)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < spec->n_roles; i++)
        sum += spec->roles[i].replicas * spec->roles[i].resources.gpu_milli;
    return sum;
}

struct job_row candidate_row(struct candidate *c, struct candidate_times times)
{
    const struct job_spec *spec = c->read.job;
    uint32_t members = spec->array.count, jobs = members ? members : 1;
    c->notes.has_after = spec->n_after > 0;
    c->notes.has_peers = bundle_has_peers(spec);
    c->notes.shape = job_shape(spec);
    c->notes.code = spec->inputs.code.archive ? archive_mark(spec->inputs.code.archive) : 0;
    c->notes.pending_until_ms =
        spec->limits.pending_ms.has ? times.now_ms + spec->limits.pending_ms.value : 0;
    return (struct job_row){ .name = spec->name,
                             .owner = c->ask.owner,
                             .project = spec->project ? spec->project : "",
                             .queue = spec->queue && *spec->queue ? spec->queue : "default",
                             .dialect = c->read.dialect->name,
                             .priority = spec->priority,
                             .reason.text = "",
                             .tasks = jobs * job_task_count(spec),
                             .gpu_milli = jobs * all_gpus(spec),
                             .submitted_ms = times.date_ms,
                             .members = members };
}
