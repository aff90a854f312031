/* Views as JSON: one table per kind of answer gives what is printed and its schema. Times come
 * twice: RFC 3339 under the name, Unix milliseconds under name_ms. What is not known yet is left
 * out. */
#ifndef API_VIEW_JSON_H
#define API_VIEW_JSON_H

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

/* Adds one view as a member (key) or element (NULL) of parent; NULL parent makes a root. Trees in
 * it become part of the answer: they have to live as long, and are not changed any more. */
struct text_node *view_put(struct arena *, struct text_node *parent, const char *key,
                           enum view_kind kind, const void *view);

struct nodes_view;
struct queues_view;
struct text_node *view_put_nodes(struct arena *, const struct nodes_view *); /* {nodes, free} */
/* {queues, total, warnings} */
struct text_node *view_put_queues(struct arena *, const struct queues_view *);

#endif
