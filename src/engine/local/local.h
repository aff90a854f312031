/* The local engine: nodes of this machine (real or declared); each node's share of a generation
 * runs under a detached keeper and agent of its own that outlive the server. */
#ifndef ENGINE_LOCAL_LOCAL_H
#define ENGINE_LOCAL_LOCAL_H

#include "engine/engine.h"
#include "link/link.h"

struct uv_loop_s;

struct local_config {
    struct uv_loop_s *loop;
    struct link_hub *link;
    const char *node_program; /* path of muster-node */
    const char *socket_path;  /* the server's socket, told to agents */
    const char *runs_dir;     /* launch directories live below it */
    unsigned agents; /* at most, at the same time: each costs two descriptors; 0: no limit */
};
/* The engine takes nothing over; everything must outlive it. Destroying it leaves keepers running
 * (they belong to the jobs). */
struct engine *local_create(const struct local_config *, struct err *);

/* Does a keeper live in that launch directory? *pid: 0 when it is not known yet. */
bool local_lives(const char *dir, uint32_t *pid);

/* What this machine has: one node named after the host, cpus and memory by hwloc (loaded when
 * present) or sysconf. Filled texts live in arena. */
struct node_facts {
    const char *name;
    uint64_t cpu_milli, memory, disk;
};
struct arena;
void local_detect(struct arena *, const char *disk_path, struct node_facts *);

#endif
