/* What the files of this folder share: the request in hand, its route, answers in OpenPAI's shapes.
 * Private to api/openpai/. */
#ifndef API_OPENPAI_PAI_H
#define API_OPENPAI_PAI_H

#include "answer/job_list.h"
#include "answer/jobs.h"
#include "api/facade.h"
#include "api/openpai/writer.h"
#include "documents/documents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAI_V1 = 1, PAI_V2 = 2, PAI_BOTH = PAI_V1 | PAI_V2 };

/* Errors as clients know them: value, HTTP status, code. */
#define PAI_ERRORS(X)                                                                              \
    X(PARAMETERS, 400, "InvalidParametersError")                                                   \
    X(PROTOCOL, 400, "InvalidProtocolError")                                                       \
    X(NO_USER, 400, "NoUserError")                                                                 \
    X(NO_GROUP, 400, "NoGroupError")                                                               \
    X(PASSWORD, 400, "IncorrectPasswordError")                                                     \
    X(NOT_IMPLEMENTED, 400, "NotImplementedError")                                                 \
    X(UNAUTHORIZED, 401, "UnauthorizedUserError")                                                  \
    X(FORBIDDEN, 403, "ForbiddenUserError")                                                        \
    X(REMOVE_ADMIN, 403, "RemoveAdminError")                                                       \
    X(NO_API, 404, "NoApiError")                                                                   \
    X(NO_JOB, 404, "NoJobError")                                                                   \
    X(NO_CONFIG, 404, "NoJobConfigError")                                                          \
    X(NO_SSH, 404, "NoJobSshInfoError")                                                            \
    X(NO_TASK, 404, "NoTaskError")                                                                 \
    X(NO_LOG, 404, "NoTaskLogError")                                                               \
    X(NO_TAG, 404, "NoTagError")                                                                   \
    X(NO_STORAGE, 404, "NoStorageError")                                                           \
    X(NO_VC, 404, "NoVirtualClusterError")                                                         \
    X(CONFLICT_JOB, 409, "ConflictJobError")                                                       \
    X(CONFLICT_USER, 409, "ConflictUserError")                                                     \
    X(TOO_LARGE, 413, "InvalidParametersError")                                                    \
    X(BUSY, 429, "UnknownError")                                                                   \
    X(UNKNOWN, 500, "UnknownError")                                                                \
    X(UNAVAILABLE, 503, "UnknownError")                                                            \
    X(FULL, 507, "UnknownError")
enum pai_error {
#define PAI_ERROR(value, status, code) PAI_##value,
    PAI_ERRORS(PAI_ERROR)
#undef PAI_ERROR
        PAI_ERROR_N
};

#define PAI_PARAMS 6 /* {} of a path at most */

enum pai_flags {
    PAI_OPEN = 1,    /* asks for no token and looks at none */
    PAI_READ = 2,    /* the openpai_open_reads setting opens it */
    PAI_ADMIN = 4,   /* admins only */
    PAI_PERSON = 8,  /* not for tokens of applications */
    PAI_TICKET = 16, /* a token for one job will do, from the query */
    PAI_NAMED = 32,  /* user and job stand in the path each by itself, not as user~job */
};

struct pai;
struct pai_route {
    const char *method; /* "*": any */
    unsigned versions;  /* PAI_V1 | PAI_V2 */
    const char *path;   /* below the version: "jobs/{}/config" */
    void (*handle)(struct pai *);
    unsigned flags;
};
const struct pai_route *pai_routes(size_t *n);

