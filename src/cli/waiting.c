/* The client blocks, and why a job waits is no event but changes with every plan: a child asks for
 * the view about once a second, for the dearer explanation only when the view says something new.
 * The child dies with its parent. */
#include "cli/waiting.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/clock_text.h"
#include "cli/output.h"
#include "cli/table.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_MS 300 /* a job that starts at once says so itself */
#define AGAIN_MS 1000
#define COLUMNS  100

#define CLEAR_LINE "\r\033[K"

static bool waits(const char *state)
{
    return strcmp(state, "queued") == 0 || strcmp(state, "suspended") == 0;
}

/* "1st", "2nd" ... */
static const char *place_text(struct arena *a, uint64_t n)
{
    static const char *const ends[] = { "th", "st", "nd", "rd" };
    bool teen = n % 100 >= 11 && n % 100 <= 13;
    return arena_printf(a, "%llu%s", (unsigned long long)n, ends[teen || n % 10 > 3 ? 0 : n % 10]);
}

/* The line that resumes it. */
static const char *suspended_text(struct arena *a, const struct refused *here, uint64_t number)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    char args[24];
    snprintf(args, sizeof args, "%llu", (unsigned long long)number);
    buf_addf(&out, "%s is suspended: ", args);
    remedy_put_line(&out, REMEDY_RESUME, args, here);
    return arena_strdup(a, buf_str(&out));
}

const char *waiting_text(struct arena *a, const struct refused *here, const struct text_node *view,
                         const struct text_node *explanation, uint64_t now_ms)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    char text[CLOCK_TEXT_MAX];
    const char *state = text_word(view, "state");
    uint64_t number = text_number(view, "number"), at = answer_time(view, "expected");
    if (!waits(state))
        return NULL;
    if (strcmp(state, "suspended") == 0)
        return suspended_text(a, here, number);
    const char *reason = text_word(view, "reason");
    buf_addf(&out, "%llu waits%s%s", (unsigned long long)number, *reason ? ": " : "", reason);
    if (answer_has(explanation, "ahead"))
        buf_addf(&out, "; %s in %s", place_text(a, text_number(explanation, "ahead") + 1),
                 answer_text(view, "queue", "default"));
    if (at > now_ms)
        buf_addf(&out, "; starts by %s", clock_text(text, at, now_ms));
    return arena_strdup(a, buf_str(&out));
}

/* ---- the child ---- */

static const struct text_node *ask(struct cli *cli, uint64_t number, const char *rest)
{
    struct err err;
    const char *path =
        arena_printf(cli->arena, "/v1/jobs/%llu%s", (unsigned long long)number, rest);
    return call_get(cli, path, &err);
}

void waiting_put_line(struct cli *cli, const char *text)
{
    struct winsize size = { .ws_col = COLUMNS };
    if (isatty(STDERR_FILENO) != 1) {
        if (text)
            fprintf(stderr, "%s\n", text);
        return;
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
        size.ws_col = COLUMNS;
    AUTO_BUF struct buf line = BUF_INIT(64 << 10);
    buf_addf(&line, CLEAR_LINE "%s", table_clip(cli->arena, text ? text : "", size.ws_col - 1u));
    out_screen(STDERR_FILENO, &line);
}

_Noreturn static void be_child(const struct waiting *w, pid_t parent)
{
    struct cli cli = *w->cli;
    AUTO_BUF struct buf seen = BUF_INIT(8192);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    signal(SIGINT, SIG_IGN);
    cli.client = NULL; /* the parent's connection is the parent's */
    for (int wait = FIRST_MS;; wait = AGAIN_MS) {
        poll(NULL, 0, wait);
        cli.arena = arena_create();
        const struct text_node *view = ask(&cli, w->number, "");
        const char *text =
            view ? waiting_text(cli.arena, &cli.refused, view, NULL, clock_wall_ms()) : NULL;
        if (text && strcmp(text, buf_str(&seen)) != 0) {
            buf_clear(&seen);
            buf_puts(&seen, text);
            const struct text_node *why = ask(&cli, w->number, "/explain");
            text = waiting_text(cli.arena, &cli.refused, view, why, clock_wall_ms());
            waiting_put_line(&cli, text);
        }
        arena_destroy(cli.arena);
    }
}

void waiting_state(struct waiting *w, const char *state)
{
    w->waits = state ? waits(state) : w->waits;
    if (!w->waits || w->cli->json || w->cli->quiet) {
        waiting_end(w);
        return;
    }
    if (w->child > 0)
        return;
    pid_t parent = getpid();
    fflush(NULL);
    w->child = fork();
    if (w->child == 0)
        be_child(w, parent);
}

void waiting_end(struct waiting *w)
{
    if (w->child <= 0)
        return;
    kill(w->child, SIGKILL);
    waitpid(w->child, NULL, 0);
    w->child = 0;
    waiting_put_line(w->cli, NULL);
}

const char *waiting_image(struct arena *a, const struct text_node *event)
{
    const struct text_node *body = text_get(event, "body");
    uint64_t have = body ? text_number(body, "bytes") : 0;
    bool ready = have && !text_number(body, "total");
    if (strcmp(text_word(event, "type"), "image") != 0 || !answer_has(body, "bytes") || ready)
        return NULL;
    uint64_t all = text_number(body, "total");
    return all ? arena_printf(a, "%s (%llu %%)", text_word(event, "text"),
                              (unsigned long long)(have * 100 / all))
               : text_word(event, "text");
}
