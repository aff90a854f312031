/* What the fuzz targets of the dialects do with a text, and what each says of its own. */
#ifndef FUZZ_DIALECT_H
#define FUZZ_DIALECT_H

#include "dialect/dialect.h"

#include <stdint.h>

struct fuzz_dialect {
    const struct dialect *dialect;
    const struct convention *convention;
    size_t text_max;       /* bytes; longer texts are not looked at */
    const char *variable;  /* that every task must have */
    const char *framework; /* in jobs of this one only; NULL: in all */
    /* Must what is written of the job be accepted again? NULL: of none. */
    bool (*returns)(const struct job_spec *);
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the text. Without a job somebody says why, and every problem lies within the text. A job
 * that is accepted must survive its canonical tree, give every task an environment, and be
 * writable; what is found not to hold aborts. 0. */
int fuzz_dialect(const struct fuzz_dialect *, const uint8_t *data, size_t size);

#endif
