/* Agents of other machines: the address that they connect to over TLS, and whom they find there. */
#ifndef MAIN_AGENTS_H
#define MAIN_AGENTS_H

#include "base/arena.h"
#include "base/err.h"
#include "ctl/ctl.h"
#include "link/link.h"
#include "text/tree.h"

struct agents;
struct agents_config {
    const char *where;     /* ADDR:PORT; "none": nobody comes from elsewhere */
    const char *state_dir; /* where the certificate lies */
    struct link_hub *hub;
    struct ctl *ctl;
    unsigned most; /* agents */
    /* Of programs of their tasks; see link/agent_listener.h. */
    void (*caller)(void *arg, int fd, const char *address);
    void *caller_arg;
};
/* The first address of this machine that machines which connect there can know, in arena; NULL: it
 * is only reached from here. */
const char *agents_host(struct arena *, const char *where);
/* When the core has said which agents it expects. *out NULL: none so far; one that was closed is
 * opened again, and one that is open stays. */
int agents_open(const struct agents_config *, struct agents **out, struct err *err);
/* On all addresses, at the port that was taken so before in that state directory. needed: when none
 * was, at one that is free; else nothing is opened then. where is not looked at. */
int agents_open_kept(const struct agents_config *, bool needed, struct agents **out, struct err *);
void agents_close(struct agents *); /* no more come; those that are there stay. Before the hub */
/* Closed, and no later server opens the port that was kept. NULL-safe. */
void agents_forget(struct agents *, const char *state_dir);
const char *agents_address(const struct agents *); /* "none": it is closed */
void agents_destroy(
    struct agents *); /* after the hub's last connection; NULL-safe, as agents_close */
/* "server": [ADDR:PORT, ...] that other machines may reach, "pin". */
void agents_put_where(const struct agents *, struct arena *, struct text_node *map);
/* The same places as one text, "ADDR:PORT,...", in arena; NULL: it is closed. */
const char *agents_places(const struct agents *, struct arena *);
/* "agents": {address, pin, ...}; nothing of NULL. */
void agents_put(const struct agents *, struct arena *, struct text_node *map);

#endif
