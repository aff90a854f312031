/* Storage URIs of jobs and the local directories that serve them. */
#ifndef SOURCE_STORAGE_H
#define SOURCE_STORAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "job/catalogue.h"

/* Storage roots: which directory serves a URI prefix ("hdfs://host:9000/" -> "/data/hdfs"). Longest
 * prefix wins; file: URIs serve themselves. */
struct uri_root {
    const char *prefix, *dir;
};

/* uri: "file:///x", "/x", a path relative to work_dir, a configured prefix, or "dataset:ID". The
 * directory in arena, or NULL: err says that no entry serves it. Nothing is looked at on disk. */
struct storage {
    const struct uri_root *roots;
    size_t n_roots;
    const struct catalogue *catalogue;
    const char *work_dir; /* NULL: none */
};
const char *storage_map(const struct storage *, struct arena *, const char *uri, struct err *err);
/* Is dir a readable directory of at most limit bytes (0: any), and at that branch, tag or commit
 * (NULL: any)? uri is for messages. */
struct code_place {
    const char *uri, *at;
};
int storage_check_travel(const char *dir, struct err *err);     /* can it be sent to machines? */
int storage_check_python(const char *program, struct err *err); /* is one there? */
int storage_check_code(const char *dir, const struct code_place *, uint64_t limit, struct err *err);

#endif
