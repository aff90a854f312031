/* Submission: text to a checked job, admission, one event and its rows in the turn's transaction.
 * The answer goes out after the commit; a dry run answers what would happen and stores nothing. */
#include "ctl/submit.h"

#include "account/redact.h"
#include "ctl/account.h"
#include "ctl/catalogue_work.h"
#include "ctl/depend_work.h"
#include "ctl/engine_choice.h"
#include "ctl/results.h"
#include "ctl/slices.h"
#include "ctl/update.h"
#include "inventory/nodes.h"
#include "learn/packing.h"
#include "live/launches/launch_server.h"
#include "live/row_json.h"
#include "live/wording.h"
#include "source/archive.h"
#include "source/registry_auth.h"
#include "source/resolve.h"

#include "base/file.h"
#include "base/mem.h"
#include "text/json.h"
#include "text/remedies.h"

#include <sodium.h>

#define IDEM_KEEP_MS (7ull * 24 * 3600 * 1000)
#define KEY_MAX      255
#define SPEC_MAX     (16u << 20)
#define AUTH_MAX     65536
#define SOON         2048 /* jobs that wait: one behind so few is looked at soon, and kept as read */

struct submission {
    struct ctl *ctl;
    struct ctl_submit ask; /* text filled in when it was "like" */
    struct answer *answer;
    struct arena *arena;
    struct dialect_result read;
    struct site_record site;
    struct job_row row;
    struct live_column notes;
    struct text_node *tree; /* of the canonical job */
    unsigned char hash[32];
    bool only; /* like a member of an array: this one again, with its index */
    uint32_t index;
    const char *updated; /* what became of a job that was there */
};

/* ---- before reading ---- */

static void hash_part(crypto_hash_sha256_state *state, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    crypto_hash_sha256_update(state, (const unsigned char *)(text ? text : ""), len);
    crypto_hash_sha256_update(state, (const unsigned char *)"", 1);
}

static bool python_is_chosen(const struct ctl_submit *ask)
{
    return ask->python && strcmp(ask->python_from, PYTHON_BY_OPTION) == 0;
}

static void hash_body(struct submission *s)
{
    crypto_hash_sha256_state state;
    const struct ctl_submit *ask = &s->ask;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)ask->text, ask->len);
    hash_part(&state, ask->from);
    hash_part(&state, ask->name);
    hash_part(&state, ask->queue);
    hash_part(&state, ask->code_dir);
    hash_part(&state, ask->work_dir);
    for (size_t i = 0; i < ask->env.n; i++) {
        hash_part(&state, ask->env.at[i].name);
        hash_part(&state, ask->env.at[i].value);
    }
    for (size_t i = 0; i < ask->sets.n; i++)
        hash_part(&state, ask->sets.at[i]);
    if (python_is_chosen(ask)) /* what another shell has by chance makes no other submission */
        hash_part(&state, ask->python);
    crypto_hash_sha256_final(&state, s->hash);
}

/* The text of another job, with its dialect and directories where the new submission names none. */
static int take_after(struct submission *s, struct err *err)
{
    struct job_row row;
    struct origin_row origin;
    struct site_record site;
    struct ctl *ctl = s->ctl;
    if (core_row(ctl, s->arena, s->ask.like, &row))
        return err_set(err, ERR_NOT_FOUND, "the job to be submitted again is not known");
    if (taped_right(ctl, check_may_change(ctl->accounts, s->ask.owner, &row, err), err))
        return -1;
    if (store_get_origin(ctl->config.store, s->arena, s->ask.like, &origin, err) != 1)
        return err_set(err, ERR_NOT_FOUND, "job %llu has no text any more",
                       (unsigned long long)row.number);
    if (!origin.text) {
        err_set(err, ERR_CANNOT, "the text of job %llu is sealed with another key",
                (unsigned long long)row.number);
        return err_hint(err,
                        "the setting seal_key says where the key is; or submit the file again");
    }
    row_json_read_site(s->arena, row.site, &site);
    s->only = row.array != 0;
    s->index = row.index;
    s->ask.text = origin.text;
    s->ask.len = strlen(origin.text);
    s->ask.from = s->ask.from ? s->ask.from : row.dialect;
    s->ask.file = s->ask.file ? s->ask.file : origin.file;
    s->ask.work_dir = s->ask.work_dir ? s->ask.work_dir : site.work_dir;
    s->ask.code_dir = s->ask.code_dir ? s->ask.code_dir : site.code_dir;
    if (!python_is_chosen(&s->ask) && site.python_from) {
        s->ask.python = site.python;
        s->ask.python_from = site.python_from;
    }
    return 0;
}

