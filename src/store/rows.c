/* Rows that belong to a job: origin, tasks, attempts, events, agents, idempotency keys; and objects
 * and secrets. */
#include "store/columns.h"
#include "store/db.h"
#include "store/find.h"
#include "store/list_row.h"
#include "store/seal_records.h"
#include "store/secret.h"

#include "base/mem.h"
#include "job/old_ending.h"
#include "store/end_mark.h"

#include <string.h>

int store_put_origin(struct store *st, const struct origin_row *row, struct err *err)
{
    if (db_forget(st))
        return 0;
    sqlite3_stmt *s = db_write(st, STMT_PUT_ORIGIN, err);
    if (!s)
        return -1;
    AUTO_FREE char *text = seal_record_text(st, row->text),
                   *masked = seal_record_text(st, row->masked);
    bind_u64(s, 1, row->job);
    bind_text(s, 2, text);
    bind_text(s, 3, masked);
    bind_text(s, 4, row->file);
    return db_run(st, s, err);
}

int store_get_origin(struct store *st, struct arena *a, uint64_t id, struct origin_row *row,
                     struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_GET_ORIGIN, err);
    if (!s)
        return -1;
    bind_u64(s, 1, id);
    int found = db_step(st, s, err);
    if (found == 1)
        *row = (struct origin_row){ .job = id,
                                    .text = seal_column(st, s, 0, a),
                                    .masked = seal_column(st, s, 1, a),
                                    .file = column_get_text(s, 2, a) };
    sqlite3_reset(s);
    return found;
}

int store_get_said(struct store *st, struct arena *a, const struct said_ask *ask,
                   struct said_row *row, struct err *err)
{
    char id[JOB_ID_TEXT];
    sqlite3_stmt *s = st->memory ? NULL : db_stmt(st, STMT_GET_SAID, err);
    if (!s)
        return st->memory ? 0 : -1;
    bind_u64(s, 1, ask->job);
    bind_text(s, 2, ask->kind);
    bind_text(s, 3, job_id_format(id, ask->job));
    bind_text(s, 4, ask->name);
    bind_u64(s, 5, ask->text);
    int found = db_step(st, s, err);
    if (found == 1)
        *row = (struct said_row){ .last = column_get_u64(s, 0),
                                  .object = seal_column(st, s, 1, a),
                                  .text = seal_column(st, s, 2, a) };
    sqlite3_reset(s);
    return found;
}

static void bind_task(sqlite3_stmt *s, int at, struct task_ref task)
{
    bind_u64(s, at, task.role);
    bind_u64(s, at + 1, task.index);
}

static struct task_ref read_task(sqlite3_stmt *s, int at)
{
    return (struct task_ref){ .role = (uint16_t)column_get_u64(s, at),
                              .index = (uint32_t)column_get_u64(s, at + 1) };
}

int store_put_task(struct store *st, const struct task_row *row, struct err *err)
{
    if (db_forget(st))
        return 0;
    sqlite3_stmt *s = db_write(st, STMT_PUT_TASK, err);
    if (!s)
        return -1;
    bind_u64(s, 1, row->job);
    bind_task(s, 2, row->ref);
    bind_text(s, 4, task_state_word(row->state));
    bind_u64(s, 5, row->attempt);
    bind_text(s, 6, row->live);
    return db_run(st, s, err);
}

static struct task_range all_tasks(uint64_t job)
{
    return (struct task_range){ .job = job, .last = { .role = UINT16_MAX, .index = UINT32_MAX } };
}

static void bind_range(sqlite3_stmt *s, const struct task_range *range)
{
    bind_u64(s, 1, range->job);
    bind_task(s, 2, range->first);
    bind_task(s, 4, range->last);
}

int store_tasks(struct store *st, struct arena *a, uint64_t job, struct task_row **rows, size_t *n,
                struct err *err)
{
    const struct task_range all = all_tasks(job);
    return store_tasks_in(st, a, &all, rows, n, err);
}

