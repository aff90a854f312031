/* What launchers and the leader of their rendezvous say to each other: nouns that rdzv/ decides
 * on, wire/ encodes, and launch/ and ctl/ act on. Texts belong to whoever made the message (an
 * arena, or the machine's own state during a call); receivers copy what they keep.
 *
 * Words. A member is one launcher process (one node of the job, or one task). The leader is who
 * decides: the server inside a job, else the launcher at the endpoint. A round is one common start
 * of all ranks. A term counts leaders: what an older term or an older round says is ignored. */
#ifndef JOB_RENDEZVOUS_H
#define JOB_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDZV_ANY_RANK    UINT32_MAX /* no node rank was asked for */
#define RDZV_MAX_MEMBERS 16384u
#define RDZV_MAX_RANKS   4096u /* of one member */
#define RDZV_MAX_DEATHS  64u   /* told per message, first ones first */
#define RDZV_TEXT_MAX    2048u /* bytes of any text in a message */
#define RDZV_ROLE        "default"

/* When all that is known are errors about others that have gone: whoever that is may take a while
 * to end for the kernel, and is not ended meanwhile, else nobody could tell that it went by itself.
 */
#define PEER_ERROR_WAIT_MS 1000u

/* What all members must agree on; the leader takes the first member's and refuses others that
 * differ in min, max, node_unit or check (no silent "first one wins"). Times in ms. */
struct rdzv_settings {
    uint32_t min, max;        /* nodes */
    uint32_t node_unit;       /* the world is a multiple of it; 1: any */
    uint32_t max_restarts;    /* failures that each member may have (torchrun: per agent) */
    uint64_t last_call_ms;    /* first round only: wait for more once min is there */
    uint64_t join_ms;         /* no round within this: the rendezvous failed */
    uint64_t exit_barrier_ms; /* members that are done wait so long for the others */
    bool check;               /* node check before a round of new membership */
    bool check_bandwidth;     /* adds the bandwidth measurement */
    bool exclude_straggler;
};

/* How one rank ended by itself or was ended. */
struct rdzv_death {
    uint32_t rank, local_rank; /* of the round */
    uint32_t pid;
    int32_t code;    /* exit code, when signal is 0 */
    uint32_t signal; /* 0: exited */
    bool oom;        /* the kernel killed it for memory */
    bool victim;     /* ended by us because of another */
    bool stopped;    /* it had been told to end; a victim, if that is what it ended by */
    bool at_exit;    /* its script had ended; it aborted while the interpreter shut down */
    bool spared;     /* it never started a program (missing, not readable, syntax error) */
    bool of_peer;    /* it says that another rank had gone (job/peer_error.h) */
    uint64_t wakeup; /* of its launcher, in which its end was seen: those of one are a tie; 0: not
                      * known */
    uint64_t age_us; /* how long ago, when the message was sent: no clocks are compared */
    uint64_t at_s;   /* wall clock of its node, for display */
    const char *message; /* exception of its error file, or "" */
    const char *error_file;
    const char *tail; /* last lines of its stderr */
};
struct rdzv_deaths {
    const struct rdzv_death *at;
    size_t n;
    uint32_t more; /* not told */
};

/* ---- member to leader ---- */

/* What a member still holds from an earlier leader; lets a new leader (a survivor, a restarted
 * server) go on instead of starting anew. */
struct rdzv_claim {
    uint64_t term; /* highest it was told; 0: none. Without members only this counts */
    uint32_t round, group_rank, restarts;
    bool running;      /* its ranks of that round run */
    bool done;         /* ... or have all ended with 0 */
    uint64_t world_id; /* of that round */
    uint32_t nodes;
};
/* Nothing of this member runs (unless claim.running): it can take part in the next round. */
struct rdzv_join {
    uint64_t member;    /* random, for the launcher's life */
    const char *run_id; /* of the job; others are refused */
    const char *node;   /* name for people */
    const char *addr;   /* where the others reach this node */
    uint32_t node_rank; /* asked for, or RDZV_ANY_RANK; two alive with the same one: the later is
                         * refused */
    uint32_t ranks;
    uint16_t store_port; /* a fresh store listens there: used when it becomes group rank 0 */
    uint16_t lead_port;  /* where it would lead; 0: it never does */
    uint16_t check_port; /* listens for node checks; 0: none */
    uint32_t spent;      /* failures of its own ranks so far */
    struct rdzv_settings settings;
    struct rdzv_claim claim;
    struct rdzv_deaths deaths; /* of the round that ended, not told before */
    const char *role;          /* of its ranks; NULL: RDZV_ROLE */
};
enum rdzv_outcome { RDZV_FAILED = 1, RDZV_DONE };
struct rdzv_report {
    uint64_t term;
    uint32_t round;
    enum rdzv_outcome outcome; /* FAILED: a rank died, the others are being stopped. DONE: all
                                * ended with 0 */
    bool final;                /* FAILED: a restart would not help (never started, budget spent) */
    struct rdzv_deaths deaths;
};
enum rdzv_check_result { RDZV_CHECK_OK = 1, RDZV_CHECK_SELF_BAD, RDZV_CHECK_PAIR_BAD };
struct rdzv_check_report {
    uint64_t term;
    uint32_t check; /* which check order this answers */
    enum rdzv_check_result result;
    uint64_t took_us;    /* what is compared between nodes */
    const char *figures; /* "matmul 11 ms, disk 410 MB/s, ..." for people */
    const char *why;     /* of a bad one */
};
enum rdzv_leaving { RDZV_LEAVES_STOPPED = 1 /* a signal */, RDZV_LEAVES_FAILED };
struct rdzv_leave {
    enum rdzv_leaving why;
    const char *text;
};

