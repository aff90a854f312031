/* The parked interpreter, from the outside (its inside: warm.py).
 *
 * Life: IDLE -> LOOKING (a rank runs; what does it import?) -> PARKING (started, imports) ->
 * PARKED. When the rank turns out to import more, another one takes its place. A parked interpreter
 * forks a bench of ranks ahead of time: processes that are already children of this one, lead their
 * own session, die with it, and wait for an order (descriptors, environment). warm_fork hands out
 * the orders, which takes a millisecond; the bench is filled again a moment after the new round
 * began. Ranks are not forked on the way to a restart: copying the page tables of a process that
 * has imported torch takes 4 ms each.
 *
 * Nothing here is needed for correctness: every failure ends the parked interpreter and its bench,
 * says why once, and leaves the ranks to be started cold. */
#include "launch/warm_interpreter.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"
#include "launch/rank_env.h"
#include "launch/rank_modules.h"
#include "launch/warm_pack.h"
#include "launch/warm_start.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define BENCH_MAX       256u
#define FIRST_LOOK_MS   100u
#define SLOWEST_LOOK_MS 2000u
#define SETTLED_MS      700u /* nothing new was mapped for so long */
#define YOUNG_MS        1000u
#define LOOK_LIMIT_MS   60000u
#define HELLO_MS        20000u /* both starts of Python, on a loaded machine */
#define IMPORT_MS       120000u
#define REFILL_MS       1000u /* the new ranks have the processors to themselves until then */
#define FORK_MS         500u
#define MESSAGE_MAX     1024u

enum phase { WARM_IDLE, WARM_LOOKING, WARM_PARKING, WARM_PARKED };

/* A socket with its watcher; freed by the loop. */
struct socket_watch {
    uv_poll_t poll;
    struct warm_interpreter *warm;
    int fd;
    bool control;
};

struct warm_interpreter {
    uv_loop_t *loop;
    const struct settings *settings;
    const char *cookie;
    void (*say)(void *arg, const char *text);
    void *arg;
    enum phase phase;
    uv_timer_t timer, look; /* of what is waited for; of looking at the rank */
    char said[256];

    struct arena *arena; /* of env and argv */
    char **env, **argv;  /* what the parked one has, or will have */
    pid_t rank;
    uint64_t since, settled_since;
    unsigned interval, mapped, modules;
    unsigned loaded; /* modules that the parked one imports */

    pid_t parked;
    struct socket_watch *control, *bench;
    VEC(pid_t) ready;
    uint32_t wanted;
    bool announced;
    unsigned long kib;
    unsigned handles;
    bool doomed;
};

static void say(struct warm_interpreter *warm, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct warm_interpreter *warm, const char *fmt, ...)
{
    char text[sizeof warm->said];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (strcmp(text, warm->said) == 0)
        return;
    snprintf(warm->said, sizeof warm->said, "%s", text);
    warm->say(warm->arg, text);
}

/* ---- sockets ---- */

static void free_if_done(struct warm_interpreter *warm)
{
    if (!warm->doomed || warm->handles > 0)
        return;
    arena_destroy(warm->arena);
    vec_fini(&warm->ready);
    free(warm);
}

static void on_ear_closed(uv_handle_t *handle)
{
    struct socket_watch *ear = handle->data;
    struct warm_interpreter *warm = ear->warm;
    free(ear);
    warm->handles--;
    free_if_done(warm);
}

static void close_ear(struct socket_watch **at)
{
    struct socket_watch *ear = TAKE(*at);
    if (!ear)
        return;
    uv_close((uv_handle_t *)&ear->poll, on_ear_closed);
    close(ear->fd);
}

static void on_heard(uv_poll_t *poll, int status, int events);

/* Takes fd over. NULL: the loop does not want it (closed). */
static struct socket_watch *open_ear(struct warm_interpreter *warm, int fd, bool control)
{
    struct socket_watch *ear = mem_new(sizeof *ear);
    *ear = (struct socket_watch){ .warm = warm, .fd = fd, .control = control };
    if (uv_poll_init(warm->loop, &ear->poll, fd) != 0) {
        close(fd);
        free(ear);
        return NULL;
    }
    ear->poll.data = ear;
    warm->handles++;
    uv_poll_start(&ear->poll, UV_READABLE, on_heard);
    return ear;
}

