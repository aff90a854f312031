/* Lists of jobs. Whatever the order and the filters, jobs are read in pages from the newest; each
 * that is wanted becomes a line of JSON at once, so that a list of many thousands stays small.
 * Others are served between the pages. In the order of the records (the default) reading ends with
 * the page that was asked for. */
#include "api/openpai/jobs.h"

#include "account/rights.h"
#include "api/openpai/job.h"
#include "api/openpai/members.h"

#include "api/work.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define PAGE       100u /* records, about a millisecond */
#define LIMIT      5000u
#define LIMIT_MOST 50000u
#define ANSWER_MAX ((size_t)256 << 20)
#define V1_MOST    UINT32_MAX
#define ANY_STATE  0u
#define SCRATCH    16384u /* bytes of an item's tree, and more */

enum order {
    ORDER_TIME, /* of submission: as the records are */
    ORDER_NAME,
    ORDER_USER,
    ORDER_CLUSTER,
    ORDER_RETRIES,
    ORDER_TASKS,
    ORDER_DEVICES,
    ORDER_STATE,
    ORDER_END,
    ORDER_PRIORITY,
    ORDER_N
};
struct ask {
    struct words users, clusters, states, priorities, with, without;
    const char *keyword;
    enum order order;
    bool ascending, total;
    uint64_t offset, limit;
};
struct line {
    size_t from, len; /* of the item in the text */
    const char *word; /* what it is sorted by */
    uint64_t number;
    uint64_t at; /* place in the records */
};
struct list {
    struct pai *p;
    struct ask ask;
    struct document_list tags;
    bool sorts; /* all have to be read */
    bool exact; /* the core's filter says it all */
    uint64_t seen;
    struct job_filter all, next; /* what is asked of the core: in all, and for the page to come */
    struct arena *scratch;       /* of one item */
    struct buf text;             /* items */
    VEC(struct line) lines;
};

/* ---- what is asked for ---- */

static bool read_number(struct pai *p, const char *name, uint64_t *out)
{
    const char *text = http_query(p->call->request, name, 0);
    if (!text || !*text || scan_u64(text, 0, INT32_MAX, out))
        return true;
    pai_fail(p, PAI_PARAMETERS, "\"%s\" must be a whole number", name);
    return false;
}

static const char *const order_fields[ORDER_N] = {
    [ORDER_TIME] = "submissionTime",    [ORDER_NAME] = "jobName",
    [ORDER_USER] = "username",          [ORDER_CLUSTER] = "vc",
    [ORDER_RETRIES] = "retries",        [ORDER_TASKS] = "totalTaskNumber",
    [ORDER_DEVICES] = "totalGpuNumber", [ORDER_STATE] = "state",
    [ORDER_END] = "completionTime",     [ORDER_PRIORITY] = "jobPriority",
};

/* What nobody knows is passed over, as the original does. */
static void read_order(struct pai *p, struct ask *ask)
{
    const char *text = http_query(p->call->request, "order", 0);
    const struct words parts = pai_list(p->a, text);
    if (parts.n != 2 || (strcmp(parts.at[1], "ASC") != 0 && strcmp(parts.at[1], "DESC") != 0))
        return;
    for (int i = 0; i < ORDER_N; i++)
        if (strcmp(parts.at[0], order_fields[i]) == 0) {
            ask->ascending = strcmp(parts.at[1], "ASC") == 0;
            ask->order = (enum order)i;
        }
}

static bool read_ask(struct pai *p, struct ask *ask)
{
    struct http_request *r = p->call->request;
    struct arena *a = p->a;
    const char *user = p->route->flags & PAI_NAMED ? p->param[0] : http_query(r, "username", 0);
    *ask = (struct ask){ .users = pai_list(a, user), .limit = V1_MOST };
    if (p->version == PAI_V1)
        return true;
    ask->clusters = pai_list(a, http_query(r, "vc", 0));
    ask->states = pai_list(a, http_query(r, "state", 0));
    ask->priorities = pai_list(a, http_query(r, "jobPriority", 0));
    ask->with = pai_list(a, http_query(r, "tagsContain", 0));
    ask->without = pai_list(a, http_query(r, "tagsNotContain", 0));
    ask->keyword = http_query(r, "keyword", 0);
    ask->keyword = ask->keyword && *ask->keyword ? ask->keyword : NULL;
    const char *total = http_query(r, "withTotalCount", 0);
    ask->total = total && strcmp(total, "true") == 0;
    ask->limit = LIMIT;
    read_order(p, ask);
    if (!read_number(p, "offset", &ask->offset) || !read_number(p, "limit", &ask->limit))
        return false;
    if (ask->limit <= LIMIT_MOST)
        return true;
    pai_fail(p, PAI_PARAMETERS, "Limit exceeds max number %u.", LIMIT_MOST);
    return false;
}

