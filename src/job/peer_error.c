/* The errors of collectives and of sockets between ranks, as PyTorch, Gloo, NCCL and Python print
 * them. What matters is the exception that a program ended with, so that a line about a peer that
 * was only a warning does not count; the watchdog of NCCL ends a process without an exception. */
#include "job/peer_error.h"

#include <stddef.h>
#include <string.h>

struct sign {
    const char *type; /* of the exception, without its module */
    const char *says; /* after its colon; NULL: anything; "": nothing */
};
static const struct sign signs[] = {
    { "ConnectionResetError", NULL },
    { "BrokenPipeError", NULL },
    { "ConnectionAbortedError", NULL },
    { "EOFError", "" }, /* of multiprocessing.connection; those of input() and pickle say more */
    { "IncompleteReadError", NULL },
    { "DistBackendError", NULL },
    { "DistNetworkError", NULL },
    { "RuntimeError", "Connection closed by peer" },
    { "RuntimeError", "Connection reset by peer" },
    { "RuntimeError", "Connection refused" },
    { "RuntimeError", "Broken pipe" },
    { "RuntimeError", "Application timeout caused pair closure" },
    { "RuntimeError", "gloo" },
    { "RuntimeError", "NCCL" },
    { "RuntimeError", "Socket Timeout" },
    { "DistStoreError", "Socket Timeout" },
    { "DistStoreError", "Broken pipe" },
    { "DistStoreError", "Connection" },
};
static const char *const watchdogs[] = {
    "Watchdog caught collective operation timeout",
    "Process group watchdog thread terminated with exception",
};

#define SIGNS (sizeof signs / sizeof *signs)

/* Past what torch puts before the lines of a rank: "[rank3]: ". */
static const char *skip_rank(const char *line)
{
    const char *end = *line == '[' ? strstr(line, "]: ") : NULL;
    return end && !memchr(line, '\n', (size_t)(end - line)) ? end + 3 : line;
}

static bool ends_with(const char *at, size_t len, const char *tail)
{
    size_t n = strlen(tail);
    return len >= n && memcmp(at + len - n, tail, n) == 0;
}

/* "torch.distributed.DistBackendError: ..." and "EOFError": its type, without the module. */
static bool is_exception(const char *line, const char **type, size_t *len)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    size_t n = strspn(line, name);
    char after = line[n];
    if (after != ':' && after != '\n' && after != '\0')
        return false;
    if (!ends_with(line, n, "Error") && !ends_with(line, n, "Exception") &&
        !ends_with(line, n, "Interrupt") && !ends_with(line, n, "Exit"))
        return false;
    const char *dot = memrchr(line, '.', n);
    *type = dot ? dot + 1 : line;
    *len = n - (size_t)(*type - line);
    return true;
}

static bool says(const struct sign *sign, const char *after)
{
    if (!sign->says)
        return true;
    return *sign->says ? strstr(after, sign->says) != NULL : *after != ':';
}

static bool of_peer(const char *type, size_t len)
{
    for (size_t i = 0; i < SIGNS; i++)
        if (strlen(signs[i].type) == len && memcmp(signs[i].type, type, len) == 0 &&
            says(&signs[i], type + len))
            return true;
    return false;
}

bool peer_error_in(const char *text)
{
    const char *last = NULL, *type = NULL;
    size_t last_len = 0, len = 0;
    for (const char *line = text; *line;) {
        if (is_exception(skip_rank(line), &type, &len)) {
            last = type;
            last_len = len;
        }
        const char *end = strchr(line, '\n');
        line = end ? end + 1 : line + strlen(line);
    }
    if (last)
        return of_peer(last, last_len);
    for (size_t i = 0; i < sizeof watchdogs / sizeof *watchdogs; i++)
        if (strstr(text, watchdogs[i]))
            return true;
    return false;
}
