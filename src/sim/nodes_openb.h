/* The openb list of nodes: sn,cpu_milli,memory_mib,gpu,model. */
#ifndef SIM_NODES_OPENB_H
#define SIM_NODES_OPENB_H

#include "base/report.h"
#include "sched/cluster.h"

#include <stdbool.h>

bool nodes_openb_detect(const char *text, size_t len);
/* In the report's arena. 0; -1: every problem is in report. */
int nodes_openb_read(const char *text, size_t len, struct node_spec **nodes, size_t *n,
                     struct report *report);

#endif
