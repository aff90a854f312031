/* The dialects and their conventions as main registers them, the paths of secrets in each, and how
 * a v1 file is recognised by weights of its keys. Pure. */
#include "dialect/openpai/openpai.h"

#include "dialect/openpai/v1.h"
#include "dialect/openpai/v2.h"

/* Keys that speak for a v1 file, with their weight; jobName and taskRoles together are certain. */
static const struct {
    const char *key;
    int weight;
} signs[] = {
    { .key = "jobName", .weight = 50 },       { .key = "taskRoles", .weight = 50 },
    { .key = "virtualCluster", .weight = 5 }, { .key = "jobEnvs", .weight = 5 },
    { .key = "codeDir", .weight = 5 },        { .key = "retryCount", .weight = 5 },
};

int v1_detect(const struct text_node *root)
{
    if (!root || root->kind != TEXT_MAP)
        return 0;
    if (text_get(root, "protocolVersion") || text_get(root, "prerequisites"))
        return 0; /* v2 */
    int sure = 0;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (text_get(root, signs[i].key))
            sure += signs[i].weight;
    return sure < 100 ? sure : 100;
}

static const char *const secrets[] = { "jobEnvs.*", NULL };

const struct dialect openpai_v1 = {
    .name = "openpai-v1",
    .title = "openpai v1",
    .images = true,
    .looks_for = "jobName and taskRoles",
    .detect = v1_detect,
    .read = v1_read,
    .shape = v1_shape,
    .write = v1_write,
    .yaml = false,
    .unique_names = true,
    .secrets = secrets,
};

const struct convention openpai_v1_convention = {
    .name = V1_CONVENTION,
    .env = v1_env,
    .classify = v1_classify,
    .job_word = v1_job_word,
    .task_word = v1_task_word,
};

/* Values that templates put into commands, and what is written out for a registry. */
static const char *const v2_secrets[] = { "secrets", "prerequisites.*.auth", NULL };

const struct dialect openpai_v2 = {
    .name = "openpai-v2",
    .title = "openpai v2",
    .images = true,
    .looks_for = "protocolVersion and taskRoles",
    .detect = v2_detect,
    .read = v2_read,
    .shape = v2_shape,
    .write = v2_write,
    .yaml = true,
    .unique_names = true,
    .secrets = v2_secrets,
    .credentials = v2_secrets,
};

const struct convention openpai_v2_convention = {
    .secret_variables = V2_SECRET,
    .name = V2_CONVENTION,
    .env = v2_env,
    .classify = v2_classify,
    .job_word = v2_job_word,
    .task_word = v1_task_word,
};
