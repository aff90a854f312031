/* The engine of the simulation: agents on a few nodes that outlive the server, number their facts
 * and send them until they are acknowledged, as those of the real engines do. It knows the truth
 * about every attempt, and notes what must never happen:
 *   - an attempt begins twice; two attempts of one task live at a time
 *   - tasks of a node have more than the node, a device more than itself, a port two tasks
 *   - a fact was acknowledged that a restarted server does not know
 *   - a launch or a known agent with the token of another one
 * The last of its nodes are machines: they are silent for a while, with agents that live on, leave
 * and come.
 * What the programs do is drawn from the seed, per attempt. Test code. */
#ifndef CTL_TEST_FAULTS_AGENTS_H
#define CTL_TEST_FAULTS_AGENTS_H

#include "base/dice.h"
#include "base/map.h"
#include "base/vec.h"
#include "ctl/test/faults/crash.h"
#include "engine/engine.h"
#include "sched/cluster.h"

#define AGENT_PORTS   4
#define AGENT_DEVICES 4
#define AGENT_NODES   8
#define WRONG_TEXT    400

enum program { /* what an attempt's program does */
               EXITS_WELL,
               EXITS_BADLY,    /* code 1 */
               EXITS_BY_FAULT, /* code 7: sure to come again */
               RUNS,           /* until it is ended; in quiet times it exits well */
               TAKES_AGENT,    /* its agent dies with it */
               PORT_TAKEN,     /* never starts */
               NOT_STARTED,    /* the platform cannot start it */
               UNSEEN,         /* so short that only its end is reported */
               KILLED,         /* by a stranger's signal */
               PROGRAM_N
};
enum phase { SIM_STARTING, SIM_RUNNING, SIM_ENDED };
struct sim_task {
    struct task_ref ref;
    uint32_t attempt;
    enum program program;
    unsigned lasts; /* things its agent does until it ends */
    enum phase phase;
    bool ending;       /* asked to */
    bool died, itself; /* its death was reported before its end; by its own doing */
    enum end_origin why;
    uint64_t cpu_milli, memory, gpu_milli;
    uint32_t gpus[AGENT_DEVICES], ports[AGENT_PORTS];
    uint32_t n_gpus, n_ports;
};
struct sim_fact {
    struct engine_fact fact;
    bool sent; /* to the server that lives now */
};
struct sim_agent {
    struct generation generation;
    uint32_t node; /* position */
    uint32_t launch_seq;
    uint64_t seq, acked;
    unsigned char token_hash[32];
    bool joined, releasing, released;
    bool comes_again;  /* it says that it joined, to the server that lives now */
    bool dead;         /* and what it ran with it */
    bool told;         /* the server that lives now was told of its death */
    bool known;        /* that server expects it */
    bool cut;          /* its connection is: acknowledgements are lost, facts wait */
    bool heard;        /* by the server that lives now, which may call it silent from then on */
    bool silent;       /* that server was told so */
    bool old;          /* that server knows it from the records, */
    bool asked;        /* and has launched something there since */
    uint64_t since_ms; /* it is silent, as that server was seen to say; 0: not yet */
    VEC(struct sim_task) tasks;
    VEC(struct sim_fact) facts;
};
struct truth { /* of one attempt */
    struct generation generation;
    struct task_ref ref;
    uint32_t attempt;
    bool ended, by_death; /* by_death: its agent died, nobody saw its end */
    bool late;            /* its end may not have reached the server before its agent died */
    bool exited;
    int code;
};
struct token { /* as a task found it in its environment */
    struct generation generation;
    char text[120];
};

struct sim_node {
    bool
        down; /* a machine is silent then, and what it runs goes on; of another node all has died */
    bool gone;  /* a machine: it is no node, or none yet */
    bool grown; /* a machine came with a processor and a device more than it has in the list */
};

struct agents {
    struct engine base; /* first */
    struct engine_ops ops;
    struct crash *crash;
    struct dice *dice;
    uint64_t seed, now_ms;
    const struct node_spec *nodes; /* those of the configuration, then machines */
    size_t n_nodes, n_fixed;
    struct sim_node state[AGENT_NODES]; /* of each */
    bool quiet;                         /* programs end, nothing fails any more */
    bool trace;                         /* prints the calls of the core */
    unsigned bad;                       /* of a hundred programs that do not end well */
    VEC(struct sim_agent *) at;
    VEC(struct engine_fact) news; /* of nodes, for the server that lives now */
    VEC(struct truth) truths;
    VEC(struct token) tokens;
    struct map *begun;            /* attempts */
    unsigned refuse;              /* so many launches fail */
    void (*recovered)(void *arg); /* the records are loaded, nothing has followed from them yet */
    void *arg;
    char said[96];          /* what agents_act and agents_send return */
    char wrong[WRONG_TEXT]; /* the first thing that must never happen; "" */
    uint64_t starts, stops, acks, facts;
};

void agents_init(struct agents *, struct crash *, struct dice *);
void agents_fini(struct agents *);
void agents_lost_server(struct agents *); /* it died or ended: nothing counts as sent */
/* One agent, drawn, does one thing. What it did, for people; NULL: there is nothing to do. */
const char *agents_act(struct agents *);
/* One fact that waits is sent to the server. NULL: none does. */
const char *agents_send(struct agents *);
const char *agents_kill(struct agents *); /* one, drawn; NULL: none lives */
void agents_cut(struct agents *);         /* the connection of one; what it held is sent again */
/* Goes down with all on it, or comes up; a machine is silent, leaves, comes, or has grown. What it
 * did, for people. */
const char *agents_node(struct agents *, size_t);
/* The machine of an agent that lives is silent, or is there again; now and then all of them at
 * once; where no agent has one, a machine comes. What it did, for people. */
const char *agents_silence(struct agents *);
void agents_heal(struct agents *);       /* all nodes there, all connections too, quiet */
bool agents_idle(const struct agents *); /* nothing lives, nothing waits to be sent */
size_t agents_alive(const struct agents *);
const struct truth *agents_truth(const struct agents *, uint64_t job, struct task_ref,
                                 uint32_t attempt);    /* NULL: it never began */
bool agents_runs(const struct agents *, uint64_t job); /* does anything of it live? */

#endif
