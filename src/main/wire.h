/* The one place that knows concrete dialects and engines by name. */
#ifndef MAIN_WIRE_H
#define MAIN_WIRE_H

#include "base/err.h"
#include "dialect/dialect.h"
#include "sched/cluster.h"

struct uv_loop_s;
struct link_hub;
struct engine;
struct facade;

const struct dialects *wire_dialects(void);
/* What the catalogue of every server has for them. */
const struct entry *wire_shipped(struct arena *, size_t *n);

/* Other systems' interfaces that this server answers, asked in this order. */
const struct facade *const *wire_facades(size_t *n);

struct wire_place {
    struct uv_loop_s *loop;
    struct link_hub *link;
    const char *node_program, *socket_path, *runs_dir;
    unsigned agents; /* at most, at the same time */
};
/* The engine of this server. Texts are copied by it. */
struct engine *wire_engine(const struct wire_place *, struct err *err);
/* This machine as one node: at least 16 cpus are offered (*soft when it has fewer). disk_path:
 * where its disk is measured. */
struct node_spec wire_machine(struct arena *, const char *disk_path, bool *soft);
/* muster-node, beside this program or in ../libexec/muster; NULL with err. In arena. */
const char *wire_node_program(struct arena *, struct err *err);

#endif
