/* What a kind of target is made of; target.h is what others use. */
#ifndef SHIP_TARGET_OPS_H
#define SHIP_TARGET_OPS_H

#include "base/err.h"
#include "ship/chain_name.h"
#include "ship/target_place.h"

#include <stddef.h>
#include <sys/types.h>

struct target;
struct target_file;
struct target_ops {
    int (*list)(struct target *, struct chains *, struct err *); /* in any order */
    int (*begin)(struct target *, uint64_t chain, struct err *);
    int (*remove)(struct target *, uint64_t chain, uint64_t until_ms, struct err *);
    void (*destroy)(struct target *);
    /* Files: create and get make one (NULL: err); publish, abandon and end take it. */
    struct target_file *(*create)(struct target *, const char *name, struct err *);
    int (*put)(struct target_file *, const void *data, size_t n, struct err *);
    int (*publish)(struct target_file *, struct err *);
    void (*abandon)(struct target_file *);
    struct target_file *(*get)(struct target *, const char *name, struct err *);
    ssize_t (*read)(struct target_file *, void *to, size_t n, struct err *);
    void (*end)(struct target_file *);
};
/* The first member of each kind. */
struct target {
    const struct target_ops *ops;
    char *where; /* without a slash behind it; the ops' to free */
};
struct target_file {
    struct target *target;
    char *name; /* the ops' to free */
};

struct target *target_open_dir(const char *where, struct err *);
struct target *target_open_s3(const struct target_place *, struct err *);

#endif
