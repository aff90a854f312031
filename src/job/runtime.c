/* Ways to run images: their words, and which of them a job gets. Whether one works is asked of each
 * machine and comes as data. A job that names an image is never given the host in its place: who
 * wants that says so. */
#include "job/runtime.h"

#include "base/mem.h"

#include <string.h>

static const char *const words[RUNTIME_N] = {
    "server", "auto", "host", "bwrap", "podman", "docker"
};

const char *runtime_word(enum job_runtime runtime)
{
    return words[runtime];
}

enum job_runtime runtime_named(const char *word)
{
    for (size_t i = RUNTIME_AUTO; word && i < RUNTIME_N; i++)
        if (strcmp(words[i], word) == 0)
            return (enum job_runtime)i;
    return RUNTIME_SERVER;
}

static bool is_asked(const struct runtime_check *check, enum job_runtime asked)
{
    return check->runtime > RUNTIME_HOST && (asked == RUNTIME_AUTO || asked == check->runtime);
}

enum job_runtime runtime_choose(const struct runtime_checks *checks, enum job_runtime asked)
{
    for (size_t i = 0; i < checks->n; i++)
        if (is_asked(&checks->at[i], asked) && checks->at[i].works)
            return checks->at[i].runtime;
    return RUNTIME_SERVER;
}

void runtime_reasons(const struct runtime_checks *checks, enum job_runtime asked, struct buf *out)
{
    size_t before = out->len;
    for (size_t i = 0; i < checks->n; i++)
        if (is_asked(&checks->at[i], asked) && !checks->at[i].works)
            buf_addf(out, "%s%s: %s", out->len > before ? "; " : "",
                     runtime_word(checks->at[i].runtime), checks->at[i].why);
}
