/* Requests come in one piece, over the socket of this machine. Who connected may be gone by now: it
 * was killed, or its server was another. */
#include "link/test/door.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "conn/listener.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool read_head(int fd, char *text, size_t size)
{
    size_t len = 0;
    do {
        ssize_t n = read(fd, text + len, size - 1 - len);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return false;
        len += n > 0 ? (size_t)n : 0;
        text[len] = '\0';
        assert_true(len < size - 1);
    } while (!strstr(text, "\r\n\r\n"));
    return true;
}

static void on_caller(void *arg, int fd)
{
    static const char key[] = "Authorization: Bearer ",
                      yes[] = "HTTP/1.1 101 Switching Protocols\r\n\r\n",
                      no[] = "HTTP/1.1 401 Unauthorized\r\n\r\n",
                      later[] = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
    struct door *door = arg;
    char text[2000];
    struct err err;
    if (!read_head(fd, text, sizeof text)) {
        close(fd);
        return;
    }
    char *token = strstr(text, key);
    assert_non_null(token);
    token += sizeof key - 1;
    token[strcspn(token, "\r")] = '\0';
    if (link_holds(door->hub, token)) {
        door->held++;
        (void)file_write_all(fd, later, sizeof later - 1);
        close(fd);
        return;
    }
    bool known = link_knows(door->hub, token);
    if (known && file_write_all(fd, yes, sizeof yes - 1) == 0) {
        assert_int_equal(link_attach(door->hub, token, fd, "", 0, &err), 0);
        return;
    }
    door->refused += !known;
    if (!known)
        (void)file_write_all(fd, no, sizeof no - 1);
    close(fd);
}

void door_open(struct door *door, struct uv_loop_s *loop, const char *path)
{
    struct err err;
    int fd = listener_open_unix(path, &err);
    assert_true(fd >= 0);
    door->listener = listener_create(loop, fd, (struct listener_sink){ on_caller, door });
}

void door_close(struct door *door)
{
    listener_destroy(door->listener);
    door->listener = NULL;
}
