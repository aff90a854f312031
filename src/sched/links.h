/* Which of a node's idle devices a task gets, where the machine says how near they are. */
#ifndef SCHED_LINKS_H
#define SCHED_LINKS_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_report;
#define LINKS_MAX 128u /* of more idle devices the lowest are taken */

/* Chooses `want` of the n idle ones (slots, ascending) into out, ascending: those that reach each
 * other best; of equal ones those that leave the others best linked; of equal ones the lowest.
 * Where nothing is known, or all are alike: the lowest. want <= n. */
void links_choose(const struct gpu_report *, const uint32_t *idle, uint32_t n, uint32_t want,
                  uint32_t *out);

#endif
