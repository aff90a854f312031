/* Ports of this host that two takers ask for: each is given once, and a port that somebody listens
 * at is given to nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A port that somebody listens on, and the descriptor that does. */
static uint32_t listened_port(int *fd)
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    socklen_t len = sizeof any;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(*fd, 1), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&any, &len), 0);
    return ntohs(any.sin_port);
}

static void a_port_is_given_once(void **state)
{
    (void)state;
    struct held_ports first, second;
    uint32_t ports[2], which = 0;
    int fds[2];
    ports[0] = listened_port(&fds[0]);
    ports[1] = listened_port(&fds[1]);
    close(fds[0]);
    assert_int_equal(ports_take(&first, ports, 2, &which), PORT_LISTENED_ON);
    assert_int_equal(which, ports[1]);
    close(fds[1]);
    assert_int_equal(ports_take(&first, ports + 1, 1, &which), PORT_FREE);
    assert_int_equal(ports_take(&second, ports, 2, &which), PORT_OF_A_TASK);
    assert_int_equal(which, ports[1]);
    ports_give(&first);
    /* Neither refusal has left a port held. */
    assert_int_equal(ports_take(&second, ports, 2, &which), PORT_FREE);
    ports_give(&second);
    ports_give(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_is_given_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
