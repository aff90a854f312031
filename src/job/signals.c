/* The table of signals that may be sent to a job's processes: by name, with or without SIG, or by
 * number. Each row says whether the signal is a request, which only programs that catch it get. */
#include "job/signals.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    int number;
    const char *word;
    bool request;
} signals[] = {
    { SIGHUP, "SIGHUP", true },    { SIGINT, "SIGINT", false },   { SIGQUIT, "SIGQUIT", false },
    { SIGUSR1, "SIGUSR1", true },  { SIGUSR2, "SIGUSR2", true },  { SIGALRM, "SIGALRM", true },
    { SIGTERM, "SIGTERM", false }, { SIGCONT, "SIGCONT", false }, { SIGWINCH, "SIGWINCH", true },
};
#define SIGNALS (sizeof signals / sizeof signals[0])

int signal_of_word(const char *word)
{
    char number[12];
    for (size_t i = 0; i < SIGNALS; i++) {
        snprintf(number, sizeof number, "%d", signals[i].number);
        if (strcasecmp(word, signals[i].word) == 0 || strcasecmp(word, signals[i].word + 3) == 0 ||
            strcmp(word, number) == 0)
            return signals[i].number;
    }
    return 0;
}

const char *signal_word(int number)
{
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i].number == number)
            return signals[i].word;
    return NULL;
}

bool signal_is_a_request(int number)
{
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i].number == number)
            return signals[i].request;
    return false;
}
