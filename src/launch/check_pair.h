/* Sockets of the node check: loopback, and the exchange with the other nodes of the group. */
#ifndef LAUNCH_CHECK_PAIR_H
#define LAUNCH_CHECK_PAIR_H

#include "launch/check_group.h"

struct check_link {
    uint64_t latency_us; /* of a round trip, mean */
    uint64_t bytes, bytes_us;
    uint64_t work_us; /* both measurements */
};
/* Within this machine, both ends here. 0; -1: why says what failed. */
int check_loopback(struct check_link *, char why[CHECK_WHY_MAX]);
/* Connects the group and measures: the slowest link is told. port: of a server that index 0 may
 * open for the torch part (0: none). 0; -1: why names the partner, and nobody is connected. */
int check_partners(struct check_group *, struct check_link *, uint16_t *port,
                   char why[CHECK_WHY_MAX]);

#endif
