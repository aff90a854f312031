/* The tar goes through gzip into the file, whose bytes are then read once more for their hash. The
 * quickest level: what is packed goes over the network once for each machine, and waits for it. */
#include "main/pack_main.h"

#include "base/mem.h"
#include "base/scan.h"
#include "base/tar_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE (256u << 10)

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

static int pack(int file, const struct tar_tree *tree, struct tar_tree_found *found,
                struct err *err)
{
    struct err zip;
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return err_sys(err, "pipe");
    pid_t pid = start_gzip(pipes[0], file);
    close(pipes[0]);
    int rc = pid < 0 ? err_sys(err, "gzip") : tar_tree_write(pipes[1], tree, found, err);
    close(pipes[1]);
    if (pid < 0 || await_gzip(pid, &zip) == 0 || (rc != 0 && err->code == ERR_TOO_LARGE))
        return rc;
    *err = zip; /* it is why nothing could be written */
    return -1;
}

static int hash_file(int file, char hex[2 * crypto_hash_sha256_BYTES + 1], struct err *err)
{
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    AUTO_FREE unsigned char *piece = mem_new(PIECE);
    ssize_t n;
    off_t at = 0;
    crypto_hash_sha256_init(&state);
    for (; (n = pread(file, piece, PIECE, at)) > 0; at += n)
        crypto_hash_sha256_update(&state, piece, (size_t)n);
    if (n < 0)
        return err_sys(err, "the archive");
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(hex, 2 * sizeof hash + 1, hash, sizeof hash);
    return 0;
}

int pack_main(int argc, char **argv)
{
    char hex[2 * crypto_hash_sha256_BYTES + 1];
    struct tar_tree_found found = { .n_left = 0 };
    struct tar_tree tree = { .dir = NULL };
    struct err err;
    if (argc != 6 || !scan_u64(argv[4], 0, UINT64_MAX, &tree.limits.bytes) ||
        !scan_u64(argv[5], 0, UINT64_MAX, &tree.limits.files) || sodium_init() < 0)
        return 1;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
    tree.dir = argv[1];
    tree.under = *argv[2] ? argv[2] : NULL;
    AUTO_CLOSE int file = open(argv[3], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = file < 0 ? err_sys(&err, "%s", argv[3]) : pack(file, &tree, &found, &err);
    if (rc == 0)
        rc = hash_file(file, hex, &err);
    if (rc == 0)
        printf("%s %llu %s\n", hex, (unsigned long long)found.n_left, found.left);
    else
        printf("%s %s\n", err_word(err.code), err.what);
    return fflush(stdout) == 0 && rc == 0 ? 0 : 1;
}
