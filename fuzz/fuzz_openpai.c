/* Fuzz target: any text through the OpenPAI v1 reader. What is written of a job that is accepted is
 * accepted again. */
#include "dialect/openpai/openpai.h"

#include "fuzz/dialect.h"

static bool always(const struct job_spec *job)
{
    (void)job;
    return true;
}

static const struct fuzz_dialect target = { .dialect = &openpai_v1,
                                            .convention = &openpai_v1_convention,
                                            .text_max = 1 << 16,
                                            .variable = "PAI_JOB_NAME",
                                            .returns = always };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_dialect(&target, data, size);
}
