/* Selectors: the text of a query becomes terms, which are looked up in an object. Labels have sets
 * and existence, fields have equality only. */
#include "api/k8s/selector.h"

#include <stdio.h>
#include <string.h>

#define TERMS_MAX 256

struct scan {
    struct arena *arena;
    const char *at;
};

static void blanks(struct scan *s)
{
    s->at += strspn(s->at, " \t");
}

static const char *token(struct scan *s, const char *ends)
{
    blanks(s);
    size_t n = strcspn(s->at, ends);
    const char *text = arena_strndup(s->arena, s->at, n);
    s->at += n;
    return text;
}

static void add_value(struct scan *s, struct words *values, const char *value)
{
    const char **wider = ARENA_ARRAY(s->arena, values->n + 1, const char *);
    if (values->n)
        memcpy(wider, values->at, values->n * sizeof *wider);
    wider[values->n++] = value;
    values->at = wider;
}

static bool eat(struct scan *s, const char *text)
{
    size_t n = strlen(text);
    blanks(s);
    if (strncmp(s->at, text, n) != 0)
        return false;
    s->at += n;
    return true;
}

/* "(a, b)" */
static int set_of(struct scan *s, struct selector_term *term, struct err *err)
{
    if (!eat(s, "("))
        return err_set(err, ERR_INPUT, "unable to parse requirement: expected '(' at \"%.40s\"",
                       s->at);
    do
        add_value(s, &term->values, token(s, ",) \t"));
    while (eat(s, ","));
    if (!eat(s, ")"))
        return err_set(err, ERR_INPUT, "unable to parse requirement: expected ')' at \"%.40s\"",
                       s->at);
    return 0;
}

static int label(struct scan *s, struct selector_term *term, struct err *err)
{
    bool lacks = eat(s, "!");
    term->key = token(s, "=!,() \t");
    term->op = lacks ? SELECT_LACKS : SELECT_HAS;
    if (!*term->key)
        return err_set(err, ERR_INPUT, "unable to parse requirement: no name at \"%.40s\"", s->at);
    if (lacks)
        return 0;
    if (eat(s, "!=") || eat(s, "==") || eat(s, "=")) {
        term->op = s->at[-2] == '!' ? SELECT_IS_NOT : SELECT_IS;
        add_value(s, &term->values, token(s, ",!=() \t"));
    } else if (eat(s, "notin")) {
        term->op = SELECT_NOT_IN;
        return set_of(s, term, err);
    } else if (eat(s, "in")) {
        term->op = SELECT_IN;
        return set_of(s, term, err);
    }
    return 0;
}

/* Values may hold "\," and "\=". */
static const char *field_value(struct scan *s)
{
    char *out = ARENA_ARRAY(s->arena, strlen(s->at) + 1, char);
    size_t n = 0;
    for (; *s->at && *s->at != ','; s->at++) {
        if (s->at[0] == '\\' && s->at[1])
            s->at++;
        out[n++] = *s->at;
    }
    return out;
}

static int field(struct scan *s, struct selector_term *term, struct err *err)
{
    term->key = token(s, "=!,");
    if (!*term->key || !strchr("=!", *s->at) || !*s->at)
        return err_set(err, ERR_INPUT, "invalid selector: '%.60s'; can't understand it",
                       *term->key ? term->key : s->at);
    term->op = *s->at == '!' ? SELECT_IS_NOT : SELECT_IS;
    if (!eat(s, "!=") && !eat(s, "==") && !eat(s, "="))
        return err_set(err, ERR_INPUT, "invalid selector: '%.60s'; can't understand it", term->key);
    add_value(s, &term->values, field_value(s));
    return 0;
}

static int parse(struct scan *s, int (*one)(struct scan *, struct selector_term *, struct err *),
                 struct selector_term **terms, size_t *n, struct err *err)
{
    *n = 0;
    *terms = NULL;
    blanks(s);
    if (!*s->at)
        return 0;
    *terms = ARENA_ARRAY(s->arena, TERMS_MAX, struct selector_term);
    do {
        if (*n == TERMS_MAX)
            return err_set(err, ERR_INPUT, "a selector has %d terms at most", TERMS_MAX);
        if (one(s, &(*terms)[(*n)++], err))
            return -1;
    } while (eat(s, ","));
    blanks(s);
    if (*s->at)
        return err_set(err, ERR_INPUT, "unable to parse requirement: found '%.40s'", s->at);
    return 0;
}

int selector_parse(struct arena *arena, const char *labels, const char *fields,
                   struct selector *out, struct err *err)
{
    struct scan of_labels = { .arena = arena, .at = labels ? labels : "" };
    struct scan of_fields = { .arena = arena, .at = fields ? fields : "" };
    if (parse(&of_labels, label, &out->labels, &out->n_labels, err))
        return -1;
    return parse(&of_fields, field, &out->fields, &out->n_fields, err);
}

/* ---- looking ---- */

static const char *text_of(const struct text_node *node)
{
    return node && node->kind <= TEXT_STR && node->str ? node->str : NULL;
}

static bool holds(const struct selector_term *term, const char *value)
{
    bool in = value && words_have(&term->values, value);
    switch (term->op) {
    case SELECT_IS:
    case SELECT_IN: return in;
    case SELECT_IS_NOT:
    case SELECT_NOT_IN: return !in;
    case SELECT_HAS: return value != NULL;
    case SELECT_LACKS: return value == NULL;
    }
    return false;
}

static const char *at_path(const struct text_node *node, const char *path)
{
    while (node && *path) {
        char key[64];
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        node = text_get(node, key);
        path += n + (path[n] == '.');
    }
    const char *text = text_of(node);
    return text ? text : ""; /* what a field has not is the empty text there */
}

bool selector_fits(const struct selector *s, const struct text_node *object)
{
    const struct text_node *labels = text_get(text_get(object, "metadata"), "labels");
    for (size_t i = 0; i < s->n_labels; i++)
        if (!holds(&s->labels[i], labels ? text_of(text_get(labels, s->labels[i].key)) : NULL))
            return false;
    for (size_t i = 0; i < s->n_fields; i++)
        if (!holds(&s->fields[i], at_path(object, s->fields[i].key)))
            return false;
    return true;
}

const char *selector_field(const struct selector *s, const char *path)
{
    for (size_t i = 0; i < s->n_fields; i++)
        if (s->fields[i].op == SELECT_IS && strcmp(s->fields[i].key, path) == 0)
            return s->fields[i].values.at[0];
    return NULL;
}
