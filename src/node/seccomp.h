/* The system calls that a task may not make. */
#ifndef NODE_SECCOMP_H
#define NODE_SECCOMP_H

/* From here on the calls of the table in seccomp.c are refused to this process and to what it
 * starts. Needs no_new_privs. 0, or -1 and errno: ENOSYS and EINVAL where the kernel has no
 * filters. */
int seccomp_refuse(void);
/* From here on calls that change the owner of a file, or the user or groups of a process, do
 * nothing and say that they did: in a namespace of one user and one group, where programs that
 * install packages would fail by them. Needs no_new_privs, and is for before seccomp_refuse(). 0,
 * or -1 and errno. */
int seccomp_pretend(void);

#endif
