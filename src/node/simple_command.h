/* Shell text that needs no shell. */
#ifndef NODE_SIMPLE_COMMAND_H
#define NODE_SIMPLE_COMMAND_H

#include <stddef.h>

#define SIMPLE_COMMAND_MAX   4096 /* longer texts go to the shell */
#define SIMPLE_COMMAND_WORDS 64

struct simple_command {
    char *argv[SIMPLE_COMMAND_WORDS + 1];
    char text[SIMPLE_COMMAND_MAX];
};
/* Fills *out and returns its argv when text is one simple command: words of letters that mean
 * nothing to a shell, the first one no builtin or keyword. NULL otherwise. A shell would do the
 * same as executing argv, a millisecond later. */
char **simple_command_words(const char *text, struct simple_command *out);

#endif
