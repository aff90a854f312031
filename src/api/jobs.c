/* Jobs over HTTP: submit (one, or NDJSON for many), list, show, command, delete. Commands are
 * answered by the core at the end of its turn, after the commit; a client that leaves meanwhile
 * changes nothing. */
#include "api/call.h"

#include "account/rights.h"
#include "answer/cluster_views.h"
#include "answer/jobs.h"
#include "answer/pages.h"
#include "answer/pods.h"
#include "answer/tasks.h"
#include "api/accounts.h"
#include "api/view_json.h"
#include "api/work.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ctl/node_work.h"
#include "ctl/results.h"
#include "explain/drain.h"
#include "explain/view.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define SUBMISSION_TYPE "application/vnd.muster.submission+json" /* also in cli/submit.c */

/* ---- submitting ---- */

static void add_word(struct arena *a, struct words *words, const char *value)
{
    const char **wider = ARENA_ARRAY(a, words->n + 1, const char *);
    if (words->n)
        memcpy(wider, words->at, words->n * sizeof *wider);
    wider[words->n++] = value;
    words->at = wider;
}

/* Every --env K=V and --set a.b=c, in order; false with *err when one has no '='. */
static bool read_overrides(struct call *call, struct submission *s, struct err *err)
{
    const char *value;
    for (size_t i = 0; (value = http_query(call->request, "env", i)); i++) {
        const char *eq = strchr(value, '=');
        if (!eq || eq == value) {
            err_set(err, ERR_INPUT, "env \"%.80s\" has no name and value", value);
            err_hint(err, "write NAME=VALUE");
            return false;
        }
        pairs_set(&s->env, call->arena, arena_strndup(call->arena, value, (size_t)(eq - value)),
                  eq + 1);
    }
    for (size_t i = 0; (value = http_query(call->request, "set", i)); i++)
        add_word(call->arena, &s->sets, value);
    return true;
}

/* Where the submitter's interpreter was found. */
static bool read_python(struct call *call, struct submission *s, struct err *err)
{
    static const char *const sources[] = { PYTHON_BY_OPTION, "VIRTUAL_ENV", "CONDA_PREFIX",
                                           "PATH" };
    const char *from = http_query(call->request, "python_from", 0);
    s->python = http_query(call->request, "python", 0);
    if (!s->python)
        return true;
    if (s->python[0] != '/') {
        err_set(err, ERR_INPUT, "python: \"%.80s\" is no absolute path", s->python);
        err_hint(err, "/usr/bin/python3");
        return false;
    }
    s->python_from = from ? from : PYTHON_BY_OPTION;
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (strcmp(sources[i], s->python_from) == 0)
            return true;
    err_set(err, ERR_INPUT, "python_from: \"%.40s\" is no place of an interpreter", from);
    err_hint(err, "option, VIRTUAL_ENV, CONDA_PREFIX or PATH");
    return false;
}

/* A body that has more than the text: {"text": "...", "env": {"NAME": "value"}}. Values of
 * variables may be secrets, and an address is written to logs on its way. */
static bool open_envelope(struct call *call, struct submission *s, struct err *err)
{
    struct report report;
    report_init(&report, call->arena);
    const struct text_node *tree = json_parse(call->arena, s->text, s->len, 0, &report);
    const struct text_node *text = tree && tree->kind == TEXT_MAP ? text_get(tree, "text") : NULL;
    const struct text_node *env = tree && tree->kind == TEXT_MAP ? text_get(tree, "env") : NULL;
    bool good = tree && tree->kind == TEXT_MAP && (!text || text->kind == TEXT_STR) &&
                (!env || env->kind == TEXT_MAP);
    for (const struct text_node *one = good && env ? env->first : NULL; one; one = one->next) {
        good = good && one->kind == TEXT_STR && *one->key && !strchr(one->key, '=');
        if (good)
            pairs_set(&s->env, call->arena, one->key, one->str);
    }
    s->text = text && good ? text->str : "";
    s->len = strlen(s->text);
    if (good)
        return true;
    err_set(err, ERR_INPUT, "the body is no submission");
    err_hint(err, "{\"text\": \"...\", \"env\": {\"NAME\": \"value\"}}");
    return false;
}

static bool is_envelope(const struct call *call)
{
    const char *type = http_header(call->request, "Content-Type");
    return type && strcmp(type, SUBMISSION_TYPE) == 0;
}

