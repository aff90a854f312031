/* What the routes share: the call in hand, who makes it, answering. Private to api/. */
#ifndef API_CALL_H
#define API_CALL_H

#include "answer/job_rights.h"
#include "api/api.h"
#include "api/page_session.h"
#include "api/rates.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/report.h"
#include "ctl/account.h"
#include "ctl/ctl.h"
#include "http/server.h"
#include "text/tree.h"

struct follower;
struct board_wait;
struct channel;
struct follower_queue;

enum limit { LIMIT_SUBMIT, LIMIT_LIST, LIMIT_LOG, LIMIT_PASSWORD, LIMITS };

struct api {
    struct api_config config;
    struct http_server *server;
    char *address;
    unsigned char token_hash[32];
    struct page_sessions *sessions;   /* of the page */
    struct account_lookups *accounts; /* NULL: jobs have no account of their own */
    struct follower *followers;       /* open streams of events and logs */
    struct follower_queue *pauses;    /* those that wait for their user's allowance; or NULL */
    struct channel *channels;         /* upgraded connections to tasks */
    struct rates *limits[LIMITS];     /* by user; of passwords by source */
    struct board_wait *board_waits;
    void **facade_states;    /* one a façade, in their order */
    struct checking *checks; /* archives that are looked through (archives.c) */
    unsigned works;          /* long answers under way (work.c) */
    struct work *alone;      /* those of them that are nobody's */
};

/* One request on its way: its own arena, freed when answered or gone. */
struct call {
    struct api *api;
    struct http_request *request; /* NULL: the client left */
    struct arena *arena;
    struct identity who;      /* who asks */
    const char *owner;        /* the name of it */
    const char *known, *from; /* by what, and from where; caller.c */
    const char *param[2];     /* decoded path segments at {..} */
    unsigned success;         /* status of the route's good answer */
    bool dry_run, explains;   /* of a submission; explains: with what else would start it now */
    const char *file;         /* the name of what is submitted; NULL: it has none */
    bool lists;               /* its answer counts as one */
    void *facade_state;
};

enum route_flags {
    ROUTE_OPEN = 1,     /* no authentication */
    ROUTE_STREAM = 2,   /* the call lives on after the handler returned */
    ROUTE_ADMIN = 4,    /* admins only */
    ROUTE_READ = 8,     /* not GET, and yet it changes nothing: readers may */
    ROUTE_WRITE = 16,   /* GET, and yet it does something: readers may not */
    ROUTE_SUBMITS = 32, /* what a user has limits of (limits.c) */
    ROUTE_LISTS = 64,
    ROUTE_LOGS = 128,
    ROUTE_OF_JOB = 256,      /* a job's programs may, of their own job */
    ROUTE_OF_CHILDREN = 512, /* those of a job that submits too, of jobs of its owner */
};
struct route {
    const char *method;
    const char *path; /* "/v1/jobs/{job}/stop" */
    void (*handle)(struct call *);
    unsigned flags;
    const char *summary; /* for openapi */
    const char *query;   /* "from name queue": names of its parameters, space-separated */
    const char *answer;  /* schema name of the 2xx answer, NULL: free object */
    unsigned status;     /* of success */
};
/* All routes, for the dispatcher and the OpenAPI document. */
const struct route *api_routes(size_t *n);

/* Answers and frees the call. */
void call_answer(struct call *, unsigned status, const struct text_node *tree);
void call_text(struct call *, unsigned status, const char *type, const char *text, size_t len);
/* The same without a copy: owns the pieces; takes what the buffer holds. */
struct pieces;
void call_pieces(struct call *, unsigned status, const char *type, struct pieces *);
void call_buf(struct call *, unsigned status, const char *type, struct buf *text);
void call_problem(struct call *, const struct err *, const struct report *);
void call_free(struct call *); /* without answering: the client left or a stream took over */
/* Ends a request that is still open when the client leaves (http_set_arg). */
void call_keep(struct call *); /* the answer comes later: NULLs request when the client leaves */

/* The problem document of an error with its field errors, also for lines of a batch. */
struct text_node *problem_tree(struct arena *, const struct err *, const struct report *,
                               const struct refused *);

/* Query helpers: false with *err set when the value is not of the kind. Absent leaves *out. */
bool call_u64(struct call *, const char *name, uint64_t min, uint64_t max, uint64_t *out,
              struct err *);
bool call_flag(struct call *, const char *name);
/* The job of {job}; answers the problem itself and returns false when there is none. */
bool call_job(struct call *, uint64_t *id);

/* auth.c: sets who and owner; false: nobody that this server knows. */
bool auth_identity(struct call *);
/* The one answer to nobody: it says the same whatever was asked for. */
void auth_refuse(struct call *);
/* Is it what the server's own token, a token of a user or the socket says? 1: nothing is said. */
int auth_bearer(struct call *, struct identity *who, struct err *err);
struct identity identity_copy(struct arena *, const struct identity *);
void auth_login_link(struct call *);
void auth_login(struct call *);

/* peer.c: is the process at the other end of the Unix socket one of a job? Looked up once a
 * connection. */
