/* Fuzz target: any text through the reader of OpenPAI's protocol version 2. What is written of a
 * job that is accepted is accepted again. */
#include "dialect/openpai/openpai.h"

#include "fuzz/dialect.h"

#include <string.h>

/* Not templates of what was replaced that look like templates again: those are written with a
 * warning. */
static bool has_no_template(const struct job_spec *job)
{
    for (size_t r = 0; r < job->n_roles; r++)
        if (strstr(job->roles[r].run, "<%"))
            return false;
    return true;
}

static const struct fuzz_dialect target = { .dialect = &openpai_v2,
                                            .convention = &openpai_v2_convention,
                                            .text_max = 1 << 16,
                                            .variable = "PAI_JOB_NAME",
                                            .returns = has_no_template };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_dialect(&target, data, size);
}
