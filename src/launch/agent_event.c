/* A connection for each: they are as rare as what they tell. The agent reads what was sent before
 * the end of the connection. */
#include "launch/agent_event.h"

#include "base/buf.h"
#include "base/mem.h"
#include "conn/address.h"
#include "wire/rendezvous.h"

#include <sys/socket.h>

#define NOTE_MAX 8192u

bool agent_event(const char *path, const char *cookie, const char *type, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(NOTE_MAX);
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    buf_addf(&out, "%s\n", cookie);
    rdzv_put(&out, &(struct rdzv_event){ .type = type, .text = text });
    return fd >= 0 && address_connect_path(fd, path) == 0 &&
           send(fd, buf_str(&out), out.len, MSG_NOSIGNAL) == (ssize_t)out.len;
}
