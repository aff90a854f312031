/* `skopeo experimental-image-proxy` over its socket pair (SOCK_SEQPACKET): a question is a packet
 * of JSON, so is the answer, and bytes come through a pipe whose end it sends along. One question
 * at a time; pipes that are open go on meanwhile, in skopeo. What it says is bounded and read
 * strictly; it runs as the account whose image this is, so no more is to be feared of it. */
#include "node/fetch/proxy.h"

#include "base/buf.h"
#include "base/mem.h"
#include "node/fetch/proxy_reply.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUESTION_MAX (8u << 10)
#define MINOR        2u /* of the protocol 0.2, which all of them speak since it was made */

struct proxy {
    const struct registry *registry;
    pid_t pid;
    int socket;
    uint64_t image; /* its number of what was opened */
};

struct proxy *proxy_start(const struct registry *registry, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        err_sys(err, "a pair of sockets");
        return NULL;
    }
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        registry_serve(registry, pair[1], self);
    close(pair[1]);
    if (pid < 0) {
        err_sys(err, "cannot start skopeo");
        close(pair[0]);
        return NULL;
    }
    struct proxy *proxy = mem_new(sizeof *proxy);
    *proxy = (struct proxy){ .registry = registry, .pid = pid, .socket = pair[0] };
    return proxy;
}

