/* Prints the field tables of doc/dialect-elasticjob.md: elasticjob_reference > tables. test_doc.c
 * compares the page with the same tables. */
#include "dialect/elasticjob/elasticjob.h"

#include "base/buf.h"

#include <stdio.h>

int main(void)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    elasticjob_reference(&out);
    fputs(buf_str(&out), stdout);
    return 0;
}
