/* The core's clocks as its own files read them (clock.h says which is which). Internal to ctl/. */
#ifndef CTL_CORE_CLOCK_H
#define CTL_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct core_clock {
    uint64_t kept_ms; /* when the records got it last */
    int64_t set_by;   /* as it was looked at last */
    bool seen;
};
uint64_t core_now(const struct ctl *);                     /* what is decided by */
uint64_t core_date(const struct ctl *);                    /* what people read */
uint64_t core_date_of(const struct ctl *, uint64_t at_ms); /* of a core_now() that is to come */
/* With a commit: the records get a pair of both clocks, at most once a minute. */
void clock_keep(struct ctl *);
/* Was the wall clock set meanwhile? Then an event says so. */
void clock_look(struct ctl *);

#endif
