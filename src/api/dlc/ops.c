/* Every operation of both services: what runs it, or why nothing does. A new one is one row here
 * and one small function. doc/api-dlc.md has the same table for people; a test compares the two. */
#include "api/dlc/op.h"

#include "base/mem.h"

#define DLC(name_, method_, path_, run_, flags_)                                                   \
    {                                                                                              \
        .service = DLC_JOBS, .name = name_, .method = method_, .path = path_, .run = dlc_##run_,   \
        .flags = flags_                                                                            \
    }
#define AIW(name_, method_, path_, run_, flags_)                                                   \
    {                                                                                              \
        .service = DLC_SPACES, .name = name_, .method = method_, .path = path_, .run = dlc_##run_, \
        .flags = flags_                                                                            \
    }
#define NOT(service_, name_, method_, path_, note_)                                                \
    {                                                                                              \
        .service = service_, .name = name_, .method = method_, .path = path_, .flags = DLC_CANNOT, \
        .note = note_                                                                              \
    }
#define W DLC_WRITES
#define B (DLC_WRITES | DLC_BODY)

#define HISTORY   "muster keeps no history server of Ray; a job that runs one serves as well"
#define MODELS    "muster keeps no models; their files lie in data sets"
#define ORDERS    "nothing is bought here"
#define SERVICES  "muster runs jobs, no services"
#define TRACKING  "muster tracks no experiments; what a job writes is its own"
#define CONNECT   "muster keeps no connections to other services"
#define SETTINGS  "settings are the server's: muster config"
#define DATAJOBS  "muster does not look into data sets; a job that does so serves as well"
#define QUOTAS    "quotas are declared: muster apply -f FILE with kind: quota"
#define ROLES     "the roles of users are reader, user and admin: muster user"
#define BUILDS    "images are built elsewhere; AddImage names one by its address"
#define PLATFORM  "that belongs to the vendor's platform, not to jobs and workspaces"

