/* A name is a front and a number at its end. Writing joins neighbours that have the same front and
 * numbers of equal form; reading expands one bracket after the other, from the left. */
#include "base/hostlist.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

enum { DIGITS_MAX = 15, NAME_MAX_BYTES = 255 };

/* ---- writing ---- */

struct parts {
    size_t front;  /* bytes before the number */
    size_t digits; /* 0: the name has no number */
    uint64_t number;
    bool padded; /* with zeros in front */
};

static struct parts parts_of(const char *name)
{
    struct parts p = { .front = strlen(name) };
    while (p.front > 0 && p.digits < DIGITS_MAX && name[p.front - 1] >= '0' &&
           name[p.front - 1] <= '9') {
        p.front--;
        p.digits++;
    }
    for (size_t i = 0; i < p.digits; i++)
        p.number = p.number * 10 + (uint64_t)(name[p.front + i] - '0');
    p.padded = p.digits > 1 && name[p.front] == '0';
    return p;
}

static bool same_front(const char *a, const struct parts *pa, const char *b, const struct parts *pb)
{
    bool form = pa->digits == pb->digits || (!pa->padded && !pb->padded);
    return pa->digits && pb->digits && form && pa->front == pb->front &&
           memcmp(a, b, pa->front) == 0;
}

/* Names from `first` on that can share its bracket. */
static size_t count_shared(const char *const *names, size_t first, size_t n)
{
    struct parts p = parts_of(names[first]);
    size_t end = first + 1;
    for (; end < n; end++) {
        struct parts q = parts_of(names[end]);
        if (!same_front(names[first], &p, names[end], &q))
            break;
    }
    return end - first;
}

static void write_ranges(struct buf *out, const char *const *names, size_t n)
{
    size_t front = parts_of(names[0]).front;
    buf_addf(out, "%.*s[", (int)front, names[0]);
    for (size_t i = 0; i < n;) {
        size_t last = i;
        while (last + 1 < n && parts_of(names[last + 1]).number == parts_of(names[last]).number + 1)
            last++;
        buf_addf(out, "%s%s", i ? "," : "", names[i] + front);
        if (last > i)
            buf_addf(out, "-%s", names[last] + front);
        i = last + 1;
    }
    buf_putc(out, ']');
}

void hostlist_write(struct buf *out, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t shared = count_shared(names, i, n);
        if (i)
            buf_putc(out, ',');
        if (shared > 1)
            write_ranges(out, names + i, shared);
        else
            buf_puts(out, names[i]);
        i += shared;
    }
}

/* ---- reading ---- */

struct reading {
    struct arena *arena;
    const char *text; /* whole, for messages */
    const char **names;
    size_t n, cap;
    struct err *err;
};

static int add_name(struct reading *r, const char *name)
{
    if (r->n == HOSTLIST_MAX)
        return err_set(r->err, ERR_TOO_LARGE, "host list: more than %u names", HOSTLIST_MAX);
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 16;
        const char **names = ARENA_ARRAY(r->arena, cap, const char *);
        if (r->n)
            memcpy(names, r->names, r->n * sizeof *names);
        r->names = names;
        r->cap = cap;
    }
    r->names[r->n++] = name;
    return 0;
}

static int bad_list(const struct reading *r, const char *why)
{
    err_set(r->err, ERR_INPUT, "host list \"%.100s\": %s", r->text, why);
    return err_hint(r->err, "n[1-3,7]");
}

static int expand(struct reading *r, const char *name);

/* "1", "08-11": what stands before and behind its bracket is front and rest. */
static int expand_range(struct reading *r, const char *front, const char *range, const char *rest)
{
    char low[DIGITS_MAX + 1] = "", high[DIGITS_MAX + 1] = "";
    size_t n = strspn(range, "0123456789");
    const char *second = range[n] == '-' ? range + n + 1 : range;
    size_t m = strspn(second, "0123456789");
    uint64_t from, to;
    if (n == 0 || m == 0 || n > DIGITS_MAX || m > DIGITS_MAX || second[m])
        return bad_list(r, "in brackets stand numbers and ranges");
    memcpy(low, range, n);
    memcpy(high, second, m);
    if (!scan_u64(low, 0, UINT64_MAX, &from) || !scan_u64(high, from, UINT64_MAX, &to))
        return bad_list(r, "a range runs from the smaller number to the larger");
    if (to - from >= HOSTLIST_MAX)
        return err_set(r->err, ERR_TOO_LARGE, "host list: more than %u names", HOSTLIST_MAX);
    for (uint64_t i = from; i <= to; i++)
        if (expand(r, arena_printf(r->arena, "%s%0*llu%s", front, (int)n, (unsigned long long)i,
                                   rest)) < 0)
            return -1;
    return 0;
}

/* One word of the list; its first bracket is expanded, and what comes of that again. */
static int expand(struct reading *r, const char *name)
{
    const char *open = strchr(name, '['), *shut = open ? strchr(open, ']') : NULL;
    if (strlen(name) > 16 * NAME_MAX_BYTES || (!open && strlen(name) > NAME_MAX_BYTES))
        return bad_list(r, "a name is too long");
    if (!open)
        return strchr(name, ']') ? bad_list(r, "a bracket is closed that is not open")
                                 : add_name(r, name);
    if (!shut)
        return bad_list(r, "a bracket is not closed");
    const char *front = arena_strndup(r->arena, name, (size_t)(open - name));
    for (const char *at = open + 1; at <= shut; at += strcspn(at, ",]") + 1) {
        const char *range = arena_strndup(r->arena, at, strcspn(at, ",]"));
        if (expand_range(r, front, range, shut + 1) < 0)
            return -1;
    }
    return 0;
}

/* Of a word: a comma within brackets does not end it. */
static size_t word_length(const char *text)
{
    bool inside = false;
    size_t n = 0;
    for (; text[n] && (inside || text[n] != ','); n++)
        inside = text[n] == '[' || (inside && text[n] != ']');
    return n;
}

int hostlist_read(struct arena *arena, const char *text, const char ***names, size_t *n,
                  struct err *err)
{
    struct reading r = { .arena = arena, .text = text, .err = err };
    for (const char *at = text; *at;) {
        size_t len = word_length(at);
        if (len && expand(&r, arena_strndup(arena, at, len)) < 0)
            return -1;
        at += len;
        at += *at == ',';
    }
    *names = r.names;
    *n = r.n;
    return 0;
}
