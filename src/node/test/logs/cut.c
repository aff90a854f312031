/* Hands on bytes between two sockets and cuts both after a number of bytes that is drawn, wherever
 * that is in a frame. */
#include "node/test/logs/cut.h"

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PIECE 65536u

int cut_listen(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    (void)unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 8) != 0)
        BUG("cannot listen at %s", path);
    return fd;
}

pid_t cut_fork(void)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        BUG("fork");
    if (pid == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Hands on what comes, until one side ends or `left` bytes have passed. */
static void hand_on(int a, int b, uint64_t left)
{
    static char piece[PIECE];
    struct pollfd ends[2] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };
    while (left > 0 && poll(ends, 2, -1) > 0) {
        for (int i = 0; i < 2; i++) {
            if (!ends[i].revents)
                continue;
            size_t most = left < sizeof piece ? (size_t)left : sizeof piece;
            ssize_t n = read(ends[i].fd, piece, most);
            if (n <= 0 || file_write_all(ends[1 - i].fd, piece, (size_t)n) != 0)
                return;
            left -= (uint64_t)n;
        }
    }
}

void cut_run(const struct scene *scene, int listener)
{
    struct dice dice = { .state = scene->seed };
    AUTO_FREE char *server = mem_printf("%s/server.sock", scene->dir);
    uint32_t cuts = scene->faults.cuts;
    (void)signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int agent = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        int up = connect_to(server);
        uint64_t left = UINT64_MAX;
        if (cuts > 0 && scene->faults.cut_after > 0 && up >= 0) {
            left = 1 + dice_below(&dice, scene->faults.cut_after);
            cuts--;
        }
        if (up >= 0) {
            hand_on(agent, up, left);
            close(up);
        }
        close(agent);
    }
}
