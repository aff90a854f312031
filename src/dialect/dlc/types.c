/* Kinds of jobs with their roles, and instance types: tables and look-ups. Pure.
 *
 * Source: the vendor's pages on job types (2024 to 2026) and on instance families. The types that
 * are not listed by the page of 2024 are here to be refused by name. */
#include "dialect/dlc/types.h"

#include "base/mem.h"
#include "dialect/dlc/dlc.h"
#include "dialect/dlc/instance_types.h"

#include <string.h>
#include <strings.h>

#define NO_SERVICE "it starts services of its own, which this program does not bring"

static const struct dlc_type types[] = {
    { .name = "TFJob",
      .framework = "tensorflow",
      .flags = DLC_EVERY_PORT,
      .label = DLC_LABEL_TF,
      .port = 2222,
      .roles = { { "Chief", DLC_ROLE_ONE },
                 { "Master", DLC_ROLE_ONE },
                 { "PS", DLC_ROLE_SERVES },
                 { "Worker", 0 },
                 { "Evaluator", DLC_ROLE_SERVES },
                 { "GraphLearn", DLC_ROLE_SERVES } } },
    { .name = "PyTorchJob",
      .framework = "pytorch",
      .flags = DLC_PROMOTES,
      .label = DLC_LABEL_MASTER,
      .port = DLC_PYTORCH_PORT,
      .roles = { { "Master", DLC_ROLE_ONE }, { "Worker", 0 } } },
    { .name = "MPIJob",
      .framework = "mpi",
      .flags = DLC_PROMOTES,
      .roles = { { "Master", DLC_ROLE_ONE | DLC_ROLE_DECIDES }, { "Worker", DLC_ROLE_SERVES } } },
    { .name = "XGBoostJob",
      .framework = "xgboost",
      .flags = DLC_PROMOTES,
      .label = DLC_LABEL_MASTER,
      .port = DLC_PYTORCH_PORT,
      .roles = { { "Master", DLC_ROLE_ONE }, { "Worker", 0 } } },
    { .name = "OneFlowJob",
      .framework = "oneflow",
      .flags = DLC_PROMOTES,
      .label = DLC_LABEL_MASTER,
      .port = DLC_PYTORCH_PORT,
      .roles = { { "Master", DLC_ROLE_ONE }, { "Worker", 0 } } },
    { .name = "ElasticBatchJob",
      .alias = "ElasticBatch",
      .framework = "elasticbatch",
      .roles = { { "Master", DLC_ROLE_ONE }, { "Worker", DLC_ROLE_MANY } } },
    { .name = "RayJob",
      .framework = "ray",
      .label = DLC_LABEL_MASTER,
      .port = 6379,
      .web = DLC_DASHBOARD_PORT,
      .web_port = 8265,
      .roles = { { "Head", DLC_ROLE_ONE | DLC_ROLE_DECIDES },
                 { "Worker", DLC_ROLE_SERVES | DLC_ROLE_PREFIX | DLC_ROLE_MANY } } },
    { .name = "SlurmJob",
      .framework = "slurm",
      .flags = DLC_ANY_ROLE,
      .roles = { { "Master", 0 }, { "Worker", 0 } } },
    { .name = "DataJuicerJob", .reason = NO_SERVICE },
    { .name = "FlinkBatchJob", .reason = NO_SERVICE },
    { .name = NULL },
};

const struct dlc_type *dlc_type_list(void)
{
    return types;
}

const struct dlc_type *dlc_type_find(const char *name, bool any_case)
{
    int (*differ)(const char *, const char *) = any_case ? strcasecmp : strcmp;
    for (const struct dlc_type *t = types; t->name; t++)
        if (differ(t->name, name) == 0 || (t->alias && differ(t->alias, name) == 0))
            return t;
    return NULL;
}

const struct dlc_role_kind *dlc_role_find(const struct dlc_type *type, const char *name)
{
    static const struct dlc_role_kind any = { .type = "" };
    for (const struct dlc_role_kind *r = type->roles; r->type; r++) {
        size_t len = strlen(r->type);
        if (strcmp(r->type, name) == 0)
            return r;
        if ((r->flags & DLC_ROLE_PREFIX) && strncmp(r->type, name, len) == 0 && name[len] == '-' &&
            name[len + 1])
            return r;
    }
    return type->flags & DLC_ANY_ROLE ? &any : NULL;
}

/* ---- instance types ---- */

#define ECS(name_, cpu_, memory_, gpu_, type_)                                                     \
    {                                                                                              \
        .kind = ENTRY_INSTANCE_TYPE, .name = (name_), .cpu_milli = (cpu_)*1000ull,                 \
        .memory = (memory_)*1024ull * 1024 * 1024, .gpu_milli = (gpu_)*1000ull,                    \
        .gpu_type = (type_)                                                                        \
    }

