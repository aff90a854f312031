/* Requests are lines of JSON, {"pid": N, "scope_id": TEXT, "expiration_time": SECONDS, "signal":
 * N}, each written at once and shorter than a pipe's atomic size; a negative time takes the timer
 * of that process and scope back. Times are those of Python's time.time(), so the clock that wakes
 * us is the wall clock, and a step of it is noticed. A line that is none of this is dropped: it
 * came from a program of the user's. */
#include "launch/watchdog.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "launch/stray_process.h"
#include "text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TIMERS_MAX 4096u
#define REASON_MAX (WATCHDOG_SCOPE_MAX + 64u)

struct hang_timer {
    pid_t pid;
    char scope[WATCHDOG_SCOPE_MAX];
    double until; /* wall clock, seconds */
    int signal;   /* 0 or less: is only a note */
};
struct ended_rank {
    pid_t pid;
    char reason[REASON_MAX];
};

struct watchdog {
    char *path, *cookie;
    int pipe, clock;
    uv_poll_t requests, alarm;
    int handles;
    char line[PIPE_BUF + 1]; /* unfinished */
    size_t len;
    bool too_long; /* the rest of this line is dropped */
    VEC(struct hang_timer) timers;
    VEC(struct ended_rank) ended;
};

static double now(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void set_alarm(struct watchdog *dog)
{
    struct itimerspec at = { .it_value = { .tv_sec = 0 } };
    double first = 0;
    for (size_t i = 0; i < dog->timers.n; i++)
        if (i == 0 || dog->timers.at[i].until < first)
            first = dog->timers.at[i].until;
    if (dog->timers.n > 0) {
        at.it_value.tv_sec = (time_t)first;
        at.it_value.tv_nsec =
            (long)((first - (double)(time_t)first) * 1e9) + 1; /* 0 switches off */
    }
    (void)timerfd_settime(dog->clock, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at, NULL);
}

/* ---- expiry ---- */

/* The first of this process that has expired and has a signal; NULL: none. */
static const struct hang_timer *verdict(const struct watchdog *dog, pid_t pid, double at)
{
    const struct hang_timer *first = NULL;
    for (size_t i = 0; i < dog->timers.n; i++) {
        const struct hang_timer *timer = &dog->timers.at[i];
        if (timer->pid == pid && timer->until <= at && timer->signal > 0 &&
            (!first || timer->until < first->until))
            first = timer;
    }
    return first;
}

static void forget(struct watchdog *dog, pid_t pid)
{
    for (size_t i = dog->timers.n; i-- > 0;)
        if (dog->timers.at[i].pid == pid)
            vec_remove(&dog->timers, i);
}

static void end_process(struct watchdog *dog, const struct hang_timer *timer)
{
    struct ended_rank ended = { .pid = timer->pid };
    if (leftover_mark(timer->pid, dog->cookie) != STRAY_OURS)
        return;
    (void)snprintf(ended.reason, sizeof ended.reason, "its hang timer \"%s\" expired",
                   timer->scope);
    if (kill(timer->pid, timer->signal) == 0)
        vec_push(&dog->ended, ended);
}

static void expire(struct watchdog *dog)
{
    double at = now();
    for (size_t i = 0; i < dog->timers.n;) {
        pid_t pid = dog->timers.at[i].pid;
        if (dog->timers.at[i].until > at) {
            i++;
            continue;
        }
        const struct hang_timer *timer = verdict(dog, pid, at);
        if (!timer) { /* only a note */
            vec_remove(&dog->timers, i);
            continue;
        }
        end_process(dog, timer);
        forget(dog, pid);
        i = 0;
    }
    set_alarm(dog);
}

static void on_alarm(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct watchdog *dog = poll->data;
    uint64_t times;
    ssize_t n = read(dog->clock, &times, sizeof times);
    if (n < 0 && errno == EAGAIN)
        return;
    expire(dog); /* also when the wall clock was set */
}

/* ---- requests ---- */

static bool number_at(const struct text_node *map, const char *key, double *out)
{
    const struct text_node *node = text_get(map, key);
    if (!node || (node->kind != TEXT_INT && node->kind != TEXT_REAL))
        return false;
    *out = node->kind == TEXT_INT ? (double)node->integer : node->real;
    return *out > -1e15 && *out < 1e15;
}

static void set_timer(struct watchdog *dog, const struct hang_timer *timer)
{
    size_t i = 0;
    while (i < dog->timers.n && (dog->timers.at[i].pid != timer->pid ||
                                 strcmp(dog->timers.at[i].scope, timer->scope) != 0))
        i++;
    if (timer->until < 0) {
        if (i < dog->timers.n)
            vec_remove(&dog->timers, i);
    } else if (i < dog->timers.n) {
        dog->timers.at[i] = *timer;
    } else if (dog->timers.n < TIMERS_MAX) {
        vec_push(&dog->timers, *timer);
    }
}

static void take_line(struct watchdog *dog)
{
    struct arena *arena = arena_create();
    struct report report;
    report_init(&report, arena);
    const struct text_node *root = json_parse(arena, dog->line, dog->len, 0, &report);
    const struct text_node *scope = text_get(root, "scope_id");
    double pid, until, number = 0;
    if (root && scope && scope->kind == TEXT_STR && number_at(root, "pid", &pid) &&
        number_at(root, "expiration_time", &until) && pid >= 2 && pid <= INT_MAX) {
        (void)number_at(root, "signal", &number);
        struct hang_timer timer = { .pid = (pid_t)pid,
                                    .until = until,
                                    .signal = number > 0 && number < NSIG ? (int)number : 0 };
        (void)snprintf(timer.scope, sizeof timer.scope, "%s", scope->str);
        set_timer(dog, &timer);
    }
    arena_destroy(arena);
}

static void on_requests(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct watchdog *dog = poll->data;
    char data[PIPE_BUF];
    ssize_t n;
    while ((n = read(dog->pipe, data, sizeof data)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            if (data[i] == '\n') {
                if (!dog->too_long)
                    take_line(dog);
                dog->len = 0;
                dog->too_long = false;
            } else if (dog->len < sizeof dog->line - 1) {
                dog->line[dog->len++] = data[i];
            } else {
                dog->too_long = true;
            }
        }
    expire(dog);
}

/* ---- interface ---- */

struct watchdog *watchdog_create(uv_loop_t *loop, const char *path, const char *cookie,
                                 struct err *err)
{
    (void)unlink(path);
    if (mkfifo(path, 0600) != 0) {
        err_sys(err, "TORCHELASTIC_TIMER_FILE %s", path);
        return NULL;
    }
    struct watchdog *dog = mem_new(sizeof *dog);
    *dog = (struct watchdog){ .path = mem_strdup(path), .cookie = mem_strdup(cookie) };
    /* Also a writer, or every request would be the end of the file. */
    dog->pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    dog->clock = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (dog->pipe < 0 || dog->clock < 0)
        BUG("no descriptor left: %s", strerror(errno));
    uv_poll_init(loop, &dog->requests, dog->pipe);
    uv_poll_init(loop, &dog->alarm, dog->clock);
    dog->requests.data = dog->alarm.data = dog;
    dog->handles = 2;
    uv_poll_start(&dog->requests, UV_READABLE, on_requests);
    uv_poll_start(&dog->alarm, UV_READABLE, on_alarm);
    return dog;
}

static void on_closed(uv_handle_t *handle)
{
    struct watchdog *dog = handle->data;
    if (--dog->handles > 0)
        return;
    (void)close(dog->pipe);
    (void)close(dog->clock);
    vec_fini(&dog->timers);
    vec_fini(&dog->ended);
    free(dog->path);
    free(dog->cookie);
    free(dog);
}

void watchdog_destroy(struct watchdog *dog)
{
    if (!dog)
        return;
    (void)unlink(dog->path);
    uv_close((uv_handle_t *)&dog->requests, on_closed);
    uv_close((uv_handle_t *)&dog->alarm, on_closed);
}

void watchdog_clear(struct watchdog *dog)
{
    if (!dog)
        return;
    vec_clear(&dog->timers);
    vec_clear(&dog->ended);
    set_alarm(dog);
}

const char *watchdog_reason(const struct watchdog *dog, pid_t pid)
{
    for (size_t i = 0; dog && i < dog->ended.n; i++)
        if (dog->ended.at[i].pid == pid)
            return dog->ended.at[i].reason;
    return NULL;
}
