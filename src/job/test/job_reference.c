/* Prints doc/job.md. */
#include "job/job.h"

#include "base/buf.h"

#include <stdio.h>

int main(void)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    job_reference(&out);
    return fputs(buf_str(&out), stdout) < 0;
}