static bool read_submit(struct call *call, struct submission *s, struct err *err)
{
    struct http_request *r = call->request;
    *s = (struct submission){ .owner = call->owner,
                              .from = http_query(r, "from", 0),
                              .name = http_query(r, "name", 0),
                              .queue = http_query(r, "queue", 0),
                              .file = http_query(r, "file", 0),
                              .code_dir = http_query(r, "code", 0),
                              .work_dir = http_query(r, "cwd", 0),
                              .key = http_header(r, "Idempotency-Key"),
                              .wait_for_nodes = call_flag(call, "wait"),
                              .apply = call_flag(call, "apply"),
                              .replace = call_flag(call, "replace"),
                              .dry_run = call_flag(call, "dry_run") };
    const char *like = http_query(r, "like", 0);
    s->text = http_body(r, &s->len);
    call->file = s->file;
    if (s->key && (strlen(s->key) > 200 || !s->key[0])) {
        err_set(err, ERR_INPUT, "the Idempotency-Key has %zu characters", strlen(s->key));
        err_hint(err, "1 to 200");
        return false;
    }
    if (!read_python(call, s, err) || (is_envelope(call) && !open_envelope(call, s, err)))
        return false;
    if (like && answer_find_for(call->api->config.ctl, &call->who, like, &s->like, err) < 0)
        return false;
    if (like)
        s->text = NULL;
    return read_overrides(call, s, err);
}

struct text_node *job_submitted(struct call *call, struct arena *arena,
                                const struct submitted_view *made)
{
    struct submitted_view view = *made;
    struct explain_view why;
    if (made->dry_run) {
        const struct draft_job new = { .arena = arena,
                                       .owner = call->owner,
                                       .spec = made->spec,
                                       .file = call->file,
                                       .with_ways = call->explains };
        explain_newcomer(call->api->config.ctl, &new, &why);
        view.explain = &why;
        view.state = why.would_start ? JOB_STARTING : JOB_QUEUED;
        view.reason = why.reason;
        view.places = why.places;
    }
    return view_put(arena, NULL, NULL, VIEW_SUBMITTED, &view);
}

static void on_submitted(void *arg, const struct ctl_answer *answer)
{
    struct call *call = arg;
    if (answer->err) {
        call_problem(call, answer->err, answer->report);
        return;
    }
    if (call->request && !call->dry_run) {
        char location[64];
        snprintf(location, sizeof location, "/v1/jobs/%llu", (unsigned long long)answer->job);
        http_add_header(call->request, "Location", location);
    }
    call_answer(call, call->dry_run ? 200 : call->success,
                job_submitted(call, call->arena, answer->made.submitted));
}

static void submit_one(struct call *call, bool explains)
{
    struct submission s;
    struct err err;
    if (!read_submit(call, &s, &err)) {
        call_problem(call, &err, NULL);
        return;
    }
    call->explains = explains;
    s.dry_run = call->dry_run = s.dry_run || explains;
    call_keep(call);
    accounts_submit(call, &s, on_submitted, call);
}

void job_submit(struct call *call)
{
    const char *type = http_header(call->request, "Content-Type");
    struct submission all;
    struct err err;
    if (!type || strncmp(type, "application/x-ndjson", 20) != 0)
        submit_one(call, false);
    else if (read_submit(call, &all, &err))
        job_batch(call, &all);
    else
        call_problem(call, &err, NULL);
}

void job_explain_text(struct call *call)
{
    submit_one(call, true);
}

/* ---- reading ---- */

static bool read_states(const char *text, uint32_t *states, struct err *err)
{
    while (text && *text) {
        size_t len = strcspn(text, ",");
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)len, text);
        enum job_state state = job_state_parse(word);
        if (state == JOB_NONE) {
            err_set(err, ERR_INPUT, "\"%s\" is not a state", word);
            err_hint(
                err,
                "suspended queued starting running restarting stopping succeeded failed stopped");
            return false;
        }
        *states |= 1u << state;
        text += len + (text[len] == ',');
    }
    return true;
}

/* Jobs of a format that there is not are none, which says nothing of the slip. */
static bool known_format(const struct call *call, const char *name, struct err *err)
{
    const struct dialects *all = ctl_dialects(call->api->config.ctl);
    AUTO_BUF struct buf names = BUF_INIT(4096);
    if (!name || !*name || dialect_find(all, name))
        return true;
    for (size_t i = 0; i < all->n; i++)
        buf_addf(&names, "%s%s", i ? " " : "", all->at[i]->name);
    err_set(err, ERR_INPUT, "\"%.60s\" is not a format of jobs", name);
    err_hint(err, "%s", buf_str(&names));
    return false;
}

