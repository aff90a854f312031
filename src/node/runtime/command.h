/* A command of a program that makes containers, word by word, and its run. What it says is kept in
 * a file, of which one line is told when it fails. */
#ifndef NODE_RUNTIME_COMMAND_H
#define NODE_RUNTIME_COMMAND_H

#include "node/runtime/root.h"

#include <stddef.h>
#include <sys/types.h>

struct command {
    char **at; /* malloc'ed each; room for COMMAND_FIXED and those of binds */
    size_t n;
};
/* With room for that many binds. */
struct command command_new(const char *program, size_t binds);
void command_free(struct command *);
void command_add(struct command *, const char *word);
void command_add_all(struct command *, const char *const *words, size_t n);
void command_pair(struct command *, const char *option, char *value); /* takes value */
/* --ulimit, not more than there may be: programs ask for a million, which only some may have. */
void command_limit(struct command *, const char *name, unsigned resource);

struct command_variable {
    const char *name, *value;
};
/* Its status, as from waitpid(); with these variables besides its own (NULL: none), in a session of
 * its own. said: what it says on stderr; -1: nobody reads it. Waits. */
int command_run(struct command *, const struct command_variable *, size_t n, int said);
/* The file at that path, emptied or made, for what is said: a descriptor, or -1 and why. */
int command_open_said(const char *path, char why[ROOT_WHY]);
/* What was said, malloc'ed, without blanks at its end. */
char *command_said(int said);

/* why: that, and errno. -1. */
__attribute__((format(printf, 2, 3))) int command_fail(char why[ROOT_WHY], const char *fmt, ...);
/* May a program that has root's rights show it? 1; 0: it is not there, and need not be; -1: why. */
int command_may_show(const char *program, const struct root_bind *, char why[ROOT_WHY]);
/* A number of a process that stands in a file. 0 or -1. */
int command_read_pid(const char *path, pid_t *pid);
/* Was that process started with this in its environment? Its number may be another's by now, as
 * after the machine was started anew. */
bool command_pid_has(pid_t, const char *entry);

#endif
