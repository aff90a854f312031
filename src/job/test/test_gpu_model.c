/* What people call a model ("a100", "A100-80GB") against the product name of its driver: which of
 * them fit, and which are another model. */
#include "job/gpu_model.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define H100 "NVIDIA H100 80GB HBM3"
#define A100 "NVIDIA A100-SXM4-80GB"

static const struct {
    const char *model, *called;
    bool is;
} rows[] = {
    { H100, H100, true },
    { H100, "H100", true },
    { H100, "h100", true },
    { H100, "H100-SXM", true },
    { H100, "H100-SXM5-80GB", true },
    { H100, "H100-80G", true },
    { H100, "nvidia-h100-80gb-hbm3", true }, /* the label of Kubernetes' GPU discovery */
    { H100, "H100-PCIe", false },
    { H100, "H100-94GB", false },
    { H100, "A100", false },
    { H100, "NVIDIA", false },
    { H100, "H1", false },
    { H100, "H1000", false },
    { H100, "80GB", true },
    { H100, "", false },
    { "NVIDIA H100 PCIe", "H100-PCIE-80GB", true },
    { "NVIDIA H100 PCIe", "H100-SXM", false },
    { A100, "a100", true },
    { A100, "A100-SXM4-80GB", true },
    { A100, "A100-80G", true },
    { A100, "A100_80GB_SXM", true },
    { A100, "A100-SXM4-40GB", false },
    { A100, "A100-PCIE", false },
    { A100, "A10", false },
    { "NVIDIA A10", "A10", true },
    { "NVIDIA A10", "A100", false },
    { "NVIDIA A10G", "A10", false },
    { "NVIDIA L40S", "L40", false },
    { "Tesla V100-SXM2-32GB", "V100", true },
    { "Tesla V100-SXM2-32GB", "V100M32", true }, /* of the openb trace and of DLC */
    { "Tesla V100-SXM2-32GB", "V100M16", false },
    { "Tesla V100-SXM2-32GB", "NVIDIA_V100_32GB", true },
    { "Tesla V100-SXM2-32GB", "nvidia-tesla-v100", true },
    { "Tesla K80", "K80", true }, /* of OpenPAI's examples */
    { "Tesla T4", "NVIDIA T4", true },
    { "NVIDIA GeForce RTX 4090", "RTX4090", true },
    { "NVIDIA GeForce RTX 4090", "rtx-4090-24g", true },
    { "NVIDIA GeForce RTX 4090 D", "4090D", true },
    { "Tesla P100-PCIE-16GB", "P100", true },
    { "Tesla P100-PCIE-16GB", "Tesla", false },
    { H100 " + " A100, "A100", true },
    { H100 " + " A100, "H100", true },
    { H100 " + " A100, "H100A100", false },
    { H100 " + " A100, H100 " + " A100, true },
    { H100 " MIG 1g.10gb", "1g.10gb", true },
    { H100 " MIG 1g.10gb", "H100 MIG 1g.10gb", true },
    { H100 " MIG 1g.10gb", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", true },
    { H100 " MIG 1g.10gb", "mig", true },
    { H100 " MIG 1g.10gb", "h100-sxm5-mig-1g", true },
    { H100 " MIG 1g.10gb", "H100", false }, /* that is a whole one */
    { H100 " MIG 1g.10gb", "H100-80GB", false },
    { H100 " MIG 1g.10gb", H100, false },
    { H100 " MIG 1g.10gb", "10gb", false },
    { H100 " MIG 1g.10gb", "2g.20gb", false },
    { H100 " MIG 1g.10gb+me", "1g.10gb+me", true },
    { H100 " MIG 1g.10gb", "1g.10gb+me", false },
    { H100 " MIG 1g.10gb + " A100, "A100", true },
    { H100, "MIG", false },
    { "G2", "g2", true },
    { "", "H100", false },
};

static void names_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (gpu_model_is(rows[i].model, rows[i].called) != rows[i].is)
            fail_msg("\"%s\" for %s: %s", rows[i].called, rows[i].model,
                     rows[i].is ? "refused" : "taken");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_fit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
