/* The clients of the simulation: what they asked for and what they were answered. They repeat a
 * submission with its idempotency key until it is answered, as ours do, and remember:
 *   - an acknowledged submission is there, once, under the number and the id of the answer
 *   - numbers and ids only grow, whatever died in between
 *   - a job whose stop was acknowledged never waits or runs again
 *   - a job whose deletion was acknowledged is gone
 *   - a submission that failed for the disk's sake is not there
 * Test code. */
#ifndef CTL_TEST_FAULTS_CLIENTS_H
#define CTL_TEST_FAULTS_CLIENTS_H

#include "base/dice.h"
#include "ctl/ctl.h"
#include "ctl/test/faults/crash.h"

#define WORK_MAX   40
#define WORK_TEXT  900
#define WORK_ROLES 2
#define CLIENT_SAY 200

struct work { /* one submission of a client */
    char name[24], text[WORK_TEXT];
    const char *owner;
    bool refused;      /* for good: it makes no sense to the server */
    bool acknowledged; /* then: */
    uint64_t id, number;
    uint32_t members;      /* of an array; 0: none */
    bool stopped, deleted; /* that was acknowledged too */
    bool delete_asked;
    unsigned unheard;           /* submissions whose answer went nowhere, or is still to come */
    bool failed;                /* the last was answered so, and no other can have led to a job */
    unsigned wishes;            /* commands that may have led to another generation or attempt */
    unsigned unknown, platform; /* retries that it asked for */
    bool per_job;               /* retries restart the whole job */
    bool by_role[WORK_ROLES];   /* those of a role restart all of it */
};
struct clients {
    struct crash *crash;
    struct dice *dice;
    struct work works[WORK_MAX];
    size_t n;
    uint64_t last_id, last_number; /* the highest that anybody was told */
    uint64_t answers, refusals;
    bool queues;           /* are declared */
    char said[CLIENT_SAY]; /* what the last one asked for and heard, for people */
    char wrong[CLIENT_SAY];
};

void clients_init(struct clients *, struct crash *, struct dice *);
/* Each asks the core for one thing; ctl_turn is the caller's. */
void clients_submit(struct clients *, struct ctl *); /* a new one, or one that was not answered */
void clients_command(struct clients *, struct ctl *);
void clients_node(struct clients *, struct ctl *, const char *node);
void clients_undrain(struct clients *, struct ctl *, const char *node);
void clients_declare(struct clients *, struct ctl *); /* queues with shares */
/* Before quiet times: what waits for its owner goes on; true: something was asked for. */
bool clients_resume(struct clients *, struct ctl *);
size_t clients_waiting(const struct clients *); /* submissions that are not answered yet */

#endif
