/* The structs behind the answers (internal to ctl): filled by view.c, explain.c and submit.c,
 * printed by their tables. */
#ifndef CTL_VIEWS_H
#define CTL_VIEWS_H

#include "ctl/view.h"

#include <stdbool.h>
#include <stdint.h>

struct job_view {
    const char *id, *name, *owner, *project, *queue, *dialect, *title, *state, *word, *outcome,
        *reason;
    uint64_t number, priority, generation, restarts, tasks, tasks_running, tasks_succeeded,
        tasks_failed, gpu_milli;
    uint64_t submitted_ms, started_ms, ended_ms, not_before_ms, held_until_ms, expected_ms,
        promised_ms;
    uint64_t parent, array, members, at_once;
    bool has_index;
    int64_t index;
    const char *indices;
    struct text_node *member_states;
    const char *file, *work_dir, *code_dir, *output_dir, *python, *python_from;
    struct text_node *first, *warnings, *differs, *task_list, *spec, *timeline;
    const char *origin;
};
struct attempt_view {
    uint64_t attempt, generation, pid, placed_ms, started_ms, ended_ms, log_end, memory_peak;
    const char *state, *node, *address, *by, *class, *phrase, *text, *reason, *tail;
    bool has_exit_code, has_signal, has_foreign_code, oom;
    int64_t exit_code, signal, foreign_code;
    struct text_node *gpus, *devices, *ports;
};
struct task_view {
    const char *name, *role, *state, *word;
    uint64_t index, attempt;
    bool open_stdin, tty;
    struct text_node *attempts;
};
struct event_view {
    uint64_t seq, number, at_ms, steady_ms, attempt, index;
    bool has_task;
    const char *job, *type, *task, *role, *state, *text;
    struct text_node *body;
};
struct node_view_out {
    const char *name, *address, *host, *state, *gpu_type, *gpu_driver, *gpu_error;
    uint64_t cpu_milli, cpu_used_milli, memory, memory_used, disk, disk_used, gpus, gpu_used_milli,
        tasks;
    bool declared;
    uint64_t gpu_idle;
    struct text_node *labels, *custom, *gpu_free, *devices;
};
struct queue_view {
    const char *name, *kind, *parent, *strategy;
    uint64_t depth, weight, running, waiting;
    bool reclaim;
    struct text_node *guaranteed, *maximum, *user_maximum, *used, *borrowed, *states, *first,
        *users;
};
struct queue_user_view {
    const char *name;
    uint64_t usage, running, waiting;
    struct text_node *held, *cap;
};
struct submitted_view {
    const char *id, *name, *dialect, *title, *state, *reason, *work_dir, *code_dir, *applied,
        *indices;
    uint64_t number, roles, tasks, members, cpu_milli, memory, gpu_milli;
    bool existing, dry_run;
    struct text_node *warnings, *places, *explain;
};
struct explain_view {
    const char *job, *name, *state, *queue, *reason, *why, *resource, *role, *node, *how, *level,
        *domain;
    uint64_t array;
    bool has_index;
    int64_t index;
    uint64_t number, need, best, short_by, total, ahead, ahead_elsewhere, until_ms, expected_ms,
        not_before_ms, not_later_ms, n_ends;
    bool would_start, promised, at_least, ahead_known;
    struct text_node *ahead_jobs, *blocker, *unfit, *ends, *rank, *quota, *checks, *changes,
        *delays, *ways, *places, *estimates, *run_time;
};
struct stats_view {
    struct text_node *jobs;
    uint64_t live, waiting, nodes, nodes_up, cpu_milli, cpu_used_milli, memory, memory_used, gpus,
        gpu_used_milli;
    uint64_t turns, commits, commits_failed, facts, events, plans, submitted;
    uint64_t evicted, promised, late;
    struct text_node *plan_time;
    bool storage_full;
};

struct pod_view {
    const char *name, *namespace, *status, *ready, *controlled_by, *task, *node, *ip, *image,
        *command;
    uint64_t job, restarts, created_ms, started_ms, ended_ms;
    bool has_exit_code;
    int64_t exit_code;
    struct text_node *labels, *annotations, *requests, *events;
};
struct pod_event_view {
    const char *type, *reason, *from, *message;
    uint64_t count, first_ms, last_ms;
};

/* What memory and the row know of a job together (listed.c). */
struct ctl;
struct job_row;
struct ctl_listed;
void listed_fill(const struct ctl *, const struct job_row *stored, struct ctl_listed *);
/* A canonical text as a tree; may: with the values of variables. */
struct text_node *listed_spec(struct arena *, const char *text, bool may);

/* Adds one view as a member (key) or element (NULL) of parent; NULL parent makes a root. Trees in
 * it become part of the answer: they have to live as long, and are not changed any more. */
struct text_node *view_put(struct arena *, struct text_node *parent, const char *key,
                           enum view_kind kind, const void *view);

#endif