/* 1: answered already; 0: a new key; -1: err. */
static int known_key(struct submission *s, struct err *err)
{
    struct ctl *ctl = s->ctl;
    struct idempotency_row idem = { .owner = s->ask.owner, .key = s->ask.key };
    if (!s->ask.key || s->ask.dry_run)
        return 0;
    if (strlen(s->ask.key) > KEY_MAX || !*s->ask.key)
        return err_set(err, ERR_INPUT, "an idempotency key has 1 to %d characters", KEY_MAX);
    int found = store_get_idem(ctl->config.store, core_now(ctl), &idem, err);
    if (found <= 0)
        return found;
    if (memcmp(idem.body_hash, s->hash, sizeof s->hash) != 0) {
        err_set(err, ERR_CONFLICT, "idempotency key \"%.100s\" was used for another submission",
                s->ask.key);
        return err_hint(err, "use a new key for a new job");
    }
    if (core_row(ctl, s->arena, idem.job, &s->row))
        return err_set(err, ERR_CONFLICT, "the job of idempotency key \"%.100s\" is gone",
                       s->ask.key);
    return 1;
}

/* ---- reading and admission ---- */

static int refuse(struct submission *s, struct err *err, enum err_code code)
{
    report_err(&s->answer->report, err);
    err->code = code;
    return -1;
}

static int read_text(struct submission *s, struct err *err)
{
    struct ctl *ctl = s->ctl;
    struct site site = { .owner = s->ask.owner,
                         .fs_uri = ctl->config.fs_uri,
                         .work_dir = s->ask.work_dir,
                         .catalogue = core_catalogue(ctl) };
    struct dialect_request request = { .text = s->ask.text,
                                       .len = s->ask.len,
                                       .from = s->ask.from,
                                       .name = s->ask.name,
                                       .queue = s->ask.queue,
                                       .env = s->ask.env,
                                       .sets = s->ask.sets,
                                       .python = s->ask.python,
                                       .python_chosen = python_is_chosen(&s->ask),
                                       .site = &site };
    s->answer->has_report = true;
    if (dialect_read(ctl->config.dialects, s->arena, &request, &s->read, &s->answer->report))
        return refuse(s, err, ERR_INPUT);
    if (s->only)
        s->read.job->array = (struct job_array){ .count = 1, .first = s->index, .step = 1 };
    return 0;
}

/* A name is in use as long as its job lives; a client that asks for more finds ended ones too. */
static int check_unique(struct submission *s, struct err *err)
{
    const char *name = s->read.job->name;
    bool by_dialect = s->read.dialect->unique_names && !s->ask.like && !s->ask.apply;
    uint64_t id;
    if ((!s->ask.unique && !by_dialect) ||
        store_find_name(s->ctl->config.store, name, s->ask.owner, &id) != 1)
        return 0;
    const struct live_job *job = live_find(s->ctl->live, id);
    bool lives = job && !job_state_final(job->row.state);
    if (!lives && !s->ask.unique)
        return 0;
    err_set(err, ERR_CONFLICT, "%.60s has a job \"%.120s\" already", s->ask.owner, name);
    if (!lives)
        return err_hint(err, "another name, or delete that one");
    err_hint(err, "--name gives this one another");
    return err_remedy_of(err, REMEDY_STOP_JOB, "%llu", (unsigned long long)job->row.number);
}

static const char *map_uri(const struct submission *s, const char *uri, struct err *err)
{
    const struct storage storage = core_storage(s->ctl, s->ask.work_dir);
    return storage_map(&storage, s->arena, uri, err);
}

/* Whose rights what the job names is looked at with; a replay looks at nothing. */
static const struct fs_user *files_of(const struct submission *s)
{
    return taped_replays(s->ctl) ? NULL : account_files(s->ask.account);
}

/* What was found outside; in a replay what was found then. */
static int looked(struct submission *s, int rc)
{
    return taped_outside(s->ctl, OUTSIDE_STORAGE, rc, NULL);
}

/* What err says, as a problem of that field. */
static int refuse_field(struct submission *s, const char *path, struct err *err)
{
    report_add(&s->answer->report, SEVERITY_ERROR, (struct place){ 0 }, path, err->what, err->hint);
    return -1;
}

/* It may be placed on another machine than this one. */
static bool runs_elsewhere(const struct submission *s)
{
    const struct engine *engine = s->ctl->config.engine;
    return nodes_have_machines(s->ctl->nodes) ||
           admit_asks_nodes(engine->ops->caps(engine), s->read.job);
}

static int check_data(struct submission *s, const struct job_spec *spec, struct err *err)
{
    AS_FS_USER(files_of(s));
    for (size_t i = 0; i < spec->inputs.n_data; i++) {
        const char *from = spec->inputs.data[i].from;
        const char *path = map_uri(s, from, err);
        bool lacks = path && looked(s, !taped_replays(s->ctl) && !file_can_read(path) ? -1 : 0);
        if (lacks && runs_elsewhere(s)) {
            report_warn(&s->answer->report, (struct place){ 0 },
                        arena_printf(s->arena, "inputs.data[%zu]", i),
                        "%.200s cannot be read at the server: tasks start only on machines that "
                        "have it",
                        path);
        } else if (lacks) {
            err_sys(err, "%s (%s)", from, path);
            err->code = ERR_CANNOT;
            path = NULL;
        }
        if (!path)
            return refuse_field(s, arena_printf(s->arena, "inputs.data[%zu]", i), err);
    }
    return 0;
}

