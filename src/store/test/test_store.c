/* The records over a real database: round trips, turns, lists, versions, the second server, a full
 * disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/deletion.h"
#include "store/disk.h"
#include "store/find.h"
#include "store/recover.h"
#include "store/store.h"

#include "base/file.h"
#include "base/mem.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct fix {
    char dir[64], *path;
    struct store *store;
    struct arena *arena;
    struct err err;
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-store-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->path = file_join(f->dir, "muster.db");
    f->arena = arena_create();
    f->store = store_open(f->path, &f->err);
    *state = f;
    return f->store ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    store_close(f->store);
    arena_destroy(f->arena);
    file_remove_tree(f->dir, NULL);
    free(f->path);
    free(f);
    return 0;
}

static void reopen(struct fix *f)
{
    store_close(f->store);
    f->store = store_open(f->path, &f->err);
    assert_non_null(f->store);
}

static struct job_row put_job(struct fix *f, uint64_t id, enum job_state state, const char *owner)
{
    struct job_row job = { .id = id,
                           .number = store_next_number(f->store),
                           .owner = owner,
                           .name = "ddp",
                           .queue = "default",
                           .dialect = "native",
                           .priority = 5,
                           .state = state,
                           .reason.text = "waits",
                           .tasks = 4,
                           .submitted_ms = 1000 + id,
                           .spec = "{\"name\":\"ddp\"}",
                           .site = "{}" };
    assert_int_equal(store_put_job(f->store, &job, &f->err), 0);
    return job;
}

static void job_survives_reopening(void **state)
{
    struct fix *f = *state;
    struct stat mode;
    assert_int_equal(stat(f->path, &mode), 0);
    assert_int_equal(mode.st_mode & 0777, 0600);
    struct job_row job = put_job(f, 7, JOB_QUEUED, "ada");
    job.state = JOB_STOPPING;
    job.outcome = OUTCOME_FAILED;
    job.generation = 3;
    job.live = "{\"retry\":1}";
    assert_int_equal(store_update_job(f->store, &job, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    reopen(f);
    struct job_row got;
    assert_int_equal(store_get_job(f->store, f->arena, 7, &got, &f->err), 1);
    assert_int_equal(got.state, JOB_STOPPING);
    assert_int_equal(got.outcome, OUTCOME_FAILED);
    assert_int_equal(got.generation, 3);
    assert_string_equal(got.live, "{\"retry\":1}");
    assert_string_equal(got.spec, "{\"name\":\"ddp\"}");
    assert_int_equal(store_get_job(f->store, f->arena, 8, &got, &f->err), 0);
    struct job_row *live;
    size_t n;
    assert_int_equal(store_live_jobs(f->store, f->arena, &live, &n, &f->err), 0);
    assert_int_equal(n, 1);
}

static void turn_without_commit_is_gone(void **state)
{
    struct fix *f = *state;
    put_job(f, 7, JOB_QUEUED, "ada");
    assert_true(store_dirty(f->store));
    store_rollback(f->store);
    assert_false(store_dirty(f->store));
    struct job_row got;
    assert_int_equal(store_get_job(f->store, f->arena, 7, &got, &f->err), 0);
    assert_int_equal(store_next_number(f->store), 1);
}

static void failed_write_fails_the_commit(void **state)
{
    struct fix *f = *state;
    put_job(f, 7, JOB_QUEUED, "ada");
    struct job_row twin = { .id = 7,
                            .number = 99,
                            .owner = "b",
                            .name = "x",
                            .dialect = "native",
                            .state = JOB_QUEUED,
                            .spec = "{}" };
    assert_int_equal(store_put_job(f->store, &twin, &f->err), -1);
    assert_int_equal(store_commit(f->store, &f->err), -1);
    struct job_row got;
    assert_int_equal(store_get_job(f->store, f->arena, 7, &got, &f->err), 0);
    put_job(f, 8, JOB_QUEUED, "ada");
    assert_int_equal(store_commit(f->store, &f->err), 0);
}

static void lists_are_filtered_and_paged(void **state)
{
    struct fix *f = *state;
    for (uint64_t id = 1; id <= 50; id++)
        put_job(f, id, id % 5 ? JOB_SUCCEEDED : JOB_RUNNING, id % 2 ? "ada" : "bob");
    assert_int_equal(store_commit(f->store, &f->err), 0);
    struct job_row *rows;
    size_t n;
    struct job_filter all = { .limit = 10 };
    assert_int_equal(store_list(f->store, f->arena, &all, &rows, &n, &f->err), 0);
    assert_int_equal(n, 10);
    assert_int_equal(rows[0].id, 50);
    all.before_id = rows[9].id;
    assert_int_equal(store_list(f->store, f->arena, &all, &rows, &n, &f->err), 0);
    assert_int_equal(rows[0].id, 40);
    struct job_filter some = { .states = 1u << JOB_RUNNING | 1u << JOB_FAILED,
                               .owner = "ada",
                               .limit = 100 };
    assert_int_equal(store_list(f->store, f->arena, &some, &rows, &n, &f->err), 0);
    assert_int_equal(n, 5);
    assert_int_equal(rows[0].id, 45);
    struct job_filter from = { .dialect = "native", .limit = 100 };
    assert_int_equal(store_list(f->store, f->arena, &from, &rows, &n, &f->err), 0);
    assert_int_equal(n, 50);
    struct job_row version = {
        .id = 51, .number = 51, .owner = "ada", .name = "v", .dialect = "openpai-v2", .spec = "{}"
    };
    version.state = JOB_SUCCEEDED;
    assert_int_equal(store_put_job(f->store, &version, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    for (size_t i = 0; i < 3; i++) { /* its name, and the one that stands for all versions */
        from.dialect = (const char *[]){ "openpai-v2", "openpai", "openp" }[i];
        assert_int_equal(store_list(f->store, f->arena, &from, &rows, &n, &f->err), 0);
        assert_int_equal(n, i < 2);
    }
    struct job_filter none = { .name = "ddx", .limit = 5 };
    assert_int_equal(store_list(f->store, f->arena, &none, &rows, &n, &f->err), 0);
    assert_int_equal(n, 0);
    struct job_counts counts;
    assert_int_equal(store_counts(f->store, &counts, &f->err), 0);
    assert_int_equal(counts.by_state[JOB_RUNNING], 10);
    assert_int_equal(counts.by_state[JOB_SUCCEEDED], 41);
}

