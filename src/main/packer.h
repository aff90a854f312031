/* Packs directories of code in children of this program, for engines whose machines do not see
 * them. */
#ifndef MAIN_PACKER_H
#define MAIN_PACKER_H

#include "engine/machines/packing.h"

struct packer_config { /* outlives what is packed */
    struct uv_loop_s *loop;
    const char *program; /* this one */
};
struct machines_packer packer_of(const struct packer_config *);

#endif
