/* Options from tables: argv is parsed into the caller's struct, and the same rows print help.
 * Operands keep their order and move to the front of argv; so do values, which point into argv. */
#include "base/opt.h"

#include "base/mem.h"
#include "base/scan.h"
#include "base/script_name.h"

#include <string.h>

struct parsing {
    const struct opt *opts;
    char *into;
    char **argv;
    int argc, next; /* next: argument not yet looked at */
    struct err *err;
};

/* Is the name one of the words? */
static bool is_word_of(const char *words, const char *name, size_t n)
{
    for (const char *at = words ? words : ""; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == n && strncmp(at, name, n) == 0)
            return n > 0;
    }
    return false;
}

static const struct opt *by_name(const struct opt *opts, const char *name, size_t n)
{
    for (const struct opt *o = opts; o->name; o++)
        if (is_word_of(o->name, name, n) || is_word_of(o->also, name, n))
            return o;
    return NULL;
}

static const struct opt *by_letter(const struct opt *opts, char letter)
{
    for (const struct opt *o = opts; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static int unknown_name(const struct parsing *p, const char *name, size_t n)
{
    const char *names[64];
    size_t count = 0;
    for (const struct opt *o = p->opts; o->name && count < ARRAY_LEN(names); o++)
        names[count++] = o->name;
    AUTO_FREE char *word = mem_strndup(name, n);
    const char *near = scan_nearest(word, names, count);
    err_set(p->err, ERR_INPUT, "unknown option --%s", word);
    return near ? err_hint(p->err, "--%s?", near) : err_hint(p->err, "--help lists them");
}

static int bad_value(const struct parsing *p, const struct opt *o, const char *value,
                     const char *wanted)
{
    err_set(p->err, ERR_INPUT, "--%s: \"%s\" is not %s", o->name, value, wanted);
    return -1;
}

static void add_to_list(struct opt_list *list, const char *value)
{
    list->at = mem_resize(list->at, (list->n + 1) * sizeof *list->at);
    list->at[list->n++] = value;
}

/* Stores value; NULL for a flag. */
static int store(const struct parsing *p, const struct opt *o, const char *value)
{
    char *at = p->into + o->offset;
    switch (o->type) {
    case OPT_FLAG: *(bool *)at = true; return 0;
    case OPT_STR: memcpy(at, &value, sizeof value); return 0;
    case OPT_LIST: add_to_list((struct opt_list *)(void *)at, value); return 0;
    case OPT_U64:
        if (!scan_u64(value, 0, UINT64_MAX, (uint64_t *)(void *)at)) {
            bad_value(p, o, value, "a whole number");
            return err_hint(p->err, "for example --%s 10", o->name);
        }
        return 0;
    case OPT_DURATION:
        if (!scan_duration(value, (uint64_t *)(void *)at)) {
            bad_value(p, o, value, "a duration");
            return err_hint(p->err, "for example 90s, 15m, 2h or 1h30m");
        }
        return 0;
    }
    BUG("option --%s has type %d", o->name, (int)o->type);
}

static int missing_value(const struct parsing *p, const struct opt *o)
{
    err_set(p->err, ERR_INPUT, "--%s needs a value", o->name);
    return err_hint(p->err, "--%s %s", o->name, o->arg ? o->arg : "VALUE");
}

/* value: what follows directly ("=v" or the rest of -kv), or NULL: the next argument. */
static int take_value(struct parsing *p, const struct opt *o, const char *value)
{
    if (!value) {
        if (p->next >= p->argc)
            return missing_value(p, o);
        value = p->argv[p->next++];
    }
    return store(p, o, value);
}

static int parse_long(struct parsing *p, const char *name)
{
    size_t n = strcspn(name, "=");
    const struct opt *o = by_name(p->opts, name, n);
    if (!o)
        return unknown_name(p, name, n);
    const char *value = name[n] ? name + n + 1 : NULL;
    if (o->type != OPT_FLAG)
        return take_value(p, o, value);
    if (value) {
        err_set(p->err, ERR_INPUT, "--%s takes no value, \"%s\" was given", o->name, value);
        return err_hint(p->err, "--%s alone", o->name);
    }
    return store(p, o, NULL);
}

static int parse_letters(struct parsing *p, const char *letters)
{
    for (; *letters; letters++) {
        const struct opt *o = by_letter(p->opts, *letters);
        if (!o) {
            err_set(p->err, ERR_INPUT, "unknown option -%c", *letters);
            return err_hint(p->err, "--help lists them");
        }
        if (o->type != OPT_FLAG)
            return take_value(p, o, letters[1] ? letters + 1 : NULL);
        if (store(p, o, NULL) != 0)
            return -1;
    }
    return 0;
}

static bool ends_options(const char *operand, unsigned flags)
{
    return (flags & OPT_STOP_AT_OPERAND) ||
           ((flags & OPT_STOP_AT_SCRIPT) && script_is_name(operand));
}

int opt_parse(const struct opt *opts, void *into, int *argc, char **argv, unsigned flags,
              struct err *err)
{
    struct parsing p = { .opts = opts, .into = into, .argv = argv, .argc = *argc, .err = err };
    int operands = 0;
    bool ended = false;
    while (p.next < p.argc) {
        char *arg = argv[p.next++];
        int rc = 0;
        if (ended || arg[0] != '-' || arg[1] == '\0') {
            argv[operands++] = arg;
            ended = ended || ends_options(arg, flags);
        } else if (strcmp(arg, "--") == 0) {
            ended = true;
        } else if (arg[1] == '-') {
            rc = parse_long(&p, arg + 2);
        } else {
            rc = parse_letters(&p, arg + 1);
        }
        if (rc != 0)
            return -1;
    }
    *argc = operands;
    return 0;
}

void opt_fini(const struct opt *opts, void *into)
{
    for (const struct opt *o = opts; o->name; o++) {
        if (o->type != OPT_LIST)
            continue;
        struct opt_list *list = (struct opt_list *)(void *)((char *)into + o->offset);
        free(list->at);
        *list = (struct opt_list){ .at = NULL };
    }
}

static size_t left_width(const struct opt *o)
{
    return strlen("  -x, --") + strlen(o->name) + (o->arg ? strlen(o->arg) + 1 : 0);
}

void opt_help(const struct opt *opts, struct buf *out)
{
    size_t width = 0;
    for (const struct opt *o = opts; o->name; o++)
        width = left_width(o) > width ? left_width(o) : width;
    for (const struct opt *o = opts; o->name; o++) {
        if (o->letter)
            buf_addf(out, "  -%c, --%s", o->letter, o->name);
        else
            buf_addf(out, "      --%s", o->name);
        if (o->arg)
            buf_addf(out, " %s", o->arg);
        buf_addf(out, "%*s%s", (int)(width - left_width(o) + 2), "", o->help ? o->help : "");
        for (const char *at = o->also ? o->also : ""; *at; at += strspn(at, " ")) {
            int n = (int)strcspn(at, " ");
            buf_addf(out, "%s--%.*s", at == o->also ? " (also " : ", ", n, at);
            at += n;
        }
        buf_puts(out, o->also ? ")\n" : "\n");
    }
}
