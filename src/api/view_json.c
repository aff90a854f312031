/* The tables of api/view_json.h (api/view_rows.h says how they are written). One printer and one
 * schema writer walk them, so answers and their description cannot drift apart. */
#include "api/view_json.h"

#include "answer/cluster_views.h"
#include "answer/pods.h"
#include "answer/views.h"
#include "api/explain_json.h"
#include "api/view_rows.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/results.h"
#include "explain/view.h"
#include "job/ids.h"

#include <string.h>

/* ---- members that are not printed as they are ---- */

static const char *outcome_word(unsigned outcome)
{
    return job_outcome_word((enum job_outcome)outcome);
}

static const char *task_word(unsigned state)
{
    return task_state_word((enum task_state)state);
}

static const char *attempt_word(unsigned state)
{
    return attempt_state_word((enum attempt_state)state);
}

static const char *by_word(unsigned by)
{
    return end_origin_word((enum end_origin)by);
}

static const char *class_word(unsigned class)
{
    return end_class_word((enum end_class) class);
}

static void put_numbers(struct arena *arena, struct text_node *map, const char *name,
                        const void *member)
{
    const struct number_list *list = member;
    struct text_node *out = list->n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < list->n; i++)
        text_int(arena, out, NULL, list->at[i]);
}

static void put_ports(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    const struct port_list *list = member;
    struct text_node *out = list->n ? text_map(arena, map, name) : NULL;
    for (size_t i = 0; i < list->n; i++) {
        struct text_node *numbers = text_list(arena, out, list->at[i].label);
        for (uint32_t k = 0; k < list->at[i].count; k++)
            text_int(arena, numbers, NULL, list->at[i].numbers[k]);
    }
}

static void put_states(struct arena *arena, struct text_node *map, const char *name,
                       const void *member)
{
    const uint32_t *counts = *(const uint32_t *const *)member;
    struct text_node *out = counts ? text_map(arena, map, name) : NULL;
    for (int state = JOB_NONE + 1; out && state < JOB_STATE_N; state++)
        if (counts[state])
            text_int(arena, out, job_state_word((enum job_state)state), counts[state]);
}

static void put_pairs(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    const struct pairs *pairs = *(const struct pairs *const *)member;
    if (pairs)
        text_pairs(arena, text_map(arena, map, name), pairs);
}

static void put_images(struct arena *arena, struct text_node *map, const char *name,
                       const void *member)
{
    const struct pairs *images = member;
    if (images->n)
        text_pairs(arena, text_map(arena, map, name), images);
}

static void put_ready(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    text_str(arena, map, name, *(const bool *)member ? "1/1" : "0/1");
}

static void put_state(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    text_str(arena, map, name, node_state_word(*(const enum node_state *)member));
}

static void put_parts(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    const struct gpu_parts *parts = member;
    struct text_node *list = parts->n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < parts->n; i++)
        text_int(arena, list, NULL, (int64_t)parts->at[i]);
}

static void put_custom(struct arena *arena, struct text_node *map, const char *name,
                       const void *member)
{
    const struct amounts *amounts = member;
    struct text_node *out = amounts->n ? text_map(arena, map, name) : NULL;
    for (size_t i = 0; i < amounts->n; i++)
        text_int(arena, out, amounts->at[i].name, (int64_t)amounts->at[i].milli);
}

static void put_counts(struct arena *arena, struct text_node *map, const char *name,
                       const uint64_t *counts, bool ended)
{
    struct text_node *out = text_map(arena, map, name);
    for (int state = JOB_NONE + 1; state < JOB_STATE_N; state++)
        if (ended || !job_state_final((enum job_state)state))
            text_int(arena, out, job_state_word((enum job_state)state), (int64_t)counts[state]);
}

static void put_live(struct arena *arena, struct text_node *map, const char *name,
                     const void *member)
{
    put_counts(arena, map, name, member, false);
}

static void put_jobs(struct arena *arena, struct text_node *map, const char *name,
                     const void *member)
{
    put_counts(arena, map, name, member, true);
}

