/* The last screen of a job. Reads the output directory to name what is in it; everything else is
 * from the view. */
#include "cli/summary.h"

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/output.h"
#include "cli/table.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#define LINES_SHOWN  5
#define LINE_COLUMNS 160

/* ---- who was first ---- */

static bool failed_by_itself(const struct text_node *attempt)
{
    const char *state = text_word(attempt, "state"), *by = text_word(attempt, "by");
    if (strcmp(state, "failed") != 0 && strcmp(state, "lost") != 0)
        return false;
    return strcmp(by, "policy") != 0 && strcmp(by, "user") != 0;
}

/* The task that the server names, in its last attempt. */
static const struct text_node *named_first(const struct text_node *job, const char **task)
{
    const struct text_node *named = text_get(job, "first"), *list = text_get(job, "task_list");
    if (!named || named->kind != TEXT_LIST || !named->first || named->first->kind != TEXT_STR)
        return NULL;
    for (const struct text_node *t = list ? list->first : NULL; t; t = t->next) {
        const struct text_node *attempts = text_get(t, "attempts");
        if (!attempts || strcmp(text_word(t, "name"), named->first->str) != 0)
            continue;
        *task = named->first->str;
        return attempts->last;
    }
    return NULL;
}

const struct text_node *summary_first_failure(const struct text_node *job, const char **task)
{
    const struct text_node *list = text_get(job, "task_list"), *first = named_first(job, task);
    uint64_t earliest = UINT64_MAX;
    if (first)
        return first;
    for (const struct text_node *t = list ? list->first : NULL; t; t = t->next) {
        const struct text_node *attempts = text_get(t, "attempts");
        const struct text_node *last = attempts ? attempts->last : NULL;
        uint64_t ended = last ? answer_time(last, "ended") : 0;
        if (!last || !failed_by_itself(last) || ended >= earliest)
            continue;
        earliest = ended;
        first = last;
        *task = answer_text(t, "name", answer_text(t, "task", "?"));
    }
    return first;
}

int summary_exit_code(const struct text_node *job, int absent)
{
    const char *task;
    const struct text_node *first = summary_first_failure(job, &task);
    if (!first ||
        !failed_by_itself(first)) /* a launcher that was stopped, of the rank that failed */
        return absent;
    uint64_t code = text_number(first, "exit_code"), signal = text_number(first, "signal");
    if (code)
        return (int)(code & 0xff);
    return signal ? 128 + (int)signal : absent;
}

/* ---- its words ---- */

static void put_tail(struct arena *a, const char *tail, struct buf *out)
{
    const char *lines[LINES_SHOWN];
    size_t n = 0;
    for (const char *at = tail; *at;) {
        size_t len = strcspn(at, "\n");
        if (len && at[strspn(at, " \t\r\n")]) {
            if (n == LINES_SHOWN)
                memmove(lines, lines + 1, --n * sizeof *lines);
            lines[n++] = arena_strndup(a, at, len);
        }
        at += len + (at[len] == '\n');
    }
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "  %s\n", table_clip(a, lines[i], LINE_COLUMNS));
}

struct job_end {
    struct arena *arena;
    const struct refused *here;
    const char *number;
    struct buf *out;
};

static void put_line(const struct job_end *e, const char *label, enum remedy_id id,
                     const char *args)
{
    buf_addf(e->out, "  %-12s ", label);
    remedy_put_line(e->out, id, args, e->here);
    buf_putc(e->out, '\n');
}

/* What never started has written nothing: its story is in the job's. */
static void put_next(const struct job_end *e, const char *task, bool started, bool held)
{
    const char *both = arena_printf(e->arena, "%s\n%s", e->number, task);
    if (started)
        put_line(e, "its output", REMEDY_TASK_OUTPUT, both);
    else
        put_line(e, "more", REMEDY_SHOW_JOB, e->number);
    if (held)
        put_line(e, "enter it", REMEDY_TASK_ENTER, both);
    put_line(e, "again", REMEDY_RESUBMIT, e->number);
}

static bool is_held(const struct text_node *job)
{
    return strcmp(text_word(job, "state"), "stopping") == 0;
}

/* What could not even be started has neither an exit code nor a signal. */
static bool has_begun(const struct text_node *attempt)
{
    return answer_has(attempt, "exit_code") || answer_has(attempt, "signal") ||
           strcmp(text_word(attempt, "state"), "lost") == 0;
}

static void put_failure(const struct job_end *e, const struct text_node *job)
{
    const char *task = "";
    const struct text_node *first = summary_first_failure(job, &task);
    buf_addf(e->out, "%s failed: %s\n", answer_text(job, "name", "job"),
             answer_text(job, "reason", "no reason is known"));
    if (answer_has(job, "members")) {
        put_line(e, "which", REMEDY_LIST_STATE, e->number);
        put_line(e, "again", REMEDY_RESUBMIT, e->number);
        return;
    }
    if (!first) {
        put_line(e, "more", REMEDY_SHOW_JOB, e->number);
        return;
    }
    put_tail(e->arena, text_word(first, "tail"), e->out);
    put_next(e, task, has_begun(first), is_held(job));
}

/* ---- what it left ---- */

#define FILES_SHOWN 3

static void put_files(const char *dir, struct buf *out)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    size_t n = 0;
    while (d && (e = readdir(d))) {
        struct stat st;
        char size[48];
        if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, 0) != 0)
            continue;
        if (n < FILES_SHOWN)
            buf_addf(out, "%s%s%s", n ? "; " : "   (", e->d_name, S_ISDIR(st.st_mode) ? "/" : "");
        if (n < FILES_SHOWN && !S_ISDIR(st.st_mode))
            buf_addf(out, ", %s", out_size(size, (uint64_t)st.st_size));
        n++;
    }
    if (n > FILES_SHOWN)
        buf_addf(out, "; %zu more", n - FILES_SHOWN);
    buf_puts(out, n ? ")\n" : "\n");
    if (d)
        closedir(d);
}

static const char *short_home(struct arena *a, const char *path)
{
    const char *home = getenv("HOME");
    size_t n = home ? strlen(home) : 0;
    if (n > 1 && strncmp(path, home, n) == 0 && path[n] == '/')
        return arena_printf(a, "~%s", path + n);
    return path;
}

void summary_print(struct arena *a, const struct refused *here, const struct text_node *job,
                   struct buf *out)
{
    const struct job_end e = { .arena = a,
                               .here = here,
                               .number = arena_printf(
                                   a, "%llu", (unsigned long long)text_number(job, "number")),
                               .out = out };
    const char *dir = answer_text(job, "output_dir", answer_text(job, "output", NULL));
    bool held = is_held(job) && strcmp(text_word(job, "outcome"), "failed") == 0;
    if (held || strcmp(text_word(job, "state"), "failed") == 0)
        put_failure(&e, job);
    if (!dir)
        return;
    buf_addf(out, "output   %s", short_home(a, dir));
    put_files(dir, out);
}
