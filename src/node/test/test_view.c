/* The descriptors of a task's view, as its agent takes them from a process that another one of the
 * task's account may make send anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/view.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Five copies of one descriptor: one more than a view has. */
static void send_five(int sock, int fd, char word)
{
    const int fds[] = { fd, fd, fd, fd, fd };
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof fds)];
    } control = { .room = { 0 } };
    struct iovec body = { .iov_base = &word, .iov_len = 1 };
    struct msghdr message = {
        .msg_iov = &body, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS,
                                     .cmsg_len = CMSG_LEN(sizeof fds) };
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds, sizeof fds);
    assert_int_equal(sendmsg(sock, &message, 0), 1);
}

/* Its sender runs as the account of the task, which may make it send anything. */
static void a_view_with_too_much(void **state)
{
    (void)state;
    struct view view = VIEW_INIT;
    char other[8];
    int pair[2], watched[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(pipe2(watched, O_CLOEXEC | O_NONBLOCK), 0);
    for (char word = 0; word < 4; word++)
        send_five(pair[0], watched[1], word);
    close(watched[1]);
    for (int word = 0; word < 4; word++) {
        assert_int_equal(view_receive(pair[1], &view, other, sizeof other), VIEW_RECEIVED);
        assert_true(view.mount_ns >= 0 && view.root >= 0);
        assert_true((view.user_ns >= 0) == ((word & 1) != 0));
        assert_true((view.pid_ns >= 0) == ((word & 2) != 0));
    }
    assert_int_equal(read(watched[0], other, 1), -1);
    view_fini(&view);
    assert_int_equal(read(watched[0], other, 1), 0); /* none is left open */
    close(watched[0]);
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_with_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