static void put_first(struct arena *arena, struct text_node *map, const char *name,
                      const void *member)
{
    const struct queue_head *first = *(const struct queue_head *const *)member;
    char text[FMT_MAX];
    if (!first)
        return;
    struct text_node *out = text_map(arena, map, name);
    if (first->number)
        text_int(arena, out, "number", (int64_t)first->number);
    text_str(arena, out, "name", first->name);
    if (first->owner)
        text_str(arena, out, "owner", first->owner);
    text_int(arena, out, "priority", (int64_t)first->priority);
    text_str(arena, out, "since", fmt_time(text, first->since_ms));
    text_int(arena, out, "since_ms", (int64_t)first->since_ms);
    if (first->owner)
        text_str(arena, out, "reason", first->reason);
}

static void put_plan_time(struct arena *arena, struct text_node *map, const char *name,
                          const void *member)
{
    const struct plan_times *times = member;
    struct text_node *out = text_map(arena, map, name);
    text_int(arena, out, "last_us", (int64_t)times->last_us);
    text_int(arena, out, "sum_us", (int64_t)times->sum_us);
    text_int(arena, out, "count", (int64_t)times->count);
    struct text_node *bins = text_list(arena, out, "bins");
    for (size_t i = 0; i < times->n; i++) {
        struct text_node *one = text_map(arena, bins, NULL);
        text_int(arena, one, "le_us", (int64_t)times->bounds[i]);
        text_int(arena, one, "count", (int64_t)times->bins[i]);
    }
}

static void put_explained(struct arena *arena, struct text_node *map, const char *name,
                          const void *member)
{
    const struct explain_view *view = *(const struct explain_view *const *)member;
    if (view)
        view_put(arena, map, name, VIEW_EXPLAIN, view);
}

/* ---- the tables ---- */

