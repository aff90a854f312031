/* The server's end of the hosts of machines (node/host.h): who is expected, which runs each is to
 * have, what they say of themselves. What goes down is repeated after a reconnect until the host
 * shows that it has it. A machine that is not connected is unreachable: nothing is known of its
 * runs, and nothing of them is reported. */
#ifndef LINK_HOSTS_H
#define LINK_HOSTS_H

#include "link/link.h"
#include "wire/host.h"

/* All from the loop, never from inside a call; texts last as long as the call. Inside one, no
 * machine is to be forgotten. */
struct hosts_sink {
    /* It has connected, or something of it changed; the address that it connects from. */
    void (*up)(void *arg, const char *node, const char *address, const struct wire_host_hello *);
    void (*down)(void *arg, const char *node, const char *why); /* it is not connected any more */
    /* Once for each run that was wanted or recovered: nothing of it lives, says its host. */
    void (*ended)(void *arg, struct generation, const char *node, const char *reason);
    /* Of an image that was asked for; after `down` nothing is said of those before it. NULL: none
     * is. */
    void (*image)(void *arg, const char *node, const struct wire_host_image_report *);
    /* What images take there: after `up`, and when it has become another. NULL: none is told. */
    void (*store)(void *arg, const char *node, const struct wire_host_store_report *);
    void *arg;
};

struct hosts;
/* Those of the hub: their hosts connect as its agents do (link_knows, link_attach). At most one for
 * a hub, which outlives it. */
struct hosts *hosts_create(struct link_hub *, struct hosts_sink);
void hosts_destroy(struct hosts *); /* closes connections; hosts and their runs go on */

/* A machine that may connect, with its token as in link_expect; another one of before is void, and
 * who came with it is sent away. */
void hosts_expect(struct hosts *, const char *node, const unsigned char token_hash[32]);
void hosts_forget(struct hosts *, const char *node); /* and its runs, without a word to it */
bool hosts_has(const struct hosts *, const char *node);
bool hosts_connected(const struct hosts *, const char *node); /* and its runs are known */

/* What its host said last: ids of the machine and of its boot. "": it was not heard. */
void hosts_ids(const struct hosts *, const char *node, const char **machine, const char **boot);

/* Each returns false when no such machine is expected, and may be repeated. */
struct hosts_start {
    struct generation generation;
    const char *node;
    const unsigned char *token; /* HOST_TOKEN bytes, of the agent */
    bool sandbox;
    uint64_t leave_ms;         /* as in HOST_START */
    const char *code, *marker; /* the same */
};
bool hosts_start(struct hosts *, const struct hosts_start *);
/* A run of an earlier server: began when an agent of it was ever heard. One that did not begin may
 * be started. token_hash: of its agent, as in link_expect: what its host shows under another one is
 * an earlier run of the generation, which ends first. */
bool hosts_recover(struct hosts *, const struct engine_agent *, bool began);
/* true: it never went down to the host, or the host has none of it, and it is known no more. false:
 * it may live, or its host has to be heard: ended follows once nothing of it is found there. */
bool hosts_cancel(struct hosts *, struct generation, const char *node);
bool hosts_end(struct hosts *, struct generation, const char *node); /* ended follows */
/* It is known no more and its directory may go: after ended, once that is committed. Runs that no
 * one knows any more are ended and cleaned, as soon as their host shows them. */
bool hosts_clean(struct hosts *, struct generation, const char *node);
/* Was one of that generation given up (cleaned) there before its host said that it has ended? The
 * next is started, and its agent let in (link_bar), when it has. */
bool hosts_leaves(const struct hosts *, struct generation, const char *node);
/* An image for jobs that wait. false, and nothing is sent: the machine is not connected, or its
 * host is of a version that does not fetch any. What is asked for ends with the connection. */
bool hosts_fetch_image(struct hosts *, const char *node, const struct wire_host_image *);
void hosts_drop_image(struct hosts *, const char *node, uint32_t number);
/* Is it wanted or recovered, and not ended yet? */
bool hosts_runs(const struct hosts *, struct generation, const char *node);

#endif
