/* O_APPEND, since two descriptors of one file (`-o X -e X`, members of an array, steps side by
 * side) would write over each other. A file is known by its device and number: two patterns may
 * give one name, and two names one file. */
#include "step/out_files.h"

#include "base/vec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Was it not opened before? From now on it was. */
static bool is_new(struct out_files *files, const struct stat *st)
{
    for (size_t i = 0; i < files->n; i++)
        if (files->at[i].device == st->st_dev && files->at[i].number == st->st_ino)
            return false;
    const struct out_file opened = { .device = st->st_dev, .number = st->st_ino };
    vec_push(files, opened);
    return true;
}

int out_files_open(struct out_files *files, const char *path, bool append)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
    if (fd >= 0 && fstat(fd, &st) == 0 && is_new(files, &st) && !append && S_ISREG(st.st_mode))
        (void)!ftruncate(fd, 0);
    return fd;
}

void out_files_fini(struct out_files *files)
{
    vec_fini(files);
}
