/* A stream that breaks is asked for again at once; only when nobody answers then is the server
 * gone. Waiting between tries is bounded from above, so that a restarted server is found within a
 * quarter of a second. */
#include "cli/follow.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/call.h"

#include <poll.h>
#include <stdio.h>

#define FIRST_WAIT_MS 10
#define MOST_WAIT_MS  250

struct following {
    struct follow *follow;
    bool ended, heard; /* heard: a record came on this connection */
};

static bool on_line(void *arg, const struct text_node *node)
{
    struct following *f = arg;
    f->heard = true;
    if (text_flag(node, "end")) {
        snprintf(f->follow->state, sizeof f->follow->state, "%s", text_word(node, "state"));
        f->ended = true;
        return false;
    }
    bool more = f->follow->record(f->follow->arg, node);
    f->ended = !more;
    return more;
}

void follow_wait(struct cli *cli, const struct follow *follow)
{
    uint64_t since = clock_mono_ms(), wait = FIRST_WAIT_MS;
    if (follow->gone)
        follow->gone(follow->arg);
    while (!call_server_lives(cli)) {
        poll(NULL, 0, (int)wait);
        wait = wait * 2 > MOST_WAIT_MS ? MOST_WAIT_MS : wait * 2;
    }
    if (follow->back)
        follow->back(follow->arg, clock_mono_ms() - since);
}

int follow_run(struct cli *cli, struct follow *follow, struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT(64 << 10);
    AUTO_BUF struct buf body = BUF_INIT(16u << 20);
    bool silent = true; /* the last try brought nothing */
    for (;;) {
        struct following f = { .follow = follow };
        buf_clear(&path);
        buf_clear(&body);
        follow->request(follow->arg, &path, &body);
        struct call_stream stream = { .path = buf_str(&path),
                                      .body = body.len ? buf_str(&body) : NULL,
                                      .line = on_line,
                                      .arg = &f };
        int rc = call_stream(cli, &stream, err);
        if (f.ended)
            return 0;
        if (rc < 0 && err->code != ERR_UNAVAILABLE && err->code != ERR_TIMEOUT)
            return -1;
        call_drop(cli);
        if (!call_server_lives(cli))
            follow_wait(cli, follow);
        else if (silent && !f.heard)
            poll(NULL, 0, MOST_WAIT_MS);
        silent = !f.heard;
    }
}

void follow_say_gone(void *arg)
{
    (void)arg;
    fflush(stdout);
    fputs("server gone, waiting for it\n", stderr);
}

void follow_say_back(void *arg, uint64_t after_ms)
{
    (void)arg;
    fprintf(stderr, "server back after %.1f s, going on where it was\n", (double)after_ms / 1000);
}