/* Its tasks start in a copy of what was uploaded, wherever the submitter is. */
static int use_archive(struct submission *s, const char *archive, struct err *err)
{
    bool kept = taped_replays(s->ctl) ||
                archive_keep(archive_path(s->ctl->config.state_dir, s->arena, archive));
    s->ask.work_dir = s->site.work_dir = NULL;
    if (looked(s, kept ? 0 : -1) == 0)
        return 0;
    err_set(err, ERR_CANNOT, "inputs.code.archive: %.80s is not kept here", archive);
    return err_hint(err, "put it first: /v1/archives/");
}

/* Nothing is fetched: the directory of a code source has to be at what is asked for already. One
 * that the submitter names instead is used as it is. */
static int check_code(struct submission *s, const char *uri, struct err *err)
{
    const struct code *code = &s->read.job->inputs.code;
    bool replays = taped_replays(s->ctl);
    if (code->at && s->ask.code_dir)
        report_warn(&s->answer->report, (struct place){ 0 }, "inputs.code",
                    "the code is that of %.200s as it lies there, \"%.100s\" or not",
                    s->ask.code_dir, code->at);
    const struct code_place at = { uri, s->ask.code_dir ? NULL : code->at };
    AS_FS_USER(files_of(s));
    return looked(s, replays ? 0 : storage_check_code(s->site.code_dir, &at, code->limit, err));
}

/* Code is copied to nodes that do not see it. */
static int check_travel(struct submission *s, struct err *err)
{
    const char *dir = s->site.code_dir ? s->site.code_dir : s->site.work_dir;
    if (!dir || !runs_elsewhere(s))
        return 0;
    AS_FS_USER(files_of(s));
    return looked(s, taped_replays(s->ctl) ? 0 : storage_check_travel(dir, err));
}

/* Where the job's Python comes from, for who looks at the job later. */
static void note_python(struct submission *s)
{
    const char *python = s->read.job->inputs.interpreter;
    bool asked = python && s->ask.python && strcmp(python, s->ask.python) == 0;
    s->site.python = python;
    s->site.python_from = asked ? s->ask.python_from : python ? PYTHON_OF_JOB : NULL;
}

/* What a shell had by chance was found there. */
static int check_python(struct submission *s, struct err *err)
{
    const char *python = s->site.python, *from = s->site.python_from;
    if (!python || (strcmp(from, PYTHON_OF_JOB) != 0 && !python_is_chosen(&s->ask)) ||
        s->notes.runtime > RUNTIME_HOST || runs_elsewhere(s))
        return 0;
    AS_FS_USER(files_of(s));
    int rc = looked(s, taped_replays(s->ctl) ? 0 : storage_check_python(python, err));
    return rc ? refuse_field(s, "inputs.interpreter", err) : 0;
}

/* Directories the job names, as directories of this machine. */
static int map_storage(struct submission *s, struct err *err)
{
    const struct job_spec *spec = s->read.job;
    const struct code *code = &spec->inputs.code;
    const char *uri = s->ask.code_dir ? s->ask.code_dir : code->dir;
    s->site.work_dir = s->ask.work_dir;
    if (code->archive && use_archive(s, code->archive, err) < 0)
        return -1;
    s->site.file = s->ask.file;
    s->site.account = s->ask.account;
    s->site.parent = s->ask.parent;
    s->site.wait_for_nodes = s->ask.wait_for_nodes || s->read.dialect->queues;
    if (uri) {
        s->site.code_dir = s->ask.code_dir ? s->ask.code_dir : map_uri(s, uri, err);
        if (!s->site.code_dir || check_code(s, uri, err))
            return refuse_field(s, "inputs.code", err);
    }
    if (check_travel(s, err))
        return refuse_field(s, "inputs.code", err);
    if (spec->output && *spec->output) {
        s->site.output_dir = map_uri(s, spec->output, err);
        if (!s->site.output_dir)
            return refuse_field(s, "output", err);
        if (runs_elsewhere(s))
            report_warn(&s->answer->report, (struct place){ 0 }, "output",
                        "results lie in %.200s of the machine that a task runs on, and stay there",
                        s->site.output_dir);
    }
    return check_python(s, err) ? -1 : check_data(s, spec, err);
}

/* They run, but cannot ask for anything. */
static void warn_unreachable(struct submission *s)
{
    const struct launch_server server = core_launch_server(s->ctl);
    if (!s->ask.account || s->notes.alone || launch_address(&server, s->arena, s->ask.account))
        return;
    struct problem *p =
        report_warn(&s->answer->report, (struct place){ 0 }, "server",
                    "programs of this job cannot reach the server: it has no socket for account "
                    "%.60s and no port",
                    s->ask.account->name);
    report_hint(&s->answer->report, p, "an admin sets public_socket or listen");
}

/* Nodes only change with the server: what fitted them empty fits them. */
static int admit_shape(struct submission *s)
{
    struct ctl *ctl = s->ctl;
    uint64_t shape = job_shape(s->read.job);
    if (map_get(ctl->possible, shape))
        return 0;
    if (admit_size(ctl->cluster, s->read.job, &s->answer->report))
        return -1;
    map_set(ctl->possible, shape, ctl);
    return 0;
}

