/* Prints doc/environment.md from the list of variables: variables_page > doc/environment.md. A test
 * compares the page with it. */
#include "dialect/variables.h"

#include <stdio.h>

int main(void)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    variables_page(&out);
    return fputs(buf_str(&out), stdout) < 0;
}
