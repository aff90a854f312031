/* Shell text that needs no shell. */
#ifndef NODE_PLAIN_H
#define NODE_PLAIN_H

#include <stddef.h>

#define PLAIN_MAX   4096 /* longer texts go to the shell */
#define PLAIN_WORDS 64

struct plain {
    char *argv[PLAIN_WORDS + 1];
    char text[PLAIN_MAX];
};
/* Fills *out and returns its argv when text is one plain command: words of letters that mean
 * nothing to a shell, the first one no builtin or keyword. NULL otherwise. A shell would do the
 * same as executing argv, a millisecond later. */
char **plain_words(const char *text, struct plain *out);

#endif