int store_tasks_in(struct store *st, struct arena *a, const struct task_range *range,
                   struct task_row **rows, size_t *n, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_TASKS, err);
    if (!s)
        return -1;
    bind_range(s, range);
    struct task_row *at = NULL;
    size_t count = 0, cap = 0;
    int more;
    while ((more = db_step(st, s, err)) == 1) {
        at = rows_more(a, at, count, &cap, sizeof *at);
        at[count++] = (struct task_row){ .job = range->job,
                                         .ref = read_task(s, 0),
                                         .state = task_state_parse(column_get_word(s, 2).text),
                                         .attempt = (uint32_t)column_get_u64(s, 3),
                                         .live = column_get_text(s, 4, a) };
    }
    *rows = at;
    *n = count;
    return more;
}

int store_task_counts(struct store *st, const struct job_row *job, struct task_counts *counts,
                      struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_TASK_COUNTS, err);
    if (!s)
        return -1;
    bind_u64(s, 1, job->id);
    bind_u64(s, 2, job->id + job->members);
    int more = db_step(st, s, err);
    if (more != 1)
        return -1;
    *counts = (struct task_counts){ .running = column_get_u64(s, 0),
                                    .succeeded = column_get_u64(s, 1),
                                    .failed = column_get_u64(s, 2) };
    return db_step(st, s, err);
}

static void bind_ending(sqlite3_stmt *s, int i, const struct attempt_row *row)
{
    const struct ending *end = &row->ending;
    bind_u64(s, i++, end->exited);
    sqlite3_bind_int(s, i++, end->code);
    sqlite3_bind_int(s, i++, end->signal);
    bind_u64(s, i++, end->oom);
    bind_u64(s, i++, end->lost);
    bind_text(s, i++, end->by == BY_NONE ? NULL : end_origin_word(end->by));
    bind_text(s, i++, row->reason);
    bind_u64(s, i++, end->memory_peak);
    bind_text(s, i++, end->tail);
}

int store_put_attempt(struct store *st, const struct attempt_row *row, struct err *err)
{
    if (db_forget(st))
        return 0;
    sqlite3_stmt *s = db_write(st, STMT_PUT_ATTEMPT, err);
    if (!s)
        return -1;
    bind_u64(s, 1, row->job);
    bind_task(s, 2, row->ref);
    bind_u64(s, 4, row->attempt);
    bind_u64(s, 5, row->generation);
    bind_text(s, 6, attempt_state_word(row->state));
    bind_text(s, 7, row->node ? row->node : "");
    bind_text(s, 8, row->place);
    bind_u64(s, 9, row->placed_ms);
    bind_u64(s, 10, row->started_ms);
    bind_u64(s, 11, row->ended_ms);
    bind_u64(s, 12, row->pid);
    bind_ending(s, 13, row);
    bind_u64(s, 22, row->log_end);
    bind_text(s, 23, end_cause_word(row->ending.cause));
    return db_run(st, s, err);
}

/* The column is NULL in rows of versions before 6. */
static enum end_cause read_cause(sqlite3_stmt *s, int i, const struct attempt_row *row)
{
    return sqlite3_column_type(s, i) == SQLITE_NULL ? old_end_cause(row->ending.by, row->reason)
                                                    : end_cause_parse(column_get_word(s, i).text);
}

static struct ending read_ending(sqlite3_stmt *s, int i, struct arena *a)
{
    struct ending end = { .exited = column_get_u64(s, i) != 0,
                          .code = sqlite3_column_int(s, i + 1),
                          .signal = sqlite3_column_int(s, i + 2),
                          .oom = column_get_u64(s, i + 3) != 0,
                          .lost = column_get_u64(s, i + 4) != 0,
                          .by = end_origin_parse(column_get_word(s, i + 5).text),
                          .memory_peak = column_get_u64(s, i + 7),
                          .tail = column_get_text(s, i + 8, a) };
    end.tail = end.tail ? end.tail : "";
    return end;
}

int store_attempts(struct store *st, struct arena *a, uint64_t job, struct attempt_row **rows,
                   size_t *n, struct err *err)
{
    const struct task_range all = all_tasks(job);
    return store_attempts_in(st, a, &all, rows, n, err);
}

