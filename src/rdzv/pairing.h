/* The pairwise node check, decided: who is checked with whom, and what the figures mean (source:
 * the rules of dlrover's network check; deviations in doc/launch.md). Pure. */
#ifndef RDZV_PAIRING_H
#define RDZV_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pairing_node {
    uint64_t took_us[2]; /* of each check round; meaningful where ok or pair_bad */
    bool ran[2], ok[2];
    bool self_bad[2]; /* its own parts (processor, disk, loopback) failed: guilty by itself */
    size_t host;      /* those that share a machine have the same; 0: one of its own */
};
/* group[i] = number of the group of node i in check round 0 or 1; returns the number of groups.
 * Round 0: neighbours (0,1) (2,3) ..., an odd last one joins the last pair. Round 1: sorted by time
 * of round 0 (failed ones count as slowest), fastest with slowest; an odd middle one joins the last
 * group; who was bad by itself in round 0 is out (PAIRING_OUT), there is nothing left to find out.
 * One node: one group of one. */
#define PAIRING_OUT UINT32_MAX
size_t pairing_make(const struct pairing_node *, size_t n, int round, uint32_t *group);

enum pairing_verdict { PAIRING_GOOD, PAIRING_STRAGGLER, PAIRING_FAULTY, PAIRING_SUSPECT };
/* FAULTY: self_bad, or failed in every round and at least one of its partners passed with another.
 * SUSPECT: failed in every round and nobody can tell whose fault it is (two or three nodes).
 * STRAGGLER: the least time of its host is more than twice the median of those of all hosts; with
 * two hosts, more than twice that of the other. Those that share a host take time from each other
 * and are not compared. Returns what stragglers were compared with; 0: nothing. */
uint64_t pairing_judge(const struct pairing_node *, size_t n, enum pairing_verdict *out);
/* Of how many hosts times were compared. */
size_t pairing_hosts(const struct pairing_node *, size_t n, const enum pairing_verdict *);

#endif
