/* What a user may take of the server's time: submissions, listings, bytes of output, and wrong
 * passwords of whoever tries them. Each has an allowance of its own, so one who asks without end
 * waits alone. Admins have no limits: they can stop the server as well. */
#include "api/call.h"

#include "base/clock.h"
#include "base/mem.h"

/* What was not taken for so long may be taken at once. Lists take the loop's time, others wait for
 * what comes at once. */
#define BURST_S      60u
#define LIST_BURST_S 10u
#define LIST_BYTES   (32u << 10) /* of an answer: as much again as one list */

#define WRONG_BURST 10u    /* passwords of one source, then */
#define WRONG_MS    10000u /* one in so long */

static const char *const words[LIMITS] = {
    [LIMIT_SUBMIT] = "submissions",
    [LIMIT_LIST] = "lists",
    [LIMIT_LOG] = "bytes of output",
    [LIMIT_PASSWORD] = "wrong passwords",
};

void limits_begin(struct api *api)
{
    const struct api_config *c = &api->config;
    const uint64_t per_s[LIMITS] = {
        [LIMIT_SUBMIT] = c->submit_rate, [LIMIT_LIST] = c->list_rate, [LIMIT_LOG] = c->log_rate
    };
    for (unsigned i = 0; i < LIMIT_PASSWORD; i++) {
        uint64_t burst_s = i == LIMIT_LIST ? LIST_BURST_S : BURST_S;
        api->limits[i] =
            rates_create((struct rate){ .n = per_s[i], .ms = 1000, .burst = per_s[i] * burst_s });
    }
    api->limits[LIMIT_PASSWORD] =
        rates_create((struct rate){ .n = 1, .ms = WRONG_MS, .burst = WRONG_BURST });
}

void limits_end(struct api *api)
{
    for (unsigned i = 0; i < LIMITS; i++)
        rates_destroy(api->limits[i]);
}

/* Monotonic: no wait depends on what somebody sets the clock to. */
static int check(struct call *call, enum limit limit, const char *name, struct err *err)
{
    uint64_t ms = rates_wait(call->api->limits[limit], name, clock_mono_ms());
    if (!ms)
        return 0;
    uint64_t s = (ms + 999) / 1000;
    http_add_header(call->request, "Retry-After",
                    arena_printf(call->arena, "%llu", (unsigned long long)s));
    err_set(err, ERR_BUSY, "too many %s of %.80s lately", words[limit], name);
    return err_hint(err, "try again in %llu s", (unsigned long long)s);
}

/* Guests, where reading is open to them, share one allowance. */
static const char *payer(const struct call *call)
{
    return call->owner ? call->owner : "guests";
}

uint64_t limit_wait(const struct call *call, enum limit limit)
{
    if (call->who.role == ROLE_ADMIN)
        return 0;
    return rates_wait(call->api->limits[limit], payer(call), clock_mono_ms());
}

int limit_check(struct call *call, enum limit limit, struct err *err)
{
    return call->who.role == ROLE_ADMIN ? 0 : check(call, limit, payer(call), err);
}

void limit_take(struct call *call, enum limit limit, uint64_t n)
{
    if (call->who.role != ROLE_ADMIN)
        rates_take(call->api->limits[limit], payer(call), clock_mono_ms(), n);
}

int limit_one(struct call *call, enum limit limit, struct err *err)
{
    if (limit_check(call, limit, err) < 0)
        return -1;
    limit_take(call, limit, 1);
    call->lists |= limit == LIMIT_LIST;
    return 0;
}

void limit_answer(struct call *call, size_t len)
{
    if (call->lists)
        limit_take(call, LIMIT_LIST, len / LIST_BYTES);
}

/* By where it comes from, not by whose password it is: nobody locks another out by guessing. */
int limit_password(struct call *call, const struct identity_login *login, struct identity *who,
                   struct err *err)
{
    char source[HTTP_SOURCE];
    http_source(call->request, source);
    if (check(call, LIMIT_PASSWORD, source, err) < 0)
        return -1;
    if (identify_by_password(ctl_accounts(call->api->config.ctl), call->arena, login, who, err) ==
        0)
        return 0;
    rates_take(call->api->limits[LIMIT_PASSWORD], source, clock_mono_ms(), 1);
    return -1;
}