int store_attempts_in(struct store *st, struct arena *a, const struct task_range *range,
                      struct attempt_row **rows, size_t *n, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_ATTEMPTS, err);
    if (!s)
        return -1;
    bind_range(s, range);
    struct attempt_row *at = NULL;
    size_t count = 0, cap = 0;
    int more;
    while ((more = db_step(st, s, err)) == 1) {
        at = rows_more(a, at, count, &cap, sizeof *at);
        at[count++] =
            (struct attempt_row){ .job = range->job,
                                  .ref = read_task(s, 0),
                                  .attempt = (uint32_t)column_get_u64(s, 2),
                                  .generation = (uint32_t)column_get_u64(s, 3),
                                  .state = attempt_state_parse(column_get_word(s, 4).text),
                                  .node = column_get_text(s, 5, a),
                                  .place = column_get_text(s, 6, a),
                                  .placed_ms = column_get_u64(s, 7),
                                  .started_ms = column_get_u64(s, 8),
                                  .ended_ms = column_get_u64(s, 9),
                                  .pid = (uint32_t)column_get_u64(s, 10),
                                  .ending = read_ending(s, 11, a),
                                  .reason = column_get_text(s, 17, a),
                                  .log_end = column_get_u64(s, 20) };
        struct attempt_row *row = &at[count - 1];
        row->ending.cause = read_cause(s, 21, row);
        row->reason = row->reason ? row->reason : "";
    }
    *rows = at;
    *n = count;
    return more;
}

int store_add_event(struct store *st, struct event_row *row, struct err *err)
{
    row->seq = st->event + 1;
    if (db_forget(st)) {
        st->event = row->seq;
        if (st->tap.event)
            st->tap.event(st->tap.arg, row);
        return 0;
    }
    sqlite3_stmt *s = db_write(st, STMT_ADD_EVENT, err);
    if (!s)
        return -1;
    bind_u64(s, 1, row->seq);
    bind_u64(s, 2, row->job);
    bind_u64(s, 3, row->at_ms);
    bind_text(s, 4, row->type);
    if (row->has_task)
        bind_task(s, 5, row->task);
    bind_u64(s, 7, row->attempt);
    bind_text(s, 8, row->body);
    bind_u64(s, 9, row->steady_ms);
    bind_text(s, 10, row->named ? row->named : "");
    if (db_run(st, s, err) < 0)
        return -1;
    st->event = row->seq;
    st->event_hash = end_hash(row);
    return 0;
}

uint64_t store_last_event(struct store *st)
{
    return st->committed_event;
}

static uint64_t read_seq(struct store *st, enum stmt_id id, uint64_t job)
{
    sqlite3_stmt *s = db_stmt(st, id, NULL);
    if (!s)
        return 0;
    bind_u64(s, 1, job);
    uint64_t seq = db_step(st, s, NULL) == 1 ? column_get_u64(s, 0) : 0;
    sqlite3_reset(s);
    return seq;
}

uint64_t store_first_of(struct store *st, uint64_t job)
{
    return read_seq(st, STMT_FIRST_OF, job);
}

uint64_t store_last_of(struct store *st, uint64_t job)
{
    return read_seq(st, STMT_LAST_OF, job);
}

int store_events(struct store *st, struct arena *a, const struct event_range *range,
                 struct event_row **rows, size_t *n, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, range->job ? STMT_EVENTS_JOB : STMT_EVENTS_ALL, err);
    if (!s)
        return -1;
    bind_u64(s, 1, range->after);
    bind_u64(s, 2, range->limit);
    if (range->job)
        bind_u64(s, 3, range->job);
    struct event_row *at = NULL;
    size_t count = 0, cap = 0;
    int more;
    while ((more = db_step(st, s, err)) == 1) {
        at = rows_more(a, at, count, &cap, sizeof *at);
        at[count++] = (struct event_row){ .seq = column_get_u64(s, 0),
                                          .job = column_get_u64(s, 1),
                                          .at_ms = column_get_u64(s, 2),
                                          .type = column_get_text(s, 3, a),
                                          .has_task = sqlite3_column_type(s, 4) != SQLITE_NULL,
                                          .task = read_task(s, 4),
                                          .attempt = (uint32_t)column_get_u64(s, 6),
                                          .body = column_get_text(s, 7, a),
                                          .steady_ms = column_get_u64(s, 8),
                                          .named = column_get_text(s, 9, a) };
    }
    *rows = at;
    *n = count;
    return more;
}

