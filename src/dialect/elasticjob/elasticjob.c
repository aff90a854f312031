/* The dialect and its convention as main registers them: which of their parts does what, and where
 * its texts have secrets. */
#include "dialect/elasticjob/elasticjob.h"

#include "dialect/elasticjob/documents.h"
#include "dialect/elasticjob/env.h"
#include "dialect/elasticjob/names.h"
#include "dialect/elasticjob/pods.h"
#include "dialect/elasticjob/read.h"
#include "dialect/elasticjob/shape.h"
#include "dialect/elasticjob/words.h"
#include "dialect/elasticjob/write.h"

/* Values of env in all containers; also below a list of documents. */
#define ENV_VALUES "spec.replicaSpecs.*.template.spec.containers.*.env.*.value"
/* What kubectl applied stands in an annotation, whole. */
#define APPLIED    "metadata.annotations.\"kubectl.kubernetes.io/last-applied-configuration\""
static const char *const secrets[] = { ENV_VALUES, "*." ENV_VALUES, APPLIED, "*." APPLIED, NULL };

static const struct dialect_kind kinds[] = { { EJ_KIND, ej_job_fields },
                                             { "PodGroup", ej_pod_group_fields },
                                             { NULL, NULL } };

const struct dialect elasticjob_dialect = {
    .name = "elasticjob",
    .title = "ElasticJob",
    .images = true,
    .looks_for = "apiVersion " EJ_API,
    .detect = ej_detect,
    .read = ej_read,
    .shape = ej_shape,
    .write = ej_write,
    .documents = true,
    .queues = true,
    .yaml = true,
    .secrets = secrets,
    .kinds = kinds,
};

const struct convention elasticjob_convention = {
    .name = EJ_CONVENTION,
    .launchers = LAUNCHER_DLROVER,
    .env = ej_env,
    .expand = ej_expand,
    .classify = ej_classify,
    .job_word = ej_job_word,
    .task_word = ej_task_word,
    .pods = &ej_pods,
};
