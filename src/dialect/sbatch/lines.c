/* Which lines of a script are options, and the words of them.
 *
 * Role: the text -> words with their places, as sbatch 22.05 splits them. Effects: problems in the
 * report.
 *
 * Source: slurm's reader as it was seen to behave: a '#' outside quotes begins a comment also
 * inside a word, a backslash takes the meaning off a quote, a backslash or a '#', the first line
 * that is no comment ends the options. */
#include "dialect/sbatch/lines.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "text/source.h"

#include <string.h>
#include <strings.h>

#define MAGIC "#SBATCH"
enum { MAGIC_N = sizeof MAGIC - 1, WORD_MAX_BYTES = 65536 };

struct lines {
    struct arena *arena;
    struct report *report;
    const char *text;
    VEC(struct sb_word) words;
    bool told_others;
};

static struct place place_at(const struct lines *l, const char *at, size_t n)
{
    return source_place(l->text, (size_t)(at - l->text), n);
}

/* ---- the words of a line ---- */

static void fail_at(const struct lines *l, const char *at, size_t n, const char *what,
                    const char *hint)
{
    struct problem *p = report_error(l->report, place_at(l, at, n), "", "%s", what);
    report_hint(l->report, p, "%s", hint);
}

/* Copies the word at *at, which goes behind it. false: it is no word, and that was said. */
static bool take_word(struct lines *l, const char **at, const char *end, struct buf *out)
{
    char quote = '\0';
    const char *start = *at, *c = start;
    for (; c < end && (quote || !strchr(" \t#", *c)); c++) {
        if (*c == '\\' && c + 1 < end && strchr("\"'\\#", c[1])) {
            buf_putc(out, *++c);
        } else if (*c == '\\') {
            fail_at(l, c, 1, "a backslash stands before what needs none",
                    "put the value in quotes; a line cannot be continued");
            return false;
        } else if (quote ? *c == quote : (*c == '"' || *c == '\'')) {
            quote = quote ? '\0' : *c;
        } else {
            buf_putc(out, *c);
        }
    }
    *at = c;
    if (quote)
        fail_at(l, start, (size_t)(c - start), "a quote is not closed", "close it on its line");
    return !quote;
}

static void add_words(struct lines *l, const char *at, const char *end)
{
    for (;;) {
        while (at < end && strchr(" \t", *at))
            at++;
        if (at >= end || *at == '#')
            return;
        AUTO_BUF struct buf word = BUF_INIT(WORD_MAX_BYTES);
        const char *start = at;
        if (!take_word(l, &at, end, &word))
            return;
        if (word.overflow || l->words.n == SBATCH_WORDS_MAX) {
            fail_at(l, start, 1, "the options are too long", "at most 4096 words of 65536 bytes");
            return;
        }
        struct sb_word *added = vec_add(&l->words);
        added->text = arena_strdup(l->arena, buf_str(&word));
        added->place = place_at(l, start, (size_t)(at - start));
        added->part = strcmp(added->text, "hetjob") == 0 || strcmp(added->text, "packjob") == 0;
    }
}

/* ---- lines that are none ---- */

static bool starts(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - at) >= n && strncasecmp(at, word, n) == 0;
}

/* A comment that may have been meant as options. "##SBATCH" is how people switch one off. */
static void look_at_comment(struct lines *l, const char *line, const char *end)
{
    static const char *const meant[] = { "#SBATCH", "# SBATCH", "#SBTACH",
                                         "#SBACTH", "#SBACH",   "#SBATH" };
    const char *at = line + strspn(line, " \t");
    if (starts(at, end, "#PBS") || starts(at, end, "#BSUB")) {
        if (!l->told_others)
            report_warn(
                l->report, place_at(l, at, 4), "",
                "lines of other batch systems (#PBS, #BSUB) are not read, Slurm reads them");
        l->told_others = true;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(meant); i++) {
        if (!starts(at, end, meant[i]))
            continue;
        struct problem *p = report_warn(l->report, place_at(l, at, strlen(meant[i])), "",
                                        "this line is a comment, its options do not count");
        report_hint(l->report, p, MAGIC " in capitals, from the line's first column on");
        return;
    }
}

static void warn_late(struct lines *l, const char *line, const char *command)
{
    struct place first = place_at(l, command, 1);
    struct problem *p = report_warn(
        l->report, place_at(l, line, MAGIC_N), "",
        "this line and those below do not count: the first command is in line %u", first.line);
    report_hint(l->report, p, "move the options above it");
}

/* ---- the whole ---- */

static bool check_script(const struct lines *l)
{
    const char *bang = strstr(l->text, "#!"), *cr = strchr(l->text, '\r');
    if (strncmp(l->text, "#!", 2) != 0) {
        fail_at(l, l->text, 1, "the first line of a batch script is no #! line",
                bang && bang - l->text < 8 ? "nothing may stand before #!, no blank line and no "
                                             "byte order mark"
                                           : "#!/bin/bash");
        return false;
    }
    if (cr)
        fail_at(l, cr, 1, "the script has line ends of DOS (CR LF)", "dos2unix, or sed 's/\\r//'");
    return !cr;
}

static bool is_command(const char *line, const char *end)
{
    while (line < end && strchr(" \t\v\f", *line))
        line++;
    return line < end && *line != '#';
}

struct sb_words sb_lines(struct arena *arena, const char *text, struct report *report)
{
    struct lines l = { .arena = arena, .report = report, .text = text };
    const char *command = NULL;
    bool good = check_script(&l);
    for (const char *line = text; good && *line;) {
        const char *end = line + strcspn(line, "\n");
        bool ours = strncmp(line, MAGIC, MAGIC_N) == 0;
        if (ours && command) {
            warn_late(&l, line, command);
            break;
        }
        if (ours)
            add_words(&l, line + MAGIC_N, end);
        else if (!command && is_command(line, end))
            command = line;
        else if (!command && line != text)
            look_at_comment(&l, line, end);
        line = *end ? end + 1 : end;
    }
    struct sb_words words = { .at = ARENA_ARRAY(arena, l.words.n, struct sb_word), .n = l.words.n };
    if (l.words.n)
        memcpy(words.at, l.words.at, l.words.n * sizeof *words.at);
    vec_fini(&l.words);
    return words;
}
