/* Fields without a member of their own: a warning, an error or nothing, with the row's reason as
 * the hint. The same rows make the tables of the pages of dialects, so both say the same. */
#include "job/fate.h"

#include "base/buf.h"

static int decode_ignored(const struct field_context *in, const struct text_node *node, void *base)
{
    char path[FIELD_PATH_MAX];
    (void)base;
    field_path(path, in->at);
    report_hint(in->report, report_warn(in->report, node->place, path, "%s has no effect", path),
                "%s", in->row->doc);
    return 0;
}

static int decode_refused(const struct field_context *in, const struct text_node *node, void *base)
{
    (void)base;
    report_hint(in->report, field_bad_value(in, node, "not possible here"), "%s", in->row->doc);
    return -1;
}

static int decode_quiet(const struct field_context *in, const struct text_node *node, void *base)
{
    (void)in;
    (void)node;
    (void)base;
    return 0;
}

const struct field_hooks fate_ignored = { .decode = decode_ignored, .value = "anything" };
const struct field_hooks fate_refused = { .decode = decode_refused, .value = "nothing" };
const struct field_hooks fate_quiet = { .decode = decode_quiet, .value = "anything" };

enum fate fate_of(const struct field *f)
{
    const struct field_hooks *hooks = f->type == FIELD_CUSTOM ? f->hooks : NULL;
    if (hooks == &fate_ignored)
        return FATE_WARNED;
    if (hooks == &fate_refused)
        return FATE_REFUSED;
    return hooks == &fate_quiet ? FATE_QUIET : FATE_HONOURED;
}

const char *fate_word(const struct field *f)
{
    static const char *const words[] = { [FATE_HONOURED] = "honoured",
                                         [FATE_WARNED] = "warned",
                                         [FATE_REFUSED] = "refused",
                                         [FATE_QUIET] = "quiet" };
    return words[fate_of(f)];
}

void fate_table(struct buf *out, const char *title, const struct field *table)
{
    buf_addf(out, "### %s\n\n| field | | what becomes of it |\n|---|---|---|\n", title);
    for (const struct field *f = table; f->name; f++)
        buf_addf(out, "| `%s` | %s%s | %s |\n", f->name, fate_word(f),
                 f->flags & FIELD_REQUIRED ? ", needed" : "", f->doc);
    buf_putc(out, '\n');
}
