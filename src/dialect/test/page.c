/* Reads the page of a dialect and looks for the tables that the code prints. A table that is not
 * there fails the test and names the program that prints it. */
#include "dialect/test/page.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE_BYTES = 1 << 20 };

void page_init(struct page *page, const char *path)
{
    struct err err = { 0 };
    size_t len;
    *page = (struct page){ .path = path };
    if (file_read(path, PAGE_BYTES, &page->text, &len, &err) != 0)
        fail_msg("%s", err.what);
}

void page_fini(struct page *page)
{
    free(page->text);
}

void page_wants_tables(const struct page *page, void (*reference)(struct buf *),
                       const char *program)
{
    AUTO_BUF struct buf want = BUF_INIT(PAGE_BYTES);
    reference(&want);
    if (!strstr(page->text, buf_str(&want)))
        fail_msg("the field tables of %s are not those of the code: put the output of %s there",
                 page->path, program);
}

void page_wants(const struct page *page, const char *word)
{
    if (!strstr(page->text, word))
        fail_msg("%s is not on the page", word);
}
