/* The request in hand, and its answer in OpenPAI's shapes. Private to api/openpai/. */
#ifndef API_OPENPAI_REQUEST_H
#define API_OPENPAI_REQUEST_H

#include "answer/job_list.h"
#include "api/facade.h"

#include <stdbool.h>
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

struct pai;
enum pai_flags {
    PAI_OPEN = 1,    /* asks for no token and looks at none */
    PAI_READ = 2,    /* the openpai_open_reads setting opens it */
    PAI_ADMIN = 4,   /* admins only */
    PAI_PERSON = 8,  /* not for tokens of applications */
    PAI_TICKET = 16, /* a token for one job will do, from the query */
    PAI_NAMED = 32,  /* user and job stand in the path each by itself, not as user~job */
};

struct pai_route {
    const char *method; /* "*": any */
    unsigned versions;  /* PAI_V1 | PAI_V2 */
    const char *path;   /* below the version: "jobs/{}/config" */
    void (*handle)(struct pai *);
    unsigned flags;
};

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

/* ---- answers: each is the last thing that is done with a request ---- */
void pai_answer(struct pai *, unsigned status, const struct text_node *);
/* {"message": ...}; a job's command of version 2 {"status": ..., "message": ...}. */
void pai_message(struct pai *, unsigned status, const char *message);
void pai_fail(struct pai *, enum pai_error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The error of the core that has no name of its own here; report: all it found, or NULL. */
void pai_err(struct pai *, const struct err *, const struct report *);
const char *pai_problems(struct arena *, const struct err *, const struct report *);
void pai_no_api(struct pai *);

/* The request's body as a map; answers the error itself and gives NULL. */
struct text_node *pai_body(struct pai *);

#endif
