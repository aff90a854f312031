/* JSON or YAML? By the first character that is neither space nor comment; a job file always has a
 * map, so "{" is JSON. */
#include "text/detect.h"

#include "text/json.h"
#include "text/yaml.h"

#include <string.h>

/* Behind white space and comments as JSON has them here; YAML's "#" is no JSON and stops it. */
static const char *skip_start(const char *p, const char *end)
{
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end) {
        bool line = end - p > 1 && p[0] == '/' && p[1] == '/';
        bool block = end - p > 1 && p[0] == '/' && p[1] == '*';
        const char *next = NULL;
        if (line)
            next = memchr(p, '\n', (size_t)(end - p));
        else if (block)
            next = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
        else if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
            next = p;
        else
            break;
        if (!next) /* a comment without end: its parser says so */
            return block ? p : end;
        p = next + (block ? 2 : 1);
    }
    return p;
}

struct text_node *text_parse(struct arena *arena, const char *src, size_t len,
                             struct report *report)
{
    const char *first = len ? skip_start(src, src + len) : src;
    if (first < src + len && (*first == '{' || *first == '[' || *first == '/'))
        return json_parse(arena, src, len, JSON_COMMENTS, report);
    return yaml_parse(arena, src, len, report);
}
