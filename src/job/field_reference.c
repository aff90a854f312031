/* The reference page from field tables: Markdown, one table of rows per struct, nested structs in
 * sections of their own in the order in which they are met. */
#include "job/field.h"

#include "base/buf.h"
#include "base/scan.h"
#include "job/field_value.h"

#include <stdio.h>

enum { SECTION_TITLE_MAX = 128 };

static void put_words(struct buf *out, const struct field *f)
{
    for (const struct field_word *w = f->words; w->word; w++)
        buf_addf(out, "%s`%s`", w == f->words ? "" : ", ", w->word);
}

static void put_counts(struct buf *out, const struct field *f)
{
    buf_puts(out, "number");
    if (f->counts & FIELD_NEVER)
        buf_puts(out, ", `never`");
    if (field_count_word(f))
        buf_addf(out, ", `%s`", field_count_word(f));
}

static void put_number(struct buf *out, const struct field *f)
{
    unsigned long long min = f->min, max = f->max;
    if (max)
        buf_addf(out, "number %llu to %llu", min, max);
    else if (min)
        buf_addf(out, "number from %llu", min);
    else
        buf_puts(out, "number");
}

static void put_value(struct buf *out, const struct field *f)
{
    static const char *const simple[FIELD_TYPE_N] = {
        [FIELD_TEXT] = "text",
        [FIELD_BOOL] = "`true`, `false`",
        [FIELD_INT] = "number",
        [FIELD_MILLI] = "decimal",
        [FIELD_SIZE] = "size",
        [FIELD_DURATION] = "duration",
        [FIELD_MAYBE_DURATION] = "duration or `none`",
        [FIELD_PAIRS] = "map of texts",
        [FIELD_AMOUNTS] = "decimals by name",
        [FIELD_OBJECT] = "map, below",
        [FIELD_LIST] = "list of maps, below",
        [FIELD_MAP] = "maps by name, below",
        [FIELD_TREE] = "anything",
        [FIELD_TIME] = "time",
        [FIELD_ID] = "job id",
    };
    if (f->type == FIELD_ENUM || f->type == FIELD_WORD)
        put_words(out, f);
    else if (f->type == FIELD_COUNT)
        put_counts(out, f);
    else if (f->type == FIELD_U32 || f->type == FIELD_U64)
        put_number(out, f);
    else if (f->type == FIELD_CUSTOM)
        buf_puts(out, f->hooks->value);
    else if (f->type == FIELD_WORDS)
        buf_puts(out, f->flags & FIELD_ONE ? "text or list of texts" : "list of texts");
    else
        buf_puts(out, simple[f->type]);
    if (f->brief)
        buf_addf(out, "; in brief its `%s`", f->brief);
}

static void put_enum_default(struct buf *out, const struct field *f)
{
    for (const struct field_word *w = f->words; w->word; w++)
        if (w->value == f->def)
            buf_addf(out, "`%s`", w->word);
}

static void put_default(struct buf *out, const struct field *f)
{
    char text[FMT_MAX];
    if (f->flags & FIELD_REQUIRED)
        buf_puts(out, "required");
    else if (f->def_text)
        buf_addf(out, "`%s`", f->def_text);
    else if (f->has_offset)
        return;
    else if (f->type == FIELD_ENUM)
        put_enum_default(out, f);
    else if (f->type == FIELD_BOOL)
        buf_puts(out, f->def ? "`true`" : "`false`");
    else if (f->type == FIELD_DURATION)
        buf_addf(out, "`%s`", f->def ? fmt_duration(text, f->def) : "0");
    else if (f->type == FIELD_U32 || f->type == FIELD_COUNT || f->type == FIELD_U64)
        buf_addf(out, "`%llu`", (unsigned long long)f->def);
}

static void put_row(struct buf *out, const struct field *f)
{
    buf_addf(out, f->flags & FIELD_REST ? "| *others* | " : "| `%s` | ", f->name);
    put_value(out, f);
    buf_puts(out, " | ");
    put_default(out, f);
    buf_addf(out, " | %s%s%s |\n", f->doc ? f->doc : "",
             f->flags & FIELD_SECRET ? " *Secret: only its owner sees the values.*" : "",
             f->flags & FIELD_REFUSED ? " *Refused: no server does it yet.*" : "");
}

static void put_sections(struct buf *out, const char *prefix, const struct field *table)
{
    for (const struct field *f = table; f->name; f++) {
        if (!f->table)
            continue;
        const char *many = f->type == FIELD_LIST ? "[]" : f->type == FIELD_MAP ? ".*" : "";
        char title[SECTION_TITLE_MAX];
        snprintf(title, sizeof title, "%s%s%s%s", prefix, *prefix ? "." : "", f->name, many);
        field_reference(out, title, f->table);
    }
}

/* The first section has a title in words; its fields stand at the root of the path. */
void field_reference(struct buf *out, const char *title, const struct field *table)
{
    bool root = false;
    for (const char *c = title; *c; c++)
        root |= *c == ' ';
    buf_addf(out, root ? "## %s\n\n" : "## `%s`\n\n", title);
    buf_puts(out, "| field | value | default | meaning |\n|---|---|---|---|\n");
    for (const struct field *f = table; f->name; f++)
        put_row(out, f);
    buf_puts(out, "\n");
    put_sections(out, root ? "" : title, table);
}
