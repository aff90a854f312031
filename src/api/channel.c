/* Connections to tasks that were given to the engine: whose they are. Only the kernel's name of the
 * socket is kept (its cookie, never given again): the owner of the descriptor closes it when it
 * likes, and what is closed is forgotten at the next one. */
#include "api/call.h"

#include "base/mem.h"

#include <sys/socket.h>

struct channel {
    struct channel *next;
    struct arena *arena; /* the texts of who */
    struct identity who;
    uint64_t socket;
    int fd;
};

static bool name_socket(int fd, uint64_t *name)
{
    socklen_t len = sizeof *name;
    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, name, &len) == 0;
}

static bool is_open(const struct channel *c)
{
    uint64_t name;
    return name_socket(c->fd, &name) && name == c->socket;
}

static void drop(struct channel **at)
{
    struct channel *c = *at;
    *at = c->next;
    arena_destroy(c->arena);
    free(c);
}

void channel_note(struct call *call, int fd)
{
    struct api *api = call->api;
    uint64_t name;
    for (struct channel **at = &api->channels; *at;)
        if (is_open(*at))
            at = &(*at)->next;
        else
            drop(at);
    if (!name_socket(fd, &name))
        return;
    struct channel *c = mem_new(sizeof *c);
    c->arena = arena_create_of(256);
    c->who = identity_copy(c->arena, &call->who);
    c->socket = name;
    c->fd = fd;
    c->next = api->channels;
    api->channels = c;
}

/* Both ends see that the other is gone; the descriptor is its owner's to close. */
void channels_check(struct api *api)
{
    for (struct channel **at = &api->channels; *at;) {
        if (ctl_identity_lives(api->config.ctl, &(*at)->who)) {
            at = &(*at)->next;
            continue;
        }
        if (is_open(*at))
            shutdown((*at)->fd, SHUT_RDWR);
        drop(at);
    }
}

void channels_forget(struct api *api)
{
    while (api->channels)
        drop(&api->channels);
}
