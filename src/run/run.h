/* One node's share of one generation on this machine: its directory, its keeper process, whether
 * that lives. For whoever starts keepers. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/err.h"
#include "job/ids.h"
#include "job/launch.h"

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct run {
    void *owner; /* whoever made it */
    struct generation generation;
    char *node, *dir;
    char *cookie;        /* MUSTER_COOKIE of its tasks: no other run's on this machine */
    const char *program; /* muster-node, of the owner; NULL: nothing to clean up with */
    pid_t pid;           /* keeper; 0: none was started, or not known yet */
    pid_t cleaner;       /* removes what a keeper that was killed left; 0: not started */
    bool coming;         /* a keeper of an earlier server lives and has not said its pid yet */
    int pidfd;
    uv_poll_t watch;   /* of pidfd */
    uv_timer_t settle; /* until nothing with its cookie lives */
    unsigned handles;  /* open ones; freed with the last */
    unsigned looks;    /* at a lock that is still held */
    bool ending;       /* dead; `ended` follows */
    bool gone;
    bool swept; /* nothing carries its cookie any more */
    bool (*released)(
        const struct run *); /* did its agent leave by order, with nothing left? NULL: not known */
    void (*ended)(struct run *); /* the keeper is dead and nothing of the run lives any more */
};

struct run *run_create(uv_loop_t *, struct generation, const char *node, const char *dir);
void run_destroy(struct run *); /* closes handles, then frees; the keeper goes on */
/* What an earlier server left: 1 a living keeper (now watched), 0 none was ever started here, -1 it
 * was and is dead, or has the directory that this one is a copy of (`ended` follows). */
int run_adopt(struct run *);
/* Does a keeper live in that directory? Its pid, 0 when it has not said it yet or what it said is
 * damaged, and what its agent.conf says: the job, the node, the token (64 digits and NUL). */
struct run_conf {
    uint64_t job;
    uint32_t pid;
    char node[64], token[65];
};
bool run_look(const char *dir, struct run_conf *);
/* Ends the keeper that lives in that directory, of which no run is known, with all that is below
 * it, and waits for it: 0, also when none lives there; -1: it lives on. program: as above. */
int run_end(const char *dir, const char *program, struct err *err);
bool run_lives(const struct run *); /* has a keeper, or is not done with its last one */
/* Writes agent.conf, with the account and the sandbox of the launch, and starts the keeper, which
 * holds keeper.lock as long as it or its agent lives. Refused while another does. */
struct run_place {
    const char *program;
    const char *server;         /* lines of agent.conf: where it is (node/conf.h) */
    const unsigned char *token; /* 32 bytes */
    bool send_logs;             /* the server does not read this disk */
    uint64_t leave_ms;          /* as in node/conf.h */
    const char *code, *cache, *programs, *shared; /* the same; NULL: none */
    const char *images;                           /* the same; NULL: where the launch says */
    const void *session; /* with the server, for the agent's first connection; it is on no disk */
    size_t session_len;  /* 0: none */
};
int run_spawn(struct run *, const struct run_place *, const struct launch *, struct err *err);
/* The same lines for an agent that may live there already, which reads them when it connects again.
 * 0 also where there is no agent.conf. */
int run_set_server(const char *dir, const char *server, struct err *err);
/* Calls `ended` from the loop, once everything with the cookie is dead, and a keeper that nobody
 * watches. */
void run_settle(struct run *);

/* ---- process.c ---- */
struct process {
    pid_t pid, parent;
    uint64_t started; /* a number that is given again has another one */
};
bool process_look(pid_t, struct process *); /* false: there is no such process */
/* Of which of the runs (struct run by any key) is that process? 1: *run; 0: of none; -1: it ended,
 * or its keeper did. */
struct string_map;
int process_run(const struct string_map *runs, pid_t, const struct run **run);

/* Kills every process whose environment holds MUSTER_COOKIE=cookie. UNSEEN: some could not be
 * looked at now, because descriptors or memory are short. */
enum sweep_result { SWEEP_NONE, SWEEP_SOME, SWEEP_UNSEEN };
enum sweep_result sweep_cookie(const char *cookie);
/* Sends the signal, 0: none, to every process that holds the lock of that directory, also when its
 * file was removed: a keeper and its agent have it as this descriptor. */
#define KEEPER_LOCK       3
#define KEEPER_SESSION    4 /* run_place.session, in a sealed file of memory; where there is one */
#define RUN_SESSION_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define KEEPER_LOCK_NAME  "keeper.lock"
enum sweep_result sweep_lock(const char *dir, int signal);

#endif
