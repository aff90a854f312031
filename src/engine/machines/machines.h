/* The engine for a handful of machines that have no cluster software: a host on each (node/host.h),
 * which connects to this server, starts agents there and says which of them live. Agents speak with
 * the server by connections of their own. */
#ifndef ENGINE_MACHINES_MACHINES_H
#define ENGINE_MACHINES_MACHINES_H

#include "base/pairs.h"
#include "engine/engine.h"
#include "engine/machines/packing.h"
#include "link/link.h"

struct uv_loop_s;

struct machines_config {
    struct uv_loop_s *loop;
    struct link_hub *link; /* outlives the engine */
    uint64_t leave_ms;     /* how long agents wait for their logs and facts to be taken; 0: a day */
    struct machines_packer packer; /* start NULL: jobs whose code lies here are refused */
    const char *notes; /* folder, for files that it leaves in directories of code while jobs of them
                        * run; NULL: it leaves none */
    bool allocates;    /* ENGINE_ALLOCATES: whoever adds nodes asks for some */
};
/* A node is up while its host is connected, and down from when it is not: unreachable, which says
 * nothing of its runs. A run is gone when its host says that nothing of it lives, when its machine
 * came back without it, or when the machine was fenced. */
struct engine *machines_create(const struct machines_config *);

struct machine_bounds { /* of what its host may say that it has; 0: any */
    uint64_t cpu_milli, memory;
    uint32_t gpus;
};
struct machine_entry {
    const char *node;
    const char *address; /* what its peers call it; "": the address that its host connects from */
    struct pairs labels; /* beside those that its host says */
    unsigned char token_hash[32]; /* of its host's token, as in link_expect */
    const char *engine;           /* that gave it, in a word for people; NULL: somebody added it */
    const char *host;             /* the physical one, whose ports it shares; NULL: itself. Another
                                   * one of the same boot at the same address comes before it */
    const char *gpu_type; /* what its devices are called besides, by that engine; NULL or "" */
    uint64_t lasts_ms, for_job; /* as in job/node_spec.h, too: */
    uint32_t of_nodes;
    const char *account; /* that its host runs as, of those that jobs have; NULL: none of them */
    struct machine_bounds bounds; /* of such a host */
};
/* A machine that may connect, or what is now true of one that may. To be told before recover. */
void machines_add(struct engine *, const struct machine_entry *);
/* Jobs there may last so long from now on. */
void machines_limit(struct engine *, const char *node, uint64_t lasts_ms);
bool machines_have(const struct engine *, const char *node);
bool machines_reach(const struct engine *, const char *node); /* its host is connected */
/* As hosts_ids. */
void machines_ids(const struct engine *, const char *node, const char **machine, const char **boot);
struct machine_store { /* where images are kept on a machine */
    const char *dir;
    uint64_t images, bytes; /* as they count for the limit */
    uint64_t free;          /* bytes on its disk */
};
/* As its host said last; dir lasts until it says it again. false: there are none, the host is not
 * connected, or of a version that does not say. */
bool machines_store(const struct engine *, const char *node, struct machine_store *);
/* After recover, once: those that have not come back yet are down. */
void machines_begin(struct engine *);
/* It is no machine of this server any more: the node is gone, and its runs, from the loop. Not from
 * inside a fact. */
void machines_remove(struct engine *, const char *node);
struct machines_image; /* engine/machines/images.h */
/* FACT_IMAGE, EARLY_..., of generation 0 and that node tells how it goes, from the loop. */
void machines_fetch_image(struct engine *, const struct machines_image *);
void machines_drop_images(struct engine *, uint64_t job); /* it wants none any more */
/* Somebody made sure that nothing lives there (switched it off, say): its runs are gone, from the
 * loop. What it still has when it comes back is ended. */
void machines_fence(struct engine *, const char *node);

#endif
