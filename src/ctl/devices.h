/* Devices of nodes: a task's place has positions among those that its node gives out; programs know
 * them by the driver's numbers, the kernel by those of their files. */
#ifndef CTL_DEVICES_H
#define CTL_DEVICES_H

#include "base/arena.h"
#include "job/gpu.h"
#include "job/launch.h"
#include "job/place.h"
#include "text/tree.h"

#include <stdint.h>

struct ctl;
struct node_spec;

/* place->n_gpus of each, in arena; of declared devices their positions. */
uint32_t *devices_numbers(const struct ctl *, struct arena *, const struct task_place *);
uint32_t *devices_minors(const struct ctl *, struct arena *, const struct task_place *);
/* What CUDA knows them by where their numbers do not say it: UUIDs on a machine with devices in MIG
 * mode; else NULL. */
const char **devices_names(const struct ctl *, struct arena *, const struct task_place *);
/* What instances of MIG they are; NULL: all are whole. */
struct gpu_part *devices_parts(const struct ctl *, struct arena *, const struct task_place *);
/* How the task holds them against other servers of the machine. */
enum gpu_hold devices_hold(const struct ctl *, const struct task_place *);
/* Bytes that the driver says the first of them has; 0: unknown. */
uint64_t devices_memory(const struct ctl *, const struct task_place *);
/* Where tasks of that account (NULL: the server's own) with shares of devices reach their MPS
 * daemon; NULL: there is none. */
const char *devices_mps(const struct ctl *, struct arena *, const struct account *);
/* Are all devices of that place given out? */
bool devices_are_open(const struct ctl *, const struct task_place *);
/* Why it is not given out; NULL: it is. */
const char *devices_why(const struct ctl *, const char *node, uint32_t device);
/* The same of the first that is not given out; NULL: all are. */
const char *devices_closed(const struct ctl *, struct arena *);
/* What the driver says of each, for answers. */
struct text_node *devices_tree(const struct ctl *, struct arena *, const struct node_spec *);
/* The same of those of a place; NULL: it has none, or none that a driver knows. */
struct text_node *devices_of_place(const struct ctl *, struct arena *, const struct task_place *);

#endif
