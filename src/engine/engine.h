/* The contract between the core and whatever starts processes: calls go down, facts come up; both
 * carry job and generation, both may be repeated. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/err.h"
#include "job/ending.h"
#include "job/ids.h"
#include "job/launch.h"

#include <stddef.h>

/* What an engine can do: checked at admission, never tested by name. */
enum engine_caps {
    ENGINE_PLACES = 1 << 0,     /* chooses the nodes itself */
    ENGINE_CONTAINERS = 1 << 1, /* runs images */
    ENGINE_MOUNTS = 1 << 2,     /* data mounts at any path */
    ENGINE_HOSTS = 1 << 3,      /* private /etc/hosts */
    ENGINE_CPU_LIMIT = 1 << 4,
    ENGINE_MEMORY_LIMIT = 1 << 5,
    ENGINE_EXEC = 1 << 6,
    ENGINE_STDIN = 1 << 8,     /* keeps the stdin of a task open, and lets clients at it */
    ENGINE_NUMBERS = 1 << 7,   /* runs no program: a launch says which tasks and what they hold, and
                                * nothing is read, made or kept for it */
    ENGINE_ALLOCATES = 1 << 9, /* nodes of the engine named below can be asked for, for one job */
};
#define ENGINE_ALLOCATOR "slurm" /* as in place.engine and struct node_spec */

enum stop_how { STOP_GRACE /* SIGTERM, grace, SIGKILL */, STOP_NOW /* SIGKILL */ };

/* STARTED: the attempt's program runs. ENDED: the attempt is over; ending says how. REFUSED: it
 * could not be started; ending.by says whose fault. LOG: its log reaches log_end (unsequenced, may
 * be skipped). DIED: the attempt's program is gone, what it left is being ended; ENDED follows
 * (without a DIED before it, when nothing was left). RELEASED: nothing of the generation on this
 * node is left. LAUNCHER: a launcher inside a task said something (unsequenced; its channels are
 * void after the next AGENT_JOINED of the node, AGENT_GONE or RELEASED). NODE_UP: the node can be
 * reached; with a spec it came or changed. NODE_DOWN: it cannot be reached, which says nothing of
 * what it runs. NODE_GONE: it is no node any more. AGENT_SILENT: it cannot be reached, and was,
 * which says nothing of what it runs; AGENT_JOINED follows when it can. IMAGE: of an image that
 * tasks run in, by an agent, or unsequenced, without a node and of generation 0 as the answer to
 * what the core asked (ctl_config.ask_images). ALLOCATION: of the own allocation of a job
 * (generation.job): it waits, and why (reason), until about at_ms; or, with an ending.by, there
 * will be none: USER, somebody cancelled it; else it was refused. */
#define ENGINE_FACTS(X)                                                                            \
    X(AGENT_JOINED)                                                                                \
    X(AGENT_GONE)                                                                                  \
    X(STARTED)                                                                                     \
    X(ENDED)                                                                                       \
    X(REFUSED)                                                                                     \
    X(LOG)                                                                                         \
    X(RELEASED)                                                                                    \
    X(NODE_UP)                                                                                     \
    X(NODE_DOWN)                                                                                   \
    X(LAUNCHER)                                                                                    \
    X(DIED)                                                                                        \
    X(NODE_GONE)                                                                                   \
    X(AGENT_SILENT)                                                                                \
    X(IMAGE)                                                                                       \
    X(ALLOCATION)
#define FACT_ENUM(id) FACT_##id,
enum engine_fact_kind { FACT_NONE, ENGINE_FACTS(FACT_ENUM) FACT_N };
#undef FACT_ENUM

enum launcher_what {
    LAUNCHER_OPEN = 1 /* task and attempt say whose */,
    LAUNCHER_DATA,
    LAUNCHER_CLOSE
};
struct image_progress;
struct node_spec;
struct launcher_input {
    uint32_t channel; /* of that node's agent; the core answers on it (tell_launcher) */
    enum launcher_what what;
    const void *bytes; /* DATA: a piece of a stream of frames (wire/rendezvous.h) */
    size_t len;
};

struct engine_fact {
    enum engine_fact_kind kind;
    struct generation generation;
    const char *node;
    uint64_t seq;         /* of the agent's facts, from 1; 0: unsequenced */
    struct task_ref task; /* STARTED ENDED REFUSED LOG LAUNCHER (when opened) */
    union {
        uint32_t attempt;    /* of the task */
        uint32_t launch_seq; /* AGENT_JOINED: the last launch that it has; 0: none, or not known */
        uint32_t quiet_ms;   /* AGENT_SILENT: since it was heard */
    };
    uint64_t at_ms;       /* when it happened (wall) */
    uint32_t pid;         /* STARTED */
    uint64_t log_end;     /* LOG, ENDED */
    struct ending ending; /* ENDED REFUSED DIED */
    uint64_t wakeup;      /* ENDED DIED: ends of one node with the same number were seen at the same
                           * moment; 0: not known */
    const char *remark;   /* ENDED REFUSED DIED: of who reports it, for people; NULL or "": none */
    const char *reason;   /* NODE_DOWN, AGENT_GONE */
    const struct node_spec *spec; /* NODE_UP: what the node is; NULL: what it was. Its report
                                   * outlives the core, the rest only the call */
    struct launcher_input launcher;
    const struct image_progress *image; /* IMAGE */
};

