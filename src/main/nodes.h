/* Virtual nodes from '4x16cpu,64Gi,4gpu', from the configuration file's list, or this machine as it
 * is. */
#ifndef MAIN_NODES_H
#define MAIN_NODES_H

#include "sched/cluster.h"
#include "text/tree.h"

#include "base/err.h"

#define NODES_MAX 60000u /* loopback addresses, nearly */

struct node_list {
    struct node_spec *at;
    size_t n, cap;
};
/* Groups apart by ';', items by ',': [Nx]16cpu  64Gi (memory)  4gpu[:TYPE]  disk=1Ti  name=big
 * custom:2  label=value. Texts are in arena. All nodes are on the machine `host`; each has a
 * loopback address of its own. */
int nodes_parse(struct arena *, const char *text, const char *host, struct node_list *,
                struct err *);
/* A list of maps {name, count, cpus, memory, disk, gpus: N | {count, type}, labels, custom}. */
int nodes_read(struct arena *, const struct text_node *list, const char *host, struct node_list *,
               struct err *);
/* The address of the i-th virtual node. */
const char *nodes_address(struct arena *, size_t i);

#endif
