/* Finds elements by their tags alone, without a tree. Every place that is read lies in the span
 * that was given. */
#include "ship/s3_xml.h"

#include "base/mem.h"

#include <string.h>

static const char *find(struct xml_span in, const char *text, size_t n)
{
    return n && in.len >= n ? memmem(in.at, in.len, text, n) : NULL;
}

static struct xml_span after(struct xml_span in, const char *at)
{
    return (struct xml_span){ .at = at, .len = in.len - (size_t)(at - in.at) };
}

/* Behind the ">" of <name> or <name attribute...>; NULL: there is none. */
static const char *find_begin(struct xml_span in, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at; (at = find(in, "<", 1)); in = after(in, at + 1)) {
        struct xml_span tag = after(in, at + 1);
        if (tag.len <= n || memcmp(tag.at, name, n) != 0 || !strchr(" >\t\r\n", tag.at[n]))
            continue;
        const char *end = find(tag, ">", 1);
        return end && end[-1] != '/' ? end + 1 : NULL;
    }
    return NULL;
}

bool xml_next(struct xml_span *rest, const char *name, struct xml_span *inside)
{
    AUTO_FREE char *end_tag = mem_printf("</%s>", name);
    const char *begin = rest->at ? find_begin(*rest, name) : NULL;
    if (!begin)
        return false;
    struct xml_span from = after(*rest, begin);
    const char *end = find(from, end_tag, strlen(end_tag));
    if (!end)
        return false;
    *inside = (struct xml_span){ .at = begin, .len = (size_t)(end - begin) };
    *rest = after(from, end + strlen(end_tag));
    return true;
}

static const struct {
    const char *name;
    char is;
} entities[] = {
    { "&lt;", '<' },  { "&gt;", '>' },   { "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' },
    { "&#34;", '"' }, { "&#39;", '\'' }, { "&#38;", '&' }, { "&#x22;", '"' },
};

/* Its length; 1: it is none that is known. */
static size_t read_entity(struct xml_span in, char *is)
{
    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        size_t n = strlen(entities[i].name);
        if (in.len < n || memcmp(in.at, entities[i].name, n) != 0)
            continue;
        *is = entities[i].is;
        return n;
    }
    return 1;
}

bool xml_text(struct xml_span in, const char *name, char *out, size_t size)
{
    struct xml_span text;
    size_t n = 0;
    out[0] = '\0';
    if (!xml_next(&in, name, &text))
        return false;
    while (text.len && n + 1 < size) {
        char c = *text.at;
        size_t len = c == '&' ? read_entity(text, &c) : 1;
        out[n++] = c;
        text = after(text, text.at + len);
    }
    out[n] = '\0';
    return true;
}
