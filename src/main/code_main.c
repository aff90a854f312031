/* Nothing is written, so that nobody is needed to own it: of root nothing is left but the open
 * archive. */
#include "main/code_main.h"

#include "base/mem.h"
#include "base/scan.h"
#include "base/untar.h"
#include "node/seccomp.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define NOBODY 65534u
#define CPU_S  120u

static bool limit(int what, rlim_t most)
{
    struct rlimit l;
    if (getrlimit((__rlimit_resource_t)what, &l) != 0)
        return false;
    l.rlim_cur = l.rlim_max = most < l.rlim_max ? most : l.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &l) == 0;
}

/* Where only some users are mapped (a rootless container) root is no more than one of them. */
static bool be_nobody(void)
{
    if (geteuid() != 0)
        return true;
    (void)setgroups(0, NULL);
    return (setresgid(NOBODY, NOBODY, NOBODY) == 0 || errno == EINVAL) &&
           (setresuid(NOBODY, NOBODY, NOBODY) == 0 || errno == EINVAL);
}

static bool give_up_rights(void)
{
    return be_nobody() && limit(RLIMIT_CPU, CPU_S) && limit(RLIMIT_FSIZE, 0) &&
           limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, 32) &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

int code_main(int argc, char **argv)
{
    struct untar_limits limits;
    struct untar_summary found;
    struct err err;
    if (argc != 4 || !scan_u64(argv[2], 0, UINT64_MAX, &limits.bytes) ||
        !scan_u64(argv[3], 0, UINT64_MAX, &limits.files) || !give_up_rights())
        return 1;
    (void)seccomp_refuse(); /* a kernel without filters: what was given up stays given up */
    int rc = untar_gzipped(STDIN_FILENO, argv[1], -1, &limits, &found, &err);
    if (rc != 0)
        printf("%s %s", err_word(err.code), err.what);
    (void)fflush(stdout);
    _exit(rc == 0 ? 0 : 1); /* what runs at an exit may need rights that are gone */
}
