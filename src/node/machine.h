/* What a machine is, apart from its accelerators: for its host, which says it to the server. */
#ifndef NODE_MACHINE_H
#define NODE_MACHINE_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/host.h"

/* Fills machine, boot, cpu_milli, memory, disk (of the file system of dir) and the labels: lines
 * "label=NAME=VALUE" of <dir>/host.conf. What it does not name is left alone. Texts are in arena.
 * -1: host.conf cannot be read, or a label has no name. */
int machine_read(struct arena *, const char *dir, struct wire_host_hello *, struct err *err);
/* Leaves of it what an allocation has there: numbers of conf, and of the devices those that it
 * names. Where those cannot be seen, they are made of the numbers alone: whoever gave them knows.
 */
struct conf;
void machine_limit(struct arena *, const struct conf *, struct wire_host_hello *);
/* Has the second something that the server should know? A disk fills all the time: it counts from a
 * sixteenth on. */
bool machine_differs(const struct wire_host_hello *, const struct wire_host_hello *);

#endif
