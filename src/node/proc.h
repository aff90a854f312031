/* Processes by /proc: who descends from whom, whose environment they carry, what memory they take.
 */
#ifndef NODE_PROC_H
#define NODE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Skips blanks and reads a decimal number, moving *text behind it; false when there is none. */
bool proc_number(const char **text, uint64_t *out);
/* Process numbers of the machine; 0: not known. */
uint64_t proc_pid_max(void);
/* As many processes as a task wants, but no more than leave room for others. */
uint32_t proc_pids_most(uint32_t wanted);
/* Process start time in clock ticks since boot (tells a reused pid apart); 0 when there is no such
 * process. */
uint64_t proc_start_time(pid_t);

/* A bounded set; what does not fit is found by the next round of a caller that repeats until
 * nothing is left. */
#define PROC_LIST_MAX 1024
struct proc_list {
    size_t n;
    pid_t at[PROC_LIST_MAX];
};
/* Each appends; those are left out of which every thread has ended. */
void proc_children(pid_t parent, struct proc_list *);
void proc_descendants(pid_t root, struct proc_list *); /* without root */
void proc_each_once(struct proc_list *);               /* sorted */
bool proc_is_child(pid_t, pid_t parent);

bool proc_environ_has(pid_t, const char *entry); /* entry: "NAME=value" */
bool proc_is_leaving(pid_t);                     /* ends, and shows no environment any more */
bool proc_catches(pid_t, int number);            /* has it a handler for that signal? */
uint64_t proc_memory(pid_t);                     /* private bytes in memory, 0 when gone */

#endif
