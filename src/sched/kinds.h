/* Kinds: nodes that are alike in what placing asks about what a node is, whatever is free there. */
#ifndef SCHED_KINDS_H
#define SCHED_KINDS_H

#include "sched/form.h"

/* A label with more values than this says which node it is (or which rack), not of what kind. */
#define KINDS_VALUES 16u

/* Types beyond these are one. */
#define KINDS_TYPES 64u

struct kinds {
    uint32_t *of; /* the kind of each node */
    uint32_t n;
    uint32_t *type;     /* of each kind: the type of its devices */
    const char **types; /* as forms spell them first; at most KINDS_TYPES are told apart */
    uint32_t n_types;
    struct string_map *fine; /* labels on which nodes of one kind may differ */
    bool mixed;              /* some node has devices of several models */
};

/* levels: of the topology; their labels may differ on nodes of one kind. */
struct kinds *kinds_create(struct forms, const struct words *levels);
void kinds_destroy(struct kinds *); /* NULL-safe */
/* Position of a type, whatever its letter case; UINT32_MAX: no node has it. */
uint32_t kinds_type(const struct kinds *, const char *name);
/* Do nodes of one kind agree on the label? */
bool kinds_tell(const struct kinds *, const char *label);

#endif
