/* An amount that is said in numbers or as a part of a larger one: {gpu: 8}, {gpu: 50%}, or 40% of
 * everything. */
#ifndef JOB_PORTION_H
#define JOB_PORTION_H

#include "job/field.h"

struct portion {
    uint64_t value;      /* thousandths, or bytes of memory; percent: thousandths of one percent */
    bool percent, given; /* not given: nothing is said */
};
#define PORTION_WHOLE 100000u /* 100 % */
struct portions {
    struct portion all; /* a percentage of what no other member says */
    struct portion cpu, memory, gpu;
};
extern const struct field portions_fields[];

/* What is said of one amount: by itself, or by all. */
struct portion portion_or_all(const struct portion *, const struct portions *);
/* Of whole, rounded down; whole UINT64_MAX (no bound) stays that. */
uint64_t portion_of(const struct portion *, uint64_t whole);
/* One percentage, as a number or with a sign, for hooks of other tables. */
int portion_decode_percent(const struct field_context *, const struct text_node *,
                           struct portion *);

#endif