int store_put_agent(struct store *st, const struct agent_row *row, struct err *err)
{
    if (db_forget(st))
        return 0;
    sqlite3_stmt *s = db_write(st, STMT_PUT_AGENT, err);
    if (!s)
        return -1;
    bind_u64(s, 1, row->job);
    bind_u64(s, 2, row->generation);
    bind_text(s, 3, row->node);
    bind_u64(s, 4, row->launch_seq);
    bind_blob(s, 5, row->token_hash, sizeof row->token_hash);
    bind_u64(s, 6, row->last_seq);
    bind_text(s, 7, agent_state_word(row->state));
    return db_run(st, s, err);
}

int store_delete_agent(struct store *st, uint64_t job, uint32_t generation, const char *node,
                       struct err *err)
{
    if (db_forget(st))
        return 0;
    sqlite3_stmt *s = db_write(st, STMT_DELETE_AGENT, err);
    if (!s)
        return -1;
    bind_u64(s, 1, job);
    bind_u64(s, 2, generation);
    bind_text(s, 3, node);
    return db_run(st, s, err);
}

static enum agent_state agent_state_of(struct column_word word)
{
    for (int i = AGENT_NONE + 1; i < AGENT_STATE_N; i++)
        if (strcmp(agent_state_word((enum agent_state)i), word.text) == 0)
            return (enum agent_state)i;
    return AGENT_NONE;
}

static void read_hash(sqlite3_stmt *s, int at, unsigned char out[32])
{
    const void *hash = sqlite3_column_blob(s, at);
    if (hash && sqlite3_column_bytes(s, at) == 32)
        memcpy(out, hash, 32);
}

int store_agents(struct store *st, struct arena *a, uint64_t job, struct agent_row **rows,
                 size_t *n, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_AGENTS, err);
    if (!s)
        return -1;
    bind_u64(s, 1, job);
    struct agent_row *at = NULL;
    size_t count = 0, cap = 0;
    int more;
    while ((more = db_step(st, s, err)) == 1) {
        at = rows_more(a, at, count, &cap, sizeof *at);
        struct agent_row *row = &at[count++];
        *row = (struct agent_row){ .job = column_get_u64(s, 0),
                                   .generation = (uint32_t)column_get_u64(s, 1),
                                   .node = column_get_text(s, 2, a),
                                   .launch_seq = (uint32_t)column_get_u64(s, 3),
                                   .last_seq = column_get_u64(s, 5),
                                   .state = agent_state_of(column_get_word(s, 6)) };
        read_hash(s, 4, row->token_hash);
    }
    *rows = at;
    *n = count;
    return more;
}

int store_put_idem(struct store *st, const struct idempotency_row *row, struct err *err)
{
    if (db_forget(st))
        return 0;
    sqlite3_stmt *s = db_write(st, STMT_PUT_IDEM, err);
    if (!s)
        return -1;
    bind_text(s, 1, row->owner);
    bind_text(s, 2, row->key);
    bind_blob(s, 3, row->body_hash, sizeof row->body_hash);
    bind_u64(s, 4, row->job);
    bind_u64(s, 5, row->expires_ms);
    return db_run(st, s, err);
}

int store_get_idem(struct store *st, uint64_t now_ms, struct idempotency_row *row, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_GET_IDEM, err);
    if (!s)
        return -1;
    bind_text(s, 1, row->owner);
    bind_text(s, 2, row->key);
    bind_u64(s, 3, now_ms);
    int found = db_step(st, s, err);
    if (found == 1) {
        read_hash(s, 0, row->body_hash);
        row->job = column_get_u64(s, 1);
        row->expires_ms = column_get_u64(s, 2);
    }
    sqlite3_reset(s);
    return found;
}

int store_put_object(struct store *st, const struct object_row *row, struct err *err)
{
    sqlite3_stmt *s = db_write(st, STMT_PUT_OBJECT, err);
    if (!s)
        return -1;
    bind_text(s, 1, row->kind);
    bind_text(s, 2, row->project ? row->project : "");
    bool secret = row->spec && seal_is_for_kind(row->kind);
    AUTO_FREE char *spec = secret ? seal_record(st, row->spec, strlen(row->spec)) : NULL;
    bind_text(s, 3, row->name);
    bind_text(s, 4, spec ? spec : row->spec);
    bind_u64(s, 5, row->version);
    return db_run(st, s, err);
}

