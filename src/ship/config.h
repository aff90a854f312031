/* What a continuous backup is told when it begins: where to, how often, what it takes from. */
#ifndef SHIP_CONFIG_H
#define SHIP_CONFIG_H

#include "ship/target_place.h"

#include <stdint.h>

struct uv_loop_s;
struct ctl;
struct store;
struct store_pages;
struct shipper_config {
    struct uv_loop_s *loop;
    struct ctl *ctl;
    struct store *store;
    struct store_pages *pages; /* since the records were opened; taken */
    const char *program;       /* muster itself */
    struct target_place
        place; /* its texts, "" for what is not said, and these have to live as long */
    const char *state_dir, *version, *seal_key;
    uint64_t every_ms; /* a segment */
    uint64_t base_ms;  /* a whole copy */
    uint64_t keep;     /* whole copies, each with what followed it */
};

#endif
