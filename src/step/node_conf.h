/* What a node of a job is told: by its environment, and by the job's config. */
#ifndef STEP_NODE_CONF_H
#define STEP_NODE_CONF_H

#include "base/arena.h"
#include "base/err.h"
#include "job/words.h"
#include "step/pattern.h"

#include <stdbool.h>
#include <stdint.h>

struct node_conf {
    const char *secret, *address;
    uint16_t port;
    bool first;       /* runs the script */
    const char *room; /* of all nodes, for claims; NULL: not known */
    const char *dir;  /* where the script's file is written */
    /* of the script */
    const char *script;
    struct words args;
    const char *output, *error, *input, *chdir;
    bool append;
    struct pattern_facts facts;
    /* before the time limit */
    int signal; /* 0: none */
    bool signal_batch;
    uint64_t signal_after_ms;
};

int node_conf_read(struct arena *, struct node_conf *, struct err *);
/* The facts of names of files, from the variables of the job; step and task are not in it. */
void node_conf_facts(struct pattern_facts *);

#endif