void proxy_destroy(struct proxy *proxy)
{
    if (!proxy)
        return;
    close(proxy->socket);
    (void)kill(proxy->pid, SIGKILL); /* it keeps nothing */
    while (waitpid(proxy->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    free(proxy);
}

/* ---- packets ---- */

static int gone(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "skopeo ended while it was asked for an image");
}

/* *fd: what came along, -1 for nothing. */
static ssize_t receive(const struct proxy *proxy, char *text, int *fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = { .iov_base = text, .iov_len = PROXY_REPLY_MAX };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    ssize_t n;
    do
        n = recvmsg(proxy->socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    const struct cmsghdr *head = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(fd, CMSG_DATA(head), sizeof *fd);
    return n >= 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ? -1 : n;
}

static int await(const struct proxy *proxy, struct err *err)
{
    struct pollfd fd = { .fd = proxy->socket, .events = POLLIN };
    int n;
    do
        n = poll(&fd, 1, REGISTRY_STALL_MS);
    while (n < 0 && errno == EINTR);
    return n > 0 ? 0 : registry_stalled(proxy->registry, err);
}

static int say(const struct proxy *proxy, const char *question, struct err *err)
{
    size_t len = strlen(question);
    return send(proxy->socket, question, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : gone(err);
}

/* *fd is -1 where no pipe came. */
static int hear(const struct proxy *proxy, struct proxy_reply *reply, int *fd, struct err *err)
{
    AUTO_FREE char *text = mem_new(PROXY_REPLY_MAX);
    AUTO_CLOSE int got = -1;
    if (await(proxy, err) != 0)
        return -1;
    ssize_t n = receive(proxy, text, &got);
    if (n <= 0)
        return gone(err);
    if (proxy_reply_read(text, (size_t)n, reply, err) != 0)
        return -1;
    if (!reply->good)
        return registry_failure(proxy->registry->ref, reply->error, err);
    *fd = mem_give_fd(&got);
    return 0;
}

static int ask(const struct proxy *proxy, const char *question, struct proxy_reply *reply, int *fd,
               struct err *err)
{
    return say(proxy, question, err) != 0 ? -1 : hear(proxy, reply, fd, err);
}

static int ask_for_number(struct proxy *proxy, const char *question, struct proxy_reply *reply,
                          struct err *err)
{
    AUTO_CLOSE int fd = -1;
    return ask(proxy, question, reply, &fd, err);
}

static int ask_for_pipe(struct proxy *proxy, const char *question, struct proxy_pipe *out,
                        struct err *err)
{
    struct proxy_reply reply;
    AUTO_CLOSE int fd = -1;
    if (ask(proxy, question, &reply, &fd, err) != 0)
        return -1;
    if (fd < 0 || reply.pipe == 0)
        return err_set(err, ERR_SYSTEM, "skopeo gave an answer without bytes");
    *out = (struct proxy_pipe){ .fd = mem_give_fd(&fd), .id = reply.pipe };
    return 0;
}

/* ---- questions ---- */

/* The grammar of names and digests has nothing that JSON would need to be told apart. */
int proxy_open(struct proxy *proxy, const char *digest, struct err *err)
{
    const struct image_ref *ref = proxy->registry->ref;
    struct proxy_reply reply;
    AUTO_BUF struct buf question = BUF_INIT(QUESTION_MAX);
    if (ask_for_number(proxy, "{\"method\":\"Initialize\",\"args\":[]}", &reply, NULL) != 0 ||
        reply.version[0] != 0 || reply.version[1] != MINOR)
        return 1;
    buf_addf(&question, "{\"method\":\"OpenImage\",\"args\":[\"docker://%s/%s@sha256:%s\"]}",
             ref->registry, ref->repository, digest);
    if (ask_for_number(proxy, buf_str(&question), &reply, err) != 0)
        return -1;
    if (reply.number == 0)
        return registry_failure(ref, "manifest unknown", err);
    proxy->image = reply.number;
    return 0;
}

static int read_all(const struct proxy *proxy, int fd, char **text, size_t *len, struct err *err)
{
    AUTO_BUF struct buf all = BUF_INIT(IMAGE_DOCUMENT_MAX);
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    char piece[16384];
    for (;;) {
        int ready = poll(&wait, 1, REGISTRY_STALL_MS);
        if (ready == 0)
            return registry_stalled(proxy->registry, err);
        ssize_t n = ready < 0 ? -1 : read(fd, piece, sizeof piece);
        if (n < 0 && errno != EINTR)
            return err_sys(err, "reading a document of the image");
        if (n == 0)
            break;
        if (n > 0)
            buf_add(&all, piece, (size_t)n);
        if (all.overflow)
            return err_set(err, ERR_INPUT, "a document of the image is too large");
    }
    *len = all.len;
    *text = all.len ? buf_take(&all) : mem_strdup("");
    return 0;
}

static int take_text(struct proxy *proxy, struct proxy_pipe *pipe, char **text, size_t *len,
                     struct err *err)
{
    AUTO_CLOSE int fd = pipe->fd;
    AUTO_FREE char *all = NULL;
    size_t n;
    if (proxy_finish(proxy, pipe, err) != 0 || read_all(proxy, fd, &all, &n, err) != 0 ||
        proxy_finished(proxy, err) != 0)
        return -1;
    *text = TAKE(all);
    *len = n;
    return 0;
}

int proxy_manifest(struct proxy *proxy, char **text, size_t *len, struct err *err)
{
    struct proxy_pipe pipe;
    AUTO_BUF struct buf question = BUF_INIT(QUESTION_MAX);
    buf_addf(&question, "{\"method\":\"GetManifest\",\"args\":[%llu]}",
             (unsigned long long)proxy->image);
    return ask_for_pipe(proxy, buf_str(&question), &pipe, err) != 0
               ? -1
               : take_text(proxy, &pipe, text, len, err);
}

int proxy_blob(struct proxy *proxy, const struct image_blob *blob, struct proxy_pipe *out,
               struct err *err)
{
    AUTO_BUF struct buf question = BUF_INIT(QUESTION_MAX);
    buf_addf(&question, "{\"method\":\"GetBlob\",\"args\":[%llu,\"sha256:%s\",%llu]}",
             (unsigned long long)proxy->image, blob->digest, (unsigned long long)blob->size);
    return ask_for_pipe(proxy, buf_str(&question), out, err);
}

int proxy_finish(struct proxy *proxy, const struct proxy_pipe *pipe, struct err *err)
{
    AUTO_BUF struct buf question = BUF_INIT(QUESTION_MAX);
    buf_addf(&question, "{\"method\":\"FinishPipe\",\"args\":[%u]}", pipe->id);
    return say(proxy, buf_str(&question), err);
}

int proxy_finished(struct proxy *proxy, struct err *err)
{
    struct proxy_reply reply;
    AUTO_CLOSE int fd = -1;
    return hear(proxy, &reply, &fd, err);
}

int proxy_socket(const struct proxy *proxy)
{
    return proxy->socket;
}

int proxy_text(struct proxy *proxy, const struct image_blob *blob, char **text, size_t *len,
               struct err *err)
{
    struct proxy_pipe pipe;
    if (blob->size > IMAGE_DOCUMENT_MAX)
        return err_set(err, ERR_INPUT, "a document of the image is too large");
    return proxy_blob(proxy, blob, &pipe, err) != 0 ? -1 : take_text(proxy, &pipe, text, len, err);
}