int store_delete_object(struct store *st, const struct object_row *row, struct err *err)
{
    sqlite3_stmt *s = db_write(st, STMT_DELETE_OBJECT, err);
    if (!s)
        return -1;
    bind_text(s, 1, row->kind);
    bind_text(s, 2, row->project ? row->project : "");
    bind_text(s, 3, row->name);
    return db_run(st, s, err);
}

int store_drop_objects(struct store *st, const char *kind, const char *project, struct err *err)
{
    sqlite3_stmt *s = db_write(st, STMT_DROP_OBJECTS, err);
    if (!s)
        return -1;
    bind_text(s, 1, kind);
    bind_text(s, 2, project);
    return db_run(st, s, err);
}

/* "": it cannot be opened. */
static const char *revealed(const struct store *st, struct arena *a, const char *spec)
{
    const char *text = seal_reveal(st->seal, a, spec);
    return text ? text : "";
}

int store_get_object(struct store *st, struct arena *a, struct object_row *row, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_GET_OBJECT, err);
    if (!s)
        return -1;
    bind_text(s, 1, row->kind);
    bind_text(s, 2, row->project ? row->project : "");
    bind_text(s, 3, row->name);
    int found = db_step(st, s, err);
    if (found == 1) {
        row->spec = revealed(st, a, column_get_text(s, 0, a));
        row->version = column_get_u64(s, 1);
    }
    sqlite3_reset(s);
    return found;
}

int store_objects(struct store *st, struct arena *a, const struct object_row *of,
                  struct object_row **rows, size_t *n, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, of->project ? STMT_OBJECTS_OF : STMT_OBJECTS, err);
    if (!s)
        return -1;
    bind_text(s, 1, of->kind);
    if (of->project)
        bind_text(s, 2, of->project);
    struct object_row *at = NULL;
    size_t count = 0, cap = 0;
    int more;
    while ((more = db_step(st, s, err)) == 1) {
        at = rows_more(a, at, count, &cap, sizeof *at);
        at[count++] = (struct object_row){ .kind = arena_strdup(a, of->kind),
                                           .project = column_get_text(s, 0, a),
                                           .name = column_get_text(s, 1, a),
                                           .spec = revealed(st, a, column_get_text(s, 2, a)),
                                           .version = column_get_u64(s, 3) };
    }
    *rows = at;
    *n = count;
    return more;
}

int store_put_secret(struct store *st, const char *owner, const char *name, const void *value,
                     size_t len, struct err *err)
{
    sqlite3_stmt *s = db_write(st, STMT_PUT_SECRET, err);
    if (!s)
        return -1;
    AUTO_FREE char *sealed = seal_record(st, value, len);
    bind_text(s, 1, owner);
    bind_text(s, 2, name);
    bind_blob(s, 3, sealed, st->seal ? strlen(sealed) : len);
    return db_run(st, s, err);
}

static int delete_secrets(struct store *st, enum stmt_id id, const char *owner, const char *name,
                          struct err *err)
{
    sqlite3_stmt *s = db_write(st, id, err);
    if (!s)
        return -1;
    bind_text(s, 1, owner);
    bind_text(s, 2, name);
    return db_run(st, s, err);
}

int store_delete_secret(struct store *st, const char *owner, const char *name, struct err *err)
{
    return delete_secrets(st, STMT_DELETE_SECRET, owner, name, err);
}

int store_drop_secrets(struct store *st, const char *owner, const char *front, struct err *err)
{
    return delete_secrets(st, STMT_DROP_SECRETS, owner, front, err);
}

int store_get_secret(struct store *st, struct arena *a, const char *owner, const char *name,
                     const char **value, struct err *err)
{
    sqlite3_stmt *s = db_stmt(st, STMT_GET_SECRET, err);
    if (!s)
        return -1;
    bind_text(s, 1, owner);
    bind_text(s, 2, name);
    int found = db_step(st, s, err);
    if (found != 1)
        return found;
    const char *text = seal_reveal(st->seal, a, column_get_text(s, 0, a));
    sqlite3_reset(s);
    *value = text;
    return text != NULL;
}
