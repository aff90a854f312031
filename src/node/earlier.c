/* A pilot holds a lock in its directory, and its host another one: where neither is held, nobody
 * there starts or ends anything. Where there is no such directory (it lay in memory, or was
 * removed) all processes of this user are looked at: the name of the directory is in the command
 * line of its host, its keepers and agents, and in what they hand to tasks. A machine that has
 * booted has none. */
#include "node/earlier.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "node/conf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK      "pilot.lock"
#define HOST_LOCK "host.lock"
#define PROC_MAX  (4u << 20)
#define TOKEN     32u

char *earlier_folder(const char *in, size_t len)
{
    return mem_printf("%.*s/muster-%u", (int)len, in, (unsigned)geteuid());
}

/* -1: errno is EWOULDBLOCK when another process has it. */
static int take(const char *dir, const char *name, int flags)
{
    AUTO_FREE char *path = file_join(dir, name);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? mem_give_fd(&fd) : -1;
}

int earlier_lock(const char *dir, struct err *err)
{
    int fd = take(dir, LOCK, O_CREAT);
    return fd < 0 ? err_sys(err, "locking %s", dir) : fd;
}

/* ---- its directory ---- */

static bool read_digit(char c, unsigned *out)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    *out = at ? (unsigned)(at - digits) : 0;
    return at != NULL;
}

static bool is_hash_of(const char *token, const char *hash)
{
    uint8_t raw[TOKEN], sum[SHA256_DIGEST_SIZE];
    char hex[2 * sizeof sum + 1];
    struct sha256_ctx all;
    if (strlen(token) != 2 * sizeof raw)
        return false;
    for (size_t i = 0; i < sizeof raw; i++) {
        unsigned high, low;
        if (!read_digit(token[2 * i], &high) || !read_digit(token[2 * i + 1], &low))
            return false;
        raw[i] = (uint8_t)(high << 4 | low);
    }
    sha256_init(&all);
    sha256_update(&all, sizeof raw, raw);
    sha256_digest(&all, sizeof sum, sum);
    for (size_t i = 0; i < sizeof sum; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    return strcmp(hex, hash) == 0;
}

static bool is_its(const char *dir, const char *token_hash)
{
    struct stat st;
    struct conf conf;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           conf_read_host(dir, &conf, NULL) == 0 && is_hash_of(conf.token, token_hash);
}

static char *find_in(const char *folder, const struct earlier_search *search)
{
    AUTO_FREE char *front = mem_printf("%s.%s.", search->allocation, search->node);
    DIR *list = opendir(folder);
    char *found = NULL;
    for (struct dirent *d; !found && list && (d = readdir(list));) {
        AUTO_FREE char *dir = file_join(folder, d->d_name);
        if (strncmp(d->d_name, front, strlen(front)) == 0 && is_its(dir, search->token_hash))
            found = TAKE(dir);
    }
    if (list)
        closedir(list);
    return found;
}

static char *find_dir(const struct earlier_search *search)
{
    for (const char *at = search->dirs; *at; at += strcspn(at, ":"), at += *at == ':') {
        AUTO_FREE char *folder = earlier_folder(at, strcspn(at, ":"));
        char *found = find_in(folder, search);
        if (found)
            return found;
    }
    return NULL;
}

/* A host that was killed with its pilot may need a moment to go. -1: not all of it is dead. */
static int take_dir(const char *dir)
{
    AUTO_CLOSE int lock = take(dir, LOCK, 0);
    AUTO_CLOSE int host = lock < 0 ? -1 : take(dir, HOST_LOCK, O_CREAT);
    return host < 0 ? -1 : mem_give_fd(&lock);
}

/* ---- its processes ---- */

static bool has(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

static bool reads(pid_t pid, const char *file, const char *word)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/%s", (int)pid, file);
    AUTO_FREE char *text = NULL;
    size_t len;
    return file_read(path, PROC_MAX, &text, &len, NULL) == 0 && has(text, len, word);
}

static bool lies_in(pid_t pid, const char *word)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/cwd", (int)pid);
    char where[4096];
    ssize_t n = readlink(path, where, sizeof where);
    return n > 0 && has(where, (size_t)n, word);
}

/* A pilot itself has no directory in its command line. */
static bool is_pilot(pid_t pid, const struct earlier_search *search)
{
    AUTO_FREE char *allocation = mem_printf("SLURM_JOB_ID=%s", search->allocation);
    AUTO_FREE char *node = mem_printf("SLURMD_NODENAME=%s", search->node);
    AUTO_FREE char *path = mem_printf("/proc/%d/environ", (int)pid);
    AUTO_FREE char *text = NULL;
    size_t len;
    bool asks = false, is_of = false, is_on = false;
    if (file_read(path, PROC_MAX, &text, &len, NULL) < 0)
        return false;
    for (const char *word = text; word < text + len; word += strlen(word) + 1) {
        asks = asks || strncmp(word, "MUSTER_PILOT_JOIN=", 18) == 0;
        is_of = is_of || strcmp(word, allocation) == 0;
        is_on = is_on || strcmp(word, node) == 0;
    }
    return asks && is_of && is_on;
}

static bool is_own(pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d", (int)pid);
    struct stat st;
    return pid != getpid() && stat(path, &st) == 0 && st.st_uid == geteuid();
}

static bool anything_lives(const struct earlier_search *search)
{
    AUTO_FREE char *word =
        mem_printf("/muster-%u/%s.%s.", (unsigned)geteuid(), search->allocation, search->node);
    DIR *list = opendir("/proc");
    bool found = !list; /* it cannot be seen */
    for (struct dirent *d; !found && list && (d = readdir(list));) {
        uint64_t number;
        if (!scan_u64(d->d_name, 1, INT32_MAX, &number) || !is_own((pid_t)number))
            continue;
        const pid_t pid = (pid_t)number;
        found = reads(pid, "cmdline", word) || reads(pid, "environ", word) || lies_in(pid, word) ||
                is_pilot(pid, search);
    }
    if (list)
        closedir(list);
    return found;
}

enum earlier earlier_find(const struct earlier_search *search, char **dir, int *lock)
{
    AUTO_FREE char *found = find_dir(search);
    *dir = NULL;
    *lock = found ? take_dir(found) : -1;
    if (*lock >= 0)
        *dir = TAKE(found);
    if (*dir)
        return EARLIER_LEFT;
    return found || anything_lives(search) ? EARLIER_LIVES : EARLIER_NONE;
}
