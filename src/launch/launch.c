/* The launcher as a program: settings, the guard that outlives it, then a member until the end.
 * Takes the command line and the environment; restores the terminal; returns the exit status. */
#include "launch/launch.h"

#include "flags/flags.h"
#include "launch/error_file.h"
#include "launch/guard.h"
#include "launch/member.h"
#include "launch/rdzv_listener.h"
#include "launch/settings_make.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

#define COOKIE_BYTES 16

static int make_cookie(char out[2 * COOKIE_BYTES + 1], struct err *err)
{
    unsigned char random[COOKIE_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_sys(err, "a random number");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    return 0;
}

/* A descriptor of ours must never be taken for a standard stream that was closed. */
static void open_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDWR); /* the lowest free number is fd */
}

static int say(enum launch_name name, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", launch_name_word(name), err->what);
    if (err->hint[0])
        fprintf(stderr, "  %s\n", err->hint);
    if (err->code == ERR_INPUT)
        return 2;
    struct err unwritten;
    if (error_file_of_launcher(err->what, &unwritten) != 0)
        fprintf(stderr, "%s: %s\n", launch_name_word(name), unwritten.what);
    return 1;
}

/* A leader holds a connection to every launcher, its store one to every rank. */
static void raise_files(struct settings *settings)
{
    if (getrlimit(RLIMIT_NOFILE, &settings->files) != 0)
        BUG("the number of files has no limit that can be read");
    struct rlimit all = { .rlim_cur = settings->files.rlim_max,
                          .rlim_max = settings->files.rlim_max };
    (void)setrlimit(RLIMIT_NOFILE, &all);
}

/* How the terminal was before ranks had it. */
struct terminal {
    bool is_one;
    struct termios modes;
};

static struct terminal look_at_terminal(void)
{
    struct terminal terminal = { .is_one = false };
    terminal.is_one = tcgetattr(STDIN_FILENO, &terminal.modes) == 0;
    return terminal;
}

/* A debugger's prompt that was killed leaves a terminal that shows nothing of what is typed. Not
 * from the background: there it is another program's. */
static void restore_terminal(const struct terminal *before)
{
    if (before->is_one && tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before->modes);
}

static int run(const struct settings *settings, struct err *err)
{
    char cookie[2 * COOKIE_BYTES + 1], preface[RDZV_PREFACE_MAX + 1];
    uv_loop_t loop;
    int hold = -1;
    if (rdzv_listener_preface(preface, settings->token, err) != 0 || make_cookie(cookie, err) != 0)
        return -1;
    /* Before the loop: the guard is a copy of this process and keeps none of its descriptors. */
    if (guard_start(cookie, &hold) < 0)
        return err_sys(err, "starting the process that cleans up after this one");
    if (uv_loop_init(&loop) != 0)
        return err_set(err, ERR_SYSTEM, "no event loop: too many open files");
    struct terminal terminal = look_at_terminal();
    int code = member_run(&loop, settings, cookie);
    restore_terminal(&terminal);
    (void)uv_loop_close(&loop);
    (void)guard_sweep(cookie, 0);
    close(hold);
    return code;
}

int launch_main(enum launch_name name, int argc, char **argv)
{
    struct settings settings = { .name = name };
    struct err err = { .code = ERR_NONE };
    struct arena *arena = arena_create();
    (void)signal(SIGPIPE, SIG_IGN);
    open_standard_streams();
    int code = settings_make(&settings, arena, name, argc, argv, &err);
    raise_files(&settings);
    if (code == 0)
        code = run(&settings, &err);
    else if (code == 1)
        code = 0;
    if (code < 0)
        code = say(name, &err);
    arena_destroy(arena);
    return code;
}
