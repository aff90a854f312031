/* Remedies as data and as command lines. Kept packed, so that an error has nothing to free: of each
 * its id as a byte and its arguments with a NUL behind them. */
#include "base/remedy.h"

#include "base/mem.h"
#include "base/script_name.h"
#include "base/shell_word.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *id, *label, *line, *what;
} rows[REMEDY_N] = {
#define REMEDY_ROW(name, word, text, does)                                                         \
    [REMEDY_##name] = { .id = #name, .label = word, .line = text, .what = does },
    REMEDIES(REMEDY_ROW)
#undef REMEDY_ROW
};

static size_t count_of(const char *text, char c)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

static bool is_plain(const char *args)
{
    for (const char *c = args; *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\n') || *c == 0x7f)
            return false;
    return true;
}

void remedies_add(struct remedies *r, enum remedy_id id, const char *args)
{
    size_t wanted = count_of(rows[id].line, '%'), has = *args ? count_of(args, '\n') + 1 : 0;
    size_t len = strlen(args) + 1;
    if (has != wanted || !is_plain(args) || 1 + len > sizeof r->text - r->len)
        return;
    for (size_t at = 0; at < r->len; at += 2 + strlen(r->text + at + 1))
        if (r->text[at] == (char)(id + 1) && strcmp(r->text + at + 1, args) == 0)
            return; /* several problems of a document, one way out */
    r->text[r->len] = (char)(id + 1);
    memcpy(r->text + r->len + 1, args, len);
    r->len = (uint16_t)(r->len + 1 + len);
    r->n++;
}

bool remedies_next(const struct remedies *r, size_t *at, struct arena *arena, struct remedy *out)
{
    if (*at >= r->len)
        return false;
    const char *args = r->text + *at + 1;
    *out = (struct remedy){ .id = (enum remedy_id)((unsigned char)r->text[*at] - 1) };
    *at += 2 + strlen(args);
    while (*args && out->n < REMEDY_ARGS) {
        size_t n = strcspn(args, "\n");
        out->args[out->n++] = arena_strndup(arena, args, n);
        args += n + (args[n] == '\n');
    }
    return true;
}

const char *remedy_kind(enum remedy_id id, char out[32])
{
    size_t n = 0;
    for (const char *c = rows[id].id; *c && n < 31; c++)
        out[n++] = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    out[n] = '\0';
    return out;
}

bool remedy_of_kind(const char *kind, enum remedy_id *id)
{
    for (unsigned i = 0; i < REMEDY_N; i++) {
        if (strcasecmp(rows[i].id, kind) != 0)
            continue;
        *id = (enum remedy_id)i;
        return true;
    }
    return false;
}

const char *remedy_label(enum remedy_id id)
{
    return rows[id].label;
}

const char *remedy_what(enum remedy_id id)
{
    return rows[id].what;
}

/* ---- the words to type ---- */

struct line {
    const char **at;
    size_t n;
    bool full;
};

static void add_word(struct line *line, const char *word)
{
    if (!word || line->n == REMEDY_WORDS)
        line->full = true;
    else
        line->at[line->n++] = word;
}

static bool has_file(const struct refused *refused)
{
    return refused->file && *refused->file && strcmp(refused->file, "-") != 0;
}

static bool submits(const char *verb)
{
    return strcmp(verb, "run") == 0 || strcmp(verb, "submit") == 0;
}

static bool is_option(const char *word, const char *option)
{
    size_t n = strlen(option);
    return strncmp(word, option, n) == 0 && (word[n] == '\0' || word[n] == '=');
}

/* Behind the last --set of the refused command, because the last one counts; else behind its verb.
 * What follows a script or -- is the job's. */
static size_t place_of(const struct refused *refused, const char *anew)
{
    size_t at = 1;
    for (size_t i = 1; anew && strcmp(anew, "--set") == 0 && i < refused->argc; i++) {
        const char *word = refused->argv[i];
        if (strcmp(word, "--") == 0 || script_is_name(word))
            break;
        if (is_option(word, "--set"))
            at = i + (strchr(word, '=') ? 1 : 2);
    }
    return at < refused->argc ? at : refused->argc;
}

/* Words of the refused command without the option that is given anew (--set is given again and
 * again). Another verb does not take what is run's alone. */
static void add_words(struct line *line, const struct refused *refused, bool same, const char *anew,
                      size_t first, size_t end)
{
    bool own = true;
    for (size_t i = first; i < end; i++) {
        const char *word = refused->argv[i];
        own = own && strcmp(word, "--") != 0 && !script_is_name(word);
        bool drop = (!same && is_option(word, "--exit-code")) ||
                    (anew && strcmp(anew, "--set") != 0 && is_option(word, anew));
        if (own && drop)
            i += !strchr(word, '=');
        else
            add_word(line, word);
    }
}

/* "again ..." of a command that does not submit by itself is a submission of its file. */
static void add_again(struct line *line, const struct refused *refused, const char *verb,
                      struct line *more)
{
    const char *typed = refused->argc ? refused->argv[0] : "";
    const char *anew = more->n ? more->at[0] : NULL;
    bool whole = *typed && (more->n == 0 || submits(typed));
    bool same = !verb || strcmp(verb, typed) == 0;
    size_t place = whole ? place_of(refused, anew) : 0;
    add_word(line, refused->program);
    add_word(line, whole ? (verb ? verb : typed) : "submit");
    if (whole)
        add_words(line, refused, same, anew, 1, place);
    for (size_t i = 0; i < more->n; i++)
        add_word(line, more->at[i]);
    if (whole)
        add_words(line, refused, same, anew, place, refused->argc);
    else
        add_word(line, has_file(refused) ? refused->file : NULL);
}

/* The row's words behind "again", or all of them, with arguments in their places. */
static void add_row(struct line *line, const struct remedy *r, const struct refused *refused,
                    struct arena *arena, size_t from)
{
    const char *at = rows[r->id].line + from;
    for (size_t arg = 0; *at;) {
        size_t n = strcspn(at, " ");
        const char *word = arena_strndup(arena, at, n);
        if (strcmp(word, "%") == 0)
            word = arg < r->n ? r->args[arg++] : NULL;
        else if (strcmp(word, "FILE") == 0)
            word = has_file(refused) ? refused->file : NULL;
        add_word(line, word);
        at += n + strspn(at + n, " ");
    }
}

size_t remedy_argv(const struct remedy *r, const struct refused *refused, struct arena *arena,
                   const char *argv[REMEDY_WORDS])
{
    const char *text = rows[r->id].line, *verb = NULL;
    struct line line = { .at = argv };
    if (refused->elsewhere && strncmp(text, "server start", strlen("server start")) == 0)
        return 0;
    if (strncmp(text, "again", strlen("again")) != 0) {
        add_word(&line, refused->program);
        add_row(&line, r, refused, arena, 0);
        for (size_t i = 0; i < refused->n_where; i++)
            add_word(&line, refused->where[i]);
        return line.full ? 0 : line.n;
    }
    struct line more = { .at = ARENA_ARRAY(arena, REMEDY_WORDS, const char *) };
    size_t first = strcspn(text, " ");
    if (text[strlen("again")] == ':')
        verb = arena_strndup(arena, text + strlen("again:"), first - strlen("again:"));
    if (verb && strcmp(verb, "%") == 0)
        verb = r->args[0];
    else
        add_row(&more, r, refused, arena, first + (text[first] == ' '));
    add_again(&line, refused, verb, &more);
    return line.full || more.full ? 0 : line.n;
}

void remedy_put_words(struct buf *out, const char *const *argv, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_putc(out, ' ');
        shell_word(out, argv[i]);
    }
}

void remedy_put_line(struct buf *out, enum remedy_id id, const char *args,
                     const struct refused *refused)
{
    const char *argv[REMEDY_WORDS];
    struct remedies all = { .n = 0 };
    struct arena *arena = arena_create();
    struct remedy one;
    size_t at = 0;
    remedies_add(&all, id, args);
    if (remedies_next(&all, &at, arena, &one))
        remedy_put_words(out, argv, remedy_argv(&one, refused, arena, argv));
    arena_destroy(arena);
}

void remedies_put_text(struct buf *out, const struct remedies *remedies,
                       const struct refused *refused)
{
    const char *argv[REMEDY_WORDS];
    struct arena *arena = arena_create();
    struct remedy one;
    bool more = false;
    for (size_t at = 0; remedies_next(remedies, &at, arena, &one);) {
        size_t n = remedy_argv(&one, refused, arena, argv);
        if (n == 0)
            continue;
        buf_puts(out, more ? "; " : "");
        remedy_put_words(out, argv, n);
        if (*rows[one.id].what)
            buf_addf(out, " (%s)", rows[one.id].what);
        more = true;
    }
    arena_destroy(arena);
}
