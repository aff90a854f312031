/* The capabilities that stay are those that podman leaves a container: enough to install packages
 * and to change owners, not to touch the machine. They are what a program of uid 0 has; for any
 * other account the kernel takes all away when the user changes. */
#include "node/confine.h"

#include "base/mem.h"
#include "node/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned kept[] = {
    CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,           CAP_KILL,       CAP_SETGID,
    CAP_SETUID, CAP_SETPCAP,      CAP_SETFCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
};

static bool is_kept(unsigned capability)
{
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (kept[i] == capability)
            return true;
    return false;
}

/* What no program may get back, also not by a file that has capabilities. A process that may not
 * change the bound has none of these rights itself. */
static void bound_capabilities(void)
{
    for (unsigned i = 0; prctl(PR_CAPBSET_READ, i) >= 0; i++)
        if (!is_kept(i))
            (void)prctl(PR_CAPBSET_DROP, i);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static int keep_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
    if (syscall(SYS_capget, &header, data) != 0)
        return -1;
    for (size_t word = 0; word < ARRAY_LEN(data); word++) {
        uint32_t mask = 0;
        for (unsigned bit = 0; bit < 32; bit++)
            mask |= is_kept((unsigned)(32 * word) + bit) ? 1u << bit : 0;
        data[word].effective &= mask;
        data[word].permitted &= mask;
        data[word].inheritable = 0;
    }
    return (int)syscall(SYS_capset, &header, data);
}

/* What lies in the keyring of the server's session is nobody else's. The new one counts as root's,
 * whose number of keys is not as small as that of others. */
static int leave_keys(void)
{
    long joined = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    return joined < 0 && errno != ENOSYS && errno != EPERM ? -1 : 0;
}

static int take_groups(const struct confine *confine, const uint32_t *own, size_t n)
{
    AUTO_FREE gid_t *all = mem_new((n + confine->n_more_groups + 1) * sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = own[i];
    for (size_t i = 0; i < confine->n_more_groups; i++)
        all[n + i] = confine->more_groups[i];
    return setgroups(n + confine->n_more_groups, all);
}

/* Without an account: an agent that is not root can take none. */
static void add_groups(const struct confine *confine)
{
    gid_t own[ACCOUNT_GROUPS_MAX];
    int n = getgroups(ACCOUNT_GROUPS_MAX, own);
    if (n >= 0)
        (void)!take_groups(confine, own, (size_t)n);
}

static int take_account(const struct confine *confine)
{
    const struct account *account = confine->account;
    if (leave_keys() != 0 ||
        take_groups(confine, account->ids.groups, account->ids.n_groups) != 0 ||
        setresgid(account->ids.gid, account->ids.gid, account->ids.gid) != 0)
        return -1;
    return setresuid(account->ids.uid, account->ids.uid, account->ids.uid);
}

static int become_root_inside(const struct confine *confine, struct ids_writer *writer)
{
    return confine->user_ns ? setns(*confine->user_ns, CLONE_NEWUSER) : ids_enter(writer, 0);
}

static void no_core_files(void)
{
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core) != 0)
        return;
    core.rlim_cur = 0;
    (void)setrlimit(RLIMIT_CORE, &core);
}

int confine_drop(const struct confine *confine)
{
    bool inside = confine->root_inside;
    const struct account *account = confine->account;
    struct ids_writer writer = { .pid = 0 };
    if (confine->sandbox)
        bound_capabilities();
    if (inside && account && account->ids.uid != 0 && !confine->user_ns)
        ids_writer_start(&writer, &confine->ids, account->ids.uid, account->ids.gid);
    if (account && take_account(confine) != 0)
        return -1;
    if (!account && confine->n_more_groups > 0)
        add_groups(confine);
    if (inside && geteuid() != 0 && become_root_inside(confine, &writer) != 0)
        return -1;
    if (!confine->sandbox && !inside)
        return 0;
    if (inside)
        bound_capabilities(); /* a new namespace has all of them again */
    if (confine->sandbox)
        no_core_files();
    return keep_capabilities();
}

int confine_seal(const struct confine *confine)
{
    if (!confine->sandbox && !confine->account && !confine->root_inside)
        return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    if (confine->root_inside && !ids_has_many() && seccomp_pretend() != 0)
        return -1;
    return confine->sandbox ? seccomp_refuse() : 0;
}
