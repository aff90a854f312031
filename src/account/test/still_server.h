/* A server as accounts ask it, for tests of what has accounts: its clock stands still, and nothing
 * is audited. */
#ifndef ACCOUNT_TEST_STILL_SERVER_H
#define ACCOUNT_TEST_STILL_SERVER_H

#include "account/accounts.h"

#define STILL_MS 1000u

static inline uint64_t still_now(const void *arg)
{
    (void)arg;
    return STILL_MS;
}

static inline uint64_t still_date_of(const void *arg, uint64_t at_ms)
{
    (void)arg;
    return at_ms;
}

static inline bool still_replays(const void *arg)
{
    (void)arg;
    return true;
}

static inline struct accounts_server still_server(void)
{
    return (struct accounts_server){
        .now = still_now, .date = still_now, .date_of = still_date_of, .replays = still_replays
    };
}

#endif
