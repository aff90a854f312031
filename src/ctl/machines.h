/* Machines that may be nodes of this server: who may connect as which. What a machine has is found
 * when it connects (nodes.h); whether it is connected knows the engine. */
#ifndef CTL_MACHINES_H
#define CTL_MACHINES_H

#include "base/pairs.h"
#include "ctl/ctl.h"

#define MACHINE_TOKEN 32u /* bytes */

struct machine {
    const char *name;
    const char *address; /* what its peers call it; "": as its host connects */
    struct pairs labels;
    const char *by; /* who added it */
    uint64_t at_ms; /* and when, wall clock */
    unsigned char token_hash[32];
};
struct machine_list {
    struct machine *at; /* by name */
    size_t n;
};
int ctl_machines(struct ctl *, struct arena *, struct machine_list *, struct err *);
/* 1: there is one of that name; 0; -1. */
int ctl_machine(struct ctl *, struct arena *, const char *name, struct machine *, struct err *);

/* Commands, answered at the end of the turn. One of that name gets what is said now. ERR_CONFLICT:
 * a node of that name is no machine. */
void ctl_machine_put(struct ctl *, const struct machine *, ctl_done *, void *arg);
/* ERR_NOT_FOUND; ERR_CONFLICT while tasks are there, unless force. */
void ctl_machine_remove(struct ctl *, const char *name, bool force, ctl_done *, void *arg);
/* Nothing lives there, somebody made sure of it: an entry of the audit record. ERR_NOT_FOUND. */
void ctl_machine_fence(struct ctl *, const char *name, const char *reason, ctl_done *, void *arg);

/* Said with why it cannot be reached, until it can be. */
void ctl_machine_note(struct ctl *, const char *name, const char *note);

#endif
