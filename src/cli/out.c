/* Printing. Standard output is buffered; those who follow something flush it. */
#include "cli/out.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/cmd.h"
#include "job/state.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define DOCUMENT_MAX ((size_t)1 << 30)

void out_buf(const struct buf *text)
{
    if (text->len)
        fwrite(text->data, 1, text->len, stdout);
}

void out_json(const struct text_node *node)
{
    AUTO_BUF struct buf text = BUF_INIT(DOCUMENT_MAX);
    json_print(node, 2, &text);
    buf_putc(&text, '\n');
    out_buf(&text);
}

bool out_color_err(void)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
}

void out_warning(const char *what, const char *hint)
{
    bool color = out_color_err();
    fprintf(stderr, "%swarning:%s %s%s%s%s\n", color ? "\033[33m" : "", color ? "\033[0m" : "",
            what, *hint ? " (" : "", hint, *hint ? ")" : "");
}

void out_remedies(const struct cli *cli, const struct remedies *remedies, struct buf *out)
{
    const char *argv[REMEDY_WORDS];
    struct remedy one;
    for (size_t at = 0; remedies_next(remedies, &at, cli->arena, &one);) {
        size_t n = remedy_argv(&one, &cli->refused, cli->arena, argv);
        const char *what = remedy_what(one.id);
        if (n == 0)
            continue;
        buf_addf(out, "  %-9s ", remedy_label(one.id));
        remedy_put_words(out, argv, n);
        buf_addf(out, "%s%s%s\n", *what ? "     (" : "", what, *what ? ")" : "");
    }
}

const char *out_command(const struct cli *cli, enum remedy_id id, const char *args)
{
    AUTO_BUF struct buf line = BUF_INIT(64 << 10);
    remedy_put_line(&line, id, args, &cli->refused);
    return arena_strdup(cli->arena, buf_str(&line));
}

void out_error(const struct cli *cli, const struct err *err)
{
    bool color = out_color_err();
    AUTO_BUF struct buf lines = BUF_INIT(1 << 20);
    fflush(stdout);
    if (err->what[0]) /* else said already */
        fprintf(stderr, "%serror:%s %s\n", color ? "\033[1;31m" : "", color ? "\033[0m" : "",
                err->what);
    if (err->hint[0])
        fprintf(stderr, "  %s\n", err->hint);
    out_remedies(cli, &err->remedies, &lines);
    fputs(buf_str(&lines), stderr);
}

static const char *const colors[JOB_STATE_N] = {
    [JOB_SUSPENDED] = "35",   [JOB_QUEUED] = "33",     [JOB_STARTING] = "36",
    [JOB_RUNNING] = "32",     [JOB_RESTARTING] = "33", [JOB_STOPPING] = "33",
    [JOB_SUCCEEDED] = "2;32", [JOB_FAILED] = "31",     [JOB_STOPPED] = "2",
};

const char *out_state_color(const char *state)
{
    return colors[job_state_parse(state)];
}

const char *out_count(char out[48], uint64_t n, const char *word)
{
    snprintf(out, 48, "%llu %s%s", (unsigned long long)n, word, n == 1 ? "" : "s");
    return out;
}

const char *out_size(char out[48], uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double n = (double)bytes;
    size_t unit = 0;
    while (n >= 1000 && unit + 1 < ARRAY_LEN(units)) {
        n /= 1024;
        unit++;
    }
    snprintf(out, 48, unit && n < 10 ? "%.1f %s" : "%.0f %s", n, units[unit]);
    return out;
}

int out_job_status(const char *state)
{
    switch (job_state_parse(state)) {
    case JOB_SUCCEEDED: return EXIT_OK;
    case JOB_STOPPED: return EXIT_STOPPED;
    default: return EXIT_JOB_FAILED;
    }
}

int out_result_status(const struct text_node *job)
{
    bool held = answer_has(job, "held_until");
    return out_job_status(answer_text(job, held ? "outcome" : "state", ""));
}

bool out_final(const char *state)
{
    return job_state_final(job_state_parse(state));
}