static const struct view_row job_rows[] = {
    ROW(job_view, id, ID, 0, "13 characters, for ever"),
    ROW(job_view, number, COUNT, 0, "what people type"),
    ROW(job_view, name, TEXT, 0, "the owner's name for it"),
    ROW(job_view, owner, TEXT, 0, "who submitted it"),
    ROW(job_view, project, TEXT, 0, "workspace"),
    ROW(job_view, queue, TEXT, 0, "virtual cluster"),
    ROW(job_view, dialect, TEXT, 0, "format it came in"),
    ROW(job_view, title, TEXT, 0, "the format's name for people"),
    ROW(job_view, priority, COUNT, 0, "1 to 9, 9 first"),
    WORD_OF(job_view, state, view_job_word,
            "suspended queued starting running restarting stopping succeeded failed stopped"),
    ROW(job_view, word, TEXT, 0, "the state in the words of its dialect"),
    WORD_OF(job_view, outcome, outcome_word, "what it becomes once its tasks are gone"),
    ROW(job_view, reason, TEXT, 0, "one sentence: why it waits, ends, ended"),
    ROW(job_view, generation, COUNT, ALWAYS, "whole-job starts so far"),
    ROW(job_view, restarts, COUNT, ALWAYS, "whole-job restarts so far"),
    ROW(job_view, parent, COUNT, 0, "number of the job whose program submitted it"),
    ROW(job_view, array, COUNT, 0, "number of its array, of a member"),
    GIVEN(job_view, index, "of a member, in its array"),
    ROW(job_view, members, COUNT, 0, "of an array: jobs that were submitted with it"),
    ROW(job_view, indices, TEXT, 0, "of its members: 0-99, 1-9:2"),
    ROW(job_view, at_once, COUNT, 0, "of an array: members that run at a time; absent: no limit"),
    PUT_BY(job_view, member_states, put_states, "of an array: state: members in it"),
    ROW(job_view, tasks, COUNT, ALWAYS, "tasks in all"),
    ROW(job_view, tasks_running, COUNT, ALWAYS, "tasks that run now"),
    ROW(job_view, tasks_succeeded, COUNT, ALWAYS, "tasks that ended well"),
    ROW(job_view, tasks_failed, COUNT, ALWAYS, "tasks that failed"),
    ROW(job_view, gpu_milli, COUNT, ALWAYS, "devices asked for in all, times 1000"),
    STAMP(job_view, submitted, "when it was accepted"),
    STAMP(job_view, started, "when all of its tasks last began to run"),
    STAMP(job_view, ended, "when its resources were free again"),
    STAMP(job_view, not_before, "does not start earlier (back-off)"),
    STAMP(job_view, held_until, "its end is decided, and its resources are kept until then"),
    STAMP(job_view, expected, "it waits, and starts by then as far as is known now"),
    STAMP(job_view, promised, "it waits, and was first told to start by then"),
    ROW(job_view, file, TEXT, 0, "name of the submitted file"),
    ROW(job_view, work_dir, TEXT, 0, "where tasks start; absent: a fresh directory for each"),
    ROW(job_view, code_dir, TEXT, 0, "directory staged into the working directory"),
    ROW(job_view, output_dir, TEXT, 0, "where results go"),
    ROW(job_view, python, TEXT, 0, "interpreter that its tasks' Python environment is made from"),
    ROW(job_view, python_from, TEXT, 0,
        "who named that: option VIRTUAL_ENV CONDA_PREFIX PATH (of its submitter) job server"),
    ROW(job_view, first, WORDS, 0,
        "of a job that failed: the task that died first, before the others; several when nothing "
        "tells which of them it was"),
    ROW(job_view, runtime, TEXT, 0,
        "of one that names an image: host, without it, or what runs it there; in lists while it "
        "lives"),
    PUT_BY(job_view, images, put_images,
           "name of an image: the digest that it stands for in this job"),
    NESTED(job_view, early_images, NULL, EARLY_IMAGES_DOC),
    PUT_BY(job_view, away, explain_put_away, AWAY_DOC),
    NESTED(job_view, warnings, NULL, "said at submission"),
    NESTED(job_view, differs, NULL, "what the command line changed of the file"),
    LIST_OF(job_view, task_list, VIEW_TASK, "with parts=tasks"),
    NESTED(job_view, spec, NULL, "the canonical job, with parts=spec"),
    ROW(job_view, origin, TEXT, 0,
        "the text as sent (secrets masked for others), with parts=origin"),
    LIST_OF(job_view, timeline, VIEW_EVENT, "with parts=timeline"),
    END
};
static const struct view_row task_rows[] = {
    ROW(task_view, name, TEXT, 0, "role/index"),
    ROW(task_view, role, TEXT, 0, ""),
    ROW(task_view, index, COUNT, ALWAYS, "from 0 in its role"),
    WORD_OF(task_view, state, task_word, "waiting starting running succeeded failed stopped"),
    ROW(task_view, word, TEXT, 0, "the state in the words of its dialect"),
    { .name = "stdin",
      .doc = "it keeps an open stdin, to attach to",
      .shape = FLAG,
      .at = offsetof(struct task_view, open_stdin) },
    ROW(task_view, tty, FLAG, 0, "on a terminal of its own"),
    ROW(task_view, attempt, COUNT, ALWAYS, "current or last; 0: none yet"),
    LIST_OF(task_view, attempts, VIEW_ATTEMPT, "oldest first"),
    END
};
static const struct view_row attempt_rows[] = {
    ROW(attempt_view, attempt, COUNT, 0, "from 1"),
    ROW(attempt_view, generation, COUNT, 0, "whole-job start it belongs to"),
    WORD_OF(attempt_view, state, attempt_word, "starting running succeeded failed stopped lost"),
    ROW(attempt_view, node, TEXT, 0, ""),
    ROW(attempt_view, address, TEXT, 0, "address its peers use"),
    PUT_BY(attempt_view, gpus, put_numbers, "device numbers"),
    NESTED(attempt_view, devices, NULL,
           "while it lasts: what the driver says of each, as of nodes"),
    PUT_BY(attempt_view, ports, put_ports, "label: numbers"),
    ROW(attempt_view, pid, COUNT, 0, ""),
    STAMP(attempt_view, placed, "when it was given its node"),
    STAMP(attempt_view, started, "when its program began"),
    STAMP(attempt_view, ended, ""),
    GIVEN(attempt_view, exit_code, "of its program"),
    GIVEN(attempt_view, signal, "that ended it"),
    ROW(attempt_view, oom, FLAG, 0, "killed for want of memory"),
    WORD_OF(attempt_view, by, by_word,
            "itself kernel stranger policy user limit platform conflict"),
    WORD_OF(attempt_view, class, class_word,
            "success user unknown platform conflict stopped: what retry goes by"),
    GIVEN(attempt_view, foreign_code, "exit code in the dialect's own numbers"),
    ROW(attempt_view, phrase, TEXT, 0, "the dialect's name for this end"),
    ROW(attempt_view, text, TEXT, 0, "one sentence for people"),
    ROW(attempt_view, reason, TEXT, 0, "what was seen"),
    ROW(attempt_view, memory_peak, COUNT, 0, "bytes"),
    ROW(attempt_view, log_end, COUNT, ALWAYS, "offset of the end of its log"),
    ROW(attempt_view, tail, TEXT, 0, "last lines of its output"),
    END
};
static const struct view_row event_rows[] = {
    ROW(event_view, seq, COUNT, 0, "server-wide, ascending"),
    ROW(event_view, job, ID, 0, "id"),
    ROW(event_view, number, COUNT, 0, "of the job"),
    STAMP(event_view, at, "by the wall clock"),
    ROW(event_view, steady_ms, COUNT, 0,
        "by the clock that limits and waits go by, which nobody sets: for what lies between two"),
    ROW(event_view, type, TEXT, 0, "submitted allocated started ... task.started task.failed ..."),
    ROW(event_view, state, TEXT, 0, "of the job or task after it"),
    ROW(event_view, text, TEXT, 0, "one sentence"),
    ROW(event_view, task, TEXT, 0, "role/index"),
    ROW(event_view, role, TEXT, 0, ""),
    ROW(event_view, attempt, COUNT, 0, ""),
    NESTED(event_view, body, NULL, "what else is known"),
    END
};
static const struct view_row node_rows[] = {
    ROW(node_answer, name, TEXT, 0, ""),
    ROW(node_answer, address, TEXT, 0, ""),
    ROW(node_answer, host, TEXT, 0, "machine it is on"),
    { .name = "state",
      .doc = "up down drained",
      .shape = PUT,
      .flags = A_TEXT,
      .at = offsetof(struct node_answer, state),
      .put = put_state },
    ROW(node_answer, why, TEXT, 0, "it is down"),
    STAMP(node_answer, since, "went down at that time"),
    ROW(node_answer, engine, TEXT, 0, "which has it: local, machines, slurm"),
    ROW(node_answer, lasts_ms, COUNT, 0,
        "jobs there may last so long, because its allocation ends"),
    ROW(node_answer, cpu_milli, COUNT, ALWAYS, ""),
    ROW(node_answer, cpu_used_milli, COUNT, ALWAYS, ""),
    ROW(node_answer, memory, COUNT, ALWAYS, "bytes"),
    ROW(node_answer, memory_used, COUNT, ALWAYS, "bytes"),
    ROW(node_answer, disk, COUNT, ALWAYS, "bytes"),
    ROW(node_answer, disk_used, COUNT, ALWAYS, "bytes"),
    ROW(node_answer, gpus, COUNT, ALWAYS, "devices"),
    ROW(node_answer, gpu_used_milli, COUNT, ALWAYS, ""),
    ROW(node_answer, gpu_idle, COUNT, ALWAYS, "devices that nobody uses"),
    PUT_BY(node_answer, gpu_free, put_parts, "thousandths that are free of each device"),
    ROW(node_answer, gpu_type, TEXT, 0, "model of its devices; several: with ` + ` in between"),
    ROW(node_answer, gpu_driver, TEXT, 0, "version of their driver"),
    ROW(node_answer, gpu_error, TEXT, 0, "why their driver cannot be asked"),
    NESTED(
        node_answer, devices, NULL,
        "what the driver says of each device of the machine, offered or not: {number, slot: its "
        "position in gpu_free, minor, model, memory, uuid, pci, error; closed: why it is not given "
        "out, and the same without the device's name, closed_is or closed_says; and of the last sample memory_used, utilisation (percent), temperature (Celsius), "
        "milliwatts, ecc_errors, processes}; absent: declared"),
    NESTED(
        node_answer, images, NULL,
        "where its machine keeps images: {dir, images: how many, bytes: of them all, limit: of "
        "bytes, free: bytes on its disk; accounts: so many have each a store of their own in dir, "
        "with that limit}; of another machine than the server's as its host said last, absent: "
        "none yet, it cannot be reached, or its host is of a version that does not say"),
    ROW(node_answer, tasks, COUNT, ALWAYS, "tasks placed here"),
    ROW(node_answer, declared, FLAG, ALWAYS, "as the configuration says, not measured"),
    PUT_BY(node_answer, labels, view_put_pairs, ""),
    PUT_BY(node_answer, custom, put_custom, "name: milli"),
    END
};
static const struct view_row queue_rows[] = {
    ROW(queue_view, name, TEXT, 0, ""),
    ROW(queue_view, kind, TEXT, 0, "quota virtual_cluster"),
    ROW(queue_view, parent, TEXT, 0, "absent: the cluster"),
    ROW(queue_view, depth, COUNT, ALWAYS, "queues above it"),
    ROW(queue_view, strategy, TEXT, 0, "backfill fifo round_robin balance intelligent"),
    ROW(queue_view, weight, COUNT, ALWAYS, "among its siblings, of what is lent"),
    ROW(queue_view, reclaim, FLAG, ALWAYS, "takes back what others borrowed of it"),
    PUT_BY(queue_view, guaranteed, view_put_guarantee,
           "{cpu_milli, memory, gpu_milli}; absent: nothing"),
    PUT_BY(queue_view, maximum, view_put_bounds, "the same; what is absent has no bound here"),
    PUT_BY(queue_view, user_maximum, view_put_bounds, "of one user in this queue"),
    PUT_BY(queue_view, used, view_put_amounts, "by its jobs and those of the queues below"),
    PUT_BY(queue_view, borrowed, view_put_amounts,
           "of that, what no queue above guarantees either"),
    ROW(queue_view, running, COUNT, ALWAYS, "its own jobs that hold something"),
    ROW(queue_view, waiting, COUNT, ALWAYS, "its own jobs that wait"),
    PUT_BY(queue_view, states, put_live, "its own live jobs: state: number"),
    PUT_BY(
        queue_view, first, put_first,
        "the first that waits: {number, name, owner, since, reason}; number, owner and reason are "
        "left out of a job that the reader may not read"),
    LIST_OF(queue_view, users, VIEW_QUEUE_USER, "of one queue"),
    END
};
static const struct view_row queue_user_rows[] = {
    ROW(queue_user_view, name, TEXT, 0,
        "other users: together, those of whose jobs there the reader may read none"),
    ROW(queue_user_view, usage, COUNT, ALWAYS,
        "millionths of the cluster times hours, halved every half-life"),
    PUT_BY(queue_user_view, held, view_put_amounts, "{cpu_milli, memory, gpu_milli}"),
    PUT_BY(queue_user_view, cap, view_put_bounds,
           "the most of one user; what is absent has no bound"),
    ROW(queue_user_view, running, COUNT, ALWAYS, "jobs"),
    ROW(queue_user_view, waiting, COUNT, ALWAYS, "jobs"),
    END
};
static const struct view_row submitted_rows[] = {
    ROW(submitted_view, id, ID, 0, ""),
    ROW(submitted_view, number, COUNT, 0, ""),
    ROW(submitted_view, name, TEXT, 0, ""),
    ROW(submitted_view, dialect, TEXT, 0, "format it was read as"),
    ROW(submitted_view, title, TEXT, 0, "the format's name for people"),
    WORD_OF(submitted_view, state, view_job_word,
            "queued or suspended; with dry_run starting or queued"),
    ROW(submitted_view, reason, TEXT, 0,
        "why it would wait (dry_run); of a job that was there (apply)"),
    ROW(submitted_view, applied, TEXT, 0, "with apply: created configured unchanged"),
    ROW(submitted_view, roles, COUNT, 0, ""),
    ROW(submitted_view, tasks, COUNT, 0, "in all"),
    ROW(submitted_view, members, COUNT, 0, "of an array"),
    ROW(submitted_view, indices, TEXT, 0, "of its members"),
    ROW(submitted_view, cpu_milli, COUNT, ALWAYS, "in all"),
    ROW(submitted_view, memory, COUNT, ALWAYS, "bytes in all"),
    ROW(submitted_view, gpu_milli, COUNT, ALWAYS, "in all"),
    ROW(submitted_view, work_dir, TEXT, 0, "where tasks start"),
    ROW(submitted_view, code_dir, TEXT, 0, ""),
    ROW(submitted_view, existing, FLAG, 0, "answered before under the same idempotency key"),
    ROW(submitted_view, dry_run, FLAG, 0, "nothing was stored"),
    NESTED(submitted_view, warnings, NULL, "{path, what, hint, line, col}"),
    PUT_BY(submitted_view, places, view_put_pairs, "dry_run: task: node"),
    PUT_BY(submitted_view, explain, put_explained, "dry_run: of the job as it would wait"),
    END
};
static const struct view_row stats_rows[] = {
    PUT_BY(stats_view, jobs, put_jobs, "state: number"),
    ROW(stats_view, live, COUNT, ALWAYS, "jobs that have not ended"),
    ROW(stats_view, waiting, COUNT, ALWAYS, ""),
    ROW(stats_view, nodes, COUNT, ALWAYS, ""),
    ROW(stats_view, nodes_up, COUNT, ALWAYS, ""),
    ROW(stats_view, cpu_milli, COUNT, ALWAYS, ""),
    ROW(stats_view, cpu_used_milli, COUNT, ALWAYS, ""),
    ROW(stats_view, memory, COUNT, ALWAYS, "bytes"),
    ROW(stats_view, memory_used, COUNT, ALWAYS, "bytes"),
    ROW(stats_view, gpus, COUNT, ALWAYS, "devices"),
    ROW(stats_view, gpu_used_milli, COUNT, ALWAYS, ""),
    ROW(stats_view, turns, COUNT, ALWAYS, "since the server started, as the rest"),
    ROW(stats_view, commits, COUNT, ALWAYS, ""),
    ROW(stats_view, commits_failed, COUNT, ALWAYS, ""),
    ROW(stats_view, facts, COUNT, ALWAYS, "from agents"),
    ROW(stats_view, events, COUNT, ALWAYS, "last event's number"),
    ROW(stats_view, plans, COUNT, ALWAYS, "scheduling passes"),
    PUT_BY(stats_view, plan_time, put_plan_time,
           "{last_us, sum_us, count, bins: [{le_us, count}]}"),
    ROW(stats_view, submitted, COUNT, ALWAYS, "jobs accepted"),
    ROW(stats_view, evicted, COUNT, ALWAYS, "jobs ended for others"),
    ROW(stats_view, promised, COUNT, ALWAYS, "jobs told when they start"),
    ROW(stats_view, late, COUNT, ALWAYS, "starts after the time first told"),
    ROW(stats_view, storage_full, FLAG, ALWAYS,
        "submissions are refused: the records could not be written"),
    END
};