/* A workspace that one is no member of is not there for one. */
static int check_member(struct submission *s, struct err *err)
{
    const char *project = s->read.job->project;
    bool asked = s->read.dialect->catalogued;
    bool may = !asked || user_may_use_project(s->ctl->accounts, s->ask.owner, project);
    if (taped_right(s->ctl, may ? 0 : -1, NULL) == 0)
        return 0;
    err_set(err, ERR_DENIED, "%.60s is no member of workspace \"%.100s\"", s->ask.owner,
            project ? project : "");
    err_hint(err, "an admin makes one a member (`muster user set`, --project)");
    return refuse_field(s, "project", err);
}

static int check_account(struct submission *s, struct err *err)
{
    struct placing *placing = &s->read.job->placing;
    if (engine_check_account(s->ctl, s->ask.account, s->read.job, err))
        return refuse_field(s, "place.engine", err);
    s->notes.alone = s->ask.account && strcmp(placing->engine, ENGINE_ALLOCATOR) == 0;
    placing->own = s->notes.alone ? PLACING_OWN_TO_COME : 0;
    return 0;
}

/* What works on this machine is not in a recording; whether it was asked for is. */
static int settle_runtime(struct submission *s)
{
    static const struct runtime_checks unknown = { .n = 0 };
    const struct job_spec *spec = s->read.job;
    const struct runtime_checks *checks = s->ctl->config.runtimes;
    enum job_runtime asked = spec->runtime ? spec->runtime : s->ctl->config.runtime;
    if (!admit_names_image(spec))
        return 0;
    s->notes.runtime = s->site.runtime = RUNTIME_HOST;
    if (asked == RUNTIME_SERVER || asked == RUNTIME_HOST)
        return 0;
    enum job_runtime usual = asked > RUNTIME_HOST ? asked : RUNTIME_BWRAP;
    enum job_runtime got = checks ? runtime_choose(checks, asked) : usual;
    bool none = taped_outside(s->ctl, OUTSIDE_STORAGE, got == RUNTIME_SERVER ? -1 : 0, NULL) != 0;
    s->notes.runtime = s->site.runtime = got == RUNTIME_SERVER ? usual : got;
    checks = none ? (checks ? checks : &unknown) : NULL;
    return admit_image(checks, asked, runs_elsewhere(s), spec, &s->answer->report);
}

static int refuse_size(struct submission *s, struct err *err)
{
    const char *engine = s->read.job->placing.engine, *why = s->ctl->config.no_allocations;
    if (engine && strcmp(engine, ENGINE_ALLOCATOR) == 0 && why)
        report_add(&s->answer->report, SEVERITY_ERROR, (struct place){ 0 }, "place.engine", why,
                   "leave it out, to run where there is room");
    return refuse(s, err, ERR_CANNOT);
}

/* The queue of a batch script is a partition where it comes from. */
static void hint_partition(struct submission *s)
{
    const struct engine *engine = s->ctl->config.engine;
    const struct job_spec *spec = s->read.job;
    if ((engine->ops->caps(engine) & ENGINE_ALLOCATES) && !spec->placing.engine &&
        !resolve_queue(core_catalogue(s->ctl), spec->queue))
        report_warn(&s->answer->report, (struct place){ 0 }, "place.engine",
                    "\"%.100s\" as a partition of Slurm is for jobs with place.engine: slurm "
                    "(--engine slurm, before the file)",
                    spec->queue);
}

static int admit(struct submission *s, struct err *err)
{
    struct ctl *ctl = s->ctl;
    struct job_spec *spec = s->read.job;
    struct report *report = &s->answer->report;
    struct engine *engine = ctl->config.engine;
    engine_choose(ctl, s->arena, s->ask.account, spec);
    if (resolve_names(core_catalogue(ctl), s->read.dialect->catalogued, spec, report) |
        depend_work_resolve(ctl, s->ask.owner, spec, report)) {
        hint_partition(s);
        return refuse(s, err, ERR_INPUT);
    }
    if (check_member(s, err) || check_account(s, err))
        return -1;
    if (core_check_secrets(ctl, s->ask.owner, spec, report))
        return refuse(s, err, ERR_INPUT);
    bool numbers = engine->ops->caps(engine) & ENGINE_NUMBERS;
    if (queues_check_job(ctl->queues, spec, report) || (!numbers && settle_runtime(s)))
        return refuse(s, err, ERR_CANNOT);
    enum job_runtime got = s->notes.runtime ? s->notes.runtime : spec->runtime;
    if (admit_features(engine->ops->caps(engine), got, spec, s->read.root, report) ||
        admit_topology(ctl->cluster, spec, report))
        return refuse(s, err, ERR_CANNOT);
    if (!numbers && map_storage(s, err))
        return -1;
    if (!numbers && !taped_replays(ctl))
        warn_unreachable(s);
    spec->inputs.code.at = NULL; /* looked at; a directory has none */
    if (admit_asks_nodes(engine->ops->caps(engine), spec))
        return 0; /* nodes are asked for that hold it */
    if (s->read.dialect->queues && !s->ask.wait_for_nodes)
        admit_warn_size(s->ctl->cluster, s->read.job, &s->answer->report);
    else if (!s->ask.wait_for_nodes && admit_shape(s))
        return refuse_size(s, err);
    return 0;
}

