/* What an image lacks for mounts: directories and empty files, as a layer over its tree. */
#ifndef NODE_RUNTIME_SKELETON_H
#define NODE_RUNTIME_SKELETON_H

#include <stdbool.h>

#define SKELETON_PATH 4096

/* Both are open directories; skeleton is empty, and gets the mode and owner of the tree. */
void skeleton_init(int tree, int skeleton);
/* The absolute path `at`, where the image has nothing: a directory or an empty file, and the
 * directories above it. */
void skeleton_add(int tree, int skeleton, const char *at, bool dir);

#endif
