/* Tasks as the pods of the system that their job is written for. All of an answer lies in the arena
 * that it was asked with. */
#ifndef ANSWER_PODS_H
#define ANSWER_PODS_H

#include "base/pairs.h"
#include "job/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct ctl;
struct listed_job;
struct err;

struct pod_event_view {
    const char *type, *reason, *from, *message;
    uint64_t count, first_ms, last_ms;
};
struct pod_event_list {
    struct pod_event_view *at;
    size_t n;
};
struct pod_view {
    const char *name, *namespace, *controlled_by;
    const char *task, *role; /* NULL: the job's master, which is the server */
    uint32_t index;          /* in its role */
    enum task_state state;   /* TASK_STOPPED: it is being removed */
    const char *status;      /* the same in the words of its system */
    bool ready, has_exit_code;
    const char *node, *ip, *image;
    uint64_t job, restarts, created_ms, started_ms, ended_ms; /* job: its number */
    int64_t exit_code;
    /* NULL: not asked for */
    const char *command;
    const struct pairs *labels, *annotations, *requests;
    struct pod_event_list events;
};
struct pod_list {
    struct pod_view *at;
    size_t n, cap;
    bool whole; /* of a job: there are no others outside the span that was asked for */
};

/* The pods of jobs whose convention has some, of the newest job of each name. With a name only that
 * one, with labels and events; ERR_NOT_FOUND when there is none, ERR_INPUT when several namespaces
 * have it. */
struct pod_ask {
    const char *owner;            /* who asks; NULL: nobody, all is shown */
    const char *namespace, *name; /* NULL: all */
    const struct listed_job *job; /* of this one only, in any format; name then does not matter */
    const char *like; /* of a job: only pods that may be called so, found by the number at the end
                       * of it; NULL: all */
    uint32_t first, tasks;        /* of a job: so many of its tasks from that one; tasks 0: all */
    bool labels, details, events; /* of all: labels; requests and commands as well; events */
};
int answer_pods_view(struct ctl *, struct arena *, const struct pod_ask *, struct pod_list *,
                     struct err *);

#endif
