/* Signals that people may send to the processes of a task. */
#ifndef JOB_SIGNALS_H
#define JOB_SIGNALS_H

#include <stdbool.h>

/* "SIGUSR1", "usr1" or "10"; 0: there is no such one, or it is not for people: to end a task for
 * good is stopping, and what was frozen would hold its devices for nothing. */
int signal_of_word(const char *word);
const char *signal_word(int number); /* "SIGUSR1"; NULL: not one of them */
/* Does it ask for something that a program has to know of? It goes to the processes that catch it,
 * because it would end the others: the shell around the program, for one. */
bool signal_is_a_request(int number);
/* The words of all, for messages: "SIGHUP, SIGINT, ..." */
#define SIGNAL_WORDS                                                                               \
    "SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCONT, SIGWINCH"

#endif
