/* The keys that torch's rendezvous backends and dlrover-run know, as one table with what becomes of
 * each here. Times are whole seconds, as there. */
#include "launch/rdzv_conf.h"

#include "base/mem.h"
#include "base/scan.h"
#include "flags/flags.h"

#include <ctype.h>
#include <string.h>

#define SECONDS_MAX 31536000u

enum key { JOIN, LAST_CALL, BEAT, ATTEMPTS, RANK, TOKEN, MEET, NO_EFFECT, REFUSED };
static const struct {
    const char *name;
    enum key key;
    const char *why;
} keys[] = {
    { .name = "join_timeout", .key = JOIN },
    { .name = "last_call_timeout", .key = LAST_CALL },
    { .name = "lastcall_timeout", .key = LAST_CALL },
    { .name = "keep_alive_interval", .key = BEAT },
    { .name = "keep_alive_max_attempt", .key = ATTEMPTS },
    { .name = "rank", .key = RANK },
    { .name = "token", .key = TOKEN },
    { .name = "meet", .key = MEET },
    { .name = "close_timeout", .key = NO_EFFECT, .why = "closing waits for nobody" },
    { .name = "heartbeat_timeout", .key = NO_EFFECT, .why = "no thread sends the heartbeats" },
    { .name = "pend_timeout", .key = NO_EFFECT, .why = "a node beyond the most waits for a place" },
    { .name = "read_timeout", .key = NO_EFFECT, .why = "no store is asked for the rendezvous" },
    { .name = "timeout", .key = NO_EFFECT, .why = "join_timeout is what bounds the wait" },
    { .name = "is_host", .key = NO_EFFECT, .why = "whoever can listen at the endpoint leads" },
    { .name = "use_libuv", .key = NO_EFFECT, .why = "the store is muster's own" },
    { .name = "local_addr", .key = NO_EFFECT, .why = "--local-addr is the flag for it" },
    { .name = "store_type", .key = REFUSED, .why = "nodes meet over TCP, not through a file" },
};

struct reading {
    struct arena *arena;
    struct rdzv_conf *conf;
    bool interval, attempts;
    uint64_t every_s, times;
    void (*say)(void *arg, const char *sentence);
    void *arg;
};

static int number(const char *key, const char *value, uint64_t least, uint64_t most, uint64_t *out,
                  struct err *err)
{
    if (scan_u64(value, least, most, out))
        return 0;
    err_set(err, ERR_LATE, "--rdzv-conf: %s is \"%.60s\"", key, value);
    return err_hint(err, "a whole number from %llu to %llu", (unsigned long long)least,
                    (unsigned long long)most);
}

static int unknown(struct reading *r, const char *key)
{
    const char *names[ARRAY_LEN(keys)];
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        names[i] = keys[i].name;
    const char *near = scan_nearest(key, names, ARRAY_LEN(names));
    r->say(r->arg, arena_printf(r->arena, "--rdzv-conf: %.60s is no key known here%s%s%s", key,
                                near ? " (" : ", without effect", near ? near : "",
                                near ? "?), without effect" : ""));
    return 0;
}

static int meet(struct rdzv_conf *conf, const char *value, struct err *err)
{
    conf->meet_endpoint = strcmp(value, "endpoint") == 0;
    if (conf->meet_endpoint || strcmp(value, "agent") == 0)
        return 0;
    err_set(err, ERR_LATE, "--rdzv-conf: meet is \"%.60s\"", value);
    return err_hint(err, "meet=agent (the server leads, the default inside a job) or "
                         "meet=endpoint");
}

static int take(struct reading *r, const char *key, const char *value, struct err *err)
{
    struct rdzv_conf *conf = r->conf;
    uint64_t n = 0;
    size_t i = 0;
    while (i < ARRAY_LEN(keys) && strcmp(keys[i].name, key) != 0)
        i++;
    if (i == ARRAY_LEN(keys))
        return unknown(r, key);
    switch (keys[i].key) {
    case JOIN:
        conf->has_join = number(key, value, 1, SECONDS_MAX, &n, err) == 0;
        conf->join_ms = n * 1000;
        return conf->has_join ? 0 : -1;
    case LAST_CALL:
        conf->has_last_call = number(key, value, 0, SECONDS_MAX, &n, err) == 0;
        conf->last_call_ms = n * 1000;
        return conf->has_last_call ? 0 : -1;
    case BEAT: r->interval = true; return number(key, value, 1, 3600, &r->every_s, err);
    case ATTEMPTS: r->attempts = true; return number(key, value, 1, 1000, &r->times, err);
    case RANK:
        conf->has_rank = number(key, value, 0, 1000000, &n, err) == 0;
        conf->rank = (uint32_t)n;
        return conf->has_rank ? 0 : -1;
    case TOKEN: conf->token = value; return 0;
    case MEET: return meet(conf, value, err);
    case NO_EFFECT:
        r->say(r->arg,
               arena_printf(r->arena, "--rdzv-conf: %s has no effect: %s", key, keys[i].why));
        return 0;
    case REFUSED:
        if (strcmp(value, "tcp") == 0)
            return 0;
        err_set(err, ERR_LATE, "--rdzv-conf: %s=%.60s cannot be", key, value);
        return err_hint(err, "leave it away: %s", keys[i].why);
    }
    BUG("key %zu", i);
}

static char *trimmed(struct arena *a, const char *s, size_t n)
{
    while (n && isspace((unsigned char)*s))
        s++, n--;
    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    return arena_strndup(a, s, n);
}

int rdzv_conf_read(const char *text, struct arena *a, struct rdzv_conf *conf,
                   void (*say)(void *arg, const char *sentence), void *arg, struct err *err)
{
    struct reading r = { .arena = a,
                         .conf = conf,
                         .every_s = 5, /* torch's defaults, for who sets only the other one */
                         .times = 3,
                         .say = say,
                         .arg = arg };
    *conf = (struct rdzv_conf){ .has_join = false };
    if (!*trimmed(a, text, strlen(text)))
        return 0;
    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        const char *item = arena_strndup(a, at, len), *equals = strchr(item, '=');
        const char *key = trimmed(a, item, equals ? (size_t)(equals - item) : strlen(item));
        const char *value = equals ? trimmed(a, equals + 1, strlen(equals + 1)) : "";
        if (!*key || !*value) {
            err_set(err, ERR_LATE, "--rdzv-conf: \"%.80s\" is no key with a value", item);
            return err_hint(err, "--rdzv-conf join_timeout=600,last_call_timeout=30");
        }
        if (take(&r, key, value, err) < 0)
            return -1;
        at += len;
        if (!*at)
            break;
    }
    conf->has_beat = r.interval || r.attempts;
    conf->beat_ms = (uint32_t)r.every_s * 1000;
    conf->silence_ms = (uint32_t)(r.every_s * r.times) * 1000;
    return 0;
}
