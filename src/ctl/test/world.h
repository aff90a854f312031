/* A core in a temporary directory: real store, fake engine, fake clock, a dialect that is the
 * canonical form itself. */
#ifndef CTL_TEST_WORLD_H
#define CTL_TEST_WORLD_H

#include "ctl/ctl.h"
#include "ctl/test/fake.h"

#define WORLD_DIR 64
/* Makes a directory. In memory where that is to be had: what is killed here is the process, never
 * the machine, so there is nothing to be learnt from waiting for a disk. */
void world_dir(char dir[WORLD_DIR]);

struct world;
struct world_hooks { /* around the core's life; any may be NULL */
    void (*before)(struct world *, struct ctl_config *);      /* the store is open */
    void (*after)(struct world *, const struct ctl_config *); /* made, not recovered */
    void (*closing)(struct world *, bool crash);
};
struct world {
    struct world_hooks hooks;
    void *hooked;
    char dir[WORLD_DIR], runs[96], db[96];
    struct fake fake;
    struct store *store;
    struct ctl *ctl;
    uint64_t now, wake;
    struct node_spec *nodes;
    size_t n_nodes;
    struct words queues;
    /* the last answer */
    unsigned answers;
    enum err_code code;
    char what[512], hint[256];
    uint64_t job;
    size_t warnings, errors;
    /* the script: exit code by (index, attempt) when by_attempt is set, else `code_all` */
    int code_all;
    int (*by_attempt)(uint64_t job, const char *role, uint32_t index, uint32_t attempt);
};

void world_init(struct world *);
void world_init_with(struct world *, struct world_hooks, void *hooked);
const struct dialects *world_dialects(void);
void world_fini(struct world *);
void world_crash(struct world *); /* kill -9 and a new server; agents live on */
uint64_t world_submit(struct world *, const char *text); /* and a turn; 0 when refused */
uint64_t world_submit_as(struct world *, const struct submission *);
void world_command(struct world *, uint64_t job, enum ctl_verb);
void world_command_as(struct world *, const char *owner, uint64_t job, enum ctl_verb);
bool world_step(struct world *); /* agents, turn, due timers; false: nothing happens any more */
void world_run(struct world *);  /* until nothing happens; time does not pass by itself */
void world_pass(struct world *, uint64_t ms); /* time passes, timers fire */
enum job_state world_state(struct world *, uint64_t job);
const char *world_reason(struct world *, uint64_t job); /* static text */
uint64_t world_used(struct world *); /* cpu_milli + gpu_milli held in all nodes */
/* "submitted allocated started ..." of the job itself, without its tasks' events */
const char *world_events(struct world *, uint64_t job);
unsigned world_count(struct world *, uint64_t job, const char *type);
uint32_t world_attempts(struct world *, uint64_t job); /* rows */

#endif
