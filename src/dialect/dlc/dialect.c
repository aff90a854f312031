/* The dialect and its convention as main registers them, and how its texts are recognised: by names
 * that no other format has. Pure. */
#include "dialect/dlc/dlc.h"

#include "dialect/dlc/env.h"
#include "dialect/dlc/extra.h"
#include "dialect/dlc/mpi.h"
#include "dialect/dlc/params.h"
#include "dialect/dlc/read.h"
#include "dialect/dlc/words.h"
#include "dialect/dlc/write.h"

static int dlc_detect(const struct text_node *root)
{
    if (!root || root->kind != TEXT_MAP || text_get(root, "apiVersion"))
        return 0;
    bool specs = text_get(root, "JobSpecs"), type = text_get(root, "JobType");
    bool command = text_get(root, "UserCommand"), name = text_get(root, "DisplayName");
    int found = specs + type + command + name;
    if (specs || found >= 2)
        return found >= 2 ? 100 : 80;
    return dlc_is_params(root) ? 90 : 0;
}

#define CREDENTIALS                                                                                \
    "JobSpecs.*.ImageConfig.Password", "JobSpecs.*.ImageConfig.Auth", "image_repo_password"
static const char *const secrets[] = { "Envs.*", "CustomEnvs.*.Value", "envs", CREDENTIALS, NULL };
static const char *const credentials[] = { CREDENTIALS, NULL };

const struct dialect dlc_dialect = {
    .name = "dlc",
    .title = "PAI-DLC",
    .images = true,
    .looks_for = "JobType and JobSpecs, or key=value lines with command",
    .detect = dlc_detect,
    .read = dlc_read,
    .shape = dlc_shape,
    .write = dlc_write,
    .catalogued = true,
    .secrets = secrets,
    .credentials = credentials,
};

const struct convention dlc_convention = {
    .name = DLC_EXTRA,
    .over_time_stops = true,
    .one_world = true,
    .env = dlc_environment,
    .classify = dlc_classify,
    .job_word = dlc_job_word,
    .held_word = dlc_held_word,
    .task_word = dlc_task_word,
    .host = dlc_host,
    .files = dlc_files,
};
