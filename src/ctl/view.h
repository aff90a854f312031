/* What the core tells about jobs, tasks, attempts, events and nodes: one table per kind of answer
 * gives the JSON and its schema. Times come twice: RFC 3339 under the name, Unix milliseconds under
 * name_ms. What is not known yet is left out. */
#ifndef CTL_VIEW_H
#define CTL_VIEW_H

#include "text/tree.h"

enum view_kind {
    VIEW_JOB,
    VIEW_TASK,
    VIEW_ATTEMPT,
    VIEW_EVENT,
    VIEW_NODE,
    VIEW_SUBMITTED,
    VIEW_EXPLAIN,
    VIEW_STATS,
    VIEW_POD,
    VIEW_POD_EVENT,
    VIEW_QUEUE,
    VIEW_QUEUE_USER,
    VIEW_N
};

/* "Job", "Task" ...: the name of the schema. */
const char *view_name(enum view_kind kind);
/* JSON Schema of one answer; nested views are {"$ref": "#/components/schemas/NAME"}. */
struct text_node *view_schema(struct arena *, enum view_kind kind);

/* Shapes that are not one view: list: {jobs: [Job], next: id text or absent}; nodes: {nodes:
 * [Node]}; events: [Event]. */

#endif
