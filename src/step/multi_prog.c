/* "0-3,7 PROGRAM ARGS", "* PROGRAM" for all ranks that no other line has; # begins a comment,
 * quotes hold blanks, %t and %o are numbers. As with Slurm a rank has one line. */
#include "step/multi_prog.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/hostlist.h"
#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

enum { FILE_MAX = 4 << 20, LINES_MAX = 65536, WORDS_MAX = 4096, WORD_MAX_BYTES = 65536 };
#define NO_LINE UINT32_MAX

struct reading {
    struct arena *arena;
    const char *path;
    uint32_t tasks;
    struct multi_prog *out;
    struct err *err;
};

static int wrong(const struct reading *r, uint32_t number, const char *what)
{
    err_set(r->err, ERR_INPUT, "%s: line %u: %s", r->path, number, what);
    return err_hint(r->err, "0-3,7 PROGRAM ARGS, or * PROGRAM ARGS");
}

static int split(const struct reading *r, const char *at, struct multi_line *line)
{
    line->words.at = ARENA_ARRAY(r->arena, WORDS_MAX, const char *);
    for (;;) {
        AUTO_BUF struct buf word = BUF_INIT(WORD_MAX_BYTES);
        char quote = '\0';
        at += strspn(at, " \t\r");
        if (!*at || *at == '#')
            return 0;
        for (; *at && (quote || !strchr(" \t\r", *at)); at++) {
            if (quote ? *at == quote : (*at == '"' || *at == '\''))
                quote = quote ? '\0' : *at;
            else if (*at == '\\' && at[1])
                buf_putc(&word, *++at);
            else
                buf_putc(&word, *at);
        }
        if (quote || word.overflow || line->words.n == WORDS_MAX)
            return wrong(r, line->number, quote ? "a quote is not closed" : "it is too long");
        line->words.at[line->words.n++] = arena_strdup(r->arena, buf_str(&word));
    }
}

static int give_ranks(const struct reading *r, uint32_t line)
{
    const struct multi_line *l = &r->out->lines[line];
    const char **names;
    size_t n;
    uint32_t offset = 0;
    if (strcmp(l->words.at[0], "*") == 0) {
        for (uint32_t rank = 0; rank < r->tasks; rank++)
            if (r->out->line_of[rank] == NO_LINE) {
                r->out->line_of[rank] = line;
                r->out->offset[rank] = offset++;
            }
        return 0;
    }
    if (hostlist_read(r->arena, arena_printf(r->arena, "[%s]", l->words.at[0]), &names, &n,
                      r->err) < 0)
        return wrong(r, l->number, "it does not begin with ranks");
    for (size_t i = 0; i < n; i++) {
        uint64_t rank;
        if (!scan_u64(names[i], 0, UINT32_MAX - 1, &rank))
            return wrong(r, l->number, "it does not begin with ranks");
        if (rank >= r->tasks)
            continue;
        if (r->out->line_of[rank] != NO_LINE)
            return wrong(r, l->number, "a rank of it has another line already");
        r->out->line_of[rank] = line;
        r->out->offset[rank] = offset++;
    }
    return 0;
}

static int read_lines(const struct reading *r, char *text)
{
    uint32_t number = 0;
    for (char *at = text; at;) {
        char *end = strchr(at, '\n');
        if (end)
            *end++ = '\0';
        struct multi_line *line = &r->out->lines[r->out->n];
        *line = (struct multi_line){ .number = ++number };
        if (split(r, at, line) < 0)
            return -1;
        if (line->words.n == 1)
            return wrong(r, number, "it has no program");
        r->out->n += line->words.n > 0;
        if (r->out->n == LINES_MAX)
            return wrong(r, number, "there are too many lines");
        at = end;
    }
    return 0;
}

int multi_prog_read(struct arena *a, const char *path, uint32_t tasks, struct multi_prog *out,
                    struct err *err)
{
    struct reading r = { .arena = a, .path = path, .tasks = tasks, .out = out, .err = err };
    AUTO_FREE char *text = NULL;
    size_t len, lines = 1;
    if (file_read(path, FILE_MAX, &text, &len, err) != 0)
        return -1;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    *out = (struct multi_prog){ .lines = ARENA_ARRAY(a, lines + 1, struct multi_line),
                                .line_of = ARENA_ARRAY(a, tasks, uint32_t),
                                .offset = ARENA_ARRAY(a, tasks, uint32_t) };
    for (uint32_t i = 0; i < tasks; i++)
        out->line_of[i] = NO_LINE;
    if (read_lines(&r, text) < 0)
        return -1;
    for (uint32_t i = 0; i < out->n; i++)
        if (give_ranks(&r, i) < 0)
            return -1;
    for (uint32_t rank = 0; rank < tasks; rank++)
        if (out->line_of[rank] == NO_LINE)
            return err_set(err, ERR_INPUT, "%s: rank %u has no program", path, rank);
    return 0;
}

struct words multi_prog_of(struct arena *a, const struct multi_prog *multi, uint32_t rank)
{
    const struct words *line = &multi->lines[multi->line_of[rank]].words;
    struct words words = { .at = ARENA_ARRAY(a, line->n, const char *) };
    for (size_t i = 1; i < line->n; i++) {
        AUTO_BUF struct buf word = BUF_INIT(WORD_MAX_BYTES);
        for (const char *c = line->at[i]; *c; c++) {
            bool number = *c == '%' && (c[1] == 't' || c[1] == 'o');
            if (number)
                buf_addf(&word, "%u", *++c == 't' ? rank : multi->offset[rank]);
            else
                buf_putc(&word, *c);
        }
        words.at[words.n++] = arena_strdup(a, buf_str(&word));
    }
    return words;
}
