/* Output of tasks: one source per attempt, merged by the time of their records, as NDJSON (offsets,
 * streams, gaps) or as plain text with the task's name before each line. A stream picks up new
 * attempts and new bytes as the core reports them and ends when the job is final and everything was
 * sent. */
#include "api/call.h"

#include "answer/tasks.h"
#include "api/log_text.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "text/json.h"
#include "wire/log_reader.h"

#include <string.h>

struct source {
    uint64_t job; /* of an array: its member */
    struct task_ref task;
    uint32_t attempt;
    char *name; /* "worker/0" */
    struct log_reader *reader;
    struct log_item next; /* valid when has */
    size_t skip;          /* bytes of the first record that are not wanted (tail) */
    uint64_t at;          /* where reading goes on */
    bool has, idle;       /* idle: nothing more until the log grows */
};

struct log_position { /* where a resuming client is */
    const char *task;
    uint32_t attempt;
    uint64_t offset;
};

struct log_stream {
    struct follower follower; /* first */
    VEC(struct source) sources;
    VEC(struct log_position) from;
    struct log_text text;      /* plain text state */
    const char *task;          /* filter: role or role/index, NULL all */
    enum record_stream stream; /* 0: all */
    uint64_t since_us, tail;
    uint32_t attempt;  /* 0: every attempt */
    bool last_attempt; /* only the newest of each task */
    bool follow, plain, ended;
    bool one_task; /* each member of the array has just one */
};

static struct log_stream *stream_of(struct follower *f)
{
    return (struct log_stream *)(void *)f;
}

/* ---- sources ---- */

static bool wanted_task(const struct log_stream *s, const char *role, const char *name)
{
    return !s->task || strcmp(s->task, role) == 0 || strcmp(s->task, name) == 0;
}

static const struct log_position *resume_point(const struct log_stream *s, const char *name)
{
    for (size_t i = 0; i < s->from.n; i++)
        if (strcmp(s->from.at[i].task, name) == 0)
            return &s->from.at[i];
    return NULL;
}

static bool known(const struct log_stream *s, const struct attempt_log *log)
{
    for (size_t i = 0; i < s->sources.n; i++) {
        const struct source *x = &s->sources.at[i];
        if (x->job == log->job && x->task.role == log->role && x->task.index == log->index &&
            x->attempt == log->attempt)
            return true;
    }
    return false;
}

/* The attempts before a new one have ended: all of their output is there, and comes first. */
static void look_again(struct log_stream *s, uint64_t job, struct task_ref task)
{
    for (size_t i = 0; i < s->sources.n; i++)
        if (s->sources.at[i].job == job && s->sources.at[i].task.role == task.role &&
            s->sources.at[i].task.index == task.index)
            s->sources.at[i].idle = false;
}

static void add_source(struct log_stream *s, const struct attempt_log *log, const char *name)
{
    const struct log_position *from = resume_point(s, name);
    uint64_t offset = 0;
    if (from && log->attempt < from->attempt)
        return;
    if (from && log->attempt == from->attempt)
        offset = from->offset;
    struct task_ref task = { (uint16_t)log->role, log->index };
    look_again(s, log->job, task);
    struct source *x = vec_add(&s->sources);
    x->job = log->job;
    x->at = offset;
    x->task = task;
    x->attempt = log->attempt;
    x->name = mem_strdup(name);
    x->reader = log_reader_create(log->dir, offset);
}

static void source_fini(struct source *x)
{
    log_reader_destroy(x->reader);
    free(x->name);
}

static bool is_newest(const struct attempt_log *logs, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (logs[k].job == logs[i].job && logs[k].role == logs[i].role &&
            logs[k].index == logs[i].index && logs[k].attempt > logs[i].attempt)
            return false;
    return true;
}

/* Of an array a member's index stands in front; alone when it has one task. */
static const char *shown_name(const struct log_stream *s, struct arena *a,
                              const struct attempt_log *log, const char *name)
{
    if (!s->follower.members)
        return name;
    return s->one_task ? arena_printf(a, "[%u]", log->member)
                       : arena_printf(a, "[%u] %s", log->member, name);
}

/* job: the one that is followed, or of an array one member. */
static void find_sources(struct log_stream *s, uint64_t job)
{
    struct attempt_log *logs;
    struct err err;
    size_t n = 0;
    struct arena *a = arena_create();
    if (answer_logs(s->follower.call->api->config.ctl, a, job, &logs, &n, &err) < 0)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = arena_printf(a, "%s/%u", logs[i].role_name, logs[i].index);
        if (!wanted_task(s, logs[i].role_name, name) || (s->sources.n && known(s, &logs[i])))
            continue;
        if ((s->attempt && logs[i].attempt != s->attempt) ||
            (s->last_attempt && !is_newest(logs, n, i)))
            continue;
        add_source(s, &logs[i], shown_name(s, a, &logs[i], name));
    }
    s->last_attempt =
        s->last_attempt && !s->follow; /* later attempts of a followed job are shown */
    arena_destroy(a);
}

