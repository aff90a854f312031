/* Words of option lines become components with one value for each option. The last one said
 * counts; what later components of a heterogeneous job keep of the first is a column of the table.
 */
#include "dialect/sbatch/script.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- saying what is wrong ---- */

struct problem *sb_say(const struct sb_reader *r, enum severity severity,
                       const struct sb_part *part, enum sb_id id, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    const struct sb_value *value = &part->at[id];
    const char *path = arena_printf(r->arena, "--%s", sb_options[id].name);
    const char *text =
        value->text && *value->text ? arena_printf(r->arena, "%s=%.60s", path, value->text) : path;
    return report_add(r->report, severity, value->place, path,
                      arena_printf(r->arena, "%s %s", text, what), "");
}

/* ---- words ---- */

struct parsing {
    struct sb_reader *r;
    const struct sb_words *words;
    size_t next;
    struct sb_part *part;
};

static void unknown(const struct parsing *p, const struct sb_word *word, const char *name,
                    bool many)
{
    struct report *report = p->r->report;
    if (many) {
        report_hint(report,
                    report_error(report, word->place, "",
                                 "%.60s begins the names of several options", word->text),
                    "the whole name");
        return;
    }
    const char *near = name ? sb_option_near(name) : NULL;
    struct problem *problem =
        report_error(report, word->place, "", "%.60s is no option of sbatch", word->text);
    report_hint(report, problem, "%s%s",
                near ? "--" : "options of a site's plug-ins are not known here", near ? near : "");
}

static void put(const struct parsing *p, enum sb_id id, const char *text, struct place place)
{
    p->part->at[id] = (struct sb_value){ .text = text, .place = place };
}

/* The value of an option that needs one and has none in its own word. */
static bool next_value(struct parsing *p, const struct sb_word *word, enum sb_id id)
{
    if (p->next < p->words->n && !p->words->at[p->next].part) {
        put(p, id, p->words->at[p->next].text, p->words->at[p->next].place);
        p->next++;
        return true;
    }
    struct problem *problem =
        report_error(p->r->report, word->place, "", "--%s has no value", sb_options[id].name);
    report_hint(p->r->report, problem, "%s", sb_options[id].doc);
    return false;
}

static void parse_long(struct parsing *p, const struct sb_word *word)
{
    const char *name = word->text + 2;
    size_t len = strcspn(name, "=");
    bool several;
    enum sb_id id = sb_option_find(name, len, &several);
    if (id == SB_ID_N || len == 0) {
        unknown(p, word, arena_strndup(p->r->arena, name, len), several && len);
        return;
    }
    if (name[len] && sb_options[id].arg == SB_NO_ARG)
        report_error(p->r->report, word->place, "", "--%s takes no value", sb_options[id].name);
    else if (name[len])
        put(p, id, name + len + 1, word->place);
    else if (sb_options[id].arg == SB_ARG)
        next_value(p, word, id);
    else
        put(p, id, "", word->place);
}

/* "-N2", "-N 2", "-HQ". */
static void parse_letters(struct parsing *p, const struct sb_word *word)
{
    for (const char *c = word->text + 1; *c; c++) {
        enum sb_id id = sb_option_letter(*c);
        if (id == SB_ID_N) {
            unknown(p, word, NULL, false);
            return;
        }
        if (sb_options[id].arg == SB_NO_ARG) {
            put(p, id, "", word->place);
            continue;
        }
        if (c[1])
            put(p, id, c[1] == '=' ? c + 2 : c + 1, word->place);
        else if (sb_options[id].arg == SB_ARG)
            next_value(p, word, id);
        else
            put(p, id, "", word->place);
        return;
    }
}

static void begin_part(struct parsing *p, const struct sb_word *word)
{
    struct sb_reader *r = p->r;
    if (r->n_parts == SBATCH_PARTS_MAX) {
        report_error(r->report, word->place, "", "a job has at most %u components",
                     SBATCH_PARTS_MAX);
        return;
    }
    const struct sb_part *before = p->part;
    p->part = &r->parts[r->n_parts++];
    for (enum sb_id id = 0; id < SB_ID_N; id++)
        if (sb_options[id].kept)
            p->part->at[id] = before->at[id];
}

void sb_parse(struct sb_reader *r, const struct sb_words *words)
{
    r->parts = ARENA_ARRAY(r->arena, SBATCH_PARTS_MAX, struct sb_part);
    r->n_parts = 1;
    struct parsing p = { .r = r, .words = words, .part = r->parts };
    while (p.next < words->n) {
        const struct sb_word *word = &words->at[p.next++];
        if (word->part)
            begin_part(&p, word);
        else if (strncmp(word->text, "--", 2) == 0)
            parse_long(&p, word);
        else if (word->text[0] == '-' && word->text[1])
            parse_letters(&p, word);
        else
            report_hint(
                r->report,
                report_error(r->report, word->place, "", "\"%.60s\" is no option", word->text),
                "options begin with - or -- (two ASCII hyphens); quote values with blanks");
    }
}
