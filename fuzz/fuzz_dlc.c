/* Fuzz target: any text through the PAI-DLC reader, as a CreateJob body or as a parameter file. A
 * job that is accepted must survive its canonical tree, give every task an environment, and be
 * writable (fuzz/dialect.h). */
#include "dialect/dlc/dlc.h"

#include "fuzz/dialect.h"

static const struct fuzz_dialect target = { .dialect = &dlc_dialect,
                                            .convention = &dlc_convention,
                                            .text_max = 1 << 15,
                                            .variable = "WORLD_SIZE",
                                            .framework = "pytorch" };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_dialect(&target, data, size);
}