/* Members instead of jobs; false: answered. */
static bool read_array(struct call *call, const char *array, struct job_filter *f)
{
    struct err err;
    struct ctl *ctl = call->api->config.ctl;
    bool found = answer_find_for(ctl, &call->who, array, &f->array, &err) == 0;
    f->members = found ? answer_members(ctl, f->array, NULL) : 0;
    if (found && !f->members)
        err_set(&err, ERR_INPUT, "%.40s is no array", array);
    if (!f->members)
        call_problem(call, &err, NULL);
    return f->members > 0;
}

static struct text_node *list_tree(struct call *call, const struct job_filter *f, struct err *err)
{
    struct arena *a = call->arena;
    struct job_list list;
    char next[JOB_ID_TEXT];
    if (answer_list_view(call->api->config.ctl, a, f, &list, err))
        return NULL;
    struct text_node *tree = text_map(a, NULL, NULL), *jobs = text_list(a, tree, "jobs");
    for (size_t i = 0; i < list.n; i++)
        view_put(a, jobs, NULL, VIEW_JOB, &list.at[i]);
    if (list.next)
        text_str(a, tree, "next", job_id_format(next, list.next));
    return tree;
}

/* How many there are on all pages. */
static int add_total(struct call *call, const struct job_filter *f, struct text_node *tree,
                     struct err *err)
{
    uint64_t n;
    if (answer_list_count(call->api->config.ctl, f, &n, err) < 0)
        return -1;
    text_int(call->arena, tree, "total", (int64_t)n);
    return 0;
}

void job_list(struct call *call)
{
    struct http_request *r = call->request;
    struct err err;
    uint64_t limit = 50;
    struct job_filter f = { .owner = http_query(r, "owner", 0),
                            .queue = http_query(r, "queue", 0),
                            .name = http_query(r, "name", 0),
                            .dialect = http_query(r, "from", 0) };
    const char *before = http_query(r, "before", 0), *array = http_query(r, "array", 0);
    struct text_node *tree = NULL;
    if (array && !read_array(call, array, &f))
        return;
    filter_readable(ctl_accounts(call->api->config.ctl), call->arena, &call->who, &f);
    if (known_format(call, f.dialect, &err) &&
        read_states(http_query(r, "state", 0), &f.states, &err) &&
        call_u64(call, "limit", 1, 1000, &limit, &err)) {
        f.limit = limit;
        if (before && !job_id_parse(before, &f.before_id))
            err_set(&err, ERR_INPUT, "before is \"%.40s\", not a job id", before);
        else
            tree = list_tree(call, &f, &err);
    }
    if (tree && call_flag(call, "count") && add_total(call, &f, tree, &err) < 0)
        tree = NULL;
    if (tree)
        call_answer(call, 200, tree);
    else
        call_problem(call, &err, NULL);
}

static int add_tasks(void *pages, struct arena *arena, struct text_node *to, struct err *err)
{
    struct task_list list;
    int more = answer_pages_tasks(pages, arena, &list, err);
    for (size_t i = 0; i < list.n; i++)
        view_put(arena, to, NULL, VIEW_TASK, &list.at[i]);
    return more;
}

static int add_timeline(void *pages, struct arena *arena, struct text_node *to, struct err *err)
{
    struct event_list list;
    int more = answer_pages_timeline(pages, arena, &list, err);
    for (size_t i = 0; i < list.n; i++)
        view_put(arena, to, NULL, VIEW_EVENT, &list.at[i]);
    return more;
}

static void close_pages(void *pages)
{
    answer_pages_close(pages);
}

/* Its long lists are filled a page at a time. */
static void answer_job(struct call *call, uint64_t id, const struct text_node *tree)
{
    struct err err;
    struct answer_pages *pages = answer_pages_open(call->api->config.ctl, id, call->owner, &err);
    const struct long_list lists[] = { { text_get(tree, "task_list"), add_tasks },
                                       { text_get(tree, "tasks"), add_tasks },
                                       { text_get(tree, "timeline"), add_timeline } };
    if (!pages) {
        call_problem(call, &err, NULL);
        return;
    }
    answer_long(call, &(struct long_answer){ .tree = tree,
                                             .lists = lists,
                                             .n = ARRAY_LEN(lists),
                                             .arg = pages,
                                             .close = close_pages });
}