static void attempts_and_tasks_round_trip(void **state)
{
    struct fix *f = *state;
    struct attempt_row a = { .job = 7,
                             .ref = { 1, 2 },
                             .attempt = 3,
                             .generation = 2,
                             .state = ATTEMPT_FAILED,
                             .node = "n1",
                             .place = "{}",
                             .placed_ms = 1,
                             .started_ms = 2,
                             .ended_ms = 3,
                             .pid = 4,
                             .log_end = 99,
                             .ending = { .signal = 9,
                                         .oom = true,
                                         .by = BY_KERNEL,
                                         .cause = CAUSE_MEMORY,
                                         .memory_peak = 1u << 30,
                                         .tail = "last words" },
                             .reason = "out of memory" };
    assert_int_equal(store_put_attempt(f->store, &a, &f->err), 0);
    struct task_row t = { .job = 7, .ref = { 1, 2 }, .state = TASK_WAITING, .attempt = 3 };
    assert_int_equal(store_put_task(f->store, &t, &f->err), 0);
    t.state = TASK_FAILED;
    assert_int_equal(store_put_task(f->store, &t, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    struct attempt_row *attempts;
    struct task_row *tasks;
    size_t n;
    assert_int_equal(store_attempts(f->store, f->arena, 7, &attempts, &n, &f->err), 0);
    assert_int_equal(n, 1);
    assert_true(attempts[0].ending.oom);
    assert_int_equal(attempts[0].ending.signal, 9);
    assert_int_equal(attempts[0].ending.by, BY_KERNEL);
    assert_int_equal(attempts[0].ending.cause, CAUSE_MEMORY);
    assert_string_equal(attempts[0].ending.tail, "last words");
    assert_string_equal(attempts[0].reason, "out of memory");
    assert_int_equal(attempts[0].log_end, 99);
    assert_int_equal(store_tasks(f->store, f->arena, 7, &tasks, &n, &f->err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(tasks[0].state, TASK_FAILED);
}

static void events_are_numbered_and_never_reused(void **state)
{
    struct fix *f = *state;
    put_job(f, 7, JOB_SUCCEEDED, "ada");
    for (int i = 0; i < 3; i++) {
        struct event_row e = { .job = 7,
                               .at_ms = 5,
                               .steady_ms = 6,
                               .type = "task.started",
                               .has_task = i > 0,
                               .task = { 0, (uint32_t)i },
                               .body = i ? "{\"a\":1}" : NULL };
        assert_int_equal(store_add_event(f->store, &e, &f->err), 0);
        assert_int_equal(e.seq, i + 1);
    }
    assert_int_equal(store_last_event(f->store), 0); /* not committed yet */
    assert_int_equal(store_commit(f->store, &f->err), 0);
    struct event_row *events;
    size_t n;
    assert_int_equal(
        store_events(f->store, f->arena, &(struct event_range){ 7, 1, 10 }, &events, &n, &f->err),
        0);
    assert_int_equal(n, 2);
    assert_true(events[0].has_task);
    assert_string_equal(events[1].body, "{\"a\":1}");
    assert_int_equal(store_delete_job(f->store, 7, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    reopen(f);
    struct event_row e = { .job = 8, .type = "x" };
    assert_int_equal(store_add_event(f->store, &e, &f->err), 0);
    assert_int_equal(e.seq, 4);
    assert_int_equal(store_next_number(f->store), 2);
    assert_int_equal(store_last_job_id(f->store), 7);
}

static void idempotency_keys_expire(void **state)
{
    struct fix *f = *state;
    struct idempotency_row row = {
        .owner = "ada", .key = "k1", .body_hash = { 1, 2, 3 }, .job = 7, .expires_ms = 1000
    };
    assert_int_equal(store_put_idem(f->store, &row, &f->err), 0);
    struct idempotency_row got = { .owner = "ada", .key = "k1" },
                           other = { .owner = "bob", .key = "k1" };
    assert_int_equal(store_get_idem(f->store, 999, &got, &f->err), 1);
    assert_int_equal(got.job, 7);
    assert_memory_equal(got.body_hash, row.body_hash, 32);
    assert_int_equal(store_get_idem(f->store, 999, &other, &f->err), 0);
    assert_int_equal(store_get_idem(f->store, 1000, &got, &f->err), 0);
}

static void finished_jobs_expire(void **state)
{
    struct fix *f = *state;
    for (uint64_t id = 1; id <= 3; id++) {
        put_job(f, id, JOB_SUCCEEDED, "ada");
        assert_int_equal(store_set_keep(f->store, id, id * 100, &f->err), 0);
    }
    uint64_t *ids;
    size_t n;
    assert_int_equal(store_expire(f->store, f->arena, 200, &ids, &n, &f->err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    uint64_t id;
    assert_int_equal(store_find_number(f->store, 2, &id), 0);
    assert_int_equal(store_find_number(f->store, 3, &id), 1);
    assert_int_equal(store_find_name(f->store, "ddp", NULL, &id), 1);
    assert_int_equal(id, 3);
    assert_int_equal(store_find_name(f->store, "ddp", "bob", &id), 0);
}

static void names_and_texts_are_looked_up(void **state)
{
    struct fix *f = *state;
    const char *spec = NULL;
    uint64_t id = 0;
    for (uint64_t i = 3; i <= 5; i++)
        put_job(f, i, JOB_QUEUED, i == 5 ? "bob" : "ada");
    assert_int_equal(
        store_find_in(f->store, &(struct job_name_query){ "", "ddp", NULL, 0, 0 }, &id), 1);
    assert_int_equal(id, 5);
    assert_int_equal(
        store_find_in(f->store, &(struct job_name_query){ "", "ddp", "ada", 0, 0 }, &id), 1);
    assert_int_equal(id, 4);
    assert_int_equal(
        store_find_in(f->store, &(struct job_name_query){ "", "ddp", "ada", 4, 0 }, &id), 1);
    assert_int_equal(
        store_find_in(f->store, &(struct job_name_query){ "", "ddp", "ada", 5, 0 }, &id), 0);
    assert_int_equal(
        store_find_in(f->store, &(struct job_name_query){ "p", "ddp", NULL, 0, 0 }, &id), 0);
    const struct job_name_query stopped = { "", "ddp", NULL, 0, 1u << JOB_STOPPED };
    assert_int_equal(store_find_in(f->store, &stopped, &id), 0);
    put_job(f, 6, JOB_STOPPED, "ada");
    assert_int_equal(store_find_in(f->store, &stopped, &id), 1);
    assert_int_equal(id, 6);
    assert_int_equal(store_get_spec(f->store, f->arena, 3, &spec, &f->err), 1);
    assert_string_equal(spec, "{\"name\":\"ddp\"}");
    assert_int_equal(store_get_spec(f->store, f->arena, 9, &spec, &f->err), 0);
    assert_int_equal(store_first_of(f->store, 3), 0);
    for (int i = 0; i < 3; i++) {
        struct event_row event = { .job = i == 1 ? 4 : 3, .type = "noted" };
        assert_int_equal(store_add_event(f->store, &event, &f->err), 0);
    }
    assert_int_equal(store_last_of(f->store, 3), store_first_of(f->store, 3) + 2);
    assert_int_equal(store_last_of(f->store, 4), store_first_of(f->store, 4));
}

static void agents_and_objects(void **state)
{
    struct fix *f = *state;
    struct agent_row a = {
        .job = 7, .generation = 1, .node = "n1", .token_hash = { 9 }, .state = AGENT_EXPECTED
    };
    assert_int_equal(store_put_agent(f->store, &a, &f->err), 0);
    a.last_seq = 12;
    a.state = AGENT_JOINED;
    assert_int_equal(store_put_agent(f->store, &a, &f->err), 0);
    struct agent_row *agents;
    size_t n;
    assert_int_equal(store_agents(f->store, f->arena, 7, &agents, &n, &f->err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(agents[0].last_seq, 12);
    assert_int_equal(agents[0].state, AGENT_JOINED);
    assert_int_equal(agents[0].token_hash[0], 9);
    assert_int_equal(store_agents(f->store, f->arena, 8, &agents, &n, &f->err), 0);
    assert_int_equal(n, 0);
    assert_int_equal(store_delete_agent(f->store, 7, 1, "n1", &f->err), 0);
    assert_int_equal(store_agents(f->store, f->arena, 7, &agents, &n, &f->err), 0);
    assert_int_equal(n, 0);
    struct object_row o = { .kind = "node", .name = "n1", .spec = "{\"drained\":true}" };
    assert_int_equal(store_put_object(f->store, &o, &f->err), 0);
    assert_int_equal(store_put_object(f->store, &o, &f->err), 0);
    struct object_row *objects;
    assert_int_equal(store_objects(f->store, f->arena, &(struct object_row){ .kind = "node" },
                                   &objects, &n, &f->err),
                     0);
    assert_int_equal(n, 1);
    assert_int_equal(objects[0].version, 2);
}

/* Locks belong to processes, and a fork keeps what SQLite knows of them: only another program can
 * tell. This one is started again, see main. */
static void second_server_is_refused(void **state)
{
    struct fix *f = *state;
    int status = -1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "test_store", f->path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int second_server(const char *path)
{
    struct err err = { 0 };
    struct store *store = store_open(path, &err);
    store_close(store);
    return !store && err.code == ERR_CONFLICT ? 0 : 1;
}

static uint64_t put_array(struct fix *f, uint64_t id, uint32_t members)
{
    struct job_row array = { .id = id,
                             .number = store_next_number(f->store),
                             .owner = "ada",
                             .name = "sweep",
                             .dialect = "native",
                             .state = JOB_RUNNING,
                             .members = members,
                             .spec = "{\"name\":\"sweep\"}",
                             .site = "{\"work_dir\":\"/home\"}" };
    assert_int_equal(store_put_job(f->store, &array, &f->err), 0);
    for (uint32_t i = 1; i <= members; i++) {
        struct job_row one = array;
        one.id = id + i;
        one.number = store_next_number(f->store);
        one.state = i % 2 ? JOB_SUCCEEDED : JOB_QUEUED;
        one.array = id;
        one.index = i - 1;
        one.members = 0;
        one.spec = one.site = NULL;
        assert_int_equal(store_put_job(f->store, &one, &f->err), 0);
        struct event_row event = { .job = one.id, .type = "submitted" };
        assert_int_equal(store_add_event(f->store, &event, &f->err), 0);
    }
    return id;
}

static void arrays_and_their_members(void **state)
{
    struct fix *f = *state;
    struct job_row *rows, got;
    struct job_counts counts;
    size_t n;
    put_job(f, 1, JOB_QUEUED, "ada");
    uint64_t id = put_array(f, 10, 5);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    put_job(f, 20, JOB_RUNNING, "ada");
    assert_int_equal(store_commit(f->store, &f->err), 0);
    struct job_filter all = { .limit = 10 }, of = { .limit = 2, .array = id, .members = 5 };
    assert_int_equal(store_list(f->store, f->arena, &all, &rows, &n, &f->err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(rows[1].members, 5);
    assert_int_equal(store_list(f->store, f->arena, &of, &rows, &n, &f->err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(rows[1].index, 1);
    of.before_id = rows[1].id;
    of.states = 1u << JOB_SUCCEEDED;
    assert_int_equal(store_list(f->store, f->arena, &of, &rows, &n, &f->err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].index, 2);
    assert_int_equal(store_get_job(f->store, f->arena, id + 3, &got, &f->err), 1);
    assert_string_equal(got.spec, "{\"name\":\"sweep\"}"); /* the array's */
    struct job_row lean;
    const char *site = NULL;
    assert_int_equal(store_get_lean_job(f->store, f->arena, id + 3, &lean, &f->err), 1);
    assert_string_equal(lean.name, got.name);
    assert_int_equal(lean.index, got.index);
    assert_null(lean.spec);
    assert_null(lean.site);
    assert_int_equal(store_get_site(f->store, f->arena, id + 3, &site, &f->err), 1);
    assert_string_equal(site, "{\"work_dir\":\"/home\"}");
    assert_int_equal(store_get_site(f->store, f->arena, 99, &site, &f->err), 0);
    assert_int_equal(store_live_jobs(f->store, f->arena, &rows, &n, &f->err), 0);
    assert_int_equal(n, 5); /* 1, 10, its two that have not ended, 20 */
    assert_int_equal(rows[2].id, id + 2);
    assert_int_equal(store_counts(f->store, &counts, &f->err), 0);
    assert_int_equal(counts.by_state[JOB_QUEUED], 3);
    assert_int_equal(counts.by_state[JOB_RUNNING], 1);
    store_get_job(f->store, f->arena, id, &got, &f->err);
    assert_int_equal(store_member_counts(f->store, &got, &counts, &f->err), 0);
    assert_int_equal(counts.by_state[JOB_SUCCEEDED], 3);
    assert_int_equal(store_delete_job(f->store, id, &f->err), 0);
    struct deleted_rest rest = { .arena = f->arena, .rows = 1000 };
    assert_int_equal(store_delete_rest(f->store, &rest, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    assert_int_equal(store_get_job(f->store, f->arena, id + 3, &got, &f->err), 0);
    assert_int_equal(store_get_job(f->store, f->arena, 20, &got, &f->err), 1);
    struct event_row *events;
    struct event_range range = { .limit = 10 };
    assert_int_equal(store_events(f->store, f->arena, &range, &events, &n, &f->err), 0);
    assert_int_equal(n, 0);
}

static unsigned rows_of(struct fix *f, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s = NULL;
    store_close(f->store);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    unsigned n = (unsigned)sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    f->store = store_open(f->path, &f->err);
    assert_non_null(f->store);
    return n;
}

#define ROWS_LEFT                                                                                  \
    "SELECT (SELECT count(*) FROM task) + (SELECT count(*) FROM event)"                            \
    " + (SELECT count(*) FROM job WHERE array <> 0)"                                               \
    " + (SELECT count(*) FROM meta WHERE name LIKE 'deleted.%')"

/* What is deleted is not there at once; its rows go in slices, in the next server too, and nothing
 * of it is damage meanwhile. */
static void what_was_deleted_goes_in_slices(void **state)
{
    struct fix *f = *state;
    struct job_row got, *rows;
    struct job_counts counts;
    struct recovery_report looked;
    uint64_t found;
    size_t n;
    put_job(f, 1, JOB_QUEUED, "ada");
    uint64_t id = put_array(f, 10, 5);
    for (uint32_t i = 0; i < 9; i++) {
        struct task_row task = { .job = id + 2, .ref = { 0, i }, .state = TASK_FAILED };
        assert_int_equal(store_put_task(f->store, &task, &f->err), 0);
    }
    assert_int_equal(store_commit(f->store, &f->err), 0);
    assert_int_equal(store_delete_job(f->store, id, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    assert_int_equal(rows_of(f, ROWS_LEFT), 9 + 5 + 5 + 1);
    for (uint64_t i = 0; i <= 5; i++) {
        assert_int_equal(store_get_job(f->store, f->arena, id + i, &got, &f->err), 0);
        assert_int_equal(store_find_number(f->store, 2 + i, &found), 0);
    }
    struct job_filter of = { .limit = 9, .array = id, .members = 5 };
    assert_int_equal(store_list(f->store, f->arena, &of, &rows, &n, &f->err), 0);
    assert_int_equal(n, 0);
    assert_int_equal(store_counts(f->store, &counts, &f->err), 0);
    assert_int_equal(counts.by_state[JOB_QUEUED], 1);
    assert_int_equal(counts.by_state[JOB_SUCCEEDED], 0);
    struct deleted_rest rest = { .arena = f->arena, .rows = 7 };
    assert_int_equal(store_delete_rest(f->store, &rest, &f->err), 0);
    store_rollback(f->store);
    rest.n = 0;
    assert_int_equal(rows_of(f, ROWS_LEFT), 9 + 5 + 5 + 1);
    for (int slices = 0; rest.rows == 0; slices++) {
        assert_true(slices < 20);
        rest.rows = 7;
        assert_int_equal(store_delete_rest(f->store, &rest, &f->err), 0);
        assert_int_equal(store_commit(f->store, &f->err), 0);
        store_close(TAKE(f->store));
        assert_int_equal(
            store_check(&(struct recover_ask){ .path = f->path }, f->arena, &looked, &f->err), 0);
        assert_false(looked.damaged);
        assert_int_equal(looked.orphans, 0);
        assert_int_equal(looked.jobs, 1);
        f->store = store_open(f->path, &f->err);
    }
    assert_int_equal(rest.n, 5);
    assert_int_equal(rest.numbers[0], 8); /* as put_array() gives them */
    assert_int_equal(rows_of(f, ROWS_LEFT), 0);
    assert_int_equal(store_next_number(f->store), 13);
    assert_int_equal(store_last_job_id(f->store), 15);
    assert_int_equal(store_last_event(f->store), 5);
}

static void newer_version_is_refused(void **state)
{
    struct fix *f = *state;
    store_close(f->store);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_null(store_open(f->path, &f->err));
    assert_int_equal(f->err.code, ERR_CANNOT);
    assert_non_null(strstr(f->err.what, "version 99"));
    f->store = NULL;
}

/* The job that a reason names is beside it, live and ended. */
static void named_jobs_round_trip(void **state)
{
    struct fix *f = *state;
    struct draft draft;
    draft_init(&draft);
    draft_add(&draft, "waits for ");
    draft_name(&draft, 3, "job 3 (\"q\")");
    struct job_row job = put_job(f, 7, JOB_QUEUED, "ada"), got;
    job.reason = draft_said(&draft);
    assert_int_equal(store_update_job(f->store, &job, &f->err), 0);
    AUTO_FREE char *packed = named_job_pack(&job.reason.named);
    struct event_row event = { .job = 7, .type = "x", .named = packed }, *events;
    assert_int_equal(store_add_event(f->store, &event, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    reopen(f);
    assert_int_equal(store_get_job(f->store, f->arena, 7, &got, &f->err), 1);
    assert_true(sentence_same(&got.reason, &job.reason));
    assert_int_equal(got.reason.named.at, strlen("waits for "));
    struct event_range range = { .limit = 10 };
    size_t n;
    assert_int_equal(store_events(f->store, f->arena, &range, &events, &n, &f->err), 0);
    assert_string_equal(events[0].named, packed);
}

static void exec(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Version 5 kept names in the text: reasons are made anew, events are known as old ones. */
static void old_sentences_are_read(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *mark = mem_printf("%s.mark", f->path);
    sqlite3 *db;
    put_job(f, 7, JOB_QUEUED, "ada");
    put_job(f, 8, JOB_FAILED, "ada");
    assert_int_equal(store_commit(f->store, &f->err), 0);
    store_close(f->store);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    exec(db, "ALTER TABLE job DROP COLUMN named; ALTER TABLE event DROP COLUMN named;"
             "ALTER TABLE attempt DROP COLUMN cause");
    exec(db, "INSERT INTO attempt (job, role, idx, attempt, generation, state, node, placed,"
             " started, ended, pid, exited, code, signal, oom, lost, ended_by, reason,"
             " memory_peak, log_end) VALUES (7, 0, 0, 1, 1, 'failed', 'n', 1, 1, 1, 1, 0, 0, 9, 0,"
             " 0, 'limit', 'uses 2Gi of memory, its limit is 1Gi', 0, 0)");
    exec(db, "UPDATE job SET reason = 'waits for job 3 (prep) to end: it is running' WHERE id = 7");
    exec(db,
         "INSERT INTO event (seq, job, at, type, attempt, body) VALUES (1, 7, 1, 'x', 0, '{}')");
    exec(db, "DELETE FROM meta WHERE name = 'marked'; PRAGMA user_version = 5");
    sqlite3_close(db);
    unlink(mark);
    f->store = store_open(f->path, &f->err);
    assert_non_null(f->store);
    struct job_row got;
    struct event_row *events;
    struct event_range range = { .limit = 10 };
    size_t n;
    assert_int_equal(store_get_job(f->store, f->arena, 7, &got, &f->err), 1);
    assert_string_equal(got.reason.text, "waits for another user's job to end: it is running");
    assert_int_equal(got.reason.named.number, 3);
    assert_string_equal(got.reason.named.called, "job 3 (prep)");
    assert_int_equal(store_get_job(f->store, f->arena, 8, &got, &f->err), 1);
    assert_string_equal(got.reason.text, "waits");
    assert_int_equal(got.reason.named.number, 0);
    assert_int_equal(store_events(f->store, f->arena, &range, &events, &n, &f->err), 0);
    assert_null(events[0].named);
    struct attempt_row *attempts;
    assert_int_equal(store_attempts(f->store, f->arena, 7, &attempts, &n, &f->err), 0);
    assert_int_equal(attempts[0].ending.cause, CAUSE_MEMORY);
    assert_int_equal(store_add_event(f->store, &(struct event_row){ .type = "y" }, &f->err), 0);
    assert_int_equal(store_commit(f->store, &f->err), 0);
    range.after = 1;
    assert_int_equal(store_events(f->store, f->arena, &range, &events, &n, &f->err), 0);
    assert_string_equal(events[0].named, "");
}

static void ballast_comes_and_goes(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *ballast = mem_printf("%s.ballast", f->path);
    assert_int_equal(access(ballast, F_OK), 0);
    store_release_ballast(f->store);
    assert_int_not_equal(access(ballast, F_OK), 0);
    assert_true(store_make_ballast(f->store));
    assert_int_equal(access(ballast, F_OK), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(int argc, char **argv)
{
    if (argc == 2)
        return second_server(argv[1]);
    const struct CMUnitTest tests[] = {
        TEST(job_survives_reopening),          TEST(turn_without_commit_is_gone),
        TEST(failed_write_fails_the_commit),   TEST(lists_are_filtered_and_paged),
        TEST(attempts_and_tasks_round_trip),   TEST(events_are_numbered_and_never_reused),
        TEST(idempotency_keys_expire),         TEST(finished_jobs_expire),
        TEST(names_and_texts_are_looked_up),   TEST(agents_and_objects),
        TEST(second_server_is_refused),        TEST(newer_version_is_refused),
        TEST(arrays_and_their_members),        TEST(ballast_comes_and_goes),
        TEST(named_jobs_round_trip),           TEST(old_sentences_are_read),
        TEST(what_was_deleted_goes_in_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
