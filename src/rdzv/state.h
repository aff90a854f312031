/* The insides of one rendezvous, shared by the files of this folder and nobody else. */
#ifndef RDZV_STATE_H
#define RDZV_STATE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "rdzv/order.h"
#include "rdzv/pairing.h"

#define SENTENCE 512u

enum part {
    PART_WAITING,  /* nothing of it runs: can take part */
    PART_IN_ROUND, /* has a place that is RUNNING, DONE or STOPPING */
    PART_BUSY,     /* runs a round that is not ours: was told STOP, must JOIN again */
    PART_N
};
enum place_state {
    PLACE_LEFT,   /* joined again, lost, gone: no part of the round any more */
    PLACE_ABSENT, /* named by a claim, has not come to this leader yet */
    PLACE_RUNNING,
    PLACE_DONE,
    PLACE_DONE_GONE, /* was done, then left: needs nothing more */
    PLACE_STOPPING,  /* was told STOP, has not joined again */
    PLACE_STATES
};
struct place {
    uint64_t member;
    enum place_state state;
    bool finished;  /* all its ranks ended with 0 */
    bool failed;    /* its member pays for that, unless a loss explains it */
    bool spent_all; /* ... and said that nothing is left to pay with */
    char node[128]; /* for deaths that are told after the member is gone */
};
struct member {
    uint64_t id;
    char *node, *addr, *role;
    uint32_t node_rank, ranks, spent;
    uint16_t store_port, lead_port, check_port;
    enum part part;
    struct place *place; /* of the current round, also after it was left; or NULL */
    uint64_t senior;     /* small: keeps its order; newcomers count up from SENIOR_NEW */
    uint64_t heard_us, stop_by_us;
    bool checked;
};
#define SENIOR_NEW ((uint64_t)RDZV_MAX_MEMBERS)

struct rdzv_output { /* one order or piece of news that waits for the end of the call */
    bool is_news;
    union {
        struct rdzv_order order;
        struct rdzv_notice news;
    };
};
struct victim {
    struct rdzv_victim what;
    size_t order; /* in which they were told, from 1 */
    int rank;     /* the first, a tie with it, another, a victim: while they are sorted */
};
struct node_check_texts { /* by one node, texts of the check's memory */
    const char *figures, *why;
};
struct node_check { /* one node check; arrays of n */
    size_t n;
    uint64_t *members;
    struct pairing_node *nodes;
    uint32_t *group;
    bool *answered;
    struct node_check_texts *said;
    struct arena *memory;
    size_t missing;
    int round;
    uint64_t until_us;
};

struct rdzv {
    struct rdzv_limits limits;
    struct rdzv_sink sink;
    enum rdzv_phase phase;
    uint64_t term;
    bool settled; /* settings and run id are those of the first member */
    struct rdzv_settings settings;
    char *run_id;
    uint32_t expected, later; /* later: who come when there is room */
    bool held;                /* some cannot be reached: nobody ends for want of them */

    VEC(struct member *) members; /* by arrival */
    struct map *by_id, *by_rank;  /* by_rank: key is node rank + 1 */
    uint32_t parts[PART_N];
    uint64_t arrivals;
    uint64_t scan_us; /* no member's silence or stop ends before */

    bool has_round;
    uint32_t round, next_round, restarts; /* next_round: above any that was spoken of */
    uint64_t round_term;                  /* in which the round began, by this leader or another */
    struct place *places;
    size_t n_places;
    uint64_t world_id;
    uint32_t states[PLACE_STATES];
    bool resuming; /* members named by a claim may still come */
    uint64_t resume_us;
    bool by_failure; /* the round that is being stopped ended by one */
    bool said_who;   /* the news has said who failed */
    char cause[SENTENCE];
    char loss[SENTENCE]; /* the node that the round lost while it ran or was stopped; "" */
    bool final;          /* after the stop comes the end */
    char final_why[128];
    bool has_done, barrier_passed;
    uint64_t first_done_us;
    char stopped[SENTENCE]; /* who left the round on a signal; "" */

    bool gathering;
    uint64_t gather_us, last_join_us;

    uint32_t check_number; /* of the last order to check; 0: none yet */
    struct node_check node_check;
    VEC(uint64_t) barred; /* failed the node check */

    struct arena *deaths_memory;
    VEC(struct victim) deaths;
    struct rdzv_end end; /* what everybody was told, when OVER */
    VEC(uint64_t) ended; /* who was there at the end: told again when they ask again */

    struct arena *memory; /* texts and lists of the current call */
    VEC(struct rdzv_output) outbox;
    unsigned depth;
    char waiting[SENTENCE];
    bool waiting_changed;
    uint64_t waiting_us;
};

/* Milliseconds after a moment, never past the end of time. */
uint64_t deadline_after(uint64_t us, uint64_t ms);

/* orders.c: what is told during a call goes out at its end, when the state is whole, so that a sink
 * may call into it again. */