/* Bits of the core's states that may be shown with one of these words. */
static uint32_t states_of(const struct words *words, bool *exact)
{
    static const struct {
        const char *word;
        uint32_t states;
        bool exact;
    } rows[] = {
        { "SUCCEEDED", 1u << JOB_SUCCEEDED, true },
        { "FAILED", 1u << JOB_FAILED, true },
        { "STOPPED", 1u << JOB_STOPPED, true },
        { "STOPPING", 1u << JOB_STOPPING, false },
        { "RUNNING",
          1u << JOB_STARTING | 1u << JOB_RUNNING | 1u << JOB_RESTARTING | 1u << JOB_STOPPING,
          false },
        { "WAITING",
          1u << JOB_SUSPENDED | 1u << JOB_QUEUED | 1u << JOB_STARTING | 1u << JOB_RUNNING, false },
    };
    uint32_t states = ANY_STATE;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (words_have(words, rows[i].word)) {
            states |= rows[i].states;
            *exact = *exact && rows[i].exact;
        }
    if (words->n && states == ANY_STATE)
        *exact = false; /* a word that no job has */
    return states;
}

static struct job_filter filter_of(struct list *l)
{
    const struct ask *ask = &l->ask;
    l->exact = !ask->keyword && !ask->priorities.n && !ask->with.n && !ask->without.n &&
               ask->users.n <= 1 && ask->clusters.n <= 1;
    struct job_filter f = { .states = states_of(&ask->states, &l->exact), .limit = PAGE };
    if (ask->users.n == 1)
        f.owner = ask->users.at[0];
    if (ask->clusters.n == 1)
        f.queue = ask->clusters.at[0];
    filter_readable(ctl_accounts(l->p->ctl), l->p->a, pai_reader(l->p), &f);
    l->sorts = ask->order != ORDER_TIME || ask->ascending;
    return f;
}

/* ---- is it wanted ---- */

static bool has(const struct words *tags, const struct words *words)
{
    for (size_t i = 0; i < tags->n; i++)
        if (words_have(words, tags->at[i]))
            return true;
    return false;
}

static bool tagged(const struct list *l, const struct listed_job *job)
{
    const struct ask *ask = &l->ask;
    if (!ask->with.n && !ask->without.n)
        return true;
    const struct words tags = pai_tags_of(l->scratch, &l->tags, job->id);
    return (!ask->with.n || has(&tags, &ask->with)) && !has(&tags, &ask->without);
}

static bool keyword_in(const struct job_row *row, const char *keyword)
{
    return strstr(row->owner, keyword) || strstr(row->name, keyword) || strstr(row->queue, keyword);
}

static bool one_of(const struct words *words, const char *text)
{
    return !words->n || (text && words_have(words, text));
}

static bool wanted(const struct list *l, const struct listed_job *job)
{
    const struct ask *ask = &l->ask;
    const char *priority = pai_priority(job->row.priority);
    bool plain =
        priority && strcmp(priority, "test") == 0 && words_have(&ask->priorities, "default");
    if (l->exact)
        return true;
    return one_of(&ask->users, job->row.owner) && one_of(&ask->clusters, job->row.queue) &&
           one_of(&ask->states, pai_job_word(l->p->version, job)) &&
           (plain || one_of(&ask->priorities, priority)) &&
           (!ask->keyword || keyword_in(&job->row, ask->keyword)) && tagged(l, job);
}

/* ---- items ---- */

static void put_exit(struct pai_writer *out, unsigned version, const struct listed_job *job)
{
    if (job->row.state == JOB_SUCCEEDED)
        pai_write_int(out, "appExitCode", 0);
    else if (job->row.state == JOB_STOPPED)
        pai_write_int(out, "appExitCode", pai_stop_code(version, true));
    else
        pai_write_text(out, "appExitCode", NULL); /* the detail knows */
}

static void put_item(struct list *l, const struct listed_job *job)
{
    struct arena *a = l->scratch;
    unsigned version = l->p->version;
    const char *name = job->row.name;
    struct pai_writer out = { .a = a, .text = &l->text };
    buf_putc(out.text, '{');
    if (version == PAI_V2)
        pai_write_text(&out, "debugId",
                       pai_debug_id(a, arena_printf(a, "%s~%s", job->row.owner, name)));
    pai_write_text(&out, "name", name);
    pai_write_status(&out, version, job);
    put_exit(&out, version, job);
    if (version == PAI_V2) {
        const struct words tags = pai_tags_of(a, &l->tags, job->id);
        pai_write_text(&out, "jobPriority", pai_priority(job->row.priority));
        pai_write_words(&out, "tags", &tags);
    }
    pai_write_end(&out);
}

/* What the item is sorted by. A job that has not ended counts as the newest. */
static void sort_key(const struct list *l, const struct listed_job *job, struct line *line)
{
    const struct job_row *row = &job->row;
    switch (l->ask.order) {
    case ORDER_NAME: line->word = row->name; break;
    case ORDER_USER: line->word = row->owner; break;
    case ORDER_CLUSTER: line->word = row->queue; break;
    case ORDER_STATE: line->word = pai_job_word(l->p->version, job); break;
    case ORDER_PRIORITY: line->word = pai_priority(row->priority); break;
    case ORDER_RETRIES: line->number = row->restarts; break;
    case ORDER_TASKS: line->number = row->tasks; break;
    case ORDER_DEVICES: line->number = (row->gpu_milli + 999) / 1000; break;
    case ORDER_END: line->number = row->ended_ms ? row->ended_ms : UINT64_MAX; break;
    case ORDER_TIME:
    case ORDER_N: break;
    }
    line->word = arena_strdup(l->p->a, line->word);
}

