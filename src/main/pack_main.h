/* Packs a directory of code into a file, in a process of its own, because it may be large. */
#ifndef MAIN_PACK_MAIN_H
#define MAIN_PACK_MAIN_H

/* pack-code DIR UNDER FILE BYTES FILES USER: a gzipped tar of DIR, below the name UNDER where that
 * is not empty, in the new FILE; limits as in base/tar_tree.h. DIR is read with the rights of USER
 * (base/fs_user.h), with one's own where that is empty. Prints its SHA-256, the number of what
 * was left out and the first of that; or, with status 1, the word of an error and its text. */
int pack_main(int argc, char **argv);

#endif