/* ---- records ---- */

static bool passes(const struct log_stream *s, const struct log_item *item)
{
    if (item->gap)
        return true;
    return (!s->stream || item->record.stream == s->stream) && item->record.time_us >= s->since_us;
}

static bool load(const struct log_stream *s, struct source *x)
{
    while (!x->has && !x->idle) {
        int got = log_reader_next(x->reader, &x->next);
        x->idle = got <= 0;
        x->has = got == 1 && passes(s, &x->next);
        x->at = got == 1 ? x->next.end : x->at;
        if (x->idle && s->follower.members) /* of thousands only the one being read is open */
            log_reader_seek(x->reader, x->at);
        if (got == 1 && x->skip && !x->next.gap) {
            x->next.data += x->skip;
            x->next.record.len -= (uint32_t)x->skip;
            x->skip = 0;
        }
    }
    return x->has;
}

/* The source whose next record is the oldest; of an array the first that has one, member by member.
 * NULL when there is none now. */
static struct source *oldest(struct log_stream *s)
{
    struct source *best = NULL;
    for (size_t i = 0; i < s->sources.n; i++) {
        struct source *x = &s->sources.at[i];
        if (load(s, x) && (!best || x->next.record.time_us < best->next.record.time_us))
            best = x;
        if (best && s->follower.members)
            break;
    }
    return best;
}

static const char *stream_word(enum record_stream stream)
{
    return stream == RECORD_STDOUT ? "stdout" : stream == RECORD_STDERR ? "stderr" : "muster";
}

static void put_json(struct log_stream *s, const struct source *x)
{
    const struct log_item *item = &x->next;
    struct arena *a = arena_create();
    struct text_node *line = text_map(a, NULL, NULL);
    char time[FMT_MAX];
    text_str(a, line, "task", x->name);
    text_int(a, line, "attempt", x->attempt);
    text_int(a, line, "offset", (int64_t)item->end);
    if (item->gap) {
        text_int(a, line, "gap", (int64_t)item->gap);
    } else {
        text_str(a, line, "stream", stream_word(item->record.stream));
        text_str(a, line, "time", fmt_time(time, item->record.time_us / 1000));
        if (scan_utf8((const char *)item->data, item->record.len))
            text_str(a, line, "text", arena_strndup(a, (const char *)item->data, item->record.len));
        else
            text_str(a, line, "b64", log_base64(a, item->data, item->record.len));
    }
    follow_line(&s->follower, line);
    arena_destroy(a);
}

static void put_plain(struct log_stream *s, const struct source *x)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    if (x->next.gap)
        log_text_gap(&s->text, x->name, x->next.gap, &out);
    else
        log_text_add(&s->text, x->name, (const char *)x->next.data, x->next.record.len, &out);
    http_stream_write(s->follower.call->request, buf_str(&out), out.len);
}

static void put_end(struct log_stream *s, const char *state)
{
    if (s->plain)
        return;
    struct arena *a = s->follower.call->arena;
    struct text_node *end = text_map(a, NULL, NULL);
    text_bool(a, end, "end", true);
    text_str(a, end, "state", state);
    follow_line(&s->follower, end);
}

/* Writes what is there, oldest first, as far as there is room and its user may have more; true when
 * nothing more is there now. */
static bool drain(struct log_stream *s)
{
    struct source *x = NULL;
    while (http_stream_room(s->follower.call->request) > 0 && (x = oldest(s)) &&
           !follow_pauses(&s->follower)) {
        limit_take(s->follower.call, LIMIT_LOG, x->next.gap ? 0 : x->next.record.len);
        if (s->plain)
            put_plain(s, x);
        else
            put_json(s, x);
        x->has = false;
    }
    return !x && http_stream_room(s->follower.call->request) > 0;
}

static void pump(struct follower *f)
{
    struct log_stream *s = stream_of(f);
    const char *state = "";
    if (s->ended)
        return;
    /* Asked before reading: all output of a final job is on the disk. */
    bool final = follow_silent(f, &state) || !s->follow;
    /* Of an array members are found when they write, and all of them at its end. */
    if (s->follow && (final || !s->follower.members))
        find_sources(s, f->job);
    for (size_t i = 0; final && i < s->sources.n; i++)
        s->sources.at[i].idle = false;
    if (!drain(s) || !final)
        return;
    put_end(s, state);
    s->ended = true;
    follow_end(f);
}

static void on_log(struct follower *f, uint64_t job, struct task_ref task, uint32_t attempt)
{
    struct log_stream *s = stream_of(f);
    bool found = false;
    for (size_t i = 0; i < s->sources.n; i++) {
        struct source *x = &s->sources.at[i];
        if (x->job != job || x->task.role != task.role || x->task.index != task.index ||
            x->attempt != attempt)
            continue;
        x->idle = false;
        found = true;
    }
    if (!found && !s->ended && s->follow && f->members) {
        find_sources(s, job);
        found = true;
    }
    if (!s->ended && (found || !s->follow))
        drain(s);
    else
        pump(f);
}

