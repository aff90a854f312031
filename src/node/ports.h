/* TCP ports of this host for a task: a port is its own when nobody listens on it and no other task
 * of any server has been given it. */
#ifndef NODE_PORTS_H
#define NODE_PORTS_H

#include <stddef.h>
#include <stdint.h>

struct held_ports {
    int *held; /* descriptors: closed, the ports are free; so they are when their process dies */
    size_t n;
};

enum port_state {
    PORT_FREE,
    PORT_LISTENED_ON, /* by any program */
    PORT_OF_A_TASK,   /* of another server, that may not listen yet */
};

/* Takes the ports for a task. PORT_FREE; or why not, with the first one that is taken in *which and
 * none of them held. */
enum port_state ports_take(struct held_ports *, const uint32_t *ports, size_t n, uint32_t *which);
void ports_give(struct held_ports *); /* none taken: nothing */

#endif
