/* Submission in a turn: a candidate (submission/candidate.h) gets its id and number, its rows in
 * the turn's transaction, and one event. The answer goes out after the commit; a dry run answers
 * what would happen and stores nothing. */
#include "ctl/submit.h"

#include "account/redact.h"
#include "ctl/account.h"
#include "ctl/depend_work.h"
#include "ctl/results.h"
#include "ctl/slices.h"
#include "ctl/update.h"
#include "inventory/nodes.h"
#include "learn/packing.h"
#include "live/launches/launch_server.h"
#include "live/row_json.h"
#include "live/wording.h"
#include "submission/candidate.h"
#include "submission/candidate_files.h"

#include "base/mem.h"
#include "text/json.h"

#include <string.h>

#define IDEM_KEEP_MS (7ull * 24 * 3600 * 1000)
#define KEY_MAX      255
#define SPEC_MAX     (16u << 20)
#define SOON         2048 /* jobs that wait: one behind so few is looked at soon, and kept as read */

struct submit_command {
    struct ctl *ctl;
    struct answer *answer;
    struct candidate c;
    struct candidate_server server;
    struct launch_server launches;
    struct job_row row;
    struct text_node *tree; /* of the canonical job */
    unsigned char hash[SUBMISSION_HASH];
    const char *updated; /* what became of a job that was there */
};

/* ---- what the candidate asks of the core ---- */

static int outside(void *ctl, int rc, struct err *err)
{
    return taped_outside(ctl, OUTSIDE_STORAGE, rc, err);
}

static int right(void *ctl, int rc, struct err *err)
{
    return taped_right(ctl, rc, err);
}

static int resolve_others(void *ctl, const char *owner, struct job_spec *spec,
                          struct report *report)
{
    return depend_work_resolve(ctl, owner, spec, report);
}

static int check_secrets(void *ctl, const char *owner, const struct job_spec *spec,
                         struct report *report)
{
    return core_check_secrets(ctl, owner, spec, report);
}

static void begin(struct submit_command *s, struct ctl *ctl, const struct submission *ask,
                  struct arena *arena, struct report *report)
{
    const struct ctl_config *config = &ctl->config;
    *s = (struct submit_command){ .ctl = ctl, .launches = core_launch_server(ctl) };
    s->server = (struct candidate_server){ .launches = &s->launches,
                                           .queues = ctl->queues,
                                           .accounts = ctl->accounts,
                                           .possible = ctl->possible,
                                           .caps = config->engine->ops->caps(config->engine),
                                           .machines = nodes_have_machines(ctl->nodes),
                                           .replays = taped_replays(ctl),
                                           .runtime = config->runtime,
                                           .runtimes = config->runtimes,
                                           .place_engine = config->place_engine,
                                           .no_allocations = config->no_allocations,
                                           .no_users_allocations = config->no_users_allocations,
                                           .arg = ctl,
                                           .outside = outside,
                                           .right = right,
                                           .others = resolve_others,
                                           .secrets = check_secrets };
    s->c =
        (struct candidate){ .server = &s->server, .ask = *ask, .arena = arena, .report = report };
}

/* ---- before reading ---- */

/* The text of another job, with its dialect and directories where the new submission names none. */
static int take_after(struct submit_command *s, struct err *err)
{
    struct job_row row;
    struct origin_row origin;
    struct site_record site;
    struct ctl *ctl = s->ctl;
    if (core_row(ctl, s->c.arena, s->c.ask.like, &row))
        return err_set(err, ERR_NOT_FOUND, "the job to be submitted again is not known");
    if (taped_right(ctl, check_may_change(ctl->accounts, s->c.ask.owner, &row, err), err))
        return -1;
    if (store_get_origin(ctl->config.store, s->c.arena, s->c.ask.like, &origin, err) != 1)
        return err_set(err, ERR_NOT_FOUND, "job %llu has no text any more",
                       (unsigned long long)row.number);
    if (!origin.text) {
        err_set(err, ERR_CANNOT, "the text of job %llu is sealed with another key",
                (unsigned long long)row.number);
        return err_hint(err,
                        "the setting seal_key says where the key is; or submit the file again");
    }
    row_json_read_site(s->c.arena, row.site, &site);
    s->c.only = row.array ? row.index + 1 : 0;
    s->c.ask.text = origin.text;
    s->c.ask.len = strlen(origin.text);
    s->c.ask.from = s->c.ask.from ? s->c.ask.from : row.dialect;
    s->c.ask.file = s->c.ask.file ? s->c.ask.file : origin.file;
    s->c.ask.work_dir = s->c.ask.work_dir ? s->c.ask.work_dir : site.work_dir;
    s->c.ask.code_dir = s->c.ask.code_dir ? s->c.ask.code_dir : site.code_dir;
    if (!submission_names_python(&s->c.ask) && site.python_from) {
        s->c.ask.python = site.python;
        s->c.ask.python_from = site.python_from;
    }
    return 0;
}

