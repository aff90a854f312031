/* The core: the only writer. Commands and facts become events; events move jobs, tasks and
 * attempts; one commit a turn; then answers, then actions (plan, engine calls), all derived from
 * state and repeatable. One thread. */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include "base/err.h"
#include "base/report.h"
#include "ctl/config.h"
#include "dialect/dialect.h"
#include "engine/engine.h"
#include "sched/plan.h"
#include "store/store.h"
#include "submission/submission.h"

struct ctl;
struct job_access;
struct job_result;
struct board_entry;
struct board_list;
struct board_request;
struct document_changes;
struct records_copy;
struct documents;
struct submitted_view;
struct user_view;
struct key_view;
struct token_view;
struct secret_view;

struct ctl *ctl_create(const struct ctl_config *, struct err *);
void ctl_destroy(struct ctl *);
/* Loads live rows, asks the engine to recover, acts on state. */
int ctl_recover(struct ctl *, struct err *);
/* Says by an event and in the audit record that the records were mended or restored since the last
 * server; once. */
void ctl_tell_mended(struct ctl *);
/* The end of a turn: commit, answer, plan, commit, act. The owner calls it after each round of I/O
 * that touched the core (cheap when nothing did). */
void ctl_turn(struct ctl *);
void ctl_tick(struct ctl *); /* timers: back-off, run-time limits, expiry */
bool ctl_idle_since(const struct ctl *, uint64_t *ms); /* no live jobs: since when */

/* Facts come in through this sink (set into the engine by ctl_create). */
struct engine_sink ctl_sink(struct ctl *);

/* ---- commands. Checked at once; the answer comes at the end of the turn, after the commit (or
 * with ERR_FULL). `done` is called exactly once; made or tree is the answer (in an arena that lives
 * during the call), nothing and NULL on error. report: field errors and warnings or NULL. ---- */
struct ctl_result { /* what became of what the command is about (results.h); the others NULL */
    const struct submitted_view *submitted;
    const struct job_result *job;
    const struct board_entry *entry; /* without its value */
    const struct user_view *user;    /* these three also of what was removed */
    const struct key_view *key;
    const struct token_view *token;
    const struct secret_view *secret;
};
struct ctl_answer {
    const struct err *err; /* NULL on success */
    const struct report *report;
    const struct text_node *tree;
    struct ctl_result made;
    uint64_t job;
};
typedef void ctl_done(void *arg, const struct ctl_answer *);

void ctl_submit(struct ctl *, const struct submission *, ctl_done *, void *arg);
/* The job that it would make: read, its names resolved, admitted; nothing is stored. In arena.
 * NULL: refused, with err and, where fields are wrong, report. */
const struct job_spec *ctl_preview(struct ctl *, struct arena *, const struct submission *,
                                   struct report *, struct err *);
/* DROP is DELETE, for a job that lives once it has been ended. PRIORITY + 1 to 9: of one that waits
 * (else ERR_CONFLICT). */
enum ctl_verb { CTL_STOP, CTL_STOP_NOW, CTL_SUSPEND, CTL_RESUME, CTL_DELETE, CTL_DROP };
enum { CTL_PRIORITY = CTL_DROP + 1, CTL_PRIORITY_LAST = CTL_PRIORITY + JOB_PRIORITY };
void ctl_command(struct ctl *, const char *owner, uint64_t job, enum ctl_verb, ctl_done *,
                 void *arg);
/* Starts a running job anew, or only some of its tasks in their places. */
struct ctl_restart {
    const char *owner;
    uint64_t job;
    const char *reason; /* NULL: by whom */
    enum {
        RESTART_WISH,    /* a user's: costs no retry */
        RESTART_COUNTED, /* a failure that the program itself reports: out of the retries of class
                            unknown, and the job fails when none is left */
        RESTART_NEVER    /* one that is sure to come again: the job fails */
    } how;
    struct words tasks; /* "worker/0"; none: the whole job */
};
void ctl_restart(struct ctl *, const struct ctl_restart *, ctl_done *, void *arg);
/* Declarations of the catalogue, YAML or JSON: all or none. Answer: {applied: [{kind, name,
 * applied: created, changed or unchanged}]}. For the server's own user; data sets, code sources and
 * images for everyone, and then only their owner or that user changes them. */
