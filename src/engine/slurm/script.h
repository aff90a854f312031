/* The batch script of a pilot: what Slurm starts on the first node of the allocation. Slurm keeps
 * it in clear, and administrators can read it: of secrets it has the token that nodes join by. */
#ifndef ENGINE_SLURM_SCRIPT_H
#define ENGINE_SLURM_SCRIPT_H

#include "base/buf.h"
#include "base/err.h"
#include "job/words.h"

#include <stdint.h>

#define SLURM_SCRIPT_MAX (4u << 20) /* Slurm's own limit, unless max_script_size says another */

struct slurm_script {
    const struct words *places; /* ADDRESS:PORT, where nodes reach this server, best first */
    const char *follow;         /* file of a home that nodes may share, which says where the server
                                 * is by then (node/conf.h); "": it stays where it is */
    const char *pin;            /* SHA-256 of its certificate there, hex */
    const char *join;           /* token, hex */
    const char *program_path;   /* muster-node here, which the nodes may see as well */
    const char *program_hash;   /* SHA-256 of it, hex */
    const char *packed_hash;    /* of what comes out of the next, which may lack its symbols */
    const char *unpacks;        /* "xz" or "gzip" */
    const void *packed;         /* muster-node, packed so */
    size_t packed_len;
};
/* ERR_TOO_LARGE: Slurm would not take it. */
int slurm_script_make(const struct slurm_script *, struct buf *out, struct err *);

#endif