struct engine_sink {
    void (*fact)(void *arg, const struct engine_fact *);
    void *arg;
};

struct engine;
/* An interactive command inside a task's view, wired to a connected socket that the engine takes
 * over. */
struct engine_exec {
    struct generation generation;
    const char *node;
    struct task_ref task;
    uint32_t attempt;
    struct words argv; /* empty: a login shell */
    uint16_t port;     /* of the task, in place of a command: a connection to it; 0: none */
    bool tty;
    uint16_t rows, cols;
    int fd; /* carries wire frames of kind STDIN/STDOUT/... to the client; owned by the engine after
               success */
};
/* A client at the stdin and the log of a running task that keeps one, wired to a connected socket
 * as above. */
struct engine_attach {
    struct generation generation;
    const char *node;
    struct task_ref task;
    uint32_t attempt;
    uint64_t session;    /* the client's own number, the same when it comes again */
    uint64_t offset;     /* of the attempt's log, from which on it is sent */
    uint16_t rows, cols; /* of the client's terminal; 0: it has none */
    int fd;              /* as engine_exec; -1: only asks whether it could be */
};
/* A signal to the processes of an attempt. */
#define ENGINE_SIGNAL_WAIT_MS 5000
enum engine_signal_result {
    HEARD_LOST = -1,  /* its agent was lost meanwhile, or said nothing for that long */
    HEARD_NEVER = -2, /* the engine ends: free what is yours, there is nobody left to call */
};
struct engine_signal {
    struct generation generation;
    const char *node;
    struct task_ref task;
    uint32_t attempt;
    int signal;
    /* Once, after the call went well, and never from inside it: processes that got it. */
    void (*done)(void *arg, int heard);
    void *arg;
};
struct engine_secrets { /* values that are others now, of what a launch there named */
    struct generation generation;
    const char *node;
    const struct launch_secret *at;
    size_t n;
};
struct engine_agent { /* an agent that should be alive */
    const char *dir;  /* its launch directory */
    struct generation generation;
    const char *node;
    uint64_t last_seq; /* committed facts */
    unsigned char token_hash[32];
};
struct engine_stranger { /* a run that the records do not know */
    uint64_t job;
    uint32_t pid;  /* of what keeps it; 0: not known */
    char node[64]; /* the front of its name */
};
struct engine_ops {
    const char *name;
    /* Starts (or adds to) one node's share of a generation. Repeating a launch with the same seq
     * does nothing. The launch is only valid during the call. */
    int (*start)(struct engine *, const struct launch *, struct err *);
    /* Ends one attempt (task != NULL) or everything of the generation on all its nodes, then
     * releases the node. */
    int (*stop)(struct engine *, struct generation, const struct task_ref *task, enum stop_how,
                enum end_origin why, struct err *);
    /* Everything of the agent's facts up to seq is committed. */
    void (*ack)(struct engine *, struct generation, const char *node, uint64_t seq);
    /* After a server restart: the generations that should be alive, with their nodes. What is found
     * dead comes up as AGENT_GONE; what else is found is for `leave` and `end`. */
    int (*recover)(struct engine *, const struct engine_agent *known, size_t n, struct err *);
    /* Does a run live in that launch directory, of which the records know nothing? 1: it is left
     * alone, its agent is told to come again later; 0: none does. May be NULL: none ever does. */
    int (*leave)(struct engine *, const char *dir, struct engine_stranger *);
    /* Ends what lives in that launch directory, of which the records of its job know nothing. 1: it
     * was ended and is gone; 0: none lives there; -1: it lives on, out is set too. NULL where
     * `leave` is. */
    int (*end)(struct engine *, const char *dir, struct engine_stranger *out, struct err *);
    int (*exec)(struct engine *, const struct engine_exec *, struct err *);
    int (*attach)(struct engine *, const struct engine_attach *, struct err *); /* may be NULL */
    int (*signal)(struct engine *, const struct engine_signal *, struct err *); /* may be NULL */
    /* For the tasks that run there: nothing where the agent is not connected, which is told when it
     * joins. May be NULL: nothing of this engine holds any. */
    void (*secrets)(struct engine *, const struct engine_secrets *);
    /* Bytes for the launcher on that channel of the node's agent; bytes NULL: hang up on it.
     * Nothing happens when the channel or the agent's connection is gone. May be NULL: then nobody
     * in this engine's tasks can reach the core, and no LAUNCHER facts come. */
    void (*tell_launcher)(struct engine *, struct generation, const char *node, uint32_t channel,
                          const void *bytes, size_t len);
    /* Is that process of this machine one of a generation that was started here? 1: of *of; 0: of
     * none; -1: it or its generation is there no more. May be NULL: none is. */
    int (*find_process)(struct engine *, uint32_t pid, struct generation *of);
    /* Agents that can be started now, and at most at the same time. May be NULL: any number. */
    size_t (*room)(const struct engine *, size_t *all);
    unsigned (*caps)(const struct engine *);
    void (*destroy)(struct engine *);
};
struct engine { /* first member of every engine */
    const struct engine_ops *ops;
    struct engine_sink sink; /* set by the core before the first call */
};

#endif