/* ---- the answer ---- */

static struct text_node *warnings(struct submission *s)
{
    const struct report *report = &s->answer->report;
    const struct refused refused = { .program = "muster", .file = s->ask.file };
    struct text_node *list = text_list(s->arena, NULL, NULL);
    for (size_t i = 0; i < report->n; i++) {
        const struct problem *p = &report->at[i];
        if (p->severity != SEVERITY_WARNING)
            continue;
        struct text_node *one = text_map(s->arena, list, NULL);
        text_str(s->arena, one, "path", p->path ? p->path : "");
        text_str(s->arena, one, "what", p->what);
        remedies_write(s->arena, one, p->hint, p->remedies, &refused);
        if (p->place.line) {
            text_int(s->arena, one, "line", p->place.line);
            text_int(s->arena, one, "col", p->place.col);
        }
    }
    return list;
}

/* What the submitter said beside the text; values of variables may be secret. */
static struct text_node *differs(struct submission *s)
{
    struct text_node *list = text_list(s->arena, NULL, NULL);
    const struct ctl_submit *ask = &s->ask;
    if (ask->name)
        text_str(s->arena, list, NULL, arena_printf(s->arena, "name=%s", ask->name));
    if (ask->queue)
        text_str(s->arena, list, NULL, arena_printf(s->arena, "queue=%s", ask->queue));
    if (ask->code_dir)
        text_str(s->arena, list, NULL, arena_printf(s->arena, "code=%s", ask->code_dir));
    if (python_is_chosen(ask))
        text_str(s->arena, list, NULL, arena_printf(s->arena, "python=%s", ask->python));
    for (size_t i = 0; i < ask->sets.n; i++)
        text_str(s->arena, list, NULL, ask->sets.at[i]);
    for (size_t i = 0; i < ask->env.n; i++)
        text_str(s->arena, list, NULL, arena_printf(s->arena, "env %s", ask->env.at[i].name));
    return list;
}

static void add_sizes(struct arena *arena, const struct job_spec *spec, struct submitted_view *view)
{
    uint64_t jobs = spec->array.count ? spec->array.count : 1;
    char range[JOB_ARRAY_TEXT];
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];
        uint64_t tasks = jobs * role->replicas;
        view->tasks += tasks;
        view->cpu_milli += tasks * role->resources.cpu_milli;
        view->memory += tasks * role->resources.memory;
        view->gpu_milli += tasks * role->resources.gpu_milli;
    }
    view->members = spec->array.count;
    if (view->members)
        view->indices = arena_strdup(arena, job_array_range(range, &spec->array));
}

static void answer_new(struct submission *s)
{
    const struct job_spec *spec = s->read.job;
    struct submitted_view *view = ARENA_NEW(s->arena, struct submitted_view);
    *view = (struct submitted_view){ .id = s->row.id, /* 0: of a dry run */
                                     .name = s->row.name,
                                     .number = s->row.number,
                                     .dialect = s->read.dialect->name,
                                     .title = s->read.dialect->title,
                                     .state = s->row.state,
                                     .work_dir = arena_strdup(
                                         s->arena, s->site.code_dir ? NULL : s->site.work_dir),
                                     .code_dir = arena_strdup(s->arena, s->site.code_dir),
                                     .roles = spec->n_roles,
                                     .applied = s->ask.apply ? "created" : NULL,
                                     .dry_run = s->ask.dry_run,
                                     .spec = spec,
                                     .warnings = s->site.warnings };
    add_sizes(s->arena, spec, view);
    s->answer->job = s->row.id;
    s->answer->made.submitted = view;
}

static void answer_existing(struct submission *s)
{
    const struct job_row *row = &s->row;
    const struct dialect *dialect = dialect_find(s->ctl->config.dialects, row->dialect);
    struct reader reader = reader_of(s->ctl->accounts, s->arena, s->ask.owner);
    struct site_record site;
    row_json_read_site(s->arena, row->site, &site);
    struct submitted_view *view = ARENA_NEW(s->arena, struct submitted_view);
    *view =
        (struct submitted_view){ .id = row->id,
                                 .name = row->name,
                                 .number = row->number,
                                 .dialect = row->dialect,
                                 .title = dialect ? dialect->title : NULL,
                                 .state = row->state,
                                 .tasks = row->tasks,
                                 .gpu_milli = row->gpu_milli,
                                 .work_dir = site.code_dir ? NULL : site.work_dir,
                                 .code_dir = site.code_dir,
                                 .members = row->members,
                                 .existing = !s->updated,
                                 .applied = s->updated,
                                 .reason = s->updated ? reader_text(&reader, &row->reason) : NULL,
                                 .warnings = site.warnings };
    s->answer->job = row->id;
    s->answer->made.submitted = view;
}