static const struct view_row pod_rows[] = {
    ROW(pod_view, name, TEXT, 0, ""),
    ROW(pod_view, namespace, TEXT, 0, "project of its job"),
    ROW(pod_view, job, COUNT, 0, "number of its job"),
    ROW(pod_view, task, TEXT, 0, "role/index; absent: the job's master, which is the server"),
    ROW(pod_view, controlled_by, TEXT, 0, "kind/name of its job"),
    { .name = "ready",
      .doc = "containers that run, of all: 1/1",
      .shape = PUT,
      .flags = A_TEXT,
      .at = offsetof(struct pod_view, ready),
      .put = put_ready },
    ROW(pod_view, status, TEXT, 0, "Pending ContainerCreating Running Completed Error ..."),
    ROW(pod_view, restarts, COUNT, ALWAYS, "attempts before this one"),
    STAMP(pod_view, created, ""),
    STAMP(pod_view, started, "when its program began"),
    STAMP(pod_view, ended, ""),
    ROW(pod_view, node, TEXT, 0, ""),
    ROW(pod_view, ip, TEXT, 0, ""),
    ROW(pod_view, image, TEXT, 0, ""),
    ROW(pod_view, command, TEXT, 0, "of one pod"),
    GIVEN(pod_view, exit_code, ""),
    PUT_BY(pod_view, labels, put_pairs, "of one pod"),
    PUT_BY(pod_view, annotations, put_pairs, "of one pod"),
    PUT_BY(pod_view, requests, put_pairs, "of one pod: name: amount"),
    LIST_OF(pod_view, events, VIEW_POD_EVENT, "of one pod"),
    END
};
static const struct view_row pod_event_rows[] = {
    ROW(pod_event_view, type, TEXT, 0, "Normal Warning"),
    ROW(pod_event_view, reason, TEXT, 0, "FailedScheduling Scheduled Started ..."),
    ROW(pod_event_view, count, COUNT, 0, "times it came, folded into one"),
    STAMP(pod_event_view, first, ""),
    STAMP(pod_event_view, last, ""),
    ROW(pod_event_view, from, TEXT, 0, ""),
    ROW(pod_event_view, message, TEXT, 0, ""),
    END
};

