/* The zip archive is the least that Python's zipimport takes (APPNOTE 6.3: local header, stored
 * data, central directory, end record); a path that leads to it serves as an entry of PYTHONPATH.
 */
#include "launch/warm_pack.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/little.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define FDS_MAX       8
#define ARCHIVE_MAX   (1u << 20)
#define REQUEST_MAX   (16u << 20)
#define DOS_DATE_1980 0x21u /* zip has no "unknown" */

static void put(struct buf *out, uint32_t value, size_t n)
{
    unsigned char bytes[4];
    little_put(bytes, value, n);
    buf_add(out, bytes, n);
}

/* What local header and central directory share. */
static void put_file_facts(struct buf *out, const char *name, uint32_t crc, size_t len)
{
    put(out, 20, 2); /* version needed */
    put(out, 0, 4);  /* flags, stored */
    put(out, DOS_DATE_1980 << 16, 4);
    put(out, crc, 4);
    put(out, (uint32_t)len, 4);
    put(out, (uint32_t)len, 4);
    put(out, (uint32_t)strlen(name), 2);
    put(out, 0, 2); /* extra */
}

static int to_memory_file(const char *name, const struct buf *data)
{
    AUTO_CLOSE int fd = data->overflow ? -1 : memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || file_write_all(fd, data->data, data->len) < 0)
        return -1;
    return mem_give_fd(&fd);
}

int warm_pack_archive(const char *name, const void *text, size_t len)
{
    AUTO_BUF struct buf zip = BUF_INIT(ARCHIVE_MAX);
    uint32_t crc = hash_crc32(text, len);
    put(&zip, 0x04034b50, 4);
    put_file_facts(&zip, name, crc, len);
    buf_puts(&zip, name);
    buf_add(&zip, text, len);
    size_t directory = zip.len;
    put(&zip, 0x02014b50, 4);
    put(&zip, 20, 2); /* made by */
    put_file_facts(&zip, name, crc, len);
    put(&zip, 0, 2); /* comment */
    put(&zip, 0, 4); /* disk, kind */
    put(&zip, 0, 4); /* mode */
    put(&zip, 0, 4); /* offset of the local header */
    buf_puts(&zip, name);
    size_t end = zip.len;
    put(&zip, 0x06054b50, 4);
    put(&zip, 0, 4); /* disks */
    put(&zip, 1, 2);
    put(&zip, 1, 2);
    put(&zip, (uint32_t)(end - directory), 4);
    put(&zip, (uint32_t)directory, 4);
    put(&zip, 0, 2); /* comment */
    return to_memory_file("muster-warm", &zip);
}

int warm_pack_request(const char *cwd, char *const *env)
{
    AUTO_BUF struct buf out = BUF_INIT(REQUEST_MAX);
    buf_add(&out, cwd ? cwd : "", (cwd ? strlen(cwd) : 0) + 1);
    for (; *env; env++)
        buf_add(&out, *env, strlen(*env) + 1);
    return to_memory_file("muster-rank", &out);
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
