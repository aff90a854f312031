/* Masking secrets in the text a user wrote: the values of secret paths become "***", everything
 * else stays as it was, comments and layout too. Works by the places of the parsed tree. */
#include "dialect/dialect.h"

#include "base/buf.h"
#include "base/vec.h"
#include "text/detect.h"

#include <stdlib.h>
#include <string.h>

struct span {
    size_t at, len;
};
struct spans {
    struct span *at;
    size_t n, cap;
};

static void add_leaves(const struct text_node *node, struct spans *spans)
{
    if (node->kind == TEXT_MAP || node->kind == TEXT_LIST) {
        for (const struct text_node *child = node->first; child; child = child->next)
            add_leaves(child, spans);
        return;
    }
    if (node->place.line > 0 && node->place.len > 0)
        vec_push(spans, ((struct span){ node->place.offset, node->place.len }));
}

static bool step_is(const char *step, size_t len, const char *key)
{
    if (len == 1 && *step == '*')
        return true;
    return key && strlen(key) == len && strncmp(step, key, len) == 0;
}

/* A step is a key or *, which also goes through the elements of a list; a key with dots is quoted.
 */
static void collect(const struct text_node *node, const char *path, struct spans *spans)
{
    if (*path == '\0') {
        add_leaves(node, spans);
        return;
    }
    bool quoted = *path == '"';
    path += quoted;
    size_t len = strcspn(path, quoted ? "\"" : ".");
    const char *rest = path + len + (quoted && path[len]);
    rest += *rest == '.';
    if (node->kind != TEXT_MAP && node->kind != TEXT_LIST)
        return;
    for (const struct text_node *child = node->first; child; child = child->next)
        if (step_is(path, len, child->key))
            collect(child, rest, spans);
}

static int by_place(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static void put_masked(struct buf *out, const char *value, size_t len)
{
    buf_puts(out, "\"***\"");
    if (len > 0 && value[len - 1] == '\n') /* block text of YAML ends with its line */
        buf_putc(out, '\n');
}

static const char *mask(struct arena *arena, const char *const *path, const struct text_node *root,
                        const char *text, size_t len)
{
    struct spans spans = { 0 };
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX_BYTES * 4u);
    size_t done = 0;
    for (; root && path && *path; path++)
        collect(root, *path, &spans);
    if (spans.n > 0)
        qsort(spans.at, spans.n, sizeof *spans.at, by_place);
    for (size_t i = 0; i < spans.n; i++) {
        struct span span = spans.at[i];
        if (span.at < done || span.at > len || span.len > len - span.at)
            continue; /* seen through another path or an alias */
        buf_add(&out, text + done, span.at - done);
        put_masked(&out, text + span.at, span.len);
        done = span.at + span.len;
    }
    buf_add(&out, text + done, len - done);
    vec_fini(&spans);
    return arena_strdup(arena, buf_str(&out));
}

const char *dialect_mask(struct arena *arena, const struct dialect *dialect,
                         const struct text_node *root, const char *text, size_t len)
{
    return mask(arena, dialect->secrets, root, text, len);
}

const char *dialect_without_credentials(const struct dialects *all, struct arena *arena,
                                        const char *from, const char *text, size_t len)
{
    struct report report;
    size_t documents;
    report_init(&report, arena);
    const struct text_node *root = text_parse_documents(arena, text, len, &documents, &report);
    const struct dialect *dialect = !root  ? NULL
                                    : from ? dialect_named(all, from, root)
                                           : dialect_detect(all, root);
    return dialect ? mask(arena, dialect->credentials, root, text, len) : "";
}