/* The job that the path names; false: answered. */
static bool show_job(struct call *call, unsigned parts, struct job_view *job)
{
    struct job_ask ask = { .owner = call->owner, .parts = parts };
    struct err err;
    if (!call_job(call, &ask.job))
        return false;
    if (answer_job_view(call->api->config.ctl, call->arena, &ask, job, &err) == 0)
        return true;
    call_problem(call, &err, NULL);
    return false;
}

void job_show(struct call *call)
{
    struct job_view job;
    bool tasks = call_flag(call, "tasks"), timeline = call_flag(call, "timeline");
    unsigned parts = 0;
    parts |= call_flag(call, "spec") ? JOB_SPEC : 0;
    parts |= call_flag(call, "origin") ? JOB_ORIGIN : 0;
    if (!show_job(call, parts, &job))
        return;
    if (tasks && !job.members)
        job.task_list.at = ARENA_NEW(call->arena, struct task_view); /* empty, to be filled */
    if (timeline)
        job.timeline.at = ARENA_NEW(call->arena, struct event_view);
    const struct text_node *tree = view_put(call->arena, NULL, NULL, VIEW_JOB, &job);
    if (tasks || timeline)
        answer_job(call, job.id, tree);
    else
        call_answer(call, 200, tree);
}

void job_tasks(struct call *call)
{
    struct job_view job;
    if (!show_job(call, 0, &job))
        return;
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_list(call->arena, tree, "tasks");
    if (!job.members)
        answer_job(call, job.id, tree);
    else
        call_answer(call, 200, tree); /* an array has none of its own */
}

void job_origin(struct call *call)
{
    struct job_view job;
    if (!show_job(call, JOB_ORIGIN, &job))
        return;
    const char *text = job.origin ? job.origin : "";
    call_text(call, 200, "text/plain; charset=utf-8", text, strlen(text));
}

void job_explain(struct call *call)
{
    struct explain_ask ask = { .arena = call->arena, .owner = call->owner };
    struct explain_view view;
    struct err err;
    const char *change;
    if (!call_job(call, &ask.job))
        return;
    for (size_t i = 0; (change = http_query(call->request, "what_if", i)); i++)
        add_word(call->arena, &ask.changes, change);
    if (explain_job(call->api->config.ctl, &ask, &view, &err))
        call_problem(call, &err, NULL);
    else
        call_answer(call, 200, view_put(call->arena, NULL, NULL, VIEW_EXPLAIN, &view));
}

/* ---- commands ---- */

static void on_done(void *arg, const struct ctl_answer *answer)
{
    struct call *call = arg;
    if (answer->err)
        call_problem(call, answer->err, answer->report);
    else if (answer->made.job) {
        const struct job_view view = job_view_of(answer->made.job);
        call_answer(call, call->success, view_put(call->arena, NULL, NULL, VIEW_JOB, &view));
    } else
        call_answer(call, call->success, text_map(call->arena, NULL, NULL));
}

static void command(struct call *call, enum ctl_verb verb)
{
    uint64_t id;
    if (!call_job(call, &id))
        return;
    call_keep(call);
    ctl_command(call->api->config.ctl, call->owner, id, verb, on_done, call);
}

void job_stop(struct call *call)
{
    command(call, call_flag(call, "now") ? CTL_STOP_NOW : CTL_STOP);
}

#define TASKS_MAX 1024

void job_fail(struct call *call)
{
    struct ctl_restart ask = { .owner = call->owner,
                               .reason = http_query(call->request, "reason", 0),
                               .how = RESTART_NEVER };
    if (!call_job(call, &ask.job))
        return;
    call_keep(call);
    ctl_restart(call->api->config.ctl, &ask, on_done, call);
}

void job_restart(struct call *call)
{
    struct ctl_restart ask = { .owner = call->owner,
                               .reason = http_query(call->request, "reason", 0),
                               .how = call_flag(call, "counted") ? RESTART_COUNTED : RESTART_WISH };
    const char *task;
    ask.tasks.at = ARENA_ARRAY(call->arena, TASKS_MAX, const char *);
    while (ask.tasks.n < TASKS_MAX && (task = http_query(call->request, "task", ask.tasks.n)))
        ask.tasks.at[ask.tasks.n++] = task;
    if (http_query(call->request, "task", TASKS_MAX)) {
        struct err err;
        err_set(&err, ERR_INPUT, "more than %d tasks at once", TASKS_MAX);
        err_hint(&err, "name fewer, or none: the whole job");
        call_problem(call, &err, NULL);
        return;
    }
    if (!call_job(call, &ask.job))
        return;
    call_keep(call);
    ctl_restart(call->api->config.ctl, &ask, on_done, call);
}

