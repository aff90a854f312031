/* A server's engine of machines with one real machine: its host, keepers, agents and tasks. For
 * tests. */
#ifndef ENGINE_MACHINES_TEST_FIXTURE_H
#define ENGINE_MACHINES_TEST_FIXTURE_H

#include "engine/machines/machines.h"
#include "link/test/door.h"

#include <uv.h>

struct fix {
    uv_loop_t loop;
    char dir[64], *host_dir, *socket, *copies, hex[65];
    unsigned char hash[32];
    struct link_hub *hub;
    struct engine *engine;
    struct machines_packer packer;
    struct door door;
    pid_t host;
    unsigned facts[FACT_N];
    bool fits;                  /* the last NODE_UP says what the machine is */
    uint64_t cpu_milli, memory; /* of it */
    uint64_t last_seq, log_end; /* of facts that end a task */
    struct ending ending;
    char reason[256];  /* of AGENT_GONE */
    char refused[256]; /* of REFUSED */
    char image[512];   /* of IMAGE: "NODE JOB: PROBLEM" */
};

#define FIX_GENERATION ((struct generation){ .job = 7, .number = 1 })
#define FIX_ROLE       "w" /* its first task, first attempt */

#define UNTIL(f, condition)                                                                        \
    do {                                                                                           \
        while (!(condition))                                                                       \
            uv_run(&(f)->loop, UV_RUN_ONCE);                                                       \
    } while (0)

struct fix *fix_create(void);
void fix_destroy(struct fix *);
void fix_add_machine(struct fix *); /* fix_open_server has */
void fix_open_server(struct fix *); /* fix_create has */
void fix_close_server(struct fix *);
void fix_start_host(struct fix *);
void fix_end_host(struct fix *, int signal);

/* A launch of one task; what else it has is set in it. */
struct launch fix_launch(const struct fix *, struct launch_task *, const char *run);
int fix_start(struct fix *, const struct launch *, struct err *);
void fix_start_well(struct fix *, const char *run);
void fix_stop(struct fix *, enum stop_how);
void fix_ack(struct fix *);
void fix_recover(struct fix *); /* of an earlier server */
void fix_end_well(struct fix *);
/* What readers at the server see of the log; a number in brackets for a hole. malloc'ed. */
char *fix_log(const struct fix *);
bool fix_log_has(const struct fix *, const char *what);

#endif
