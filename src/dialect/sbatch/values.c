/* Values as Slurm writes them: amounts, devices, signals, indices. Each function reads the
 * whole text or nothing, and knows neither options nor reports. */
#include "dialect/sbatch/values.h"

#include "base/scan.h"
#include "job/signals.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MAX = 18, SIGNAL_SECONDS = 60 };

/* The digits at *at as a number; *at goes behind them. */
static bool digits(const char **at, uint64_t *out)
{
    char text[NUMBER_MAX + 1] = "";
    size_t n = strspn(*at, "0123456789");
    if (n == 0 || n > NUMBER_MAX)
        return false;
    memcpy(text, *at, n);
    *at += n;
    return scan_u64(text, 0, UINT64_MAX, out);
}

/* ---- amounts ---- */

bool sb_memory(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGTP";
    uint64_t n;
    const char *at = text;
    if (!digits(&at, &n))
        return false;
    const char *unit = *at ? strchr(units, *at >= 'a' ? *at - 'a' + 'A' : *at) : units + 1;
    if (!unit)
        return false;
    at += *at != '\0';
    at += *at == 'b' || *at == 'B';
    unsigned shift = 10u * (unsigned)(unit - units + 1);
    if (*at || n > UINT64_MAX >> (shift + 1))
        return false;
    *bytes = n << shift;
    return true;
}

bool sb_count(const char *text, uint64_t *n)
{
    const char *at = text;
    uint64_t count;
    if (!digits(&at, &count) || count > UINT32_MAX)
        return false;
    if (*at == 'k' || *at == 'K' || *at == 'm' || *at == 'M')
        count <<= *at == 'k' || *at == 'K' ? 10 : 20, at++;
    if (*at)
        return false;
    *n = count;
    return true;
}

bool sb_range(const char *text, uint64_t *min, uint64_t *max)
{
    char low[NUMBER_MAX + 1] = "";
    size_t n = strcspn(text, "-");
    if (!text[n]) {
        if (!sb_count(text, min))
            return false;
        *max = *min;
        return true;
    }
    if (n > NUMBER_MAX)
        return false;
    memcpy(low, text, n);
    return sb_count(low, min) && sb_count(text + n + 1, max);
}

/* ---- devices ---- */

/* "gpu", "gpu:2", "gpu:a100:2", with "gres:" in front or "(S:0-1)" behind. */
static bool one_gres(struct arena *a, const char *text, size_t len, struct sb_gres *out)
{
    char *copy = arena_strndup(a, text, len), *paren = strchr(copy, '(');
    if (strncmp(copy, "gres:", 5) == 0 || strncmp(copy, "gres/", 5) == 0)
        copy += 5;
    if (paren)
        *paren = '\0';
    *out = (struct sb_gres){ .name = copy, .count = 1 };
    char *first = strchr(copy, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    if (first)
        *first++ = '\0';
    if (second)
        *second++ = '\0';
    if (!*copy || (first && !*first) || (second && !*second))
        return false;
    if (second) {
        out->type = first;
        return sb_count(second, &out->count);
    }
    if (first && !sb_count(first, &out->count))
        out->type = first;
    return true;
}

size_t sb_gres(struct arena *a, const char *text, struct sb_gres out[SB_GRES_MAX])
{
    size_t n = 0;
    if (strcasecmp(text, "none") == 0)
        return 0;
    for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
        size_t len = strcspn(at, ",");
        if (n == SB_GRES_MAX || len == 0 || !one_gres(a, at, len, &out[n]))
            return SIZE_MAX;
        n++;
    }
    return n;
}

bool sb_gpus(struct arena *a, const char *text, struct sb_gres *out)
{
    struct sb_gres list[SB_GRES_MAX];
    if (sb_gres(a, arena_printf(a, "gpu:%s", text), list) != 1)
        return false;
    *out = list[0];
    return true;
}

/* ---- signals ---- */

bool sb_signal(const char *text, struct sb_signal *out)
{
    char word[16] = "";
    uint64_t seconds = SIGNAL_SECONDS;
    struct sb_signal found = { .number = 0 };
    for (; text[0] && text[1] == ':'; text += 2) { /* R: is about reservations */
        if (text[0] != 'B' && text[0] != 'R')
            return false;
        found.batch |= text[0] == 'B';
    }
    size_t n = strcspn(text, "@");
    if (n == 0 || n >= sizeof word || (text[n] && !scan_u64(text + n + 1, 0, 65535, &seconds)))
        return false;
    memcpy(word, text, n);
    uint64_t number;
    if (scan_u64(word, 1, 64, &number))
        found.number = (int)number;
    else if (strcasecmp(word, "KILL") == 0 || strcasecmp(word, "SIGKILL") == 0)
        found.number = SIGKILL;
    else
        found.number = signal_of_word(word);
    found.seconds = (uint32_t)seconds;
    if (found.number == 0)
        return false;
    *out = found;
    return true;
}

/* ---- arrays ---- */

struct indices {
    uint64_t first, last, step; /* so far; step 0: one index */
    bool equal;
};

static void add_index(struct indices *all, uint64_t index, bool any)
{
    if (!any) {
        *all = (struct indices){ .first = index, .last = index, .equal = true };
        return;
    }
    uint64_t step = index > all->last ? index - all->last : 0;
    if (step == 0 || (all->step && step != all->step))
        all->equal = false;
    if (!all->step)
        all->step = step;
    all->last = index;
}

/* "4", "0-15", "0-15:4"; what it has goes to all. */
static bool one_range(const char **at, struct indices *all, uint64_t *count)
{
    uint64_t low, high, step = 1;
    if (!digits(at, &low))
        return false;
    high = low;
    if (**at == '-' && ((*at)++, !digits(at, &high)))
        return false;
    if (**at == ':' && ((*at)++, !digits(at, &step)))
        return false;
    if (high < low || step == 0 || high > JOB_ARRAY_INDEX_MAX ||
        (high - low) / step >= JOB_ARRAY_MAX)
        return false;
    for (uint64_t i = low; i <= high && *count <= JOB_ARRAY_MAX; i += step)
        add_index(all, i, (*count)++ > 0);
    return true;
}

bool sb_array(const char *text, struct job_array *out, bool *form)
{
    struct indices all = { .equal = true };
    const char *at = text;
    uint64_t count = 0, at_once = 0;
    *form = false;
    do
        if (!one_range(&at, &all, &count))
            return false;
    while (*at == ',' && *at++);
    if (*at == '%' && (at++, !digits(&at, &at_once)))
        return false;
    if (*at || count > JOB_ARRAY_MAX || at_once > JOB_ARRAY_MAX)
        return false;
    *form = true;
    if (!all.equal)
        return false;
    *out = (struct job_array){ .count = (uint32_t)count,
                               .first = (uint32_t)all.first,
                               .step = all.step ? (uint32_t)all.step : 1,
                               .at_once = (uint32_t)at_once };
    return true;
}