void orders_open(struct rdzv *);
void orders_close(struct rdzv *);
void orders_put(struct rdzv *, const struct rdzv_order *);
void orders_news(struct rdzv *, enum rdzv_notice_kind, uint64_t member, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void orders_welcome(struct rdzv *, const struct member *);
void orders_stop(struct rdzv *, uint64_t member, uint32_t round, const char *cause);
void orders_refuse(struct rdzv *, uint64_t member, enum rdzv_refusal, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void orders_end(struct rdzv *, uint64_t member, const struct rdzv_end *);
void orders_note(struct rdzv *, uint64_t member, uint64_t about, const char *text);
void orders_describe(struct rdzv *);                 /* the text of what is waited for, anew */
void orders_waiting(struct rdzv *, uint64_t now_us); /* tells all who wait, not too often */
uint64_t orders_waiting_due(const struct rdzv *);

/* members.c */
struct member *members_find(const struct rdzv *, uint64_t id);
/* Creates or refreshes; NULL: refused, and told so. */
struct member *members_admit(struct rdzv *, const struct rdzv_join *, uint64_t now_us);
void members_remove(struct rdzv *, struct member *);
void members_part(struct rdzv *, struct member *, enum part);
void members_heard(struct rdzv *, struct member *, uint64_t now_us);
void members_stop_by(struct rdzv *, struct member *, uint64_t now_us); /* starts stop_ms */
/* Somebody whose time ran out, or NULL; *why for people. */
struct member *members_expired(struct rdzv *, uint64_t now_us, const char **why);

/* deaths.c */
void deaths_add(struct rdzv *, const struct rdzv_deaths *, const struct place *);
void deaths_clear(struct rdzv *);
bool deaths_guilty(const struct rdzv_deaths *); /* one that is not a victim */
/* Sorted, bounded; texts and list live as long as the rendezvous is OVER. */
void deaths_tell(struct rdzv *, struct rdzv_end *);
const struct rdzv_victim *deaths_first(const struct rdzv *); /* NULL: nobody died */
/* "rank 3 on n2 was killed (SIGKILL)" of the first one, with those of a tie; or fallback. */
void deaths_cause(const struct rdzv *, const char *fallback, char out[SENTENCE]);

/* rounds.c */
struct place *rounds_place(const struct rdzv *, uint64_t member);
void rounds_state(struct rdzv *, struct place *, enum place_state);
void rounds_start(struct rdzv *, struct member *const *, size_t n);
/* RUN -> STOPPING; a second failure while stopping only adds to the first. */
void rounds_stop(struct rdzv *, bool by_failure, const char *cause, uint64_t now_us);
/* FAILED of a member, told by a report or with its JOIN. */
void rounds_failed(struct rdzv *, struct member *, const struct rdzv_deaths *, bool final,
                   uint64_t now_us);
/* The member of the place is gone without a word; rounds_leave follows. */
void rounds_lost(struct rdzv *, const struct place *, const char *cause);
/* All have stopped: what they stopped for, who pays for it, whether that is the end (final). */
void rounds_settle(struct rdzv *);
void rounds_done(struct rdzv *, struct place *, uint64_t now_us);
/* The member's place, if it has one that still counts, is given up. */
void rounds_leave(struct rdzv *, struct place *, const char *cause, uint64_t now_us);
void rounds_barrier(struct rdzv *, uint64_t now_us);
void rounds_over(struct rdzv *, enum rdzv_end_kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* claims.c: a member and what it still holds. */
bool claims_current(const struct rdzv *, uint64_t term, uint32_t round);
void claims_learn(struct rdzv *, const struct rdzv_join *, uint64_t now_us); /* term, take-over */
/* Gives the member its part. True: it must be told to STOP *round. */
bool claims_settle(struct rdzv *, struct member *, const struct rdzv_join *, uint64_t now_us,
                   uint32_t *round);
void claims_resumed(struct rdzv *, uint64_t now_us); /* nobody is waited for any longer */

/* gather.c: moves on as far as the state allows. */
uint32_t gather_world(const struct rdzv *, uint32_t members); /* largest world of so many; or 0 */
uint32_t gather_least(const struct rdzv *);                   /* smallest world there may be */
void gather_open(struct rdzv *, uint64_t now_us);             /* -> GATHER, the clock starts */
void gather_progress(struct rdzv *, uint64_t now_us);
uint64_t gather_due(const struct rdzv *);

/* node_check.c */
void node_check_begin(struct rdzv *, struct member *const *, size_t n, uint64_t now_us);
void node_check_answer(struct rdzv *, const struct member *, const struct rdzv_check_report *);
bool node_check_has(const struct rdzv *, uint64_t member);
void node_check_repeat(struct rdzv *, uint64_t member); /* the order may have been lost */
void node_check_drop(struct rdzv *);                    /* forgets a running one */
void node_check_progress(struct rdzv *, uint64_t now_us);
void node_check_expire(struct rdzv *, uint64_t now_us);

#endif
