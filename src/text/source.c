/* The checks that need no syntax. A text that fails here gets exactly one problem: what a parser
 * would say about the rest of a binary file helps nobody. */
#include "text/source.h"

#include "base/mem.h"
#include "base/scan.h"
#include "text/tree.h"

#include <stdint.h>
#include <string.h>

#define LOW_BITS 0x0101010101010101u

size_t source_chars(const char *s, size_t n)
{
    size_t inner = 0, i = 0; /* bytes 10xxxxxx continue a character */
    uint64_t word;
    for (; i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, s + i, sizeof word);
        inner += (((word >> 7) & ~(word >> 6) & LOW_BITS) * LOW_BITS) >> 56;
    }
    for (; i < n; i++)
        inner += ((unsigned char)s[i] & 0xc0) == 0x80;
    return n - inner;
}

struct place source_place(const char *src, size_t offset, size_t n)
{
    const char *line = src, *newline;
    struct place place = { .line = 1, .len = (uint32_t)n, .offset = (uint32_t)offset };
    while ((newline = memchr(line, '\n', (size_t)(src + offset - line)))) {
        place.line++;
        line = newline + 1;
    }
    place.col = (uint32_t)source_chars(line, (size_t)(src + offset - line)) + 1;
    return place;
}

/* First bytes of files that people hand over by mistake. */
struct file_start {
    const char *bytes;
    size_t n;
    const char *what;
};

static const struct file_start magics[] = {
    { .bytes = "\x1f\x8b", .n = 2, .what = "a gzip archive" },
    { .bytes = "PK\003\004", .n = 4, .what = "a zip archive" },
    { .bytes = "\x7f"
               "ELF",
      .n = 4,
      .what = "a program (ELF)" },
    { .bytes = "%PDF-", .n = 5, .what = "a PDF document" },
    { .bytes = "\x89PNG", .n = 4, .what = "a PNG picture" },
    { .bytes = "\xff\xfe", .n = 2, .what = "text in UTF-16" },
    { .bytes = "\xfe\xff", .n = 2, .what = "text in UTF-16" },
};

/* What a text that is not UTF-8 probably is; NULL when it looks like text with a bad byte in it. */
static const char *looks_like(const char *src, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(magics); i++)
        if (len >= magics[i].n && memcmp(src, magics[i].bytes, magics[i].n) == 0)
            return magics[i].what;
    size_t first = len < 512 ? len : 512, odd = 0;
    for (size_t i = 0; i < first; i++) {
        unsigned char c = (unsigned char)src[i];
        odd += c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f';
    }
    return odd > 2 && odd * 10 > first ? "a binary file" : NULL;
}

static bool is_blank(const char *src, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (src[i] != ' ' && src[i] != '\t' && src[i] != '\r' && src[i] != '\n')
            return false;
    return true;
}

static bool bad_byte(const char *src, size_t len, size_t at, struct report *r)
{
    const char *kind = looks_like(src, len);
    struct problem *p;
    if (kind) {
        p = report_error(r, (struct place){ .line = 0 }, "", "this is %s, not text in UTF-8", kind);
        report_hint(r, p, "give the job as text: JSON or YAML in UTF-8");
        return false;
    }
    struct place place = source_place(src, at, 1);
    if (src[at] == '\0') {
        p = report_error(r, place, "", "a NUL byte is in the text");
        report_hint(r, p, "remove it");
    } else {
        p = report_error(r, place, "", "byte 0x%02x is not valid UTF-8", (unsigned char)src[at]);
        report_hint(r, p, "save the text as UTF-8");
    }
    return false;
}

bool source_check(const char *src, size_t len, size_t max, struct report *r)
{
    struct problem *p;
    if (len > max) {
        p = report_error(r, (struct place){ .line = 0 }, "",
                         "the text has %zu bytes, the most is %zu", len, max);
        report_hint(r, p, "keep code and data in files of their own (codeDir) and name them");
        return false;
    }
    if (is_blank(src, len)) {
        p = report_error(r, (struct place){ .line = 0 }, "", "the text is %s",
                         len ? "blank" : "empty");
        report_hint(r, p, "give a job in JSON or YAML");
        return false;
    }
    size_t good = scan_utf8_prefix(src, len);
    return good == len || bad_byte(src, len, good, r);
}
