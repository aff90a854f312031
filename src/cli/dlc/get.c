/* dlc get job, get pod, get specs, get quota, logs: reading. Standard output holds what was asked
 * for and nothing else, since scripts parse it. */
#include "cli/dlc/get.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/dlc/answer.h"
#include "cli/dlc/output.h"
#include "cli/jobs.h"
#include "dialect/dlc/dlc.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PARTS     "?tasks=1&spec=1&origin=1&timeline=1"
#define PAGE      10u
#define PAGE_MAX  100u
#define LINES     2000u
#define LINES_MAX 100000u
#define COLUMNS   8u

/* ---- events ---- */

/* As the API says them: "2021-01-28 14:07:24 Created pod: ...". task NULL: of the whole job. */
static struct text_node *event_lines(struct dlc_call *c, const char *job, const char *task,
                                     uint64_t most, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    jobs_path(&path, job, "/events");
    call_query_number(&path, "limit", most);
    const struct text_node *answer = call_get(c->cli, buf_str(&path), err);
    const struct text_node *list = answer ? text_get(answer, "events") : NULL;
    if (!answer)
        return NULL;
    struct text_node *out = text_list(c->cli->arena, NULL, NULL);
    for (const struct text_node *e = list ? list->first : NULL; e; e = e->next) {
        const char *at = text_word(e, "at"), *about = text_word(e, "task");
        if (task && strcmp(about, task) != 0)
            continue;
        text_str(c->cli->arena, out, NULL,
                 arena_printf(c->cli->arena, "%.10s %.8s %s%s%s %s", at,
                              strlen(at) > 11 ? at + 11 : "", about, *about ? " " : "",
                              text_word(e, "type"), text_word(e, "text")));
    }
    return out;
}

/* ---- one job ---- */

static int show_job(struct dlc_call *c, const char *id, struct err *err)
{
    uint64_t most = LINES;
    const struct text_node *view = jobs_view(c->cli, id, PARTS, err);
    if (!view || dlc_flag_number(c, "max_events_num", LINES_MAX, &most, err) < 0)
        return -1;
    struct text_node *job = dlc_answer_job(c->cli->arena, view);
    if (dlc_flag_on(c, "events") || dlc_flag_on(c, "events_only")) {
        struct text_node *events = event_lines(c, id, NULL, most, err);
        if (!events)
            return -1;
        if (dlc_flag_on(c, "events_only"))
            job = text_map(c->cli->arena, NULL, NULL);
        text_copy(c->cli->arena, job, "Events", events);
    }
    text_str(c->cli->arena, job, "RequestId", dlc_request_id(c->cli->arena));
    dlc_json(dlc_answer_sorted(c->cli->arena, job));
    return EXIT_OK;
}

/* ---- the list ---- */

struct filter {
    struct dlc_call *c;
    regex_t regex;
    bool has_regex;
    uint64_t from, to;
};

static int read_filter(struct filter *f, struct err *err)
{
    const char *regex = dlc_flag(f->c, "display_name_regex", NULL);
    const char *from = dlc_flag(f->c, "start_time", NULL), *to = dlc_flag(f->c, "end_time", NULL);
    f->from = from ? answer_parse_time(from) : 0;
    f->to = to ? answer_parse_time(to) : UINT64_MAX;
    if ((from && !f->from) || (to && !f->to)) {
        err_set(err, ERR_INPUT, "\"%.60s\" is no time", from && !f->from ? from : to);
        return err_hint(err, "2026-01-02T03:04:05Z");
    }
    if (regex && regcomp(&f->regex, regex, REG_EXTENDED | REG_NOSUB) != 0)
        return err_set(err, ERR_INPUT, "\"%.80s\" is no regular expression", regex);
    f->has_regex = regex != NULL;
    return 0;
}

static bool same(const struct filter *f, const char *flag, const char *value)
{
    const char *wanted = dlc_flag(f->c, flag, NULL);
    return !wanted || !*wanted || strcasecmp(wanted, value) == 0;
}

static bool passes(const struct filter *f, const struct text_node *job)
{
    const char *name = text_word(job, "name"), *part = dlc_flag(f->c, "display_name", "");
    uint64_t at = answer_time(job, "submitted");
    return same(f, "status", text_word(job, "word")) &&
           same(f, "resource_id", text_word(job, "queue")) &&
           same(f, "workspace_id", answer_text(job, "project", "default")) &&
           (!*part || strcasestr(name, part)) &&
           (!f->has_regex || regexec(&f->regex, name, 0, NULL, 0) == 0) && at >= f->from &&
           at <= f->to;
}

/* The kind is in the job's text only. */
static const char *type_of(struct dlc_call *c, const struct text_node *job)
{
    struct err err;
    const char *id = arena_printf(c->cli->arena, "dlc%s", text_word(job, "id"));
    const struct text_node *view = jobs_view(c->cli, id, "?origin=1&spec=1", &err);
    return view ? text_word(dlc_answer_job(c->cli->arena, view), "JobType") : "";
}

