/* Compares whole files, so that a message that is tried no more is missed too; names the first line
 * that differs. */
#include "wire/test/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define LINES_MOST (1u << 20)

void golden_init(struct golden *golden)
{
    buf_init(&golden->lines, LINES_MOST);
}

void golden_add(struct golden *golden, const char *name, struct buf *bytes)
{
    assert_false(bytes->overflow);
    buf_puts(&golden->lines, name);
    buf_putc(&golden->lines, ' ');
    for (size_t i = 0; i < bytes->len; i++)
        buf_addf(&golden->lines, "%02x", (unsigned char)bytes->data[i]);
    buf_putc(&golden->lines, '\n');
    buf_clear(bytes);
}

static void name_difference(const char *is, const char *was)
{
    while (*is && strcspn(is, "\n") == strcspn(was, "\n") &&
           memcmp(is, was, strcspn(is, "\n")) == 0 && is[strcspn(is, "\n")]) {
        is += strcspn(is, "\n") + 1;
        was += strcspn(was, "\n") + (was[strcspn(was, "\n")] != '\0');
    }
    fail_msg("\n     is %.*s\n    was %.*s", (int)strcspn(is, "\n"), is, (int)strcspn(was, "\n"),
             was);
}

void golden_check(struct golden *golden, const char *file)
{
    struct err err = { 0 };
    AUTO_FREE char *path = mem_printf("%s/tests/golden/wire/%s", SOURCE_ROOT, file);
    AUTO_FREE char *was = NULL;
    size_t len = 0;
    assert_false(golden->lines.overflow);
    if (getenv("GOLDEN_UPDATE") &&
        file_replace(path, golden->lines.data, golden->lines.len, 0644, &err) != 0)
        fail_msg("%s", err.what);
    if (file_read(path, LINES_MOST, &was, &len, &err) != 0)
        fail_msg("%s", err.what);
    if (strcmp(was, buf_str(&golden->lines)) != 0)
        name_difference(buf_str(&golden->lines), was);
    buf_fini(&golden->lines);
}

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

void golden_each(const char *file, void (*take)(void *arg, const struct buf *bytes), void *arg)
{
    struct err err = { 0 };
    AUTO_FREE char *path = mem_printf("%s/tests/golden/wire/%s", SOURCE_ROOT, file);
    AUTO_FREE char *lines = NULL;
    size_t len = 0;
    if (file_read(path, LINES_MOST, &lines, &len, &err) != 0)
        fail_msg("%s", err.what);
    for (const char *at = strchr(lines, ' '); at; at = strchr(at, ' ')) {
        AUTO_BUF struct buf bytes = BUF_INIT(LINES_MOST);
        for (at++; *at != '\n'; at += 2)
            buf_putc(&bytes, (char)(digit(at[0]) << 4 | digit(at[1])));
        take(arg, &bytes);
    }
}
