/* The records: one SQLite database (WAL, synchronous=FULL, exclusive lock), written in turns of one
 * transaction each. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/pairs.h"
#include "job/ending.h"
#include "job/ids.h"
#include "job/sentence.h"
#include "job/state.h"
#include "job/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_VERSION 6

struct job_counts {
    uint64_t by_state[JOB_STATE_N];
};
struct store;
/* Opens or creates. A second server: ERR_CONFLICT. Newer version: ERR_CANNOT. Older: copied, then
 * migrated in one transaction. Damaged, or without what the mark (mark_file.h) says: ERR_CANNOT,
 * and nothing is changed. Keeps a ballast file beside the database, for commits that lack space. */
struct store *store_open(const char *path, struct err *err);
/* The same of a backup, whose rows came without the end mark that they say there is: it gets one of
 * its own. */
struct store *store_open_backup(const char *path, struct err *err);
/* Path of the copy that was made of an older version; NULL: there was no need. */
const char *store_kept_copy(const struct store *);
void store_close(struct store *);

struct event_row;
/* Every event is told when it is added. The row and its texts hold during the call. */
struct store_tap {
    void (*event)(void *arg, const struct event_row *);
    void *arg;
};
/* Records that end with the process: no file, and no commit that fails. Kept are jobs, as long as
 * they live with all that they are, and objects; what is read only for a user or after a restart
 * (original texts, tasks, attempts, agents, idempotency keys, events) goes nowhere but to the tap.
 */
struct store *store_open_memory(struct store_tap, struct err *err);
/* What a server goes on from, as a database of its own at path (which must not exist): live jobs
 * with all that they are, the newest STORE_COPY_ENDED of those that ended, objects. Not in it:
 * events, credentials, keys and tokens, objects of a kind with a point in its name (documents of
 * façades). No turn may be open. */
#define STORE_COPY_ENDED 1000
int store_copy(struct store *, const char *path, struct err *err);
/* Such a copy, in memory and complete; the file is only read. Newer version: ERR_CANNOT. */
struct store *store_open_copy(const char *path, struct err *err);
bool store_keeps_details(const struct store *); /* false: in memory; no need to make such rows */

/* ---- turns. Writes outside a turn begin one. Writes of a turn that failed are remembered: the
 * commit then fails too. ---- */
bool store_dirty(const struct store *); /* something was written in this turn */
/* On failure everything of the turn is rolled back, see disk.h; ERR_FULL: no space. */
int store_commit(struct store *, struct err *);
void store_rollback(struct store *);

/* ---- rows (texts in rows read are in the caller's arena; in rows written they need to live during
 * the call only) ---- */
struct job_row {
    uint64_t id, number;
    const char *owner, *project, *name, *queue, *dialect;
    uint32_t priority;
    enum job_state state;
    enum job_outcome outcome; /* while stopping or restarting */
    struct sentence reason;   /* why it waits, ended ... */
    uint32_t generation, restarts, tasks;
    uint64_t gpu_milli;                                         /* asked for in all, for lists */
    uint64_t submitted_ms, started_ms, ended_ms, not_before_ms; /* 0: not yet */
    /* An array is a row of its own; its members' ids and numbers follow its own in the order of
     * their indices. They share its spec, site and origin, and stand in no list but its own. */
    uint64_t array;      /* of a member: id of its array; 0: none */
    uint32_t index;      /* of a member */
    uint32_t members;    /* of an array: how many were submitted; 0: no array */
    const char *spec;    /* canonical JSON, complete; of a member: NULL when written */
    struct pairs facets; /* what it is searched by (find.h); only written */
    const char *site;    /* JSON: work_dir, code_dir, file name, overrides, warnings */
    const char *live; /* JSON that the core keeps while the job lives: retry counters ...; NULL */
};
struct origin_row {
    uint64_t job;
    const char *text, *masked, *file;
};
struct task_row { /* one task of a live or finished job; written at allocation */
    uint64_t job;
    struct task_ref ref;
    enum task_state state;
    uint32_t attempt; /* current or last, from 1; 0: none yet */
    const char *live; /* JSON: retry counters; NULL */
};
struct attempt_row {
    uint64_t job;
    struct task_ref ref;
    uint32_t attempt, generation;
    enum attempt_state state;
    const char *node, *place, *reason; /* JSON of address, gpus, ports; for people, of the end */
    uint64_t placed_ms, started_ms, ended_ms;
    uint32_t pid;
    struct ending ending; /* valid when final */
    uint64_t log_end;
};
struct event_row {
    uint64_t seq, job, at_ms, steady_ms; /* seq: from 1, by store_add_event; steady: ctl/clock.c */
    const char *type;                    /* "allocated", "task.started" ... */
    bool has_task;
    struct task_ref task;
    uint32_t attempt;
    const char *body;  /* JSON or NULL; its member text is a sentence */
    const char *named; /* the job that it names (named_job_pack()); NULL when read: the row is of a
                          version before 6 */
};
struct agent_row {
    uint64_t job;
    uint32_t generation, launch_seq;
    const char *node;
    unsigned char token_hash[32];
    uint64_t last_seq;
    enum agent_state state;
};
struct idempotency_row {
    const char *owner, *key;
    unsigned char body_hash[32];
    uint64_t job, expires_ms;
};
struct object_row {
    const char *kind, *project, *name, *spec;
    uint64_t version;
};

uint64_t store_next_number(struct store *); /* job number: server-wide, from 1 */
uint64_t store_last_job_id(struct store *);
int store_put_job(struct store *, const struct job_row *, struct err *); /* insert */
/* Only what changes in a job's life: state outcome reason generation restarts priority started
 * ended not_before live. */