static const struct text_node *next_page(struct dlc_call *c, const char *before, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    call_path(&path, "/v1/jobs", NULL, NULL);
    call_query(&path, "from", "dlc");
    call_query_number(&path, "limit", 1000);
    call_query(&path, "before", before);
    return call_get(c->cli, buf_str(&path), err);
}

static void put_row(struct dlc_call *c, const char **row, const struct text_node *job,
                    const char *type)
{
    struct arena *arena = c->cli->arena;
    row[0] = text_word(job, "name");
    row[1] = arena_printf(arena, "dlc%s", text_word(job, "id"));
    row[2] = type;
    row[3] = answer_text(job, "word", text_word(job, "state"));
    row[4] = answer_text(job, "queue", "default");
    row[5] = answer_text(job, "project", "default");
    row[6] = text_word(job, "owner");
    row[7] = dlc_answer_time(arena, text_word(job, "submitted"));
}

static int list_rows(struct filter *f, const char **cells, uint64_t skip, uint64_t size,
                     struct err *err)
{
    const char *before = NULL;
    size_t rows = 0, seen = 0;
    do {
        const struct text_node *page = next_page(f->c, before, err);
        const struct text_node *jobs = page ? text_get(page, "jobs") : NULL;
        if (!page)
            return -1;
        for (const struct text_node *job = jobs ? jobs->first : NULL; job && rows < size;
             job = job->next) {
            const char *type = "";
            if (!passes(f, job))
                continue;
            if (*dlc_flag(f->c, "job_type", "") || seen >= skip)
                type = type_of(f->c, job);
            if (!same(f, "job_type", type) || seen++ < skip)
                continue;
            put_row(f->c, &cells[(rows + 1) * COLUMNS], job, type);
            rows++;
        }
        before = answer_text(page, "next", NULL);
    } while (before && rows < size);
    return (int)rows;
}

static int list_jobs(struct dlc_call *c, struct err *err)
{
    static const char *const head[COLUMNS] = {
        "DisplayName", "JobId",       "JobType", "Status",
        "ResourceId",  "WorkspaceId", "UserId",  "CreateTime"
    };
    struct filter f = { .c = c };
    uint64_t number = 1, size = PAGE;
    if (dlc_flag_number(c, "page_num", 1000, &number, err) < 0 ||
        dlc_flag_number(c, "page_size", PAGE_MAX, &size, err) < 0 || read_filter(&f, err) < 0)
        return -1;
    const char **cells = ARENA_ARRAY(c->cli->arena, (size + 1) * COLUMNS, const char *);
    memcpy(cells, head, sizeof head);
    int rows = list_rows(&f, cells, (number - 1) * size, size, err);
    if (f.has_regex)
        regfree(&f.regex);
    if (rows < 0)
        return -1;
    dlc_table(c->cli->arena, cells, COLUMNS, (size_t)rows + 1);
    return EXIT_OK;
}

int dlc_get_job_run(struct dlc_call *c, struct err *err)
{
    if (c->argc > 1)
        return err_set(err, ERR_INPUT, "dlc get job takes one id, not %d", c->argc);
    return c->argc ? show_job(c, c->argv[0], err) : list_jobs(c, err);
}

/* ---- pods ---- */

/* The task of the pod as the server calls it: "worker/0". */
static const struct text_node *find_pod(struct dlc_call *c, const char **task, struct err *err)
{
    if (c->argc != 2) {
        err_set(err, ERR_INPUT, "this needs a job and one of its pods");
        err_hint(err, "dlc get job ID lists them under Pods");
        return NULL;
    }
    const struct text_node *view = jobs_view(c->cli, c->argv[0], PARTS, err);
    if (!view)
        return NULL;
    const struct text_node *job = dlc_answer_job(c->cli->arena, view);
    const struct text_node *pod = dlc_answer_pod(job, c->argv[1]);
    if (!pod) {
        const struct text_node *pods = text_get(job, "Pods");
        err_set(err, ERR_NOT_FOUND, "%s has no pod \"%.120s\"", text_word(job, "JobId"),
                c->argv[1]);
        err_hint(err, "%s ... %zu in all", answer_text(pods->first, "PodId", "none"), pods->count);
        return NULL;
    }
    const char *dash = strrchr(answer_text(pod, "PodId", "-"), '-');
    *task = arena_printf(c->cli->arena, "%s/%s", text_word(pod, "Type"), dash + 1);
    return pod;
}

int dlc_get_pod_run(struct dlc_call *c, struct err *err)
{
    const char *task;
    uint64_t most = LINES;
    const struct text_node *pod = find_pod(c, &task, err);
    if (!pod || dlc_flag_number(c, "max_events_num", LINES_MAX, &most, err) < 0)
        return -1;
    struct text_node *events = event_lines(c, c->argv[0], task, most, err);
    if (!events)
        return -1;
    struct text_node *out = text_copy(c->cli->arena, NULL, NULL, pod);
    text_copy(c->cli->arena, out, "Events", events);
    dlc_json(dlc_answer_sorted(c->cli->arena, out));
    return EXIT_OK;
}

