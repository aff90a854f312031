/* One cgroup per task, v1 or v2, where this machine lets us. */
#ifndef NODE_CGROUP_H
#define NODE_CGROUP_H

#include "base/err.h"
#include "node/devices.h"
#include "node/proc.h"

#include <stdbool.h>
#include <stdint.h>

#define CGROUP_PATH 512
enum cgroup_part { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_DEVICES, CGROUP_PARTS };

/* Where groups can be made: a writable directory per controller (v2: the same one for all), ""
 * where there is none. device_program: that of CGROUP_DEVICES is v2's (node/device_program.h). */
struct cgroup_site {
    bool unified, device_program;
    char base[CGROUP_PARTS][CGROUP_PATH];
};
void cgroup_find(struct cgroup_site *);

struct cgroup_limits {
    uint64_t cpu_milli, memory; /* 0: none */
    uint32_t pids;
    const struct devices *devices; /* it may open no others; NULL: all that it can reach */
};
struct cgroup {
    bool unified, device_program;
    char dir[CGROUP_PARTS][CGROUP_PATH]; /* "" where not made */
};
/* Makes the group `muster-<id>` with the limits that are set. A limit that could not be put in
 * place leaves its dir "". */
void cgroup_make(const struct cgroup_site *, const char *id, const struct cgroup_limits *,
                 struct cgroup *);
bool cgroup_has(const struct cgroup *, enum cgroup_part);
void cgroup_join(const struct cgroup *);                        /* the calling process */
void cgroup_members(const struct cgroup *, struct proc_list *); /* appends */
void cgroup_kill(const struct cgroup *);
void cgroup_remove(struct cgroup *);
uint64_t cgroup_memory_peak(const struct cgroup *); /* 0: unknown */
uint64_t cgroup_oom_kills(const struct cgroup *);
/* Kills and removes every group left below site whose name starts with `muster-<prefix>`. How many
 * are still there: what was killed takes a moment to go. */
size_t cgroup_sweep(const struct cgroup_site *, const char *prefix);

/* Out-of-memory kills of the whole machine since boot, 0 when the kernel does not count. */
uint64_t cgroup_machine_oom_kills(void);

#endif
