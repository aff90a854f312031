/* Printing: errors with what to type, phrases, sizes, JSON. Standard output is buffered, those who
 * follow something flush it; on a terminal only visible text gets through. */
#include "cli/output.h"

#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/cmd.h"
#include "cli/visible_text.h"
#include "job/state.h"
#include "text/json.h"
#include "text/remedies.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DOCUMENT_MAX ((size_t)1 << 30)
#define PIECE_MAX    ((size_t)1 << 20)

/* ---- terminals ---- */

struct stream {
    int fd;
    enum out_how how;
    bool text; /* only that goes through */
    struct visible_text visible;
};

static int write_all(int fd, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -1;
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* While the terminal is raw a line feed alone would not go back to the left. */
static void put_returns(const struct buf *text, struct buf *out)
{
    const char *end = text->data + text->len;
    for (const char *at = text->data; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        buf_add(out, at, (size_t)((stop ? stop : end) - at));
        if (stop)
            buf_puts(out, "\r\n");
        at = stop ? stop + 1 : end;
    }
}

static ssize_t write_stream(void *cookie, const char *text, size_t len)
{
    struct stream *s = cookie;
    AUTO_BUF struct buf shown = BUF_INIT(8 * PIECE_MAX), typed = BUF_INIT(16 * PIECE_MAX);
    int rc = s->text ? 0 : write_all(s->fd, text, len);
    for (size_t done = 0, n; s->text && rc == 0 && done < len; done += n) {
        n = len - done < PIECE_MAX ? len - done : PIECE_MAX;
        buf_clear(&shown);
        buf_clear(&typed);
        visible_text_add(&s->visible, text + done, n, &shown);
        if (s->how == OUT_TYPED)
            put_returns(&shown, &typed);
        const struct buf *out = s->how == OUT_TYPED ? &typed : &shown;
        rc = write_all(s->fd, out->data, out->len);
    }
    return rc == 0 ? (ssize_t)len : 0; /* what is not written whole is an error to stdio */
}

static int close_stream(void *cookie)
{
    struct stream *s = cookie;
    AUTO_BUF struct buf left = BUF_INIT(PIECE_MAX);
    visible_text_end(&s->visible, &left);
    int rc = write_all(s->fd, left.data, left.len);
    free(s);
    return rc;
}

FILE *out_stream(int fd, enum out_how how)
{
    static const cookie_io_functions_t functions = { .write = write_stream, .close = close_stream };
    struct stream *s = mem_new(sizeof *s);
    *s = (struct stream){ .fd = fd, .how = how, .text = how != OUT_RAW && isatty(fd) == 1 };
    FILE *to = fopencookie(s, "w", functions);
    if (!to)
        free(s);
    return to;
}

void out_guard(void)
{
    FILE *out = isatty(STDOUT_FILENO) == 1 ? out_stream(STDOUT_FILENO, OUT_GUARDED) : NULL;
    FILE *err = isatty(STDERR_FILENO) == 1 ? out_stream(STDERR_FILENO, OUT_GUARDED) : NULL;
    fflush(NULL);
    if (out)
        setvbuf(stdout = out, NULL, _IOLBF, 0);
    if (err)
        setvbuf(stderr = err, NULL, _IONBF, 0);
}

void out_screen(int fd, const struct buf *text)
{
    fflush(fd == STDERR_FILENO ? stderr : stdout);
    write_all(fd, text->data, text->len);
}

void out_visible(const char *text, size_t len, struct buf *out)
{
    struct visible_text v = { .n = 0 };
    visible_text_add(&v, text, len, out);
    visible_text_end(&v, out);
}

/* ---- documents, phrases ---- */

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

const char *out_away(struct arena *arena, const struct text_node *away, const char *state)
{
    static const struct {
        const char *state, *text;
    } ends[] = {
        { "stopping", "it ends when that is back" },
        { "restarting", "it begins anew when that is back" },
        { NULL, "the job waits for it" },
    };
    char since[FMT_MAX], tasks[48];
    const char *node = answer_text(away, "node", "?"), *then = NULL;
    const uint64_t n = text_number(away, "tasks");
    const char *tried = answer_text(away, "tried", NULL);
    if (text_flag(away, "left") && strcmp(state, "running") == 0)
        return arena_printf(arena,
                            "%s, silent since %s: the others go on without it, and take it in when "
                            "it is back",
                            node, fmt_time_local(since, answer_time(away, "since")));
    for (size_t i = 0; !then; i++)
        if (!ends[i].state || strcmp(ends[i].state, state) == 0)
            then = ends[i].text;
    return arena_printf(arena,
                        "%s, silent since %s%s%s: %s; if it is dead, say so (nodes fence, "
                        "nodes rm --force)%s%s",
                        node, fmt_time_local(since, answer_time(away, "since")), n ? ", with " : "",
                        n ? out_count(tasks, n, "task") : "", then, tried ? "; " : "",
                        tried ? tried : "");
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

static void problem_tree(struct arena *a, struct text_node *list, const struct problem *p)
{
    struct text_node *one = text_map(a, list, NULL);
    text_str(a, one, "severity", p->severity == SEVERITY_ERROR ? "error" : "warning");
    if (p->place.line) {
        text_int(a, one, "line", p->place.line);
        text_int(a, one, "col", p->place.col);
        text_int(a, one, "offset", p->place.offset);
        text_int(a, one, "len", p->place.len);
    }
    text_str(a, one, "path", p->path);
    text_str(a, one, "what", p->what);
    text_str(a, one, "hint", remedies_line(a, p->hint, p->remedies));
    if (p->fix)
        text_str(a, one, "fix", p->fix);
}

struct text_node *out_report(struct arena *a, struct text_node *parent, const char *file,
                             const struct report *report)
{
    struct text_node *one = text_map(a, parent, NULL);
    text_str(a, one, "file", file);
    text_int(a, one, "errors", (int64_t)report->errors);
    text_int(a, one, "warnings", (int64_t)report->warnings);
    struct text_node *list = text_list(a, one, "problems");
    for (size_t i = 0; i < report->n; i++)
        problem_tree(a, list, &report->at[i]);
    return one;
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
    return out_job_status(text_word(job, held ? "outcome" : "state"));
}

bool out_final(const char *state)
{
    return job_state_final(job_state_parse(state));
}

/* ---- images ---- */

static void add_place(struct buf *out, const struct text_node *store)
{
    uint64_t accounts = text_number(store, "accounts");
    buf_addf(out, " in %s", answer_text(store, "dir", "?"));
    if (accounts > 0)
        buf_addf(out, " of %llu account%s, each with that limit", (unsigned long long)accounts,
                 accounts == 1 ? "" : "s");
}

const char *out_images(struct arena *a, const struct text_node *stores, bool places)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    char taken[48], limit[48], left[48];
    for (const struct text_node *s = stores ? stores->first : NULL; s; s = s->next) {
        uint64_t bytes = text_number(s, "bytes");
        buf_addf(&out, "%s%s/%s", out.len ? "; " : "", bytes ? out_size(taken, bytes) : "0",
                 out_size(limit, text_number(s, "limit")));
        if (places)
            add_place(&out, s);
        buf_addf(&out, ", %s free", out_size(left, text_number(s, "free")));
    }
    return arena_strdup(a, buf_str(&out));
}