/* ---- logs ---- */

struct reading {
    uint64_t to;
};

static bool on_record(void *arg, const struct text_node *record)
{
    const struct reading *r = arg;
    uint64_t at = answer_time(record, "at");
    const char *text = answer_text(record, "text", NULL);
    if (text && (!at || at <= r->to))
        fputs(text, stdout);
    return true;
}

int dlc_logs_run(struct dlc_call *c, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(8192);
    const char *task, *from = dlc_flag(c, "start_time", NULL), *to = dlc_flag(c, "end_time", NULL);
    uint64_t most = LINES, since = from ? answer_parse_time(from) : 0;
    struct reading r = { .to = to ? answer_parse_time(to) : UINT64_MAX };
    const struct text_node *pod = find_pod(c, &task, err);
    if (!pod || dlc_flag_number(c, "max_events_num", LINES_MAX, &most, err) < 0)
        return -1;
    if ((from && !since) || !r.to) {
        err_set(err, ERR_INPUT, "\"%.60s\" is no time", from && !since ? from : to);
        return err_hint(err, "2026-01-02T03:04:05Z");
    }
    jobs_path(&path, c->argv[0], "/logs");
    call_query(&path, "task", task);
    call_query_number(&path, "tail", most);
    if (since)
        call_query_number(&path, "since", since);
    printf("JobId: %s\nPodId: %s\n", c->argv[0], text_word(pod, "PodId"));
    struct call_stream stream = { .path = buf_str(&path), .line = on_record, .arg = &r };
    return call_stream(c->cli, &stream, err) < 0 ? -1 : EXIT_OK;
}

/* ---- what there is ---- */

int dlc_get_specs_run(struct dlc_call *c, struct err *err)
{
    const struct text_node *answer = call_get(c->cli, "/v1/catalogue/instance_types", err);
    const struct text_node *all = answer ? text_get(answer, "instance_types") : NULL;
    struct arena *arena = c->cli->arena;
    const char **cells = ARENA_ARRAY(arena, (all ? all->count + 1 : 1) * 5, const char *);
    static const char *const head[5] = { "InstanceType", "Cpu", "Memory", "Gpu", "GpuType" };
    const char **row = cells;
    if (!all)
        return -1;
    memcpy(cells, head, sizeof head);
    for (const struct text_node *type = all->first; type; type = type->next) {
        row += 5;
        row[0] = text_word(type, "name");
        row[1] = answer_shown(type, "cpu", "0");
        row[2] = answer_shown(type, "memory", "0");
        row[3] = answer_shown(type, "gpu", "0");
        row[4] = text_word(type, "gpu_type");
    }
    dlc_table(arena, cells, 5, all->count + 1);
    return EXIT_OK;
}

/* Until quotas have shares of their own, each is the whole cluster. */
int dlc_get_quota_run(struct dlc_call *c, struct err *err)
{
    struct arena *arena = c->cli->arena;
    const struct text_node *quotas = call_get(c->cli, "/v1/catalogue/quotas", err);
    const struct text_node *answer = quotas ? call_get(c->cli, "/v1/nodes", err) : NULL;
    const struct text_node *nodes = answer ? text_get(answer, "nodes") : NULL;
    const struct text_node *list = quotas ? text_get(quotas, "quotas") : NULL;
    static const char *const head[] = { "QuotaId",    "Cpu", "CpuUsed", "Memory",
                                        "MemoryUsed", "Gpu", "GpuUsed" };
    static const char *const keys[] = { "cpu_milli",   "cpu_used_milli", "memory",
                                        "memory_used", "gpus",           "gpu_used_milli" };
    enum { QUOTA_COLUMNS = ARRAY_LEN(head) };
    uint64_t sums[ARRAY_LEN(keys)] = { 0 };
    char text[4][FMT_MAX];
    if (!nodes || !list)
        return -1;
    for (const struct text_node *node = nodes->first; node; node = node->next)
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            sums[i] += text_number(node, keys[i]);
    const char *whole[QUOTA_COLUMNS] = {
        NULL,
        fmt_milli(text[0], sums[0]),
        fmt_milli(text[1], sums[1]),
        fmt_bytes(text[2], sums[2]),
        fmt_bytes(text[3], sums[3]),
        arena_printf(arena, "%llu", (unsigned long long)sums[4]),
        arena_printf(arena, "%llu", (unsigned long long)(sums[5] + 999) / 1000),
    };
    const char **row = ARENA_ARRAY(arena, (list->count + 1) * QUOTA_COLUMNS, const char *);
    const char **cells = row;
    memcpy(row, head, sizeof head);
    for (const struct text_node *quota = list->first; quota; quota = quota->next) {
        row += QUOTA_COLUMNS;
        memcpy(row, whole, sizeof whole);
        row[0] = text_word(quota, "name");
    }
    dlc_table(arena, cells, QUOTA_COLUMNS, list->count + 1);
    return EXIT_OK;
}