/* ---- storing ---- */

/* With the rights of the account: the server may read more than the submitter. */
static int read_auth(const struct submission *s, const char *path, char **data, size_t *len,
                     struct err *err)
{
    AS_FS_USER(files_of(s));
    return file_read(path, AUTH_MAX, data, len, err);
}

static void warn_auth(const struct submission *s, const char *what, const struct err *err)
{
    report_warn(&s->answer->report, (struct place){ 0 }, "inputs.registry_auth", "%s: %s", what,
                err->what);
}

/* The file of the job's credentials; NULL: there is none. No secret is recorded. */
static char *read_auth_file(struct submission *s, size_t *len)
{
    struct err err;
    char *data = NULL;
    const char *uri = s->read.job->inputs.registry_auth;
    const char *path = uri ? map_uri(s, uri, &err) : NULL;
    if (!uri)
        return NULL;
    bool replays = taped_replays(s->ctl);
    int rc = path && !replays ? read_auth(s, path, &data, len, &err) : 0;
    if (path && !taped_outside(s->ctl, OUTSIDE_STORAGE, rc, &err))
        return data;
    free(data);
    report_warn(&s->answer->report, (struct place){ 0 }, "inputs.registry_auth",
                "%s cannot be read: %s", uri, err.what);
    return NULL;
}

/* Registry credentials lie apart from the job. */
static void keep_auth(struct submission *s)
{
    struct err err;
    size_t len = 0;
    char *data = read_auth_file(s, &len), *json = NULL;
    if (taped_replays(s->ctl))
        return;
    if (registry_auth_make(data, len, &s->read.job->inputs, &json, &err) != 0)
        warn_auth(s, "credentials are not used", &err);
    if (json && registry_auth_keep(s->ctl->config.store, s->ask.owner, s->row.id, json, &err) != 0)
        warn_auth(s, "credentials cannot be kept", &err);
    if (data)
        sodium_memzero(data, len);
    if (json)
        sodium_memzero(json, strlen(json));
    free(data);
    free(json);
}

static uint64_t all_gpus(const struct job_spec *spec)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < spec->n_roles; i++)
        sum += spec->roles[i].replicas * spec->roles[i].resources.gpu_milli;
    return sum;
}

static void make_row(struct submission *s)
{
    struct ctl *ctl = s->ctl;
    const struct job_spec *spec = s->read.job;
    uint64_t now = core_now(ctl);
    uint32_t members = spec->array.count, jobs = members ? members : 1;
    depend_work_note(spec, &s->notes);
    s->notes.shape = job_shape(spec);
    s->notes.code = spec->inputs.code.archive ? archive_mark(spec->inputs.code.archive) : 0;
    s->notes.pending_until_ms =
        spec->limits.pending_ms.has ? now + spec->limits.pending_ms.value : 0;
    s->row = (struct job_row){ .name = spec->name,
                               .owner = s->ask.owner,
                               .project = spec->project ? spec->project : "",
                               .queue = spec->queue && *spec->queue ? spec->queue : "default",
                               .dialect = s->read.dialect->name,
                               .priority = spec->priority,
                               .reason.text = "",
                               .tasks = jobs * job_task_count(spec),
                               .gpu_milli = jobs * all_gpus(spec),
                               .submitted_ms = core_date(ctl),
                               .members = members };
    if (s->ask.dry_run)
        return;
    s->row.id = job_id_next(ctl->last_id, now);
    ctl->last_id = s->row.id + members;
    s->row.number = store_next_number(ctl->config.store);
}

static struct reason first_reason(const struct submission *s)
{
    const char *archive = s->read.job->inputs.code.archive;
    const struct site_record *site = &s->site;
    return (struct reason){ .kind = archive          ? REASON_IN_COPY
                                    : site->code_dir ? REASON_WITH_CODE
                                    : site->work_dir ? REASON_IN_DIRECTORY
                                                     : REASON_FRESH,
                            .text = archive          ? archive
                                    : site->code_dir ? site->code_dir
                                                     : site->work_dir,
                            .n = s->read.job->suspend };
}

static enum job_event first_event(const struct job_spec *spec)
{
    return spec->suspend ? JOB_EV_HELD : JOB_EV_SUBMITTED;
}

struct live_job *submit_enter(struct ctl *ctl, struct job_row *row, const struct submitted_job *new)
{
    row->state = JOB_NONE;
    struct live_job *job = live_add(ctl->live, row);
    job->notes = *new->notes;
    if (new->tree && live_waiting(ctl->live) < SOON)
        load_spec(job, new->tree);
    event_new_job(ctl, job, first_event(new->spec),
                  &(struct reason){ .kind = REASON_SAID, .text = new->text }, new->body);
    row->state = job->row.state;
    row->reason = job->row.reason;
    packing_learn(ctl->packing, new->spec);
    ctl->counters.submitted++;
    return job;
}

