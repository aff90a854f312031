/* The pull of an agent in another process: the same store, locks and marks of credentials, so what
 * it fetched is found by an agent that asks with the same credentials, and by no other. It ends
 * with the server; what it had not finished is removed by whoever has the lock next. */
#include "node/image_early.h"

#include "base/clock.h"
#include "base/scan.h"
#include "node/fetch/grants.h"
#include "node/fetch/make.h"
#include "node/fetch/store.h"
#include "node/image_digest.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SAY_MS 1000u

struct early_pull {
    const char *store;
    uint64_t limit;
    char **keep; /* up to a NULL */
    uint64_t said_ms, bytes, total;
};

static void say_bytes(const struct early_pull *c)
{
    printf("bytes %llu %llu\n", (unsigned long long)c->bytes, (unsigned long long)c->total);
    (void)fflush(stdout);
}

static void say(void *arg, const struct pull_progress *news)
{
    struct early_pull *c = arg;
    uint64_t now = clock_mono_ms();
    if (news->step != PULL_FETCHES)
        return;
    c->bytes = news->bytes;
    c->total = news->total;
    if (c->said_ms && now - c->said_ms < SAY_MS)
        return;
    c->said_ms = now;
    say_bytes(c);
}

/* Their locks are held until this process ends. */
static void hold(const struct early_pull *c)
{
    char tree[IMAGE_DIGEST_LEN + 1];
    for (char **one = c->keep; *one; one++)
        if (strlen(*one) == IMAGE_DIGEST_LEN && grant_find_any(c->store, *one, tree))
            (void)store_use(c->store, tree, NULL);
}

static int pull_early(void *arg, const struct image_ask *asked, char digest[IMAGE_DIGEST_LEN + 1],
                      struct err *err)
{
    struct early_pull *c = arg;
    const struct registry *registry = asked->registry;
    const struct pull_ask ask = { .store = c->store,
                                  .ref = *registry->ref,
                                  .auth = asked->auth,
                                  .auth_len = asked->auth ? strlen(asked->auth) : 0,
                                  .home = registry->home,
                                  .limit = c->limit,
                                  .early = true };
    struct pull_progress news = { .step = PULL_RESOLVED };
    if (!*ask.ref.digest)
        return err_set(err, ERR_INPUT, "the question has no digest");
    (void)umask(022);
    (void)signal(SIGCHLD, SIG_DFL);
    hold(c);
    if (image_make(&ask, registry->auth, (struct make_sink){ .tell = say, .arg = c }, &news, err) !=
        0)
        return -1;
    if (c->bytes)
        say_bytes(c);
    memcpy(digest, news.digest, sizeof news.digest);
    return 0;
}

int image_early_main(int argc, char **argv)
{
    struct early_pull c = { .store = argc >= 4 ? argv[2] : NULL };
    if (!c.store || !scan_u64(argv[3], 1, UINT64_MAX / 2, &c.limit))
        return 2;
    c.keep = argv + 4;
    return image_answer(pull_early, &c);
}
