/* One operation of the two services and a request for it: what the files of this folder share. */
#ifndef API_DLC_OP_H
#define API_DLC_OP_H

#include "answer/jobs.h"
#include "api/facade.h"
#include "api/work.h"
#include "dialect/dlc/dlc.h"
#include "documents/documents.h"

enum dlc_service { DLC_JOBS, DLC_SPACES };
enum dlc_op_flags {
    DLC_WRITES = 1, /* not for readers */
    DLC_BODY = 2,   /* a JSON object is needed; without it one is optional */
    DLC_CANNOT = 4, /* answers NotSupported with the note */
};
#define DLC_PARAMS 3

struct dlc_call;
struct dlc_op {
    enum dlc_service service;
    const char *name, *method;
    const char *path; /* below /api/v1: "jobs/{}/pods/{}/logs" */
    void (*run)(struct dlc_call *);
    unsigned flags;
    const char *note; /* why it cannot be */
    /* Names that its query and its body may have, and what becomes of them: params.c. body NULL:
     * its handler reads it whole. */
    const char *query, *body;
};
const struct dlc_op *dlc_ops(size_t *n);

/* Lives in the arena of the call, which the answer frees. */
struct dlc_call {
    struct call *call;
    struct arena *arena;
    struct ctl *ctl;
    const struct dlc_op *op;
    const char *param[DLC_PARAMS]; /* decoded */
    const char *request_id;
    struct pairs query; /* decoded, in the order of the wire */
    const char *text;   /* the body as it came */
    size_t text_len;
    const struct text_node *body; /* a map, maybe an empty one */
    struct text_node *warnings;   /* texts: for the answer, when it is a good one */
    uint64_t now_ms;
    void *more; /* of a handler that waits for the core */
    unsigned round;
    /* While a handler runs, its answer is kept: what it answered with is still there after it. */
    bool running;
    bool gone; /* its connection speaks another protocol now, and this is not to be touched */
    const struct text_node *answer;
    unsigned status;
    struct long_answer rest; /* of a good answer: its lists that are filled a page at a time */
};

/* Runs the operation: who may, what was asked, then its handler. It answers, or waits. */
void dlc_run(struct dlc_call *);
/* Does the row of the operation have all that was asked? Else answered, every problem at once. What
 * has no effect is warned about. */
bool dlc_check_params(struct dlc_call *);

