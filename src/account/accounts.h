/* Accounts as an object: users, access keys and bearer tokens, what they may, as whom their jobs
 * run, and the record of who did what. It knows the store, and of the server what its config says;
 * it has no turn of its own: what changes something writes into the open transaction, and whoever
 * owns that commits it or calls accounts_undo(). */
#ifndef ACCOUNT_ACCOUNTS_H
#define ACCOUNT_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct accounts;
struct store;

/* What the server tells its accounts when asked. */
struct accounts_server {
    void *arg;
    uint64_t (*now)(const void *arg);                     /* what is decided by */
    uint64_t (*date)(const void *arg);                    /* what people read */
    uint64_t (*date_of)(const void *arg, uint64_t at_ms); /* of a time by now() */
    bool (*replays)(const void *arg);                     /* a recording: nothing is audited */
    /* A user, key or token was changed: an event of that type says so. */
    void (*changed)(void *arg, const char *type, const char *text);
};
struct accounts_config {
    struct store *store;
    const char *admin;       /* the server's own user, who may everything */
    bool own_accounts;       /* a job runs as its owner; else as the server's own user */
    bool sandbox;            /* else nobody else's jobs run */
    const char *job_account; /* of those who have no account of their own; "" or NULL: none */
    struct accounts_server server;
};
/* Reads the rows. The texts of config are copied. */
struct accounts *accounts_create(const struct accounts_config *);
void accounts_destroy(struct accounts *); /* NULL-safe */
/* The transaction failed: as the rows say again. */
void accounts_undo(struct accounts *);

#endif
