/* What verbs of `dlc` share: the view of a job, following it until it ends, tables with frames,
 * JSON with the original's indent, request ids. */
#include "cli/output.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/dlc/call.h"
#include "cli/follow.h"
#include "cli/jobs.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define OUT_MAX (64u << 20)

struct text_node *dlc_view(struct dlc_call *c, const char *job, const char *parts, struct err *err)
{
    return jobs_view(c->cli, job, parts, err);
}

void dlc_json(const struct text_node *node)
{
    AUTO_BUF struct buf text = BUF_INIT(OUT_MAX);
    json_print(node, DLC_INDENT, &text);
    out_buf(&text);
    putchar('\n');
}

const char *dlc_request_id(struct arena *arena)
{
    unsigned char b[16] = { 0 };
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        memset(b, 0, sizeof b);
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    return arena_printf(
        arena, "%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-%02X%02X%02X%02X%02X%02X", b[0], b[1],
        b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* ---- tables ---- */

static void rule(const size_t *widths, size_t columns)
{
    for (size_t i = 0; i < columns; i++) {
        putchar('+');
        for (size_t k = 0; k < widths[i] + 2; k++)
            putchar('-');
    }
    puts("+");
}

void dlc_table(struct arena *arena, const char *const *cells, size_t columns, size_t rows)
{
    size_t *widths = ARENA_ARRAY(arena, columns, size_t);
    for (size_t i = 0; i < rows * columns; i++) {
        size_t w = scan_columns(cells[i], strlen(cells[i]));
        widths[i % columns] = w > widths[i % columns] ? w : widths[i % columns];
    }
    rule(widths, columns);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < columns; i++) {
            const char *cell = cells[r * columns + i];
            printf("| %s%*s ", cell, (int)(widths[i] - scan_columns(cell, strlen(cell))), "");
        }
        puts("|");
        if (r == 0)
            rule(widths, columns);
    }
    rule(widths, columns);
}

/* ---- following ---- */

struct following {
    struct dlc_call *c;
    const char *job;
    uint64_t last;
    char word[32];
    bool quiet;
};

static void want_events(void *arg, struct buf *path, struct buf *body)
{
    struct following *f = arg;
    (void)body;
    jobs_path(path, f->job, "/events");
    call_query_number(path, "after", f->last);
    call_query(path, "follow", "1");
}

static void say_status(struct following *f, const struct text_node *from)
{
    const char *state = answer_text(from, "state", "");
    const char *word = answer_text(from, "word", dlc_answer_status(state));
    if (!*state || strcmp(word, f->word) == 0)
        return;
    snprintf(f->word, sizeof f->word, "%s", word);
    if (!f->quiet)
        printf("Job %s is [%s]\n", f->job, word);
    fflush(stdout);
}

static bool on_event(void *arg, const struct text_node *event)
{
    struct following *f = arg;
    f->last = answer_number(event, "seq", f->last);
    if (strncmp(answer_text(event, "type", ""), "task.", 5) != 0)
        say_status(f, event);
    return true;
}

struct text_node *dlc_follow(struct dlc_call *c, const char *job, bool quiet, struct err *err)
{
    struct following f = { .c = c, .job = job, .quiet = quiet };
    struct follow follow = { .request = want_events, .record = on_event, .arg = &f };
    struct text_node *view = dlc_view(c, job, NULL, err);
    if (!view)
        return NULL;
    if (!out_final(answer_text(view, "state", "")) && follow_run(c->cli, &follow, err) < 0)
        return NULL;
    view = dlc_view(c, job, NULL, err);
    if (view)
        say_status(&f, view);
    return view;
}
