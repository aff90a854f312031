/* What the node check does, in order and blocking; for a child process (check.c). */
#ifndef LAUNCH_CHECK_WORK_H
#define LAUNCH_CHECK_WORK_H

#include "job/rendezvous.h"
#include "launch/check_grant.h"
#include "launch/check_why.h"

#define CHECK_FIGURES_MAX 512

struct check_answer { /* through a pipe, from the child to its parent */
    int32_t result;   /* enum rdzv_check_result */
    uint64_t took_us;
    char figures[CHECK_FIGURES_MAX], why[CHECK_WHY_MAX];
};

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
    uint64_t agree_ms;    /* from the meeting on, until all have said what they can */
    uint64_t joint_ms;    /* for what all do together with torch */
    enum check_fault fault;
    const struct check_grant *grant; /* devices that must be used */
    bool torch;                      /* also without any */
    const char *python;              /* for the torch part; NULL: there is none */
};
/* took_us: time of work that nodes are compared by: matmul, memory, loopback, partners; not the
 * disk (it differs between good nodes) and not waiting. */
void check_work(const struct check_task *, struct check_answer *);

#endif