static const struct dlc_op ops[] = {
    DLC("CreateJob", "POST", "jobs", create_job, B),
    DLC("ListJobs", "GET", "jobs", list_jobs, 0),
    DLC("GetJob", "GET", "jobs/{}", get_job, 0),
    DLC("UpdateJob", "PUT", "jobs/{}", update_job, B),
    DLC("StopJob", "POST", "jobs/{}/stop", stop_job, W),
    DLC("DeleteJob", "DELETE", "jobs/{}", delete_job, W),
    DLC("GetJobEvents", "GET", "jobs/{}/events", job_events, 0),
    DLC("GetPodEvents", "GET", "jobs/{}/pods/{}/events", pod_events, 0),
    DLC("GetPodLogs", "GET", "jobs/{}/pods/{}/logs", pod_logs, 0),
    DLC("GetJobMetrics", "GET", "jobs/{}/metrics", job_metrics, 0),
    DLC("GetWebTerminal", "GET", "jobs/{}/pods/{}/webterminal", web_terminal, W),
    DLC("GetJobSanityCheckResult", "GET", "jobs/{}/sanitycheckresult", sanity_result, 0),
    DLC("ListJobSanityCheckResults", "GET", "jobs/{}/sanitycheckresults", sanity_results, 0),
    DLC("ListEcsSpecs", "GET", "ecsspecs", ecs_specs, 0),
    DLC("GetToken", "GET", "tokens", get_token, W),
    DLC("CreateTensorboard", "POST", "tensorboards", board_create, B),
    DLC("ListTensorboards", "GET", "tensorboards", board_list, 0),
    DLC("GetTensorboard", "GET", "tensorboards/{}", board_get, 0),
    DLC("UpdateTensorboard", "PUT", "tensorboards/{}", board_update, W),
    DLC("DeleteTensorboard", "DELETE", "tensorboards/{}", board_delete, W),
    DLC("StartTensorboard", "PUT", "tensorboards/{}/start", board_start, W),
    DLC("StopTensorboard", "PUT", "tensorboards/{}/stop", board_stop, W),
    DLC("GetTensorboardSharedUrl", "GET", "tensorboards/{}/sharedurl", board_shared, 0),
    DLC("GetRayDashboard", "GET", "jobs/{}/rayDashboard", dashboard, 0),
    DLC("GetDashboard", "GET", "jobs/{}/dashboard", dashboard, 0),
    DLC("CreateJobTemplate", "POST", "jobtemplates", template_create, B),
    DLC("ListJobTemplates", "GET", "jobtemplates", template_list, 0),
    DLC("GetJobTemplate", "GET", "jobtemplates/{}", template_get, 0),
    DLC("UpdateJobTemplate", "PUT", "jobtemplates/{}", template_update, B),
    DLC("SetJobTemplateDefaultVersion", "PUT", "jobtemplates/{}/defaultversion", template_default,
        B),
    DLC("DeleteJobTemplate", "DELETE", "jobtemplates/{}", template_delete, W),
    NOT(DLC_JOBS, "CreateRayHistoryServer", "POST", "rayhistoryservers", HISTORY),
    NOT(DLC_JOBS, "ListRayHistoryServers", "GET", "rayhistoryservers", HISTORY),
    NOT(DLC_JOBS, "GetRayHistoryServer", "GET", "rayhistoryservers/{}", HISTORY),
    NOT(DLC_JOBS, "DeleteRayHistoryServer", "DELETE", "rayhistoryservers/{}", HISTORY),
    NOT(DLC_JOBS, "StartRayHistoryServer", "POST", "rayhistoryservers/{}/start", HISTORY),
    NOT(DLC_JOBS, "StopRayHistoryServer", "POST", "rayhistoryservers/{}/stop", HISTORY),
    DLC("GetMetrics", "GET", "cms/metrics", cms_metrics, 0),
    DLC("CreateSignal", "POST", "jobs/{}/signals", signal_create, B),
    DLC("GetSignal", "GET", "jobs/{}/signals/{}", signal_get, 0),
    DLC("ListSignals", "GET", "jobs/{}/signals", signal_list, 0),
    DLC("TagResources", "POST", "tags", tags_put, W),
    DLC("UntagResources", "DELETE", "tags", tags_remove, W),

    AIW("ListWorkspaces", "GET", "workspaces", space_list, 0),
    AIW("GetWorkspace", "GET", "workspaces/{}", space_get, 0),
    AIW("CreateWorkspace", "POST", "workspaces", space_create, B),
    AIW("UpdateWorkspace", "PUT", "workspaces/{}", space_update, B),
    AIW("DeleteWorkspace", "DELETE", "workspaces/{}", space_delete, W),
    AIW("GetDefaultWorkspace", "GET", "defaultWorkspaces", space_default, 0),
    AIW("UpdateDefaultWorkspace", "PUT", "defaultWorkspaces", space_set_default, B),
    AIW("ListMembers", "GET", "workspaces/{}/members", member_list, 0),
    AIW("GetMember", "GET", "workspaces/{}/member", member_get, 0),
    AIW("CreateMember", "POST", "workspaces/{}/members", member_create, B),
    AIW("DeleteMembers", "DELETE", "workspaces/{}/members", member_delete, W),
    AIW("AddMemberRole", "POST", "workspaces/{}/members/{}/roles/{}", role_add, W),
    AIW("RemoveMemberRole", "DELETE", "workspaces/{}/members/{}/roles/{}", role_remove, W),
    AIW("ListWorkspaceUsers", "GET", "workspaces/{}/users", user_list, 0),
    AIW("ListPermissions", "GET", "workspaces/{}/permissions", permission_list, 0),
    AIW("GetPermission", "GET", "workspaces/{}/permissions/{}", permission_get, 0),
    AIW("ListQuotas", "GET", "quotas", quota_list, 0),
    AIW("ListResources", "GET", "resources", resource_list, 0),
    AIW("ListProducts", "GET", "products", product_list, 0),
    AIW("ListImages", "GET", "images", image_list, 0),
    AIW("GetImage", "GET", "images/{}", image_get, 0),
    AIW("AddImage", "POST", "images", image_add, B),
    AIW("RemoveImage", "DELETE", "images/{}", image_remove, W),
    AIW("PublishImage", "PUT", "images/{}/publish", image_publish, W),
    AIW("ListImageLabels", "GET", "image/labels", image_labels_all, 0),
    AIW("AddImageLabels", "POST", "images/{}/labels", image_label_add, B),
    AIW("RemoveImageLabels", "DELETE", "images/{}/labels/{}", image_label_remove, W),
    AIW("CreateDataset", "POST", "datasets", data_create, B),
    AIW("ListDatasets", "GET", "datasets", data_list, 0),
    AIW("GetDataset", "GET", "datasets/{}", data_get, 0),
    AIW("UpdateDataset", "PUT", "datasets/{}", data_update, B),
    AIW("DeleteDataset", "DELETE", "datasets/{}", data_delete, W),
    AIW("PublishDataset", "PUT", "datasets/{}/publish", data_publish, W),
    AIW("CreateDatasetLabels", "POST", "datasets/{}/labels", data_label_add, B),
    AIW("DeleteDatasetLabels", "DELETE", "datasets/{}/labels", data_label_remove, W),
    AIW("CreateDatasetVersion", "POST", "datasets/{}/versions", version_create, B),
    AIW("ListDatasetVersions", "GET", "datasets/{}/versions", version_list, 0),
    AIW("GetDatasetVersion", "GET", "datasets/{}/versions/{}", version_get, 0),
    AIW("UpdateDatasetVersion", "PUT", "datasets/{}/versions/{}", version_update, B),
    AIW("DeleteDatasetVersion", "DELETE", "datasets/{}/versions/{}", version_delete, W),
    AIW("CreateCodeSource", "POST", "codesources", code_create, B),
    AIW("ListCodeSources", "GET", "codesources", code_list, 0),
    AIW("GetCodeSource", "GET", "codesources/{}", code_get, 0),
    AIW("UpdateCodeSource", "PUT", "codesources/{}", code_update, B),
    AIW("DeleteCodeSource", "DELETE", "codesources/{}", code_delete, W),
    AIW("PublishCodeSource", "PUT", "codesources/{}/publish", code_publish, W),

    /* Whole families: any method, the path and all below it; the client says the name. */
    NOT(DLC_SPACES, "", "", "models/*", MODELS),
    NOT(DLC_SPACES, "", "", "productorders/*", ORDERS),
    NOT(DLC_SPACES, "", "", "servicetemplates/*", SERVICES),
    NOT(DLC_SPACES, "", "", "workspaces/{}/resources/*", QUOTAS),
    NOT(DLC_SPACES, "", "", "workspaces/{}/roles/*", ROLES),
    NOT(DLC_SPACES, "", "", "workspaces/{}/configs/*", SETTINGS),
    NOT(DLC_SPACES, "", "", "workspaces/{}/config/*", SETTINGS),
    NOT(DLC_SPACES, "", "", "workspaces/action/*", PLATFORM),
    NOT(DLC_SPACES, "", "", "userconfigs/*", SETTINGS),
    NOT(DLC_SPACES, "", "", "features/*", PLATFORM),
    NOT(DLC_SPACES, "", "", "instancejobs/*", PLATFORM),
    NOT(DLC_SPACES, "", "", "connections/*", CONNECT),
    NOT(DLC_SPACES, "", "", "experiments/*", TRACKING),
    NOT(DLC_SPACES, "", "", "runs/*", TRACKING),
    NOT(DLC_SPACES, "", "", "prompts/*", PLATFORM),
    NOT(DLC_SPACES, "", "", "imagebuilds/*", BUILDS),
    NOT(DLC_SPACES, "", "", "datasets/{}/datasetjobs/*", DATAJOBS),
    NOT(DLC_SPACES, "", "", "datasets/{}/datasetjobconfigs/*", DATAJOBS),
    NOT(DLC_SPACES, "", "", "datasets/{}/datasetfilemetas/*", DATAJOBS),
    NOT(DLC_SPACES, "", "", "datasets/{}/versions/{}/labels/*", DATAJOBS),
    NOT(DLC_SPACES, "", "", "statistics/*", DATAJOBS),
};

const struct dlc_op *dlc_ops(size_t *n)
{
    *n = ARRAY_LEN(ops);
    return ops;
}
