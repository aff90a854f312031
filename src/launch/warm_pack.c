/* Anonymous files (memfd) and messages with descriptors: an interpreter gets its program, its
 * request and its sockets by descriptor, and reads files by their path in /proc/self/fd. */
#include "launch/warm_pack.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define FDS_MAX     8
#define REQUEST_MAX (16u << 20)

static int to_memory_file(const char *name, const void *data, size_t len)
{
    AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || file_write_all(fd, data, len) < 0)
        return -1;
    return mem_give_fd(&fd);
}

int warm_pack_bytes(const void *data, size_t len)
{
    return to_memory_file("muster-warm", data, len);
}

int warm_pack_request(const char *cwd, char *const *env)
{
    AUTO_BUF struct buf out = BUF_INIT(REQUEST_MAX);
    buf_add(&out, cwd ? cwd : "", (cwd ? strlen(cwd) : 0) + 1);
    for (; *env; env++)
        buf_add(&out, *env, strlen(*env) + 1);
    return out.overflow ? -1 : to_memory_file("muster-rank", out.data, out.len);
}

int warm_send(int fd, const void *text, size_t len, const int *fds, size_t n_fds)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int) * FDS_MAX)];
    } control;
    struct iovec part = { .iov_base = (void *)(uintptr_t)text, .iov_len = len };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (n_fds > FDS_MAX)
        return -1;
    if (n_fds > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.space;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        struct cmsghdr *first = CMSG_FIRSTHDR(&message);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(first), fds, sizeof(int) * n_fds);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len ? 0 : -1;
}
