/* The options of a launcher, by its table: which words belong to them, and where its program
 * begins. A launcher's own --help is not asked: it may not be installed here. */
#include "cli/line/options.h"

#include <string.h>

static bool same_name(const char *names, size_t n, const char *word, size_t len)
{
    if (n != len)
        return false;
    for (size_t i = 0; i < n; i++)
        if (names[i] != word[i] && !(names[i] == '-' && word[i] == '_'))
            return false;
    return true;
}

static bool has_name(const char *names, const char *word, size_t len)
{
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (same_name(at, n, word, len))
            return true;
        at += n;
    }
    return false;
}

static const struct line_option *find_option(const struct line_options *of, const char *word,
                                             size_t len)
{
    for (size_t i = 0; i < of->n; i++)
        if (has_name(of->rows[i].names, word, len))
            return &of->rows[i];
    return NULL;
}

static int refuse(const struct line_options *of, const char *word, struct err *err)
{
    err_set(err, ERR_INPUT, "%s: muster does not know its option %.60s", of->launcher, word);
    return err_hint(err,
                    "write --option=value, so that it is clear where the program begins, or put "
                    "the line into a script");
}

static int take_unknown(struct line_walk *w, const char *word, struct line_match *out,
                        struct err *err)
{
    const struct line_options *of = w->of;
    bool equals = strchr(word, '=') != NULL;
    if (!equals && of->unknown == LINE_UNKNOWN_REFUSED)
        return refuse(of, word, err);
    out->n = !equals && of->unknown == LINE_UNKNOWN_VALUE && w->at + 1 < w->argc ? 2 : 1;
    w->at += out->n;
    return 1;
}

int line_next(struct line_walk *w, struct line_match *out, struct err *err)
{
    if (w->at < w->argc && strcmp(w->argv[w->at], "--") == 0) {
        w->at++;
        return 0;
    }
    if (w->at >= w->argc || w->argv[w->at][0] != '-' || !w->argv[w->at][1])
        return 0;
    const char *word = w->argv[w->at], *name = word + strspn(word, "-");
    size_t len = strcspn(name, "=");
    const struct line_option *option = find_option(w->of, name, len);
    *out = (struct line_match){ .name = word, .first = w->at, .n = 1 };
    if (!option && w->of->glued && word[1] != '-') {
        option = find_option(w->of, name, 1);
        if (option && option->values == 1) {
            out->means = option->means;
            out->value = name + 1;
            w->at++;
            return 1;
        }
        option = NULL;
    }
    if (!option)
        return take_unknown(w, word, out, err);
    out->means = option->means;
    if (name[len] == '=' && option->values) {
        out->value = name + len + 1;
        w->at++;
        return 1;
    }
    if (w->at + (int)option->values >= w->argc) {
        err_set(err, ERR_INPUT, "%s: %.60s has no value", w->of->launcher, word);
        return err_hint(err, "%.60s VALUE", word);
    }
    out->n = 1 + (int)option->values;
    out->value = option->values ? w->argv[w->at + 1] : NULL;
    w->at += out->n;
    return 1;
}
