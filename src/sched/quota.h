/* Shares of queues: a tree in which each queue is sure of something, may have something at most,
 * and gives every user of it something at most. What it is sure of and does not use is lent to
 * others until it is asked for.
 *
 * A demand counts against its queue and every queue above it. A queue that is sure of something
 * covers a demand when the demand asks for some of that, and everything in use stays within what is
 * sure; amounts that the queue says nothing of do not count. A demand is SURE when its queue or one
 * above covers it, and BORROWED when none does. */
#ifndef SCHED_QUOTA_H
#define SCHED_QUOTA_H

#include "base/arena.h"
#include "job/job.h"

struct vector { /* what queues count */
    uint64_t cpu_milli, memory, gpu_milli;
};
#define VECTOR_ANY                                                                                 \
    (struct vector)                                                                                \
    {                                                                                              \
        .cpu_milli = UINT64_MAX, .memory = UINT64_MAX, .gpu_milli = UINT64_MAX                     \
    }
/* All tasks that the job may ever have; saturating. */
struct vector vector_of_job(const struct job_spec *);
struct vector vector_of_role(const struct role *, uint32_t tasks);
void vector_add(struct vector *, const struct vector *);
void vector_take(struct vector *, const struct vector *);  /* not below 0 */
void vector_least(struct vector *, const struct vector *); /* of each amount the lower one */
/* The first amount that is over: "gpu", "cpu", "memory"; NULL: it is within. */
const char *vector_over(const struct vector *, const struct vector *most);

/* How a queue goes through its jobs. BACKFILL: those behind a blocked one start where they do not
 * delay it. The rest as PAI-DLC words them. FIFO: nobody passes a blocked one. ROUND_ROBIN:
 * everybody does. BALANCE: one more job passes for each QUOTA_STEP_MS that the first is blocked.
 * INTELLIGENT: from priority 7 on as FIFO, below as round robin, and each QUOTA_STEP_MS of waiting
 * raises a priority by one, up to 6. */
#define QUEUE_STRATEGIES(X)                                                                        \
    X(BACKFILL, "backfill")                                                                        \
    X(FIFO, "fifo")                                                                                \
    X(ROUND_ROBIN, "round_robin")                                                                  \
    X(BALANCE, "balance")                                                                          \
    X(INTELLIGENT, "intelligent")
#define QUEUE_STRATEGY_ENUM(id, word) QUEUE_##id,
enum queue_strategy { QUEUE_STRATEGIES(QUEUE_STRATEGY_ENUM) QUEUE_STRATEGY_N };
#undef QUEUE_STRATEGY_ENUM
const char *queue_strategy_word(enum queue_strategy);
bool queue_strategy_parse(const char *word, enum queue_strategy *);
#define QUOTA_STEP_MS 300000u

#define QUEUE_ROOT UINT32_MAX
struct queue_spec {
    const char *name;
    uint32_t parent; /* position of a queue before it, or QUEUE_ROOT */
    enum queue_strategy strategy;
    struct vector sure, most, user_most; /* 0: nothing is sure; VECTOR_ANY: no most */
    uint32_t weight;                     /* among its siblings, of what is lent; 0: 1 */
    bool keeps; /* what others borrowed of it is not taken back before it ends by itself */
};
/* The tree makes sense: parents before children, sure <= most, what children are sure of fits into
 * their parent's sure and most, what all are sure of fits into total (the cluster; NULL: unknown).
 * false: text says which queue and which amount. */
bool quota_check(const struct queue_spec *, size_t n, const struct vector *total, char text[300]);

/* ---- what is used, during a pass ---- */

struct quota;
struct quota *quota_create(struct arena *, const struct queue_spec *, size_t n);
/* A user's use of a queue counts there and in the queues above. */
void quota_charge(struct quota *, uint32_t queue, uint32_t user, const struct vector *);
void quota_refund(struct quota *, uint32_t queue, uint32_t user, const struct vector *);
uint64_t quota_version(const struct quota *); /* another one after each of these */
const struct vector *quota_used(const struct quota *, uint32_t queue); /* with those below it */
const struct vector *quota_user(const struct quota *, uint32_t user);

enum quota_answer { QUOTA_SURE, QUOTA_BORROWED, QUOTA_MOST /* of a queue */, QUOTA_USER };
struct quota_check {
    enum quota_answer answer;
    uint32_t queue;       /* whose limit it is */
    const char *resource; /* MOST, USER */
    uint64_t used, most;  /* of it */
};
/* Could it have the demand when nothing else were in use? */
bool quota_allows(const struct quota *, uint32_t queue, const struct vector *);
struct quota_check quota_ask(const struct quota *, uint32_t queue, uint32_t user,
                             const struct vector *);
/* May what a lender's job holds be ended for the claimant's demand: a queue covers the demand on
 * the claimant's side of where the two meet, and none covers the job on its own side. What was
 * ended for a claimant is BORROWED when it comes back, so it can end nobody of the claimant's side.
 */
struct quota_claim {
    uint32_t queue;
    struct vector demand;
};
bool quota_may_reclaim(const struct quota *, const struct quota_claim *claimant,
                       const struct quota_claim *lender);
/* In thousandths of what the queue is due, which is what it is sure of and weight hundredths of
 * total; of the resource where that is most, and of the queue on the way up where that is most. Who
 * has least of what it is due comes first. */
uint64_t quota_load(const struct quota *, uint32_t queue, const struct vector *total);
/* Millionths of total that the amounts are, of the resource where that is most. */
uint64_t vector_share(const struct vector *, const struct vector *total);

#endif
