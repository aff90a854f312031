/* Files that a step or its script writes, by name. */
#ifndef STEP_OUT_FILES_H
#define STEP_OUT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct out_file {
    dev_t device;
    ino_t number;
};
struct out_files { /* those that were opened; zeroed: none */
    struct out_file *at;
    size_t n, cap;
};
/* For writing at its end, whoever else writes to it. Emptied, unless append or it was opened here
 * before, by whatever name: what was written since stays. -1 and errno. */
int out_files_open(struct out_files *, const char *path, bool append);
void out_files_fini(struct out_files *); /* the files stay open */

#endif
