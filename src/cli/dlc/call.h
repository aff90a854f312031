/* One call of `dlc`: its verb, the flags as they were written, what all verbs share. Internal to
 * this folder. */
#ifndef CLI_DLC_CALL_H
#define CLI_DLC_CALL_H

#include "cli/cmd.h"

#define DLC_INDENT    3   /* of JSON on stdout */
#define DLC_FLAGS_MAX 128 /* that one verb knows */

struct dlc_call {
    struct cli *cli;
    struct text_node *flags;  /* a map of texts: long names without "--" */
    struct text_node *config; /* of ~/.dlc/config and the global flags over it */
    bool configured;          /* some of those flags were given */
    int argc;                 /* operands, those that named the verb not counted */
    char **argv;
};

/* A flag's text, absent when it was not given. */
const char *dlc_flag(const struct dlc_call *, const char *name, const char *absent);
bool dlc_flag_on(const struct dlc_call *, const char *name);
/* A number of min .. max, absent when it was not given; -1 with err. */
int dlc_flag_number(const struct dlc_call *, const char *name, uint64_t max, uint64_t *value,
                    struct err *err);

/* ---- config.c ---- */
/* Reads the file (--config FILE, else ~/.dlc/config when it is there), lays the global flags over
 * it, and points the call at the server they mean. */
int dlc_config_read(struct dlc_call *, struct err *err);
int dlc_config_run(struct dlc_call *, struct err *err);
bool dlc_config_flag(const char *name); /* is it one of the global ones? */

/* ---- answer.c: pure ---- */
/* The answer of GetJob from the server's view of a job (tasks, spec, origin, timeline). */
struct text_node *dlc_answer_job(struct arena *, const struct text_node *view);
/* The same tree with the keys of its maps in order. */
struct text_node *dlc_answer_sorted(struct arena *, const struct text_node *);
/* The API's word for a state of muster's; the state itself when it has none. */
const char *dlc_answer_status(const char *state);
/* One element of its Pods by PodId, "worker/0" or "worker-0"; NULL when there is none. */
const struct text_node *dlc_answer_pod(const struct text_node *job, const char *pod);
/* "2026-01-02T03:04:05.678Z" without the fraction; NULL stays NULL. In arena. */
const char *dlc_answer_time(struct arena *, const char *time);

/* ---- the verbs ---- */
int dlc_submit_run(struct dlc_call *, struct err *err);
int dlc_create_run(struct dlc_call *, struct err *err);
int dlc_get_job_run(struct dlc_call *, struct err *err);
int dlc_get_pod_run(struct dlc_call *, struct err *err);
int dlc_get_specs_run(struct dlc_call *, struct err *err);
int dlc_get_quota_run(struct dlc_call *, struct err *err);
int dlc_logs_run(struct dlc_call *, struct err *err);
int dlc_stop_run(struct dlc_call *, struct err *err);
int dlc_delete_run(struct dlc_call *, struct err *err);

/* ---- shared by verbs ---- */
/* The view of a job with the parts asked for ("?tasks=1"). */
struct text_node *dlc_view(struct dlc_call *, const char *job, const char *parts, struct err *err);
/* Prints "Job JOB is [Running]" at every change of state until the job has ended (quiet: nothing);
 * its last view. */
struct text_node *dlc_follow(struct dlc_call *, const char *job, bool quiet, struct err *err);
/* "| JobId | RequestId |" with its frame; cells row by row, the first row is the head. */
void dlc_table(struct arena *, const char *const *cells, size_t columns, size_t rows);
void dlc_json(const struct text_node *);
const char *dlc_request_id(struct arena *);

#endif
