/* The state of one rendezvous, shared by the files of this folder that move it and nobody else. It
 * is made of tables with files of their own, which know nothing of it or of each other. */
#ifndef RDZV_STATE_H
#define RDZV_STATE_H

#include "rdzv/check_answers.h"
#include "rdzv/deaths.h"
#include "rdzv/members.h"
#include "rdzv/order.h"
#include "rdzv/orders.h"
#include "rdzv/places.h"

#define SENTENCE 512u

struct rdzv {
    struct rdzv_limits limits;
    enum rdzv_phase phase;
    uint64_t term;
    bool settled; /* settings and run id are those of the first member */
    struct rdzv_settings settings;
    char *run_id;
    uint32_t expected, later; /* later: who come when there is room */
    bool held;                /* some cannot be reached: nobody ends for want of them */

    struct members members;

    bool has_round;
    uint32_t round, next_round, restarts; /* next_round: above any that was spoken of */
    uint64_t round_term;                  /* in which the round began, by this leader or another */
    struct places places;
    uint64_t world_id;
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
    struct check_answers check;
    VEC(uint64_t) barred; /* failed the node check */

    struct deaths deaths; /* of the last round that ended */
    struct rdzv_end end;  /* what everybody was told, when OVER */
    VEC(uint64_t) ended;  /* who was there at the end: told again when they ask again */

    struct orders orders;
    char waiting[SENTENCE];
    bool waiting_changed;
    uint64_t waiting_us;
};

void state_gather(struct rdzv *, uint64_t now_us); /* -> GATHER, the clock starts */

#endif
