/* The system calls that a task may not make. */
#ifndef NODE_SECCOMP_H
#define NODE_SECCOMP_H

/* From here on the calls of the table in seccomp.c are refused to this process and to what it
 * starts. Needs no_new_privs. 0, or -1 and errno: ENOSYS and EINVAL where the kernel has no
 * filters. */
int seccomp_refuse(void);

#endif
