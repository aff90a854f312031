/* Tar archives (ustar) of plain files, as backups are: written member by member, and read back by
 * who wrote them. For archives of strangers there is base/untar.h. */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK 512u
#define TAR_NAME  100u
#define TAR_END   (2 * TAR_BLOCK) /* zeros behind the last member */

struct tar_member {
    char name[TAR_NAME + 1];
    uint64_t size, time_s;
};
/* Its bytes follow, then zeros to the next block: tar_padding() of them. */
void tar_header(const struct tar_member *, unsigned char out[TAR_BLOCK]);
size_t tar_padding(uint64_t size);
/* 1: a member; 0: the end (the block is zeros). ERR_INPUT: it is neither, or no plain file. */
int tar_read_header(const unsigned char block[TAR_BLOCK], struct tar_member *, struct err *);

#endif
