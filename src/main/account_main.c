/* An account is a person's when its number is not one of the system's: UID_MIN and UID_MAX of
 * /etc/login.defs (shadow; 1000 to 60000 where the file is silent). */
#include "main/account_main.h"

#include "base/mem.h"
#include "base/scan.h"
#include "job/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define UID_MIN  1000u
#define UID_MAX  60000u
#define ATTEMPTS 3

static uint64_t login_number(const char *key, uint64_t usual)
{
    FILE *file = fopen("/etc/login.defs", "re");
    char line[512], word[64], text[64];
    uint64_t value = usual, read;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%63s %63s", word, text) == 2 && strcmp(word, key) == 0 &&
            scan_u64(text, 0, UINT32_MAX - 1, &read))
            value = read;
    if (file)
        fclose(file);
    return value;
}

static const struct passwd *find(const char *name)
{
    const struct passwd *found = NULL;
    uint64_t uid;
    for (int i = 0; !found && i < ATTEMPTS; i++) {
        errno = 0;
        found = getpwnam(name);
        if (!found && strncmp(name, "uid", 3) == 0 && scan_u64(name + 3, 0, UINT32_MAX - 1, &uid))
            found = getpwuid((uid_t)uid);
        if (errno == 0 || errno == ENOENT || errno == ESRCH)
            break;
    }
    return found;
}

static void put_groups(const char *name, gid_t main_group)
{
    gid_t *groups = mem_new(ACCOUNT_GROUPS_MAX * sizeof *groups);
    int n = (int)ACCOUNT_GROUPS_MAX;
    if (getgrouplist(name, main_group, groups, &n) < 0)
        n = (int)ACCOUNT_GROUPS_MAX;
    fputs("groups=", stdout);
    for (int i = 0; i < n; i++)
        printf("%s%u", i ? "," : "", groups[i]);
    putchar('\n');
    free(groups);
}

int account_main(int argc, char **argv)
{
    const struct passwd *user = argc == 2 ? find(argv[1]) : NULL;
    if (argc != 2)
        return 1;
    if (!user)
        return errno == 0 || errno == ENOENT || errno == ESRCH ? 0 : 1;
    bool ordinary = user->pw_uid >= login_number("UID_MIN", UID_MIN) &&
                    user->pw_uid <= login_number("UID_MAX", UID_MAX);
    printf("uid=%u\ngid=%u\nhome=%s\nshell=%s\nordinary=%s\n", user->pw_uid, user->pw_gid,
           user->pw_dir, user->pw_shell, ordinary ? "yes" : "no");
    put_groups(user->pw_name, user->pw_gid);
    return fflush(stdout) == 0 ? 0 : 1;
}
