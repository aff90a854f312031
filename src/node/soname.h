/* The name that programs load a library by. */
#ifndef NODE_SONAME_H
#define NODE_SONAME_H

#include <stdbool.h>

#define SONAME_MAX 256

/* DT_SONAME of an ELF file for 64 bits, one part of a path; false: it is none, or says none. */
bool soname_read(const char *path, char out[SONAME_MAX]);

#endif
