/* Is a TCP port of this host free? */
#ifndef NODE_PORTS_H
#define NODE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first of n ports that is taken, or 0. */
uint32_t ports_taken(const uint32_t *ports, size_t n);

#endif