void job_suspend(struct call *call)
{
    command(call, CTL_SUSPEND);
}

void job_resume(struct call *call)
{
    command(call, CTL_RESUME);
}

void job_delete(struct call *call)
{
    command(call, CTL_DELETE);
}

static void answer_node(struct call *call, const struct ctl_answer *answer, bool drained)
{
    if (answer->err) {
        call_problem(call, answer->err, answer->report);
        return;
    }
    struct text_node *root = text_map(call->arena, NULL, NULL);
    text_str(call->arena, root, "name", call->param[0]);
    text_bool(call->arena, root, "drained", drained);
    call_answer(call, call->success, root);
}

static void on_drained(void *arg, const struct ctl_answer *answer)
{
    answer_node(arg, answer, true);
}

static void on_undrained(void *arg, const struct ctl_answer *answer)
{
    answer_node(arg, answer, false);
}

static void node_command(struct call *call, bool drain)
{
    call_keep(call);
    ctl_node_command(call->api->config.ctl, call->param[0], drain,
                     drain ? on_drained : on_undrained, call);
}

static void put_drained(struct arena *arena, struct text_node *list,
                        const struct drained_task *task)
{
    struct text_node *one = text_map(arena, list, NULL);
    text_int(arena, one, "number", (int64_t)task->number);
    text_str(arena, one, "name", task->name);
    text_str(arena, one, "owner", task->owner);
    text_str(arena, one, "queue", task->queue);
    text_str(arena, one, "task", task->task);
    text_str(arena, one, task->to ? "to" : "why", task->to ? task->to : task->why);
}

/* What it would mean: {name, drained, dry_run, tasks: [{..., to or why}]}. */
static void answer_dry_drain(struct call *call, const struct drain_view *view)
{
    struct text_node *root = text_map(call->arena, NULL, NULL);
    text_str(call->arena, root, "name", call->param[0]);
    text_bool(call->arena, root, "drained", view->drained);
    text_bool(call->arena, root, "dry_run", true);
    struct text_node *list = text_list(call->arena, root, "tasks");
    for (size_t i = 0; i < view->n; i++)
        put_drained(call->arena, list, &view->at[i]);
    call_answer(call, 200, root);
}

void node_drain(struct call *call)
{
    struct drain_view view;
    struct err err;
    if (!call_flag(call, "dry_run")) {
        node_command(call, true);
        return;
    }
    if (explain_drain(call->api->config.ctl, call->arena, call->param[0], &view, &err))
        call_problem(call, &err, NULL);
    else
        answer_dry_drain(call, &view);
}

void node_undrain(struct call *call)
{
    node_command(call, false);
}

void nodes_list(struct call *call)
{
    const struct api_config *c = &call->api->config;
    const struct nodes_view view = answer_nodes_view(c->ctl, call->arena);
    const struct api_image_stores *stores = &c->image_stores;
    const struct text_node *own =
        stores->find ? stores->find(stores->arg, call->arena, c->state_dir) : NULL;
    for (size_t i = 0; i < view.nodes.n; i++) {
        struct node_answer *node = &view.nodes.at[i];
        if (strcmp(node->engine, "local") == 0)
            node->images = own;
        else if (stores->find_on)
            node->images = stores->find_on(stores->arg, call->arena, node->name);
    }
    call_answer(call, 200, view_put_nodes(call->arena, &view));
}

/* ---- pods ---- */

/* false: answered. */
static bool pods(struct call *call, const char *name, struct pod_list *list)
{
    struct err err;
    struct pod_ask ask = { .owner = call->owner,
                           .namespace = http_query(call->request, "namespace", 0),
                           .name = name };
    if (answer_pods_view(call->api->config.ctl, call->arena, &ask, list, &err) == 0)
        return true;
    call_problem(call, &err, NULL);
    return false;
}

void pods_list(struct call *call)
{
    struct pod_list list;
    if (!pods(call, NULL, &list))
        return;
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    struct text_node *all = text_list(call->arena, tree, "pods");
    for (size_t i = 0; i < list.n; i++)
        view_put(call->arena, all, NULL, VIEW_POD, &list.at[i]);
    call_answer(call, 200, tree);
}

void pods_show(struct call *call)
{
    struct pod_list list;
    if (pods(call, call->param[0], &list))
        call_answer(call, 200, view_put(call->arena, NULL, NULL, VIEW_POD, &list.at[0]));
}
