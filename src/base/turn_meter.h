/* How long the turns of a loop keep its thread busy, and with what. A turn is what happens between
 * two sleeps of the loop. Its length is processor time of the thread: what other programs of the
 * machine take, and what a commit waits for its disk, is not in it; the waits are counted apart.
 * NULL is a meter that counts nothing. */
#ifndef BASE_TURN_METER_H
#define BASE_TURN_METER_H

#include <stdint.h>

/* Upper bounds of the counted lengths, in microseconds; the last bin has none. */
#define TURN_BOUNDS_US 1000, 3000, 5000, 10000, 20000, 50000, 100000, 300000, 1000000, 3000000
enum { TURN_BINS = 11 };
#define TURN_LONG_US 50000u /* a longer turn, or a longer wait for the disk, is logged */

struct turn_figures {
    uint64_t turns, bins[TURN_BINS];
    uint64_t cpu_us_sum, cpu_us_max;   /* processor time */
    uint64_t disk_us_sum, disk_us_max; /* waits for the disk; max: of one turn */
    uint64_t longs;                    /* turns above TURN_LONG_US of processor time */
    uint64_t load_us;                  /* processor time before the first turn */
    const char *max_cause;             /* of cpu_us_max; "" before the first turn */
};

struct turn_clocks { /* in microseconds */
    uint64_t (*thread)(void), (*mono)(void);
};
struct turn_meter;
/* NULL: the clocks of base/clock.h. */
struct turn_meter *turn_meter_create(const struct turn_clocks *);
void turn_meter_destroy(struct turn_meter *);
/* The first turn begins. What there was to do until then, when nobody could ask yet, is no turn. */
void turn_meter_loaded(struct turn_meter *);
/* The loop goes to sleep: the turn is over, what comes next is another one. From the loop's thread.
 * Logs long ones: where most of their time went, and for which job. */
void turn_meter_end(struct turn_meter *);
/* A commit waited so long for its disk. */
void turn_meter_disk(struct turn_meter *, uint64_t us);
struct turn_figures turn_meter_figures(const struct turn_meter *);
/* Upper bound of a bin; 0: it has none. */
uint64_t turn_meter_bound(unsigned bin);

/* Until the scope ends the thread does this. Scopes nest: the time of the inner one is not the
 * outer one's. what: a literal ("plan", "POST /v1/jobs"); job: its number or 0. */
struct turn_work {
    struct turn_meter *meter;
    const char *what;
    uint64_t job;
};
struct turn_work turn_work_begin(struct turn_meter *, const char *what, uint64_t job);
void turn_work_end(struct turn_work *);
#define TURN_WORK(meter, what, job)                                                                \
    struct turn_work turn_work_ __attribute__((cleanup(turn_work_end), unused)) =                  \
        turn_work_begin(meter, what, job)

#endif
