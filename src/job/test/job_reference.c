/* Prints doc/job.md from the field tables: job_reference > doc/job.md. A test compares the page
 * with what this prints. */
#include "job/job.h"

#include "base/buf.h"

#include <stdio.h>

int main(void)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    job_reference(&out);
    return fputs(buf_str(&out), stdout) < 0;
}