enum peer_kind { PEER_NOT_LOOKED, PEER_OF_NO_JOB, PEER_ENDED, PEER_OF_JOB };
enum peer_kind peer_look(struct call *, struct generation *of);

/* caller.c: says to the core who calls, for the audit record: before a command is given. */
void caller_tell(struct call *);
/* A request was refused to somebody who claims to be `user`, or NULL: to who calls. */
void caller_refused(struct call *, const char *user, const char *action, const char *object,
                    const struct err *);

/* follow.c: open streams, woken by the core's news. */
struct follower {
    struct follower *next, *prev;
    struct call *call;
    uint64_t job;                    /* 0: all */
    uint32_t members;                /* of an array: the jobs whose ids follow are meant too */
    void (*pump)(struct follower *); /* writes what is new, as far as there is room */
    /* a log grew; NULL: does not care */
    void (*log)(struct follower *, uint64_t job, struct task_ref, uint32_t attempt);
    void (*fini)(struct follower *); /* frees what the stream holds, not the follower */
    struct follower *next_paused;
    bool paused;
};
/* Registers the stream and begins its answer; pumps once. The follower is malloc'ed by the caller;
 * freed by follow_end or when the client leaves. */
void follow_begin(struct follower *, const char *type);
void follow_end(struct follower *);
/* Before output is written: has its user had too much of it lately? Then nothing may be written; it
 * is pumped when more may, those that wait for longest first. */
bool follow_pauses(struct follower *);
void follow_watch(struct api *);                               /* installs the core's watch */
void follow_unwatch(struct api *);                             /* when no stream is left */
void follow_line(struct follower *, const struct text_node *); /* one NDJSON line */
/* Was the job's final event committed? *state gets its word. */
bool follow_final(struct follower *, const char **state);
/* Or is its end decided, all that it ran is over, and only its resources are kept? Then *state gets
 * the word of what it becomes. */
bool follow_silent(struct follower *, const char **state);

/* limits.c: ERR_BUSY and the answer's Retry-After when who asks had too much lately. Admins may
 * always. */
void limits_begin(struct api *);
void limits_end(struct api *);
int limit_check(struct call *, enum limit, struct err *);
uint64_t limit_wait(const struct call *, enum limit); /* milliseconds; 0: now */
void limit_take(struct call *, enum limit, uint64_t n);
int limit_one(struct call *, enum limit, struct err *); /* both, of one */
void limit_answer(struct call *, size_t len);           /* a long list counts for more */
/* identify_by_password(), slower for a source of many wrong ones. */
int limit_password(struct call *, const struct identity_login *, struct identity *, struct err *);

/* channel.c: connections that were given away (exec, attach, terminals). They end when who opened
 * them is not let in any more. Called with the connected socket before it is given away. */
void channel_note(struct call *, int fd);
void channels_check(struct api *); /* who may have changed */
void channels_forget(struct api *);

void board_news(struct api *); /* board.c: a board has changed */

/* handlers */
void archive_get(struct call *);
void archive_put(struct call *);
void archive_unpack(struct call *);
void archives_end(struct api *); /* those that are looked through are not answered */
void backup_post(struct call *);
void board_get(struct call *);
void board_put(struct call *);
void job_restart(struct call *);
void job_fail(struct call *);
void job_submit(struct call *);
struct submission;
void job_batch(struct call *, const struct submission *all); /* batch.c */
struct submitted_view;
/* What was submitted; of a dry run, what it would do now. */
struct text_node *job_submitted(struct call *, struct arena *, const struct submitted_view *);
void job_list(struct call *);
void job_show(struct call *);
void job_tasks(struct call *);
void job_origin(struct call *);
void job_explain(struct call *);
void job_explain_text(struct call *);
void job_stop(struct call *);
void job_suspend(struct call *);
void job_resume(struct call *);
void job_delete(struct call *);
void job_signal(struct call *);
void job_exec(struct call *);
void job_attach(struct call *);
void events_get(struct call *);
void events_all(struct call *);
void logs_get(struct call *);
void agents_upgrade(struct call *);
void server_info(struct call *);
void server_stop(struct call *);
void server_health(struct call *);
void server_metrics(struct call *);
void server_config(struct call *);
void nodes_list(struct call *);
void queues_list(struct call *);
void queues_show(struct call *);
void pods_list(struct call *);
void pods_show(struct call *);
void catalogue_list_get(struct call *);
void catalogue_declare(struct call *);
void catalogue_remove(struct call *);
void node_drain(struct call *);
void node_undrain(struct call *);
void users_list(struct call *);
void user_create(struct call *);
void user_show(struct call *);
void user_change(struct call *);
void user_remove(struct call *);
void keys_list(struct call *);
void key_create(struct call *);
void machine_add(struct call *);
void machine_remove(struct call *);
void machine_fence(struct call *);
void machines_list(struct call *);
void pilots_list(struct call *);
void pilot_start(struct call *);
void pilot_show(struct call *);
void pilot_stop(struct call *);
void key_remove(struct call *);
void key_disable(struct call *);
void key_enable(struct call *);
void tokens_list(struct call *);
void token_create(struct call *);
void token_remove(struct call *);
void audit_get(struct call *);
void certificate_get(struct call *);
void openapi_get(struct call *);
void page_get(struct call *);

#endif