static void fini(struct follower *f)
{
    struct log_stream *s = stream_of(f);
    for (size_t i = 0; i < s->sources.n; i++)
        source_fini(&s->sources.at[i]);
    vec_fini(&s->sources);
    vec_fini(&s->from);
}

/* ---- the request ---- */

/* The last `tail` lines: one pass counts, the sources begin again where so many are left. */
static void seek_tail(struct log_stream *s)
{
    for (size_t i = 0; s->tail && i < s->sources.n; i++) {
        struct source *x = &s->sources.at[i];
        struct log_tail tail = { .stream = s->stream, .lines = s->tail };
        log_tail_find(x->reader, &tail);
        log_reader_seek(x->reader, tail.offset);
        x->skip = tail.skip;
        x->at = tail.offset;
    }
}

static int read_from(struct log_stream *s, struct call *call, struct err *err)
{
    struct report report;
    size_t len;
    const char *body = http_body(call->request, &len);
    if (len == 0)
        return 0;
    report_init(&report, call->arena);
    struct text_node *root = json_parse(call->arena, body, len, 0, &report);
    if (!root || !report_ok(&report))
        return report_err(&report, err);
    const struct text_node *from = text_get(root, "from");
    for (const struct text_node *t = from ? from->first : NULL; t; t = t->next) {
        const struct text_node *attempt = text_get(t, "attempt"), *offset = text_get(t, "offset");
        if (!t->key || !attempt || attempt->kind != TEXT_INT || !offset || offset->kind != TEXT_INT)
            return err_set(err, ERR_INPUT,
                           "from has an entry that is not {\"attempt\", \"offset\"}");
        *vec_add(&s->from) = (struct log_position){ .task = t->key,
                                                    .attempt = (uint32_t)attempt->integer,
                                                    .offset = (uint64_t)offset->integer };
    }
    return 0;
}

static int read_query(struct log_stream *s, struct call *call, struct err *err)
{
    struct http_request *r = call->request;
    const char *stream = http_query(r, "stream", 0), *attempt = http_query(r, "attempt", 0);
    const char *accept = http_header(r, "Accept");
    uint64_t number = 0, since_ms = 0;
    s->task = http_query(r, "task", 0);
    s->task = s->task ? arena_strdup(call->arena, s->task) : NULL;
    s->follow = call_flag(call, "follow");
    s->plain = accept && strstr(accept, "text/plain");
    if (stream && strcmp(stream, "stdout") != 0 && strcmp(stream, "stderr") != 0) {
        err_set(err, ERR_INPUT, "stream is \"%.40s\"", stream);
        return err_hint(err, "stdout or stderr");
    }
    s->stream = !stream ? 0 : strcmp(stream, "stdout") == 0 ? RECORD_STDOUT : RECORD_STDERR;
    if (!call_u64(call, "tail", 1, 1000000, &s->tail, err) ||
        !call_u64(call, "since", 0, INT64_MAX / 1000, &since_ms, err))
        return -1;
    s->since_us = since_ms * 1000;
    if (attempt && strcmp(attempt, "last") == 0)
        s->last_attempt = true;
    else if (attempt && strcmp(attempt, "all") != 0 &&
             !call_u64(call, "attempt", 1, UINT32_MAX, &number, err))
        return -1;
    s->attempt = (uint32_t)number;
    return read_from(s, call, err);
}

static void read_members(struct log_stream *s)
{
    struct ctl *ctl = s->follower.call->api->config.ctl;
    uint32_t tasks, members = answer_members(ctl, s->follower.job, &tasks);
    s->follower.members = members;
    s->one_task = tasks == members;
}

void logs_get(struct call *call)
{
    uint64_t id;
    struct err err;
    if (!call_job(call, &id))
        return;
    struct log_stream *s = mem_new(sizeof *s);
    s->follower =
        (struct follower){ .call = call, .job = id, .pump = pump, .log = on_log, .fini = fini };
    bool good = read_query(s, call, &err) == 0;
    if (good) {
        read_members(s);
        find_sources(s, id);
        seek_tail(s);
        s->text.names =
            s->follower.members || s->sources.n != 1 || !s->task || !strchr(s->task, '/');
    }
    if (good && s->task && s->sources.n == 0 && !s->follow) {
        err_set(&err, ERR_NOT_FOUND, "%s has no output of %s", call->param[0], s->task);
        err_remedy_of(&err, REMEDY_SHOW_JOB, "%s", call->param[0]);
        good = false;
    }
    if (!good) {
        fini(&s->follower);
        free(s);
        call_problem(call, &err, NULL);
        return;
    }
    follow_begin(&s->follower, s->plain ? "text/plain; charset=utf-8" : "application/x-ndjson");
}