int store_update_job(struct store *, const struct job_row *, struct err *);
int store_put_origin(struct store *, const struct origin_row *, struct err *);
int store_put_task(struct store *, const struct task_row *, struct err *); /* insert or replace */
int store_put_attempt(struct store *, const struct attempt_row *,
                      struct err *);                                         /* insert or replace */
int store_add_event(struct store *, struct event_row *, struct err *);       /* sets seq */
int store_put_agent(struct store *, const struct agent_row *, struct err *); /* insert or replace */
int store_delete_agent(struct store *, uint64_t job, uint32_t generation, const char *node,
                       struct err *);
int store_put_idem(struct store *, const struct idempotency_row *, struct err *);
/* Looks up row->owner and row->key and fills the rest. 1 found, 0 not, -1 error. Expired rows count
 * as not found. */
int store_get_idem(struct store *, uint64_t now_ms, struct idempotency_row *, struct err *);
/* Nodes' drain flags, the catalogue, documents of façades. Its version becomes row->version, or
 * with 0 one more than it was. */
int store_put_object(struct store *, const struct object_row *, struct err *);
int store_delete_object(struct store *, const struct object_row *, struct err *err);
int store_drop_objects(struct store *, const char *kind, const char *project, struct err *);
int store_put_secret(struct store *, const char *owner, const char *name, const void *value,
                     size_t len, struct err *);
int store_set_keep(struct store *, uint64_t job, uint64_t until_ms, struct err *); /* 0: for ever */

/* ---- queries ---- */
int store_get_job(struct store *, struct arena *, uint64_t id, struct job_row *,
                  struct err *); /* 1 (spec NULL: it cannot be read, or was lost), 0, -1 */
/* The same without what lies sealed in its body, spec and site, which are NULL. */
int store_get_lean_job(struct store *, struct arena *, uint64_t id, struct job_row *, struct err *);
int store_get_site(struct store *, struct arena *, uint64_t id, const char **site,
                   struct err *); /* 1, 0, -1 */
/* Of a job that is no member of an array: its canonical text. 1, 0, -1. */
int store_get_spec(struct store *, struct arena *, uint64_t id, const char **spec, struct err *);
int store_find_number(struct store *, uint64_t number, uint64_t *id); /* 1, 0 */
int store_find_name(struct store *, const char *name, const char *owner /* NULL any */,
                    uint64_t *id); /* newest */
/* The newest of a name in a project. Not of records in memory. 1, 0. */
struct job_name_query {
    const char *project, *name, *owner; /* project "": in none; owner NULL: any */
    uint64_t from;                      /* not older than this one; 0: all */
    uint32_t states;                    /* bit 1 << state; 0: all */
};
int store_find_in(struct store *, const struct job_name_query *, uint64_t *id);
int store_get_origin(struct store *, struct arena *, uint64_t id, struct origin_row *,
                     struct err *);
/* Each fills an arena array. */
int store_live_jobs(struct store *, struct arena *, struct job_row **, size_t *n,
                    struct err *); /* not final, by id, arrays before their members; spec and site
                                      are left NULL */
int store_tasks(struct store *, struct arena *, uint64_t job, struct task_row **, size_t *n,
                struct err *);
int store_attempts(struct store *, struct arena *, uint64_t job, struct attempt_row **, size_t *n,
                   struct err *);
struct task_range { /* tasks of a job from the first to the last, by role and index */
    uint64_t job;
    struct task_ref first, last;
};
int store_tasks_in(struct store *, struct arena *, const struct task_range *, struct task_row **,
                   size_t *n, struct err *);
int store_attempts_in(struct store *, struct arena *, const struct task_range *,
                      struct attempt_row **, size_t *n, struct err *);
int store_agents(struct store *, struct arena *, uint64_t job, struct agent_row **, size_t *n,
                 struct err *);
/* Of that kind, and of that project unless it is NULL. */
int store_objects(struct store *, struct arena *, const struct object_row *of, struct object_row **,
                  size_t *n, struct err *);
/* Looks up row's kind, project and name and fills the rest. 1 found, 0 not, -1 error. */
int store_get_object(struct store *, struct arena *, struct object_row *, struct err *);
struct event_range {
    uint64_t job;   /* 0: of all jobs */
    uint64_t after; /* seq > after, ascending */
    size_t limit;
};
int store_events(struct store *, struct arena *, const struct event_range *, struct event_row **,
                 size_t *n, struct err *);
uint64_t store_last_event(struct store *);
/* First and last event of a job; 0: it has none. */
uint64_t store_first_of(struct store *, uint64_t job);
uint64_t store_last_of(struct store *, uint64_t job);
#define JOB_OFFSET_MAX 100000u
struct job_filter {
    uint32_t states;                            /* bit 1 << state; 0: all */
    const char *owner, *queue, *name, *dialect; /* NULL: any; name is a prefix;
                                                   dialect "x" is "x-v1" too */
    uint64_t before_id;                         /* cursor: only ids below; 0: from the newest */
    size_t limit;                               /* 1..1000 */
    uint64_t offset;    /* so many are left out first, at most JOB_OFFSET_MAX */
    const char *reader; /* only jobs of this owner or of these projects; NULL: all */
    const struct words *projects;
    uint64_t array;   /* members of this one only, by index, ids above the cursor; of the other
                         filters only states counts */
    uint32_t members; /* of that array */
};
/* Newest first; spec, site and live are left NULL. Always an index range, however many jobs there
 * are. */
int store_list(struct store *, struct arena *, const struct job_filter *, struct job_row **,
               size_t *n, struct err *);
/* How many store_list would find without limit, offset and cursor; walks the index. */
int store_list_count(struct store *, const struct job_filter *, uint64_t *n, struct err *);

#endif