/* 1: answered already; 0: a new key; -1: err. */
static int known_key(struct submit_command *s, struct err *err)
{
    struct ctl *ctl = s->ctl;
    struct idempotency_row idem = { .owner = s->c.ask.owner, .key = s->c.ask.key };
    if (!s->c.ask.key || s->c.ask.dry_run)
        return 0;
    if (strlen(s->c.ask.key) > KEY_MAX || !*s->c.ask.key)
        return err_set(err, ERR_INPUT, "an idempotency key has 1 to %d characters", KEY_MAX);
    int found = store_get_idem(ctl->config.store, core_now(ctl), &idem, err);
    if (found <= 0)
        return found;
    if (memcmp(idem.body_hash, s->hash, sizeof s->hash) != 0) {
        err_set(err, ERR_CONFLICT, "idempotency key \"%.100s\" was used for another submission",
                s->c.ask.key);
        return err_hint(err, "use a new key for a new job");
    }
    if (core_row(ctl, s->c.arena, idem.job, &s->row))
        return err_set(err, ERR_CONFLICT, "the job of idempotency key \"%.100s\" is gone",
                       s->c.ask.key);
    return 1;
}

/* A name is in use as long as its job lives; a client that asks for more finds ended ones too. */
static int check_unique(struct submit_command *s, struct err *err)
{
    const char *name = s->c.read.job->name;
    bool by_dialect = s->c.read.dialect->unique_names && !s->c.ask.like && !s->c.ask.apply;
    uint64_t id;
    if ((!s->c.ask.unique && !by_dialect) ||
        store_find_name(s->ctl->config.store, name, s->c.ask.owner, &id) != 1)
        return 0;
    const struct live_job *job = live_find(s->ctl->live, id);
    bool lives = job && !job_state_final(job->row.state);
    if (!lives && !s->c.ask.unique)
        return 0;
    err_set(err, ERR_CONFLICT, "%.60s has a job \"%.120s\" already", s->c.ask.owner, name);
    if (!lives)
        return err_hint(err, "another name, or delete that one");
    err_hint(err, "--name gives this one another");
    return err_remedy_of(err, REMEDY_STOP_JOB, "%llu", (unsigned long long)job->row.number);
}

/* ---- the answer ---- */

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

static void answer_new(struct submit_command *s)
{
    const struct job_spec *spec = s->c.read.job;
    struct submitted_view *view = ARENA_NEW(s->c.arena, struct submitted_view);
    *view = (struct submitted_view){
        .id = s->row.id, /* 0: of a dry run */
        .name = s->row.name,
        .number = s->row.number,
        .dialect = s->c.read.dialect->name,
        .title = s->c.read.dialect->title,
        .state = s->row.state,
        .work_dir = arena_strdup(s->c.arena, s->c.site.code_dir ? NULL : s->c.site.work_dir),
        .code_dir = arena_strdup(s->c.arena, s->c.site.code_dir),
        .roles = spec->n_roles,
        .applied = s->c.ask.apply ? "created" : NULL,
        .dry_run = s->c.ask.dry_run,
        .spec = spec,
        .warnings = s->c.site.warnings
    };
    add_sizes(s->c.arena, spec, view);
    s->answer->job = s->row.id;
    s->answer->made.submitted = view;
}

