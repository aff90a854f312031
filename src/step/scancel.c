/* scancel inside a job: ends jobs of its owner, or sends them a signal.
 *
 * Inputs: command line. Effects: what the server does. */
#include "base/mem.h"
#include "step/ask.h"
#include "step/commands.h"
#include "step/step.h"

#include <stdio.h>
#include <string.h>

#define JOBS_MAX 1024u

const char *option_value(int argc, char **argv, int *i, const char *letter, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) == 0 && argv[*i][n] == '=')
        return argv[*i] + n + 1;
    if (strncmp(argv[*i], letter, 2) == 0 && argv[*i][1] != '-' && argv[*i][2])
        return argv[*i] + 2;
    if ((strcmp(argv[*i], letter) == 0 || strcmp(argv[*i], name) == 0) && *i + 1 < argc)
        return argv[++*i];
    return NULL;
}

/* "12_3" is "12[3]" here. */
static const char *job_of(struct arena *a, const char *text)
{
    size_t n = strcspn(text, "_");
    return text[n] ? arena_printf(a, "%.*s[%s]", (int)n, text, text + n + 1) : text;
}

static bool is_one_of(const char *word, const char *letter, const char *name)
{
    return strcmp(word, letter) == 0 || strcmp(word, name) == 0;
}

static int order(struct arena *a, const char *job, const char *signal)
{
    AUTO_BUF struct buf path = BUF_INIT(4096);
    buf_puts(&path, "/v1/jobs/");
    ask_escape(&path, job_of(a, job));
    buf_puts(&path, signal ? "/signal" : "/stop");
    ask_query(&path, "signal", signal);
    return ask_server("scancel", a, &(struct ask){ .method = "POST", .path = buf_str(&path) }) ? 0
                                                                                               : 1;
}

int scancel_main(int argc, char **argv)
{
    struct arena *a = arena_create();
    const char *signal = NULL, *value, *jobs[JOBS_MAX];
    int code = 0;
    size_t n = 0;
    for (int i = 1; i < argc && code == 0; i++) {
        const char *word = argv[i];
        if ((value = option_value(argc, argv, &i, "-s", "--signal")))
            signal = value;
        else if (is_one_of(word, "-b", "--batch"))
            fputs("scancel: warning: the script's tasks get it as well, as with --full\n", stderr);
        else if (is_one_of(word, "-Q", "--quiet") || is_one_of(word, "-f", "--full"))
            continue;
        else if (word[0] == '-')
            code = ask_fail("scancel", "this option is not known here:", word,
                            "scancel JOB[_INDEX]... [-s SIGNAL]");
        else if (n == JOBS_MAX)
            code = ask_fail("scancel", "too many jobs at once", "", "");
        else
            jobs[n++] = word;
    }
    if (code == 0 && n == 0)
        code = ask_fail("scancel", "no job is named", "", "scancel JOB...");
    const bool told = code == 0;
    for (size_t i = 0; told && i < n; i++) /* one that is gone keeps no other alive */
        code |= order(a, jobs[i], signal);
    arena_destroy(a);
    return code;
}
