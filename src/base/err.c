/* Errors as values. The table ERR_CODES gives every translation of a code; texts that do not fit
 * are cut at a character and end in "...". Formats may name the error's own texts: the new text is
 * complete before the old one goes. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct code_row {
    const char *word;
    int http, exit;
};

static const struct code_row codes[ERR_N] = { [ERR_NONE] = { .word = "none", .http = 200 },
#define ERR_ROW(id, w, h, e) [ERR_##id] = { .word = w, .http = h, .exit = e },
                                              ERR_CODES(ERR_ROW)
#undef ERR_ROW
};

static const struct code_row *row(enum err_code code)
{
    return (unsigned)code < ERR_N ? &codes[code] : &codes[ERR_SYSTEM];
}

/* Marks a text that was cut to size bytes (with its NUL), not in the middle of a character. */
static void mark_cut(char *text, size_t size)
{
    size_t at = size - sizeof "...";
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    memcpy(text + at, "...", sizeof "...");
}

__attribute__((format(printf, 3, 0))) static void format(char *out, size_t size, const char *fmt,
                                                         va_list ap)
{
    int n = vsnprintf(out, size, fmt, ap);
    if (n < 0)
        out[0] = '\0';
    else if ((size_t)n >= size)
        mark_cut(out, size);
}

/* out = head + ": " + tail, cut to size. */
static void join(char *out, size_t size, const char *head, const char *tail)
{
    int n = snprintf(out, size, "%s: %s", head, tail);
    if (n >= 0 && (size_t)n >= size)
        mark_cut(out, size);
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    if (!err)
        return -1;
    char what[sizeof err->what];
    va_list ap;
    va_start(ap, fmt);
    format(what, sizeof what, fmt, ap);
    va_end(ap);
    err->code = code;
    memcpy(err->what, what, sizeof what);
    err->subject = 0;
    err->hint[0] = '\0';
    err->remedies.len = err->remedies.n = 0;
    return -1;
}

int err_sys(struct err *err, const char *fmt, ...)
{
    int number = errno;
    if (!err)
        return -1;
    char what[sizeof err->what], reason[128];
    va_list ap;
    va_start(ap, fmt);
    format(what, sizeof what, fmt, ap);
    va_end(ap);
    err->code = number == ENOSPC || number == EDQUOT ? ERR_FULL : ERR_SYSTEM;
    join(err->what, sizeof err->what, what, strerror_r(number, reason, sizeof reason));
    err_subject(err, strlen(what) + strlen(": "));
    err->hint[0] = '\0';
    err->remedies.len = err->remedies.n = 0;
    errno = number;
    return -1;
}

int err_in(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    char head[sizeof err->what], what[sizeof err->what];
    va_list ap;
    va_start(ap, fmt);
    format(head, sizeof head, fmt, ap);
    va_end(ap);
    memcpy(what, err->what, sizeof what);
    join(err->what, sizeof err->what, head, what);
    return err_subject(err, err->subject ? strlen(head) + strlen(": ") + err->subject : 0);
}

int err_subject(struct err *err, size_t len)
{
    if (err)
        err->subject = len < strlen(err->what) ? (uint16_t)len : 0;
    return -1;
}

const char *err_cause(const struct err *err)
{
    return err->what + err->subject;
}

int err_hint(struct err *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    char hint[sizeof err->hint];
    va_list ap;
    va_start(ap, fmt);
    format(hint, sizeof hint, fmt, ap);
    va_end(ap);
    memcpy(err->hint, hint, sizeof hint);
    return -1;
}

int err_remedy(struct err *err, enum remedy_id id)
{
    if (err)
        remedies_add(&err->remedies, id, "");
    return -1;
}

int err_remedy_of(struct err *err, enum remedy_id id, const char *fmt, ...)
{
    char args[sizeof err->remedies.text];
    va_list ap;
    if (!err)
        return -1;
    va_start(ap, fmt);
    int n = vsnprintf(args, sizeof args, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof args)
        remedies_add(&err->remedies, id, args);
    return -1;
}

const char *err_word(enum err_code code)
{
    return row(code)->word;
}

int err_http_status(enum err_code code)
{
    return row(code)->http;
}

int err_exit_status(enum err_code code)
{
    return row(code)->exit;
}

enum err_code err_from_word(const char *word)
{
    for (unsigned i = ERR_NONE + 1; word && i < ERR_N; i++)
        if (strcmp(codes[i].word, word) == 0)
            return (enum err_code)i;
    return ERR_SYSTEM;
}