static const struct {
    const char *name;
    const struct view_row *rows;
    size_t size; /* of one in a list */
} views[VIEW_N] = {
    [VIEW_JOB] = { "Job", job_rows, sizeof(struct job_view) },
    [VIEW_TASK] = { "Task", task_rows, sizeof(struct task_view) },
    [VIEW_ATTEMPT] = { "Attempt", attempt_rows, sizeof(struct attempt_view) },
    [VIEW_EVENT] = { "Event", event_rows, sizeof(struct event_view) },
    [VIEW_NODE] = { .name = "Node", .rows = node_rows },
    [VIEW_SUBMITTED] = { .name = "Submitted", .rows = submitted_rows },
    [VIEW_EXPLAIN] = { .name = "Explanation", .rows = explain_rows },
    [VIEW_STATS] = { .name = "Stats", .rows = stats_rows },
    [VIEW_POD] = { .name = "Pod", .rows = pod_rows },
    [VIEW_QUEUE] = { .name = "Queue", .rows = queue_rows },
    [VIEW_QUEUE_USER] = { "QueueUser", queue_user_rows, sizeof(struct queue_user_view) },
    [VIEW_POD_EVENT] = { "PodEvent", pod_event_rows, sizeof(struct pod_event_view) },
};

const char *view_name(enum view_kind kind)
{
    return views[kind].name;
}

