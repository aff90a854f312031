/* What podman refuses in a container without added capabilities, less what a program needs no
 * rights for to do to itself and its own children: memory policy and page moves (numactl), reading
 * another process of its own (OpenMPI's shared memory, py-spy, debuggers). Making namespaces and
 * mounts in them stays possible (bwrap, apptainer), as it is with podman.
 *
 * The filter is a short program of the kernel's packet filter: the processor's own calls only, the
 * numbers known when this was written, then the table one by one. The kernel works out once which
 * numbers always pass, so that those cost nothing later. Calls newer than the table say ENOSYS: the
 * C library then does without. */
#include "node/seccomp.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define OWN_CALLS AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OWN_CALLS AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH_ has this processor?"
#endif

#define NEWEST_CALL                                                                                \
    450u /* set_mempolicy_home_node, Linux 5.17: what came later was not looked at */

static const struct refused_call {
    uint16_t call, error;
} refused[] = {
/* the machine: its kernel, clock, swap, name, ports of its bus */
#ifdef __NR_create_module
    { __NR_create_module, EPERM },
    { __NR_get_kernel_syms, EPERM },
    { __NR_query_module, EPERM },
#endif
    { __NR_init_module, EPERM },
    { __NR_finit_module, EPERM },
    { __NR_delete_module, EPERM },
    { __NR_kexec_load, EPERM },
    { __NR_kexec_file_load, EPERM },
    { __NR_swapon, EPERM },
    { __NR_swapoff, EPERM },
    { __NR_reboot, EPERM },
    { __NR_acct, EPERM },
    { __NR_settimeofday, EPERM },
    { __NR_clock_settime, EPERM },
    { __NR_sethostname, EPERM },
    { __NR_setdomainname, EPERM },
    { __NR_vhangup, EPERM },
    { __NR_quotactl, EPERM },
    { __NR_quotactl_fd, EPERM },
#ifdef __NR_iopl
    { __NR_iopl, EPERM },
    { __NR_ioperm, EPERM },
#endif
    /* looking into or programming the kernel */
    { __NR_bpf, EPERM },
    { __NR_perf_event_open, EPERM },
    { __NR_lookup_dcookie, EPERM },
    { __NR_fanotify_init, EPERM },
    { __NR_open_by_handle_at, EPERM },
    { __NR_userfaultfd, EPERM },
    { __NR_vmsplice, EPERM },
    { __NR_io_uring_setup, ENOSYS },
    { __NR_io_uring_enter, ENOSYS },
    { __NR_io_uring_register, ENOSYS },
    /* keys of the kernel are not divided between containers */
    { __NR_add_key, ENOSYS },
    { __NR_request_key, ENOSYS },
    /* left over from old systems */
    { __NR_nfsservctl, EPERM },
#ifdef __NR_uselib
    { __NR_uselib, EPERM },
    { __NR_ustat, EPERM },
    { __NR_sysfs, EPERM },
    { __NR__sysctl, ENOSYS },
    { __NR_afs_syscall, ENOSYS },
    { __NR_tuxcall, ENOSYS },
    { __NR_security, ENOSYS },
    { __NR_getpmsg, ENOSYS },
    { __NR_putpmsg, ENOSYS },
#endif
};

/* To whom a file or a process belongs. */
static const uint16_t pretended[] = {
#ifdef __NR_chown
    __NR_chown,    __NR_lchown,
#endif
    __NR_fchown,   __NR_fchownat,  __NR_setuid,    __NR_setgid,    __NR_setreuid,
    __NR_setregid, __NR_setresuid, __NR_setresgid, __NR_setgroups,
};

#define CALL_AT     (uint32_t) offsetof(struct seccomp_data, nr)
#define ARCH_AT     (uint32_t) offsetof(struct seccomp_data, arch)
#define ARG_AT(i)   (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (i)) /* its low half */
#define SAY(number) (SECCOMP_RET_ERRNO | (uint32_t)(number))

struct program {
    struct sock_filter at[2 * ARRAY_LEN(refused) + 32];
    uint16_t n;
};

static void add(struct program *p, struct sock_filter one)
{
    if (p->n == ARRAY_LEN(p->at))
        BUG("the filter of system calls is too long");
    p->at[p->n++] = one;
}

static void load(struct program *p, uint32_t at)
{
    add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
}

static void result(struct program *p, uint32_t what)
{
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* The next `skip` statements only when the value is that number. */
static void only_if(struct program *p, uint32_t number, uint8_t skip)
{
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, skip));
}

/* A socket to the audit system: refused as where there is none. */
static void put_socket(struct program *p)
{
    only_if(p, __NR_socket, 6);
    load(p, ARG_AT(0));
    only_if(p, AF_NETLINK, 3);
    load(p, ARG_AT(2));
    only_if(p, NETLINK_AUDIT, 1);
    result(p, SAY(EINVAL));
    result(p, SECCOMP_RET_ALLOW);
}

/* Other systems' conventions have holes of their own; asking for the present one is usual. */
static void put_personality(struct program *p)
{
    static const uint32_t usual[] = { 0, 0x8, 0x20000, 0x20008, 0xffffffff };
    only_if(p, __NR_personality, (uint8_t)(2 + 2 * ARRAY_LEN(usual)));
    load(p, ARG_AT(0));
    for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
        only_if(p, usual[i], 1);
        result(p, SECCOMP_RET_ALLOW);
    }
    result(p, SAY(EPERM));
}

static int install(const struct program *p)
{
    struct sock_fprog all = { .len = p->n, .filter = (struct sock_filter *)(uintptr_t)p->at };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

int seccomp_pretend(void)
{
    struct program p = { .n = 0 };
    load(&p, ARCH_AT);
    only_if(&p, OWN_CALLS, 1);
    load(&p, CALL_AT);
    for (size_t i = 0; i < ARRAY_LEN(pretended); i++) {
        only_if(&p, pretended[i], 1);
        result(&p, SAY(0));
    }
    result(&p, SECCOMP_RET_ALLOW);
    return install(&p);
}

int seccomp_refuse(void)
{
    struct program p = { .n = 0 };
    load(&p, ARCH_AT);
    add(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_CALLS, 1, 0));
    result(&p, SAY(ENOSYS));
    load(&p, CALL_AT);
    add(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 0, 1));
    result(&p, SAY(ENOSYS));
    put_socket(&p);
    put_personality(&p);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        only_if(&p, refused[i].call, 1);
        result(&p, SAY(refused[i].error));
    }
    result(&p, SECCOMP_RET_ALLOW);
    return install(&p);
}
