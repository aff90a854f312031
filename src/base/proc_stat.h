/* What the kernel says of a process in /proc. A main thread may end before the others (it called
 * pthread_exit, or they are slower to leave after SIGKILL): the kernel then calls the process a
 * zombie while the others still run, hold its files and a device's memory. It has ended when they
 * have. */
#ifndef BASE_PROC_STAT_H
#define BASE_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    pid_t parent, session;
    uint64_t started; /* clock ticks since boot: a number that is given again has another one */
    bool ended;       /* every thread has: nothing is left but to take its status */
    bool leaving;     /* not ended, and its memory is given back already: no environment to read */
};
/* false: there is no such process. */
bool proc_stat_read(pid_t, struct proc_stat *);

/* The environment that it was started with, through any thread that still has it. -1 and errno. */
int proc_open_environ(pid_t);

#endif
