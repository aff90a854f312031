/* Fuzz target: any text through the ElasticJob reader; values of the environment that name others
 * are replaced. */
#include "dialect/elasticjob/elasticjob.h"

#include "fuzz/dialect.h"

static const struct fuzz_dialect target = { .dialect = &elasticjob_dialect,
                                            .convention = &elasticjob_convention,
                                            .text_max = 1 << 16,
                                            .variable = "POD_NAME" };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_dialect(&target, data, size);
}