static void put_time(struct arena *arena, struct text_node *map, const char *name, uint64_t ms)
{
    if (ms)
        view_put_date(arena, map, name, ms);
}

static void put_id(struct arena *arena, struct text_node *map, const char *name, uint64_t id)
{
    char text[JOB_ID_TEXT];
    if (id)
        text_str(arena, map, name, job_id_format(text, id));
}

static void put_words(struct arena *arena, struct text_node *map, const char *name,
                      const struct words *words)
{
    struct text_node *list = words->n ? text_list(arena, map, name) : NULL;
    for (size_t i = 0; i < words->n; i++)
        text_str(arena, list, NULL, words->at[i]);
}

/* Every list of views is a pointer to the first of them and their number. */
static void put_list(struct arena *arena, struct text_node *map, const struct view_row *row,
                     const void *member)
{
    struct {
        const char *at;
        size_t n;
    } list;
    memcpy(&list, member, sizeof list);
    struct text_node *out = list.at ? text_list(arena, map, row->name) : NULL;
    for (size_t i = 0; out && i < list.n; i++)
        view_put(arena, out, NULL, row->kind, list.at + i * views[row->kind].size);
}

/* Members that are more than one value. */
static void put_part(struct arena *arena, struct text_node *map, const struct view_row *row,
                     const void *at)
{
    if (row->shape == WORDS)
        put_words(arena, map, row->name, at);
    else if (row->shape == PUT)
        row->put(arena, map, row->name, at);
    else if (row->shape == LIST)
        put_list(arena, map, row, at);
    else if (*(struct text_node *const *)at)
        text_share(arena, map, row->name, *(struct text_node *const *)at);
}

