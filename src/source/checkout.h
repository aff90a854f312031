/* At which branch, tag or commit a directory of code is. The files of git are read; no program of
 * git runs, because the configuration and the hooks in a directory could make it run others. Files
 * that are changed and not committed are not noticed. */
#ifndef SOURCE_CHECKOUT_H
#define SOURCE_CHECKOUT_H

#include "base/err.h"

/* 0: dir is the top of a git work tree whose HEAD is at: the name of its branch or of a tag of its
 * commit, or the commit in 7 or more hexadecimal digits. -1: ERR_CANNOT, saying what it is at. */
int checkout_check(const char *dir, const char *at, struct err *err);

#endif