static int make_pair(int pair[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

/* ---- the end of a parked one ---- */

static void end_process(pid_t pid)
{
    (void)kill(pid, SIGKILL);
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

static void end_bench(struct warm_interpreter *warm)
{
    close_ear(&warm->bench);
    for (size_t i = 0; i < warm->ready.n; i++)
        end_process(warm->ready.at[i]);
    for (size_t i = 0; i < warm->ready.n; i++)
        reap(warm->ready.at[i]);
    vec_clear(&warm->ready);
}

static void end_parked(struct warm_interpreter *warm)
{
    uv_timer_stop(&warm->timer);
    end_bench(warm);
    close_ear(&warm->control);
    if (warm->parked > 0) {
        /* Its group too: what it was just forking, and what an import may have started. */
        end_process(-warm->parked);
        end_process(warm->parked);
        reap(warm->parked);
        while (waitpid(-warm->parked, NULL, 0) > 0 || errno == EINTR) {}
    }
    warm->parked = 0;
    warm->phase = WARM_IDLE;
}

/* ---- starting one ---- */

static void on_too_slow(uv_timer_t *timer)
{
    struct warm_interpreter *warm = timer->data;
    say(warm, "cold start: an interpreter could not be parked in time");
    end_parked(warm);
}

static void park(struct warm_interpreter *warm)
{
    AUTO_BUF struct buf names = BUF_INIT(4096);
    int control;
    struct err err;
    if (warm->settings->preload)
        buf_puts(&names, warm->settings->preload);
    else
        rank_modules_names(warm->modules, ",", &names);
    warm->loaded = warm->modules;
    struct warm_start start = {
        .argv = warm->argv,
        .env = warm->env,
        .modules = buf_str(&names),
        .cookie = warm->cookie,
        .files = &warm->settings->files,
    };
    warm->parked = warm_start(warm->arena, &start, &control, &err);
    if (warm->parked < 0) {
        say(warm, "cold start: no interpreter can be parked: %s", err.what);
        end_parked(warm);
        return;
    }
    warm->phase = WARM_PARKING;
    warm->announced = false;
    warm->control = open_ear(warm, control, true);
    if (!warm->control) {
        say(warm, "cold start: no interpreter can be parked: the loop takes no more");
        end_parked(warm);
        return;
    }
    uv_timer_start(&warm->timer, on_too_slow, HELLO_MS, 0);
}

/* ---- looking ---- */

/* What the script imports late, when it first uses it. */
static void park_anew(struct warm_interpreter *warm)
{
    if (warm->settings->preload || (warm->modules & ~warm->loaded) == 0)
        return;
    end_parked(warm);
    park(warm);
}

static void on_look(uv_timer_t *timer)
{
    struct warm_interpreter *warm = timer->data;
    struct rank_modules sight;
    uint64_t now = clock_mono_ms();
    if (warm->phase == WARM_IDLE)
        return;
    if (now - warm->since > LOOK_LIMIT_MS || rank_modules_look(warm->rank, &sight) < 0) {
        /* What it had imported when it ended is no guide; the next round is looked at anew. */
        if (warm->phase == WARM_LOOKING)
            warm->phase = WARM_IDLE;
        return;
    }
    if (sight.mapped != warm->mapped || sight.modules != warm->modules)
        warm->settled_since = now;
    warm->mapped = sight.mapped;
    warm->modules = sight.modules;
    if (now - warm->settled_since >= SETTLED_MS && now - warm->since >= YOUNG_MS) {
        if (warm->phase == WARM_LOOKING)
            park(warm);
        else
            park_anew(warm);
    }
    warm->interval = warm->interval * 3 / 2;
    if (warm->interval > SLOWEST_LOOK_MS)
        warm->interval = SLOWEST_LOOK_MS;
    uv_timer_start(timer, on_look, warm->interval, 0);
}

static void begin_looking(struct warm_interpreter *warm, pid_t rank)
{
    warm->rank = rank;
    warm->since = warm->settled_since = clock_mono_ms();
    warm->interval = FIRST_LOOK_MS;
    warm->mapped = warm->modules = 0;
    uv_timer_start(&warm->look, on_look, FIRST_LOOK_MS, 0);
}

static char **copy_list(struct arena *arena, char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    char **copy = ARENA_ARRAY(arena, n + 1, char *);
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(arena, list[i]);
    return copy;
}

/* ---- the bench ---- */

static int fill(struct warm_interpreter *warm)
{
    int pair[2];
    if (make_pair(pair) < 0)
        return -1;
    char text[32];
    snprintf(text, sizeof text, "fill %u", warm->wanted);
    int sent = warm_send(warm->control->fd, text, strlen(text), &pair[1], 1);
    close(pair[1]);
    if (sent < 0) {
        close(pair[0]);
        return -1;
    }
    warm->bench = open_ear(warm, pair[0], false);
    return warm->bench ? 0 : -1;
}

static void fail(struct warm_interpreter *warm, const char *why)
{
    say(warm, "cold start: %s", why);
    end_parked(warm);
}

static void announce(struct warm_interpreter *warm)
{
    AUTO_BUF struct buf names = BUF_INIT(512);
    if (warm->announced)
        return;
    warm->announced = true;
    if (warm->settings->preload)
        buf_puts(&names, warm->settings->preload);
    else
        rank_modules_names(warm->loaded, ", ", &names);
    say(warm, "warm: %s parked, %lu MB", names.len > 0 ? names.data : "plain Python",
        (warm->kib + 512) / 1024);
}

static void hear_bench(struct warm_interpreter *warm, const char *text)
{
    uint64_t pid;
    if (strncmp(text, "parked ", 7) != 0 || !scan_u64(text + 7, 1, INT32_MAX, &pid))
        return;
    vec_push(&warm->ready, (pid_t)pid);
    if (warm->ready.n == warm->wanted)
        announce(warm);
}

static void hear_control(struct warm_interpreter *warm, const char *text)
{
    uint64_t kib;
    if (strcmp(text, "hello") == 0) {
        uv_timer_start(&warm->timer, on_too_slow, IMPORT_MS, 0);
    } else if (strncmp(text, "failed ", 7) == 0) {
        say(warm, "warm: not imported ahead: %s", text + 7);
    } else if (strncmp(text, "unsafe ", 7) == 0) {
        fail(warm, text + 7);
    } else if (strncmp(text, "ready ", 6) == 0 && scan_u64(text + 6, 0, UINT32_MAX, &kib)) {
        uv_timer_stop(&warm->timer);
        warm->kib = (unsigned long)kib;
        warm->phase = WARM_PARKED;
        if (fill(warm) < 0)
            fail(warm, "the parked interpreter does not answer");
    }
}

/* One message as text; its length, 0 at the end, -1 when there is none now. */
static ssize_t take_message(int fd, char text[MESSAGE_MAX])
{
    ssize_t n = recv(fd, text, MESSAGE_MAX - 1, MSG_DONTWAIT);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

static void on_heard(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct socket_watch *ear = poll->data;
    struct warm_interpreter *warm = ear->warm;
    char text[MESSAGE_MAX];
    for (;;) {
        if (ear != warm->control && ear != warm->bench)
            return; /* closed by what was heard */
        ssize_t n = take_message(ear->fd, text);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            fail(warm, warm->phase == WARM_PARKED
                           ? "the parked interpreter ended"
                           : "this Python cannot be parked (it ended, or runs without site)");
            return;
        }
        if (ear->control)
            hear_control(warm, text);
        else
            hear_bench(warm, text);
    }
}

static void on_refill(uv_timer_t *timer)
{
    struct warm_interpreter *warm = timer->data;
    if (warm->phase == WARM_PARKED && !warm->bench && fill(warm) < 0)
        fail(warm, "the parked interpreter does not answer");
}

/* ---- interface ---- */

struct warm_interpreter *warm_create(uv_loop_t *loop, const struct settings *settings,
                                     const char *cookie, void (*sink)(void *arg, const char *text),
                                     void *arg)
{
    struct warm_interpreter *warm = mem_new(sizeof *warm);
    *warm = (struct warm_interpreter){
        .loop = loop, .settings = settings, .cookie = cookie, .say = sink, .arg = arg, .handles = 2
    };
    warm->arena = arena_create();
    uv_timer_init(loop, &warm->timer);
    uv_timer_init(loop, &warm->look);
    uv_unref((uv_handle_t *)&warm->timer);
    uv_unref((uv_handle_t *)&warm->look);
    warm->timer.data = warm->look.data = warm;
    return warm;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct warm_interpreter *warm = handle->data;
    warm->handles--;
    free_if_done(warm);
}

void warm_destroy(struct warm_interpreter *warm)
{
    if (!warm)
        return;
    end_parked(warm);
    warm->doomed = true;
    uv_close((uv_handle_t *)&warm->timer, on_timer_closed);
    uv_close((uv_handle_t *)&warm->look, on_timer_closed);
}

/* The first variable that libraries read at load and that is not the same in both; NULL: none. */
static const char *differs(char *const *a, char *const *b)
{
    for (; *a; a++) {
        size_t len = strcspn(*a, "=") + 1;
        char *const *at = b;
        if (!rank_modules_variable(*a))
            continue;
        while (*at && strncmp(*at, *a, len) != 0)
            at++;
        if (!*at || strcmp(*at, *a) != 0)
            return *a;
    }
    return NULL;
}

static const char *env_differs(char *const *a, char *const *b)
{
    const char *entry = differs(a, b);
    return entry ? entry : differs(b, a);
}

static bool same_line(char *const *a, char *const *b)
{
    while (*a && *b && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return !*a && !*b;
}

void warm_watch(struct warm_interpreter *warm, pid_t rank, char *const *env)
{
    const struct settings *settings = warm->settings;
    if (!settings->warm || (settings->kind != PROGRAM_SCRIPT && settings->kind != PROGRAM_MODULE) ||
        settings->ranks > BENCH_MAX)
        return;
    if (warm->phase >= WARM_PARKING) {
        if (!env_differs(warm->env, env)) {
            begin_looking(warm, rank);
            return;
        }
        end_parked(warm);
    }
    arena_reset(warm->arena);
    warm->env = copy_list(warm->arena, env);
    warm->argv = rank_argv_make(warm->arena, settings, 0);
    if (settings->ranks > 1 && !same_line(warm->argv, rank_argv_make(warm->arena, settings, 1))) {
        say(warm, "cold start: the ranks' command lines differ (local_rank)");
        return;
    }
    warm->wanted = settings->ranks;
    warm->phase = WARM_LOOKING;
    begin_looking(warm, rank);
}

bool warm_ready(const struct warm_interpreter *warm)
{
    return warm->phase == WARM_PARKED;
}

bool warm_owns(const struct warm_interpreter *warm, pid_t pid)
{
    if (!warm || pid <= 0)
        return false;
    for (size_t i = 0; i < warm->ready.n; i++)
        if (warm->ready.at[i] == pid)
            return true;
    return pid == warm->parked;
}

/* ---- beginning a round ---- */

/* Says why these ranks cannot come from what is parked. */
static bool fits(struct warm_interpreter *warm, const struct warm_rank *ranks, size_t n)
{
    if (warm->phase != WARM_PARKED) {
        if (warm->phase == WARM_PARKING)
            say(warm, "cold start: the interpreter to be parked is still importing");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const char *entry = env_differs(warm->env, ranks[i].env);
        if (entry) {
            char why[160];
            snprintf(why, sizeof why, "%.*s has changed since the interpreter was parked",
                     (int)strcspn(entry, "="), entry);
            fail(warm, why);
            return false;
        }
        if (!same_line(warm->argv, ranks[i].argv) || n != warm->wanted) {
            fail(warm, "the command has changed since the interpreter was parked");
            return false;
        }
    }
    return true;
}

/* The next message of the bench, waited for until then. 0; -1: none came. */
static int await_message(struct warm_interpreter *warm, uint64_t until, char text[MESSAGE_MAX])
{
    for (;;) {
        uint64_t now = clock_mono_ms();
        struct pollfd poll_fd = { .fd = warm->bench->fd, .events = POLLIN };
        if (poll(&poll_fd, 1, now < until ? (int)(until - now) : 0) == 0)
            return -1;
        ssize_t n = take_message(warm->bench->fd, text);
        if (n > 0)
            return 0;
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return -1;
    }
}

static int await_bench(struct warm_interpreter *warm, uint64_t until)
{
    char text[MESSAGE_MAX];
    if (!warm->bench && fill(warm) < 0)
        return -1;
    while (warm->ready.n < warm->wanted) {
        if (await_message(warm, until, text) < 0)
            return -1;
        hear_bench(warm, text);
    }
    return 0;
}

static int give_orders(struct warm_interpreter *warm, const struct warm_rank *ranks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char index[24];
        AUTO_CLOSE int request = warm_pack_request(ranks[i].cwd, ranks[i].env);
        int fds[4] = { request, ranks[i].in, ranks[i].out, ranks[i].err };
        snprintf(index, sizeof index, "%zu", i);
        if (request < 0 || warm_send(warm->bench->fd, index, strlen(index), fds, 4) < 0)
            return -1;
    }
    return 0;
}

static int hear_begun(struct warm_interpreter *warm, size_t n, uint64_t until, pid_t *pids)
{
    char text[MESSAGE_MAX];
    for (size_t begun = 0; begun < n; begun++) {
        static const char word[] = "begin ";
        char *next;
        if (await_message(warm, until, text) < 0 || strncmp(text, word, strlen(word)) != 0)
            return -1;
        unsigned long index = strtoul(text + strlen(word), &next, 10);
        unsigned long pid = strtoul(next, &next, 10);
        if (*next || index >= n || pid < 2 || pid > INT32_MAX)
            return -1;
        pids[index] = (pid_t)pid;
    }
    return 0;
}

int warm_fork(struct warm_interpreter *warm, const struct warm_rank *ranks, size_t n, pid_t *pids)
{
    uint64_t until = clock_mono_ms() + FORK_MS;
    if (!warm || !fits(warm, ranks, n))
        return -1;
    AUTO_FREE pid_t *begun = mem_new(n * sizeof *begun);
    if (await_bench(warm, until) < 0 || give_orders(warm, ranks, n) < 0 ||
        hear_begun(warm, n, until, begun) < 0) {
        fail(warm, "the parked interpreter did not answer in time");
        return -1;
    }
    memcpy(pids, begun, n * sizeof *pids);
    close_ear(&warm->bench);
    vec_clear(&warm->ready); /* they are ranks now */
    uv_timer_start(&warm->timer, on_refill, REFILL_MS, 0);
    return 0;
}