static void put_row(struct arena *arena, struct text_node *map, const struct view_row *row,
                    const char *base)
{
    const void *at = base + row->at;
    bool always = row->flags & ALWAYS;
    switch (row->shape) {
    case TEXT: {
        const char *text = *(const char *const *)at;
        if (text && *text)
            text_str(arena, map, row->name, text);
        break;
    }
    case COUNT: {
        uint64_t n = *(const uint64_t *)at;
        if (n || always)
            text_int(arena, map, row->name, (int64_t)n);
        break;
    }
    case SIGNED:
        if (*(const bool *)(base + row->given))
            text_int(arena, map, row->name, *(const int64_t *)at);
        break;
    case FLAG:
        if (*(const bool *)at || always)
            text_bool(arena, map, row->name, *(const bool *)at);
        break;
    case TIME: put_time(arena, map, row->name, *(const uint64_t *)at); break;
    case WORD:
        if (*(const unsigned *)at)
            text_str(arena, map, row->name, row->word(*(const unsigned *)at));
        break;
    case ID: put_id(arena, map, row->name, *(const uint64_t *)at); break;
    default: put_part(arena, map, row, at); break;
    }
}

struct text_node *view_put(struct arena *arena, struct text_node *parent, const char *key,
                           enum view_kind kind, const void *view)
{
    struct text_node *map = text_map(arena, parent, key);
    for (const struct view_row *row = views[kind].rows; row->name; row++)
        put_row(arena, map, row, view);
    return map;
}