/* Its members follow in ids and numbers, a slice at a time (members.c). */
static void enter_array(struct submission *s, const char *text, struct text_node *body)
{
    const struct sentence said = { .text = text };
    struct live_array *array = array_open(s->ctl->arrays, &s->row);
    if (!array)
        return;
    array_touch(s->ctl->arrays, array);
    event_array(s->ctl, &s->row, job_event_word(first_event(s->read.job)), &said, body);
}

static void store_origin(struct submission *s)
{
    AUTO_FREE char *original = mem_strndup(s->ask.text, s->ask.len);
    struct origin_row origin = {
        .job = s->row.id,
        .text = original,
        .masked = dialect_mask(s->arena, s->read.dialect, s->read.root, s->ask.text, s->ask.len),
        .file = s->ask.file,
    };
    store_put_origin(s->ctl->config.store, &origin, NULL);
}

static const char *python_text(struct submission *s, const char *path, const char *from)
{
    struct arena *a = s->ctl->scratch;
    if (strcmp(from, PYTHON_BY_OPTION) == 0)
        return arena_printf(a, "%s, named at submission", path);
    if (strcmp(from, PYTHON_OF_JOB) == 0)
        return arena_printf(a, "%s, named by the job", path);
    if (strcmp(from, PYTHON_OF_SERVER) == 0)
        return arena_printf(a, "%s, the server's", path);
    return arena_printf(a, "%s, by %s of its submitter", path, from);
}

/* What was chosen when the submitter's side named an interpreter; others have the server's. */
static void add_python_event(struct submission *s)
{
    struct arena *a = s->ctl->scratch;
    const char *path = s->site.python ? s->site.python : s->ctl->config.python;
    const char *from = s->site.python_from ? s->site.python_from : PYTHON_OF_SERVER;
    if (!s->ask.python || !path)
        return;
    struct text_node *body = text_map(a, NULL, NULL);
    text_str(a, body, "path", path);
    text_str(a, body, "from", from);
    text_str(a, body, "text", python_text(s, path, from));
    event_plain(s->ctl, s->row.id, "interpreter", body);
}

/* Rows first, the events last. */
static void store_all(struct submission *s)
{
    struct ctl *ctl = s->ctl;
    struct store *store = ctl->config.store;
    struct draft first;
    AUTO_BUF struct buf spec = BUF_INIT(SPEC_MAX);
    s->tree = job_encode(s->arena, s->read.job);
    json_print(s->tree, 0, &spec);
    s->row.spec = buf_str(&spec);
    s->row.facets = row_json_facets(s->arena, s->tree);
    s->row.site = row_json_of_site(s->arena, &s->site);
    s->row.live = row_json_of_job(s->arena, &s->notes);
    s->row.state = job_next_state(JOB_NONE, first_event(s->read.job));
    const struct reason begins = first_reason(s);
    draft_reason(&first, &begins);
    s->row.reason.text = first.text;
    if (s->row.members) {
        const struct array_progress notes = { .left = s->row.members,
                                              .live = s->row.live,
                                              .text = first.text };
        s->row.live = array_progress_print(s->arena, &notes);
        s->row.reason.text = ""; /* an array's: the first that failed */
    }
    store_put_job(store, &s->row, NULL);
    slices_spend(&ctl->slices.rows, s->row.tasks / SLICE_READ);
    if (store_keeps_details(store))
        store_origin(s);
    if (s->ask.key) {
        struct idempotency_row idem = { .owner = s->ask.owner,
                                        .key = s->ask.key,
                                        .job = s->row.id,
                                        .expires_ms = core_now(ctl) + IDEM_KEEP_MS };
        memcpy(idem.body_hash, s->hash, sizeof idem.body_hash);
        store_put_idem(store, &idem, NULL);
    }
    struct text_node *body = text_map(ctl->scratch, NULL, NULL);
    if (s->site.warnings->count)
        text_copy(ctl->scratch, body, "warnings", s->site.warnings);
    if (s->row.members)
        enter_array(s, first.text, body);
    else
        submit_enter(ctl, &s->row,
                     &(struct submitted_job){ .notes = &s->notes,
                                              .spec = s->read.job,
                                              .tree = s->tree,
                                              .text = first.text,
                                              .body = body });
    add_python_event(s);
}

/* The job that this one is like makes way: both are seen in one plan. */
static int may_replace(struct submission *s, struct err *err)
{
    struct live_job *job = live_find(s->ctl->live, s->ask.like);
    bool waits = job && (job->row.state == JOB_QUEUED || job->row.state == JOB_SUSPENDED);
    if (!s->ask.replace || waits)
        return 0;
    if (!s->ask.like) {
        err_set(err, ERR_INPUT, "nothing is named that is to be replaced");
        return err_hint(err, "--like JOB --replace");
    }
    err_set(err, ERR_CONFLICT, "the job to be replaced does not wait any more");
    return err_hint(err, "without --replace it is submitted beside it");
}

static void replace(struct submission *s)
{
    struct live_job *job = s->ask.replace ? live_find(s->ctl->live, s->ask.like) : NULL;
    if (job)
        settle_end(s->ctl, job, JOB_EV_STOP,
                   &(struct reason){ .kind = REASON_REPLACED, .other = &s->row });
}

