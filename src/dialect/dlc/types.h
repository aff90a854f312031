/* The kinds of jobs that DLC has: their names, roles and ports. Internal to this folder. */
#ifndef DIALECT_DLC_TYPES_H
#define DIALECT_DLC_TYPES_H

#include "job/job.h"

#define DLC_PYTORCH_PORT 23456u
#define DLC_LABEL_MASTER "master" /* labels of ports */
#define DLC_LABEL_TF     "tf"
#define DLC_LABEL_CUSTOM "custom"
#define DLC_SHEBANG      "#!/bin/bash\n" /* in front of a SlurmJob's command, in its script */

enum dlc_type_flags {
    DLC_PROMOTES = 1,  /* without a Master the first Worker is the master */
    DLC_ANY_ROLE = 2,  /* roles have any name */
    DLC_EVERY_PORT = 4 /* every task has the port, not only the first */
};
enum dlc_role_flags {
    DLC_ROLE_ONE = 1,     /* at most one pod */
    DLC_ROLE_SERVES = 2,  /* the job's end does not wait for it */
    DLC_ROLE_DECIDES = 4, /* its success is the job's */
    DLC_ROLE_PREFIX = 8,  /* and "Type-anything" */
    DLC_ROLE_MANY = 16,   /* AutoScalingSpec is honoured */
};
struct dlc_role_kind {
    const char *type; /* "Worker" */
    unsigned flags;
};
#define DLC_ROLES_MAX 6
struct dlc_type {
    const char *name;      /* "PyTorchJob"; NULL ends the table */
    const char *alias;     /* another spelling, or NULL */
    const char *framework; /* canonical; NULL: cannot run here */
    unsigned flags;
    const char *label; /* of the port that peers meet at; NULL: none */
    uint32_t port;     /* its usual number */
    const char *web;   /* label of a second port of the first task, or NULL */
    uint32_t web_port;
    const char *reason; /* why it cannot run here, when framework is NULL */
    struct dlc_role_kind roles[DLC_ROLES_MAX + 1];
};
const struct dlc_type *dlc_type_list(void);
/* By name or alias; exact, or whatever the case of its letters. NULL when unknown. */
const struct dlc_type *dlc_type_find(const char *name, bool any_case);
/* The row of a role, NULL when jobs of this type have none of that name. */
const struct dlc_role_kind *dlc_role_find(const struct dlc_type *, const char *type);

#endif