/* ---- leader to member ---- */

struct rdzv_welcome {
    uint64_t term;
    uint32_t beat_ms;    /* say BEAT so often */
    const char *waiting; /* what is waited for, for people: "1 of 2 to 4 nodes"; also sent anew
                          * when it changes */
};
struct rdzv_place { /* one member in a round, by group rank */
    uint64_t member;
    uint32_t node_rank, ranks, first_rank;
    const char *node, *addr;
    uint16_t lead_port;
};
#define RDZV_HEIRS 16u /* members that are told to all: who would lead next */
struct rdzv_round {
    uint64_t term;
    uint64_t world_id;   /* tells worlds apart that two leaders gave the same number */
    uint32_t round;      /* from 0; one more each time */
    uint32_t group_rank; /* of the receiver */
    uint32_t restarts;   /* of the job: rounds that began because of a failure */
    uint32_t world;      /* ranks in all */
    uint32_t nodes;      /* in the world */
    uint32_t role_first; /* place of the receiver's first rank among those of its role */
    uint32_t role_world; /* ranks of that role */
    struct rdzv_place own;
    const struct rdzv_place *places; /* the first of the world, at most RDZV_HEIRS: a message to
                                      * each of n that names all n would grow with the square */
    size_t n_places;
    const char *store_addr;
    uint16_t store_port;
    const char *cause; /* why this round: "first", "rank 3 on n2 was killed (SIGKILL)" ... */
};
struct rdzv_peer { /* where a node listens for node checks */
    const char *addr;
    uint16_t port; /* 0: it does not */
};
struct rdzv_check { /* run the node check against these, answer with CHECKED */
    uint64_t term;
    uint32_t check, round; /* number of this order; 0 or 1 of the check */
    uint32_t index;        /* of the receiver in the group: 0 serves, the others connect to it */
    const struct rdzv_peer *peers;
    size_t n;
    bool bandwidth;
};
struct rdzv_stop { /* end your ranks of that round, then JOIN again */
    uint64_t term;
    uint32_t round;
    const char *cause;
};
enum rdzv_end_kind {
    RDZV_END_DONE = 1,
    RDZV_END_FAILED,  /* ranks failed, no budget left */
    RDZV_END_LOST,    /* too few nodes are left */
    RDZV_END_TIMEOUT, /* they never were enough */
    RDZV_END_CHECK,   /* this node, or too many, failed the node check */
    RDZV_END_STOPPED  /* a member left on a signal */
};
struct rdzv_victim { /* a death with the place it happened at */
    struct rdzv_death death;
    const char *node;
    uint32_t group_rank;
};
struct rdzv_end {
    uint64_t term;
    enum rdzv_end_kind kind;
    const char *text;                 /* one sentence */
    const struct rdzv_victim *deaths; /* the guilty one first, then by time */
    size_t n_deaths;
    bool undecided; /* the first ones were seen in one wake-up, and nothing else tells them apart */
};
enum rdzv_refusal {
    RDZV_REFUSED_RUN = 1, /* another job's run id */
    RDZV_REFUSED_TOKEN,
    RDZV_REFUSED_RANK,     /* node rank taken, or not below max */
    RDZV_REFUSED_SETTINGS, /* other --nnodes, ... than the first member's */
    RDZV_REFUSED_FULL,     /* max nodes run and it may only wait: not used, it waits */
    RDZV_REFUSED_OVER      /* the job has ended */
};
struct rdzv_refused {
    enum rdzv_refusal why;
    const char *text; /* with what to do */
};
struct rdzv_finding { /* what the node check found, for people; nothing follows from it */
    uint64_t term;
    uint64_t about; /* member; 0: nobody in particular */
    const char *text;
};
struct rdzv_leader_address { /* the leader is elsewhere */
    uint64_t term;
    const char *addr;
    uint16_t port;
};

#endif
