/* Remedies to and from trees: a kind of base/remedy.h with its arguments. The command line makes
 * its own words of them, because it knows what was typed; for others the words are there too. */
#include "text/remedies.h"

#include <string.h>

#define LINE_MAX_BYTES (64u << 10)

static void write_one(struct arena *a, struct text_node *list, const struct remedy *one,
                      const struct refused *refused)
{
    const char *argv[REMEDY_WORDS];
    char kind[32];
    struct text_node *map = text_map(a, list, NULL);
    text_str(a, map, "kind", arena_strdup(a, remedy_kind(one->id, kind)));
    struct text_node *args = text_list(a, map, "args");
    for (size_t i = 0; i < one->n; i++)
        text_str(a, args, NULL, one->args[i]);
    struct text_node *words = text_list(a, map, "argv");
    size_t n = remedy_argv(one, refused, a, argv);
    for (size_t i = 0; i < n; i++)
        text_str(a, words, NULL, argv[i]);
    text_str(a, map, "what", remedy_what(one->id));
}

static const char *line_of(struct arena *a, const char *hint, const struct remedies *remedies,
                           const struct refused *refused)
{
    AUTO_BUF struct buf typed = BUF_INIT(LINE_MAX_BYTES);
    bool some = hint && *hint;
    if (remedies)
        remedies_put_text(&typed, remedies, refused);
    if (typed.len == 0)
        return some ? hint : "";
    return arena_printf(a, "%s%s%s", some ? hint : "", some ? "; " : "", buf_str(&typed));
}

const char *remedies_line(struct arena *a, const char *hint, const struct remedies *remedies)
{
    static const struct refused nothing = { .program = "muster" };
    return line_of(a, hint, remedies, &nothing);
}

void remedies_write(struct arena *a, struct text_node *map, const char *hint,
                    const struct remedies *remedies, const struct refused *refused)
{
    const char *line = line_of(a, hint, remedies, refused);
    struct remedy one;
    if (*line)
        text_str(a, map, "hint", line);
    if (!remedies || remedies->n == 0)
        return;
    if (hint && *hint)
        text_str(a, map, "advice", hint);
    struct text_node *list = text_list(a, map, "remedies");
    for (size_t at = 0; remedies_next(remedies, &at, a, &one);)
        write_one(a, list, &one, refused);
}

static void read_one(struct arena *a, const struct text_node *node, struct remedies *out)
{
    const struct text_node *kind = text_get(node, "kind"), *args = text_get(node, "args");
    AUTO_BUF struct buf text = BUF_INIT(sizeof out->text);
    enum remedy_id id;
    if (!kind || !kind->str || !remedy_of_kind(kind->str, &id))
        return;
    for (const struct text_node *n = args ? args->first : NULL; n; n = n->next)
        buf_addf(&text, "%s%s", n == args->first ? "" : "\n", n->str ? n->str : "");
    if (!text.overflow)
        remedies_add(out, id, arena_strdup(a, buf_str(&text)));
}

const char *remedies_read(struct arena *a, const struct text_node *map, struct remedies *out)
{
    const struct text_node *list = text_get(map, "remedies");
    const struct text_node *hint = text_get(map, list ? "advice" : "hint");
    for (const struct text_node *n = list ? list->first : NULL; n; n = n->next)
        read_one(a, n, out);
    return hint && hint->kind == TEXT_STR ? hint->str : "";
}