/* ---- answering: each ends the call, once the handler has returned. The first one counts. ---- */
struct text_node *dlc_map(struct dlc_call *); /* a fresh answer */
void dlc_send(struct dlc_call *);             /* what was kept; for who ran the handler */
void dlc_ok(struct dlc_call *, struct text_node *);
void dlc_fail(struct dlc_call *, unsigned status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void dlc_err(struct dlc_call *, const struct err *, const struct report *);
void dlc_missing(struct dlc_call *, const char *name);
/* Said in the extra list Warnings of a good answer. */
void dlc_note(struct dlc_call *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A command's answer: true when it went well; else it was answered. Needs call_keep() before. */
bool dlc_done(struct dlc_call *, const struct ctl_answer *);
/* ctl_done of a command whose answer is RequestId alone, or the ready tree in ->more. */
void dlc_done_plain(void *dlc_call, const struct ctl_answer *);

/* Is one more within what its user may in a time? Answers itself when not. */
bool dlc_spend(struct dlc_call *, enum limit);

/* ---- asking ---- */
const char *dlc_query(const struct dlc_call *, const char *name);  /* NULL: absent or empty */
const char *dlc_header(const struct dlc_call *, const char *name); /* NULL: absent */
bool dlc_query_flag(const struct dlc_call *, const char *name, bool otherwise);
/* These answer themselves when they return false. */
bool dlc_query_u64(struct dlc_call *, const char *name, uint64_t least, uint64_t most,
                   uint64_t *out);
bool dlc_query_time(struct dlc_call *, const char *name, uint64_t *ms);
/* "2020-11-08T16:00:00Z", with milliseconds too, or milliseconds since 1970. */
bool dlc_scan_time(const char *text, uint64_t *ms);
bool dlc_page(struct dlc_call *, uint64_t size, struct facade_page *);
int64_t dlc_page_number(const struct facade_page *);                /* from 1 */
bool dlc_order(struct dlc_call *, bool otherwise, bool *ascending); /* Order, any case */
/* Of the body: text (numbers as written), NULL when absent, null or empty. */
const char *dlc_text(const struct text_node *map, const char *key);
const struct text_node *dlc_list(const struct text_node *map, const char *key);
bool dlc_true(const struct text_node *map, const char *key);
/* null, "", {} or []: as good as left out. A body has none of these at its top. */
bool dlc_empty(const struct text_node *);
bool dlc_need(struct dlc_call *, const char *key, const char **out);
/* JSON text as a map; NULL when it is not that. */
const struct text_node *dlc_parse(struct arena *, const char *text);
/* a is part of b, whatever the case of letters. */
bool dlc_within(const char *part, const char *text);
bool dlc_in_list(const char *comma_list, const char *word);
/* "d-" and so many random characters 0-9a-z. */
const char *dlc_new_id(struct arena *, const char *prefix, size_t len);

/* ---- building ---- */
void dlc_put(struct arena *, struct text_node *map, const char *key,
             const char *value); /* if any */
void dlc_copy(struct arena *, struct text_node *map, const struct text_node *from, const char *key);
const char *dlc_workspace(const char *project);            /* "" is "default" */
const char *dlc_default_space(struct dlc_call *);          /* the caller's */
bool dlc_space_there(struct dlc_call *, const char *name); /* and the caller in it; else answered */
bool dlc_is_admin(const struct dlc_call *);
struct text_node *dlc_labels(struct arena *, struct text_node *map, const struct text_node *pairs);

/* ---- jobs ---- */
/* The job that JobId names and they may read (by a Token of it too), else answered NotFound. */
bool dlc_job(struct dlc_call *, const char *text, uint64_t *id);
/* Is there a Token of it in the query? Who asks is its holder from now on. */
bool dlc_by_token(struct dlc_call *, uint64_t id);
/* A job in the words of the API: JobItem. NULL: it is gone. */
struct text_node *dlc_job_item(struct dlc_call *, uint64_t id);
/* Answers it with what GetJob adds, a page at a time. */
void dlc_answer_item(struct dlc_call *, uint64_t id, struct text_node *item);
/* Answers the tree, lists of the job's in it filled a page at a time: the argument of each is for
 * dlc_add_pods. */
void dlc_ok_lists(struct dlc_call *, uint64_t id, struct text_node *tree, const struct long_list *,
                  size_t n);
int dlc_add_pods(void *, struct arena *, struct text_node *to, struct err *);
/* The CreateJob body it is or would be, secrets masked; NULL: cannot be said. */
struct text_node *dlc_job_body(struct dlc_call *, const struct job_view *);
const char *dlc_job_status(const struct job_view *);
const char *dlc_pod_id(struct arena *, uint64_t job, const char *role, uint64_t index);
const char *dlc_pod_uid(struct arena *, uint64_t job, const char *pod, uint64_t attempt);
/* "http://127.0.0.1:20001/": its first port of that label; NULL: it has none. */
const char *dlc_port_url(struct arena *, const struct attempt_view *, const char *label);
struct dlc_pod {
    uint64_t job;
    const char *id, *role;
    uint32_t index, attempt; /* attempt 0: the last */
    const struct task_view *task;
};
bool dlc_pod(struct dlc_call *, struct dlc_pod *); /* of param 0 and 1; else answered */

/* ---- handlers ---- */
void dlc_create_job(struct dlc_call *);
void dlc_list_jobs(struct dlc_call *);
void dlc_get_job(struct dlc_call *);
void dlc_update_job(struct dlc_call *);
void dlc_stop_job(struct dlc_call *);
void dlc_delete_job(struct dlc_call *);
void dlc_job_events(struct dlc_call *);
void dlc_pod_events(struct dlc_call *);
void dlc_job_metrics(struct dlc_call *);
void dlc_cms_metrics(struct dlc_call *);
void dlc_sanity_result(struct dlc_call *);
void dlc_sanity_results(struct dlc_call *);
void dlc_ecs_specs(struct dlc_call *);
void dlc_get_token(struct dlc_call *);
void dlc_board_create(struct dlc_call *);
void dlc_board_list(struct dlc_call *);
void dlc_board_get(struct dlc_call *);
void dlc_board_update(struct dlc_call *);
void dlc_board_delete(struct dlc_call *);
void dlc_board_stop(struct dlc_call *);
void dlc_board_shared(struct dlc_call *);
void dlc_template_create(struct dlc_call *);
void dlc_template_list(struct dlc_call *);
void dlc_template_get(struct dlc_call *);
void dlc_template_update(struct dlc_call *);
void dlc_template_default(struct dlc_call *);
void dlc_template_delete(struct dlc_call *);
void dlc_tags_put(struct dlc_call *);
void dlc_tags_remove(struct dlc_call *);
void dlc_space_list(struct dlc_call *);
void dlc_space_get(struct dlc_call *);
void dlc_space_create(struct dlc_call *);
void dlc_space_update(struct dlc_call *);
void dlc_space_delete(struct dlc_call *);
void dlc_space_default(struct dlc_call *);
void dlc_space_set_default(struct dlc_call *);
void dlc_member_list(struct dlc_call *);
void dlc_member_get(struct dlc_call *);
void dlc_member_create(struct dlc_call *);
void dlc_member_delete(struct dlc_call *);
void dlc_role_add(struct dlc_call *);
void dlc_role_remove(struct dlc_call *);
void dlc_user_list(struct dlc_call *);
void dlc_permission_list(struct dlc_call *);
void dlc_permission_get(struct dlc_call *);
void dlc_quota_list(struct dlc_call *);
void dlc_product_list(struct dlc_call *);
void dlc_image_list(struct dlc_call *);
void dlc_image_get(struct dlc_call *);
void dlc_image_add(struct dlc_call *);
void dlc_image_remove(struct dlc_call *);
void dlc_image_publish(struct dlc_call *);
void dlc_image_labels_all(struct dlc_call *);
void dlc_image_label_add(struct dlc_call *);
void dlc_image_label_remove(struct dlc_call *);
void dlc_data_create(struct dlc_call *);
void dlc_data_list(struct dlc_call *);
void dlc_data_get(struct dlc_call *);
void dlc_data_update(struct dlc_call *);
void dlc_data_delete(struct dlc_call *);
void dlc_data_publish(struct dlc_call *);
void dlc_data_label_add(struct dlc_call *);
void dlc_data_label_remove(struct dlc_call *);
void dlc_version_create(struct dlc_call *);
void dlc_version_list(struct dlc_call *);
void dlc_version_get(struct dlc_call *);
void dlc_version_update(struct dlc_call *);
void dlc_version_delete(struct dlc_call *);
void dlc_code_create(struct dlc_call *);
void dlc_code_list(struct dlc_call *);
void dlc_code_get(struct dlc_call *);
void dlc_code_update(struct dlc_call *);
void dlc_code_delete(struct dlc_call *);
void dlc_code_publish(struct dlc_call *);
void dlc_pod_logs(struct dlc_call *);
void dlc_signal_create(struct dlc_call *);
void dlc_signal_get(struct dlc_call *);
void dlc_signal_list(struct dlc_call *);
void dlc_dashboard(struct dlc_call *);
void dlc_web_terminal(struct dlc_call *);
/* Is the request for a terminal's own address? Then it was answered. */
bool dlc_terminal(struct dlc_call *);
void dlc_board_start(struct dlc_call *);
void dlc_history_create(struct dlc_call *);
void dlc_history_list(struct dlc_call *);
void dlc_history_get(struct dlc_call *);
void dlc_history_start(struct dlc_call *);
void dlc_history_stop(struct dlc_call *);
void dlc_history_delete(struct dlc_call *);
void dlc_resource_list(struct dlc_call *);

/* template.c: a body made of the template it names; false: answered. *out is the body itself when
 * it names none. */
bool dlc_template_apply(struct dlc_call *, const struct text_node **out);

#endif