void ctl_declare(struct ctl *, const struct declaration *, ctl_done *, void *arg);
void ctl_undeclare(struct ctl *, const char *owner, enum entry_kind, const char *name, ctl_done *,
                   void *arg);
/* Documents of façades (documents/documents.h), all or none: answer {n}. They are read directly. */
void ctl_documents_put(struct ctl *, const struct document_changes *, ctl_done *, void *arg);
const struct documents *ctl_documents(struct ctl *);
/* The board of a running job (documents/board.h). Put answers made.entry; who asks may write the
 * job. */
void ctl_board_put(struct ctl *, const struct board_request *, ctl_done *, void *arg);
/* version 0: there is none (yet). -1: the job has no board. */
int ctl_board_get(struct ctl *, struct arena *, const struct board_request *, struct board_entry *,
                  struct err *);
int ctl_board_view(struct ctl *, struct arena *, const struct board_request *, struct board_list *,
                   struct err *);
/* Ways into jobs that run, and who their programs are (access/). */
const struct job_access *ctl_access(const struct ctl *);
/* Begins a copy of the records (backup/records_copy.h); it ends before the core is destroyed. */
struct records_copy *ctl_copy_records(struct ctl *, bool own, struct err *);

/* ---- reading (answer/ has the rest): answers in the caller's arena ---- */
/* "12", "ddp" (newest live, else newest), a 13-character id, "dlc" + id; "12[3]", "ddp[3]": the
 * member of an array that has the index. -1 with ERR_UNAVAILABLE: that member is accepted, but its
 * row is still to be written; its id is told all the same. */
int ctl_find(struct ctl *, const char *job, uint64_t *id, struct err *);
/* The directory that a URI of a job means on this server (source/storage.h), in arena. NULL: no
 * entry serves it, as err says. */
const char *ctl_storage_dir(struct ctl *, struct arena *, const char *uri, struct err *err);
/* The newest of that owner that has exactly this name. */
int ctl_find_owned(struct ctl *, const char *owner, const char *name, uint64_t *id, struct err *);
struct entry_list { /* by name; entries are the core's own and hold until the next declaration */
    const struct entry *const *at;
    size_t n;
};
struct entry_list ctl_catalogue_view(struct ctl *, struct arena *, enum entry_kind);
/* First and last event of a job; 0: none is kept. */
uint64_t ctl_first_of(struct ctl *, uint64_t job);
uint64_t ctl_last_of(struct ctl *, uint64_t job);
uint64_t ctl_last_event(struct ctl *);
const char *ctl_own_user(const struct ctl *); /* whose server it is */
const struct dialects *ctl_dialects(const struct ctl *);
bool ctl_storage_full(const struct ctl *); /* a commit failed: submissions are refused for now */

/* Called after each commit (and for log growth) so that followers can look again. */
struct ctl_watch {
    void (*events)(void *arg, uint64_t last_seq);
    void (*log)(void *arg, uint64_t job, struct task_ref, uint32_t attempt, uint64_t end);
    void (*board)(void *arg); /* something was put on a board, or one was emptied */
    /* What of a plan was carried out, in its order: all but WAIT. */
    void (*planned)(void *arg, const struct plan_entry *);
    void *arg;
};
uint64_t ctl_now(const struct ctl *); /* clock.h */
uint64_t ctl_date_of(const struct ctl *, uint64_t at_ms);
/* "http://127.0.0.1:6878", for tasks that reach no socket; "" or NULL: none. It is copied. */
void ctl_set_address(struct ctl *, const char *address);
void ctl_set_watch(struct ctl *, struct ctl_watch); /* one watcher (api), NULL functions allowed */

#endif
