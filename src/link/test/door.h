/* The server's door in tests: whoever connects asks for the upgrade, and is handed to a hub. */
#ifndef LINK_TEST_DOOR_H
#define LINK_TEST_DOOR_H

#include "link/link.h"

struct listener;
struct uv_loop_s;
struct door {
    struct link_hub *hub;
    struct listener *listener;
    unsigned refused; /* whom the hub does not know */
    unsigned held;    /* who is told to come later */
};
void door_open(struct door *, struct uv_loop_s *, const char *path); /* for its hub */
void door_close(struct door *);

#endif
