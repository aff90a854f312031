/* Machines that may be nodes of this server: who may connect as which. What a machine has is found
 * when it connects (nodes.h); whether it is connected knows the engine. Rows alone; it writes into
 * the open transaction, and into the audit record. */
#ifndef INVENTORY_KNOWN_MACHINES_H
#define INVENTORY_KNOWN_MACHINES_H

#include "base/err.h"
#include "base/pairs.h"

#include <stdbool.h>
#include <stdint.h>

struct accounts;
struct cluster;
struct live;
struct store;

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
struct known_machines_config {
    struct store *store;
    const struct cluster *cluster; /* names that are taken, tasks that are there */
    const struct live *live;       /* whose they are */
    struct accounts *accounts;     /* the audit record */
};
struct known_machines;
struct known_machines *known_machines_create(const struct known_machines_config *);
void known_machines_destroy(struct known_machines *); /* NULL-safe */

int known_machines_list(const struct known_machines *, struct arena *, struct machine_list *,
                        struct err *);
/* 1: there is one of that name; 0; -1. */
int known_machine_find(const struct known_machines *, struct arena *, const char *name,
                       struct machine *, struct err *);
/* One of that name gets what is said now. 0; -1: ERR_INPUT; ERR_CONFLICT: a node of that name is no
 * machine; ERR_TOO_LARGE. */
int known_machine_add(struct known_machines *, const struct machine *, struct err *);
/* 0; -1: ERR_NOT_FOUND; ERR_CONFLICT while tasks are there, unless force. */
int known_machine_remove(struct known_machines *, const char *name, bool force, struct err *);
/* Nothing lives there, somebody made sure of it: an entry of the audit record. 0; -1:
 * ERR_NOT_FOUND. */
int known_machine_fence(struct known_machines *, const char *name, const char *reason,
                        struct err *);

#endif
