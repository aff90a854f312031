/* What is answered of jobs, tasks, attempts and events: one struct an answer. What is
 * zero, NULL or false is not known, or was not asked for. All of it lies in the arena that it was
 * asked with, and says what was so then. */
#ifndef ANSWER_VIEWS_H
#define ANSWER_VIEWS_H

#include "base/pairs.h"
#include "inventory/away_view.h"
#include "job/ending.h"
#include "job/job.h"
#include "job/place.h"
#include "job/state.h"
#include "text/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_list {
    const uint32_t *at;
    size_t n;
};
struct port_list {
    const struct placed_port *at;
    size_t n;
};
struct attempt_view {
    uint64_t attempt, generation, pid, placed_ms, started_ms, ended_ms, log_end, memory_peak;
    enum attempt_state state;
    const char *node, *address;
    struct number_list gpus;
    const struct text_node *devices; /* what the driver says of each, while it lasts */
    struct port_list ports;
    /* since it ended */
    enum end_origin by;
    enum end_class class;
    const char *phrase, *text, *reason, *tail;
    bool has_exit_code, has_signal, has_foreign_code, oom;
    int64_t exit_code, signal, foreign_code;
};
struct attempt_list { /* oldest first */
    struct attempt_view *at;
    size_t n;
};
struct task_view {
    const char *name, *role, *word;
    uint64_t index, attempt; /* in its role; current or last, 0: none yet */
    enum task_state state;
    bool open_stdin, tty;
    struct attempt_list attempts;
};
struct task_list { /* at NULL: was not asked for */
    struct task_view *at;
    size_t n;
};
struct event_view {
    uint64_t seq, job, number, at_ms, steady_ms, attempt;
    bool has_task;
    uint32_t index;           /* of the task, in its role */
    const char *task, *role;  /* NULL: the job, or what it was, is gone */
    enum job_state job_state; /* of the job after it; JOB_NONE: it is no event of a job's state */
    const char *type, *state, *text;
    const struct text_node *body; /* what else is recorded, as it is recorded */
};
struct event_list { /* at NULL: was not asked for */
    struct event_view *at;
    size_t n;
};
struct job_view {
    uint64_t id, number, priority, generation, restarts, tasks, tasks_running, tasks_succeeded,
        tasks_failed, gpu_milli;
    enum job_state state;
    enum job_outcome outcome;
    const char *name, *owner, *project, *queue, *dialect, *title, *word, *reason;
    uint64_t submitted_ms, started_ms, ended_ms, not_before_ms, held_until_ms, expected_ms,
        promised_ms;
    uint64_t parent, array, members, at_once;
    bool has_index;
    int64_t index;
    const char *indices;
    const uint32_t *member_states; /* of an array: by state, JOB_STATE_N */
    const char *file, *work_dir, *code_dir, *output_dir, *python, *python_from;
    struct words first;  /* tasks that died first */
    const char *runtime; /* how its images are run; NULL: it names none, or is of before */
    struct pairs images; /* "sha256:..." that names of its images stand for */
    const struct text_node *early_images; /* fetched while it waits; NULL: none */
    struct away_list away;                /* machines that cannot be reached and have tasks of it */
    /* Documents, as they were kept: {path, what, hint, line, col}, texts, the canonical job. */
    const struct text_node *warnings, *differs, *spec;
    const char *origin;
    struct task_list task_list;
    struct event_list timeline;
};
struct job_list {
    struct job_view *at;
    size_t n;
    uint64_t next; /* id before which the next page begins; 0: there is none */
};

#endif