/* One request; in its call's arena. */
struct pai {
    struct call *call;
    struct ctl *ctl;
    struct arena *a;
    const struct pai_route *route;
    unsigned version;              /* PAI_V1 or PAI_V2 */
    const char *url;               /* as the rest-server sees it: without /rest-server */
    const char *param[PAI_PARAMS]; /* what stands at the {} of the path, decoded */
    const char *me;                /* who asks; "" nobody */
    const char *as; /* as whom the job is read; NULL: as a stranger, by the setting */
    bool open;      /* the setting is on */
    /* what a command answers with, once it is committed */
    const char *said;
    const char *user, *job; /* whose job, its name, of both as one */
    const char *frame;
    const char *cluster; /* that a submitted text names; NULL: none */
    uint64_t id;
    struct listed_job row; /* of that job, since pai_job_view */
};

/* ---- answers (answer.c). Each is the last thing that is done with a request. ---- */
void pai_answer(struct pai *, unsigned status, const struct text_node *);
/* {"message": ...}; a job's command of version 2 {"status": ..., "message": ...}. */
void pai_message(struct pai *, unsigned status, const char *message);
void pai_fail(struct pai *, enum pai_error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The error of the core that has no name of its own here; report: all it found, or NULL. */
void pai_err(struct pai *, const struct err *, const struct report *);
const char *pai_problems(struct arena *, const struct err *, const struct report *);
void pai_no_api(struct pai *);

/* ---- small readers ---- */
/* The request's body as a map; answers the error itself and gives NULL. */
struct text_node *pai_body(struct pai *);
const char *pai_text(const struct text_node *map, const char *key); /* NULL: no such text */
bool pai_true(const struct text_node *map, const char *key);        /* true, also "true" */
const char *pai_said(const char *text);                             /* NULL: nothing, or "" */
struct words pai_list(struct arena *, const char *text);            /* "a,b" */
/* null where there is no such text or time. */
void pai_put_text(struct arena *, struct text_node *map, const char *key, const char *text);
void pai_put_ms(struct arena *, struct text_node *map, const char *key, uint64_t ms);

/* The nested form as a tree; *text becomes the JSON that it stands for. NULL: report says why. */
struct text_node *pai_job_form(struct arena *, const char **text, size_t *len, struct report *);

/* ---- jobs ---- */
/* Who reads: the one who asks, or anybody when reading is open. */
const struct identity *pai_reader(const struct pai *);
/* Finds user~job of the path (version 1: user and job) that may be read, into p->id, user, job,
 * frame. false: answered. */
bool pai_find_job(struct pai *);
/* The same, and one's own to command: `what` for the refusal, "remove". */
bool pai_own_job(struct pai *, const char *what);
const struct job_view *pai_job_view(struct pai *, unsigned parts); /* NULL: answered */
const char *pai_job_word(unsigned version, const struct listed_job *);
const char *pai_sub_state(const struct listed_job *);
const char *pai_task_word(enum task_state);
const char *pai_attempt_word(enum attempt_state);
const char *pai_priority(uint64_t priority); /* "prod"; NULL: none of the classes */
const char *pai_debug_id(struct arena *, const char *frame);
int64_t pai_stop_code(unsigned version, bool job);
/* Tags of jobs: all of them, or of one. */
void pai_tags_load(const struct pai *, const char *job, struct document_list *);
/* Those of the job with this id, in arena. */
struct words pai_tags_of(struct arena *, const struct document_list *, const char *id);
/* Members that list and detail have in common. */
void pai_write_status(struct pai_writer *, unsigned version, const struct listed_job *);

/* ---- attempts (attempts.c): a job's start is its attempt n, from 0 ---- */
uint64_t pai_attempt_of(const struct job_view *); /* the current one */
/* Attempts of a task in that start: how many, and the last or the k-th from 0; NULL: none. */
size_t pai_attempts(const struct task_view *, uint64_t n);
const struct attempt_view *pai_attempt(const struct task_view *, uint64_t n, uint64_t k);
const struct attempt_view *pai_last_attempt(const struct task_view *, uint64_t n);
const struct task_view *pai_task(const struct job_view *, const char *role, uint64_t index);
/* "ID-role-0-1" */
const char *pai_container(struct pai *, const struct task_view *, const struct attempt_view *);
bool pai_exit_code(unsigned version, const struct attempt_view *, int64_t *code);
const char *pai_end_class(const struct attempt_view *); /* a word; NULL: it has not ended */
void pai_put_attempt_times(struct arena *, struct text_node *out, const struct attempt_view *);
const char *pai_log_path(struct pai *, const struct task_view *, uint64_t n, uint64_t k);
/* Did its last attempt of that start fail before that time? Then this is the time now. */
bool pai_failed_before(const struct task_view *, uint64_t n, uint64_t *first_ms);
/* One of taskRoles: its list of tasks, empty; and a task of the n-th start for it. */
struct text_node *pai_put_role(struct arena *, struct text_node *roles, const char *name);
void pai_put_task(struct pai *, struct text_node *list, const struct job_view *,
                  const struct task_view *, uint64_t n);
/* taskRoles of an answer about the n-th start. */
void pai_put_roles(struct pai *, struct text_node *out, const struct job_view *, uint64_t n);
bool pai_number_of(const char *text, uint64_t *n); /* up to nine digits */
/* The task and the start that a path names; false: answered. */
struct pai_place {
    const struct job_view *job;
    const struct task_view *task;
    uint64_t n;
};
bool pai_find_task(struct pai *, struct pai_place *);
/* About one start of a job: all but its taskRoles. */
struct pai_start {
    const struct job_view *job;
    const struct task_view *culprit; /* that failed it, or NULL */
    uint64_t n;
};
struct text_node *pai_detail(struct pai *, const struct pai_start *);

/* ---- groups that are always there ---- */
#define PAI_GROUP_ALL   "default"
#define PAI_GROUP_ADMIN "admingroup"
/* Everybody's virtual clusters and storages, as two members. */
void pai_put_rights(struct pai *, struct text_node *out, const char *clusters,
                    const char *storages);

/* ---- handlers, by file ---- */
void pai_root(struct pai *);
void pai_root_text(struct pai *);
void pai_info(struct pai *);
void pai_login(struct pai *);
void pai_logout(struct pai *);
void pai_authn_info(struct pai *);
void pai_tokens(struct pai *);
void pai_token_application(struct pai *);
void pai_token_revoke(struct pai *);
void pai_token_check(struct pai *);

void pai_users(struct pai *);
void pai_user(struct pai *);
void pai_user_create(struct pai *);
void pai_user_update(struct pai *);
void pai_user_me(struct pai *);
void pai_user_delete(struct pai *);
void pai_user_field(struct pai *);
void pai_user_password(struct pai *);
void pai_user_group(struct pai *);
void pai_groups(struct pai *);
void pai_group(struct pai *);
void pai_group_users(struct pai *);
void pai_group_change(struct pai *);

void pai_jobs(struct pai *);
void pai_job_submit(struct pai *);
void pai_job_put(struct pai *);
void pai_job_detail(struct pai *);
void pai_job_attempt(struct pai *);
void pai_job_config(struct pai *);
void pai_job_ssh(struct pai *);
void pai_job_execute(struct pai *);
void pai_job_delete(struct pai *);
void pai_job_tag(struct pai *);
void pai_job_events(struct pai *);
void pai_job_attempts_health(struct pai *);
void pai_job_attempts(struct pai *);
void pai_job_attempts_one(struct pai *);
void pai_task_attempts(struct pai *);
void pai_task_logs(struct pai *);
void pai_log_file(struct pai *);

void pai_clusters(struct pai *);
void pai_cluster(struct pai *);
void pai_cluster_change(struct pai *);
void pai_skus(struct pai *);
void pai_storages(struct pai *);
void pai_storage(struct pai *);
void pai_storage_configs(struct pai *);
void pai_storage_servers(struct pai *);
void pai_kubernetes_nodes(struct pai *);
void pai_kubernetes_pods(struct pai *);
void pai_alerts(struct pai *);

#endif