static void take(struct list *l, const struct listed_job *job)
{
    struct line line = { .at = l->seen++, .from = l->text.len };
    if (!l->sorts && (line.at < l->ask.offset || l->lines.n >= l->ask.limit))
        return;
    put_item(l, job);
    line.len = l->text.len - line.from;
    sort_key(l, job, &line);
    vec_push(&l->lines, line);
}

/* Where the core's filter says it all, no more records are read than are shown. */
static uint64_t page_size(const struct list *l)
{
    uint64_t left = l->ask.limit - l->lines.n;
    if (!l->exact || l->sorts || l->seen < l->ask.offset || left >= PAGE)
        return PAGE;
    return left ? left : 1;
}

/* false: there are no more, or enough. */
static bool read_page(struct list *l, struct err *err, bool *failed)
{
    struct arena *a = arena_create();
    struct job_filter *f = &l->next;
    struct listed_job *jobs;
    size_t n = 0;
    f->limit = page_size(l);
    *failed = answer_list(l->p->ctl, a, f, &jobs, &n, err) < 0;
    for (size_t i = 0; i < n; i++) {
        if (wanted(l, &jobs[i]))
            take(l, &jobs[i]);
        arena_reset(l->scratch);
    }
    bool more = n > 0 && n == f->limit;
    bool enough = !l->sorts && l->lines.n >= l->ask.limit && !(l->ask.total && !l->exact);
    if (more)
        f->before_id = jobs[n - 1].row.id;
    f->offset = 0;
    arena_destroy(a);
    return more && !enough;
}

/* ---- order ---- */

static int by_key(const void *x, const void *y)
{
    const struct line *a = x, *b = y;
    int order = a->word && b->word ? strcmp(a->word, b->word)
                                   : (a->number > b->number) - (a->number < b->number);
    return order ? order : (a->at < b->at) - (a->at > b->at);
}

static void sort(struct list *l)
{
    struct line *at = l->lines.at;
    size_t n = l->lines.n;
    if (n == 0)
        return;
    qsort(at, n, sizeof *at, by_key);
    if (l->ask.ascending)
        return;
    for (size_t i = 0; i < n / 2; i++) {
        struct line swap = at[i];
        at[i] = at[n - 1 - i];
        at[n - 1 - i] = swap;
    }
}

/* ---- the answer ---- */

static void list_free(struct list *l)
{
    arena_destroy(l->scratch);
    buf_fini(&l->text);
    vec_fini(&l->lines);
}

static void print(struct list *l, uint64_t total)
{
    AUTO_BUF struct buf text = BUF_INIT(ANSWER_MAX);
    size_t from = l->sorts ? l->ask.offset : 0, n = 0;
    if (l->ask.total)
        buf_addf(&text, "{\"totalCount\":%llu,\"data\":", (unsigned long long)total);
    buf_putc(&text, '[');
    for (size_t i = from; i < l->lines.n && n < l->ask.limit; i++, n++) {
        if (n)
            buf_putc(&text, ',');
        buf_add(&text, l->text.data + l->lines.at[i].from, l->lines.at[i].len);
    }
    buf_puts(&text, l->ask.total ? "]}\n" : "]\n");
    list_free(l);
    call_text(l->p->call, 200, "application/json", buf_str(&text), text.len);
}

static bool read_on(void *arg)
{
    struct list *l = arg;
    struct err err;
    bool failed = false;
    if (read_page(l, &err, &failed))
        return true;
    uint64_t total = l->seen;
    if (!failed && l->ask.total && l->exact)
        failed = answer_list_count(l->p->ctl, &l->all, &total, &err) < 0;
    if (failed) {
        list_free(l);
        pai_err(l->p, &err, NULL);
        return false;
    }
    if (l->sorts)
        sort(l);
    print(l, total);
    return false;
}

static void on_left(void *arg)
{
    list_free(arg);
}

void pai_jobs(struct pai *p)
{
    struct list *l = ARENA_NEW(p->a, struct list);
    struct err err;
    if (limit_one(p->call, LIMIT_LIST, &err) < 0) {
        pai_err(p, &err, NULL);
        return;
    }
    *l = (struct list){ .p = p, .text = BUF_INIT(ANSWER_MAX) };
    p->call->who.name = p->call->who.name ? p->call->who.name : "";
    if (!read_ask(p, &l->ask))
        return;
    if (p->version == PAI_V2)
        pai_tags_load(p, NULL, &l->tags);
    l->all = filter_of(l);
    if (l->exact && !l->sorts && l->ask.offset <= JOB_OFFSET_MAX) {
        l->all.offset = l->ask.offset; /* the core skips them */
        l->seen = l->ask.offset;
    }
    l->next = l->all;
    l->scratch = arena_create_of(SCRATCH);
    answer_work(p->call, &(struct answer_work){ .step = read_on, .left = on_left, .arg = l });
}
