/* What a job of one task serves on a port (a TensorBoard, the history of a Ray cluster): a document
 * of what was asked for, and the job that runs it. Stopping is stopping that job, starting makes
 * another one; so its states are the job's, in the words of this API. */
#ifndef API_DLC_LOG_SERVICE_H
#define API_DLC_LOG_SERVICE_H

#include "api/dlc/documents.h"

#define SERVED_MINUTES 10080 /* at most: a week */

struct dlc_log_service {
    const char *document;    /* its kind */
    const char *shown;       /* "TensorBoard" */
    const char *role;        /* of its job */
    const char *id, *prefix; /* "TensorboardId", of ids: "tbc" */
    const char *url;         /* member: "TensorboardUrl" */
    const char *waits;       /* status while its job waits for resources */
    const char *done;        /* and when its program ended well */
    const char *command;     /* a shell's; $LOGDIR, $MUSTER_PORT_WEB, $MUSTER_ADDRESS */
    const char *lacks;       /* why it ended with status 127 */
    const struct dlc_list_type *list;
    const char *const *kept; /* members of its body that are kept and shown; NULL ends them */
    const char *const *same; /* members that the list can be asked for by their names; the same */
    /* More members, and is the row wanted as to the other parameters? NULL: none. */
    void (*more)(struct dlc_call *, struct text_node *out);
    bool (*wanted)(struct dlc_call *, const struct text_node *row);
    /* The job's tree of this spec, by log_service_job_of(); NULL: answered. */
    struct text_node *(*job)(struct dlc_call *, const struct text_node *spec);
};

/* A job with these; NULL and 0: not said. */
struct log_service_job {
    const char *dir, *project, *queue, *cpu, *memory;
    uint64_t minutes, priority, gpus;
    const struct text_node *data; /* of inputs */
};
struct text_node *log_service_job_of(struct dlc_call *, const struct dlc_log_service *,
                                     const struct log_service_job *);

/* GetX and ListXs: its id, what is kept of its body, status, address, times, owner. */
void log_service_get(struct dlc_call *, const struct dlc_log_service *);
void log_service_list(struct dlc_call *, const struct dlc_log_service *);
/* Where it answers, NULL: it is not running. */
const char *log_service_url(struct dlc_call *, const struct dlc_log_service *,
                            const struct document_view *object, const char **status);
/* Of param 0; NULL: answered (not there, or not theirs to change). */
const struct document_view *log_service_find(struct dlc_call *, const struct dlc_log_service *);

/* Starts a job for the spec, which is kept as what `id` is; then answers `ready`. */
void log_service_start(struct dlc_call *, const struct dlc_log_service *, const char *id,
                       struct text_node *spec, struct text_node *ready);
void log_service_again(struct dlc_call *, const struct dlc_log_service *);
void log_service_stop(struct dlc_call *, const struct dlc_log_service *);
void log_service_delete(struct dlc_call *, const struct dlc_log_service *);
struct text_node *log_service_id(struct dlc_call *,
                                 const struct dlc_log_service *); /* {id: param 0} */

#endif
