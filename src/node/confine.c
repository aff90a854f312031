/* The capabilities that stay are those that podman leaves a container: enough to install packages
 * and to change owners, not to touch the machine. They are what a program of uid 0 has; for any
 * other account the kernel takes all away when the user changes. */
#include "node/confine.h"

#include "base/mem.h"
#include "node/seccomp.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
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

static int take_account(const struct account *account)
{
    if (leave_keys() != 0 || setgroups(account->ids.n_groups, account->ids.groups) != 0 ||
        setresgid(account->ids.gid, account->ids.gid, account->ids.gid) != 0)
        return -1;
    return setresuid(account->ids.uid, account->ids.uid, account->ids.uid);
}

int confine_drop(const struct confine *confine)
{
    struct rlimit core;
    if (confine->sandbox)
        bound_capabilities();
    if (confine->account && take_account(confine->account) != 0)
        return -1;
    if (!confine->sandbox)
        return 0;
    if (getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = 0;
        (void)setrlimit(RLIMIT_CORE, &core);
    }
    return keep_capabilities();
}

int confine_seal(const struct confine *confine)
{
    if (!confine->sandbox && !confine->account)
        return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return confine->sandbox ? seccomp_refuse() : 0;
}
