/* What a node check is to do: for the parts that do it (check_work.h). */
#ifndef LAUNCH_CHECK_TASK_H
#define LAUNCH_CHECK_TASK_H

#include "job/rendezvous.h"
#include "launch/check_grant.h"
#include "launch/check_why.h"

/* Faults for tests ($MUSTER_CHECK_FAULT): this node fails, the connection fails, it is slow,
 * it never ends. */
enum check_fault {
    CHECK_FAULT_NONE,
    CHECK_FAULT_SELF,
    CHECK_FAULT_PAIR,
    CHECK_FAULT_SLOW,
    CHECK_FAULT_HANG
};

struct check_task {
    const struct rdzv_check *order;
    int listener;         /* of check_port; used by index 0 */
    uint64_t come_ms;     /* for all partners to come */
    uint64_t patience_ms; /* for each of their answers */
    uint64_t probe_ms;    /* for the driver to say that it has the devices */
    uint64_t own_ms;      /* for torch's import and this node's own part of it */
    uint64_t agree_ms;    /* from when they meet until all have said what they can */
    uint64_t joint_ms;    /* for what all do together with torch */
    enum check_fault fault;
    const struct check_grant *grant; /* devices that must be used */
    bool torch;                      /* also without any */
    const char *python;              /* for the torch part; NULL: there is none */
};

#endif
