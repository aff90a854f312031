/* The tar is written as it is; where pieces of it show that it gets smaller, it goes through gzip
 * at its quickest level afterwards, because it goes over the network once for each machine. Weights
 * and pictures do not, and gzip would only hold up what waits for them. */
#include "main/pack_main.h"

#include "base/mem.h"
#include "base/scan.h"
#include "base/tar_tree.h"
#include "job/account.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE      (256u << 10)
#define SAMPLE     (32u << 10)
#define SAMPLES    32u
#define HASH_BYTES 32u

struct packing {
    struct tar_tree tree;
    const struct fs_user *user; /* with whose rights it is read; NULL: one's own */
};

static pid_t start_gzip(int in, int out)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
    (void)execlp("gzip", "gzip", "-n", "-1", "-c", (char *)NULL);
    _exit(127);
}

static int await_gzip(pid_t pid, struct err *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return err_set(err, ERR_SYSTEM, "there is no gzip on this machine");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(err, ERR_SYSTEM, "gzip failed: the disk of the server may be full");
}

/* From the start of in, into out. */
static int run_gzip(int in, int out, struct err *err)
{
    if (lseek(in, 0, SEEK_SET) != 0)
        return err_sys(err, "the archive");
    pid_t pid = start_gzip(in, out);
    return pid < 0 ? err_sys(err, "gzip") : await_gzip(pid, err);
}

static int copy_samples(int file, uint64_t size, int into, struct err *err)
{
    char piece[SAMPLE];
    const uint64_t step = size / SAMPLES;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        ssize_t n = pread(file, piece, sizeof piece, (off_t)(i * step));
        if (n < 0 || write(into, piece, (size_t)n) != n)
            return err_sys(err, "the archive");
    }
    return 0;
}

/* Are pieces from all over it a good deal smaller when they are compressed? -1: err is set. */
static int gets_smaller(int file, uint64_t size, struct err *err)
{
    struct stat before, after;
    if (size <= (uint64_t)SAMPLES * SAMPLE)
        return 1;
    AUTO_CLOSE int raw = memfd_create("samples", MFD_CLOEXEC);
    AUTO_CLOSE int packed = memfd_create("packed", MFD_CLOEXEC);
    if (raw < 0 || packed < 0)
        return err_sys(err, "memfd_create");
    if (copy_samples(file, size, raw, err) < 0 || run_gzip(raw, packed, err) < 0)
        return -1;
    if (fstat(raw, &before) < 0 || fstat(packed, &after) < 0)
        return err_sys(err, "the archive");
    return after.st_size < before.st_size / 5 * 4;
}

/* *file, at path, gives its place to what gzip makes of it. */
static int compress_file(int *file, const char *path, struct err *err)
{
    AUTO_FREE char *smaller = mem_printf("%s.gz", path);
    AUTO_CLOSE int out = open(smaller, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out < 0)
        return err_sys(err, "%s", smaller);
    int rc = run_gzip(*file, out, err);
    if (rc == 0 && rename(smaller, path) < 0)
        rc = err_sys(err, "%s", path);
    if (rc < 0) {
        (void)unlink(smaller);
        return -1;
    }
    close(*file);
    *file = mem_give_fd(&out);
    return 0;
}

static int read_tree(int file, const struct packing *what, struct tar_tree_summary *found,
                     struct err *err)
{
    AS_FS_USER(what->user);
    return tar_tree_write(file, &what->tree, found, err);
}

static int pack(int *file, const char *path, const struct packing *what,
                struct tar_tree_summary *found, struct err *err)
{
    struct stat st;
    if (read_tree(*file, what, found, err) != 0)
        return -1;
    if (fstat(*file, &st) < 0)
        return err_sys(err, "%s", path);
    int worth = gets_smaller(*file, (uint64_t)st.st_size, err);
    return worth > 0 ? compress_file(file, path, err) : worth;
}

/* By GnuTLS, which uses the processor's instructions: several hundred MB are hashed while a job
 * waits. */
static int hash_file(int file, char hex[2 * HASH_BYTES + 1], struct err *err)
{
    gnutls_hash_hd_t state;
    unsigned char hash[HASH_BYTES];
    AUTO_FREE unsigned char *piece = mem_new(PIECE);
    ssize_t n;
    off_t at = 0;
    if (gnutls_hash_init(&state, GNUTLS_DIG_SHA256) < 0)
        BUG("GnuTLS has no SHA-256");
    for (; (n = pread(file, piece, PIECE, at)) > 0; at += n)
        (void)gnutls_hash(state, piece, (size_t)n);
    if (n < 0)
        (void)err_sys(err, "the archive");
    gnutls_hash_deinit(state, hash);
    sodium_bin2hex(hex, 2 * sizeof hash + 1, hash, sizeof hash);
    return n < 0 ? -1 : 0;
}

int pack_main(int argc, char **argv)
{
    char hex[2 * HASH_BYTES + 1];
    struct tar_tree_summary found = { .n_left = 0 };
    AUTO_FREE uint32_t *groups = mem_new(ACCOUNT_GROUPS_MAX * sizeof *groups);
    struct fs_user user;
    struct packing what = { .user = argc == 7 && *argv[6] ? &user : NULL };
    struct err err;
    if (argc != 7 || !scan_u64(argv[4], 0, UINT64_MAX, &what.tree.limits.bytes) ||
        !scan_u64(argv[5], 0, UINT64_MAX, &what.tree.limits.files) || sodium_init() < 0 ||
        (what.user && !fs_user_read(argv[6], groups, ACCOUNT_GROUPS_MAX, &user)))
        return 1;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
    what.tree.dir = argv[1];
    what.tree.under = *argv[2] ? argv[2] : NULL;
    AUTO_CLOSE int file = open(argv[3], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = file < 0 ? err_sys(&err, "%s", argv[3]) : pack(&file, argv[3], &what, &found, &err);
    if (rc == 0)
        rc = hash_file(file, hex, &err);
    if (rc == 0)
        printf("%s %llu %s\n", hex, (unsigned long long)found.n_left, found.left);
    else
        printf("%s %s\n", err_word(err.code), err.what);
    return fflush(stdout) == 0 && rc == 0 ? 0 : 1;
}