static void answer_existing(struct submit_command *s)
{
    const struct job_row *row = &s->row;
    const struct dialect *dialect = dialect_find(s->ctl->config.dialects, row->dialect);
    struct reader reader = reader_of(s->ctl->accounts, s->c.arena, s->c.ask.owner);
    struct site_record site;
    row_json_read_site(s->c.arena, row->site, &site);
    struct submitted_view *view = ARENA_NEW(s->c.arena, struct submitted_view);
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

static void make_row(struct submit_command *s)
{
    struct ctl *ctl = s->ctl;
    const struct candidate_times times = { core_now(ctl), core_date(ctl) };
    s->row = candidate_row(&s->c, times);
    if (s->c.ask.dry_run)
        return;
    s->row.id = job_id_next(ctl->last_id, times.now_ms);
    ctl->last_id = s->row.id + s->row.members;
    s->row.number = store_next_number(ctl->config.store);
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
static void enter_array(struct submit_command *s, const char *text, struct text_node *body)
{
    const struct sentence said = { .text = text };
    struct live_array *array = array_open(s->ctl->arrays, &s->row);
    if (!array)
        return;
    array_touch(s->ctl->arrays, array);
    event_array(s->ctl, &s->row, job_event_word(first_event(s->c.read.job)), &said, body);
}

static void store_origin(struct submit_command *s)
{
    AUTO_FREE char *original = mem_strndup(s->c.ask.text, s->c.ask.len);
    struct origin_row origin = {
        .job = s->row.id,
        .text = original,
        .masked = dialect_mask(s->c.arena, s->c.read.dialect, s->c.read.root, s->c.ask.text,
                               s->c.ask.len),
        .file = s->c.ask.file,
    };
    store_put_origin(s->ctl->config.store, &origin, NULL);
}

static void add_python_event(struct submit_command *s)
{
    struct text_node *body = candidate_python(&s->c, s->ctl->config.python);
    if (body)
        event_plain(s->ctl, s->row.id, "interpreter", body);
}

/* Rows first, the events last. */
static void store_all(struct submit_command *s)
{
    struct ctl *ctl = s->ctl;
    struct store *store = ctl->config.store;
    struct draft first;
    AUTO_BUF struct buf spec = BUF_INIT(SPEC_MAX);
    s->tree = job_encode(s->c.arena, s->c.read.job);
    json_print(s->tree, 0, &spec);
    s->row.spec = buf_str(&spec);
    s->row.facets = row_json_facets(s->c.arena, s->tree);
    s->row.site = row_json_of_site(s->c.arena, &s->c.site);
    s->row.live = row_json_of_job(s->c.arena, &s->c.notes);
    s->row.state = job_next_state(JOB_NONE, first_event(s->c.read.job));
    const struct reason begins = candidate_reason(&s->c);
    draft_reason(&first, &begins);
    s->row.reason.text = first.text;
    if (s->row.members) {
        const struct array_progress notes = { .left = s->row.members,
                                              .live = s->row.live,
                                              .text = first.text };
        s->row.live = array_progress_print(s->c.arena, &notes);
        s->row.reason.text = ""; /* an array's: the first that failed */
    }
    store_put_job(store, &s->row, NULL);
    slices_spend(&ctl->slices.rows, s->row.tasks / SLICE_READ);
    if (store_keeps_details(store))
        store_origin(s);
    if (s->c.ask.key) {
        struct idempotency_row idem = { .owner = s->c.ask.owner,
                                        .key = s->c.ask.key,
                                        .job = s->row.id,
                                        .expires_ms = core_now(ctl) + IDEM_KEEP_MS };
        memcpy(idem.body_hash, s->hash, sizeof idem.body_hash);
        store_put_idem(store, &idem, NULL);
    }
    struct text_node *body = text_map(ctl->scratch, NULL, NULL);
    if (s->c.site.warnings->count)
        text_copy(ctl->scratch, body, "warnings", s->c.site.warnings);
    if (s->row.members)
        enter_array(s, first.text, body);
    else
        submit_enter(ctl, &s->row,
                     &(struct submitted_job){ .notes = &s->c.notes,
                                              .spec = s->c.read.job,
                                              .tree = s->tree,
                                              .text = first.text,
                                              .body = body });
    add_python_event(s);
}

/* The job that this one is like makes way: both are seen in one plan. */
static int may_replace(struct submit_command *s, struct err *err)
{
    struct live_job *job = live_find(s->ctl->live, s->c.ask.like);
    bool waits = job && (job->row.state == JOB_QUEUED || job->row.state == JOB_SUSPENDED);
    if (!s->c.ask.replace || waits)
        return 0;
    if (!s->c.ask.like) {
        err_set(err, ERR_INPUT, "nothing is named that is to be replaced");
        return err_hint(err, "--like JOB --replace");
    }
    err_set(err, ERR_CONFLICT, "the job to be replaced does not wait any more");
    return err_hint(err, "without --replace it is submitted beside it");
}

static void replace(struct submit_command *s)
{
    struct live_job *job = s->c.ask.replace ? live_find(s->ctl->live, s->c.ask.like) : NULL;
    if (job)
        settle_end(s->ctl, job, JOB_EV_STOP,
                   &(struct reason){ .kind = REASON_REPLACED, .other = &s->row });
}

/* 1: the text is about a job or an array that lives, which is as it says now; 0: it is a new one.
 */
static int apply(struct submit_command *s, struct err *err)
{
    struct ctl *ctl = s->ctl;
    const struct job_spec *spec = s->c.read.job;
    if (!s->c.ask.apply)
        return 0;
    struct live_job *job = update_target(ctl, s->c.ask.owner, spec);
    struct live_array *array = update_array_target(ctl, s->c.ask.owner, spec);
    if (!job && !array)
        return 0;
    const struct update to = { s->c.ask.owner, spec, s->c.ask.dry_run };
    bool of_job = job && (!array || job->row.id > array->row.id);
    int changed = of_job ? update_job(ctl, job, &to, err) : update_array(ctl, array, &to, err);
    if (changed < 0)
        return -1;
    const struct job_row *row = of_job ? &job->row : &array->row;
    core_row(ctl, s->c.arena, row->id, &s->row);
    s->row.state = row->state;
    s->row.reason = sentence_copy(s->c.arena, &row->reason);
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

static int submit(struct submit_command *s, struct err *err)
{
    if (!s->c.ask.text && take_after(s, err))
        return -1;
    if (s->c.ask.key)
        submission_hash(&s->c.ask, s->hash);
    int known = known_key(s, err);
    if (known < 0)
        return -1;
    if (known) {
        answer_existing(s);
        return 0;
    }
    if (may_replace(s, err))
        return -1;
    if (s->ctl->unwritten && !s->c.ask.dry_run)
        return say_unwritten(s->ctl, err);
    s->answer->has_report = true;
    if (candidate_read(&s->c, err) || check_unique(s, err))
        return -1;
    int applied = apply(s, err);
    if (applied)
        return applied < 0 ? -1 : 0;
    candidate_note_python(&s->c);
    if (candidate_settle(&s->c, err))
        return -1;
    make_row(s);
    if (!s->c.ask.dry_run)
        candidate_keep_auth(&s->c, s->ctl->config.store, s->row.id);
    s->c.site.warnings = candidate_warnings(&s->c);
    s->c.site.differs = submission_differs(&s->c.ask, s->c.arena);
    if (!s->c.ask.dry_run) {
        store_all(s);
        replace(s);
    }
    answer_new(s);
    return 0;
}

const struct job_spec *ctl_preview(struct ctl *ctl, struct arena *arena,
                                   const struct submission *ask, struct report *report,
                                   struct err *err)
{
    struct submit_command s;
    report_init(report, arena);
    begin(&s, ctl, ask, arena, report);
    bool read = (s.c.ask.text || !take_after(&s, err)) && !candidate_read(&s.c, err) &&
                !candidate_settle(&s.c, err);
    return read ? s.c.read.job : NULL;
}

static int may_submit(struct ctl *ctl, const struct submission *ask, struct err *err)
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
static struct tape_scope tell_tape(struct ctl *ctl, const struct submission *ask)
{
    struct submission told = *ask;
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

void ctl_submit(struct ctl *ctl, const struct submission *ask, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = { .ctl = NULL };
    if (!ask->dry_run) /* a question changes nothing */
        taped = tell_tape(ctl, ask);
    struct answer *answer = turn_answer(ctl, done, arg);
    struct submit_command s;
    struct err err = { 0 };
    begin(&s, ctl, ask, answer->arena, &answer->report);
    s.answer = answer;
    answer->writes = true;
    if (may_submit(ctl, ask, &err) || submit(&s, &err))
        answer->err = err;
}
