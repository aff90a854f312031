/* Signals and exit codes, as people know them: tables of what each means and what to look at. Only
 * for reading; nothing is decided by these words. */
#include "launch/summary_words.h"

#include "base/mem.h"

#include <signal.h>
#include <stdio.h>

struct word {
    uint32_t signal;
    const char *name, *meaning, *hint, *in_shell;
};
#define WORD(id, means, what_to_do)                                                                \
    {                                                                                              \
        id, #id, means, what_to_do, "a shell's word for " #id                                      \
    }
static const struct word words[] = {
    WORD(SIGHUP, "its terminal went away", NULL),
    WORD(SIGINT, "interrupted", NULL),
    WORD(SIGQUIT, "quit", NULL),
    WORD(SIGILL, "illegal instruction", "was a library built for another processor?"),
    WORD(SIGTRAP, "trap", NULL),
    WORD(SIGABRT, "abort", NULL),
    WORD(SIGBUS, "bus error", "often /dev/shm is full or too small: df -h /dev/shm"),
    WORD(SIGFPE, "arithmetic fault", NULL),
    WORD(SIGKILL, "killed", NULL),
    WORD(SIGUSR1, NULL, NULL),
    WORD(SIGSEGV, "segmentation fault", "PYTHONFAULTHANDLER=1 shows where"),
    WORD(SIGUSR2, NULL, NULL),
    WORD(SIGPIPE, "nobody reads what it writes", NULL),
    WORD(SIGALRM, "its alarm", NULL),
    WORD(SIGTERM, "asked to end", NULL),
    WORD(SIGXCPU, "over its processor time", "see ulimit -t"),
    WORD(SIGXFSZ, "over its file size", "see ulimit -f"),
    WORD(SIGSYS, "a system call that is not allowed", NULL),
};

static const struct word *find(uint32_t signal)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].signal == signal)
            return &words[i];
    return NULL;
}

const char *signal_name(uint32_t signal, char out[SIGNAL_NAME_MAX])
{
    const struct word *word = find(signal);
    if (word)
        snprintf(out, SIGNAL_NAME_MAX, "%s", word->name);
    else
        snprintf(out, SIGNAL_NAME_MAX, "signal %u", signal);
    return out;
}

const char *signal_meaning(uint32_t signal)
{
    const struct word *word = find(signal);
    return word ? word->meaning : NULL;
}

const char *signal_hint(uint32_t signal)
{
    const struct word *word = find(signal);
    return word ? word->hint : NULL;
}

const char *exit_code_meaning(int32_t code)
{
    if (code == 126)
        return "not executable";
    if (code == 127)
        return "command not found";
    const struct word *word = code > 128 ? find((uint32_t)code - 128) : NULL;
    return word ? word->in_shell : NULL;
}
