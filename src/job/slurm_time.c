/* Forms of times of sbatch and srun 22.05. A number alone is of minutes; days are told by their
 * dash, and what follows them begins with hours. */
#include "job/slurm_time.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MAX = 18 };

/* The digits at *at as a number; *at goes behind them. */
static bool digits(const char **at, uint64_t *out)
{
    char text[NUMBER_MAX + 1] = "";
    size_t n = strspn(*at, "0123456789");
    if (n == 0 || n > NUMBER_MAX)
        return false;
    memcpy(text, *at, n);
    *at += n;
    *out = strtoull(text, NULL, 10);
    return true;
}

bool slurm_time(const char *text, uint64_t *minutes)
{
    uint64_t part[3] = { 0 }, days = 0, seconds;
    const char *at = text;
    size_t n = 0;
    if (strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0 ||
        strcmp(text, "-1") == 0) {
        *minutes = UINT64_MAX;
        return true;
    }
    bool dash = strchr(text, '-') != NULL;
    if (dash && (!digits(&at, &days) || *at++ != '-'))
        return false;
    do {
        if (n == 3 || !digits(&at, &part[n++]))
            return false;
    } while (*at == ':' && *at++);
    if (*at || days > 1000000 || part[0] > 1000000000 || part[1] > 1000000 || part[2] > 1000000)
        return false;
    if (dash || n == 3)
        seconds = days * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
    else
        seconds = part[0] * 60 + part[1];
    *minutes = seconds ? (seconds + 59) / 60 : UINT64_MAX;
    return true;
}
