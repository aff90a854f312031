/* Paths into a native tree: "roles.worker.ports.web", "after[0].job". Keys may have dots: the
 * longest key that fits is taken. */
#ifndef JOB_TREE_PATH_H
#define JOB_TREE_PATH_H

#include "text/tree.h"

/* The deepest node on the path that is there (root when nothing is). *rest: what of the path is
 * left, "" when all was found. */
struct text_node *tree_path_walk(struct text_node *root, const char *path, const char **rest);

#endif
