/* Freeing a large file costs as much as it is large (its blocks, its pages in memory): a little of
 * it at a time, between what others ask. */
#ifndef API_FILE_DROP_H
#define API_FILE_DROP_H

#include <uv.h>

/* Takes the descriptor of a file without a name, open for writing; the loop lives until it is gone.
 * fd < 0: nothing. */
void file_drop(uv_loop_t *, int fd);

#endif