static const struct entry specs[] = {
    ECS("ecs.c6.large", 2, 4, 0, NULL),
    ECS("ecs.c6.xlarge", 4, 8, 0, NULL),
    ECS("ecs.c6.2xlarge", 8, 16, 0, NULL),
    ECS("ecs.c6.4xlarge", 16, 32, 0, NULL),
    ECS("ecs.c6.8xlarge", 32, 64, 0, NULL),
    ECS("ecs.g6.large", 2, 8, 0, NULL),
    ECS("ecs.g6.xlarge", 4, 16, 0, NULL),
    ECS("ecs.g6.2xlarge", 8, 32, 0, NULL),
    ECS("ecs.g6.4xlarge", 16, 64, 0, NULL),
    ECS("ecs.g6.8xlarge", 32, 128, 0, NULL),
    ECS("ecs.g6.13xlarge", 52, 192, 0, NULL),
    ECS("ecs.g6.26xlarge", 104, 384, 0, NULL),
    ECS("ecs.g7.xlarge", 4, 16, 0, NULL),
    ECS("ecs.g7.2xlarge", 8, 32, 0, NULL),
    ECS("ecs.g7.4xlarge", 16, 64, 0, NULL),
    ECS("ecs.g7.8xlarge", 32, 128, 0, NULL),
    ECS("ecs.g7.16xlarge", 64, 256, 0, NULL),
    ECS("ecs.r6.large", 2, 16, 0, NULL),
    ECS("ecs.r6.xlarge", 4, 32, 0, NULL),
    ECS("ecs.r6.2xlarge", 8, 64, 0, NULL),
    ECS("ecs.r6.4xlarge", 16, 128, 0, NULL),
    ECS("ecs.gn5-c4g1.xlarge", 4, 30, 1, "P100"),
    ECS("ecs.gn5-c8g1.2xlarge", 8, 60, 1, "P100"),
    ECS("ecs.gn5-c8g1.4xlarge", 16, 120, 2, "P100"),
    ECS("ecs.gn6i-c4g1.xlarge", 4, 15, 1, "T4"),
    ECS("ecs.gn6i-c8g1.2xlarge", 8, 31, 1, "T4"),
    ECS("ecs.gn6i-c16g1.4xlarge", 16, 62, 1, "T4"),
    ECS("ecs.gn6i-c24g1.6xlarge", 24, 93, 1, "T4"),
    ECS("ecs.gn6i-c24g1.12xlarge", 48, 186, 2, "T4"),
    ECS("ecs.gn6i-c24g1.24xlarge", 96, 372, 4, "T4"),
    ECS("ecs.gn6v-c8g1.2xlarge", 8, 32, 1, "V100"),
    ECS("ecs.gn6v-c8g1.8xlarge", 32, 128, 4, "V100"),
    ECS("ecs.gn6v-c8g1.16xlarge", 64, 256, 8, "V100"),
    ECS("ecs.gn6e-c12g1.3xlarge", 12, 92, 1, "V100"),
    ECS("ecs.gn6e-c12g1.12xlarge", 48, 368, 4, "V100"),
    ECS("ecs.gn6e-c12g1.24xlarge", 96, 736, 8, "V100"),
    ECS("ecs.gn7i-c8g1.2xlarge", 8, 30, 1, "A10"),
    ECS("ecs.gn7i-c16g1.4xlarge", 16, 60, 1, "A10"),
    ECS("ecs.gn7i-c32g1.8xlarge", 32, 188, 1, "A10"),
    ECS("ecs.gn7i-c32g1.16xlarge", 64, 376, 2, "A10"),
    ECS("ecs.gn7i-c32g1.32xlarge", 128, 752, 4, "A10"),
    ECS("ecs.gn7e-c16g1.4xlarge", 16, 125, 1, "A100"),
    ECS("ecs.gn7e-c16g1.16xlarge", 64, 500, 4, "A100"),
    ECS("ecs.gn7e-c16g1.32xlarge", 128, 1000, 8, "A100"),
};

/* "Up to 2 GPUs and 8 cores" for each user, the page says of public resources. */
static const struct entry public_quota = {
    .kind = ENTRY_QUOTA,
    .name = DLC_PUBLIC_QUEUE,
    .description = "public resources: PAI-DLC jobs with EcsSpec and without ResourceId",
    .user_cpu_milli = 8000,
    .user_gpu_milli = 2000,
};

/* Those that the page names, with the labels it looks for. */
#define IMAGE(name_, host_)                                                                        \
    {                                                                                              \
        .kind = ENTRY_IMAGE, .name = (name_), .uri = host_ "/pai-dlc/" name_                       \
    }
static const struct entry images[] = {
    IMAGE("tensorflow-training:1.15-cpu-py36-ubuntu18.04", "registry-vpc.cn-hangzhou.aliyuncs.com"),
    IMAGE("tensorflow-training:1.12.2PAI-cpu-py27-ubuntu16.04",
          "registry-vpc.cn-beijing.aliyuncs.com"),
};
static const char *const image_labels[ARRAY_LEN(images)][2] = { { "Tensorflow 1.15", "3.6" },
                                                                { "Tensorflow 1.12", "2.7" } };

const struct entry *dlc_shipped(struct arena *arena, size_t *n)
{
    *n = ARRAY_LEN(specs) + ARRAY_LEN(images) + 1;
    struct entry *all = ARENA_ARRAY(arena, *n, struct entry);
    memcpy(all, specs, sizeof specs);
    for (size_t i = 0; i < ARRAY_LEN(images); i++) {
        struct entry *image = &all[ARRAY_LEN(specs) + i];
        *image = images[i];
        pairs_set(&image->labels, arena, "system.supported.dlc", "true");
        pairs_set(&image->labels, arena, "system.framework", image_labels[i][0]);
        pairs_set(&image->labels, arena, "system.pythonVersion", image_labels[i][1]);
        pairs_set(&image->labels, arena, "system.chipType", "CPU");
    }
    all[*n - 1] = public_quota;
    return all;
}

const struct entry *dlc_ecs_list(size_t *n)
{
    *n = ARRAY_LEN(specs);
    return specs;
}

const struct entry *dlc_ecs_find(const struct catalogue *catalogue, const char *name)
{
    const struct entry *declared = catalogue_find(catalogue, ENTRY_INSTANCE_TYPE, name);
    for (size_t i = 0; !declared && i < ARRAY_LEN(specs); i++)
        if (strcmp(specs[i].name, name) == 0)
            declared = &specs[i];
    return declared;
}
