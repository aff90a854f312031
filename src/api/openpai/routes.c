/* Every operation that there is: method, versions, path below the version, who may. What is not
 * here is NoApiError, as on the original. */
#include "api/openpai/routes.h"

#include "api/openpai/attempts.h"
#include "api/openpai/authn.h"
#include "api/openpai/clusters.h"
#include "api/openpai/commands.h"
#include "api/openpai/config.h"
#include "api/openpai/detail.h"
#include "api/openpai/groups.h"
#include "api/openpai/hardware.h"
#include "api/openpai/jobs.h"
#include "api/openpai/output.h"
#include "api/openpai/storages.h"
#include "api/openpai/submit.h"
#include "api/openpai/users.h"
#include "base/mem.h"

#define GET(versions, path, handler, flags)                                                        \
    {                                                                                              \
        "GET", versions, path, handler, flags                                                      \
    }
#define PUT(versions, path, handler, flags)                                                        \
    {                                                                                              \
        "PUT", versions, path, handler, flags                                                      \
    }
#define POST(versions, path, handler, flags)                                                       \
    {                                                                                              \
        "POST", versions, path, handler, flags                                                     \
    }
#define DELETE(versions, path, handler, flags)                                                     \
    {                                                                                              \
        "DELETE", versions, path, handler, flags                                                   \
    }
#define TASK "jobs/{}/attempts/{}/taskRoles/{}/taskIndex/{}/attempts"