/* 1: the text is about a job or an array that lives, which is as it says now; 0: it is a new one.
 */
static int apply(struct submission *s, struct err *err)
{
    struct ctl *ctl = s->ctl;
    const struct job_spec *spec = s->read.job;
    if (!s->ask.apply)
        return 0;
    struct live_job *job = update_target(ctl, s->ask.owner, spec);
    struct live_array *array = update_array_target(ctl, s->ask.owner, spec);
    if (!job && !array)
        return 0;
    const struct update to = { s->ask.owner, spec, s->ask.dry_run };
    bool of_job = job && (!array || job->row.id > array->row.id);
    int changed = of_job ? update_job(ctl, job, &to, err) : update_array(ctl, array, &to, err);
    if (changed < 0)
        return -1;
    const struct job_row *row = of_job ? &job->row : &array->row;
    core_row(ctl, s->arena, row->id, &s->row);
    s->row.state = row->state;
    s->row.reason = sentence_copy(s->arena, &row->reason);
    s->updated = changed ? "configured" : "unchanged";
    answer_existing(s);
    return 1;
}

/* The last commit failed; it is tried again by itself. */
static int say_unwritten(const struct ctl *ctl, struct err *err)
{
    if (ctl->no_room) {
        err_set(err, ERR_FULL, "the disk of the server is full");
        return err_hint(err, "make room in %s; running jobs go on", ctl->config.state_dir);
    }
    err_set(err, ERR_UNAVAILABLE, "the server could not write its records a moment ago");
    return err_hint(err, "its log says why; it tries again by itself, running jobs go on");
}

static int submit(struct submission *s, struct err *err)
{
    if (!s->ask.text && take_after(s, err))
        return -1;
    if (s->ask.key)
        hash_body(s);
    int known = known_key(s, err);
    if (known < 0)
        return -1;
    if (known) {
        answer_existing(s);
        return 0;
    }
    if (may_replace(s, err))
        return -1;
    if (s->ctl->unwritten && !s->ask.dry_run)
        return say_unwritten(s->ctl, err);
    if (read_text(s, err) || check_unique(s, err))
        return -1;
    int applied = apply(s, err);
    if (applied)
        return applied < 0 ? -1 : 0;
    note_python(s);
    if (admit(s, err))
        return -1;
    make_row(s);
    if (!s->ask.dry_run)
        keep_auth(s);
    s->site.warnings = warnings(s);
    s->site.differs = differs(s);
    if (!s->ask.dry_run) {
        store_all(s);
        replace(s);
    }
    answer_new(s);
    return 0;
}

const struct job_spec *ctl_preview(struct ctl *ctl, struct arena *arena,
                                   const struct ctl_submit *ask, struct report *report,
                                   struct err *err)
{
    struct answer answer = { .arena = arena };
    struct submission s = { .ctl = ctl, .ask = *ask, .answer = &answer, .arena = arena };
    report_init(&answer.report, arena);
    bool read = (s.ask.text || !take_after(&s, err)) && !read_text(&s, err) && !admit(&s, err);
    *report = answer.report;
    return read ? s.read.job : NULL;
}

static int may_submit(struct ctl *ctl, const struct ctl_submit *ask, struct err *err)
{
    bool reader =
        !ask->dry_run && ask->owner && user_role_of(ctl->accounts, ask->owner) == ROLE_READER;
    bool others = !ask->account && !user_runs_as_server(ctl->accounts, ask->owner);
    if (reader)
        err_set(err, ERR_DENIED, "%.60s is a reader: it submits nothing", ask->owner);
    else if (ask->refused)
        *err = *ask->refused;
    else if (others)
        err_set(err, ERR_DENIED, "a job of %.60s does not run as %s", ask->owner, ctl->admin);
    return taped_right(ctl, reader || others || ask->refused ? -1 : 0, err);
}

/* A recording has no credentials: nothing is decided by them. */
static struct tape_scope tell_tape(struct ctl *ctl, const struct ctl_submit *ask)
{
    struct ctl_submit told = *ask;
    struct arena *arena = arena_create();
    if (ctl->config.tape && !taped_replays(ctl) && ask->text) {
        told.text = dialect_without_credentials(ctl->config.dialects, arena, ask->from, ask->text,
                                                ask->len);
        told.len = strlen(told.text);
    }
    struct tape_scope taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_SUBMIT, .submit = &told });
    arena_destroy(arena);
    return taped;
}

void ctl_submit(struct ctl *ctl, const struct ctl_submit *ask, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = { .ctl = NULL };
    if (!ask->dry_run) /* a question changes nothing */
        taped = tell_tape(ctl, ask);
    struct answer *answer = turn_answer(ctl, done, arg);
    struct submission s = { .ctl = ctl, .ask = *ask, .answer = answer, .arena = answer->arena };
    struct err err = { 0 };
    answer->writes = true;
    if (may_submit(ctl, ask, &err) || submit(&s, &err))
        answer->err = err;
}