struct text_node *view_put_nodes(struct arena *arena, const struct nodes_view *view)
{
    struct text_node *root = text_map(arena, NULL, NULL), *list = text_list(arena, root, "nodes");
    const struct free_sum *sum = &view->free;
    for (size_t i = 0; i < view->nodes.n; i++)
        view_put(arena, list, NULL, VIEW_NODE, &view->nodes.at[i]);
    struct text_node *map = text_map(arena, root, "free");
    text_int(arena, map, "cpu_milli", (int64_t)sum->cpu_milli);
    text_int(arena, map, "memory", (int64_t)sum->memory);
    text_int(arena, map, "gpu_milli", (int64_t)sum->gpu_milli);
    text_int(arena, map, "idle_gpus", (int64_t)sum->idle);
    struct text_node *blocks = text_map(arena, map, "blocks");
    for (size_t b = 0; b < FREE_BLOCKS; b++)
        text_int(arena, blocks, arena_printf(arena, "%u", free_block_sizes[b]),
                 (int64_t)sum->blocks[b]);
    return root;
}

struct text_node *view_put_queues(struct arena *arena, const struct queues_view *view)
{
    struct text_node *root = text_map(arena, NULL, NULL), *list = text_list(arena, root, "queues");
    for (size_t i = 0; i < view->queues.n; i++)
        view_put(arena, list, NULL, VIEW_QUEUE, &view->queues.at[i]);
    view_put_amounts(arena, root, "total", &view->total);
    put_words(arena, root, "warnings", &view->warnings);
    return root;
}

static const char *const shape_words[SHAPE_N] = {
    [TEXT] = "string", [COUNT] = "integer", [SIGNED] = "integer", [FLAG] = "boolean",
    [TIME] = "string", [WORD] = "string",   [ID] = "string"
};

static void schema_row(struct arena *arena, struct text_node *properties,
                       const struct view_row *row)
{
    struct text_node *one = text_map(arena, properties, row->name);
    const char *of = row->shape == LIST ? views[row->kind].name : row->of;
    if (shape_words[row->shape] || row->flags & A_TEXT)
        text_str(arena, one, "type", row->flags & A_TEXT ? "string" : shape_words[row->shape]);
    if (row->shape == TIME) {
        text_str(arena, one, "format", "date-time");
        struct text_node *ms = text_map(arena, properties, arena_printf(arena, "%s_ms", row->name));
        text_str(arena, ms, "type", "integer");
        text_str(arena, ms, "description", "the same in Unix milliseconds");
    }
    if (of) {
        text_str(arena, one, "type", "array");
        struct text_node *items = text_map(arena, one, "items");
        text_str(arena, items, "$ref", arena_printf(arena, "#/components/schemas/%s", of));
    }
    if (*row->doc)
        text_str(arena, one, "description", row->doc);
}

struct text_node *view_schema(struct arena *arena, enum view_kind kind)
{
    struct text_node *root = text_map(arena, NULL, NULL);
    text_str(arena, root, "type", "object");
    struct text_node *properties = text_map(arena, root, "properties");
    for (const struct view_row *row = views[kind].rows; row->name; row++)
        schema_row(arena, properties, row);
    return root;
}
