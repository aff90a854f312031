/* What the kernel asks before a process of a group of cgroup v2 opens or makes a device: version 2
 * has no file for that, a program of its own kind (BPF_PROG_TYPE_CGROUP_DEVICE) is attached. */
#ifndef NODE_DEVICE_PROGRAM_H
#define NODE_DEVICE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bits of access, as the kernel has them */
#define DEVICE_MAKE  1u
#define DEVICE_READ  2u
#define DEVICE_WRITE 4u
#define DEVICE_USE   (DEVICE_READ | DEVICE_WRITE)

struct device_rule {
    char type; /* 'c' or 'b' */
    bool any_minor;
    uint32_t major, minor;
    unsigned access; /* these at most */
};
#define DEVICE_RULES_MAX 512

/* Processes of the group `dir`, and of groups below it, may do what one of the rules allows and
 * nothing else. Also what a group above refuses stays refused. 0, or -1 and errno: no right to
 * (it takes CAP_BPF or CAP_SYS_ADMIN), or a kernel without. It ends with the group. */
int device_program_attach(const char *dir, const struct device_rule *, size_t n);

#endif
