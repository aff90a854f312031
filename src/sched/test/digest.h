/* A number for all that a plan says, to compare plans of other builds, orders and times. */
#ifndef SCHED_TEST_DIGEST_H
#define SCHED_TEST_DIGEST_H

#include "sched/plan.h"

uint64_t digest_add(uint64_t digest, uint64_t number);
/* With every field of every entry: kinds, places, devices, ports, times, reasons and their words.
 */
uint64_t digest_plan(uint64_t digest, const struct plan *);

#endif
