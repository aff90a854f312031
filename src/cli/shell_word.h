/* Words as a shell reads them, for lines that are printed to be typed. */
#ifndef CLI_SHELL_WORD_H
#define CLI_SHELL_WORD_H

#include "base/buf.h"

/* Adds the word as one word of a shell line: as it is when nothing in it is special, else in single
 * quotes. */
void shell_word(struct buf *, const char *word);

#endif