static const struct pai_route routes[] = {
    { "*", PAI_V1, "", pai_root, PAI_OPEN },
    { "*", PAI_V2, "", pai_root_text, PAI_OPEN },
    GET(PAI_V2, "info", pai_info, PAI_OPEN),

    /* login and tokens (authn.c) */
    POST(PAI_V1, "token", pai_login, PAI_OPEN),
    POST(PAI_BOTH, "authn/basic/login", pai_login, PAI_OPEN),
    DELETE(PAI_BOTH, "authn/basic/logout", pai_logout, 0),
    GET(PAI_BOTH, "authn/info", pai_authn_info, PAI_OPEN),
    GET(PAI_V1, "token", pai_tokens, PAI_PERSON),
    GET(PAI_V2, "tokens", pai_tokens, PAI_PERSON),
    GET(PAI_BOTH, "tokens/check", pai_token_check, 0),
    POST(PAI_V1, "token/application", pai_token_application, PAI_PERSON),
    POST(PAI_V2, "tokens/application", pai_token_application, PAI_PERSON),
    DELETE(PAI_V1, "token/{}", pai_token_revoke, 0),
    DELETE(PAI_V2, "tokens/{}", pai_token_revoke, 0),

    /* jobs of version 1 (jobs.c, submit.c, detail.c) */
    GET(PAI_V1, "jobs", pai_jobs, PAI_READ),
    GET(PAI_V1, "user/{}/jobs", pai_jobs, PAI_READ | PAI_NAMED),
    POST(PAI_V1, "jobs", pai_job_submit, 0),
    POST(PAI_V1, "user/{}/jobs", pai_job_submit, PAI_NAMED),
    PUT(PAI_V1, "jobs/{}", pai_job_put, 0),
    PUT(PAI_V1, "user/{}/jobs/{}", pai_job_put, PAI_NAMED),
    GET(PAI_V1, "jobs/{}", pai_job_detail, PAI_READ),
    GET(PAI_V1, "user/{}/jobs/{}", pai_job_detail, PAI_READ | PAI_NAMED),
    DELETE(PAI_V1, "jobs/{}", pai_job_delete, 0),
    DELETE(PAI_V1, "user/{}/jobs/{}", pai_job_delete, PAI_NAMED),
    PUT(PAI_V1, "jobs/{}/executionType", pai_job_execute, 0),
    PUT(PAI_V1, "user/{}/jobs/{}/executionType", pai_job_execute, PAI_NAMED),
    GET(PAI_V1, "jobs/{}/config", pai_job_config, PAI_READ),
    GET(PAI_V1, "user/{}/jobs/{}/config", pai_job_config, PAI_READ | PAI_NAMED),
    GET(PAI_V1, "jobs/{}/jobs/{}/config", pai_job_config, PAI_READ | PAI_NAMED), /* the npm SDK */
    GET(PAI_V1, "jobs/{}/ssh", pai_job_ssh, PAI_READ),
    GET(PAI_V1, "user/{}/jobs/{}/ssh", pai_job_ssh, PAI_READ | PAI_NAMED),

    /* jobs of version 2 */
    GET(PAI_V2, "jobs", pai_jobs, 0),
    POST(PAI_V2, "jobs", pai_job_submit, 0),
    GET(PAI_V2, "jobs/{}", pai_job_detail, 0),
    GET(PAI_V2, "jobs/{}/attempts/{}", pai_job_attempt, 0),
    GET(PAI_V2, "jobs/{}/config", pai_job_config, 0),
    GET(PAI_V2, "jobs/{}/ssh", pai_job_ssh, 0),
    PUT(PAI_V2, "jobs/{}/executionType", pai_job_execute, 0),
    PUT(PAI_V2, "jobs/{}/tag", pai_job_tag, 0),
    DELETE(PAI_V2, "jobs/{}/tag", pai_job_tag, 0),
    GET(PAI_V2, "jobs/{}/events", pai_job_events, 0),
    GET(PAI_V2, "jobs/{}/job-attempts/healthz", pai_job_attempts_health, 0),
    GET(PAI_V2, "jobs/{}/job-attempts", pai_job_attempts, 0),
    GET(PAI_V2, "jobs/{}/job-attempts/{}", pai_job_attempts_one, 0),
    GET(PAI_V2, TASK, pai_task_attempts, 0),
    GET(PAI_V2, TASK "/{}/logs", pai_task_logs, 0),

    /* users and groups (users.c, groups.c) */
    GET(PAI_BOTH, "user", pai_users, 0),
    GET(PAI_V2, "users", pai_users, 0),
    GET(PAI_BOTH, "user/{}", pai_user, 0),
    GET(PAI_V2, "users/{}", pai_user, 0),
    POST(PAI_V2, "user", pai_user_create, PAI_ADMIN | PAI_PERSON),
    POST(PAI_V2, "users", pai_user_create, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "user", pai_user_update, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "users", pai_user_update, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "user/me", pai_user_me, PAI_PERSON),
    PUT(PAI_V2, "users/me", pai_user_me, PAI_PERSON),
    DELETE(PAI_V2, "user/{}", pai_user_delete, PAI_ADMIN | PAI_PERSON),
    DELETE(PAI_V2, "users/{}", pai_user_delete, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "users/{}/extension", pai_user_field, PAI_PERSON),
    PUT(PAI_V2, "users/{}/email", pai_user_field, PAI_PERSON),
    PUT(PAI_V2, "users/{}/password", pai_user_password, PAI_PERSON),
    PUT(PAI_V2, "users/{}/admin", pai_user_field, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "users/{}/grouplist", pai_user_field, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "users/{}/virtualcluster", pai_user_field, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "users/{}/group", pai_user_group, PAI_ADMIN | PAI_PERSON),
    DELETE(PAI_V2, "users/{}/group", pai_user_group, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "user/{}/extension", pai_user_field, PAI_PERSON),
    PUT(PAI_V2, "user/{}/email", pai_user_field, PAI_PERSON),
    PUT(PAI_V2, "user/{}/password", pai_user_password, PAI_PERSON),
    PUT(PAI_V2, "user/{}/admin", pai_user_field, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "user/{}/grouplist", pai_user_field, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "user/{}/virtualcluster", pai_user_field, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "user/{}/group", pai_user_group, PAI_ADMIN | PAI_PERSON),
    DELETE(PAI_V2, "user/{}/group", pai_user_group, PAI_ADMIN | PAI_PERSON),
    GET(PAI_V2, "group", pai_groups, 0),
    GET(PAI_V2, "groups", pai_groups, 0),
    GET(PAI_V2, "group/{}", pai_group, 0),
    GET(PAI_V2, "groups/{}", pai_group, 0),
    GET(PAI_V2, "group/{}/userlist", pai_group_users, PAI_ADMIN),
    GET(PAI_V2, "groups/{}/userlist", pai_group_users, PAI_ADMIN),
    POST(PAI_V2, "group", pai_group_change, PAI_ADMIN | PAI_PERSON),
    POST(PAI_V2, "groups", pai_group_change, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "group", pai_group_change, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_V2, "groups", pai_group_change, PAI_ADMIN | PAI_PERSON),
    DELETE(PAI_V2, "group/{}", pai_group_change, PAI_ADMIN | PAI_PERSON),
    DELETE(PAI_V2, "groups/{}", pai_group_change, PAI_ADMIN | PAI_PERSON),

    /* the cluster (clusters.c, hardware.c, storages.c) */
    GET(PAI_V1, "virtual-clusters", pai_clusters, PAI_READ),
    GET(PAI_V2, "virtual-clusters", pai_clusters, 0),
    GET(PAI_V1, "virtual-clusters/{}", pai_cluster, PAI_READ),
    GET(PAI_V2, "virtual-clusters/{}", pai_cluster, 0),
    PUT(PAI_BOTH, "virtual-clusters/{}", pai_cluster_change, PAI_ADMIN | PAI_PERSON),
    PUT(PAI_BOTH, "virtual-clusters/{}/status", pai_cluster_change, PAI_ADMIN | PAI_PERSON),
    DELETE(PAI_BOTH, "virtual-clusters/{}", pai_cluster_change, PAI_ADMIN | PAI_PERSON),
    GET(PAI_V2, "virtual-clusters/{}/sku-types", pai_skus, 0),
    GET(PAI_V2, "cluster/sku-types", pai_skus, 0),
    GET(PAI_V2, "storages", pai_storages, 0),
    GET(PAI_V2, "storages/{}", pai_storage, 0),
    GET(PAI_V2, "storage/config", pai_storage_configs, 0),
    GET(PAI_V2, "storage/config/{}", pai_storage_configs, 0),
    GET(PAI_V2, "storage/server", pai_storage_servers, 0),
    GET(PAI_V2, "storage/server/{}", pai_storage_servers, 0),
    GET(PAI_BOTH, "kubernetes/nodes", pai_kubernetes_nodes, PAI_ADMIN),
    GET(PAI_BOTH, "kubernetes/pods", pai_kubernetes_pods, PAI_ADMIN),
    GET(PAI_V2, "alerts", pai_alerts, 0),
};

const struct pai_route *pai_routes(size_t *n)
{
    *n = ARRAY_LEN(routes);
    return routes;
}
