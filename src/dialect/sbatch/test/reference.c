/* Prints the table of options of doc/dialect-sbatch.md: sbatch_reference > table. test_doc.c
 * compares the page with the same table. */
#include "dialect/sbatch/sbatch.h"

#include "base/buf.h"

#include <stdio.h>

int main(void)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    sbatch_reference(&out);
    fputs(buf_str(&out), stdout);
    return 0;
}
