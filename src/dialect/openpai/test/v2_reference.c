/* Prints the field tables of version 2 in doc/dialect-openpai.md: openpai_v2_reference > tables.
 * test_v2_doc.c compares the page with the same tables. */
#include "dialect/openpai/openpai.h"

#include "base/buf.h"

#include <stdio.h>

int main(void)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    openpai_v2_reference(&out);
    fputs(buf_str(&out), stdout);
    return 0;
}
