/* Between the change of users and the program the kernel lets nobody of the account look in: what
 * this process had of the server is gone by then. It keeps its own session, so that it cannot type
 * into a terminal of root's. */
#include "main/as_main.h"

#include "base/mem.h"
#include "node/confine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATUS_CANNOT 127

static int say(const char *what)
{
    fprintf(stderr, SLURM_AS ": %s: %s\n", what, strerror(errno));
    return STATUS_CANNOT;
}

int as_main(int argc, char **argv)
{
    AUTO_FREE uint32_t *groups = mem_new(ACCOUNT_GROUPS_MAX * sizeof *groups);
    struct account account = { .name = "", .home = "", .shell = "" };
    const struct confine confine = { .account = &account };
    if (argc < 4 || !fs_user_read(argv[1], groups, ACCOUNT_GROUPS_MAX, &account.ids) ||
        account.ids.uid == 0) {
        fputs(SLURM_AS ": no account\n", stderr);
        return STATUS_CANNOT;
    }
    (void)setsid();
    if (close_range(STDERR_FILENO + 1, ~0u, 0) != 0)
        return say("close_range");
    if (confine_drop(&confine) != 0 || geteuid() == 0)
        return say("giving up the rights of root");
    if (chdir(argv[2]) != 0 && chdir("/") != 0)
        return say("/");
    (void)execvp(argv[3], argv + 3);
    return say(argv[3]);
}
